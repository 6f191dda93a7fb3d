//! A conversation as it may be sent: what is for the model, in the order and the shape that every provider
//! takes. Nothing is counted or trimmed here.

mod draft;
mod heard;
mod leading;
mod pairs;

use analects_core::{Agent, Chain, MessageId, Problem, Sendable, Text, Turn, sendable};

pub(crate) use draft::{Draft, Item, Kind, draft};
pub(crate) use leading::{is_instruction, leading};

/// A conversation ready for any provider's encoder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Normalized {
    /// Instructions of the conversation's own that come before it.
    pub system: Option<Text>,
    /// The turns, as [`sendable`](analects_core::sendable()) leaves them.
    pub turns: Vec<Turn>,
    /// For each message of the chain, why it is not sent; `None` if it is.
    pub left_out: Vec<Option<&'static str>>,
    /// Messages of which only a summary may be sent, and that have none yet.
    pub needs_summary: Vec<MessageId>,
    /// What was added or left out so that every provider accepts the turns.
    pub mended: Vec<Problem>,
}

/// Brings the messages of a chain into the form in which they are sent to `agent`. Doing it to what came
/// out of it changes nothing.
///
/// In order: what is not for the model goes, and so do errors that no model returned; what may only be
/// sent as a summary is; parts of one response come together, and reminders go to the message that they
/// were made for; blank texts go, and thoughts of models of another maker; calls and results are
/// paired.
pub fn normalize_messages_for_api(chain: &Chain<'_>, agent: &Agent) -> Normalized {
    let Draft { system, items, left_out, needs_summary } = draft(chain, agent);
    let turns = items.into_iter().map(Item::into_turn).collect();
    let Sendable { turns, mended, .. } = sendable(turns);
    Normalized { system: joined(&system), turns, left_out, needs_summary, mended }
}

/// Instructions as one text.
pub(crate) fn joined(parts: &[String]) -> Option<Text> {
    (!parts.is_empty()).then(|| Text::from(parts.join("\n\n")))
}
