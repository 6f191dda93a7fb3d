//! The cell that holds a block.

use analects_core::{
    Block, Content, Document, Image, Json, Raw, Source, Text, TextBlock, Thinking, ToolResult,
    ToolUse,
};

use super::{CallCells, Side, fence_json};
use crate::msgfile::invoke::{self, Arguments, Invoke};
use crate::msgfile::owners::PartNames;
use crate::msgfile::{CellKind, NewCell, base64};

/// A cell that holds a block: in a readable form if that says everything, else as JSON. `nonce` is for the name of a
/// call.
pub(in crate::msgfile::messages) fn write(
    block: &Block,
    side: Side<'_>,
    names: &mut PartNames<'_>,
    nonce: String,
    calls: &mut CallCells,
) -> NewCell {
    let readable = match side {
        Side::User => user_cell(block, names, calls),
        Side::Agent(agent) => agent_cell(block, agent, names, &nonce, calls),
    };
    if let Some(cell) = readable {
        return cell;
    }
    let kind = match side {
        Side::User => CellKind::Message,
        Side::Agent(_) => CellKind::Output,
    };
    let json = fence_json(&block.to_json());
    NewCell::new(kind, names.block(), "block", json)
}

/// A readable cell for a block of a person. `None` for broken text, a block of the other side, and blocks that no
/// cell has a form for.
fn user_cell(block: &Block, names: &mut PartNames<'_>, calls: &mut CallCells) -> Option<NewCell> {
    match block {
        Block::Text(TextBlock {
            text: Text::Plain(text),
            ..
        }) => Some(NewCell::message(names.text(), text.as_str())),
        Block::ToolResult(result) => write_result(result, calls),
        Block::Image(Image { source, .. }) => write_binary(source, true, names),
        Block::Document(Document { source, .. }) => write_binary(source, false, names),
        Block::Text(_)
        | Block::ToolUse(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::Other(_) => None,
    }
}

/// A readable cell for a block of an agent; `None` as in [`user_cell`].
fn agent_cell(
    block: &Block,
    agent: &str,
    names: &mut PartNames<'_>,
    nonce: &str,
    calls: &mut CallCells,
) -> Option<NewCell> {
    match block {
        Block::Text(TextBlock {
            text: Text::Plain(text),
            ..
        }) => Some(NewCell::reply(names.text(), agent, text.as_str())),
        Block::Thinking(Thinking {
            thinking: Text::Plain(text),
            ..
        }) => Some(NewCell::reply(names.thought(), agent, text.as_str())),
        Block::ToolUse(call) => write_call(call, names.call(nonce), calls),
        Block::Text(_)
        | Block::Thinking(_)
        | Block::Image(_)
        | Block::ToolResult(_)
        | Block::RedactedThinking(_)
        | Block::Document(_)
        | Block::Other(_) => None,
    }
}

/// The cell of a call; `None` if XML cannot hold the arguments.
fn write_call(call: &ToolUse, id: String, calls: &mut CallCells) -> Option<NewCell> {
    let arguments = match call.extra.get("malformed_input") {
        Some(_) => Arguments::Text(call.input.as_string()?),
        None => Arguments::Json(call.input.clone()),
    };
    let text = invoke::encode(&Invoke {
        name: call.name.clone(),
        arguments,
    })?;
    calls.add(&call.id, &id);
    let cell = NewCell::new(CellKind::Output, id, "tool", text);
    let cell = cell.with("name", call.name.as_str());
    Some(cell.with("call_id", call.id.as_str()))
}

/// `None` for a result of a call without a cell, and for one that is more than a text.
fn write_result(result: &ToolResult, calls: &mut CallCells) -> Option<NewCell> {
    let (text, shape) = text_and_shape(&result.content)?;
    let id = calls.next_result(&result.tool_use_id)?;
    let mut cell = NewCell::new(CellKind::Output, id, "tool", text);
    if let Some(is_error) = result.is_error {
        cell = cell.with("status", if is_error { "failed" } else { "success" });
    }
    Some(match shape {
        Some(shape) => cell.with("result", shape),
        None => cell,
    })
}

/// The text of a result, and the value of its `result=`, if it needs one.
fn text_and_shape(content: &Content) -> Option<(&str, Option<&'static str>)> {
    let blocks = match content {
        Content::Empty => return Some(("", Some("empty"))),
        Content::Text(Text::Plain(text)) => return Some((text, None)),
        Content::Text(_) => return None,
        Content::Blocks(blocks) => blocks,
    };
    match blocks.as_slice() {
        [
            Block::Text(TextBlock {
                text: Text::Plain(text),
                ..
            }),
        ] => Some((text, Some("blocks"))),
        _ => None,
    }
}

/// A `[raw]` cell with the bytes of an image or a document, if its source is base64 of a fitting media type.
fn write_binary(source: &Raw, is_image: bool, names: &mut PartNames<'_>) -> Option<NewCell> {
    let Some(Source::Base64 { media_type, data }) = Source::of(source) else {
        return None;
    };
    let bytes = base64::decode(&data)?;
    // A cell without bytes would be read as damaged.
    if bytes.is_empty() || media_type.starts_with("image/") != is_image {
        return None;
    }
    let text = base64::encode(&bytes);
    let cell = NewCell::new(CellKind::Message, names.block(), "raw", text);
    Some(cell.with("mime_type", media_type))
}
