//! The cell that holds a block.

use analects_core::{
    Block, Content, Document, Image, Json, Raw, Source, Text, TextBlock, Thinking, ToolResult,
    ToolUse,
};

use super::{CallCells, Side, fence_json};
use crate::msgfile::invoke::{self, Arguments, Invoke};
use crate::msgfile::owners::PartNames;
use crate::msgfile::{CellKind, NewCell, base64};

/// The cells that hold a block: in a readable form if that says everything, else as JSON. All blocks get one cell, but a
/// result gets one for each of its own blocks. `nonce` is for the name of a call.
pub(in crate::msgfile::messages) fn write(
    block: &Block,
    side: Side<'_>,
    names: &mut PartNames<'_>,
    nonce: String,
    calls: &mut CallCells,
) -> Vec<NewCell> {
    let readable = match side {
        Side::User => user_cells(block, names, calls),
        Side::Agent(agent) => agent_cell(block, agent, names, &nonce, calls).map(|cell| vec![cell]),
    };
    if let Some(cells) = readable {
        return cells;
    }
    // A person writes no JSON, so it is an output on both sides.
    let json = fence_json(&block.to_json());
    vec![NewCell::new(CellKind::Output, names.block(), "block", json)]
}

/// Whether a cell of a person, or the result of a tool, can say this block of a user's message.
pub(in crate::msgfile::messages) fn user_can_say(block: &Block) -> bool {
    match block {
        Block::Text(block) => matches!(block.text, Text::Plain(_)),
        Block::ToolResult(_) => true,
        Block::Image(Image { source, .. }) => binary(source, true).is_some(),
        Block::Document(Document { source, .. }) => binary(source, false).is_some(),
        Block::ToolUse(_) | Block::Thinking(_) | Block::RedactedThinking(_) | Block::Other(_) => {
            false
        }
    }
}

/// Readable cells for a block of a person. `None` for broken text, a block of the other side, and blocks that no
/// cell has a form for.
fn user_cells(
    block: &Block,
    names: &mut PartNames<'_>,
    calls: &mut CallCells,
) -> Option<Vec<NewCell>> {
    let cell = match block {
        Block::Text(TextBlock {
            text: Text::Plain(text),
            ..
        }) => NewCell::message(names.text(), text.as_str()),
        Block::ToolResult(result) => return Some(write_result(result, names, calls)),
        Block::Image(Image { source, .. }) => write_binary(source, true, names)?,
        Block::Document(Document { source, .. }) => write_binary(source, false, names)?,
        Block::Text(_)
        | Block::ToolUse(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::Other(_) => return None,
    };
    Some(vec![cell])
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

/// One cell for each block of a result, named after its call: `2.k3f9qx7a.1`, `2.k3f9qx7a.1-2`. A result of a call without
/// a cell says which call it answers.
fn write_result(
    result: &ToolResult,
    names: &mut PartNames<'_>,
    calls: &mut CallCells,
) -> Vec<NewCell> {
    let of_call = calls.next_result(&result.tool_use_id);
    let is_orphan = of_call.is_none();
    let id = of_call.unwrap_or_else(|| format!("{}.1", names.block()));
    let mut cells = Vec::new();
    for (at, cell) in result_cells(&result.content).into_iter().enumerate() {
        let id = if at == 0 {
            id.clone()
        } else {
            format!("{id}-{}", at + 1)
        };
        let mut cell = NewCell { id, ..cell };
        if is_orphan {
            cell = cell.with("call_id", result.tool_use_id.as_str());
        }
        if let Some(is_error) = result.is_error.filter(|_| at == 0) {
            cell = cell.with("status", if is_error { "failed" } else { "success" });
        }
        cells.push(cell);
    }
    cells
}

/// The cells of a content of a result, still without ids.
fn result_cells(content: &Content) -> Vec<NewCell> {
    let text_cell = |text: &str| NewCell::new(CellKind::Output, "", "tool", text);
    match content {
        Content::Empty => vec![text_cell("").with("result", "empty")],
        Content::Text(Text::Plain(text)) => vec![text_cell(text)],
        Content::Text(text) => {
            let cell = result_block_cell(&Block::from_text(text.clone()));
            vec![cell.with("result", "text")]
        }
        Content::Blocks(blocks) => match blocks.as_slice() {
            [] => vec![text_cell("").with("result", "none")],
            [
                Block::Text(TextBlock {
                    text: Text::Plain(text),
                    ..
                }),
            ] => vec![text_cell(text).with("result", "blocks")],
            blocks => blocks.iter().map(result_block_cell).collect(),
        },
    }
}

/// The cell of one block of a result: its text, its bytes, or else its JSON.
fn result_block_cell(block: &Block) -> NewCell {
    let new = |text: String| NewCell::new(CellKind::Output, "", "tool", text);
    let bytes = match block {
        Block::Text(TextBlock {
            text: Text::Plain(text),
            ..
        }) => return new(text.clone()),
        Block::Image(Image { source, .. }) => binary(source, true),
        Block::Document(Document { source, .. }) => binary(source, false),
        Block::Text(_)
        | Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::Other(_) => None,
    };
    match bytes {
        Some((media_type, text)) => new(text)
            .with("mime_type", media_type)
            .with("encoding", "base64"),
        None => new(fence_json(&block.to_json())).with("json", "block"),
    }
}

/// A `[raw]` cell with the bytes of an image or a document.
fn write_binary(source: &Raw, is_image: bool, names: &mut PartNames<'_>) -> Option<NewCell> {
    let (media_type, text) = binary(source, is_image)?;
    let cell = NewCell::new(CellKind::Message, names.block(), "raw", text);
    Some(cell.with("mime_type", media_type))
}

/// The media type of an image or a document and its bytes as base64, if its source is base64 of a fitting media type.
fn binary(source: &Raw, is_image: bool) -> Option<(String, String)> {
    let Some(Source::Base64 { media_type, data }) = Source::of(source) else {
        return None;
    };
    let bytes = base64::decode(&data)?;
    // A cell without bytes would be read as damaged.
    if bytes.is_empty() || media_type.starts_with("image/") != is_image {
        return None;
    }
    Some((media_type, base64::encode(&bytes)))
}
