//! What the formats of API requests have in common: a conversation is a list of `messages`, each with a
//! role, in an object with what else was asked for. Files hold one such object, one a line, or a bare list.
//!
//! A message is read, written again and compared, so that every value comes back: fields that nobody knows
//! stay in `extra` under the format's name, and a message that would still come out otherwise is kept beside
//! it, verbatim. Likewise a message is written and read again, and what differs is what is lost.

mod difference;
mod read;
mod skim;
mod write;

use analects_core::{Message, MessageId, Raw, RawMap, SessionId, StateChange, StopReason};

use crate::chatmd::session_json::FieldReader;
use crate::msgfile::messages::derived_id;

#[cfg(test)]
pub(crate) use difference::same;
pub(crate) use read::RequestReader;
pub(crate) use skim::scan_roles;
pub(crate) use write::RequestWriter;

/// One API's way to say messages.
pub(crate) trait RequestApi: 'static {
    /// The format's name, under which stands what only it knows.
    const ID: &'static str;

    /// Takes what is known of a message from its fields; `None` for a role that nobody knows.
    fn read(fields: &mut FieldReader) -> Option<Message>;

    /// The messages of the API that say this one: mostly one. They may leave out what has no place.
    fn write(message: &Message) -> Vec<RawMap>;

    /// Takes a message from the fields of the request itself.
    fn read_top(_: &mut FieldReader) -> Option<Message> {
        None
    }

    /// The field of the request itself that says the first message.
    fn write_top(_: &Message) -> Option<(&'static str, Raw)> {
        None
    }
}

/// The type of a message of a role that nobody knows.
const FOREIGN: &str = "api_message";
/// The field of such a message that holds it.
const ITEM: &str = "message";

/// How a file holds its messages, where it is not the usual way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileShape {
    /// A bare list of messages.
    Array,
    /// A list of conversations.
    List,
    /// One message a line.
    Lines,
}

impl FileShape {
    const ALL: [(FileShape, &'static str); 3] = [
        (FileShape::Array, "array"),
        (FileShape::List, "list"),
        (FileShape::Lines, "lines"),
    ];

    fn word(self) -> &'static str {
        FileShape::ALL
            .iter()
            .find(|(shape, _)| *shape == self)
            .map_or("", |(_, word)| word)
    }

    fn of(word: &str) -> Option<FileShape> {
        FileShape::ALL
            .iter()
            .find(|(_, known)| *known == word)
            .map(|(shape, _)| *shape)
    }
}

/// What a request says beside its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct RequestInfo {
    shape: Option<FileShape>,
    /// The other fields of the object.
    fields: RawMap,
}

impl RequestInfo {
    /// As a change of state, before the first message.
    fn record<W: RequestApi>(&self, session: &SessionId) -> Message {
        let mut facts = RawMap::new();
        if let Some(shape) = self.shape {
            facts.push("shape", Raw::string(shape.word()));
        }
        if !self.fields.is_empty() {
            facts.push("fields", self.fields.to_raw());
        }
        let mut state = RawMap::new();
        state.push(W::ID, facts.to_raw());
        let change = StateChange {
            changes: state.to_raw(),
            is_snapshot: false,
        };
        let id = derived_id(session, &format!("{} request", W::ID));
        Message {
            session_id: session.clone(),
            ..Message::new(id, change.into())
        }
    }

    /// What a message says about a request, if it says nothing else.
    fn of<W: RequestApi>(message: &Message) -> Option<RequestInfo> {
        let analects_core::Body::State(change) = &message.body else {
            return None;
        };
        let facts = change.changes.as_object()?.get(W::ID)?.as_object()?;
        let shape = facts.get("shape").and_then(Raw::as_string);
        let found = RequestInfo {
            shape: shape.and_then(|word| FileShape::of(&word)),
            fields: facts
                .get("fields")
                .and_then(Raw::as_object)
                .unwrap_or_default(),
        };
        (found.record::<W>(&message.session_id) == *message).then_some(found)
    }
}

/// The name of a message, by its place.
fn item_id<W: RequestApi>(session: &SessionId, ordinal: usize) -> MessageId {
    derived_id(session, &format!("{} {ordinal}", W::ID))
}

/// The field of `extra` for a message that cannot be said otherwise.
fn verbatim_key<W: RequestApi>() -> String {
    format!("{}_message", W::ID)
}

/// A list of values as one.
pub(crate) fn array(items: impl IntoIterator<Item = Raw>) -> Raw {
    let items: Vec<String> = items
        .into_iter()
        .map(|item| item.as_str().to_string())
        .collect();
    let json = format!("[{}]", items.join(","));
    Raw::parse(&json).unwrap_or_else(|_| Raw::string(&json))
}

/// How an answer ended, as far as a record without that shows it.
pub(crate) fn implied_stop(has_calls: bool) -> Option<StopReason> {
    Some(if has_calls {
        StopReason::ToolUse
    } else {
        StopReason::EndTurn
    })
}
