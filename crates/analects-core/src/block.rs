//! What a message says: a string, or blocks of text, images, tool calls, results and thinking.
//! Shapes follow the Anthropic Messages API; a block that does not fit is kept verbatim.

use crate::json::{ObjectWriter, write_object};
use crate::{Json, JsonError, Problem, Raw, RawMap, Text};

/// The content of a message or a tool result: a string or a list of blocks, in the form in which it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Content {
    /// No content, or unreadable content, which then is among the unknown fields.
    #[default]
    Empty,
    /// One string.
    Text(Text),
    /// A list of blocks, in order.
    Blocks(Vec<Block>),
}

impl Content {
    /// The concatenated text of all text blocks.
    pub fn text(&self) -> String {
        match self {
            Content::Empty => String::new(),
            Content::Text(text) => text.as_str().into_owned(),
            Content::Blocks(blocks) => blocks.iter().filter_map(Block::text).collect(),
        }
    }

    /// Returns whether it has neither text nor blocks.
    pub fn is_empty(&self) -> bool {
        match self {
            Content::Empty => true,
            Content::Text(text) => text.is_empty(),
            Content::Blocks(blocks) => blocks.is_empty(),
        }
    }

    pub(crate) fn from_raw(
        raw: &Raw,
        parent: BlockParent,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        if raw.as_str().starts_with('"') {
            return Text::read(raw, problems).ok().map(Content::Text);
        }
        let mut blocks = Vec::new();
        for item in raw.as_array()? {
            blocks.push(Block::from_raw(&item, parent, problems));
        }
        Some(Content::Blocks(blocks))
    }

    pub(crate) fn write_field(&self, key: &str, writer: &mut ObjectWriter<'_>) {
        if *self != Content::Empty {
            writer.json(key, self);
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Content {
        Content::Text(text.into())
    }
}

impl From<Vec<Block>> for Content {
    fn from(blocks: Vec<Block>) -> Content {
        Content::Blocks(blocks)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Content {
        Content::Text(text.into())
    }
}

impl Json for Content {
    fn read(raw: &Raw, problems: &mut Vec<Problem>) -> Result<Content, JsonError> {
        if raw.as_str() == "null" {
            return Ok(Content::Empty);
        }
        let expected = "a string or an array of blocks";
        Content::from_raw(raw, BlockParent::Message, problems).ok_or(JsonError::Field {
            field: "content",
            expected,
        })
    }

    fn write(&self, out: &mut String) {
        match self {
            Content::Empty => out.push_str("null"),
            Content::Text(text) => text.write(out),
            Content::Blocks(blocks) => {
                out.push('[');
                for (at, block) in blocks.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    block.write(out);
                }
                out.push(']');
            }
        }
    }
}

/// Where a block occurs. A tool result within a tool result is kept verbatim, so that no input makes the reader
/// recurse, however deeply it is nested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockParent {
    Message,
    ToolResult,
}

/// One block of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text(TextBlock),
    /// An image.
    Image(Image),
    /// A tool call by the model.
    ToolUse(ToolUse),
    /// The result of a tool call.
    ToolResult(ToolResult),
    /// The model's thinking.
    Thinking(Thinking),
    /// Thinking that the provider encrypted.
    RedactedThinking(RedactedThinking),
    /// A document, such as a PDF.
    Document(Document),
    /// Any other block, or one that lacks a required field. Kept verbatim.
    Other(Raw),
}

/// Body of a `text` block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextBlock {
    /// The text.
    pub text: Text,
    /// Unknown fields.
    pub extra: RawMap,
}

/// An image, inline or by URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The location of the image, verbatim; parse it with [`Source::of`].
    pub source: Raw,
    /// Unknown fields.
    pub extra: RawMap,
}

/// A document, inline or by URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The location of the document, verbatim; parse it with [`Source::of`].
    pub source: Raw,
    /// Unknown fields.
    pub extra: RawMap,
}

/// Body of a `tool_use` block.
#[doc(alias = "ToolUseBlock")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The provider's id for this call; the result repeats it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON.
    pub input: Raw,
    /// Unknown fields.
    pub extra: RawMap,
}

/// Body of a `tool_result` block.
#[doc(alias = "ToolResultBlock")]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolResult {
    /// The id of the call that this answers.
    pub tool_use_id: String,
    /// The tool's output.
    pub content: Content,
    /// Whether the call failed; `None` if the source does not say.
    pub is_error: Option<bool>,
    /// Unknown fields.
    pub extra: RawMap,
}

/// Body of a `thinking` block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thinking {
    /// The text of the thought.
    pub thinking: Text,
    /// The provider's signature, without which the thought cannot be sent back.
    pub signature: Option<String>,
    /// Unknown fields.
    pub extra: RawMap,
}

/// Body of a `redacted_thinking` block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RedactedThinking {
    /// The provider's data, which must be sent back unchanged.
    pub data: String,
    /// Unknown fields.
    pub extra: RawMap,
}

/// The location of an image or a document: a typed view of a `source` object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Inline data.
    Base64 {
        /// The media type, such as `image/png`.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
    /// A URL.
    Url(String),
    /// A file, by its path relative to the conversation's file.
    File(String),
}

impl Source {
    /// Parses a `source` object; `None` for an unknown type.
    pub fn of(source: &Raw) -> Option<Source> {
        let map = source.as_object()?;
        let string = |key| map.get(key).and_then(Raw::as_string);
        match string("type")?.as_str() {
            "base64" => Some(Source::Base64 {
                media_type: string("media_type")?,
                data: string("data")?,
            }),
            "url" => Some(Source::Url(string("url")?)),
            "file" => Some(Source::File(string("path")?)),
            _ => None,
        }
    }

    /// Returns the `source` object of this view.
    pub fn to_raw(&self) -> Raw {
        let mut map = RawMap::new();
        match self {
            Source::Base64 { media_type, data } => {
                map.push("type", Raw::string("base64"));
                map.push("media_type", Raw::string(media_type));
                map.push("data", Raw::string(data));
            }
            Source::Url(url) => {
                map.push("type", Raw::string("url"));
                map.push("url", Raw::string(url));
            }
            Source::File(path) => {
                map.push("type", Raw::string("file"));
                map.push("path", Raw::string(path));
            }
        }
        map.to_raw()
    }
}

impl Block {
    /// Creates a text block.
    pub fn from_text(text: impl Into<Text>) -> Block {
        Block::Text(TextBlock {
            text: text.into(),
            extra: RawMap::new(),
        })
    }

    /// The text, if this is a text block.
    pub fn text(&self) -> Option<String> {
        let Block::Text(block) = self else {
            return None;
        };
        Some(block.text.as_str().into_owned())
    }

    /// Returns whether this is a text block without text. A block with unknown fields may carry a signature and is not
    /// blank.
    pub fn is_blank(&self) -> bool {
        let Block::Text(block) = self else {
            return false;
        };
        block.extra.is_empty() && block.text.is_blank()
    }

    /// The tool call, if this is one.
    pub fn as_tool_use(&self) -> Option<&ToolUse> {
        let Block::ToolUse(call) = self else {
            return None;
        };
        Some(call)
    }

    /// The tool result, if this is one.
    pub fn as_tool_result(&self) -> Option<&ToolResult> {
        let Block::ToolResult(result) = self else {
            return None;
        };
        Some(result)
    }

    fn from_raw(raw: &Raw, parent: BlockParent, problems: &mut Vec<Problem>) -> Block {
        Block::read_typed(raw, parent, problems).unwrap_or_else(|| Block::Other(raw.clone()))
    }

    fn read_typed(raw: &Raw, parent: BlockParent, problems: &mut Vec<Problem>) -> Option<Block> {
        let mut fields = raw.as_object()?;
        let kind = fields.take("type", Raw::as_string)?;
        Block::from_fields(&kind, fields, parent, problems)
    }

    fn from_fields(
        kind: &str,
        mut fields: RawMap,
        parent: BlockParent,
        problems: &mut Vec<Problem>,
    ) -> Option<Block> {
        Some(match kind {
            "text" => Block::Text(TextBlock {
                text: fields.take("text", |raw| Text::read(raw, problems).ok())?,
                extra: fields,
            }),
            "image" => Block::Image(Image {
                source: fields.take("source", object)?,
                extra: fields,
            }),
            "document" => Block::Document(Document {
                source: fields.take("source", object)?,
                extra: fields,
            }),
            "tool_use" => Block::ToolUse(ToolUse::from_fields(fields)?),
            "tool_result" if parent == BlockParent::Message => {
                Block::ToolResult(ToolResult::from_fields(fields, problems)?)
            }
            "thinking" => Block::Thinking(Thinking {
                thinking: fields.take("thinking", |raw| Text::read(raw, problems).ok())?,
                signature: fields.take("signature", Raw::as_string),
                extra: fields,
            }),
            "redacted_thinking" => Block::RedactedThinking(RedactedThinking {
                data: fields.take("data", Raw::as_string)?,
                extra: fields,
            }),
            _ => return None,
        })
    }
}

/// Returns the value if it is an object.
pub(crate) fn object(raw: &Raw) -> Option<Raw> {
    raw.as_str().starts_with('{').then(|| raw.clone())
}

impl ToolUse {
    fn from_fields(mut fields: RawMap) -> Option<ToolUse> {
        Some(ToolUse {
            id: fields.take("id", Raw::as_string)?,
            name: fields.take("name", Raw::as_string)?,
            input: fields.take("input", |raw| Some(raw.clone()))?,
            extra: fields,
        })
    }

    /// Reads a `tool_use` block; `None` for any other value.
    pub(crate) fn from_raw(raw: &Raw) -> Option<ToolUse> {
        let mut fields = raw.as_object()?;
        fields
            .take("type", Raw::as_string)
            .filter(|kind| kind == "tool_use")?;
        ToolUse::from_fields(fields)
    }

    pub(crate) fn write(&self, out: &mut String) {
        write_block(
            out,
            "tool_use",
            &["id", "name", "input"],
            &self.extra,
            |writer| {
                writer.string("id", &self.id);
                writer.string("name", &self.name);
                writer.json("input", &self.input);
            },
        );
    }
}

impl ToolResult {
    fn from_fields(mut fields: RawMap, problems: &mut Vec<Problem>) -> Option<ToolResult> {
        let tool_use_id = fields.take("tool_use_id", Raw::as_string)?;
        let content = fields.take("content", |raw| {
            Content::from_raw(raw, BlockParent::ToolResult, problems)
        });
        Some(ToolResult {
            tool_use_id,
            content: content.unwrap_or_default(),
            is_error: fields.take("is_error", Raw::to),
            extra: fields,
        })
    }

    /// Reads a `tool_result` block; `None` for any other value.
    pub(crate) fn from_raw(raw: &Raw, problems: &mut Vec<Problem>) -> Option<ToolResult> {
        let mut fields = raw.as_object()?;
        fields
            .take("type", Raw::as_string)
            .filter(|kind| kind == "tool_result")?;
        ToolResult::from_fields(fields, problems)
    }

    pub(crate) fn write(&self, out: &mut String) {
        let known = ["tool_use_id", "content", "is_error"];
        write_block(out, "tool_result", &known, &self.extra, |writer| {
            writer.string("tool_use_id", &self.tool_use_id);
            self.content.write_field("content", writer);
            writer.opt_bool("is_error", self.is_error);
        });
    }
}

impl Json for Block {
    fn read(raw: &Raw, problems: &mut Vec<Problem>) -> Result<Block, JsonError> {
        Ok(Block::from_raw(raw, BlockParent::Message, problems))
    }

    fn write(&self, out: &mut String) {
        match self {
            Block::Text(block) => write_block(out, "text", &["text"], &block.extra, |writer| {
                writer.json("text", &block.text);
            }),
            Block::Image(block) => write_source(out, "image", &block.source, &block.extra),
            Block::Document(block) => write_source(out, "document", &block.source, &block.extra),
            Block::ToolUse(block) => block.write(out),
            Block::ToolResult(block) => block.write(out),
            Block::Thinking(block) => {
                let known = ["thinking", "signature"];
                write_block(out, "thinking", &known, &block.extra, |writer| {
                    writer.json("thinking", &block.thinking);
                    writer.opt_string("signature", block.signature.as_deref());
                });
            }
            Block::RedactedThinking(block) => {
                write_block(
                    out,
                    "redacted_thinking",
                    &["data"],
                    &block.extra,
                    |writer| {
                        writer.string("data", &block.data);
                    },
                );
            }
            Block::Other(raw) => raw.write(out),
        }
    }
}

/// Writes an `image` or `document` block.
fn write_source(out: &mut String, kind: &str, source: &Raw, extra: &RawMap) {
    write_block(out, kind, &["source"], extra, |writer| {
        writer.json("source", source)
    });
}

/// Writes a block of type `kind`: its known fields, which `fields` writes, then the unknown ones in `extra`.
fn write_block(
    out: &mut String,
    kind: &str,
    known: &[&str],
    extra: &RawMap,
    fields: impl FnOnce(&mut ObjectWriter<'_>),
) {
    let mut names = vec!["type"];
    names.extend_from_slice(known);
    write_object(out, &names, extra, |writer| {
        writer.string("type", kind);
        fields(writer);
    });
}
