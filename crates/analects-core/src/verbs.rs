//! The verbs on a conversation, written once for every place that keeps one: pure functions from messages
//! to a short list of changes. A place applies them: a session as appended records, a file as splices.

mod back;
mod choose;
mod copy;
mod hide;
mod summary;
mod text;

use crate::{Content, History, Message, MessageId};

pub use back::rewind;
pub use choose::{Choice, choose, with_history};
pub use copy::fork;
pub use hide::{drop, restore};
pub use summary::{compact, undo_compaction};
pub use text::edit;

/// One change of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Add this message at the end of the branch.
    Append(Box<Message>),
    /// The message says this from now on; what followed it still follows.
    Revise {
        /// The message.
        target: MessageId,
        /// What it says from now on.
        content: Content,
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

/// A message, or one tool call of it.
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
        Target { message: id.into(), call: None }
    }

    /// One call of a message.
    pub fn call(id: impl Into<MessageId>, call: impl Into<String>) -> Target {
        Target { message: id.into(), call: Some(call.into()) }
    }
}

/// Why a verb does not apply to a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerbError {
    /// There is no such message.
    #[error("there is no message {0}")]
    UnknownMessage(String),
    /// The message makes no such call.
    #[error("message {message} makes no call {call}")]
    UnknownCall {
        /// The message.
        message: String,
        /// The call.
        call: String,
    },
    /// The record is progress, state or the like: nothing that was said.
    #[error("{0} is a record of the conversation, not a message in it")]
    NotAMessage(String),
    /// The model does not see the message already.
    #[error("{0} is hidden already")]
    AlreadyHidden(String),
    /// The message is not hidden.
    #[error("{0} is not hidden")]
    NotHidden(String),
    /// The message is the summary or the boundary of the compaction that counts.
    #[error("{0} is a part of the last compaction")]
    CountingCompaction(String),
    /// The message is of a compaction that was taken back.
    #[error("{0} is of a compaction that does not count any more")]
    UndoneCompaction(String),
    /// No compaction counts.
    #[error("there is no compaction to take back")]
    NoCompaction,
    /// The messages to append are no summary with its boundary.
    #[error("a compaction needs a summary and a boundary that names it")]
    IncompleteCompaction,
    /// The text of the message cannot be replaced.
    #[error("{id} cannot be edited: {reason}")]
    NotEditable {
        /// The message.
        id: String,
        /// Why.
        reason: NotEditable,
    },
}

/// Why the text of a message cannot be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotEditable {
    /// It is a tool call, and its arguments are the model's.
    #[error("it is a call of a tool")]
    Call,
    /// It holds the results of several calls, and a text is one.
    #[error("it holds several results of tools")]
    SeveralResults,
    /// It holds no text.
    #[error("it is no text")]
    NoText,
}
