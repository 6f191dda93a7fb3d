//! What a conversation itself records about files: attachments say which file was shown, and what it was like;
//! reminders say of what the model was told.

use analects_core::{Attachment, AttachmentKind, Body, Message, Raw, RawMap};

use super::{FileFacts, FileFreshness, Stale};

/// What an attachment says about the file in it.
pub(crate) fn seen(path: &str, facts: Option<&FileFacts>, grant: Option<&str>) -> Raw {
    let mut data = RawMap::new();
    data.push("path", Raw::string(path));
    if let Some(facts) = facts.and_then(to_raw) {
        data.push("facts", facts);
    }
    if let Some(grant) = grant {
        data.push("grant", Raw::string(grant));
    }
    data.to_raw()
}

fn to_raw(facts: &FileFacts) -> Option<Raw> {
    serde_json::to_string(facts).ok().and_then(|json| Raw::parse(&json).ok())
}

impl Stale {
    /// What a reminder of this says beside its text, so that nobody is reminded twice.
    pub fn data(&self) -> Raw {
        seen(&self.path, self.now.as_ref(), None)
    }
}

impl FileFreshness {
    /// What the messages that a model sees record about files. What is not sent, it has not seen.
    pub fn recorded<'a>(messages: impl IntoIterator<Item = &'a Message>) -> FileFreshness {
        let mut files = FileFreshness::default();
        for message in messages.into_iter().filter(|message| message.why_not_sent().is_none()) {
            let Body::Attachment(Attachment { kind, data: Some(data), .. }) = &message.body else {
                continue;
            };
            let Some(data) = data.as_object() else { continue };
            let Some(path) = data.get("path").and_then(Raw::as_string) else { continue };
            let facts: Option<FileFacts> = data.get("facts").and_then(Raw::to);
            match (kind, facts) {
                (AttachmentKind::File, Some(facts)) => {
                    files.read(&path, facts, message.created_at.unwrap_or_default());
                    let grant = data.get("grant").and_then(Raw::as_string);
                    if let (Some(known), Some(grant)) = (files.files.get_mut(&path), grant) {
                        known.grant = Some(grant);
                    }
                }
                (AttachmentKind::Reminder, facts) => files.reminded(&path, facts),
                _ => {}
            }
        }
        files
    }
}
