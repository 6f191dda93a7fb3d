//! Attachments with the current text of recently used files, which become part of a compaction.

use analects_core::{Attachment, AttachmentKind, Body, Ids, Message};
use jiff::Timestamp;

use crate::freshness::{self, FileFacts};
use crate::plan::shorten_text;
use crate::prompt::{escape, escape_tags, following};
use crate::tokens::Counter;

/// The maximum number of files in a compaction.
pub(super) const MAX_FILES: usize = 5;
/// The maximum number of tokens for one file.
const TOKENS_PER_FILE: u64 = 10_000;
/// The maximum number of tokens for all files.
const TOKENS_IN_ALL: u64 = 50_000;

/// A file in its current state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Its path.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Its facts at the time of reading.
    pub facts: Option<FileFacts>,
    /// The id of the grant to read it again.
    pub grant: Option<String>,
}

/// Returns an attachment with the whole text of a file.
pub fn attach(file: &FileText) -> Message {
    attachment(file, wrapped(file, &file.text))
}

fn attachment(file: &FileText, text: String) -> Message {
    let data = freshness::attachment_data(&file.path, file.facts.as_ref(), file.grant.as_deref());
    let body = Attachment {
        kind: AttachmentKind::File,
        content: text.into(),
        data: Some(data),
    };
    Message::new("", Body::Attachment(body))
}

/// Puts a text between tags with the path of its file.
fn wrapped(file: &FileText, text: &str) -> String {
    let path = escape(&file.path);
    let text = escape_tags(text);
    format!("<file path=\"{path}\">\n{text}\n</file>")
}

/// Returns attachments for the first five files. Each takes at most 10,000 tokens and a fifth of `window`, all together
/// at most 50,000 tokens and half of `window`. The first one follows `parent`, the boundary of the compaction.
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
    for file in files.iter().take(MAX_FILES) {
        let room = left.min(TOKENS_PER_FILE).min(window / 5);
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

/// Wraps the text of a file, shortened to `room` tokens.
fn fitted(file: &FileText, room: u64, counter: &mut Counter<'_>) -> String {
    let whole = wrapped(file, &file.text);
    let tokens = counter.text(&whole).tokens;
    if tokens <= room {
        return whole;
    }
    // The tags and the line about the missing part need room, too.
    let keep = (room - room / 8).saturating_sub(40);
    wrapped(file, &shorten_text(&file.text, tokens, keep))
}
