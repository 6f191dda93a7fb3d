//! Messages as turns: which of them a model reads, and as what. Tool calls and results that are messages
//! of their own become blocks.

use std::borrow::Cow;

use super::Chain;
use crate::{
    AttachmentKind, Block, Body, Content, History, Message, Raw, Role, Sendable, Turn, sendable,
};

/// Whether attachments of a kind are there for models to read.
fn is_for_models(kind: &AttachmentKind) -> bool {
    use AttachmentKind::{CodeOutput, File, McpContext, Reminder};
    matches!(kind, CodeOutput | File | McpContext | Reminder)
}

/// Whether an event says itself that a model is to read it.
fn is_marked(data: Option<&Raw>) -> bool {
    let mark = data
        .and_then(Raw::as_object)
        .and_then(|data| data.get("for_model").cloned());
    mark.is_some_and(|mark| mark.as_str() == "true")
}

impl Message {
    /// Why a model does not read this message; `None` if it does.
    pub fn why_not_sent(&self) -> Option<&'static str> {
        let speaks = match &self.body {
            Body::System(_) | Body::User(_) | Body::Assistant(_) => true,
            Body::ToolUse(_) | Body::ToolResult(_) | Body::Summary(_) => true,
            Body::Attachment(attachment) => {
                is_for_models(&attachment.kind) || is_marked(attachment.data.as_ref())
            }
            Body::Notification(notification) => is_marked(notification.data.as_ref()),
            Body::Progress(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => false,
        };
        match self.history {
            History::Exclude => return Some("hidden"),
            History::Summary if self.own_summary().is_none() => {
                return Some("history=summary, and it has no summary yet");
            }
            History::Summary | History::Include => {}
        }
        if !speaks {
            Some("not part of what a model reads")
        } else if self.is_api_error_message && !self.is_from_model() {
            Some("reports an error")
        } else if self.has_nothing_to_send() {
            Some("empty")
        } else {
            None
        }
    }

    /// Whether an error is what a model returned, and not what a program wrote in its place.
    fn is_from_model(&self) -> bool {
        self.role() == Role::Assistant
            && self.response_id.is_some()
            && self
                .model
                .as_ref()
                .is_some_and(|model| model != Message::SYNTHETIC)
    }

    /// What programs name as the model of an answer that they gave themselves.
    pub const SYNTHETIC: &str = "<synthetic>";

    /// What a model reads of this message.
    pub fn content_to_send(&self) -> Content {
        self.content_seen().into_owned()
    }

    /// The same for those who only look at it.
    pub fn content_seen(&self) -> Cow<'_, Content> {
        if self.history == History::Summary {
            return Cow::Owned(self.own_summary().unwrap_or_default().into());
        }
        Cow::Owned(match &self.body {
            Body::ToolUse(call) => Content::Blocks(vec![Block::ToolUse(call.clone())]),
            Body::ToolResult(result) => Content::Blocks(vec![Block::ToolResult(result.clone())]),
            Body::Summary(summary) => Content::Text(summary.text.clone()),
            body @ (Body::System(_)
            | Body::User(_)
            | Body::Assistant(_)
            | Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_)) => match body.content() {
                Some(content) => return Cow::Borrowed(content),
                None => Content::Empty,
            },
        })
    }

    /// Whether [`Message::content_to_send`] is empty, without making it.
    fn has_nothing_to_send(&self) -> bool {
        if self.history == History::Summary {
            return self.own_summary().is_none_or(|summary| summary.is_empty());
        }
        match &self.body {
            Body::ToolUse(_) | Body::ToolResult(_) => false,
            Body::Summary(summary) => summary.text.is_empty(),
            body @ (Body::System(_)
            | Body::User(_)
            | Body::Assistant(_)
            | Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_)) => body.content().is_none_or(Content::is_empty),
        }
    }

    /// The summary that stands for this message.
    fn own_summary(&self) -> Option<String> {
        self.extra.get("summary").and_then(Raw::as_string)
    }
}

impl Chain<'_> {
    /// What is said in the chain, a turn for each message that a model reads.
    pub fn turns(&self) -> Vec<Turn> {
        let sent = self
            .messages
            .iter()
            .filter(|message| message.why_not_sent().is_none());
        sent.map(|message| Turn {
            role: message.role(),
            content: message.content_to_send(),
            model: message.model.clone(),
        })
        .collect()
    }

    /// A view of the chain that every provider accepts, whatever is in it: see [`sendable()`].
    pub fn sendable(&self) -> Sendable {
        sendable(self.turns())
    }
}
