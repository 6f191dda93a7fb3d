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

use std::borrow::Cow;

use analects_core::{Assistant, Block, Body, Content, Json, Message, Raw, RawMap, System, User};

use crate::chatmd::session_json::FieldReader;
use crate::convert::{
    BufferedWriter, Confidence, FileHead, FirstPass, Format, FormatReader, FormatWriter,
    ReadOptions, RevisionPass, WriteOptions,
};
use crate::repair::{LineCheck, RepairCheck};
use crate::requests::{RequestApi, RequestReader, RequestWriter, find_roles, implied_stop_reason};

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
        let content = fields.take("content", read_content).unwrap_or_default();
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
        let (role, content) = match &message.body {
            Body::System(body) => ("user", Cow::Borrowed(&body.content)),
            Body::User(body) => ("user", Cow::Borrowed(&body.content)),
            Body::Assistant(body) => ("assistant", Cow::Borrowed(&body.content)),
            Body::ToolUse(call) => ("assistant", block_content(Block::ToolUse(call.clone()))),
            Body::ToolResult(result) => ("user", block_content(Block::ToolResult(result.clone()))),
            Body::Summary(body) => ("user", Cow::Owned(Content::Text(body.text.clone()))),
            Body::Attachment(body) if !body.content.is_empty() => {
                ("user", Cow::Borrowed(&body.content))
            }
            Body::Notification(body) if !body.content.is_empty() => {
                ("user", Cow::Borrowed(&body.content))
            }
            Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => return Vec::new(),
        };
        vec![write_message(message, role, &content)]
    }

    fn read_system(fields: &mut FieldReader) -> Option<Message> {
        let content = fields.take("system", read_content)?;
        Some(Message::new("", Body::System(System { content })))
    }

    fn write_system(message: &Message) -> Option<(&'static str, Raw)> {
        let Body::System(body) = &message.body else {
            return None;
        };
        // A message with extra fields came from the list of messages, and goes back there.
        let has_extra = message.extra.get(Self::ID).is_some();
        if has_extra || body.content == Content::Empty {
            return None;
        }
        let content = Raw::parse(&body.content.to_json()).ok()?;
        Some(("system", content))
    }
}

/// Returns a content of one block, for messages that hold a call or a result outside of blocks.
fn block_content<'a>(block: Block) -> Cow<'a, Content> {
    Cow::Owned(Content::Blocks(vec![block]))
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

/// Writes a message with a role and a content. A role of its own is added with the other extra fields.
fn write_message(message: &Message, role: &str, content: &Content) -> RawMap {
    let mut fields = RawMap::new();
    let extra = message.extra.get(MessagesApi::ID).and_then(Raw::as_object);
    if extra.is_none_or(|extra| extra.get("role").is_none()) {
        fields.push("role", Raw::string(role));
    }
    if *content != Content::Empty
        && let Ok(content) = Raw::parse(&content.to_json())
    {
        fields.push("content", content);
    }
    fields
}

#[cfg(test)]
mod tests;
