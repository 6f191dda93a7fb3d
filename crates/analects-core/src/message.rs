//! The unit of every record: one message, with what all messages share. Its JSON is flat, tagged by
//! `type`, and written by hand, since derived serde code cannot carry raw JSON through a flat object.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use crate::body::take_id;
use crate::json::{ObjectWriter, flag, number, shared_string, write_object};
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
        // Shared: the same name stands in a message, in those that follow it, and in every plan.
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
    /// Names a message: a UUID, or whatever its source called it.
    MessageId
}

id_type! {
    /// Names a conversation.
    SessionId
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its name; empty only where a source gave none.
    pub id: MessageId,
    /// The message that it follows; `None` for the first.
    pub parent_id: Option<MessageId>,
    /// The conversation that it belongs to.
    pub session_id: SessionId,
    /// When it was made, where that is known.
    pub created_at: Option<Timestamp>,
    /// The side chain that it belongs to; `None` is the main chain.
    pub agent_id: Option<String>,
    /// Who wrote it, by name: an agent, or a person.
    pub author: Option<String>,
    /// How much of it the model sees.
    pub history: History,
    /// The model that wrote it.
    pub model: Option<String>,
    /// Tokens that it took. Many messages say nothing of it, so it takes room only where it is said.
    pub usage: Option<Box<TokenUsage>>,
    /// What it cost; `None` is unknown, not free.
    pub cost_usd: Option<f64>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// The provider's name for the answer.
    pub response_id: Option<String>,
    /// Whether it only reports an error of the model's side.
    pub is_api_error_message: bool,
    /// What it is and says.
    pub body: Body,
    /// What its source said and this model does not name.
    pub extra: RawMap,
    /// Fields of the record itself that this version does not know, or could not read as the type
    /// that it expects; written back where they stood.
    pub unknown: RawMap,
}

const NAMES: [&str; 16] = [
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
    /// A message with nothing but a name and a body.
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
        }
    }

    /// Whether a message that stands directly behind the boundary of a compaction, or behind others of which that is
    /// true, was made with it: the copy of an instruction, or a file that was read again. A compaction is made in
    /// one moment, so what is known to be of another one is somebody's own.
    pub fn came_with(&self, boundary: &Message) -> bool {
        let is_kind = match &self.body {
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
        is_kind && times.is_none_or(|(own, of_boundary)| own == of_boundary)
    }

    /// Something that a person said.
    pub fn user(id: impl Into<MessageId>, content: impl Into<Content>) -> Message {
        Message::new(
            id,
            Body::User(User {
                content: content.into(),
                ..User::default()
            }),
        )
    }

    /// Something that a model said.
    pub fn assistant(id: impl Into<MessageId>, content: impl Into<Content>) -> Message {
        let body = Assistant {
            content: content.into(),
            ..Assistant::default()
        };
        Message::new(id, Body::Assistant(body))
    }

    /// Who speaks, as the model's API sees it.
    pub fn role(&self) -> Role {
        self.body.role()
    }

    /// The text of its content; for a summary, the summary.
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
        let created_at = self.created_at.map(|time| time.to_string());
        writer.opt_string("created_at", created_at.as_deref());
        writer.opt_string("agent_id", self.agent_id.as_deref());
        writer.opt_string("author", self.author.as_deref());
        if self.history != History::Include {
            writer.string("history", self.history.as_str());
        }
        self.body.write_fields(writer);
        writer.opt_string("model", self.model.as_deref());
        writer.opt_json("usage", self.usage.as_deref());
        writer.opt_f64("cost_usd", self.cost_usd);
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
        let readable = take_version(&mut fields);
        let type_name = fields.take("type", name);
        let mut message = Message::new(
            fields.take("id", id).unwrap_or_default(),
            Body::Other(crate::Other {
                type_name: type_name.clone(),
            }),
        );
        if readable {
            message.body = Body::read(type_name, &mut fields, problems);
        }
        take_shared(&mut message, &mut fields, problems);
        report(&message, problems);
        message.unknown = fields;
        Ok(message)
    }

    fn write(&self, out: &mut String) {
        let names: Vec<&str> = NAMES
            .iter()
            .chain(self.body.field_names())
            .copied()
            .collect();
        write_object(out, &names, &self.unknown, |writer| {
            self.write_fields(writer)
        });
    }
}

/// Whether the record is of a version that can be read. A foreign version stays where it is, and so
/// does a repeated one, of which the last counts.
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

fn take_shared(message: &mut Message, fields: &mut RawMap, problems: &mut Vec<Problem>) {
    message.parent_id = take_id(fields, "parent_id");
    message.session_id = fields.take("session_id", id).unwrap_or_default().into();
    message.created_at = fields.take("created_at", |raw| raw.as_string()?.parse().ok());
    message.agent_id = fields.take("agent_id", Raw::as_string);
    message.author = fields.take("author", Raw::as_string);
    message.history = fields.take("history", history).unwrap_or_default();
    message.model = fields.take("model", Raw::as_string);
    message.usage = fields.take("usage", |raw| {
        TokenUsage::read(raw, problems).ok().map(Box::new)
    });
    message.cost_usd = fields.take("cost_usd", number);
    message.duration_ms = fields.take("duration_ms", Raw::to);
    message.response_id = fields.take("response_id", Raw::as_string);
    message.is_api_error_message = fields.take("is_api_error_message", flag).is_some();
    message.extra = fields.take("extra", entries).unwrap_or_default();
}

// Fields that are left out when they have their ordinary value. If a source wrote that value all the
// same, it is not taken but stays among the unknown fields, so that it is written back.

fn name(raw: &Raw) -> Option<String> {
    raw.as_string().filter(|name| !name.is_empty())
}

fn id(raw: &Raw) -> Option<Arc<str>> {
    shared_string(raw).filter(|id| !id.is_empty())
}

fn history(raw: &Raw) -> Option<History> {
    raw.to().filter(|history| *history != History::Include)
}

fn entries(raw: &Raw) -> Option<RawMap> {
    raw.as_object().filter(|map| !map.is_empty())
}

fn report(message: &Message, problems: &mut Vec<Problem>) {
    if message.id.is_empty() {
        problems.push(Problem::warning("missing-id", "a message has no id"));
    }
    if let Body::Other(other) = &message.body {
        let name = other.type_name.as_deref().unwrap_or("none");
        let text = format!("a message is of type {name}, which is not known here; it is kept");
        problems.push(Problem::warning("unknown-type", text));
    }
}

/// Gives out identifiers, so that randomness is an argument and every test is repeatable. The store has the one that asks the operating system.
pub trait Ids {
    /// A new UUID (version 7 in earnest), hyphenated, lower case.
    fn uuid(&mut self, now: Timestamp) -> String;

    /// Eight lower-case Crockford base32 characters, at least one of them a letter.
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

/// Identifiers that count up from one: for tests and examples, never for a record.
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
