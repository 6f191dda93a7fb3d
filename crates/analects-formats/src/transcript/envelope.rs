//! The envelope of a record: its id, its links and a few other fields, found without reading its content. For passes
//! over conversations that do not fit into memory.

use std::borrow::Cow;
use std::fmt;

use analects_core::{
    Body, CompactBoundary, CompactTrigger, History, Link, LinkKind, Message, MessageId, Other,
    Progress, Raw, StateChange, Summary, Tombstone, User,
};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::link::{OwnedBoundary, OwnedLink, OwnedLinkKind, OwnedRevision, OwnedTombstone};

/// The envelope of a record. If a key is repeated, the last one counts.
///
/// ```
/// use analects_formats::transcript::Envelope;
///
/// let record = r#"{"v":1,"type":"user","id":"b","parent_id":"a","content":"Hello"}"#;
/// let envelope = Envelope::read(record).unwrap();
/// assert_eq!(envelope.type_name(), "user");
/// assert_eq!(envelope.link().link().parent, Some("a"));
/// // A record that is too long still gives its first fields.
/// let beginning = Envelope::read_beginning(&record.as_bytes()[..40]);
/// assert_eq!(beginning.string("id").as_deref(), Some("b"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Envelope<'a> {
    /// The values of the fields in [`FIELD_NAMES`], in that order.
    fields: [Option<&'a RawValue>; FIELD_NAMES.len()],
}

/// The fields of an envelope.
const FIELD_NAMES: [&str; 24] = [
    "v",
    "type",
    "id",
    "parent_id",
    "session_id",
    "agent_id",
    "created_at",
    "usage",
    "cost_usd",
    "summary_id",
    "kept_from",
    "trigger",
    "target",
    "target_parent",
    "target_call",
    "target_history",
    "history",
    "state",
    "snapshot",
    "text",
    "is_api_error_message",
    "response_id",
    "model",
    "content",
];

impl<'a> Envelope<'a> {
    /// Reads the envelope of a record; `None` if the text is not a JSON object.
    pub fn read(record: &'a str) -> Option<Envelope<'a>> {
        let mut envelope = Envelope::default();
        let mut deserializer = serde_json::Deserializer::from_str(record);
        deserializer
            .deserialize_map(EnvelopeVisitor(&mut envelope))
            .ok()?;
        deserializer.end().ok()?;
        Some(envelope)
    }

    /// Reads the complete fields at the beginning of a record that is too long to be read. Our own records have their
    /// ids before their content.
    pub fn read_beginning(bytes: &'a [u8]) -> Envelope<'a> {
        let valid = match std::str::from_utf8(bytes) {
            Ok(_) => bytes.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = std::str::from_utf8(&bytes[..valid]).unwrap_or_default();
        let mut envelope = Envelope::default();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        // The text ends in the middle of a field, which is an error. The fields before it are in the envelope.
        let _ = deserializer.deserialize_map(EnvelopeVisitor(&mut envelope));
        envelope
    }

    /// Returns a field as a string; `None` if it is missing or has another type.
    pub fn string(&self, name: &str) -> Option<Cow<'a, str>> {
        let raw = self.json(name)?;
        let inside = raw.strip_prefix('"')?.strip_suffix('"')?;
        if inside.contains('\\') {
            serde_json::from_str(raw).ok().map(Cow::Owned)
        } else {
            Some(Cow::Borrowed(inside))
        }
    }

    /// Returns a field as JSON.
    pub fn json(&self, name: &str) -> Option<&'a str> {
        let index = field_index(name)?;
        self.fields[index].map(RawValue::get)
    }

    /// Returns the type of the message. Empty if it is missing, or if the record is of another version.
    pub fn type_name(&self) -> Cow<'a, str> {
        match self.json("v") {
            None | Some("1") => self.string("type").unwrap_or_default(),
            Some(_) => Cow::Borrowed(""),
        }
    }

    /// Returns whether the meaning of the record depends on a field that is not in the envelope. So you need the whole
    /// record to link it.
    pub fn needs_body(&self) -> bool {
        let kind = self.type_name();
        self.json("parent_id").is_none()
            && matches!(
                &*kind,
                "tool_use" | "tool_result" | "attachment" | "notification"
            )
    }

    /// Returns the link of the record.
    pub fn link(&self) -> OwnedLink {
        OwnedLink {
            id: self.boxed("id").unwrap_or_default(),
            parent: self.boxed("parent_id"),
            agent: self.boxed("agent_id"),
            is_excluded: self.history("history") == Some(History::Exclude),
            kind: self.link_kind(),
        }
    }

    /// Returns the link of a record whose content is left out: it keeps its place in the chain and says nothing there.
    /// `None` if it has no id, so that nothing can follow it.
    pub fn link_without_content(&self) -> Option<OwnedLink> {
        let link = OwnedLink {
            kind: OwnedLinkKind::State,
            ..self.link()
        };
        (!link.id.is_empty()).then_some(link)
    }

    /// Returns a field as a string of its own.
    fn boxed(&self, name: &str) -> Option<Box<str>> {
        self.string(name).map(|text| Box::from(&*text))
    }

    /// Returns a field that says how much of a message the model sees.
    fn history(&self, name: &str) -> Option<History> {
        serde_json::from_str(self.json(name)?).ok()
    }

    /// Returns whether the JSON of a field starts with a character, which tells its type.
    fn starts_with(&self, name: &str, first: char) -> bool {
        self.json(name).is_some_and(|json| json.starts_with(first))
    }

    /// Returns the link kind that [`Link::of`] would return for the whole message.
    fn link_kind(&self) -> OwnedLinkKind {
        match &*self.type_name() {
            "system" | "user" | "assistant" => OwnedLinkKind::Speech,
            "tool_use" | "tool_result" | "attachment" | "notification" => OwnedLinkKind::Speech,
            "summary" if self.starts_with("text", '"') => OwnedLinkKind::Summary,
            "compact_boundary" => self.boundary_kind(),
            "tombstone" => self.tombstone_kind().unwrap_or(OwnedLinkKind::Unknown),
            "revision" => self.revision_kind().unwrap_or(OwnedLinkKind::Unknown),
            "state" if self.starts_with("state", '{') => OwnedLinkKind::State,
            "progress" => OwnedLinkKind::Progress,
            _ => OwnedLinkKind::Unknown,
        }
    }

    /// Reads the references of a compaction.
    fn boundary_kind(&self) -> OwnedLinkKind {
        OwnedLinkKind::Boundary(Box::new(OwnedBoundary {
            summary: self.boxed("summary_id"),
            kept_from: self.boxed("kept_from"),
            is_separator: self.string("trigger").as_deref() == Some("separator"),
        }))
    }

    /// Reads the references of a tombstone; `None` if it has no target.
    fn tombstone_kind(&self) -> Option<OwnedLinkKind> {
        Some(OwnedLinkKind::Tombstone(Box::new(OwnedTombstone {
            target: self.boxed("target")?,
            target_parent: self.boxed("target_parent"),
        })))
    }

    /// Reads the references of a revision; `None` if it has no target.
    fn revision_kind(&self) -> Option<OwnedLinkKind> {
        let is_of_call = self.string("target_call").is_some();
        let history = self.history("target_history");
        Some(OwnedLinkKind::Revision(Box::new(OwnedRevision {
            target: self.boxed("target")?,
            history: history.filter(|_| !is_of_call),
        })))
    }
}

/// Returns the index of a field in [`FIELD_NAMES`]; `None` if envelopes do not have it.
fn field_index(name: &str) -> Option<usize> {
    FIELD_NAMES.iter().position(|known| *known == name)
}

/// Fills an envelope field by field, so that the first fields are there even if the record breaks off.
struct EnvelopeVisitor<'e, 'a>(&'e mut Envelope<'a>);

impl<'de> Visitor<'de> for EnvelopeVisitor<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        while let Some(index) = access.next_key_seed(FieldIndex)? {
            // Raw text is the cheapest way to read a value, even one that is not needed.
            let value = access.next_value::<&RawValue>()?;
            if let Some(index) = index {
                self.0.fields[index] = Some(value);
            }
        }
        Ok(())
    }
}

/// Reads a key, which may be any JSON string, as its index in [`FIELD_NAMES`].
struct FieldIndex;

impl<'de> DeserializeSeed<'de> for FieldIndex {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        let raw = <&RawValue as serde::Deserialize>::deserialize(deserializer)?.get();
        let inside = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        if inside.contains('\\') {
            let decoded: Option<String> = serde_json::from_str(raw).ok();
            return Ok(decoded.and_then(|key| field_index(&key)));
        }
        Ok(field_index(inside))
    }
}

/// Reads the message of a line with its links, but without its content. `None` for a line that must be read in full:
/// one that is damaged, a revision, and a message that would mean something else without its content.
///
/// ```
/// use analects_core::Link;
/// use analects_formats::transcript::{read_line, read_links};
///
/// let line = br#"{"v":1,"type":"user","id":"b","parent_id":"a","content":"Hello"}"#;
/// let links = read_links(line).unwrap();
/// assert_eq!(Link::of(&links), Link::of(&read_line(line).messages[0]));
/// assert_eq!(links.text(), "");
/// ```
pub fn read_links(line: &[u8]) -> Option<Message> {
    let envelope = Envelope::read(simdutf8::basic::from_utf8(line).ok()?)?;
    if envelope.needs_body() || envelope.type_name() == "revision" {
        return None;
    }
    let owned = envelope.link();
    let link = owned.link();
    let mut message = linked_message(&envelope, &link, body_without_content(&link.kind)?);
    if link.is_excluded {
        message.history = History::Exclude;
    }
    Some(message)
}

/// Builds a body with references, but without content. `None` for a revision, which is nothing but content.
fn body_without_content(kind: &LinkKind<'_>) -> Option<Body> {
    Some(match *kind {
        LinkKind::Speech => Body::User(User::default()),
        LinkKind::Summary => Body::Summary(Summary::default()),
        LinkKind::Boundary {
            summary,
            kept_from,
            is_separator,
        } => Body::CompactBoundary(CompactBoundary {
            trigger: is_separator.then_some(CompactTrigger::Separator),
            summary_id: summary.map(MessageId::from),
            kept_from: kept_from.map(MessageId::from),
            ..CompactBoundary::default()
        }),
        LinkKind::Tombstone {
            target,
            target_parent,
        } => Body::Tombstone(Tombstone {
            target: target.into(),
            target_parent: target_parent.map(MessageId::from),
        }),
        LinkKind::State => empty_state(),
        LinkKind::Progress => Body::Progress(Progress::default()),
        LinkKind::Unknown => Body::Other(Other::default()),
        LinkKind::Revision { .. } => return None,
    })
}

/// Builds a body that says nothing, for messages that only keep their place.
fn empty_state() -> Body {
    Body::State(StateChange {
        changes: Raw::empty_object(),
        is_snapshot: false,
    })
}

/// Builds a message with the ids of an envelope.
fn linked_message(envelope: &Envelope<'_>, link: &Link<'_>, body: Body) -> Message {
    let session = envelope.string("session_id").unwrap_or_default();
    Message {
        parent_id: link.parent.map(MessageId::from),
        session_id: session.into_owned().into(),
        agent_id: link.agent.map(str::to_string),
        ..Message::new(link.id, body)
    }
}

/// Builds a placeholder for a record that is too long to be read, from its beginning: an empty message with its id and
/// parent. The extra field `left_out` notes its type and its length in bytes. `None` if the beginning has no id.
///
/// ```
/// use analects_formats::transcript::placeholder;
///
/// let beginning = br#"{"v":1,"type":"user","id":"b","parent_id":"a","content":"And so"#;
/// let message = placeholder(beginning, 100_000_000).unwrap();
/// assert_eq!((&*message.id, message.parent_id.as_deref()), ("b", Some("a")));
/// assert_eq!(message.extra.get("left_out").unwrap().as_str(), r#"{"type":"user","bytes":100000000}"#);
/// ```
pub fn placeholder(beginning: &[u8], length: u64) -> Option<Message> {
    let envelope = Envelope::read_beginning(beginning);
    let owned = envelope.link_without_content()?;
    let mut message = linked_message(&envelope, &owned.link(), empty_state());
    let created_at = envelope.string("created_at");
    message.created_at = created_at.and_then(|time| time.parse().ok());
    let type_name = Raw::string(&envelope.type_name());
    let note = format!("{{\"type\":{type_name},\"bytes\":{length}}}");
    if let Ok(note) = Raw::parse(&note) {
        message.extra.push("left_out", note);
    }
    Some(message)
}
