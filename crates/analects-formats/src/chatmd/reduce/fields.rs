//! What of the fields that all messages share can be said.

use analects_core::{Body, History, Message, Raw, RawMap, TokenUsage};
use jiff::Timestamp;

use super::{ChatTarget, Reducer};
use crate::chatmd::attributes::is_key;
use crate::chatmd::attributes::{read_time, write_local_time};
use crate::chatmd::messages::{NOTE_ATTRIBUTES, RESERVED, TEXT, reads_as_field};
use crate::chatmd::reduce::soften_value;
use crate::chatmd::session_json;

impl Reducer<'_> {
    /// A message with this body and what can be said of the rest. Of several items that a message
    /// becomes, the first has it all.
    pub(super) fn shared(&mut self, body: Body, first: bool) -> Message {
        let message = self.message;
        let mut said = Message::new(message.id.clone(), body);
        if let Body::Other(_) = said.body {
            said.unknown = message.unknown.clone();
        } else {
            self.lose_if(first && !message.unknown.is_empty(), "unknown fields");
        }
        if !first {
            return said;
        }
        self.lose_fields();
        let bare = self.target.is_plugin()
            && matches!(said.body, Body::System(_) | Body::CompactBoundary(_));
        said.author = self.author(bare);
        said.created_at = self.time(bare);
        said.usage = self.usage().map(Box::new);
        said.history = self.history();
        said.extra = self.extra(&said);
        said
    }

    fn lose_fields(&mut self) {
        let message = self.message;
        self.lose_if(message.agent_id.is_some(), "agent_id");
        self.lose_if(message.cost_usd.is_some(), "cost_usd");
        self.lose_if(message.duration_ms.is_some(), "duration_ms");
        self.lose_if(message.response_id.is_some(), "response_id");
        self.lose_if(message.is_api_error_message, "is_api_error_message");
        if message.model.is_some() {
            let why = match message.author {
                None => "there is one name for who wrote it; it is written as the author",
                Some(_) => "there is one name for who wrote it, and that is the author",
            };
            self.lose("model", why);
        }
    }

    fn author(&mut self, bare: bool) -> Option<String> {
        let name = self
            .message
            .author
            .as_ref()
            .or(self.message.model.as_ref())?;
        if !self.target.is_plugin() {
            return Some(name.clone());
        }
        let soft = Some(soften_value(name)).filter(|soft| !bare && !soft.is_empty());
        if soft.as_ref() != Some(name) {
            self.lose(
                "author",
                "the plugin cannot read it as it is, or has no place for it",
            );
        }
        soft
    }

    fn time(&mut self, bare: bool) -> Option<Timestamp> {
        let time = self.message.created_at?;
        let said = match self.target {
            ChatTarget::Ours => return Some(time),
            ChatTarget::Plugin(_) if bare => None,
            ChatTarget::Plugin(zone) => read_time(&write_local_time(time, zone), zone),
            ChatTarget::Json => Timestamp::from_millisecond(time.as_millisecond()).ok(),
        };
        if said != Some(time) {
            let why = match said {
                Some(_) => "a part of a second, or the hour that clocks are set back, is not kept",
                None => "there is no place for it",
            };
            self.lose("created_at", why);
        }
        said
    }

    fn usage(&mut self) -> Option<TokenUsage> {
        let usage = self.message.usage.as_ref()?;
        let said = match self.target {
            ChatTarget::Ours => TokenUsage {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                ..TokenUsage::default()
            },
            ChatTarget::Plugin(_) => TokenUsage::default(),
            ChatTarget::Json => TokenUsage {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                total_tokens: usage.total_tokens,
                ..TokenUsage::default()
            },
        };
        let said = Some(said).filter(|said| !said.is_empty());
        if said.as_ref() != Some(usage) {
            self.lose("usage", "only some counts of tokens have a place");
        }
        said
    }

    fn history(&mut self) -> History {
        let history = self.message.history;
        let keeps = history == History::Include
            || (*self.target == ChatTarget::Json && history == History::Exclude);
        if keeps {
            return history;
        }
        self.lose("history", "every message counts as one that the model sees");
        History::Include
    }

    /// The extra fields that have a place.
    fn extra(&mut self, said: &Message) -> RawMap {
        let mut kept = RawMap::new();
        // Names that mean something of their own can be said once.
        let special: &[&str] = match self.target {
            ChatTarget::Json => &session_json::KNOWN,
            _ => special_in_markdown(said),
        };
        let mut seen = Vec::new();
        for (key, value) in self.message.extra.iter() {
            let name = key.as_string().unwrap_or_default();
            let is_special = special.contains(&name.as_str());
            let fits = match self.target {
                _ if is_special && seen.contains(&name) => false,
                ChatTarget::Ours => can_say(key, value, said),
                ChatTarget::Plugin(_) => false,
                ChatTarget::Json => !is_special || self.json_can_say(&name, value, said, &kept),
            };
            if fits {
                kept.push_raw(key.clone(), value.clone());
            } else {
                self.lose(format!("extra.{name}"), "there is no place for it");
            }
            if is_special {
                seen.push(name);
            }
        }
        match self.target {
            ChatTarget::Json if matches!(said.body, Body::CompactBoundary(_)) => {
                in_order(&kept, &["type"])
            }
            ChatTarget::Json => in_order(&kept, &session_json::FIRST),
            _ => in_order(&kept, special_in_markdown(said)),
        }
    }

    /// Whether the plugin's JSON can say an extra field under a name that it knows.
    fn json_can_say(&self, name: &str, value: &Raw, said: &Message, kept: &RawMap) -> bool {
        match name {
            "id" => {
                // The name that is implied is not written.
                let is_id = value.as_string().is_some_and(|id| !id.is_empty());
                !is_id && self.message.id == self.implied
            }
            "type" if self.is_first && matches!(said.body, Body::System(_)) => {
                self.message.extra.len() == 1 && session_json::is_marked(said, value)
            }
            _ => session_json::can_say(name, value, said, kept),
        }
    }
}

/// The extra fields that are no attributes of a tag: the text below a separator, and a line of attributes.
fn special_in_markdown(said: &Message) -> &'static [&'static str] {
    if matches!(said.body, Body::CompactBoundary(_)) {
        &[TEXT, NOTE_ATTRIBUTES]
    } else {
        &[NOTE_ATTRIBUTES]
    }
}

/// Extra fields in the order in which they are read: those that are of another kind come first.
fn in_order(extra: &RawMap, first: &[&str]) -> RawMap {
    let rank = |key: &Raw| {
        let name = key.as_string().unwrap_or_default();
        first
            .iter()
            .position(|first| *first == name)
            .unwrap_or(first.len())
    };
    let mut entries: Vec<(&Raw, &Raw)> = extra.iter().collect();
    entries.sort_by_cached_key(|(key, _)| rank(key));
    entries.into_iter().collect()
}

/// Whether an extra field can be said so that it is read back as what it is.
fn can_say(key: &Raw, value: &Raw, said: &Message) -> bool {
    let Some(name) = exact(key) else { return false };
    if name == NOTE_ATTRIBUTES {
        return note_attributes(value).is_some_and(|map| !map.is_empty());
    }
    let Some(text) = exact(value) else {
        return false;
    };
    if name == TEXT && matches!(said.body, Body::CompactBoundary(_)) {
        return !text.is_empty();
    }
    is_key(&name) && !RESERVED.contains(&name.as_str()) && !reads_as_field(&name, &text, said)
}

/// The text of a JSON string that is spelled as it would be written here.
fn exact(value: &Raw) -> Option<String> {
    value.as_string().filter(|text| Raw::string(text) == *value)
}

/// The attributes of a note-taking program, if this is a map of keys to texts.
pub(in crate::chatmd) fn note_attributes(value: &Raw) -> Option<Vec<(String, String)>> {
    let map = value.as_object().filter(|map| map.to_raw() == *value)?;
    let entry = |(key, value): (&Raw, &Raw)| {
        let (name, text) = (exact(key)?, exact(value)?);
        is_key(&name).then_some((name, text))
    };
    map.iter().map(entry).collect()
}
