//! What the formats of API requests share: a conversation is a list of `messages` with a role each, in an object with
//! the other fields of the request. A file holds one such object, one per line, or a bare list of messages.
//!
//! Every value survives: a message is read, written again and compared. Unknown fields stay in `extra` under the format's
//! id, and a message that would not come out the same is also kept verbatim. In the other direction, a message is written
//! and read again, and the differences are its losses.
//!
//! | a file with | is read as | and written again as |
//! |---|---|---|
//! | one object | one conversation | one object |
//! | an object per line | a conversation per line | an object per line |
//! | a list of objects | a conversation each | a list, if all conversations came from one |
//! | a list of messages | one conversation | a list of messages, if the request has no other fields |
//! | a message per line | one conversation | a message per line, if the request has no other fields |
//!
//! # Limitations
//!
//! - A request is one branch: the one that leads to the last message.
//! - The whole conversation is kept in memory until the end, because a later message can hide an earlier one.
//! - Values that are nested more than twelve levels deep are compared as texts.

mod order;
mod read;
mod roles;
mod same;
mod write;

use analects_core::{
    Block, Body, Message, MessageId, Raw, RawMap, SessionId, StateChange, StopReason,
};

use crate::chatmd::session_json::FieldReader;
use crate::msgfile::messages::derived_id;

pub(crate) use order::{NO_RESULT, OrderChange, Piece, PlacedItem, parts_of};
pub(crate) use read::RequestReader;
pub(crate) use roles::find_roles;
#[cfg(test)]
pub(crate) use same::same;
pub(crate) use write::RequestWriter;

/// The messages of one API.
pub(crate) trait RequestApi: 'static {
    /// The format's id. Fields that only this API knows are under it in `extra`.
    const ID: &'static str;

    /// Reads a message and takes the fields that it understands; `None` for an unknown role.
    fn read(fields: &mut FieldReader) -> Option<Message>;

    /// Writes a message as messages of the API, usually one. Leaves out what the API cannot represent or would refuse.
    fn write(message: &Message) -> Vec<RawMap>;

    /// Takes a message of the API apart into what is said in it and the results of calls.
    fn pieces(item: RawMap) -> Vec<Piece>;

    /// Puts pieces together as messages of the API. Each call is followed by its result.
    fn assemble(pieces: Vec<(usize, Piece)>, changes: &mut Vec<OrderChange>) -> Vec<PlacedItem>;

    /// Returns whether two pieces that follow one another belong into one message.
    fn are_one(_: &RawMap, _: &RawMap) -> bool {
        false
    }

    /// Adds what is said in `more` to a message.
    fn join(_: &mut RawMap, _more: RawMap) {}

    /// Returns the nearest id of a call that the API accepts.
    fn fit_call_id(id: &str) -> String;

    /// Replaces the id of the call at a position in a message.
    fn set_call_id(fields: &mut RawMap, position: usize, id: &str);

    /// Replaces the id of the call that a result belongs to.
    fn set_result_call(fields: &mut RawMap, id: &str);

    /// Returns the result of a call that has none.
    fn missing_result(id: &str) -> RawMap;

    /// Takes the system prompt from the fields of the request.
    fn read_system(_: &mut FieldReader) -> Option<Message> {
        None
    }

    /// Writes the first message as a field of the request: its name and its value.
    fn write_system(_: &Message) -> Option<(&'static str, Raw)> {
        None
    }
}

/// The type of a message with an unknown role.
const FOREIGN_TYPE: &str = "api_message";
/// The field of such a message that holds the API's message.
const FOREIGN_FIELD: &str = "message";

/// How a file holds its messages, if not as one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileShape {
    /// A bare list of messages.
    Array,
    /// A list of requests.
    List,
    /// One message per line.
    Lines,
}

impl FileShape {
    /// All shapes, to find one by its name.
    const ALL: [FileShape; 3] = [FileShape::Array, FileShape::List, FileShape::Lines];

    /// Returns the name of the shape in a change of state.
    fn name(self) -> &'static str {
        match self {
            FileShape::Array => "array",
            FileShape::List => "list",
            FileShape::Lines => "lines",
        }
    }

    /// Returns the shape of this name; `None` if it is unknown.
    fn from_name(name: &str) -> Option<FileShape> {
        FileShape::ALL
            .into_iter()
            .find(|shape| shape.name() == name)
    }
}

/// What a request says apart from its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct RequestInfo {
    /// The shape of the file, if it matters.
    shape: Option<FileShape>,
    /// The other fields of the object, such as `model`.
    fields: RawMap,
}

impl RequestInfo {
    /// Creates the information of a request without other fields.
    fn with_shape(shape: FileShape) -> RequestInfo {
        RequestInfo {
            shape: Some(shape),
            fields: RawMap::new(),
        }
    }

    /// Returns it as a change of state, which comes before the first message.
    fn to_message<A: RequestApi>(&self, session: &SessionId) -> Message {
        let mut info = RawMap::new();
        if let Some(shape) = self.shape {
            info.push("shape", Raw::string(shape.name()));
        }
        if !self.fields.is_empty() {
            info.push("fields", self.fields.to_raw());
        }
        let changes = RawMap::from([(A::ID, info.to_raw())]);
        let body = Body::State(StateChange {
            changes: changes.to_raw(),
            is_snapshot: false,
        });
        let id = derived_id(session, &format!("{} request", A::ID));
        Message {
            session_id: session.clone(),
            ..Message::new(id, body)
        }
    }

    /// Reads what [`to_message`](RequestInfo::to_message) returns; `None` for any other message.
    fn from_message<A: RequestApi>(message: &Message) -> Option<RequestInfo> {
        let Body::State(change) = &message.body else {
            return None;
        };
        let state = change.changes.as_object()?.get(A::ID)?.as_object()?;
        let shape = state.get("shape").and_then(Raw::as_string);
        let fields = state.get("fields").and_then(Raw::as_object);
        let info = RequestInfo {
            shape: shape.and_then(|name| FileShape::from_name(&name)),
            fields: fields.unwrap_or_default(),
        };
        let is_exact = info.to_message::<A>(&message.session_id) == *message;
        is_exact.then_some(info)
    }
}

/// Derives the id of a message from its position, counted from 1.
fn message_id<A: RequestApi>(session: &SessionId, ordinal: usize) -> MessageId {
    derived_id(session, &format!("{} {ordinal}", A::ID))
}

/// Returns the field of `extra` that keeps a message verbatim.
fn verbatim_key<A: RequestApi>() -> String {
    format!("{}_message", A::ID)
}

/// Returns the stop reason of an answer in an API whose messages have none.
pub(crate) fn implied_stop_reason(has_calls: bool) -> StopReason {
    if has_calls {
        StopReason::ToolUse
    } else {
        StopReason::EndTurn
    }
}

/// Returns the nearest name of a tool that the APIs accept: letters, digits, `_` and `-`, up to this many.
pub(crate) fn fit_name(name: &str, longest: usize) -> String {
    let name = plain_word(name, longest);
    if name.is_empty() {
        "tool".to_string()
    } else {
        name
    }
}

/// Replaces whatever is no letter, no digit, no `_` and no `-`, and cuts the text to this length.
pub(crate) fn plain_word(text: &str, longest: usize) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "_-".contains(c) {
            c
        } else {
            '_'
        }
    };
    text.chars().map(plain).take(longest).collect()
}

/// Takes a field as a block of its own, so that it stays in sight; `None` if it is missing, `null` or empty.
pub(crate) fn take_field_block(fields: &mut FieldReader, key: &str) -> Option<Block> {
    let value = fields.take(key, |raw| {
        let is_empty = matches!(raw.as_str(), "null" | "[]" | "{}" | "\"\"");
        (!is_empty).then(|| raw.clone())
    })?;
    let block = RawMap::from([("type", Raw::string(key)), (key, value)]);
    Some(Block::Other(block.to_raw()))
}
