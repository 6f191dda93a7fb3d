//! The verbs on a conversation, written once for every place that keeps one: pure functions from messages
//! to a short list of changes. A place applies them: a session as appended records, a file as splices.
//!
//! A verb takes the messages of a conversation with their revisions applied ([`revised_in_full`]), in the order of the
//! record. It changes nothing itself.
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
mod families;
mod hide;
mod rewind;
mod view;

use crate::{Body, History, Message, MessageId, Revision, Tree};

pub use choose::{Choice, choose};
pub use compact::{compact, undo_compaction};
pub use edit::{edit, edited_content, text_of};
pub use hide::{drop, restore};
pub use rewind::{fork, fork_to, rewind, step_end};
pub use view::{
    Edits, Survey, Surveyed, View, hidden_calls, revised, revised_in_full, with_history,
};

/// One change of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Add this message at the end of the branch.
    Append(Box<Message>),
    /// The message says this from now on; what followed it still follows.
    Revise {
        /// The message; or a call, whose result says this.
        target: Target,
        /// The new text.
        text: String,
    },
    /// Hide or show a message, or one call of it.
    SetHistory {
        /// The message, or the call.
        target: Target,
        /// How much of it the model sees from now on.
        history: History,
    },
    /// The next message follows this one.
    ContinueFrom {
        /// The message; `None`: the next one is the first again.
        parent: Option<MessageId>,
    },
}

impl Change {
    /// A change of a text.
    pub fn revise(target: Target, text: impl Into<String>) -> Change {
        Change::Revise {
            target,
            text: text.into(),
        }
    }

    /// The record that a session appends for this change; the change itself if a record has to know more than that.
    pub fn into_record(self) -> Result<Message, Change> {
        match self {
            Change::Append(message) => Ok(*message),
            Change::SetHistory {
                target: Target { message, call },
                history,
            } => {
                let history = Some(history);
                let revision = Revision {
                    target: message,
                    call,
                    content: None,
                    history,
                };
                Ok(Message::new("", Body::Revision(revision)))
            }
            Change::Revise { .. } | Change::ContinueFrom { .. } => Err(self),
        }
    }

    /// A change that hides or shows.
    pub fn set_history(target: Target, history: History) -> Change {
        Change::SetHistory { target, history }
    }
}

/// A message, or one tool call of it with its result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// The message.
    pub message: MessageId,
    /// The id of the call; `None` means all of the message.
    pub call: Option<String>,
}

impl Target {
    /// All of a message.
    pub fn message(id: impl Into<MessageId>) -> Target {
        Target {
            message: id.into(),
            call: None,
        }
    }

    /// One call of a message.
    pub fn call(id: impl Into<MessageId>, call: impl Into<String>) -> Target {
        Target {
            message: id.into(),
            call: Some(call.into()),
        }
    }
}

/// Why a verb does not apply to a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerbError {
    /// There is no such message.
    #[error("there is no message {0}")]
    UnknownMessage(MessageId),
    /// The message makes no such call.
    #[error("message {message} makes no call {call}")]
    UnknownCall {
        /// The message.
        message: MessageId,
        /// The call.
        call: String,
    },
    /// The record is progress, state or the like: nothing that was said.
    #[error("{0} is a record of the conversation, not a message in it")]
    NotAMessage(MessageId),
    /// The message is in the side chain of an agent.
    #[error("{0} is in a side chain, which the conversation does not continue")]
    SideChain(MessageId),
    /// The model does not see the message already.
    #[error("{0} is hidden already")]
    AlreadyHidden(MessageId),
    /// The message is not hidden.
    #[error("{0} is not hidden")]
    NotHidden(MessageId),
    /// Nothing comes after the message that the conversation is to continue from.
    #[error("nothing comes after {0}")]
    NothingAfter(MessageId),
    /// Nothing was said yet.
    #[error("nothing was said yet")]
    NothingSaid,
    /// No compaction counts.
    #[error("there is no compaction to undo")]
    NoCompaction,
    /// The messages to append are no summary with its boundary.
    #[error("a compaction needs a summary and a boundary that names it")]
    IncompleteCompaction,
    /// The text of the message cannot be replaced.
    #[error("{id} cannot be edited: {reason}")]
    NotEditable {
        /// The message.
        id: MessageId,
        /// Why.
        reason: NotEditable,
    },
}

impl VerbError {
    /// The same error with another name for its message, such as that of its cell.
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
    /// It is a tool call, and its arguments are the model's.
    #[error("it is a tool call, which the model made")]
    Call,
    /// It holds the results of several calls, and a text is one.
    #[error("it holds the results of several tool calls")]
    SeveralResults,
    /// It is the result of a call that is not there.
    #[error("it is the result of a tool call that is not there")]
    OrphanResult,
    /// It is what code printed.
    #[error("it is what code printed")]
    CodeOutput,
    /// It is a thought of the model.
    #[error("it is a thought of the model")]
    Thought,
    /// It holds no text.
    #[error("it holds no text")]
    NoText,
}

/// The position of a message that a verb is about: of several with one id, the last.
fn position(tree: &Tree, id: &MessageId) -> Result<usize, VerbError> {
    tree.position(id)
        .ok_or_else(|| VerbError::UnknownMessage(id.clone()))
}

#[cfg(test)]
mod tests;
