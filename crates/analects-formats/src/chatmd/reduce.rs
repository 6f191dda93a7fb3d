//! Reduces a conversation to what a target can represent: the same messages without the rest, and a list of losses. What
//! remains is written and read back exactly.
//!
//! The plugin's own readers split a file at every `> ---`, know neither escapes nor entities, and trim. So some texts must
//! be changed a little before they are written for them.
//!
//! | | chat Markdown | the plugin's Markdown | the plugin's JSON |
//! |---|---|---|---|
//! | id of a message | yes | no, by position | yes |
//! | author | yes | softened; not on SYSTEM and SEPERATOR | yes |
//! | time | exact | seconds; not on SYSTEM and SEPERATOR | milliseconds |
//! | token counts | input, output | no | input, output, total |
//! | hidden messages | no | no | yes |
//! | extra fields | texts | no | yes |
//! | results of tools | yes | no | yes |
//! | texts and pictures | in order | one text, then pictures | in order |
//! | unknown parts | no | no | yes |

mod bodies;
mod fields;

use std::borrow::Cow;

use analects_core::{Body, Content, Message, MessageId, SessionId};
use jiff::tz::TimeZone;

use super::attributes::decode_entities;
use super::content::{DIV, rewrite};
use super::messages::item_id;
use super::{Dialect, session_json};
use crate::Loss;
use crate::losses::difference::{blocks, difference};
use crate::msgfile::encode::open_fence;

pub(super) use bodies::usual_shape;
pub(super) use fields::note_attributes;

/// What a conversation is written as.
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
    /// Returns the target for a dialect. `zone` is only for the plugin.
    pub(super) fn of(dialect: Dialect, zone: &TimeZone) -> ChatTarget {
        match dialect {
            Dialect::Ours => ChatTarget::Ours,
            Dialect::V1 | Dialect::V2 => ChatTarget::Plugin(zone.clone()),
        }
    }

    /// Derives the id of an item from its position, as the reader of this target does.
    fn item_id(&self, session: &SessionId, ordinal: usize) -> MessageId {
        match self {
            ChatTarget::Json => session_json::item_id(session, ordinal),
            _ => item_id(session, ordinal),
        }
    }

    /// Returns whether the plugin's own readers must understand the result.
    fn is_plugin(&self) -> bool {
        matches!(self, ChatTarget::Plugin(_))
    }
}

/// A reduced conversation.
#[derive(Debug, Default)]
pub(super) struct Reduction {
    /// The messages, exactly as they are read back.
    pub(super) messages: Vec<Message>,
    /// What the messages do not say any more.
    pub(super) losses: Vec<Loss>,
}

/// Reduces a conversation to what the target can represent.
pub(super) fn reduce(
    conversation: &[Message],
    session: &SessionId,
    target: &ChatTarget,
) -> Reduction {
    let mut messages: Vec<Message> = Vec::new();
    let mut losses = Vec::new();
    let mut previous: Option<&MessageId> = None;
    for message in conversation {
        let mut reducer = Reducer {
            target,
            message,
            implied: MessageId::default(),
            is_first: messages.is_empty(),
            reasons: Vec::new(),
            losses: &mut losses,
        };
        let bodies = reducer.bodies();
        let first = messages.len();
        for (at, body) in bodies.into_iter().enumerate() {
            reducer.implied = target.item_id(session, messages.len() + 1);
            let mut reduced = reducer.message_with(body, at == 0);
            reduced.id = reducer.id(at == 0);
            reduced.session_id = session.clone();
            reduced.parent_id = messages.last().map(|last| last.id.clone());
            messages.push(reduced);
        }
        reducer.report(&messages[first..], previous);
        previous = Some(&message.id);
    }
    if target.is_plugin() {
        report_systems(&messages, &mut losses);
    }
    Reduction { messages, losses }
}

/// Reports system prompts that the plugin moves or drops: it keeps only the last one, at the start.
fn report_systems(messages: &[Message], losses: &mut Vec<Loss>) {
    let systems = messages.iter().enumerate();
    let systems = systems.filter(|(_, message)| matches!(message.body, Body::System(_)));
    let systems: Vec<(usize, &Message)> = systems.collect();
    let Some(((last_at, last), earlier)) = systems.split_last() else {
        return;
    };
    for (_, message) in earlier {
        let why = "the plugin keeps the last system prompt only";
        losses.push(Loss::of(&message.id, "system", why));
    }
    if *last_at > 0 {
        let why = "the plugin moves the system prompt to the start";
        losses.push(Loss::of(&last.id, "place", why));
    }
}

/// Reduces one message.
struct Reducer<'a> {
    target: &'a ChatTarget,
    message: &'a Message,
    /// The id that a reader derives from the position.
    implied: MessageId,
    /// Whether no message is written before it.
    is_first: bool,
    /// Reasons for what the message may lose, by name. What it does lose is found by comparing it with its items.
    reasons: Vec<(&'static str, &'static str)>,
    /// The losses of all messages.
    losses: &'a mut Vec<Loss>,
}

impl Reducer<'_> {
    /// Notes why a part of the message gets lost or changes.
    fn explain(&mut self, what: &'static str, why: &'static str) {
        self.reasons.push((what, why));
    }

    /// Adds a loss of the message.
    fn lose(&mut self, what: impl Into<String>, why: &str) {
        self.losses.push(Loss::of(&self.message.id, what, why));
    }

    /// Lists what the message loses if it is read back as these items. `previous` is the message before it.
    fn report(&mut self, items: &[Message], previous: Option<&MessageId>) {
        let Some(first) = items.first() else { return };
        let mut read = first.clone();
        if items.len() > 1 {
            self.lose("grouping", "results of tools become items of their own");
            let all = items.iter().flat_map(|item| blocks(&item.body));
            read.body = bodies::user_body(Content::Blocks(all.collect()));
        }
        read.session_id = self.message.session_id.clone();
        if self.message.parent_id.as_ref() == previous {
            read.parent_id = self.message.parent_id.clone();
        }
        if self.message.author.is_none() {
            // The model is named, as the author.
            read.model.clone_from(&self.message.model);
        }
        for mut loss in difference(self.message, &read) {
            let mut reasons = self.reasons.iter().rev();
            if let Some((_, why)) = reasons.find(|(what, _)| *what == loss.what) {
                loss.why = why.to_string();
            }
            self.losses.push(loss);
        }
    }

    /// Returns the id to write. Only the first of several items gets the message's own.
    fn id(&self, is_first_item: bool) -> MessageId {
        let own = &self.message.id;
        if is_first_item && !own.is_empty() && !self.target.is_plugin() {
            return own.clone();
        }
        self.implied.clone()
    }
}

/// Changes a text so that the plugin reads it back unchanged.
pub(super) fn soften(text: &str) -> String {
    // JavaScript trims these characters.
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    // These replacements mean the same in Markdown.
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

/// Changes the value of an attribute so that the plugin reads it back unchanged.
pub(super) fn soften_value(value: &str) -> String {
    let mut value = value.replace('"', "'").replace(['>', '\n', '\r'], "_");
    // Other readers decode entities, so there must be none left.
    while let Cow::Owned(decoded) = decode_entities(&value)
        && decoded != value
    {
        value = decoded.replace(['"', '>', '\n', '\r'], "_");
    }
    value
}
