//! The message file as items: messages and function calls with their outputs, read from a document,
//! built by hand, and added to it. Pure: a [`Draft`] holds unsaved changes, somebody else saves them.
//!
//! # Overview, in reading order
//!
//! 1. Traits: [`MessageItem`], [`Message`] and [`FunctionCall`] over it; [`MessageOutput`] and
//!    [`CodeExecutionOutput`] over it. `Message` here is a cell that a person wrote; a message of a
//!    conversation is `analects_core::Message`.
//! 2. Data: [`Item`] is a [`Prompt`] or a [`Call`]; [`Output`] is an [`Answer`] or a [`CodeOutput`].
//!    All of them go to JSON (`to_dict`) and come back (`from_dict`).
//! 3. Builders: [`MessageBuilder`], [`FunctionCallBuilder`], [`MessageOutputBuilder`],
//!    [`CodeExecutionOutputBuilder`]. `build()` says what is missing or wrong.
//! 4. [`AgentRegistry`]: the agents that a file may take its definitions from.
//! 5. Reading: [`items`], [`item`], [`tools`].
//! 6. [`Draft`]: a document with unsaved [`Change`]s, which [`Draft::rebase`] carries over to a file
//!    that somebody else has changed meanwhile.
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
//! - A message of several cells (`part=`) is an item for each cell that a person wrote.
//! - Outputs that are nobody's answer (`[summary]`, `[details]`, …), and outputs before the first
//!   message, belong to no item.
//! - Every change reads the document once more, so a draft is for a few changes, not for thousands.

mod builders;
mod check;
mod content;
mod draft;
mod error;
mod outputs;
mod prompts;
mod read;
mod registry;
mod tools;
mod traits;
mod write;

pub use builders::{
    CodeExecutionOutputBuilder, FunctionCallBuilder, MessageBuilder, MessageOutputBuilder,
};
pub use content::Content;
pub use draft::{Change, Conflict, Draft, Operation, Renames};
pub use error::{ItemError, ItemErrorKind};
pub use outputs::{Answer, CodeOutput, Output};
pub use prompts::{Call, Item, Prompt};
pub use read::{IndexOrName, item, items};
pub use registry::AgentRegistry;
pub use tools::{Tool, tools};
pub use traits::{CodeExecutionOutput, FunctionCall, Message, MessageItem, MessageOutput};

use super::seconds;

#[cfg(test)]
mod tests;
