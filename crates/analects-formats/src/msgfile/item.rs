//! The message file as items: messages and function calls with their outputs, read from a document, built by hand, and
//! added to it. Nothing here touches a disk: a [`Draft`] holds unsaved changes for the caller to save.
//!
//! # Overview, in reading order
//!
//! 1. Traits: [`MessageItem`], [`Message`] and [`FunctionCall`] over it; [`MessageOutput`] and
//!    [`CodeExecutionOutput`] over it. `Message` here is a cell that a person wrote; a message of a
//!    conversation is `analects_core::Message`.
//! 2. Data: [`Item`] is a [`PromptItem`] or a [`CallItem`]; [`Output`] is an [`AnswerOutput`] or a [`CodeOutput`].
//!    All of them go to JSON (`to_dict`) and come back (`from_dict`).
//! 3. Builders: [`MessageBuilder`], [`FunctionCallBuilder`], [`MessageOutputBuilder`],
//!    [`CodeExecutionOutputBuilder`]. `build()` fails if a value is missing or wrong.
//! 4. [`AgentRegistry`]: agents by name, to add to files.
//! 5. Reading: [`items`], [`item`], [`tools`].
//! 6. [`Draft`]: a document with unsaved [`DraftChange`]s, which [`Draft::rebase`] repeats on a newer version of the
//!    file.
//!
//! ```
//! use analects_core::{Agent, CountingIds};
//! use analects_formats::msgfile::{decode, item::{Draft, Message, MessageBuilder, MessageItem}};
//!
//! let mut draft = Draft::new(decode(""));
//! draft.add_agent_with_definition("coder", &Agent::of_model("coder", "gpt-5-mini"))?;
//! let message = MessageBuilder::new().with_content("Six times seven?").build()?;
//! let message = draft.add_message(&message, &mut CountingIds::default())?;
//! assert_eq!((message.name(), message.text()), ("2", Some("Six times seven?")));
//! assert!(draft.has_changes());
//! # Ok::<(), analects_formats::msgfile::item::ItemError>(())
//! ```
//!
//! # Limitations
//!
//! - A message of several cells (`part=`) is one item for each cell that a person wrote.
//! - Outputs that answer nothing (`[summary]`, `[details]`, …), and outputs before the first message, belong to no item.
//! - Every change reads the document again, so a draft is for a few changes, not for thousands.

mod builders;
mod check;
mod content;
mod draft;
mod outputs;
mod prompts;
mod read;
mod traits;
mod write;

pub use builders::{
    CodeExecutionOutputBuilder, FunctionCallBuilder, MessageBuilder, MessageOutputBuilder,
};
pub use content::CellContent;
pub use draft::{AgentRegistry, Conflict, Draft, DraftChange, DraftOperation, Renames};
pub use outputs::{AnswerOutput, CodeOutput, Output};
pub use prompts::{CallItem, Item, PromptItem};
pub use read::{IndexOrName, Tool, item, items, tools};
pub use traits::{CodeExecutionOutput, FunctionCall, Message, MessageItem, MessageOutput};

use std::fmt;

use analects_core::Hint;

use super::seconds;

/// Why something cannot be done with an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemError {
    kind: ItemErrorKind,
    message: String,
    hint: Option<Hint>,
}

/// The kinds of [`ItemError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemErrorKind {
    /// A required value is missing.
    Missing,
    /// A value is invalid.
    Invalid,
    /// The name is taken.
    Duplicate,
    /// There is no cell with this name, or it has the wrong kind.
    UnknownCell,
    /// There is no agent with this name.
    UnknownAgent,
    /// The file has no agent that could answer.
    NoAgent,
    /// The file cannot be changed in this way, or not at all.
    Refused,
}

impl ItemError {
    pub(super) fn new(kind: ItemErrorKind, message: impl Into<String>) -> ItemError {
        ItemError {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    fn missing(what: &str, method: &str) -> ItemError {
        let error = ItemError::new(ItemErrorKind::Missing, format!("{what} is missing"));
        error.hinting(format!("call {method} before build"))
    }

    fn invalid(message: impl Into<String>) -> ItemError {
        ItemError::new(ItemErrorKind::Invalid, message)
    }

    pub(super) fn hinting(mut self, hint: impl Into<Hint>) -> ItemError {
        self.hint = Some(hint.into());
        self
    }

    /// The kind of error, to branch on.
    pub fn kind(&self) -> ItemErrorKind {
        self.kind
    }

    /// What to do about it, if that is known.
    pub fn hint(&self) -> Option<&Hint> {
        self.hint.as_ref()
    }
}

impl fmt::Display for ItemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ItemError {}

#[cfg(test)]
mod tests;
