//! What a way of writing can say of a conversation: the same messages without what has no place there,
//! and a list of what that was. What is left is written and read back exactly.
//!
//! The plugin's own readers split a file at every `> ---`, know no escapes and no entities, and trim; so some
//! texts must be changed a little before they can be written for them.

mod bodies;
mod fields;

use std::borrow::Cow;

use analects_core::{Body, Message, MessageId, SessionId};
use jiff::tz::TimeZone;

use super::attributes::decode_entities;
use super::content::{DIV, rewrite};
use super::messages::item_id;
use super::{Dialect, session_json};
use crate::Loss;
use crate::msgfile::encode::open_fence;

pub(super) use bodies::usual_shape;
pub(super) use fields::note_attributes;

/// What is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ChatTarget {
    /// Chat Markdown, in full.
    Ours,
    /// Chat Markdown for the plugin, with times of this zone.
    Plugin(TimeZone),
    /// The plugin's own JSON.
    Json,
}

impl ChatTarget {
    pub(super) fn of(dialect: Dialect, zone: &TimeZone) -> ChatTarget {
        match dialect {
            Dialect::Ours => ChatTarget::Ours,
            Dialect::V1 | Dialect::V2 => ChatTarget::Plugin(zone.clone()),
        }
    }

    fn item_id(&self, session: &SessionId, ordinal: usize) -> MessageId {
        match self {
            ChatTarget::Json => session_json::item_id(session, ordinal),
            _ => item_id(session, ordinal),
        }
    }

    fn is_plugin(&self) -> bool {
        matches!(self, ChatTarget::Plugin(_))
    }
}

/// A conversation without what has no place.
#[derive(Debug, Default)]
pub(super) struct Reduction {
    pub(super) messages: Vec<Message>,
    pub(super) losses: Vec<Loss>,
}

/// Takes from a conversation what has no place in the target.
pub(super) fn reduce(
    conversation: &[Message],
    session: &SessionId,
    target: &ChatTarget,
) -> Reduction {
    let (mut messages, mut losses) = (Vec::<Message>::new(), Vec::new());
    let mut before: Option<&MessageId> = None;
    for message in conversation {
        let implied = MessageId::default();
        let is_first = messages.is_empty();
        let mut reducer = Reducer {
            target,
            message,
            implied,
            is_first,
            losses: &mut losses,
        };
        let bodies = reducer.bodies();
        if message.parent_id.as_ref() != before && !bodies.is_empty() {
            reducer.lose(
                "parent_id",
                "items follow one another; branches have no place",
            );
        }
        before = Some(&message.id);
        for (at, body) in bodies.into_iter().enumerate() {
            reducer.implied = target.item_id(session, messages.len() + 1);
            let mut said = reducer.shared(body, at == 0);
            said.id = reducer.id(at == 0);
            said.session_id = session.clone();
            said.parent_id = messages.last().map(|last| last.id.clone());
            messages.push(said);
        }
    }
    if target.is_plugin() {
        report_systems(&messages, &mut losses);
    }
    Reduction { messages, losses }
}

/// The plugin keeps one system prompt, which has no place among the others.
fn report_systems(messages: &[Message], losses: &mut Vec<Loss>) {
    let is_system = |message: &&Message| matches!(message.body, Body::System(_));
    let last = messages.iter().rposition(|message| is_system(&message));
    for (at, message) in messages
        .iter()
        .enumerate()
        .filter(|(_, message)| is_system(message))
    {
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
    target: &'a ChatTarget,
    message: &'a Message,
    /// The name of an item in its place that has none of its own.
    implied: MessageId,
    /// Whether nothing is written before it.
    is_first: bool,
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
    fn id(&mut self, first: bool) -> MessageId {
        let own = &self.message.id;
        if first && !own.is_empty() && !self.target.is_plugin() {
            return own.clone();
        }
        if first && *own != self.implied {
            self.lose("id", "the item is named by its place");
        }
        self.implied.clone()
    }
}

/// A text as it can be written for the plugin.
pub(super) fn soften(text: &str) -> String {
    // What JavaScript trims.
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    // To Markdown these say the same.
    let text = text
        .replace("> ---", ">  ---")
        .replace(DIV, &DIV.replacen(' ', "  ", 1));
    let mut text = rewrite(&text, 0, |line| format!(" {line}")).into_owned();
    if let Some(closer) = open_fence(&text) {
        text.push('\n');
        text.push_str(&closer);
    }
    text
}

/// A value as it can be written for the plugin.
pub(super) fn soften_value(value: &str) -> String {
    let mut value: String = value
        .chars()
        .map(|c| match c {
            '"' => '\'',
            '>' | '\n' | '\r' => '_',
            c => c,
        })
        .collect();
    // Others do read entities.
    while let Cow::Owned(decoded) = decode_entities(&value)
        && decoded != value
    {
        value = decoded.replace(['"', '>', '\n', '\r'], "_");
    }
    value
}
