//! Reduces the fields that messages of all kinds have.

use analects_core::{Body, History, Message, Raw, RawMap, TokenUsage};
use jiff::Timestamp;

use super::{ChatTarget, Reducer, soften_value};
use crate::chatmd::attributes::{is_key, read_time, write_local_time};
use crate::chatmd::messages::{NOTE_ATTRIBUTES, RESERVED, TEXT, reads_as_field};
use crate::chatmd::session_json;

impl Reducer<'_> {
    /// Returns a message with this body. The first of several items also gets the fields of the message.
    pub(super) fn message_with(&mut self, body: Body, is_first_item: bool) -> Message {
        let message = self.message;
        let mut reduced = Message::new(message.id.clone(), body);
        if let Body::Other(_) = reduced.body {
            reduced.unknown = message.unknown.clone();
        }
        if !is_first_item {
            return reduced;
        }
        // The plugin reads no attributes of these tags.
        let has_bare_tag = matches!(reduced.body, Body::System(_) | Body::CompactBoundary(_));
        let is_bare = self.target.is_plugin() && has_bare_tag;
        reduced.author = self.author(is_bare);
        reduced.created_at = self.time(is_bare);
        reduced.usage = self.usage().map(Box::new);
        reduced.history = self.history();
        reduced.extra = self.extra(&reduced);
        reduced
    }

    /// Returns the author, or else the model. `is_bare` says that the item has no attributes.
    fn author(&mut self, is_bare: bool) -> Option<String> {
        let message = self.message;
        let name = message.author.as_ref().or(message.model.as_ref())?;
        let why = "there is one name for who wrote it, and that is the author";
        self.explain("model", why);
        if !self.target.is_plugin() {
            return Some(name.clone());
        }
        let why = match message.author {
            Some(_) => "the plugin cannot read it as it is, or has no place for it",
            None => "the model is named as the author",
        };
        self.explain("author", why);
        Some(soften_value(name)).filter(|soft| !is_bare && !soft.is_empty())
    }

    /// Returns the time as precisely as the target keeps it. `is_bare` says that the item has no attributes.
    fn time(&mut self, is_bare: bool) -> Option<Timestamp> {
        let time = self.message.created_at?;
        let reduced = match self.target {
            ChatTarget::Ours => return Some(time),
            ChatTarget::Plugin(_) if is_bare => None,
            ChatTarget::Plugin(zone) => read_time(&write_local_time(time, zone), zone),
            ChatTarget::Json => Timestamp::from_millisecond(time.as_millisecond()).ok(),
        };
        if reduced.is_some() {
            let why = "a part of a second, or the hour that clocks are set back, is not kept";
            self.explain("created_at", why);
        }
        reduced
    }

    /// Returns the token counts that the target has a place for.
    fn usage(&self) -> Option<TokenUsage> {
        let usage = self.message.usage.as_deref()?;
        let mut reduced = TokenUsage::default();
        if !self.target.is_plugin() {
            reduced.input_tokens = usage.input_tokens;
            reduced.output_tokens = usage.output_tokens;
        }
        if let ChatTarget::Json = self.target {
            reduced.total_tokens = usage.total_tokens;
        }
        Some(reduced).filter(|usage| !usage.is_empty())
    }

    /// Returns how much of the message the model sees. JSON can hide a message, but not summarise it.
    fn history(&mut self) -> History {
        let history = self.message.history;
        let can_exclude = *self.target == ChatTarget::Json;
        if history == History::Include || (can_exclude && history == History::Exclude) {
            return history;
        }
        self.explain("history", "every message counts as one that the model sees");
        History::Include
    }

    /// Returns the extra fields that have a place, in the order in which they are read back.
    fn extra(&self, reduced: &Message) -> RawMap {
        let mut kept = RawMap::new();
        // Fields with a special meaning have a place only once.
        let special: &[&str] = match self.target {
            ChatTarget::Json => &session_json::KNOWN_FIELDS,
            _ => special_in_markdown(reduced),
        };
        let mut used = Vec::new();
        for (key, value) in self.message.extra.iter() {
            let name = key.as_string().unwrap_or_default();
            let is_special = special.contains(&name.as_str());
            let is_repeated = is_special && used.contains(&name);
            let has_place = match self.target {
                _ if is_repeated => false,
                ChatTarget::Ours => is_attribute(key, value, reduced),
                ChatTarget::Plugin(_) => false,
                ChatTarget::Json => !is_special || self.json_keeps(&name, value, reduced, &kept),
            };
            if has_place {
                kept.push_raw(key.clone(), value.clone());
            }
            if is_special {
                used.push(name);
            }
        }
        let is_separator = matches!(reduced.body, Body::CompactBoundary(_));
        match self.target {
            ChatTarget::Json if is_separator => in_order(&kept, &["type"]),
            ChatTarget::Json => in_order(&kept, &session_json::FIRST_FIELDS),
            _ => in_order(&kept, special_in_markdown(reduced)),
        }
    }

    /// Returns whether the plugin's JSON keeps an extra field with a known name.
    fn json_keeps(&self, name: &str, value: &Raw, reduced: &Message, kept: &RawMap) -> bool {
        match name {
            "id" => {
                // An implied id is not written, so the field is free.
                let is_id = value.as_string().is_some_and(|id| !id.is_empty());
                !is_id && self.message.id == self.implied
            }
            "type" if self.is_first && matches!(reduced.body, Body::System(_)) => {
                self.message.extra.len() == 1 && session_json::is_marked(reduced, value)
            }
            _ => session_json::keeps_extra(name, value, reduced, kept),
        }
    }
}

/// Returns the extra fields that are not attributes of a tag: the text below a separator, and a line of attributes.
fn special_in_markdown(message: &Message) -> &'static [&'static str] {
    if matches!(message.body, Body::CompactBoundary(_)) {
        &[TEXT, NOTE_ATTRIBUTES]
    } else {
        &[NOTE_ATTRIBUTES]
    }
}

/// Sorts extra fields into the order in which they are read: those in `first` come first.
fn in_order(extra: &RawMap, first: &[&str]) -> RawMap {
    let mut entries: Vec<(&Raw, &Raw)> = extra.iter().collect();
    entries.sort_by_cached_key(|(key, _)| {
        let name = key.as_string().unwrap_or_default();
        let rank = first.iter().position(|first| *first == name);
        rank.unwrap_or(first.len())
    });
    entries.into_iter().collect()
}

/// Returns whether an extra field can be written so that it is read back as the same extra field.
fn is_attribute(key: &Raw, value: &Raw, message: &Message) -> bool {
    let Some(name) = exact_text(key) else {
        return false;
    };
    if name == NOTE_ATTRIBUTES {
        return note_attributes(value).is_some_and(|map| !map.is_empty());
    }
    let Some(text) = exact_text(value) else {
        return false;
    };
    if name == TEXT && matches!(message.body, Body::CompactBoundary(_)) {
        return !text.is_empty();
    }
    is_key(&name) && !RESERVED.contains(&name.as_str()) && !reads_as_field(&name, &text, message)
}

/// Returns the text of a JSON string; `None` unless the text is written as the same JSON again.
fn exact_text(value: &Raw) -> Option<String> {
    value.as_string().filter(|text| Raw::string(text) == *value)
}

/// Reads the attributes of a note-taking program; `None` unless the value is a map of keys to texts.
pub(in crate::chatmd) fn note_attributes(value: &Raw) -> Option<Vec<(String, String)>> {
    let map = value.as_object()?;
    if map.to_raw() != *value {
        return None;
    }
    let mut attributes = Vec::new();
    for (key, value) in map.iter() {
        let name = exact_text(key)?;
        let text = exact_text(value)?;
        if !is_key(&name) {
            return None;
        }
        attributes.push((name, text));
    }
    Some(attributes)
}
