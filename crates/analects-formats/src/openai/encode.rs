//! Encodes messages as messages of the API. What the API cannot represent is left out here, and found missing when the
//! result is read back.

use analects_core::{Block, Body, Content, Json, Message, Raw, RawMap, ToolResult, ToolUse};

use super::ChatCompletionsApi;
use super::decode::{ARGUMENTS, is_name};
use crate::chatmd::session_json::write_part;
use crate::requests::RequestApi;

/// Encodes a message, usually as one message of the API.
pub(super) fn messages(message: &Message) -> Vec<RawMap> {
    match &message.body {
        Body::System(body) => vec![plain_message(message, "system", &body.content)],
        Body::User(body) => user_messages(message, &body.content),
        Body::Assistant(body) => vec![assistant_message(message, &body.content)],
        Body::ToolUse(call) => {
            let content = Content::Blocks(vec![Block::ToolUse(call.clone())]);
            vec![assistant_message(message, &content)]
        }
        Body::ToolResult(result) => vec![tool_message(message, result)],
        Body::Summary(body) => {
            let content = Content::Text(body.text.clone());
            vec![plain_message(message, "user", &content)]
        }
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

/// Encodes a message with a role, a name and a content.
fn plain_message(message: &Message, role: &str, content: &Content) -> RawMap {
    let mut fields = RawMap::new();
    let extra = message.extra.get(ChatCompletionsApi::ID);
    let own_role = extra.and_then(|extra| extra.as_object()?.get("role").cloned());
    // A role of its own, such as `developer`, is added with the other extra fields.
    if own_role.is_none() {
        fields.push("role", Raw::string(role));
    }
    if let Some(author) = message.author.as_deref().filter(|name| is_name(name)) {
        fields.push("name", Raw::string(author));
    }
    if let Some(content) = encode_content(content) {
        fields.push("content", content);
    }
    fields
}

/// Encodes a content as a string or a list of parts.
fn encode_content(content: &Content) -> Option<Raw> {
    match content {
        Content::Empty => None,
        Content::Text(text) => Raw::parse(&text.to_json()).ok(),
        Content::Blocks(blocks) => {
            let parts: Vec<Raw> = blocks.iter().filter_map(write_part).collect();
            Some(Raw::array(&parts))
        }
    }
}

/// Encodes a user's message. Results of tools are messages of their own and come first.
fn user_messages(message: &Message, content: &Content) -> Vec<RawMap> {
    let Content::Blocks(blocks) = content else {
        return vec![plain_message(message, "user", content)];
    };
    let mut messages = Vec::new();
    let mut rest = Vec::new();
    for block in blocks {
        match block {
            Block::ToolResult(result) => messages.push(tool_message(message, result)),
            block => rest.push(block.clone()),
        }
    }
    if !rest.is_empty() || messages.is_empty() {
        messages.push(plain_message(message, "user", &Content::Blocks(rest)));
    }
    messages
}

/// Encodes the result of a call.
fn tool_message(message: &Message, result: &ToolResult) -> RawMap {
    let mut fields = plain_message(message, "tool", &result.content);
    if !result.tool_use_id.is_empty() {
        fields.push("tool_call_id", Raw::string(&result.tool_use_id));
    }
    fields
}

/// Encodes an answer. Its calls are in a field of their own.
fn assistant_message(message: &Message, content: &Content) -> RawMap {
    let Content::Blocks(blocks) = content else {
        return plain_message(message, "assistant", content);
    };
    let mut calls = Vec::new();
    let mut parts = Vec::new();
    for block in blocks {
        if let Block::ToolUse(call) = block {
            calls.push(encode_call(call));
        } else if write_part(block).is_some() {
            parts.push(block.clone());
        }
    }
    if calls.is_empty() {
        return plain_message(message, "assistant", content);
    }
    // Beside calls, one text is a string, and no text is no content.
    let content = match parts.as_slice() {
        [] => Content::Empty,
        [Block::Text(block)] if block.extra.is_empty() => Content::Text(block.text.clone()),
        _ => Content::Blocks(parts),
    };
    let mut fields = plain_message(message, "assistant", &content);
    fields.push("tool_calls", Raw::array(&calls));
    fields
}

/// Encodes a call of a function.
fn encode_call(call: &ToolUse) -> Raw {
    let function = RawMap::from([
        ("name", Raw::string(&call.name)),
        ("arguments", Raw::string(&arguments(call))),
    ]);
    let fields = RawMap::from([
        ("id", Raw::string(&call.id)),
        ("type", Raw::string("function")),
        ("function", function.to_raw()),
    ]);
    fields.to_raw()
}

/// Returns the arguments of a call as they were spelled, if they still mean the same.
fn arguments(call: &ToolUse) -> String {
    let spelled = call.extra.get(ARGUMENTS).and_then(Raw::as_string);
    if let Some(spelled) = spelled {
        let value = Raw::parse(&spelled).unwrap_or_else(|_| Raw::empty_object());
        if value == call.input {
            return spelled;
        }
    }
    call.input.as_str().to_string()
}
