//! The unit of every record: one message, with the fields that all messages share. Its JSON is a flat object, tagged by
//! `type`. Reading and writing are handwritten, since derived serde code cannot carry raw JSON through a flat object.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use crate::body::take_id;
use crate::json::{ObjectWriter, flag, shared_string, write_object};
use crate::spelling::{COST_USD, CREATED_AT, spell, take_spelled};
use crate::{
    Assistant, AttachmentKind, Body, Content, History, Json, JsonError, Problem, Raw, RawMap, Role,
    TokenUsage, User,
};

/// The version of the JSON shape that this crate writes.
const VERSION: &str = "1";

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord, Deserialize)]
        #[serde(from = "String")]
        // Shared, because the same id occurs in a message, in its children and in every plan.
        pub struct $name(Arc<str>);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl<T: Into<Arc<str>>> From<T> for $name {
            fn from(id: T) -> $name {
                $name(id.into())
            }
        }
    };
}

id_type! {
    /// Identifies a message: a UUID, or whatever id its source used.
    MessageId
}

id_type! {
    /// Identifies a conversation.
    SessionId
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its id; empty only if the source had none.
    pub id: MessageId,
    /// The message that this one follows; `None` for the first.
    pub parent_id: Option<MessageId>,
    /// The conversation that it belongs to.
    pub session_id: SessionId,
    /// When it was created, if known.
    pub created_at: Option<Timestamp>,
    /// The agent whose side chain it belongs to; `None` is the main chain.
    pub agent_id: Option<String>,
    /// The name of its author: an agent or a person.
    pub author: Option<String>,
    /// How much of it the model sees.
    pub history: History,
    /// The model that wrote it.
    pub model: Option<String>,
    /// Token counts. Boxed, because most messages have none.
    pub usage: Option<Box<TokenUsage>>,
    /// Its cost in US dollars; `None` means unknown, not free.
    pub cost_usd: Option<f64>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// The provider's id for the answer.
    pub response_id: Option<String>,
    /// Whether it only reports an error from the provider.
    pub is_api_error_message: bool,
    /// Its type and the fields of that type.
    pub body: Body,
    /// Details from its source that this model has no field for.
    pub extra: RawMap,
    /// Fields of the record that this version does not know, or that have an unexpected type. They are written back in
    /// place.
    pub unknown: RawMap,
    /// How its source spells `created_at` and `cost_usd`, where we would spell them in another way. A spelling counts
    /// only as long as the field has that value.
    pub spellings: RawMap,
}

const FIELD_NAMES: [&str; 16] = [
    "v",
    "type",
    "id",
    "parent_id",
    "session_id",
    "created_at",
    "agent_id",
    "author",
    "history",
    "model",
    "usage",
    "cost_usd",
    "duration_ms",
    "response_id",
    "is_api_error_message",
    "extra",
];

impl Message {
    /// Creates a message with an id and a body, and defaults for everything else.
    pub fn new(id: impl Into<MessageId>, body: Body) -> Message {
        Message {
            id: id.into(),
            parent_id: None,
            session_id: SessionId::default(),
            created_at: None,
            agent_id: None,
            author: None,
            history: History::Include,
            model: None,
            usage: None,
            cost_usd: None,
            duration_ms: None,
            response_id: None,
            is_api_error_message: false,
            body,
            extra: RawMap::new(),
            unknown: RawMap::new(),
            spellings: RawMap::new(),
        }
    }

    /// Returns whether a compaction created this message: it copies an instruction or re-reads a file.
    ///
    /// The answer is meaningful only for a message directly behind `boundary`, or behind others that belong to it. A
    /// compaction creates all its messages with one timestamp, so a message with another timestamp is not part of it.
    pub fn is_part_of_compaction(&self, boundary: &Message) -> bool {
        let can_be_part = match &self.body {
            Body::System(_) => true,
            Body::Attachment(attachment) => attachment.kind == AttachmentKind::File,
            Body::User(_)
            | Body::Assistant(_)
            | Body::ToolUse(_)
            | Body::ToolResult(_)
            | Body::Progress(_)
            | Body::Notification(_)
            | Body::Summary(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => false,
        };
        let times = self.created_at.zip(boundary.created_at);
        can_be_part && times.is_none_or(|(own, of_boundary)| own == of_boundary)
    }

    /// Creates a user message.
    pub fn user(id: impl Into<MessageId>, content: impl Into<Content>) -> Message {
        Message::new(
            id,
            Body::User(User {
                content: content.into(),
                ..User::default()
            }),
        )
    }

    /// Creates an assistant message.
    pub fn assistant(id: impl Into<MessageId>, content: impl Into<Content>) -> Message {
        let body = Assistant {
            content: content.into(),
            ..Assistant::default()
        };
        Message::new(id, Body::Assistant(body))
    }

    /// The role that a model's API gives this message.
    pub fn role(&self) -> Role {
        self.body.role()
    }

    /// The text of its content; of a summary, the summary.
    pub fn text(&self) -> String {
        if let Body::Summary(summary) = &self.body {
            return summary.text.as_str().into_owned();
        }
        self.body.content().map(Content::text).unwrap_or_default()
    }

    fn write_fields(&self, writer: &mut ObjectWriter<'_>) {
        if self.unknown.get("v").is_none() {
            writer.json("v", &Raw::trusted(VERSION.to_string()));
        }
        writer.some_string("type", self.body.type_name());
        writer.some_string("id", &self.id);
        writer.opt_string("parent_id", self.parent_id.as_deref());
        writer.some_string("session_id", &self.session_id);
        if let Some(time) = &self.created_at {
            writer.json(CREATED_AT, &spell(time, CREATED_AT, &self.spellings));
        }
        writer.opt_string("agent_id", self.agent_id.as_deref());
        writer.opt_string("author", self.author.as_deref());
        if self.history != History::Include {
            writer.string("history", self.history.as_str());
        }
        self.body.write_fields(writer);
        writer.opt_string("model", self.model.as_deref());
        writer.opt_json("usage", self.usage.as_deref());
        // JSON has finite numbers only.
        if let Some(cost) = self.cost_usd.filter(|cost| cost.is_finite()) {
            writer.json(COST_USD, &spell(&cost, COST_USD, &self.spellings));
        }
        writer.opt_u64("duration_ms", self.duration_ms);
        writer.opt_string("response_id", self.response_id.as_deref());
        writer.flag("is_api_error_message", self.is_api_error_message);
        if !self.extra.is_empty() {
            writer.json("extra", &self.extra);
        }
    }
}

impl Json for Message {
    fn read(raw: &Raw, problems: &mut Vec<Problem>) -> Result<Message, JsonError> {
        let mut fields = RawMap::parse(raw.as_str())?;
        let is_readable = take_version(&mut fields);
        let type_name = fields.take("type", nonempty_string);
        let mut message = Message::new(
            fields.take("id", nonempty_id).unwrap_or_default(),
            Body::Other(crate::Other {
                type_name: type_name.clone(),
            }),
        );
        if is_readable {
            message.body = Body::read(type_name, &mut fields, problems);
        }
        take_common_fields(&mut message, &mut fields, problems);
        report_problems(&message, problems);
        message.unknown = fields;
        Ok(message)
    }

    fn write(&self, out: &mut String) {
        let names: Vec<&str> = FIELD_NAMES
            .iter()
            .chain(self.body.field_names())
            .copied()
            .collect();
        write_object(out, &names, &self.unknown, |writer| {
            self.write_fields(writer)
        });
    }
}

/// Returns whether this version can read the record. An unknown version stays among the fields. So does a repeated one,
/// as its last occurrence counts.
fn take_version(fields: &mut RawMap) -> bool {
    match fields.get("v").map(Raw::as_str) {
        None => true,
        Some(VERSION) => {
            if fields.count("v") == 1 {
                fields.take("v", |_| Some(()));
            }
            true
        }
        Some(_) => false,
    }
}

fn take_common_fields(message: &mut Message, fields: &mut RawMap, problems: &mut Vec<Problem>) {
    message.parent_id = take_id(fields, "parent_id");
    message.session_id = fields
        .take("session_id", nonempty_id)
        .unwrap_or_default()
        .into();
    message.created_at = take_spelled(fields, CREATED_AT, &mut message.spellings);
    message.agent_id = fields.take("agent_id", Raw::as_string);
    message.author = fields.take("author", Raw::as_string);
    message.history = fields
        .take("history", restricted_history)
        .unwrap_or_default();
    message.model = fields.take("model", Raw::as_string);
    message.usage = fields.take("usage", |raw| {
        TokenUsage::read(raw, problems).ok().map(Box::new)
    });
    message.cost_usd = take_spelled(fields, COST_USD, &mut message.spellings);
    message.duration_ms = fields.take("duration_ms", Raw::to);
    message.response_id = fields.take("response_id", Raw::as_string);
    message.is_api_error_message = fields.take("is_api_error_message", flag).is_some();
    message.extra = fields.take("extra", nonempty_object).unwrap_or_default();
}

// The following readers reject a field's default value, since the writer omits it. A default that a source wrote
// explicitly thus stays among the unknown fields and is written back.

fn nonempty_string(raw: &Raw) -> Option<String> {
    raw.as_string().filter(|text| !text.is_empty())
}

fn nonempty_id(raw: &Raw) -> Option<Arc<str>> {
    shared_string(raw).filter(|id| !id.is_empty())
}

fn restricted_history(raw: &Raw) -> Option<History> {
    raw.to().filter(|history| *history != History::Include)
}

fn nonempty_object(raw: &Raw) -> Option<RawMap> {
    raw.as_object().filter(|map| !map.is_empty())
}

fn report_problems(message: &Message, problems: &mut Vec<Problem>) {
    if message.id.is_empty() {
        problems.push(Problem::warning("missing-id", "a message has no id"));
    }
    if let Body::Other(other) = &message.body {
        let name = other.type_name.as_deref().unwrap_or("none");
        let text = format!("a message is of type {name}, which is not known here; it is kept");
        problems.push(Problem::warning("unknown-type", text));
    }
}

/// Generates identifiers, so that randomness is an argument and tests are repeatable. The store implements it with the
/// operating system's randomness.
pub trait Ids {
    /// Returns a new UUID, hyphenated and in lower case. Implementations for real records use version 7.
    fn uuid(&mut self, now: Timestamp) -> String;

    /// Returns eight lower-case Crockford base32 characters, at least one of them a letter.
    fn nonce(&mut self) -> String;
}

impl<I: Ids + ?Sized> Ids for &mut I {
    fn uuid(&mut self, now: Timestamp) -> String {
        (**self).uuid(now)
    }

    fn nonce(&mut self) -> String {
        (**self).nonce()
    }
}

/// Identifiers that count up from one, for tests and examples. Never use them in a record.
#[derive(Debug, Clone, Default)]
pub struct CountingIds {
    last: u64,
}

impl CountingIds {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

impl Ids for CountingIds {
    fn uuid(&mut self, _: Timestamp) -> String {
        format!("00000000-0000-7000-8000-{:012x}", self.next())
    }

    fn nonce(&mut self) -> String {
        format!("n{:07}", self.next())
    }
}
