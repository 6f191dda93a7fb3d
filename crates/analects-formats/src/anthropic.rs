//! Conversations as the Messages API takes them: a request with its `system` prompt and its `messages`.
//!
//! What a request asks for beside them, such as `model` and `tools`, is a change of state before the first
//! message. System prompts that stand elsewhere have no place in this API and become messages of the user.

use analects_core::{Assistant, Block, Body, Content, Json, Message, Raw, RawMap, System, User};

use crate::chatmd::session_json::FieldReader;
use crate::convert::{
    BufferedWriter, Confidence, FileHead, FirstPass, Format, FormatReader, FormatWriter,
    ReadOptions, RevisionPass, WriteOptions,
};
use crate::requests::{RequestApi, RequestReader, RequestWriter, implied_stop, scan_roles};

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
        let found = scan_roles(head);
        if !found.is_for(&["user", "assistant", "system"]) || found.is_lines() {
            return Confidence::No;
        }
        let blocks = [
            "tool_use",
            "tool_result",
            "thinking",
            "redacted_thinking",
            "image",
            "document",
        ];
        let has_blocks = blocks.iter().any(|kind| head.has("type", kind));
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

    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        self.first_pass(options).map(BufferedWriter::boxed)
    }

    fn first_pass(&self, options: &WriteOptions) -> Option<Box<dyn FirstPass>> {
        Some(RevisionPass::boxed(RequestWriter::<MessagesApi>::new(
            &options.name,
        )))
    }
}

/// How this API says messages.
struct MessagesApi;

impl RequestApi for MessagesApi {
    const ID: &'static str = "anthropic";

    fn read(fields: &mut FieldReader) -> Option<Message> {
        let role = fields.take("role", Raw::as_string)?;
        let content = fields.take("content", content).unwrap_or_default();
        let body = match role.as_str() {
            "user" => Body::User(User {
                content,
                ..User::default()
            }),
            "assistant" => {
                let stop_reason = implied_stop(has_calls(&content));
                Body::Assistant(Assistant {
                    content,
                    stop_reason,
                })
            }
            "system" => {
                // It has no place there, so that it must be said that it had.
                fields.put("role", Raw::string(&role));
                Body::System(System { content })
            }
            _ => return None,
        };
        Some(Message::new("", body))
    }

    fn write(message: &Message) -> Vec<RawMap> {
        let one = |role: &str, content: &Content| vec![said(message, role, content)];
        let block = |block: Block| Content::Blocks(vec![block]);
        match &message.body {
            Body::System(body) => one("user", &body.content),
            Body::User(body) => one("user", &body.content),
            Body::Assistant(body) => one("assistant", &body.content),
            Body::ToolUse(call) => one("assistant", &block(Block::ToolUse(call.clone()))),
            Body::ToolResult(result) => one("user", &block(Block::ToolResult(result.clone()))),
            Body::Summary(body) => one("user", &Content::Text(body.text.clone())),
            Body::Attachment(body) if !body.content.is_empty() => one("user", &body.content),
            Body::Notification(body) if !body.content.is_empty() => one("user", &body.content),
            Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => Vec::new(),
        }
    }

    fn read_top(fields: &mut FieldReader) -> Option<Message> {
        let content = fields.take("system", content)?;
        Some(Message::new("", Body::System(System { content })))
    }

    fn write_top(message: &Message) -> Option<(&'static str, Raw)> {
        let Body::System(body) = &message.body else {
            return None;
        };
        let is_marked = message.extra.get(Self::ID).is_some();
        let is_there = !is_marked && body.content != Content::Empty;
        is_there
            .then(|| Raw::parse(&body.content.to_json()).ok())
            .flatten()
            .map(|raw| ("system", raw))
    }
}

fn content(raw: &Raw) -> Option<Content> {
    Content::read(raw, &mut Vec::new())
        .ok()
        .filter(|content| *content != Content::Empty)
}

fn has_calls(content: &Content) -> bool {
    let is_call = |block: &Block| matches!(block, Block::ToolUse(_));
    matches!(content, Content::Blocks(blocks) if blocks.iter().any(is_call))
}

fn said(message: &Message, role: &str, content: &Content) -> RawMap {
    let mut fields = RawMap::new();
    let own = message.extra.get(MessagesApi::ID).and_then(Raw::as_object);
    if own.is_none_or(|own| own.get("role").is_none()) {
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
