//! Converts messages to turns: which messages a model reads, and in which role. Tool calls and results that are
//! messages of their own become blocks.

use std::borrow::Cow;

use super::Chain;
use crate::{
    AttachmentKind, Block, Body, Content, History, Message, Raw, Role, Sendable, Turn, sendable,
};

/// Returns whether models read attachments of this kind.
fn is_for_models(kind: &AttachmentKind) -> bool {
    use AttachmentKind::{CodeOutput, File, McpContext, Reminder};
    matches!(kind, CodeOutput | File | McpContext | Reminder)
}

/// Returns whether the data of an event marks it as meant for the model.
fn is_marked(data: Option<&Raw>) -> bool {
    let mark = data
        .and_then(Raw::as_object)
        .and_then(|data| data.get("for_model").cloned());
    mark.is_some_and(|mark| mark.as_str() == "true")
}

impl Message {
    /// Returns why a model does not read this message; `None` if it does.
    pub fn why_not_sent(&self) -> Option<&'static str> {
        match self.history {
            History::Exclude => return Some("hidden"),
            History::Summary if self.own_summary().is_none() => {
                return Some("history=summary, and it has no summary yet");
            }
            History::Summary | History::Include => {}
        }
        if !self.is_for_model() {
            Some("not part of what a model reads")
        } else if self.is_api_error_message && !self.is_from_model() {
            Some("reports an error")
        } else if self.has_nothing_to_send() {
            Some("empty")
        } else {
            None
        }
    }

    /// Returns whether a model reads messages of this type.
    fn is_for_model(&self) -> bool {
        match &self.body {
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
        }
    }

    /// Returns whether a model returned this error, rather than a program in its place.
    fn is_from_model(&self) -> bool {
        self.role() == Role::Assistant
            && self.response_id.is_some()
            && self
                .model
                .as_ref()
                .is_some_and(|model| model != Message::SYNTHETIC)
    }

    /// The model name that programs give to answers that they wrote themselves.
    pub const SYNTHETIC: &str = "<synthetic>";

    /// Returns the content that a model reads.
    pub fn content_to_send(&self) -> Content {
        self.content_seen().into_owned()
    }

    /// Like [`Message::content_to_send`], without a copy where possible.
    pub fn content_seen(&self) -> Cow<'_, Content> {
        if self.history == History::Summary {
            return Cow::Owned(self.own_summary().unwrap_or_default().into());
        }
        match &self.body {
            Body::ToolUse(call) => Cow::Owned(vec![Block::ToolUse(call.clone())].into()),
            Body::ToolResult(result) => Cow::Owned(vec![Block::ToolResult(result.clone())].into()),
            Body::Summary(summary) => Cow::Owned(Content::Text(summary.text.clone())),
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
            | Body::Other(_)) => body
                .content()
                .map_or(Cow::Owned(Content::Empty), Cow::Borrowed),
        }
    }

    /// Returns whether [`Message::content_to_send`] is empty, without building it.
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

    /// The summary of this message alone.
    fn own_summary(&self) -> Option<String> {
        self.extra.get("summary").and_then(Raw::as_string)
    }
}

impl Chain<'_> {
    /// Returns one turn for each message that a model reads.
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

    /// Returns the turns in a form that every provider accepts: see [`sendable()`].
    pub fn sendable(&self) -> Sendable {
        sendable(self.turns())
    }
}
