//! What a message says: a string, or blocks of text, images, tool calls, results and thinking.
//! Shapes follow the Anthropic Messages API; a block that does not fit is kept verbatim.

use crate::json::{ObjectWriter, write_object};
use crate::{Json, JsonError, Problem, Raw, RawMap, Text};

/// The content of a message or of a tool result: a string or blocks, kept as it came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Content {
    /// There is none, or none that could be read (then it is among the unknown fields).
    #[default]
    Empty,
    /// One string.
    Text(Text),
    /// Blocks in order.
    Blocks(Vec<Block>),
}

impl Content {
    /// The text of all text blocks, one after the other.
    pub fn text(&self) -> String {
        match self {
            Content::Empty => String::new(),
            Content::Text(text) => text.as_str().into_owned(),
            Content::Blocks(blocks) => blocks.iter().filter_map(Block::text).collect(),
        }
    }

    /// Whether it has neither text nor blocks.
    pub fn is_empty(&self) -> bool {
        match self {
            Content::Empty => true,
            Content::Text(text) => text.is_empty(),
            Content::Blocks(blocks) => blocks.is_empty(),
        }
    }

    pub(crate) fn from_raw(raw: &Raw, inside: Inside, problems: &mut Vec<Problem>) -> Option<Self> {
        if raw.as_str().starts_with('"') {
            return Text::read(raw, problems).ok().map(Content::Text);
        }
        let items = raw.as_array()?;
        let blocks = items
            .iter()
            .map(|item| Block::from_raw(item, inside, problems));
        Some(Content::Blocks(blocks.collect()))
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
        Content::from_raw(raw, Inside::Message, problems).ok_or(JsonError::Field {
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

/// Where a block stands. A tool result inside a tool result is kept verbatim, so that no input,
/// however deeply nested, makes the reader recurse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inside {
    Message,
    ToolResult,
}

/// One block of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Something said.
    Text(TextBlock),
    /// A picture.
    Image(Image),
    /// The model calls a tool.
    ToolUse(ToolUse),
    /// What the tool gave back.
    ToolResult(ToolResult),
    /// The model thinks aloud.
    Thinking(Thinking),
    /// Thinking that the provider encrypted.
    RedactedThinking(RedactedThinking),
    /// A document, such as a PDF.
    Document(Document),
    /// Any other block, or one that lacks what its type needs: kept verbatim.
    Other(Raw),
}

/// Something said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextBlock {
    /// The text.
    pub text: Text,
    /// Fields that the model does not name.
    pub extra: RawMap,
}

/// A picture, inline or by address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Where the picture is, as the source said it; see [`Source::of`].
    pub source: Raw,
    /// Fields that the model does not name.
    pub extra: RawMap,
}

/// A document, inline or by address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Where the document is, as the source said it; see [`Source::of`].
    pub source: Raw,
    /// Fields that the model does not name.
    pub extra: RawMap,
}

/// The model calls a tool.
#[doc(alias = "ToolUseBlock")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The provider's name for this call; its result repeats it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub input: Raw,
    /// Fields that the model does not name.
    pub extra: RawMap,
}

/// What a tool gave back.
#[doc(alias = "ToolResultBlock")]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolResult {
    /// The call that this answers.
    pub tool_use_id: String,
    /// What came out.
    pub content: Content,
    /// Whether the call failed; `None` where the source did not say.
    pub is_error: Option<bool>,
    /// Fields that the model does not name.
    pub extra: RawMap,
}

/// The model thinks aloud.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thinking {
    /// The thought.
    pub thinking: Text,
    /// The provider's seal, without which the thought cannot be sent back.
    pub signature: Option<String>,
    /// Fields that the model does not name.
    pub extra: RawMap,
}

/// Thinking that the provider encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RedactedThinking {
    /// The provider's data, to be sent back as it is.
    pub data: String,
    /// Fields that the model does not name.
    pub extra: RawMap,
}

/// Where the bytes of an image or a document are: a typed view of a `source` object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Inline.
    Base64 {
        /// Such as `image/png`.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
    /// By address.
    Url(String),
    /// A file, by its path relative to the conversation's.
    File(String),
}

impl Source {
    /// Reads a `source` object; `None` for kinds that the model does not know.
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

    /// The source object of this view.
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
    /// A text block.
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

    /// The call, if this is one.
    pub fn as_tool_use(&self) -> Option<&ToolUse> {
        let Block::ToolUse(call) = self else {
            return None;
        };
        Some(call)
    }

    /// The result of a call, if this is one.
    pub fn as_tool_result(&self) -> Option<&ToolResult> {
        let Block::ToolResult(result) = self else {
            return None;
        };
        Some(result)
    }

    fn from_raw(raw: &Raw, inside: Inside, problems: &mut Vec<Problem>) -> Block {
        let known = raw.as_object().and_then(|mut fields| {
            let kind = fields.take("type", Raw::as_string)?;
            Block::from_fields(&kind, fields, inside, problems)
        });
        known.unwrap_or_else(|| Block::Other(raw.clone()))
    }

    fn from_fields(
        kind: &str,
        mut fields: RawMap,
        inside: Inside,
        problems: &mut Vec<Problem>,
    ) -> Option<Block> {
        let mut text = |raw: &Raw| Text::read(raw, problems).ok();
        Some(match kind {
            "text" => {
                let text = fields.take("text", text)?;
                Block::Text(TextBlock {
                    text,
                    extra: fields,
                })
            }
            "image" => {
                let source = fields.take("source", object)?;
                Block::Image(Image {
                    source,
                    extra: fields,
                })
            }
            "document" => {
                let source = fields.take("source", object)?;
                Block::Document(Document {
                    source,
                    extra: fields,
                })
            }
            "tool_use" => Block::ToolUse(ToolUse::from_fields(fields)?),
            "tool_result" if inside == Inside::Message => {
                Block::ToolResult(ToolResult::from_fields(fields, problems)?)
            }
            "thinking" => {
                let thinking = fields.take("thinking", &mut text)?;
                let signature = fields.take("signature", Raw::as_string);
                Block::Thinking(Thinking {
                    thinking,
                    signature,
                    extra: fields,
                })
            }
            "redacted_thinking" => {
                let data = fields.take("data", Raw::as_string)?;
                Block::RedactedThinking(RedactedThinking {
                    data,
                    extra: fields,
                })
            }
            _ => return None,
        })
    }
}

fn object(raw: &Raw) -> Option<Raw> {
    raw.as_str().starts_with('{').then(|| raw.clone())
}

impl ToolUse {
    fn from_fields(mut fields: RawMap) -> Option<ToolUse> {
        let id = fields.take("id", Raw::as_string)?;
        let name = fields.take("name", Raw::as_string)?;
        let input = fields.take("input", |raw| Some(raw.clone()))?;
        Some(ToolUse {
            id,
            name,
            input,
            extra: fields,
        })
    }

    /// Reads a `tool_use` block; `None` for any other.
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
            Content::from_raw(raw, Inside::ToolResult, problems)
        });
        let is_error = fields.take("is_error", Raw::to);
        let content = content.unwrap_or_default();
        Some(ToolResult {
            tool_use_id,
            content,
            is_error,
            extra: fields,
        })
    }

    /// Reads a `tool_result` block; `None` for any other.
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
        Ok(Block::from_raw(raw, Inside::Message, problems))
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

fn write_source(out: &mut String, kind: &str, source: &Raw, extra: &RawMap) {
    write_block(out, kind, &["source"], extra, |writer| {
        writer.json("source", source)
    });
}

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
