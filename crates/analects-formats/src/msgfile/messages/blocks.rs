//! One cell, one block: what a cell holds as part of a message, and which cell holds a block.

use std::collections::HashMap;

use analects_core::{
    Block, Content, Document, Image, Json, Problem, Raw, RawMap, Source, Text, TextBlock, Thinking,
    ToolResult, ToolUse,
};

use super::partial::CellView;
use crate::msgfile::invoke::{self, Arguments, Invoke};
use crate::msgfile::owners::PartNames;
use crate::msgfile::{CellKind, CellRole, MetaKey, NewCell, base64, output};

/// The tool calls of a file: the provider's name of each, by its cell.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    by_cell: HashMap<String, String>,
    /// The cell of each call, by the name that the provider gave the call. Some give out the same names in every
    /// answer; then the last one is meant.
    cells: HashMap<String, String>,
}

impl CallIds {
    /// The cell of each call, by the name that the provider gave the call.
    pub(super) fn into_cells(self) -> HashMap<String, String> {
        self.cells
    }

    /// Notes the call of a cell that stands before those that are read.
    pub(super) fn add(&mut self, cell: String, id: String) {
        self.by_cell.insert(cell, id);
    }

    /// The name that the provider gave the call of this cell.
    pub(super) fn id_of(&self, cell: &str) -> Option<&str> {
        self.by_cell.get(cell).map(String::as_str)
    }
}

/// Reads a cell as a block, and says what is odd about it.
pub(super) fn read(cell: &CellView<'_>, calls: &mut CallIds) -> (Block, Option<Problem>) {
    let text = || (Block::from_text(&*cell.text), None);
    let text_or_bytes = || match cell.binary_type() {
        Some(mime_type) => read_binary(&cell.text, mime_type),
        None => text(),
    };
    match cell.role() {
        CellRole::Block | CellRole::UserBlock => read_json(&cell.text),
        CellRole::ToolCall => read_call(cell, calls),
        CellRole::ToolResult => read_result(cell, calls),
        CellRole::CodeOutput => (read_output(cell), None),
        CellRole::Raw => match cell.get(MetaKey::MimeType) {
            Some(mime_type) => read_binary(&cell.text, mime_type),
            None => text(),
        },
        CellRole::Thinking if cell.binary_type().is_none() => {
            let thinking = Text::from(&*cell.text);
            (
                Block::Thinking(Thinking {
                    thinking,
                    ..Thinking::default()
                }),
                None,
            )
        }
        CellRole::User | CellRole::Code | CellRole::AgentDefinition => text(),
        CellRole::Reply
        | CellRole::Thinking
        | CellRole::System
        | CellRole::Summary
        | CellRole::CompactBoundary
        | CellRole::Attachment
        | CellRole::Notification
        | CellRole::Progress
        | CellRole::Tombstone
        | CellRole::Details => text_or_bytes(),
    }
}

/// The text inside the fence that holds JSON.
pub(super) fn fenced_json(text: &str) -> Option<String> {
    crate::msgfile::code::code(text)
        .ok()
        .map(|code| code.body.to_string())
}

/// JSON as a cell's content.
pub(super) fn fence_json(json: &str) -> String {
    format!("```json\n{json}\n```")
}

fn read_json(text: &str) -> (Block, Option<Problem>) {
    let read = fenced_json(text).and_then(|json| Block::from_json(&json).ok());
    match read {
        Some(block) => (block, None),
        None => {
            let problem = Problem::error("bad-json", "this cell should hold a block as JSON");
            let problem = problem.hint("put the JSON into a fenced code block");
            (Block::Other(Raw::string(text)), Some(problem))
        }
    }
}

fn read_call(cell: &CellView<'_>, calls: &mut CallIds) -> (Block, Option<Problem>) {
    let id = cell.get(MetaKey::CallId).unwrap_or(&cell.name).to_string();
    calls.by_cell.insert(cell.name.to_string(), id.clone());
    calls.cells.insert(id.clone(), cell.name.to_string());
    let mut extra = RawMap::new();
    let (name, input, problem) = match invoke::decode(&cell.text) {
        Ok(Invoke {
            name,
            arguments: Arguments::Json(input),
        }) => (name, input, None),
        Ok(Invoke {
            name,
            arguments: Arguments::Text(text),
        }) => {
            mark_malformed(&mut extra);
            (name, Raw::string(&text), None)
        }
        Err(error) => {
            mark_malformed(&mut extra);
            let name = cell.get(MetaKey::Name).unwrap_or_default().to_string();
            let text = format!("cannot read this tool call: {}", error.message);
            let problem = Problem::error("bad-tool-call", text).hint(
                "write it as <invoke name=\"…\"><parameter name=\"…\">…</parameter></invoke>",
            );
            (name, Raw::string(&cell.text), Some(problem))
        }
    };
    (
        Block::ToolUse(ToolUse {
            id,
            name,
            input,
            extra,
        }),
        problem,
    )
}

fn mark_malformed(extra: &mut RawMap) {
    if let Ok(yes) = Raw::parse("true") {
        extra.push("malformed_input", yes);
    }
}

fn read_result(cell: &CellView<'_>, calls: &CallIds) -> (Block, Option<Problem>) {
    let call = cell
        .name
        .rsplit_once('.')
        .map_or(&*cell.name, |(call, _)| call);
    let known = calls.by_cell.get(call);
    let problem = known.is_none().then(|| {
        let text = format!("this is the result of a call {call} that is not in the file");
        Problem::error("orphan-result", text).hint("it is kept, and not sent to a model")
    });
    let is_error = match cell.get(MetaKey::Status) {
        Some("success") => Some(false),
        Some("failed" | "interrupted") => Some(true),
        _ => None,
    };
    let content = match cell.get(MetaKey::Result) {
        _ if let Some(mime_type) = cell.binary_type() => {
            Content::Blocks(vec![read_binary(&cell.text, mime_type).0])
        }
        Some("empty") => Content::Empty,
        Some("blocks") => Content::Blocks(vec![Block::from_text(&*cell.text)]),
        _ => Content::Text(Text::from(&*cell.text)),
    };
    let tool_use_id = known.cloned().unwrap_or_else(|| call.to_string());
    let extra = RawMap::new();
    (
        Block::ToolResult(ToolResult {
            tool_use_id,
            content,
            is_error,
            extra,
        }),
        problem,
    )
}

/// What running code printed, as a model reads it: text, or a picture.
fn read_output(cell: &CellView<'_>) -> Block {
    if let Some(mime_type) = cell
        .get(MetaKey::MimeType)
        .filter(|kind| kind.starts_with("image/"))
    {
        return read_binary(&cell.text, mime_type).0;
    }
    if cell.get(MetaKey::Encoding) == Some("base64") {
        let (chunks, _) = output::decode(&cell.text, true);
        let bytes: Vec<u8> = chunks.into_iter().flat_map(|chunk| chunk.bytes).collect();
        return Block::from_text(String::from_utf8_lossy(&bytes).into_owned());
    }
    Block::from_text(&*cell.text)
}

fn read_binary(text: &str, mime_type: &str) -> (Block, Option<Problem>) {
    if base64::decode(text).is_none_or(|bytes| bytes.is_empty()) {
        let problem = Problem::error("bad-base64", format!("this {mime_type} is not base64"))
            .hint("write the bytes in base64, 76 characters a line");
        return (Block::Other(Raw::string(text)), Some(problem));
    }
    let data: String = text.split_ascii_whitespace().collect();
    let source = Source::Base64 {
        media_type: mime_type.to_string(),
        data,
    }
    .to_raw();
    let extra = RawMap::new();
    let block = if mime_type.starts_with("image/") {
        Block::Image(Image { source, extra })
    } else {
        Block::Document(Document { source, extra })
    };
    (block, None)
}

/// The side of a conversation that a block stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side<'a> {
    /// What people say.
    User,
    /// What the agent of this name says.
    Agent(&'a str),
}

/// Where the cells of tool calls are, so that results can be put below them.
#[derive(Debug, Default)]
pub(super) struct CallCells {
    /// The cell of a call, and how many results it has.
    calls: HashMap<String, (String, usize)>,
    /// What was known of the calls that changed since a point to which one may go back.
    before: Option<Vec<CallBefore>>,
}

/// A call that changed, and what was known of it before.
#[derive(Debug)]
struct CallBefore {
    call: String,
    before: Option<(String, usize)>,
}

impl CallCells {
    /// CallIds that stand in a file already: the cell of each, and how many results it has.
    pub(super) fn of(calls: HashMap<String, (String, usize)>) -> CallCells {
        CallCells {
            calls,
            before: None,
        }
    }

    /// Begins what may be taken back.
    pub(super) fn begin(&mut self) {
        self.before.get_or_insert_default().clear();
    }

    /// Takes back what was written since then.
    pub(super) fn go_back(&mut self) {
        let changed = self
            .before
            .iter_mut()
            .flat_map(|before| before.drain(..).rev());
        for CallBefore { call, before } in changed {
            match before {
                Some(before) => self.calls.insert(call, before),
                None => self.calls.remove(&call),
            };
        }
    }

    /// The cell of a call.
    pub(super) fn cell_of(&self, call: &str) -> Option<&str> {
        self.calls.get(call).map(|(cell, _)| cell.as_str())
    }

    fn note(&mut self, call: &str) {
        if let Some(before) = &mut self.before {
            let known = self.calls.get(call).cloned();
            before.push(CallBefore {
                call: call.to_string(),
                before: known,
            });
        }
    }

    fn add(&mut self, call: &str, cell: &str) {
        self.note(call);
        self.calls.insert(call.to_string(), (cell.to_string(), 0));
    }

    /// The cell of the next result of a call that is written.
    fn next_result(&mut self, call: &str) -> Option<String> {
        self.note(call);
        let (cell, count) = self.calls.get_mut(call)?;
        *count += 1;
        Some(format!("{cell}.{count}"))
    }
}

/// Whether a block is reasoning that nobody can read: it is encrypted, or only its seal came.
pub(super) fn is_opaque(block: &Block) -> bool {
    match block {
        Block::RedactedThinking(_) => true,
        Block::Thinking(thinking) => thinking.thinking.is_empty(),
        Block::Text(_)
        | Block::Image(_)
        | Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::Document(_)
        | Block::Other(_) => false,
    }
}

/// A cell that holds a block. `nonce` is for the name of a call.
pub(super) fn write(
    block: &Block,
    side: Side<'_>,
    names: &mut PartNames<'_>,
    nonce: String,
    written: &mut CallCells,
) -> NewCell {
    let plain = match (block, side) {
        (
            Block::Text(TextBlock {
                text: Text::Plain(text),
                ..
            }),
            Side::User,
        ) => Some(NewCell::message(names.text(), text.as_str())),
        (
            Block::Text(TextBlock {
                text: Text::Plain(text),
                ..
            }),
            Side::Agent(agent),
        ) => Some(NewCell::reply(names.text(), agent, text.as_str())),
        (
            Block::Thinking(Thinking {
                thinking: Text::Plain(text),
                ..
            }),
            Side::Agent(agent),
        ) => Some(NewCell::reply(names.thought(), agent, text.as_str())),
        (Block::ToolUse(call), Side::Agent(_)) => write_call(call, names.call(&nonce), written),
        (Block::ToolResult(result), Side::User) => write_result(result, written),
        (Block::Image(Image { source, .. }), Side::User) => write_binary(source, true, names),
        (Block::Document(Document { source, .. }), Side::User) => {
            write_binary(source, false, names)
        }
        // A text that is broken, a part of the other side, and what no cell has a role for.
        (
            Block::Text(_)
            | Block::Image(_)
            | Block::ToolUse(_)
            | Block::ToolResult(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::Document(_)
            | Block::Other(_),
            Side::User | Side::Agent(_),
        ) => None,
    };
    plain.unwrap_or_else(|| {
        let kind = if side == Side::User {
            CellKind::Message
        } else {
            CellKind::Output
        };
        NewCell::new(kind, names.block(), "block", fence_json(&block.to_json()))
    })
}

fn write_call(call: &ToolUse, id: String, written: &mut CallCells) -> Option<NewCell> {
    let arguments = match call.extra.get("malformed_input") {
        Some(_) => Arguments::Text(call.input.as_string()?),
        None => Arguments::Json(call.input.clone()),
    };
    let text = invoke::encode(&Invoke {
        name: call.name.clone(),
        arguments,
    })?;
    written.add(&call.id, &id);
    let cell = NewCell::new(CellKind::Output, id, "tool", text).with("name", call.name.as_str());
    Some(cell.with("call_id", call.id.as_str()))
}

fn write_result(result: &ToolResult, written: &mut CallCells) -> Option<NewCell> {
    let (text, shape) = match &result.content {
        Content::Empty => ("", Some("empty")),
        Content::Text(Text::Plain(text)) => (text.as_str(), None),
        Content::Blocks(blocks) => match blocks.as_slice() {
            [
                Block::Text(TextBlock {
                    text: Text::Plain(text),
                    ..
                }),
            ] => (text.as_str(), Some("blocks")),
            _ => return None,
        },
        _ => return None,
    };
    let id = written.next_result(&result.tool_use_id)?;
    let mut cell = NewCell::new(CellKind::Output, id, "tool", text);
    if let Some(is_error) = result.is_error {
        cell = cell.with("status", if is_error { "failed" } else { "success" });
    }
    Some(match shape {
        Some(shape) => cell.with("result", shape),
        None => cell,
    })
}

fn write_binary(source: &Raw, image: bool, names: &mut PartNames<'_>) -> Option<NewCell> {
    let Some(Source::Base64 { media_type, data }) = Source::of(source) else {
        return None;
    };
    // An empty one would read as damaged.
    let bytes = base64::decode(&data).filter(|bytes| !bytes.is_empty())?;
    (media_type.starts_with("image/") == image).then_some(())?;
    let cell = NewCell::new(
        CellKind::Message,
        names.block(),
        "raw",
        base64::encode(&bytes),
    );
    Some(cell.with("mime_type", media_type))
}
