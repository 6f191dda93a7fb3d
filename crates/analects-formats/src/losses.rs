//! What a conversion loses. A writer says what a reader of its output would get, and the difference to the source is
//! what is lost. So a field that a writer forgets is listed without anybody having thought of it.
//!
//! A loss has a name, such as `title` or `usage`, and its name decides its [`LossKind`]. Names and ids that a reader made
//! up are no losses, since every reader makes them up again.

pub(crate) mod difference;
pub(crate) mod facts;

use analects_core::MessageId;
use serde::Serialize;
use uuid::Uuid;

/// What a loss is about. The first kinds matter most to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// Something that was said: words, reasoning, pictures, calls and their results, instructions.
    Said,
    /// How the conversation looked: titles, names, links, order.
    Appearance,
    /// Details for programs: ids, times, counts, costs, fields of providers.
    Detail,
}

impl LossKind {
    /// Returns the kind of the losses with a name. Only its first word counts, up to a dot.
    pub fn of(what: &str) -> LossKind {
        match head(what) {
            "message" | "system" | "user" | "assistant" | "tool_use" | "tool_result" | "text"
            | "image" | "document" | "thinking" | "block" | "content" | "summary"
            | "attachment" | "notification" | "item" | "preamble" | "system_prompt"
            | "koding_context" | "command_name" | "command_args" | "note" | "cell" | "comment"
            | "details" | "output" | "data" => LossKind::Said,
            "title" | "author" | "name" | "history" | "parent_id" | "agent_id" | "order"
            | "place" | "type" | "type_word" | "agent" | "tool" | "grouping" | "spacing"
            | "tags" | "alt" | "attribute" | "compact_boundary" | "frontmatter"
            | "default_agent" | "link" | "cell_id" => LossKind::Appearance,
            _ => LossKind::Detail,
        }
    }
}

/// The first word of the name of a loss, which losses of the same sort share.
pub fn head(what: &str) -> &str {
    what.split([' ', '.']).next().unwrap_or(what)
}

/// Returns whether an id was made from a name or a place, so that it means nothing to a person. Every reader makes it
/// again. Such ids are UUIDs of version 5.
pub fn is_made_up(id: &str) -> bool {
    Uuid::try_parse(id).is_ok_and(|id| id.get_version_num() == 5)
}

/// A part of a conversation that the target format cannot represent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The message that loses it; `None` if the conversation as a whole does.
    pub message: Option<MessageId>,
    /// What the loss is about.
    pub kind: LossKind,
    /// What is lost: a field such as `model`, or a block such as `tool_use`.
    pub what: String,
    /// The reason, or what is written instead: lower case, no full stop.
    pub why: String,
}

impl Loss {
    /// Creates the loss of a part of a message.
    pub fn of(message: &MessageId, what: impl Into<String>, why: impl Into<String>) -> Loss {
        Loss {
            message: Some(message.clone()),
            ..Loss::of_session(what, why)
        }
    }

    /// Creates the loss of a fact about the whole conversation.
    pub fn of_session(what: impl Into<String>, why: impl Into<String>) -> Loss {
        let what = what.into();
        Loss {
            message: None,
            kind: LossKind::of(&what),
            what,
            why: why.into(),
        }
    }
}
