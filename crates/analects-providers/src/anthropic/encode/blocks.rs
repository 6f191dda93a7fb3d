//! Encodes one block of the core as one block of the API, or reports why it is omitted.

use analects_core::{
    Block, Content, Document, Image, Raw, RawMap, RedactedThinking, Role, Text, TextBlock,
    Thinking, ToolResult, ToolUse, Turn, replace_lone_surrogates,
};

use super::TOOL_NAMES;
use super::cache_points::CACHE_CONTROL;
use super::model_names::{is_anthropic, is_same_model};
use crate::encoding::{
    EncodeProblems, UNSENDABLE_URL, fit_call, is_plain_char, is_sendable_url, is_valid_data,
    mentions_local_file,
};

/// Why an image or a document is not sent.
const UNSUPPORTED_SOURCE: &str = "the API does not take it in this form";

/// A block in the form of the API.
pub(super) enum EncodedBlock {
    /// A block that a role says.
    Content(Role, RawMap),
    /// A call, and its id in the conversation, which may not be the one to send.
    Call { id: String, block: RawMap },
    /// A result, and the id of its call in the conversation.
    Result { id: String, block: RawMap },
}

/// Encodes the blocks of one turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockEncoder {
    role: Role,
    /// The number of the turn, for reports.
    turn: usize,
    /// Whether the turn is of the model to ask, which can read its own thinking.
    same_model: bool,
    /// Whether the turn is of a model of this provider, which knows its own types of blocks.
    same_provider: bool,
}

/// A block of text; `None` for blank text, which the API refuses.
pub(super) fn text_block(text: &str) -> Option<RawMap> {
    if text.trim().is_empty() {
        return None;
    }
    let mut block = typed_object("text");
    block.push("text", Raw::string(text));
    Some(block)
}

/// A block of text among the instructions; `None` for blank text.
pub(super) fn system_text_block(block: &TextBlock) -> Option<RawMap> {
    let mut map = text_block(&block.text.as_str())?;
    copy_cache_point(&mut map, &block.extra);
    Some(map)
}

/// An object with this type and nothing else.
pub(super) fn typed_object(kind: &str) -> RawMap {
    RawMap::from([("type", Raw::string(kind))])
}

impl BlockEncoder {
    /// An encoder for the turn of this number. `asked` is the model to ask.
    pub fn new(number: usize, turn: &Turn, asked: &str) -> BlockEncoder {
        let model = turn.model.as_deref().unwrap_or_default();
        let same_model = is_same_model(model, asked);
        // The API has no turns of instructions; they are turns of the user.
        let role = match turn.role {
            Role::Assistant => Role::Assistant,
            Role::User | Role::System => Role::User,
        };
        BlockEncoder {
            role,
            turn: number,
            same_model,
            same_provider: same_model || is_anthropic(model),
        }
    }

    /// Whether the model said the block.
    fn is_model(self) -> bool {
        self.role == Role::Assistant
    }

    /// Encodes the text of a turn without blocks; `None` if it is blank.
    pub fn turn_text(self, text: &Text) -> Option<EncodedBlock> {
        let block = text_block(&text.as_str())?;
        Some(EncodedBlock::Content(self.role, block))
    }

    /// Encodes a block; `None` if it is omitted.
    pub fn block(self, block: &Block, problems: &mut EncodeProblems) -> Option<EncodedBlock> {
        let content = match block {
            Block::ToolUse(call) => return self.call(call, problems),
            Block::ToolResult(result) => return Some(self.result(result, problems)),
            Block::Text(text) => self.text(text),
            Block::Image(_) | Block::Document(_) if self.is_model() => {
                let what = "a picture or document";
                problems.omit_content(self.turn, what, "the model may not send one");
                None
            }
            Block::Image(image) => self.image(image, problems),
            Block::Document(document) => self.document(document, problems),
            Block::Thinking(thinking) => self.thinking(thinking, problems),
            Block::RedactedThinking(thinking) => self.redacted_thinking(thinking, problems),
            Block::Other(raw) => self.other(raw, problems),
        };
        Some(EncodedBlock::Content(self.role, content?))
    }

    /// Text with its cache point and, from this provider's models, its citations.
    fn text(self, block: &TextBlock) -> Option<RawMap> {
        let mut map = text_block(&block.text.as_str())?;
        if self.is_model() && self.same_provider {
            copy_fields(&mut map, &block.extra, &["citations"]);
        }
        copy_cache_point(&mut map, &block.extra);
        Some(map)
    }

    /// An image with its cache point.
    fn image(self, image: &Image, problems: &mut EncodeProblems) -> Option<RawMap> {
        let Some(source) = image_source(&image.source) else {
            problems.omit_content(self.turn, "a picture", UNSUPPORTED_SOURCE);
            return None;
        };
        let mut map = typed_object("image");
        map.push("source", source.to_raw());
        copy_cache_point(&mut map, &image.extra);
        Some(map)
    }

    /// A document with its title, its context and whether to cite it.
    fn document(self, document: &Document, problems: &mut EncodeProblems) -> Option<RawMap> {
        let Some(source) = document_source(&document.source) else {
            problems.omit_content(self.turn, "a document", UNSUPPORTED_SOURCE);
            return None;
        };
        let mut map = typed_object("document");
        map.push("source", source.to_raw());
        let fields = ["title", "context", "citations"];
        copy_fields(&mut map, &document.extra, &fields);
        copy_cache_point(&mut map, &document.extra);
        Some(map)
    }

    /// A call, with the note of the provider's tool that made it, if any.
    fn call(self, call: &ToolUse, problems: &mut EncodeProblems) -> Option<EncodedBlock> {
        if !self.is_model() {
            problems.omit_content(self.turn, "a call", "only the model calls tools");
            return None;
        }
        let fit = fit_call(call, self.turn, TOOL_NAMES, problems);
        let mut block = typed_object("tool_use");
        block.push("id", Raw::string(&call.id));
        block.push("name", Raw::string(&fit.name));
        block.push("input", fit.input);
        if self.same_provider {
            copy_fields(&mut block, &call.extra, &["caller"]);
        }
        copy_cache_point(&mut block, &call.extra);
        let id = call.id.clone();
        Some(EncodedBlock::Call { id, block })
    }

    /// A tool result. Blank ones are sent too, because every call needs one.
    fn result(self, result: &ToolResult, problems: &mut EncodeProblems) -> EncodedBlock {
        let is_error = result.is_error == Some(true);
        let mut block = typed_object("tool_result");
        block.push("tool_use_id", Raw::string(&result.tool_use_id));
        match &result.content {
            Content::Empty => {}
            Content::Text(text) => block.push("content", Raw::string(&text.as_str())),
            Content::Blocks(blocks) => {
                let blocks = self.result_blocks(blocks, is_error, problems);
                if !blocks.is_empty() {
                    block.push("content", Raw::array(&blocks));
                }
            }
        }
        if is_error {
            block.push("is_error", true.into());
        }
        copy_cache_point(&mut block, &result.extra);
        let id = result.tool_use_id.clone();
        EncodedBlock::Result { id, block }
    }

    /// The blocks in a tool result that the API accepts there.
    fn result_blocks(
        self,
        blocks: &[Block],
        is_error: bool,
        problems: &mut EncodeProblems,
    ) -> Vec<Raw> {
        // A tool is not the provider's model, even if the turn is.
        let encoder = BlockEncoder {
            role: Role::User,
            same_provider: false,
            ..self
        };
        let mut encoded = Vec::new();
        for block in blocks {
            if let Some(map) = encoder.result_block(block, is_error, problems) {
                encoded.push(map.to_raw());
            }
        }
        encoded
    }

    /// Encodes a block inside a result. The result of a failed call may contain only text.
    fn result_block(
        self,
        block: &Block,
        is_error: bool,
        problems: &mut EncodeProblems,
    ) -> Option<RawMap> {
        let mut map = match block {
            Block::Text(text) => return text_block(&text.text.as_str()),
            Block::Image(image) if !is_error => self.image(image, problems)?,
            Block::Document(document) if !is_error => self.document(document, problems)?,
            Block::Other(raw) if !is_error && may_be_in_result(raw) => {
                replace_lone_surrogates(raw).as_object()?
            }
            _ => {
                let why = "the API does not take it there";
                problems.omit_content(self.turn, "a block of a result", why);
                return None;
            }
        };
        // Blocks of a result cannot be cache points.
        map.remove(CACHE_CONTROL);
        Some(map)
    }

    /// Thinking with its signature.
    fn thinking(self, thinking: &Thinking, problems: &mut EncodeProblems) -> Option<RawMap> {
        let signature = thinking.signature.as_deref().unwrap_or_default();
        // The signature holds for these exact bytes, so surrogates cannot be replaced.
        let is_whole = !signature.is_empty() && matches!(thinking.thinking, Text::Plain(_));
        if !self.sends_thinking(is_whole, problems) {
            return None;
        }
        let mut map = typed_object("thinking");
        map.push("thinking", Raw::string(&thinking.thinking.as_str()));
        map.push("signature", Raw::string(signature));
        Some(map)
    }

    /// Encrypted thinking, which goes back unchanged.
    fn redacted_thinking(
        self,
        thinking: &RedactedThinking,
        problems: &mut EncodeProblems,
    ) -> Option<RawMap> {
        if !self.sends_thinking(!thinking.data.is_empty(), problems) {
            return None;
        }
        let mut map = typed_object("redacted_thinking");
        map.push("data", Raw::string(&thinking.data));
        Some(map)
    }

    /// Whether thinking goes back: only complete, and only to the model that it is of. Reports why
    /// not.
    fn sends_thinking(self, is_whole: bool, problems: &mut EncodeProblems) -> bool {
        let is_own = self.is_model() && self.same_model;
        if !is_own {
            problems.omit_thinking(self.turn, "another model had it");
        } else if !is_whole {
            problems.omit_thinking(self.turn, "it has no signature");
        }
        is_own && is_whole
    }

    /// A block of a type that the core does not know.
    fn other(self, raw: &Raw, problems: &mut EncodeProblems) -> Option<RawMap> {
        let kind = type_of(raw);
        let is_local = mentions_local_file(raw);
        if !is_local && self.accepts_type(&kind) && is_complete_call(raw, &kind) {
            let map = replace_lone_surrogates(raw).as_object();
            if map.is_some() {
                return map;
            }
        }
        let why = if is_local {
            UNSENDABLE_URL
        } else {
            "it is not of this API"
        };
        problems.omit_content(self.turn, &format!("a block of type \"{kind}\""), why);
        None
    }

    /// Whether this role may send a block of this type.
    fn accepts_type(self, kind: &str) -> bool {
        let is_user_type = matches!(kind, "search_result" | "container_upload");
        if !self.is_model() {
            return is_user_type;
        }
        self.same_provider && kind != "search_result" && !is_core_type(kind)
    }
}

/// Types of the core's own blocks. A block of unknown type with such a type lacks something, and is
/// of no use.
fn is_core_type(kind: &str) -> bool {
    matches!(
        kind,
        "" | "text"
            | "image"
            | "document"
            | "thinking"
            | "redacted_thinking"
            | "tool_use"
            | "tool_result"
    )
}

/// Whether a call of a tool that the provider runs is complete. True for all other blocks.
fn is_complete_call(raw: &Raw, kind: &str) -> bool {
    if kind != "server_tool_use" {
        return true;
    }
    let map = raw.as_object().unwrap_or_default();
    let id = map.string("id").unwrap_or_default();
    let name = map.string("name").unwrap_or_default();
    let input = map.get("input");
    let has_input = input.is_some_and(|input| input.as_str().starts_with('{'));
    has_input && TOOL_NAMES.accepts(&name) && !id.is_empty() && id.chars().all(is_plain_char)
}

/// The type of a block or a source; empty if it has none.
fn type_of(raw: &Raw) -> String {
    raw.kind().unwrap_or_default()
}

/// Whether a block of a type that the core does not know may stand in a result.
fn may_be_in_result(raw: &Raw) -> bool {
    let kind = type_of(raw);
    matches!(kind.as_str(), "search_result" | "tool_reference") && !mentions_local_file(raw)
}

/// Copies those of the fields that are set.
fn copy_fields(map: &mut RawMap, extra: &RawMap, names: &[&str]) {
    for name in names {
        if let Some(value) = extra.get(name)
            && value.as_str() != "null"
        {
            map.push(name, replace_lone_surrogates(value));
        }
    }
}

/// Copies the cache point, if it has the only type that the API knows.
fn copy_cache_point(map: &mut RawMap, extra: &RawMap) {
    if let Some(point) = extra.get(CACHE_CONTROL)
        && type_of(point) == "ephemeral"
    {
        map.push(CACHE_CONTROL, point.clone());
    }
}

/// Copies the members of a source that the API knows, in its order; `None` if one is missing.
fn copy_source(raw: &Raw, kind: &str, members: &[&str]) -> Option<RawMap> {
    let given = raw.as_object()?;
    let mut map = typed_object(kind);
    for member in members {
        map.push(member, Raw::string(&given.string(member)?));
    }
    Some(map)
}

/// The media type of a source; empty if it has none.
fn media_type(raw: &Raw) -> String {
    let source = raw.as_object().unwrap_or_default();
    source.string("media_type").unwrap_or_default()
}

/// The source of an image in the API's form; `None` if the API does not accept it.
fn image_source(raw: &Raw) -> Option<RawMap> {
    match type_of(raw).as_str() {
        "base64" if is_image_type(&media_type(raw)) => base64_source(raw),
        "url" => url_source(raw),
        "file" => uploaded_source(raw),
        _ => None,
    }
}

/// Whether the API accepts images of this type.
fn is_image_type(media_type: &str) -> bool {
    matches!(
        media_type,
        "image/jpeg" | "image/png" | "image/gif" | "image/webp"
    )
}

/// The source of a document in the API's form; `None` if the API does not accept it.
fn document_source(raw: &Raw) -> Option<RawMap> {
    match (type_of(raw).as_str(), media_type(raw).as_str()) {
        ("base64", "application/pdf") => base64_source(raw),
        ("text", "text/plain") => copy_source(raw, "text", &["media_type", "data"]),
        ("url", _) => url_source(raw),
        ("file", _) => uploaded_source(raw),
        ("content", _) => content_source(raw),
        _ => None,
    }
}

/// A source that contains the data of a file.
fn base64_source(raw: &Raw) -> Option<RawMap> {
    let source = copy_source(raw, "base64", &["media_type", "data"])?;
    is_valid_data("", &source.string("data")?).then_some(source)
}

/// A source that the provider fetches from the network.
fn url_source(raw: &Raw) -> Option<RawMap> {
    let source = copy_source(raw, "url", &["url"])?;
    is_sendable_url(&source.string("url")?).then_some(source)
}

/// The source of a file that was uploaded to the API. A local file has a path instead of an id;
/// where files may be read, its data is in place by now.
fn uploaded_source(raw: &Raw) -> Option<RawMap> {
    let source = copy_source(raw, "file", &["file_id"])?;
    let id = source.string("file_id")?;
    id.chars().all(is_plain_char).then_some(source)
}

/// The source of a document that consists of blocks.
fn content_source(raw: &Raw) -> Option<RawMap> {
    if mentions_local_file(raw) {
        return None;
    }
    let content = raw.as_object()?.get("content")?.clone();
    let mut map = typed_object("content");
    map.push("content", replace_lone_surrogates(&content));
    Some(map)
}
