//! Encodes messages as messages that the API accepts. What it would refuse is left out here, and found missing when the
//! result is read back.

use analects_core::{
    Block, Body, Content, Document, Image, Message, Raw, RawMap, Source, TextBlock, Thinking,
    ToolResult, ToolUse,
};

use super::ChatCompletionsApi;
use super::decode::{
    ARGUMENTS, CUSTOM, FIELD_BLOCKS, FORM, FUNCTION_CALL, MALFORMED, REFUSAL, THOUGHTS, is_name,
};
use crate::chatmd::session_json::write_part;
use crate::requests::{RequestApi, fit_name};

/// The length of the longest name of a tool.
const LONGEST_NAME: usize = 64;

/// Encodes a message, usually as one message of the API; as none if the API accepts nothing of it.
pub(super) fn messages(message: &Message) -> Vec<RawMap> {
    match &message.body {
        Body::System(body) => said(message, "system", &body.content),
        Body::User(body) => user_messages(message, &body.content),
        Body::Assistant(body) => answer(message, &body.content),
        Body::ToolUse(call) => {
            let content = Content::Blocks(vec![Block::ToolUse(call.clone())]);
            answer(message, &content)
        }
        Body::ToolResult(result) => vec![tool_message(message, result)],
        Body::Summary(body) => said(message, "user", &Content::Text(body.text.clone())),
        Body::Attachment(body) if !body.content.is_empty() => user_messages(message, &body.content),
        Body::Notification(body) if !body.content.is_empty() => {
            user_messages(message, &body.content)
        }
        Body::Progress(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => Vec::new(),
    }
}

/// Encodes the beginning of a message: its role and its name.
fn head(message: &Message, role: &str) -> RawMap {
    let mut fields = RawMap::new();
    // A role of its own, such as `developer`, is added with the other extra fields.
    if own_role(message).is_none() {
        fields.push("role", Raw::string(role));
    }
    if let Some(author) = message.author.as_deref().filter(|name| is_name(name)) {
        fields.push("name", Raw::string(author));
    }
    fields
}

/// Returns the role that the API has for this message, if the model has no such role.
fn own_role(message: &Message) -> Option<String> {
    let extra = message.extra.get(ChatCompletionsApi::ID)?.as_object()?;
    extra.string("role")
}

/// Encodes what a role says; as nothing if the API accepts nothing of it.
fn said(message: &Message, role: &str, content: &Content) -> Vec<RawMap> {
    let Some(content) = encode_content(role, content) else {
        return Vec::new();
    };
    let mut fields = head(message, role);
    fields.push("content", content);
    vec![fields]
}

/// Encodes a content as a string or a list of parts; `None` if the API accepts nothing of it.
fn encode_content(role: &str, content: &Content) -> Option<Raw> {
    match content {
        Content::Empty => None,
        Content::Text(text) => Some(Raw::string(&text.as_str())),
        Content::Blocks(blocks) => {
            let parts = blocks.iter().filter_map(|block| encode_part(role, block));
            let parts: Vec<Raw> = parts.collect();
            (!parts.is_empty()).then(|| Raw::array(&parts))
        }
    }
}

/// Encodes a block as a part of what a role says; `None` if the role may not say it.
fn encode_part(role: &str, block: &Block) -> Option<Raw> {
    match block {
        Block::Text(text) if role == "assistant" && is_refusal(text) => {
            Some(text_part(REFUSAL, &text.text.as_str()))
        }
        Block::Text(text) => Some(text_part("text", &text.text.as_str())),
        Block::Image(image) if role == "user" => encode_image(image),
        Block::Document(document) => Some(text_part("text", &document_text(document)?)),
        Block::Other(part) if role == "user" && is_user_part(part) => Some(part.clone()),
        Block::Image(_)
        | Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::Other(_) => None,
    }
}

/// Returns the words of a document; `None` if it is not text.
fn document_text(document: &Document) -> Option<String> {
    let source = document.source.as_object()?;
    source.string("type").filter(|kind| kind == "text")?;
    source.string("data")
}

/// Encodes a part that is text, under the name of its type.
fn text_part(kind: &str, text: &str) -> Raw {
    let part = RawMap::from([("type", Raw::string(kind)), (kind, Raw::string(text))]);
    part.to_raw()
}

/// Encodes an image; `None` if the API could not find it.
fn encode_image(image: &Image) -> Option<Raw> {
    let Image { source, extra } = image;
    match Source::of(source)? {
        Source::Base64 { .. } | Source::Url(_) => {}
        Source::File(_) => return None,
    }
    let mut known = RawMap::new();
    if let Some(detail) = extra.get("detail") {
        known.push("detail", detail.clone());
    }
    write_part(&Block::Image(Image {
        source: source.clone(),
        extra: known,
    }))
}

/// Returns whether a block of an unknown type is a part that a user may send.
fn is_user_part(part: &Raw) -> bool {
    let kind = part.kind().unwrap_or_default();
    let is_known = matches!(kind.as_str(), "input_audio" | "file");
    let fields = part.as_object().unwrap_or_default();
    is_known && fields.get(&kind).and_then(Raw::as_object).is_some()
}

/// Returns whether a text is the model's refusal to answer.
fn is_refusal(text: &TextBlock) -> bool {
    let mark = text.extra.get(REFUSAL);
    mark.is_some_and(|mark| mark.as_str() == "true")
}

/// Encodes a user's message. Results of tools are messages of their own and come first.
fn user_messages(message: &Message, content: &Content) -> Vec<RawMap> {
    let Content::Blocks(blocks) = content else {
        return said(message, "user", content);
    };
    let mut messages = Vec::new();
    let mut rest = Vec::new();
    for block in blocks {
        match block {
            Block::ToolResult(result) => messages.push(tool_message(message, result)),
            block => rest.push(block.clone()),
        }
    }
    messages.extend(said(message, "user", &Content::Blocks(rest)));
    messages
}

/// Encodes the result of a call. The API requires a content.
fn tool_message(message: &Message, result: &ToolResult) -> RawMap {
    let ToolResult {
        tool_use_id,
        content,
        is_error: _,
        extra: _,
    } = result;
    let mut fields = head(message, "tool");
    let content = encode_content("tool", content);
    fields.push("content", content.unwrap_or_else(|| Raw::string("")));
    // The role `function` has a name instead.
    if own_role(message).is_none() {
        fields.push("tool_call_id", Raw::string(tool_use_id));
    }
    fields
}

/// The blocks of an answer, by the fields that they are written in.
#[derive(Default)]
struct AnswerFields {
    /// Texts, and refusals if there are several.
    parts: Vec<Block>,
    /// The refusal, if there is one.
    refusals: Vec<TextBlock>,
    calls: Vec<ToolUse>,
    /// Other fields, with their names.
    others: Vec<(String, Raw)>,
}

impl AnswerFields {
    /// Sorts the blocks of an answer. What the API does not have is left out.
    fn of(blocks: &[Block]) -> AnswerFields {
        let mut answer = AnswerFields::default();
        for block in blocks {
            match block {
                Block::Text(text) if is_refusal(text) => answer.refusals.push(text.clone()),
                Block::Text(_) => answer.parts.push(block.clone()),
                Block::ToolUse(call) => answer.calls.push(call.clone()),
                Block::Thinking(thinking) => answer.add_thought(thinking),
                Block::Other(block) => answer.add_field(block),
                Block::Image(_)
                | Block::ToolResult(_)
                | Block::RedactedThinking(_)
                | Block::Document(_) => {}
            }
        }
        if answer.refusals.len() > 1 {
            let refusals = std::mem::take(&mut answer.refusals);
            answer.parts.extend(refusals.into_iter().map(Block::Text));
        }
        answer
    }

    /// Adds a thought that came from a field of an answer. Only servers that write this field accept it.
    fn add_thought(&mut self, thinking: &Thinking) {
        let Thinking {
            thinking,
            signature,
            extra,
        } = thinking;
        let field = extra.string(FORM).unwrap_or_default();
        let is_taken = self.others.iter().any(|(key, _)| *key == field);
        if THOUGHTS.contains(&field.as_str()) && signature.is_none() && !is_taken {
            let thinking = Raw::string(&thinking.as_str());
            self.others.push((field, thinking));
        }
    }

    /// Adds a block that came from a field of an answer.
    fn add_field(&mut self, block: &Raw) {
        let fields = block.as_object().unwrap_or_default();
        let key = fields.string("type").unwrap_or_default();
        if let Some(value) = fields.get(&key)
            && FIELD_BLOCKS.contains(&key.as_str())
        {
            self.others.push((key, value.clone()));
        }
    }

    /// Returns whether there is nothing but texts.
    fn is_plain(&self) -> bool {
        self.refusals.is_empty() && self.calls.is_empty() && self.others.is_empty()
    }

    /// Returns the content. Beside other fields, one text is a string.
    fn content(&self) -> Option<Raw> {
        match self.parts.as_slice() {
            [Block::Text(block)] if !is_refusal(block) => Some(Raw::string(&block.text.as_str())),
            parts => encode_content("assistant", &Content::Blocks(parts.to_vec())),
        }
    }
}

/// Encodes an answer. Its calls, its refusal and its thoughts are in fields of their own.
fn answer(message: &Message, content: &Content) -> Vec<RawMap> {
    let Content::Blocks(blocks) = content else {
        return said(message, "assistant", content);
    };
    let answer = AnswerFields::of(blocks);
    if answer.is_plain() {
        return said(message, "assistant", &Content::Blocks(answer.parts));
    }
    let mut fields = head(message, "assistant");
    if let Some(content) = answer.content() {
        fields.push("content", content);
    }
    for refusal in &answer.refusals {
        fields.push(REFUSAL, Raw::string(&refusal.text.as_str()));
    }
    for (key, value) in &answer.others {
        fields.push(key, value.clone());
    }
    push_calls(&answer.calls, &mut fields);
    vec![fields]
}

/// Adds the calls of an answer.
fn push_calls(calls: &[ToolUse], fields: &mut RawMap) {
    match calls {
        [] => {}
        [only] if form(only).as_deref() == Some(FUNCTION_CALL) => {
            fields.push(FUNCTION_CALL, function(only).to_raw());
        }
        calls => {
            let calls: Vec<Raw> = calls.iter().map(encode_call).collect();
            fields.push("tool_calls", Raw::array(&calls));
        }
    }
}

/// Returns the form of a call, if it is not the usual one.
fn form(call: &ToolUse) -> Option<String> {
    call.extra.string(FORM)
}

/// Encodes a call of a function, or of a tool with plain text.
fn encode_call(call: &ToolUse) -> Raw {
    let text = call.input.as_string();
    let (kind, what) = match text.filter(|_| form(call).as_deref() == Some(CUSTOM)) {
        Some(text) => {
            let name = Raw::string(&fit_name(&call.name, LONGEST_NAME));
            let custom = RawMap::from([("name", name), ("input", Raw::string(&text))]);
            (CUSTOM, custom)
        }
        None => ("function", function(call)),
    };
    let fields = RawMap::from([
        ("id", Raw::string(&call.id)),
        ("type", Raw::string(kind)),
        (kind, what.to_raw()),
    ]);
    fields.to_raw()
}

/// Encodes the name and the arguments of a call.
fn function(call: &ToolUse) -> RawMap {
    RawMap::from([
        ("name", Raw::string(&fit_name(&call.name, LONGEST_NAME))),
        ("arguments", Raw::string(&arguments(call))),
    ])
}

/// Returns the arguments of a call as they were spelled, if they still mean the same.
fn arguments(call: &ToolUse) -> String {
    if call.extra.get(MALFORMED).is_some()
        && let Some(text) = call.input.as_string()
    {
        return text;
    }
    if let Some(spelled) = call.extra.string(ARGUMENTS) {
        let value = Raw::parse(&spelled).unwrap_or_else(|_| Raw::empty_object());
        if value == call.input {
            return spelled;
        }
    }
    call.input.as_str().to_string()
}
