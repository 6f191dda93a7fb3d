//! Encodes what a role says as content that the API accepts. What it would refuse is left out here, and found missing when
//! the result is read back.

use analects_core::{
    Block, Content, Document, Image, Json, Raw, RawMap, RedactedThinking, TextBlock, Thinking,
    ToolResult, ToolUse, replace_lone_surrogates,
};

use crate::requests::fit_name;

/// The length of the longest name of a tool.
const LONGEST_NAME: usize = 128;

/// The mark of a place up to which the provider may cache a request.
const CACHE_POINT: &str = "cache_control";

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker<'a> {
    /// A person, or a tool.
    User,
    /// A model, by its name if that is known.
    Model(Option<&'a str>),
}

impl Speaker<'_> {
    /// Returns the role in the API.
    pub(super) fn role(self) -> &'static str {
        match self {
            Speaker::User => "user",
            Speaker::Model(_) => "assistant",
        }
    }

    /// Returns whether the speaker may be a model of this API, whose thoughts it can read.
    fn is_own_model(self) -> bool {
        match self {
            Speaker::User => false,
            Speaker::Model(None) => true,
            Speaker::Model(Some(name)) => name.contains("claude"),
        }
    }
}

/// Encodes a content; `None` if the API accepts nothing of it.
pub(super) fn content(speaker: Speaker<'_>, content: &Content) -> Option<Raw> {
    match content {
        Content::Empty => None,
        Content::Text(text) if text.is_blank() => None,
        Content::Text(text) => Some(Raw::string(&text.as_str())),
        Content::Blocks(blocks) => {
            let blocks = blocks.iter().filter_map(|block| encode(speaker, block));
            let blocks: Vec<Raw> = blocks.collect();
            (!blocks.is_empty()).then(|| Raw::array(&blocks))
        }
    }
}

/// Encodes instructions, which are text; `None` if there are none.
pub(super) fn instructions(given: &Content) -> Option<Raw> {
    if are_instructions(given) {
        return Raw::parse(&given.to_json()).ok();
    }
    let Content::Blocks(blocks) = given else {
        return content(Speaker::User, given);
    };
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => encode_text(Speaker::User, text),
        _ => None,
    });
    let texts: Vec<Raw> = texts.map(|text| text.to_raw()).collect();
    (!texts.is_empty()).then(|| Raw::array(&texts))
}

/// Returns whether a content is text that the API accepts as it is.
pub(super) fn are_instructions(given: &Content) -> bool {
    let is_text = match given {
        Content::Empty => false,
        Content::Text(text) => !text.is_blank(),
        Content::Blocks(blocks) => {
            let is_text = |block: &Block| matches!(block, Block::Text(_)) && !block.is_blank();
            !blocks.is_empty() && blocks.iter().all(is_text)
        }
    };
    let raw = Raw::parse(&given.to_json());
    is_text && raw.is_ok_and(|raw| replace_lone_surrogates(&raw) == raw)
}

/// Encodes a block; `None` if the speaker may not say it.
fn encode(speaker: Speaker<'_>, block: &Block) -> Option<Raw> {
    let is_model = speaker != Speaker::User;
    let fields = match block {
        Block::Text(text) => encode_text(speaker, text),
        Block::ToolUse(call) if is_model => Some(encode_call(call)),
        Block::Thinking(thinking) if is_model => encode_thinking(speaker, thinking),
        Block::RedactedThinking(thinking) if is_model => encode_redacted(speaker, thinking),
        Block::Other(raw) => encode_other(speaker, raw).or_else(|| encode_transcript(raw)),
        Block::Image(image) if !is_model => encode_image(image),
        Block::Document(document) if !is_model => encode_document(document),
        Block::ToolResult(result) if !is_model => Some(encode_result(result)),
        Block::ToolUse(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::Image(_)
        | Block::Document(_)
        | Block::ToolResult(_) => None,
    };
    fields.map(|fields| fields.to_raw())
}

/// Returns the beginning of a block.
fn typed(kind: &str) -> RawMap {
    RawMap::from([("type", Raw::string(kind))])
}

/// Copies the fields that are there.
fn copy_fields(fields: &mut RawMap, extra: &RawMap, names: &[&str]) {
    for name in names {
        if let Some(value) = extra.get(name) {
            fields.push(name, value.clone());
        }
    }
}

/// Encodes text; `None` if it is blank. Only a model cites.
fn encode_text(speaker: Speaker<'_>, block: &TextBlock) -> Option<RawMap> {
    if block.text.is_blank() {
        return None;
    }
    let mut fields = typed("text");
    fields.push("text", Raw::string(&block.text.as_str()));
    if speaker != Speaker::User {
        copy_fields(&mut fields, &block.extra, &["citations"]);
    }
    copy_fields(&mut fields, &block.extra, &[CACHE_POINT]);
    Some(fields)
}

/// Encodes a call. Its input is an object.
fn encode_call(call: &ToolUse) -> RawMap {
    let ToolUse {
        id,
        name,
        input,
        extra,
    } = call;
    let mut fields = typed("tool_use");
    fields.push("id", Raw::string(id));
    fields.push("name", Raw::string(&fit_name(name, LONGEST_NAME)));
    let is_object = input.as_str().starts_with('{');
    let wrapped = || RawMap::from([("input", input.clone())]).to_raw();
    let input = if is_object { input.clone() } else { wrapped() };
    fields.push("input", input);
    copy_fields(&mut fields, extra, &["caller", CACHE_POINT]);
    fields
}

/// Encodes a thought; `None` without a signature, or if another model had it.
fn encode_thinking(speaker: Speaker<'_>, thinking: &Thinking) -> Option<RawMap> {
    let Thinking {
        thinking,
        signature,
        extra: _,
    } = thinking;
    let signature = signature.as_deref().filter(|text| !text.is_empty())?;
    let mut fields = typed("thinking");
    fields.push("thinking", Raw::string(&thinking.as_str()));
    fields.push("signature", Raw::string(signature));
    speaker.is_own_model().then_some(fields)
}

/// Encodes an encrypted thought; `None` if it is empty, or if another model had it.
fn encode_redacted(speaker: Speaker<'_>, thinking: &RedactedThinking) -> Option<RawMap> {
    let RedactedThinking { data, extra: _ } = thinking;
    let mut fields = typed("redacted_thinking");
    fields.push("data", Raw::string(data));
    (speaker.is_own_model() && !data.is_empty()).then_some(fields)
}

/// Encodes a block of a type that the model does not have; `None` if it is not of this API. Tools that the provider runs
/// are part of what the model says.
fn encode_other(speaker: Speaker<'_>, raw: &Raw) -> Option<RawMap> {
    let kind = raw.kind().unwrap_or_default();
    let fields = raw.as_object()?;
    let is_accepted = if speaker == Speaker::User {
        matches!(kind.as_str(), "search_result" | "container_upload")
    } else {
        is_server_call(&kind) || is_server_result(&kind)
    };
    let has_input = fields
        .get("input")
        .is_some_and(|input| input.as_str().starts_with('{'));
    let is_whole = !is_server_call(&kind) || has_input;
    (is_accepted && is_whole).then_some(fields)
}

/// Encodes what is said in audio of another API; `None` if this is something else, or has no transcript.
fn encode_transcript(raw: &Raw) -> Option<RawMap> {
    let fields = raw.as_object()?;
    let audio = fields.get("audio")?.as_object()?;
    let transcript = audio.string("transcript")?;
    encode_text(
        Speaker::User,
        &TextBlock {
            text: transcript.into(),
            extra: RawMap::new(),
        },
    )
}

/// Returns whether this is the type of a call of a tool that the provider runs.
pub(super) fn is_server_call(kind: &str) -> bool {
    matches!(kind, "server_tool_use" | "mcp_tool_use")
}

/// Returns whether this is the type of a result of such a tool. Each tool has its own.
pub(super) fn is_server_result(kind: &str) -> bool {
    kind.ends_with("_tool_result")
}

/// Encodes an image; `None` if the API could not find it, or does not know its type.
fn encode_image(image: &Image) -> Option<RawMap> {
    let Image { source, extra } = image;
    let kinds = ["image/jpeg", "image/png", "image/gif", "image/webp"];
    let is_accepted = match source.kind().unwrap_or_default().as_str() {
        "base64" => kinds.contains(&media_type(source).as_str()) && has_string(source, "data"),
        kind => is_elsewhere(source, kind),
    };
    let mut fields = typed("image");
    fields.push("source", source.clone());
    copy_fields(&mut fields, extra, &[CACHE_POINT]);
    is_accepted.then_some(fields)
}

/// Encodes a document; `None` as for [`encode_image`].
fn encode_document(document: &Document) -> Option<RawMap> {
    let Document { source, extra } = document;
    let is_accepted = match source.kind().unwrap_or_default().as_str() {
        "base64" => media_type(source) == "application/pdf" && has_string(source, "data"),
        "text" => media_type(source) == "text/plain" && has_string(source, "data"),
        "content" => source
            .as_object()
            .is_some_and(|fields| fields.get("content").is_some()),
        kind => is_elsewhere(source, kind),
    };
    let mut fields = typed("document");
    fields.push("source", source.clone());
    let names = ["title", "context", "citations", CACHE_POINT];
    copy_fields(&mut fields, extra, &names);
    is_accepted.then_some(fields)
}

/// Returns whether a source is an address, or a file that was uploaded before. A file beside the conversation has a path.
fn is_elsewhere(source: &Raw, kind: &str) -> bool {
    match kind {
        "url" => has_string(source, "url"),
        "file" => has_string(source, "file_id"),
        _ => false,
    }
}

/// Returns the media type of a source; empty if it has none.
fn media_type(source: &Raw) -> String {
    let fields = source.as_object().unwrap_or_default();
    fields.string("media_type").unwrap_or_default()
}

/// Returns whether an object has a string under a key.
fn has_string(raw: &Raw, key: &str) -> bool {
    raw.as_object()
        .is_some_and(|fields| fields.string(key).is_some())
}

/// Encodes the result of a call.
fn encode_result(result: &ToolResult) -> RawMap {
    let ToolResult {
        tool_use_id,
        content,
        is_error,
        extra,
    } = result;
    let mut fields = typed("tool_result");
    fields.push("tool_use_id", Raw::string(tool_use_id));
    match content {
        Content::Empty => {}
        Content::Text(text) => fields.push("content", Raw::string(&text.as_str())),
        Content::Blocks(blocks) => {
            let has_failed = *is_error == Some(true);
            let blocks = blocks
                .iter()
                .filter_map(|block| encode_in_result(block, has_failed));
            let blocks: Vec<Raw> = blocks.collect();
            fields.push("content", Raw::array(&blocks));
        }
    }
    if let Some(is_error) = is_error {
        fields.push("is_error", (*is_error).into());
    }
    copy_fields(&mut fields, extra, &[CACHE_POINT]);
    fields
}

/// Encodes a block of a result; `None` if the API does not accept it there. A failed call has only text.
fn encode_in_result(block: &Block, has_failed: bool) -> Option<Raw> {
    let fields = match block {
        Block::Text(text) => encode_text(Speaker::User, text)?,
        Block::Image(image) if !has_failed => encode_image(image)?,
        Block::Document(document) if !has_failed => encode_document(document)?,
        Block::Other(raw) if !has_failed => {
            let kind = raw.kind().unwrap_or_default();
            let is_accepted = matches!(kind.as_str(), "search_result" | "tool_reference");
            raw.as_object().filter(|_| is_accepted)?
        }
        _ => return None,
    };
    Some(fields.to_raw())
}
