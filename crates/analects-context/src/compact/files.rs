//! The files worked on last, which go with a compaction: read again, as attachments.

use analects_core::{Attachment, AttachmentKind, Body, Ids, Message};
use jiff::Timestamp;

use crate::freshness::{self, FileFacts};
use crate::plan::shortened;
use crate::prompt::{defused, escaped, following};
use crate::tokens::Counter;

/// The most files that go with a compaction.
pub(super) const FILES: usize = 5;
const TOKENS_A_FILE: u64 = 10_000;
const TOKENS_IN_ALL: u64 = 50_000;

/// A file as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Where it is.
    pub path: String,
    /// What it holds.
    pub text: String,
    /// What it was like when it was read.
    pub facts: Option<FileFacts>,
    /// The id of the right to read it again.
    pub grant: Option<String>,
}

/// A file as an attachment, whole.
pub fn attach(file: &FileText) -> Message {
    attachment(file, wrapped(file, &file.text))
}

fn attachment(file: &FileText, text: String) -> Message {
    let data = freshness::seen(&file.path, file.facts.as_ref(), file.grant.as_deref());
    let kind = AttachmentKind::File;
    Message::new(
        "",
        Body::Attachment(Attachment {
            kind,
            content: text.into(),
            data: Some(data),
        }),
    )
}

fn wrapped(file: &FileText, text: &str) -> String {
    format!(
        "<file path=\"{}\">\n{}\n</file>",
        escaped(&file.path),
        defused(text)
    )
}

/// Attachments for the first five files, each of at most 10 000 tokens and a fifth of `window`, and of 50 000 and
/// half of it in all. They follow `parent`, which is the boundary, and then each other.
pub fn attachments(
    files: &[FileText],
    window: u64,
    parent: &Message,
    counter: &mut Counter<'_>,
    ids: &mut dyn Ids,
    now: Timestamp,
) -> Vec<Message> {
    let mut left = TOKENS_IN_ALL.min(window / 2);
    let mut made: Vec<Message> = Vec::new();
    for file in files.iter().take(FILES) {
        let room = left.min(TOKENS_A_FILE).min(window / 5);
        let text = fitted(file, room, counter);
        let tokens = counter.text(&text).tokens;
        if tokens > room {
            continue;
        }
        left -= tokens;
        let message = attachment(file, text);
        made.push(following(made.last().unwrap_or(parent), message, ids, now));
    }
    made
}

fn fitted(file: &FileText, room: u64, counter: &mut Counter<'_>) -> String {
    let whole = wrapped(file, &file.text);
    let tokens = counter.text(&whole).tokens;
    if tokens <= room {
        return whole;
    }
    // The wrapping and the line that says what is missing need room, too.
    wrapped(
        file,
        &shortened(&file.text, tokens, (room - room / 8).saturating_sub(40)),
    )
}
