//! A message in, messages of the API out. What has no place is left out here, and found missing by whoever
//! reads them again.

use analects_core::{Block, Body, Content, Json, Message, Raw, RawMap, ToolResult, ToolUse};

use super::decode::{ARGUMENTS, is_name};
use crate::chatmd::session_json::write_part;
use crate::requests::{RequestApi, array};

/// The messages of the API that say this one.
pub(super) fn messages(message: &Message) -> Vec<RawMap> {
    match &message.body {
        Body::System(body) => vec![said(message, "system", &body.content)],
        Body::User(body) => user(message, &body.content),
        Body::Assistant(body) => vec![assistant(message, &body.content)],
        Body::ToolUse(call) => {
            vec![assistant(
                message,
                &Content::Blocks(vec![Block::ToolUse(call.clone())]),
            )]
        }
        Body::ToolResult(body) => vec![result(message, body)],
        Body::Summary(body) => vec![said(message, "user", &Content::Text(body.text.clone()))],
        Body::Attachment(body) if !body.content.is_empty() => user(message, &body.content),
        Body::Notification(body) if !body.content.is_empty() => user(message, &body.content),
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

/// An object with a role and a name.
fn start(message: &Message, role: &str) -> RawMap {
    let mut fields = RawMap::new();
    let own = message
        .extra
        .get(<super::ChatCompletionsApi as RequestApi>::ID)
        .and_then(Raw::as_object);
    if own.is_none_or(|own| own.get("role").is_none()) {
        fields.push("role", Raw::string(role));
    }
    if let Some(author) = message.author.as_deref().filter(|name| is_name(name)) {
        fields.push("name", Raw::string(author));
    }
    fields
}

fn said(message: &Message, role: &str, content: &Content) -> RawMap {
    let mut fields = start(message, role);
    if let Some(content) = write_content(content) {
        fields.push("content", content);
    }
    fields
}

/// A string, or a list of parts.
fn write_content(content: &Content) -> Option<Raw> {
    match content {
        Content::Empty => None,
        Content::Text(text) => Raw::parse(&text.to_json()).ok(),
        Content::Blocks(blocks) => Some(array(blocks.iter().filter_map(write_part))),
    }
}

/// What a person said; results of tools are messages of their own, and come first.
fn user(message: &Message, content: &Content) -> Vec<RawMap> {
    let Content::Blocks(blocks) = content else {
        return vec![said(message, "user", content)];
    };
    let is_result = |block: &&Block| matches!(block, Block::ToolResult(_));
    let mut items: Vec<RawMap> = Vec::new();
    for block in blocks {
        if let Block::ToolResult(body) = block {
            items.push(result(message, body));
        }
    }
    let rest: Vec<Block> = blocks
        .iter()
        .filter(|block| !is_result(block))
        .cloned()
        .collect();
    if !rest.is_empty() || items.is_empty() {
        items.push(said(message, "user", &Content::Blocks(rest)));
    }
    items
}

fn result(message: &Message, body: &ToolResult) -> RawMap {
    let mut fields = said(message, "tool", &body.content);
    if !body.tool_use_id.is_empty() {
        fields.push("tool_call_id", Raw::string(&body.tool_use_id));
    }
    fields
}

fn assistant(message: &Message, content: &Content) -> RawMap {
    let Content::Blocks(blocks) = content else {
        return said(message, "assistant", content);
    };
    let is_call = |block: &&Block| matches!(block, Block::ToolUse(_));
    let is_part = |block: &&Block| !is_call(block) && write_part(block).is_some();
    let texts: Vec<Block> = blocks.iter().filter(is_part).cloned().collect();
    let calls: Vec<Raw> = blocks.iter().filter_map(call).collect();
    if calls.is_empty() {
        return said(message, "assistant", content);
    }
    // Beside calls, one text is a string, and none is nothing at all.
    let text = match texts.as_slice() {
        [] => Content::Empty,
        [Block::Text(block)] if block.extra.is_empty() => Content::Text(block.text.clone()),
        _ => Content::Blocks(texts),
    };
    let mut fields = said(message, "assistant", &text);
    fields.push("tool_calls", array(calls));
    fields
}

fn call(block: &Block) -> Option<Raw> {
    let Block::ToolUse(ToolUse {
        id,
        name,
        input,
        extra,
    }) = block
    else {
        return None;
    };
    let spelled = extra.get(ARGUMENTS).and_then(Raw::as_string);
    let means = |text: &String| Raw::parse(text).unwrap_or_else(|_| Raw::empty_object()) == *input;
    let arguments = spelled
        .filter(means)
        .unwrap_or_else(|| input.as_str().to_string());
    let mut function = RawMap::new();
    function.push("name", Raw::string(name));
    function.push("arguments", Raw::string(&arguments));
    let mut call = RawMap::new();
    call.push("id", Raw::string(id));
    call.push("type", Raw::string("function"));
    call.push("function", function.to_raw());
    Some(call.to_raw())
}
