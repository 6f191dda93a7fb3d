//! The operations on a conversation: pure functions from messages to a short list of changes. Each storage applies the
//! changes in its own way: a session appends records, a message file splices text.
//!
//! Each function takes the messages of a conversation with their revisions applied (see [`revised_in_full`]), in the
//! order of the records. It modifies nothing.
//!
//! ```
//! use analects_core::Message;
//! use analects_core::verbs::{self, Change, Target};
//!
//! let messages = [Message::user("1", "Hello"), Message::assistant("2", "Hi")];
//! let changes = verbs::edit(&messages, &Target::message("1"), "Good morning")?;
//! assert_eq!(changes, [Change::revise(Target::message("1"), "Good morning")]);
//! # Ok::<(), verbs::VerbError>(())
//! ```

mod choose;
mod compact;
mod edit;
mod groups;
mod hide;
mod model_view;
mod rewind;

use crate::{Body, History, Message, MessageId, Revision, Tree};

pub use choose::{Choice, choose};
pub use compact::{compact, undo_compaction};
pub use edit::{edit, edited_content, text_of};
pub use hide::{drop, restore};
pub use model_view::{
    Edits, Survey, Surveyed, View, hidden_calls, revised, revised_in_full, with_history,
};
pub use rewind::{fork, fork_to, rewind, step_end};

/// One change of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Append this message to the branch.
    Append(Box<Message>),
    /// Replace the text of a message. The messages after it stay attached to it.
    Revise {
        /// The message, or a call whose result gets the text.
        target: Target,
        /// The new text.
        text: String,
    },
    /// Hide or show a message, or one of its calls.
    SetHistory {
        /// The message or the call.
        target: Target,
        /// How much of it the model sees from now on.
        history: History,
    },
    /// Make the next message follow this one.
    ContinueFrom {
        /// The message; `None` starts over before the first one.
        parent: Option<MessageId>,
    },
}

impl Change {
    /// Creates a [`Change::Revise`].
    pub fn revise(target: Target, text: impl Into<String>) -> Change {
        Change::Revise {
            target,
            text: text.into(),
        }
    }

    /// Returns the record that a session appends for this change. Returns the change itself if a record needs more
    /// context than the change has.
    pub fn into_record(self) -> Result<Message, Change> {
        match self {
            Change::Append(message) => Ok(*message),
            Change::SetHistory { target, history } => {
                let revision = Revision {
                    target: target.message,
                    call: target.call,
                    content: None,
                    history: Some(history),
                };
                Ok(Message::new("", Body::Revision(revision)))
            }
            Change::Revise { .. } | Change::ContinueFrom { .. } => Err(self),
        }
    }

    /// Creates a [`Change::SetHistory`].
    pub fn set_history(target: Target, history: History) -> Change {
        Change::SetHistory { target, history }
    }
}

/// A message, or one of its tool calls together with its result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// The message.
    pub message: MessageId,
    /// The id of the call; `None` is the whole message.
    pub call: Option<String>,
}

impl Target {
    /// Targets a whole message.
    pub fn message(id: impl Into<MessageId>) -> Target {
        Target {
            message: id.into(),
            call: None,
        }
    }

    /// Targets one call of a message.
    pub fn call(id: impl Into<MessageId>, call: impl Into<String>) -> Target {
        Target {
            message: id.into(),
            call: Some(call.into()),
        }
    }
}

/// Why an operation does not apply to a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerbError {
    /// The message does not exist.
    #[error("there is no message {0}")]
    UnknownMessage(MessageId),
    /// The message has no such call.
    #[error("message {message} makes no call {call}")]
    UnknownCall {
        /// The message.
        message: MessageId,
        /// The call.
        call: String,
    },
    /// The record is not a message but progress, state or the like.
    #[error("{0} is a record of the conversation, not a message in it")]
    NotAMessage(MessageId),
    /// The message is in an agent's side chain.
    #[error("{0} is in a side chain, which the conversation does not continue")]
    SideChain(MessageId),
    /// The message is hidden already.
    #[error("{0} is hidden already")]
    AlreadyHidden(MessageId),
    /// The message is not hidden.
    #[error("{0} is not hidden")]
    NotHidden(MessageId),
    /// The conversation already ends with this message.
    #[error("nothing comes after {0}")]
    NothingAfter(MessageId),
    /// The conversation is empty.
    #[error("nothing was said yet")]
    NothingSaid,
    /// No compaction is in effect.
    #[error("there is no compaction to undo")]
    NoCompaction,
    /// The messages to append lack a summary or a boundary that names it.
    #[error("a compaction needs a summary and a boundary that names it")]
    IncompleteCompaction,
    /// The message has no text that can be replaced.
    #[error("{id} cannot be edited: {reason}")]
    NotEditable {
        /// The message.
        id: MessageId,
        /// The reason.
        reason: NotEditable,
    },
}

impl VerbError {
    /// Replaces the message id in the error, such as by the name of its cell.
    #[must_use]
    pub fn naming(self, name: impl FnOnce(&MessageId) -> MessageId) -> VerbError {
        match self {
            VerbError::UnknownMessage(id) => VerbError::UnknownMessage(name(&id)),
            VerbError::UnknownCall { message, call } => VerbError::UnknownCall {
                message: name(&message),
                call,
            },
            VerbError::NotAMessage(id) => VerbError::NotAMessage(name(&id)),
            VerbError::SideChain(id) => VerbError::SideChain(name(&id)),
            VerbError::AlreadyHidden(id) => VerbError::AlreadyHidden(name(&id)),
            VerbError::NotHidden(id) => VerbError::NotHidden(name(&id)),
            VerbError::NothingAfter(id) => VerbError::NothingAfter(name(&id)),
            VerbError::NotEditable { id, reason } => VerbError::NotEditable {
                id: name(&id),
                reason,
            },
            VerbError::NothingSaid | VerbError::NoCompaction | VerbError::IncompleteCompaction => {
                self
            }
        }
    }
}

/// Why the text of a message cannot be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotEditable {
    /// It is a tool call, whose arguments come from the model.
    #[error("it is a tool call, which the model made")]
    Call,
    /// It holds the results of several calls, and the text is only one.
    #[error("it holds the results of several tool calls")]
    SeveralResults,
    /// It is the result of a call that does not exist.
    #[error("it is the result of a tool call that is not there")]
    OrphanResult,
    /// It is the output of code.
    #[error("it is what code printed")]
    CodeOutput,
    /// It is the model's thinking.
    #[error("it is a thought of the model")]
    Thought,
    /// It has no text.
    #[error("it holds no text")]
    NoText,
}

/// Returns the position of a message; the last one if the id is repeated.
fn position(tree: &Tree, id: &MessageId) -> Result<usize, VerbError> {
    tree.position(id)
        .ok_or_else(|| VerbError::UnknownMessage(id.clone()))
}

#[cfg(test)]
mod tests;
