//! The head of a record: who it is and whom it refers to, found without reading what it says. For ways
//! through conversations that do not fit into memory. And the messages that are made of heads alone.

use std::borrow::Cow;
use std::fmt;

use analects_core::{
    Body, CompactBoundary, CompactTrigger, History, Link, LinkKind, Message, MessageId, Other,
    Progress, Raw, StateChange, Summary, Tombstone, User,
};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The head of a record. Where a key is repeated, the last one counts.
#[derive(Debug, Clone, Default)]
pub struct Envelope<'a> {
    fields: [Option<&'a RawValue>; NAMES.len()],
}

/// The fields of the head. Their places are those in `Envelope::fields`.
const NAMES: [&str; 24] = [
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

/// The names of a head in memory of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnedLink {
    id: Box<str>,
    parent: Option<Box<str>>,
    agent: Option<Box<str>>,
    is_excluded: bool,
    kind: OwnedLinkKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum OwnedLinkKind {
    #[default]
    Speech,
    Summary,
    Boundary(Box<OwnedBoundary>),
    Tombstone(Box<(Box<str>, Option<Box<str>>)>),
    Revision(Box<(Box<str>, Option<History>)>),
    State,
    Progress,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnedBoundary {
    summary: Option<Box<str>>,
    kept_from: Option<Box<str>>,
    is_separator: bool,
}

impl<'a> Envelope<'a> {
    /// The head of a record; `None` if the text is no JSON object.
    pub fn read(record: &'a str) -> Option<Envelope<'a>> {
        let mut envelope = Envelope::default();
        let mut deserializer = serde_json::Deserializer::from_str(record);
        deserializer
            .deserialize_map(EnvelopeVisitor(&mut envelope))
            .ok()?;
        deserializer.end().ok()?;
        Some(envelope)
    }

    /// The fields with which a record begins, as far as they are complete. For a record that is too long to be
    /// read: whoever wrote it as we do has put its names before what it says.
    pub fn read_beginning(bytes: &'a [u8]) -> Envelope<'a> {
        let valid = match std::str::from_utf8(bytes) {
            Ok(_) => bytes.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = std::str::from_utf8(&bytes[..valid]).unwrap_or_default();
        let mut envelope = Envelope::default();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        // It ends in the middle of a field; those before it count.
        let _ = deserializer.deserialize_map(EnvelopeVisitor(&mut envelope));
        envelope
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        let at = NAMES.iter().position(|known| *known == name)?;
        self.fields[at].map(RawValue::get)
    }

    /// A field of the head that is a string.
    pub fn string(&self, name: &str) -> Option<Cow<'a, str>> {
        let raw = self.raw(name)?;
        let inside = raw.strip_prefix('"')?.strip_suffix('"')?;
        match inside.contains('\\') {
            false => Some(Cow::Borrowed(inside)),
            true => serde_json::from_str(raw).ok().map(Cow::Owned),
        }
    }

    /// A field of the head as JSON.
    pub fn json(&self, name: &str) -> Option<&'a str> {
        self.raw(name)
    }

    /// The kind of message; empty where there is none, and for records of another version.
    pub fn type_name(&self) -> Cow<'a, str> {
        match self.raw("v") {
            None | Some("1") => self.string("type").unwrap_or_default(),
            Some(_) => Cow::Borrowed(""),
        }
    }

    /// Whether the record is one of a few kinds that lack their meaning if a field is missing that the
    /// head does not have.
    pub fn needs_body(&self) -> bool {
        let kind = self.type_name();
        self.raw("parent_id").is_none()
            && matches!(
                &*kind,
                "tool_use" | "tool_result" | "attachment" | "notification"
            )
    }

    /// Its names.
    pub fn link(&self) -> OwnedLink {
        let string = |name| self.string(name).map(|text| Box::from(&*text));
        OwnedLink {
            id: string("id").unwrap_or_default(),
            parent: string("parent_id"),
            agent: string("agent_id"),
            is_excluded: self.history("history") == Some(History::Exclude),
            kind: self.kind(),
        }
    }

    /// The names of a record whose content is left out: it keeps its place in the chain and says nothing there.
    /// `None` if it has no name that anybody could follow.
    pub fn link_without_content(&self) -> Option<OwnedLink> {
        let names = OwnedLink {
            kind: OwnedLinkKind::State,
            ..self.link()
        };
        (!names.id.is_empty()).then_some(names)
    }

    /// A field that says how much of a message the model sees.
    fn history(&self, name: &str) -> Option<History> {
        serde_json::from_str(self.raw(name)?).ok()
    }

    fn kind(&self) -> OwnedLinkKind {
        let string = |name| self.string(name).map(|text| Box::from(&*text));
        let starts = |name, with| self.raw(name).is_some_and(|raw| raw.starts_with(with));
        match &*self.type_name() {
            "system" | "user" | "assistant" => OwnedLinkKind::Speech,
            "tool_use" | "tool_result" | "attachment" | "notification" => OwnedLinkKind::Speech,
            "summary" if starts("text", '"') => OwnedLinkKind::Summary,
            "compact_boundary" => {
                let is_separator = self
                    .string("trigger")
                    .is_some_and(|word| word == "separator");
                let (summary, kept_from) = (string("summary_id"), string("kept_from"));
                OwnedLinkKind::Boundary(Box::new(OwnedBoundary {
                    summary,
                    kept_from,
                    is_separator,
                }))
            }
            "tombstone" => match string("target") {
                Some(target) => {
                    OwnedLinkKind::Tombstone(Box::new((target, string("target_parent"))))
                }
                None => OwnedLinkKind::Unknown,
            },
            "revision" => match string("target") {
                Some(target) => {
                    let is_of_call = self.string("target_call").is_some();
                    let history = self.history("target_history").filter(|_| !is_of_call);
                    OwnedLinkKind::Revision(Box::new((target, history)))
                }
                None => OwnedLinkKind::Unknown,
            },
            "state" if starts("state", '{') => OwnedLinkKind::State,
            "progress" => OwnedLinkKind::Progress,
            _ => OwnedLinkKind::Unknown,
        }
    }
}

impl OwnedLink {
    /// The names of a link, kept.
    pub fn of(link: &Link<'_>) -> OwnedLink {
        let kept = |name: Option<&str>| name.map(Box::from);
        OwnedLink {
            id: link.id.into(),
            parent: kept(link.parent),
            agent: kept(link.agent),
            is_excluded: link.is_excluded,
            kind: match link.kind {
                LinkKind::Speech => OwnedLinkKind::Speech,
                LinkKind::Summary => OwnedLinkKind::Summary,
                LinkKind::Boundary {
                    summary,
                    kept_from,
                    is_separator,
                } => {
                    let (summary, kept_from) = (kept(summary), kept(kept_from));
                    OwnedLinkKind::Boundary(Box::new(OwnedBoundary {
                        summary,
                        kept_from,
                        is_separator,
                    }))
                }
                LinkKind::Tombstone {
                    target,
                    target_parent,
                } => OwnedLinkKind::Tombstone(Box::new((target.into(), kept(target_parent)))),
                LinkKind::Revision { target, history } => {
                    OwnedLinkKind::Revision(Box::new((target.into(), history)))
                }
                LinkKind::State => OwnedLinkKind::State,
                LinkKind::Progress => OwnedLinkKind::Progress,
                LinkKind::Unknown => OwnedLinkKind::Unknown,
            },
        }
    }

    /// The names as the chain takes them.
    pub fn link(&self) -> Link<'_> {
        Link {
            id: &self.id,
            parent: self.parent.as_deref(),
            agent: self.agent.as_deref(),
            is_excluded: self.is_excluded,
            kind: match &self.kind {
                OwnedLinkKind::Speech => LinkKind::Speech,
                OwnedLinkKind::Summary => LinkKind::Summary,
                OwnedLinkKind::Boundary(names) => LinkKind::Boundary {
                    summary: names.summary.as_deref(),
                    kept_from: names.kept_from.as_deref(),
                    is_separator: names.is_separator,
                },
                OwnedLinkKind::Tombstone(names) => LinkKind::Tombstone {
                    target: &names.0,
                    target_parent: names.1.as_deref(),
                },
                OwnedLinkKind::Revision(names) => LinkKind::Revision {
                    target: &names.0,
                    history: names.1,
                },
                OwnedLinkKind::State => LinkKind::State,
                OwnedLinkKind::Progress => LinkKind::Progress,
                OwnedLinkKind::Unknown => LinkKind::Unknown,
            },
        }
    }
}

/// Fills an envelope, field by field, so that what was read is there even if the record breaks off.
struct EnvelopeVisitor<'e, 'a>(&'e mut Envelope<'a>);

impl<'de> Visitor<'de> for EnvelopeVisitor<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        while let Some(place) = access.next_key_seed(FieldIndex)? {
            // Everything is read as raw text, also what is not kept: anything else costs more.
            let value = access.next_value::<&RawValue>()?;
            if let Some(place) = place {
                self.0.fields[place] = Some(value);
            }
        }
        Ok(())
    }
}

/// Finds the place of a key, which may be any JSON string.
struct FieldIndex;

impl<'de> DeserializeSeed<'de> for FieldIndex {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        let raw = <&RawValue as serde::Deserialize>::deserialize(deserializer)?.get();
        let inside = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        if inside.contains('\\') {
            let decoded: Option<String> = serde_json::from_str(raw).ok();
            return Ok(decoded.and_then(|key| NAMES.iter().position(|name| *name == key)));
        }
        Ok(NAMES.iter().position(|name| *name == inside))
    }
}

/// The message of a line with its links and nothing else. `None` for a line that has to be read: one that is damaged, a
/// revision, which says what another message says, and what means something else where its content is missing.
///
/// ```
/// use analects_core::Link;
/// use analects_formats::transcript::{read_line, read_links};
///
/// let line = br#"{"v":1,"type":"user","id":"b","parent_id":"a","content":"Hello"}"#;
/// let (skimmed, read) = (read_links(line).unwrap(), &read_line(line).messages[0]);
/// assert_eq!(Link::of(&skimmed), Link::of(read));
/// assert_eq!(skimmed.text(), "");
/// ```
pub fn read_links(line: &[u8]) -> Option<Message> {
    let head = Envelope::read(simdutf8::basic::from_utf8(line).ok()?)?;
    if head.needs_body() || head.type_name() == "revision" {
        return None;
    }
    let names = head.link();
    let link = names.link();
    let id = |name: Option<&str>| name.map(MessageId::from);
    let body = match link.kind {
        LinkKind::Speech => Body::User(User::default()),
        LinkKind::Summary => Body::Summary(Summary::default()),
        LinkKind::Boundary {
            summary,
            kept_from,
            is_separator,
        } => Body::CompactBoundary(CompactBoundary {
            trigger: is_separator.then_some(CompactTrigger::Separator),
            summary_id: id(summary),
            kept_from: id(kept_from),
            ..CompactBoundary::default()
        }),
        LinkKind::Tombstone {
            target,
            target_parent,
        } => Body::Tombstone(Tombstone {
            target: target.into(),
            target_parent: id(target_parent),
        }),
        LinkKind::State => StateChange {
            changes: Raw::empty_object(),
            is_snapshot: false,
        }
        .into(),
        LinkKind::Progress => Body::Progress(Progress::default()),
        LinkKind::Unknown => Body::Other(Other::default()),
        LinkKind::Revision { .. } => return None,
    };
    Some(Message {
        parent_id: id(link.parent),
        session_id: head
            .string("session_id")
            .unwrap_or_default()
            .into_owned()
            .into(),
        agent_id: link.agent.map(str::to_string),
        history: if link.is_excluded {
            History::Exclude
        } else {
            History::Include
        },
        ..Message::new(link.id, body)
    })
}

/// A record that says nothing and has the name and the parent of one that is too long, of which only the beginning
/// is at hand. What it stands for is noted under `left_out`, with the record's length in bytes. `None` if the
/// beginning has no name.
pub fn placeholder(beginning: &[u8], length: u64) -> Option<Message> {
    let head = Envelope::read_beginning(beginning);
    let names = head.link_without_content()?;
    let link = names.link();
    let change = StateChange {
        changes: Raw::empty_object(),
        is_snapshot: false,
    };
    let mut message = Message::new(link.id, change.into());
    message.parent_id = link.parent.map(Into::into);
    message.agent_id = link.agent.map(str::to_string);
    message.session_id = head
        .string("session_id")
        .unwrap_or_default()
        .into_owned()
        .into();
    message.created_at = head.string("created_at").and_then(|time| time.parse().ok());
    let note = format!(
        "{{\"type\":{},\"bytes\":{length}}}",
        Raw::string(&head.type_name())
    );
    if let Ok(note) = Raw::parse(&note) {
        message.extra.push("left_out", note);
    }
    Some(message)
}
