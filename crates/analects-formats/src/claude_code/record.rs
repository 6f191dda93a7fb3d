//! A record of a session: its fields, borrowed from its line, and what it is for a conversation.

use std::borrow::Cow;
use std::fmt;

use analects_core::{Raw, RawMap};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The entries of a JSON object in their order. Where a key is repeated, the last one counts.
#[derive(Debug, Default)]
pub(super) struct RecordFields<'a> {
    entries: Vec<(&'a RawValue, &'a RawValue)>,
}

impl<'a> RecordFields<'a> {
    /// Splits a text that is one JSON object and nothing else.
    pub(super) fn parse(text: &'a str) -> Option<RecordFields<'a>> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let fields = deserializer.deserialize_map(ObjectVisitor).ok()?;
        deserializer.end().ok()?;
        Some(fields)
    }

    pub(super) fn of(value: &'a RawValue) -> Option<RecordFields<'a>> {
        value
            .get()
            .starts_with('{')
            .then(|| RecordFields::parse(value.get()))
            .flatten()
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.position(key).map(|at| self.entries[at].1)
    }

    /// The string of a key, unless it is empty or holds a lone surrogate.
    pub(super) fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)
            .and_then(string)
            .filter(|text| !text.is_empty())
    }

    pub(super) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.get() == "true")
    }

    pub(super) fn number(&self, key: &str) -> Option<u64> {
        serde_json::from_str(self.get(key)?.get()).ok()
    }

    pub(super) fn object(&self, key: &str) -> Option<RecordFields<'a>> {
        RecordFields::of(self.get(key)?)
    }

    /// Takes the last entry of a key out, since a message now says it.
    pub(super) fn remove(&mut self, key: &str) {
        if let Some(at) = self.position(key) {
            self.entries.remove(at);
        }
    }

    /// Takes the last entry of a key out if it is this string.
    pub(super) fn remove_same(&mut self, key: &str, said: &str) {
        let is_same = |at: &usize| string(self.entries[*at].1).is_some_and(|text| text == said);
        if let Some(at) = self.position(key).filter(is_same) {
            self.entries.remove(at);
        }
    }

    /// The string of a key, which is then taken out.
    pub(super) fn take_string(&mut self, key: &str) -> Option<String> {
        let text = self.string(key)?.into_owned();
        self.remove(key);
        Some(text)
    }

    /// Puts another value in the place of the last entry of a key, and gives all that is left.
    pub(super) fn into_map(self, key: &str, value: Option<Raw>) -> RawMap {
        let replaced = value.and_then(|value| Some((self.position(key)?, value)));
        let mut map = RawMap::new();
        for (at, (key, old)) in self.entries.iter().enumerate() {
            let value = match &replaced {
                Some((place, value)) if *place == at => value.clone(),
                _ => Raw::from(*old),
            };
            map.push_raw(Raw::from(*key), value);
        }
        map
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.entries.iter().rposition(|(name, _)| is_key(name, key))
    }
}

fn is_key(name: &RawValue, key: &str) -> bool {
    let literal = name.get();
    let plain = literal.len() == key.len() + 2 && &literal[1..literal.len() - 1] == key;
    plain || (literal.contains('\\') && string(name).is_some_and(|name| name == key))
}

/// The text of a JSON string; `None` for anything else, and where a lone surrogate is in it.
pub(super) fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    let inside = value.get().strip_prefix('"')?.strip_suffix('"')?;
    if inside.contains('\\') {
        serde_json::from_str(value.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inside))
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = RecordFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<RecordFields<'de>, A::Error> {
        let mut entries = Vec::with_capacity(16);
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(RecordFields { entries })
    }
}

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// Something that a person or a program said, or the result of a call.
    User,
    /// A prompt that was typed while the model was at work, and reached it as an attachment.
    Queued,
    /// Something that a model said.
    Assistant,
    /// Instructions; Claude Code itself keeps none.
    System,
    /// The summary of a compaction.
    Summary,
    /// A compaction.
    Boundary,
    /// Something that the program told the person.
    Notice,
    /// Something that the program told the model.
    Attachment,
    /// What the session is called.
    Title,
    /// Anything else: progress, snapshots, queues, and types that nobody knows yet.
    Beside,
}

impl RecordKind {
    pub(super) fn of(fields: &RecordFields<'_>) -> RecordKind {
        let Some(name) = fields.string("type") else {
            return RecordKind::by_role(fields);
        };
        match &*name {
            "user" if fields.is_true("isCompactSummary") => RecordKind::Summary,
            "user" => RecordKind::User,
            "assistant" => RecordKind::Assistant,
            "system" => RecordKind::of_system(fields),
            "attachment" => RecordKind::of_attachment(fields),
            // Most summaries are titles of other sessions.
            "summary" if has_content(fields) => RecordKind::Summary,
            "ai-title" if fields.string("aiTitle").is_some() => RecordKind::Title,
            "custom-title" if fields.string("customTitle").is_some() => RecordKind::Title,
            _ => RecordKind::Beside,
        }
    }

    /// RecordReader without a type are of old versions and of other programs.
    fn by_role(fields: &RecordFields<'_>) -> RecordKind {
        let role = fields
            .object("message")
            .and_then(|message| message.string("role"));
        match role.as_deref() {
            Some("user") => RecordKind::User,
            Some("assistant") => RecordKind::Assistant,
            _ => RecordKind::Beside,
        }
    }

    fn of_system(fields: &RecordFields<'_>) -> RecordKind {
        let is_boundary = fields.string("subtype").as_deref() == Some("compact_boundary");
        match () {
            _ if is_boundary => RecordKind::Boundary,
            _ if has_content(fields) => RecordKind::System,
            _ if fields.string("content").is_some() => RecordKind::Notice,
            _ => RecordKind::Beside,
        }
    }

    fn of_attachment(fields: &RecordFields<'_>) -> RecordKind {
        let Some(attachment) = fields.object("attachment") else {
            return RecordKind::Beside;
        };
        let is = |key, value| attachment.string(key).as_deref() == Some(value);
        let is_typed = is("commandMode", "prompt") || attachment.get("commandMode").is_none();
        let prompt = attachment.get("prompt").map(|prompt| prompt.get());
        let is_said = prompt.is_some_and(|prompt| prompt.starts_with(['"', '[']));
        match () {
            _ if is("type", "queued_command") && is_typed && is_said => RecordKind::Queued,
            _ => RecordKind::Attachment,
        }
    }
}

fn has_content(fields: &RecordFields<'_>) -> bool {
    fields
        .object("message")
        .is_some_and(|message| message.get("content").is_some())
}
