//! What a conversion cannot say: data, so that a person can be asked before anything is written.

use analects_core::MessageId;
use serde::Serialize;

/// Something of a conversation that the target has no place for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The message that loses it; `None` for what belongs to the conversation as a whole.
    pub message: Option<MessageId>,
    /// What is lost: a field such as `model`, or a block such as `tool_use`.
    pub what: String,
    /// Why, or what becomes of it: lower case, no full stop.
    pub why: String,
}

impl Loss {
    /// Something that a message loses.
    pub fn of(message: &MessageId, what: impl Into<String>, why: impl Into<String>) -> Loss {
        Loss { message: Some(message.clone()), what: what.into(), why: why.into() }
    }

    /// Something that the conversation as a whole loses.
    pub fn of_session(what: impl Into<String>, why: impl Into<String>) -> Loss {
        Loss { message: None, what: what.into(), why: why.into() }
    }
}
