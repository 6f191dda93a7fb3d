//! The plugin's own JSON: an object with `items`, each a message or a separator. Writing what was read gives the same
//! values again, and unknown fields keep their places.
//!
//! ```
//! use analects_formats::chatmd::session_json::{decode, encode};
//!
//! let json = br#"{"id":"s1","title":"Talk","sysPrompt":"Be brief.","items":[
//!   {"type":"message","id":"m1","message":{"role":"user","content":"Hello"},"token":3}]}"#;
//! let (session, read) = decode(json);
//! assert_eq!(session.title.as_deref(), Some("Talk"));
//! assert_eq!(read.messages[1].text(), "Hello");
//!
//! let (text, losses) = encode(&read.messages, &session);
//! assert!(losses.is_empty() && text.contains("\"token\":3"));
//! ```
//!
//! # Limitations
//!
//! - Times are kept in milliseconds, and of the token counts only input, output and total.
//! - A compaction with a summary has no place. Only a separator has.
//! - Blocks of other APIs are left out, because the plugin would not understand them.
//! - The system prompt of a session is one text. Other instructions are items.

mod read;
mod write;

pub(crate) use read::{FieldReader, non_empty};
pub(super) use write::keeps_extra;

use analects_core::{
    Block, Body, Content, Image, Json, Message, MessageId, Raw, RawMap, SessionId,
};

use super::content::{address, source};
use crate::msgfile::messages::derived_id;

pub use read::{decode, decode_named};
pub use write::encode;

/// The type of a message that holds an item of an unknown kind.
const FOREIGN_TYPE: &str = "chat_session_item";
/// The extra field that says whether a content is a string or a list of parts, if that is not as usual.
const SHAPE: &str = "content_shape";
/// The field for the id of the message in `sysPrompt`.
const SYSTEM_ID: &str = "sysPromptId";
/// The known fields of an item.
pub(super) const KNOWN_FIELDS: [&str; 8] = [
    "type",
    "id",
    "author",
    "timestamp",
    "usage",
    "hidden",
    "message",
    SHAPE,
];

/// Extra fields that are read before the others, in this order.
pub(super) const FIRST_FIELDS: [&str; 3] = ["type", SHAPE, "message"];

/// Returns whether an extra field `type` marks a message among the items that could also be `sysPrompt`.
pub(super) fn is_marked(message: &Message, value: &Raw) -> bool {
    value.as_str() == "\"message\"" && system_prompt(message).is_some()
}

/// Returns the text of a message that can be `sysPrompt`: instructions without any other fields.
fn system_prompt(message: &Message) -> Option<Raw> {
    let Body::System(body) = &message.body else {
        return None;
    };
    let Content::Text(text) = &body.content else {
        return None;
    };
    if text.is_empty() || bare(message) != *message {
        return None;
    }
    Raw::parse(&text.to_json()).ok()
}

/// Returns the message with nothing but its ids and its body.
fn bare(message: &Message) -> Message {
    Message {
        session_id: message.session_id.clone(),
        parent_id: message.parent_id.clone(),
        ..Message::new(message.id.clone(), message.body.clone())
    }
}

/// Derives the id of an item without one from its position, counted from 1.
pub(super) fn item_id(session: &SessionId, ordinal: usize) -> MessageId {
    derived_id(session, &format!("chat-session item {ordinal}"))
}

/// Derives the id of the message in `sysPrompt`.
fn system_id(session: &SessionId) -> MessageId {
    derived_id(session, "chat-session sysPrompt")
}

/// Returns the item of an unknown kind that a message holds, if the message says nothing else.
pub(super) fn foreign_item(message: &Message) -> Option<Raw> {
    let Body::Other(other) = &message.body else {
        return None;
    };
    let item = message.unknown.get("item")?;
    let exact = Message {
        unknown: RawMap::from([("item", item.clone())]),
        ..bare(message)
    };
    let is_item = other.type_name.as_deref() == Some(FOREIGN_TYPE) && exact == *message;
    (is_item && !read::is_known_item(item)).then(|| item.clone())
}

/// Returns a block as it is read back; `None` if it has no place.
pub(super) fn read_back(block: &Block) -> Option<Block> {
    write_part(block).map(|part| read_part(&part))
}

/// Writes a block as a part of a content; `None` if it has no place there.
pub(crate) fn write_part(block: &Block) -> Option<Raw> {
    match block {
        Block::Text(_) => Raw::parse(&block.to_json()).ok(),
        Block::Image(image) => {
            let mut url = RawMap::from([("url", Raw::string(&address(&image.source)?))]);
            url.extend(image.extra.iter());
            let part = [
                ("type", Raw::string("image_url")),
                ("image_url", url.to_raw()),
            ];
            Some(RawMap::from(part).to_raw())
        }
        // The plugin would not understand blocks of other APIs.
        Block::Other(raw) if read_part(raw) == *block => Some(raw.clone()),
        Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::Document(_)
        | Block::Other(_) => None,
    }
}

/// Reads a part of a content. An unknown part stays JSON.
pub(crate) fn read_part(part: &Raw) -> Block {
    if let Some(image) = read_image(part) {
        return Block::Image(image);
    }
    if let Ok(block @ Block::Text(_)) = Block::read(part, &mut Vec::new()) {
        return block;
    }
    Block::Other(part.clone())
}

/// Reads `{"type":"image_url","image_url":{"url":"…"}}`; `None` if a field beside it would get lost.
fn read_image(part: &Raw) -> Option<Image> {
    let fields = part.as_object()?;
    if fields.string("type")? != "image_url" || fields.len() != 2 {
        return None;
    }
    let url = fields.get("image_url")?.as_object()?;
    let address = url.string("url")?;
    let mut extra = url.clone();
    extra.remove("url");
    // A repeated `url` would get lost.
    (url.len() == extra.len() + 1).then(|| Image {
        source: source(&address),
        extra,
    })
}
