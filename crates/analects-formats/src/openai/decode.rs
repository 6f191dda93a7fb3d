//! Decodes messages of the API.

use analects_core::{
    Assistant, Block, Body, Content, Json, Message, Raw, RawMap, System, Text, ToolResult, ToolUse,
    User,
};

use crate::chatmd::session_json::{FieldReader, non_empty, read_part};
use crate::requests::implied_stop_reason;

/// The extra field for the arguments of a call as they are spelled, if that is not plain JSON.
pub(super) const ARGUMENTS: &str = "arguments";

/// Reads a message and takes the fields that it understands; `None` for an unknown role.
pub(super) fn message(fields: &mut FieldReader) -> Option<Message> {
    let role = fields.take("role", Raw::as_string)?;
    let body = match role.as_str() {
        "system" | "developer" => Body::System(System {
            content: take_content(fields),
        }),
        "user" => Body::User(User {
            content: take_content(fields),
            ..User::default()
        }),
        "assistant" => Body::Assistant(assistant(fields)),
        "tool" => Body::ToolResult(tool_result(fields)),
        _ => return None,
    };
    let mut message = Message::new("", body);
    message.author = fields.take("name", |raw| raw.as_string().filter(|name| is_name(name)));
    if role == "developer" {
        fields.put("role", Raw::string(&role));
    }
    Some(message)
}

/// Returns whether a text can be the `name` of a message.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(is_forbidden_in_name)
}

/// Returns whether the API refuses a character in names.
fn is_forbidden_in_name(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "<|\\/>".contains(c)
}

/// Takes the content of a message; empty if it is missing, `null` or unreadable.
fn take_content(fields: &mut FieldReader) -> Content {
    fields.take("content", read_content).unwrap_or_default()
}

/// Reads a string or a list of parts.
fn read_content(raw: &Raw) -> Option<Content> {
    if let Some(text) = Text::from_raw(raw) {
        return Some(Content::Text(text));
    }
    let parts = raw.as_array()?;
    Some(Content::Blocks(parts.iter().map(read_block).collect()))
}

/// Reads a part of a content. Also understands the blocks of other APIs.
fn read_block(raw: &Raw) -> Block {
    let block = read_part(raw);
    if !matches!(block, Block::Other(_)) {
        return block;
    }
    Block::read(raw, &mut Vec::new()).unwrap_or(block)
}

/// Reads a message of the role `tool`.
fn tool_result(fields: &mut FieldReader) -> ToolResult {
    let tool_use_id = fields.take("tool_call_id", non_empty).unwrap_or_default();
    let mut content = take_content(fields);
    if let Content::Blocks(blocks) = &mut content {
        blocks.iter_mut().for_each(keep_nested_result);
    }
    ToolResult {
        tool_use_id,
        content,
        ..ToolResult::default()
    }
}

/// Keeps a result inside a result as JSON, like all formats do.
fn keep_nested_result(block: &mut Block) {
    if let Block::ToolResult(_) = block
        && let Ok(raw) = Raw::parse(&block.to_json())
    {
        *block = Block::Other(raw);
    }
}

/// Reads an answer: its content first, then its calls.
fn assistant(fields: &mut FieldReader) -> Assistant {
    let content = take_content(fields);
    let calls = fields.take("tool_calls", read_calls).unwrap_or_default();
    let stop_reason = Some(implied_stop_reason(!calls.is_empty()));
    if calls.is_empty() {
        return Assistant {
            content,
            stop_reason,
        };
    }
    let mut blocks = match content {
        Content::Empty => Vec::new(),
        Content::Text(text) => vec![Block::from_text(text)],
        Content::Blocks(blocks) => blocks,
    };
    blocks.extend(calls.into_iter().map(Block::ToolUse));
    Assistant {
        content: Content::Blocks(blocks),
        stop_reason,
    }
}

/// Reads a list of calls; `None` if it is empty, or if not all of them are calls of functions.
fn read_calls(raw: &Raw) -> Option<Vec<ToolUse>> {
    let calls: Option<Vec<ToolUse>> = raw.as_array()?.iter().map(read_call).collect();
    calls.filter(|calls| !calls.is_empty())
}

/// Reads a call of a function; `None` if it has unknown fields, which would get lost.
fn read_call(raw: &Raw) -> Option<ToolUse> {
    let mut fields = FieldReader::of(&raw.as_object()?);
    fields.take("type", |raw| {
        raw.as_string().filter(|kind| kind == "function")
    })?;
    let id = fields.take("id", Raw::as_string)?;
    let mut function = FieldReader::of(&fields.take("function", Raw::as_object)?);
    let name = function.take("name", Raw::as_string)?;
    let arguments = function.take("arguments", Raw::as_string)?;
    if !fields.rest().is_empty() || !function.rest().is_empty() {
        return None;
    }
    let input = Raw::parse(&arguments).ok();
    let mut extra = RawMap::new();
    if input.as_ref().map(Raw::as_str) != Some(&arguments) {
        extra.push(ARGUMENTS, Raw::string(&arguments));
    }
    Some(ToolUse {
        id,
        name,
        input: input.unwrap_or_else(Raw::empty_object),
        extra,
    })
}
