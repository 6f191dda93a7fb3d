//! Conversations as requests of the Messages API: a `system` prompt and `messages`.
//!
//! The other fields of a request, such as `model` and `tools`, are a change of state before the first message. The API has
//! no place for system prompts after the first message. They are written as messages of the user.
//!
//! ```
//! use analects_formats::convert::{ReadOptions, ReadOutput, format_by_id};
//!
//! let file = br#"{"system":"Be brief.","messages":[{"role":"user","content":"Hello"}]}"#;
//! let mut reader = format_by_id("anthropic").unwrap().reader(&ReadOptions::named("talk.json")).unwrap();
//! let mut read = ReadOutput::default();
//! reader.feed(file, &mut read);
//! reader.finish(&mut read);
//! assert_eq!(read.messages[0].text(), "Be brief.");
//! assert_eq!(read.messages[1].text(), "Hello");
//! ```
//!
//! # Limitations
//!
//! - A request has one branch. Hidden messages, side chains and other branches are left out, and are losses.
//! - Names of speakers have no place in the API.
//! - Ids and times are not written. A reader derives ids from the file's name.

mod encode;
mod turns;

use std::borrow::Cow;

use analects_core::{Assistant, Block, Body, Content, Json, Message, Raw, RawMap, System, User};

use self::encode::Speaker;
use crate::chatmd::session_json::FieldReader;
use crate::convert::{
    BufferedWriter, Confidence, FileHead, FirstPass, Format, FormatReader, FormatWriter,
    ReadOptions, RevisionPass, WriteOptions,
};
use crate::repair::{LineCheck, RepairCheck};
use crate::requests::{
    OrderChange, Piece, PlacedItem, RequestApi, RequestReader, RequestWriter, find_roles,
    implied_stop_reason, take_field_block,
};

/// The types of blocks that show that a file is of this API.
const OWN_BLOCKS: [&str; 6] = [
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "image",
    "document",
];

/// The Messages API.
#[derive(Debug)]
pub struct AnthropicFormat;

impl Format for AnthropicFormat {
    fn id(&self) -> &'static str {
        "anthropic"
    }

    fn about(&self) -> &'static str {
        "Messages API request: JSON with system and messages"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".anthropic.json", ".anthropic.jsonl", ".json"]
    }

    fn recognise(&self, head: &[u8], _: &str) -> Confidence {
        let head = FileHead::new(head);
        let found = find_roles(head);
        if !found.is_for(&["user", "assistant", "system"]) || found.is_lines() {
            return Confidence::No;
        }
        let has_blocks = OWN_BLOCKS.iter().any(|kind| head.has("type", kind));
        let is_ours = has_blocks
            || found.has_system
            || head.has_key("cache_control")
            || head.has_key("input_schema")
            || head.has_value("model", "\"claude");
        if is_ours {
            Confidence::Yes
        } else {
            Confidence::No
        }
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        Some(Box::new(RequestReader::<MessagesApi>::new(&options.name)))
    }

    fn repair(&self, name: &str) -> Option<Box<dyn RepairCheck>> {
        let reader = self.reader(&ReadOptions::named(name))?;
        Some(Box::new(LineCheck::new(reader)))
    }

    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        self.first_pass(options).map(BufferedWriter::boxed)
    }

    fn first_pass(&self, options: &WriteOptions) -> Option<Box<dyn FirstPass>> {
        Some(RevisionPass::boxed(RequestWriter::<MessagesApi>::new(
            &options.name,
        )))
    }
}

/// The messages of the API.
struct MessagesApi;

impl RequestApi for MessagesApi {
    const ID: &'static str = "anthropic";

    fn read(fields: &mut FieldReader) -> Option<Message> {
        let role = fields.take("role", Raw::as_string)?;
        let content = take_content(fields);
        let body = match role.as_str() {
            "user" => Body::User(User {
                content,
                ..User::default()
            }),
            "assistant" => Body::Assistant(Assistant {
                stop_reason: Some(implied_stop_reason(has_calls(&content))),
                content,
            }),
            "system" => {
                // The API has no such role. It stays a field, so that it is written again.
                fields.put("role", Raw::string(&role));
                Body::System(System { content })
            }
            _ => return None,
        };
        Some(Message::new("", body))
    }

    fn write(message: &Message) -> Vec<RawMap> {
        let model = Speaker::Model(message.model.as_deref());
        let (speaker, content) = match &message.body {
            Body::System(body) => (Speaker::User, Cow::Borrowed(&body.content)),
            Body::User(body) => (Speaker::User, Cow::Borrowed(&body.content)),
            Body::Assistant(body) => (model, Cow::Borrowed(&body.content)),
            Body::ToolUse(call) => (model, block_content(Block::ToolUse(call.clone()))),
            Body::ToolResult(result) => {
                let result = Block::ToolResult(result.clone());
                (Speaker::User, block_content(result))
            }
            Body::Summary(body) => (Speaker::User, Cow::Owned(Content::Text(body.text.clone()))),
            Body::Attachment(body) => (Speaker::User, Cow::Borrowed(&body.content)),
            Body::Notification(body) => (Speaker::User, Cow::Borrowed(&body.content)),
            Body::Progress(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => return Vec::new(),
        };
        let fields = write_message(message, speaker, &content);
        fields.into_iter().collect()
    }

    fn pieces(item: RawMap) -> Vec<Piece> {
        turns::pieces(item)
    }

    fn assemble(pieces: Vec<(usize, Piece)>, changes: &mut Vec<OrderChange>) -> Vec<PlacedItem> {
        turns::assemble(pieces, changes)
    }

    fn are_one(left: &RawMap, right: &RawMap) -> bool {
        turns::are_one(left, right)
    }

    fn join(fields: &mut RawMap, more: RawMap) {
        turns::join(fields, more);
    }

    fn fit_call_id(id: &str) -> String {
        turns::fit_call_id(id)
    }

    fn set_call_id(fields: &mut RawMap, position: usize, id: &str) {
        turns::set_call_id(fields, position, id);
    }

    fn set_result_call(fields: &mut RawMap, id: &str) {
        fields.set("tool_use_id", Raw::string(id));
    }

    fn missing_result(id: &str) -> RawMap {
        turns::missing_result(id)
    }

    fn read_system(fields: &mut FieldReader) -> Option<Message> {
        let is_plain = |content: &Content| encode::are_instructions(content);
        let content = fields.take("system", |raw| read_content(raw).filter(is_plain))?;
        Some(Message::new("", Body::System(System { content })))
    }

    fn write_system(message: &Message) -> Option<(&'static str, Raw)> {
        let Body::System(body) = &message.body else {
            return None;
        };
        // A message with extra fields came from the list of messages, and goes back there.
        let has_extra = message.extra.get(Self::ID).is_some();
        if has_extra {
            return None;
        }
        Some(("system", encode::instructions(&body.content)?))
    }
}

/// Returns a content of one block, for messages that hold a call or a result outside of blocks.
fn block_content<'a>(block: Block) -> Cow<'a, Content> {
    Cow::Owned(Content::Blocks(vec![block]))
}

/// Takes the content of a message. Content of an unknown form is a block of its own.
fn take_content(fields: &mut FieldReader) -> Content {
    let content = fields.take("content", read_content);
    content.unwrap_or_else(|| match take_field_block(fields, "content") {
        Some(block) => Content::Blocks(vec![block]),
        None => Content::Empty,
    })
}

/// Reads a content; `None` if it is empty or of an unknown form.
fn read_content(raw: &Raw) -> Option<Content> {
    let content = Content::read(raw, &mut Vec::new()).ok()?;
    (content != Content::Empty).then_some(content)
}

/// Returns whether an answer calls tools, which decides its stop reason.
fn has_calls(content: &Content) -> bool {
    let Content::Blocks(blocks) = content else {
        return false;
    };
    blocks
        .iter()
        .any(|block| matches!(block, Block::ToolUse(_)))
}

/// Writes what a speaker says; `None` if the API accepts nothing of it. A role of its own is added with the other extra
/// fields.
fn write_message(message: &Message, speaker: Speaker<'_>, content: &Content) -> Option<RawMap> {
    let content = encode::content(speaker, content)?;
    let mut fields = RawMap::new();
    let extra = message.extra.get(MessagesApi::ID).and_then(Raw::as_object);
    if extra.is_none_or(|extra| extra.get("role").is_none()) {
        fields.push("role", Raw::string(speaker.role()));
    }
    fields.push("content", content);
    Some(fields)
}

#[cfg(test)]
mod tests;
