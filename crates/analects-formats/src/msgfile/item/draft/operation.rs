//! The operations of a draft, and how they add cells: under a free name, where the commands would put them.

use analects_core::Agent;

use super::Draft;
use crate::msgfile::insert::insert_below;
use crate::msgfile::item::check::{self, shown};
use crate::msgfile::item::{CallItem, ItemError, ItemErrorKind, Output, PromptItem};
use crate::msgfile::{Cell, Document, NewCell, append};

/// An unsaved change.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftChange {
    /// The operation.
    pub operation: DraftOperation,
    /// The names of the cells that it added.
    pub cells: Vec<String>,
}

/// An operation of a draft. It has no positions and no numbers, so that it can be repeated on any version of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum DraftOperation {
    /// Adds an agent to the frontmatter.
    AddAgent(Agent),
    /// Adds a cell that defines an agent.
    AddAgentCell(Agent),
    /// Sets the frontmatter's `default_agent`.
    SetDefaultAgent(String),
    /// Adds a message, with its outputs and function calls.
    AddMessage {
        /// The message.
        message: PromptItem,
        /// A nonce for each function call; it counts where the call has no name.
        nonces: Vec<String>,
    },
    /// Adds a function call, with its results.
    AddCall {
        /// The name of the message or of the reply that it belongs to.
        message: String,
        /// The call.
        call: CallItem,
        /// What follows the message's name in the call's, if that has none of its own.
        nonce: String,
    },
    /// Adds outputs; outputs of code belong to one run.
    AddOutputs {
        /// The name of the message or of the function call.
        to: String,
        /// The outputs.
        outputs: Vec<Output>,
    },
    /// Adds the cells that define a tool.
    DefineTool {
        /// The tool's name.
        name: String,
        /// Its cells.
        definition: Vec<PromptItem>,
    },
    /// Replaces a placeholder by its output.
    Fill {
        /// The cell's name.
        name: String,
        /// The output.
        output: Output,
    },
}

impl DraftOperation {
    /// The name of the cell that it needs.
    pub(super) fn target_mut(&mut self) -> Option<&mut String> {
        match self {
            DraftOperation::AddCall { message, .. } => Some(message),
            DraftOperation::AddOutputs { to, .. } => Some(to),
            DraftOperation::Fill { name, .. } => Some(name),
            DraftOperation::AddAgent(_)
            | DraftOperation::AddAgentCell(_)
            | DraftOperation::SetDefaultAgent(_)
            | DraftOperation::AddMessage { .. }
            | DraftOperation::DefineTool { .. } => None,
        }
    }
}

impl Draft {
    /// Makes an operation, and returns the names of the cells that it adds. Decisions that are made here, such as which
    /// agent replies, become part of the operation.
    pub(super) fn make(
        &mut self,
        operation: &mut DraftOperation,
    ) -> Result<Vec<String>, ItemError> {
        match operation {
            DraftOperation::AddAgent(agent) => self.make_agent(agent),
            DraftOperation::AddAgentCell(agent) => self.make_agent_cell(agent),
            DraftOperation::SetDefaultAgent(name) => self.make_default_agent(name),
            DraftOperation::AddMessage { message, nonces } => self.make_message(message, nonces),
            DraftOperation::AddCall {
                message,
                call,
                nonce,
            } => self.make_call(message, call, nonce),
            DraftOperation::AddOutputs { to, outputs } => self.make_outputs(to, outputs),
            DraftOperation::DefineTool { name, definition } => self.make_tool(name, definition),
            DraftOperation::Fill { name, output } => self.make_filling(name, output),
        }
    }

    /// Adds a cell at the end of the file.
    pub(super) fn append(&mut self, cell: &NewCell) -> Result<String, ItemError> {
        check_new_name(self.document(), &cell.id)?;
        self.apply(&append(self.document(), cell));
        Ok(cell.id.clone())
    }

    /// Adds a cell below another one and what belongs to it.
    pub(super) fn append_below(
        &mut self,
        other: &str,
        cell: &NewCell,
    ) -> Result<String, ItemError> {
        let document = self.document();
        check_new_name(document, &cell.id)?;
        let splice = insert_below(document, the_cell(document, other)?, cell)?;
        self.apply(&splice);
        Ok(cell.id.clone())
    }
}

/// The cell with this name. Fails if several cells have the id.
pub(super) fn the_cell<'d>(document: &'d Document, name: &str) -> Result<Cell<'d>, ItemError> {
    if document
        .cells()
        .filter(|cell| cell.id() == Some(name))
        .count()
        > 1
    {
        let text = format!("there are several cells {}", shown(name));
        let error = ItemError::new(ItemErrorKind::UnknownCell, text);
        return Err(error.hinting("give each of them an id of its own"));
    }
    document.cell(name).ok_or_else(|| unknown_cell(name))
}

/// The error for a name that no cell has.
pub(super) fn unknown_cell(name: &str) -> ItemError {
    let text = format!("there is no cell {}", shown(name));
    ItemError::new(ItemErrorKind::UnknownCell, text)
}

/// Fails if a new cell cannot have this name.
fn check_new_name(document: &Document, name: &str) -> Result<(), ItemError> {
    check::name(name)?;
    if document.is_taken(name) {
        let text = format!("there is already a cell of the name {}", shown(name));
        return Err(ItemError::new(ItemErrorKind::Duplicate, text).hinting("choose another name"));
    }
    Ok(())
}
