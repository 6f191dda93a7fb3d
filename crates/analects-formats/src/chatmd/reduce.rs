//! What a way of writing can say of a conversation: the same messages without what has no place there,
//! and a list of what that was. What is left is written and read back exactly.

mod bodies;
mod fields;

use analects_core::{Body, Message, MessageId, SessionId};
use jiff::tz::TimeZone;

use super::Dialect;
use super::messages::item_id;
use super::session_json;
use crate::loss::Loss;

pub(super) use bodies::usual_shape;
pub(super) use fields::note_attributes;

/// What is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Target {
    /// Chat Markdown, in full.
    Ours,
    /// Chat Markdown for the plugin, with times of this zone.
    Plugin(TimeZone),
    /// The plugin's own JSON.
    Json,
}

impl Target {
    pub(super) fn of(dialect: Dialect, zone: &TimeZone) -> Target {
        match dialect {
            Dialect::Ours => Target::Ours,
            Dialect::V1 | Dialect::V2 => Target::Plugin(zone.clone()),
        }
    }

    fn is_plugin(&self) -> bool {
        matches!(self, Target::Plugin(_))
    }
}

/// A conversation without what has no place.
#[derive(Debug, Default)]
pub(super) struct Reduced {
    pub(super) messages: Vec<Message>,
    pub(super) losses: Vec<Loss>,
}

/// Takes from a conversation what has no place in the target.
pub(super) fn reduce(conversation: &[Message], session: &SessionId, target: &Target) -> Reduced {
    let mut reduced = Reduced::default();
    let mut before: Option<&MessageId> = None;
    for message in conversation {
        let mut reducer = Reducer { target, message, losses: &mut reduced.losses };
        let bodies = reducer.bodies();
        let lacks_parent = message.parent_id.as_ref() != before;
        if lacks_parent && !bodies.is_empty() {
            reducer.lose("parent_id", "items follow one another; branches have no place");
        }
        before = Some(&message.id);
        for (at, body) in bodies.into_iter().enumerate() {
            let mut reducer = Reducer { target, message, losses: &mut reduced.losses };
            let mut said = reducer.shared(body, at == 0);
            let ordinal = reduced.messages.len() + 1;
            said.session_id = session.clone();
            said.parent_id = reduced.messages.last().map(|last| last.id.clone());
            let mut reducer = Reducer { target, message, losses: &mut reduced.losses };
            said.id = reducer.id(session, ordinal, at == 0);
            reduced.messages.push(said);
        }
    }
    if target.is_plugin() {
        report_systems(&reduced.messages, &mut reduced.losses);
    }
    reduced
}

/// The plugin keeps one system prompt, which has no place among the others.
fn report_systems(messages: &[Message], losses: &mut Vec<Loss>) {
    let is_system = |message: &&Message| matches!(message.body, Body::System(_));
    let last = messages.iter().rposition(|message| is_system(&message));
    for (at, message) in messages.iter().enumerate().filter(|(_, message)| is_system(message)) {
        if Some(at) != last {
            let why = "the plugin keeps the last system prompt only";
            losses.push(Loss::of(&message.id, "system", why));
        } else if at > 0 {
            let why = "the plugin moves the system prompt to the start";
            losses.push(Loss::of(&message.id, "place", why));
        }
    }
}

/// A message on its way.
struct Reducer<'a> {
    target: &'a Target,
    message: &'a Message,
    losses: &'a mut Vec<Loss>,
}

impl Reducer<'_> {
    fn lose(&mut self, what: impl Into<String>, why: &str) {
        self.losses.push(Loss::of(&self.message.id, what, why));
    }

    /// Loses something if it is there.
    fn lose_if(&mut self, lost: bool, what: &str) {
        if lost {
            self.lose(what, "there is no place for it");
        }
    }

    /// The name of what is written. Only the first of several items has the message's own.
    fn id(&mut self, session: &SessionId, ordinal: usize, first: bool) -> MessageId {
        let derived = match self.target {
            Target::Json => session_json::item_id(session, ordinal),
            _ => item_id(session, ordinal),
        };
        let own = &self.message.id;
        let keeps = first && !own.is_empty() && !self.target.is_plugin();
        if keeps {
            return own.clone();
        }
        if first && *own != derived {
            self.lose("id", "the item is named by its place");
        }
        derived
    }
}
