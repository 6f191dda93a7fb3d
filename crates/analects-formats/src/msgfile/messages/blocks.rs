//! One cell, one block: [`read`] gives the block that a cell holds, and [`write`] the cell that holds a block.

mod read;
mod write;

use std::collections::HashMap;

use analects_core::Block;

pub(super) use read::read;
pub(super) use write::{user_can_say, write};

/// The ids that providers gave to the tool calls of a file.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    /// The id of each call, by the name of its cell.
    by_cell: HashMap<String, String>,
    /// The cell of each call, by the call's id. Some providers use the same ids in every answer; then the last call
    /// counts.
    cells: HashMap<String, String>,
}

impl CallIds {
    /// The cell of each call, by the call's id.
    pub(super) fn into_cells(self) -> HashMap<String, String> {
        self.cells
    }

    /// Adds the call of a cell that is not read itself.
    pub(super) fn add(&mut self, cell: String, id: String) {
        self.by_cell.insert(cell, id);
    }

    /// Whether a cell holds the call with this id.
    fn has(&self, id: &str) -> bool {
        self.cells.contains_key(id)
    }

    /// The id of the call that this cell holds.
    pub(super) fn id_of(&self, cell: &str) -> Option<&str> {
        self.by_cell.get(cell).map(String::as_str)
    }

    fn note(&mut self, cell: &str, id: &str) {
        self.by_cell.insert(cell.to_string(), id.to_string());
        self.cells.insert(id.to_string(), cell.to_string());
    }
}

/// The side of a conversation that a block is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side<'a> {
    /// What people say.
    User,
    /// What the agent with this name says.
    Agent(&'a str),
}

/// The cells of the tool calls that are written, so that their results can be named after them.
#[derive(Debug, Default)]
pub(super) struct CallCells {
    /// The cell of each call, and how many results it has.
    calls: HashMap<String, (String, usize)>,
    /// The calls that changed since [`begin`](CallCells::begin).
    changed: Option<Vec<ChangedCall>>,
}

/// A call that changed, and its entry before that.
#[derive(Debug)]
struct ChangedCall {
    call: String,
    before: Option<(String, usize)>,
}

impl CallCells {
    /// The calls that are in a file already: the cell of each, and how many results it has.
    pub(super) fn of(calls: HashMap<String, (String, usize)>) -> CallCells {
        CallCells {
            calls,
            changed: None,
        }
    }

    /// Sets the point that [`restore`](CallCells::restore) returns to.
    pub(super) fn begin(&mut self) {
        self.changed.get_or_insert_default().clear();
    }

    /// Undoes all changes since [`begin`](CallCells::begin).
    pub(super) fn restore(&mut self) {
        let Some(changed) = &mut self.changed else {
            return;
        };
        for ChangedCall { call, before } in changed.drain(..).rev() {
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

    fn note_change(&mut self, call: &str) {
        if let Some(changed) = &mut self.changed {
            let before = self.calls.get(call).cloned();
            let call = call.to_string();
            changed.push(ChangedCall { call, before });
        }
    }

    fn add(&mut self, call: &str, cell: &str) {
        self.note_change(call);
        self.calls.insert(call.to_string(), (cell.to_string(), 0));
    }

    /// The name of the cell for the next result of a call; `None` for a call without a cell.
    fn next_result(&mut self, call: &str) -> Option<String> {
        self.note_change(call);
        let (cell, count) = self.calls.get_mut(call)?;
        *count += 1;
        Some(format!("{cell}.{count}"))
    }
}

/// The text inside the first fence of a cell, which holds JSON.
pub(super) fn fenced_json(text: &str) -> Option<String> {
    let code = crate::msgfile::code::code(text).ok()?;
    Some(code.body.to_string())
}

/// JSON as the content of a cell.
pub(super) fn fence_json(json: &str) -> String {
    format!("```json\n{json}\n```")
}

/// Whether a block is reasoning without readable text: it is encrypted, or only its signature was sent.
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
