//! A record of a session: its fields, borrowed from its line, and its kind.

use std::borrow::Cow;
use std::fmt;

use analects_core::{Raw, RawMap};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The entries of a JSON object, in order. If a key is repeated, the last one counts.
#[derive(Debug, Default)]
pub(super) struct RecordFields<'a> {
    /// Keys and values, as they are spelled.
    entries: Vec<(&'a RawValue, &'a RawValue)>,
}

impl<'a> RecordFields<'a> {
    /// Reads a text that is one JSON object and nothing else.
    pub(super) fn parse(text: &'a str) -> Option<RecordFields<'a>> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let fields = deserializer.deserialize_map(ObjectVisitor).ok()?;
        deserializer.end().ok()?;
        Some(fields)
    }

    /// Reads a JSON value; `None` if it is not an object.
    pub(super) fn of(value: &'a RawValue) -> Option<RecordFields<'a>> {
        if !value.get().starts_with('{') {
            return None;
        }
        RecordFields::parse(value.get())
    }

    /// Returns the value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.position(key).map(|at| self.entries[at].1)
    }

    /// Returns the string of a key; `None` if it is empty or holds a lone surrogate.
    pub(super) fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)
            .and_then(string)
            .filter(|text| !text.is_empty())
    }

    /// Returns whether the value of a key is `true`.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.get() == "true")
    }

    /// Returns the value of a key as a count; `None` if it is negative or not a whole number.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        serde_json::from_str(self.get(key)?.get()).ok()
    }

    /// Returns the value of a key as an object.
    pub(super) fn object(&self, key: &str) -> Option<RecordFields<'a>> {
        RecordFields::of(self.get(key)?)
    }

    /// Removes the last entry of a key, because a message now says it.
    pub(super) fn remove(&mut self, key: &str) {
        if let Some(at) = self.position(key) {
            self.entries.remove(at);
        }
    }

    /// Removes the last entry of a key if it is this string.
    pub(super) fn remove_same(&mut self, key: &str, text: &str) {
        if let Some(at) = self.position(key)
            && string(self.entries[at].1).as_deref() == Some(text)
        {
            self.entries.remove(at);
        }
    }

    /// Removes the string of a key and returns it.
    pub(super) fn take_string(&mut self, key: &str) -> Option<String> {
        let text = self.string(key)?.into_owned();
        self.remove(key);
        Some(text)
    }

    /// Returns the entries, in order.
    pub(super) fn into_map(self) -> RawMap {
        let mut map = RawMap::new();
        for (key, value) in self.entries {
            map.push_raw(Raw::from(key), Raw::from(value));
        }
        map
    }

    /// Returns the entries with another value for the last entry of a key, if there is one.
    pub(super) fn into_map_with(self, key: &str, value: Raw) -> RawMap {
        let position = self.position(key);
        let mut map = RawMap::new();
        for (at, (key, old)) in self.entries.into_iter().enumerate() {
            let value = if Some(at) == position {
                value.clone()
            } else {
                Raw::from(old)
            };
            map.push_raw(Raw::from(key), value);
        }
        map
    }

    /// Returns the position of the last entry of a key.
    fn position(&self, key: &str) -> Option<usize> {
        self.entries.iter().rposition(|(name, _)| is_key(name, key))
    }
}

/// Returns whether a JSON string is this key, even if it has escapes.
fn is_key(name: &RawValue, key: &str) -> bool {
    let literal = name.get();
    let plain = literal.len() == key.len() + 2 && &literal[1..literal.len() - 1] == key;
    plain || (literal.contains('\\') && string(name).is_some_and(|name| name == key))
}

/// Returns the text of a JSON string; `None` for other values and for a string with a lone surrogate.
pub(super) fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    let inside = value.get().strip_prefix('"')?.strip_suffix('"')?;
    if inside.contains('\\') {
        serde_json::from_str(value.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inside))
    }
}

/// Collects the entries of an object without parsing them.
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

/// What a record is in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// A message by a person or by the program in the person's name, or the result of a call.
    User,
    /// A prompt that was typed while the model was at work, and reached it as an attachment.
    Queued,
    /// A message by the model.
    Assistant,
    /// Instructions. Claude Code itself keeps none.
    System,
    /// The summary of a compaction.
    Summary,
    /// A compaction.
    Boundary,
    /// A message by the program to the person.
    Notice,
    /// A message by the program to the model.
    Attachment,
    /// The title of the session.
    Title,
    /// A message of a sub-agent, in a progress record of its call.
    SubAgent,
    /// Not part of the conversation: other progress, snapshots, queues, and unknown types.
    Beside,
}

impl RecordKind {
    /// Finds the kind of a record.
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
            "progress" if SubAgentReport::of(fields).is_some() => RecordKind::SubAgent,
            _ => RecordKind::Beside,
        }
    }

    /// Returns the kind of a record without a type, from an old version or another program.
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

    /// Returns the kind of a record of type `system`, which has many uses.
    fn of_system(fields: &RecordFields<'_>) -> RecordKind {
        let is_boundary = fields.string("subtype").as_deref() == Some("compact_boundary");
        if is_boundary {
            RecordKind::Boundary
        } else if has_content(fields) {
            RecordKind::System
        } else if fields.string("content").is_some() {
            RecordKind::Notice
        } else {
            RecordKind::Beside
        }
    }

    /// Returns the kind of an attachment. Only a queued prompt is a message of the user.
    fn of_attachment(fields: &RecordFields<'_>) -> RecordKind {
        let Some(attachment) = fields.object("attachment") else {
            return RecordKind::Beside;
        };
        if attachment.string("type").as_deref() != Some("queued_command") {
            return RecordKind::Attachment;
        }
        let mode = attachment.string("commandMode");
        let is_prompt =
            mode.as_deref() == Some("prompt") || attachment.get("commandMode").is_none();
        let prompt = attachment.get("prompt").map_or("", |prompt| prompt.get());
        if is_prompt && prompt.starts_with(['"', '[']) {
            RecordKind::Queued
        } else {
            RecordKind::Attachment
        }
    }
}

/// Returns whether the record has a message of the API with content.
fn has_content(fields: &RecordFields<'_>) -> bool {
    fields
        .object("message")
        .is_some_and(|message| message.get("content").is_some())
}

/// What a progress record says about a message of a sub-agent.
///
/// ```json
/// {"type":"progress","parentToolUseID":"toolu_1","uuid":"…",
///  "data":{"type":"agent_progress","agentId":"a4f","message":{"type":"user","uuid":"…","message":{…}}}}
/// ```
pub(super) struct SubAgentReport<'a> {
    /// The `data` of the progress record.
    pub data: RecordFields<'a>,
    /// The record of the message. Unlike others, it does not say which one it follows.
    pub record: RecordFields<'a>,
    /// What the message is.
    pub kind: RecordKind,
    /// The name of the sub-agent's side chain.
    pub agent: String,
}

impl<'a> SubAgentReport<'a> {
    /// Reads a record; `None` if it is not the progress of a sub-agent, or if it has no message of one.
    pub(super) fn of(fields: &RecordFields<'a>) -> Option<SubAgentReport<'a>> {
        let data = fields.object("data")?;
        if data.string("type")? != "agent_progress" {
            return None;
        }
        let record = data.object("message")?;
        let kind = match record.string("type").as_deref() {
            Some("user") => RecordKind::User,
            Some("assistant") => RecordKind::Assistant,
            _ => return None,
        };
        let call = || fields.string("parentToolUseID").unwrap_or_default();
        let agent = match data.string("agentId") {
            Some(agent) => agent.into_owned(),
            None => format!("sidechain-{}", call()),
        };
        Some(SubAgentReport {
            data,
            record,
            kind,
            agent,
        })
    }
}
