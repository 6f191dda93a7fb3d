//! A message of the API in, a message out.

use analects_core::{
    Assistant, Block, Body, Content, Json, Message, Raw, RawMap, System, Text, ToolResult, ToolUse,
    User,
};

use crate::chatmd::session_json::{FieldReader, read_part};
use crate::requests::implied_stop;

/// The extra field for the arguments of a call as they were spelled, where that is not plain JSON.
pub(super) const ARGUMENTS: &str = "arguments";

/// Takes what is known from the fields of a message; `None` for a role that nobody knows.
pub(super) fn message(fields: &mut FieldReader) -> Option<Message> {
    let role = fields.take("role", Raw::as_string)?;
    let body = match role.as_str() {
        "system" | "developer" => Body::System(System {
            content: content(fields),
        }),
        "user" => Body::User(User {
            content: content(fields),
            ..User::default()
        }),
        "assistant" => Body::Assistant(assistant(fields)),
        "tool" => {
            let some = |raw: &Raw| raw.as_string().filter(|id| !id.is_empty());
            let tool_use_id = fields.take("tool_call_id", some).unwrap_or_default();
            let content = inside_result(content(fields));
            Body::ToolResult(ToolResult {
                tool_use_id,
                content,
                ..ToolResult::default()
            })
        }
        _ => return None,
    };
    let mut message = Message::new("", body);
    message.author = fields.take("name", |raw| raw.as_string().filter(|name| is_name(name)));
    if role == "developer" {
        fields.put("role", Raw::string(&role));
    }
    Some(message)
}

/// Whether a name can be a message's `name`.
pub(super) fn is_name(name: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "<|\\/>".contains(c);
    !name.is_empty() && !name.chars().any(is_odd)
}

fn content(fields: &mut FieldReader) -> Content {
    fields.take("content", read_content).unwrap_or_default()
}

fn read_content(raw: &Raw) -> Option<Content> {
    if let Some(text) = Text::from_raw(raw) {
        return Some(Content::Text(text));
    }
    Some(Content::Blocks(raw.as_array()?.iter().map(part).collect()))
}

/// A part of a content. One of another API's is what it is there.
fn part(raw: &Raw) -> Block {
    let block = read_part(raw);
    let is_foreign = matches!(block, Block::Other(_));
    if is_foreign {
        Block::read(raw, &mut Vec::new()).unwrap_or(block)
    } else {
        block
    }
}

/// Results inside of results stay as they are, as everywhere.
fn inside_result(content: Content) -> Content {
    let Content::Blocks(mut blocks) = content else {
        return content;
    };
    for block in &mut blocks {
        if let Block::ToolResult(_) = block
            && let Ok(raw) = Raw::parse(&block.to_json())
        {
            *block = Block::Other(raw);
        }
    }
    Content::Blocks(blocks)
}

/// What the model said, and then what it called.
fn assistant(fields: &mut FieldReader) -> Assistant {
    let said = content(fields);
    let calls = fields.take("tool_calls", calls).unwrap_or_default();
    let stop_reason = implied_stop(!calls.is_empty());
    if calls.is_empty() {
        return Assistant {
            content: said,
            stop_reason,
        };
    }
    let mut blocks = match said {
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

/// The calls, if all of them are of functions and there are some.
fn calls(raw: &Raw) -> Option<Vec<ToolUse>> {
    let calls: Option<Vec<ToolUse>> = raw.as_array()?.iter().map(call).collect();
    calls.filter(|calls| !calls.is_empty())
}

fn call(raw: &Raw) -> Option<ToolUse> {
    let mut fields = FieldReader::of(&raw.as_object()?);
    fields.take("type", |raw| {
        raw.as_string().filter(|kind| kind == "function")
    })?;
    let id = fields.take("id", Raw::as_string)?;
    let mut function = FieldReader::of(&fields.take("function", Raw::as_object)?);
    let name = function.take("name", Raw::as_string)?;
    let spelled = function.take("arguments", Raw::as_string)?;
    let is_all = fields.rest().is_empty() && function.rest().is_empty();
    let input = Raw::parse(&spelled).ok();
    let mut extra = RawMap::new();
    if input.as_ref().is_none_or(|input| input.as_str() != spelled) {
        extra.push(ARGUMENTS, Raw::string(&spelled));
    }
    let input = input.unwrap_or_else(Raw::empty_object);
    is_all.then_some(ToolUse {
        id,
        name,
        input,
        extra,
    })
}
