//! The plugin's own JSON: an object with `items`, each a message or a separator. Read and written so that
//! the same values come out; fields that are not known stay where they were.
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

mod read;
mod write;

pub(crate) use read::FieldReader;
pub(super) use write::can_say;

use analects_core::{
    Block, Body, Content, Image, Json, Message, MessageId, Raw, RawMap, SessionId,
};

use super::content::{address, source};
use crate::msgfile::messages::derived_id;

pub use read::{decode, decode_named};
pub use write::encode;

/// The type of a message that stands for an item of a kind that is not known.
const FOREIGN: &str = "chat_session_item";
/// The extra field that says whether a content was a string or parts, where it is not the usual.
const SHAPE: &str = "content_shape";
/// The field for the name of the message that `sysPrompt` stands for.
const SYSTEM_ID: &str = "sysPromptId";
/// The fields of an item that are known.
pub(super) const KNOWN: [&str; 8] = [
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
pub(super) const FIRST: [&str; 3] = ["type", SHAPE, "message"];

/// Whether this marks a message that could be `sysPrompt`, and stands among the items all the same.
pub(super) fn is_marked(message: &Message, value: &Raw) -> bool {
    value.as_str() == "\"message\"" && system_prompt(message).is_some()
}

/// The text of a message that is nothing but the session's system prompt.
fn system_prompt(message: &Message) -> Option<Raw> {
    let Body::System(body) = &message.body else {
        return None;
    };
    let Content::Text(text) = &body.content else {
        return None;
    };
    let is_bare = bare(message) == *message && !text.is_empty();
    is_bare.then(|| Raw::parse(&text.to_json()).ok()).flatten()
}

/// The message with its names and its body alone.
fn bare(message: &Message) -> Message {
    Message {
        session_id: message.session_id.clone(),
        parent_id: message.parent_id.clone(),
        ..Message::new(message.id.clone(), message.body.clone())
    }
}

/// The name of an item that has none of its own.
pub(super) fn item_id(session: &SessionId, ordinal: usize) -> MessageId {
    derived_id(session, &format!("chat-session item {ordinal}"))
}

fn system_id(session: &SessionId) -> MessageId {
    derived_id(session, "chat-session sysPrompt")
}

/// The item that a message of a kind that is not known stands for.
pub(super) fn foreign_item(message: &Message) -> Option<Raw> {
    let Body::Other(other) = &message.body else {
        return None;
    };
    let item = message.unknown.get("item")?;
    let exact = RawMap::from([("item", item.clone())]);
    // Whatever else the message says would have no place.
    let bare = Message {
        unknown: exact,
        ..bare(message)
    };
    let is_item = other.type_name.as_deref() == Some(FOREIGN) && bare == *message;
    (is_item && !read::is_known_item(item)).then(|| item.clone())
}

/// What can be said of a block.
pub(super) fn said(block: &Block) -> Option<Block> {
    write_part(block).map(|part| read_part(&part))
}

/// A part of a content; `None` for a block that has no place there.
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
        // A block of a kind that is known elsewhere would puzzle the plugin.
        Block::Other(raw) if read_part(raw) == *block => Some(raw.clone()),
        Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::Document(_)
        | Block::Other(_) => None,
    }
}

pub(crate) fn read_part(part: &Raw) -> Block {
    if let Some(image) = read_image(part) {
        return Block::Image(image);
    }
    if let Ok(block @ Block::Text(_)) = Block::read(part, &mut Vec::new()) {
        return block;
    }
    Block::Other(part.clone())
}

/// `{"type":"image_url","image_url":{"url":"…"}}`, and nothing beside it that would be lost.
fn read_image(part: &Raw) -> Option<Image> {
    let fields = part.as_object()?;
    let is_image = fields.string("type")? == "image_url";
    let url = fields.get("image_url")?.as_object()?;
    let src = url.string("url")?;
    let mut extra = url.clone();
    extra.remove("url");
    let is_whole = fields.len() == 2 && url.len() == extra.len() + 1;
    (is_image && is_whole).then(|| Image {
        source: source(&src),
        extra,
    })
}
