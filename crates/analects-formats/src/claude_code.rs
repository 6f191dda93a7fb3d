//! Sessions of Claude Code: the JSONL files below `~/.claude/projects`, including those of sub-agents. Read only.
//!
//! Each record of the conversation becomes one message with the same id. Nothing is merged: one answer is as many
//! messages as it has blocks, all with the same `response_id` and usage. [`usage`] counts each answer once. Fields that a
//! message does not have stay in its `extra`, under their name in the record. What sub-agents say is in side chains,
//! whether it is in records of its own or in progress records; a message that is in both is read once. Records outside
//! of the conversation (other progress, snapshots, queues, unknown types) are counted and left out. If you read in full,
//! they become `progress` messages, which are never parents.
//!
//! ```
//! use analects_formats::claude_code::SessionReader;
//! use analects_formats::{FormatReader, ReadOptions, ReadOutput};
//!
//! let line = br#"{"type":"user","uuid":"u1","sessionId":"s1","message":{"role":"user","content":"Hello"}}"#;
//! let mut reader = SessionReader::new(&ReadOptions::named("session.jsonl"));
//! let mut read = ReadOutput::default();
//! reader.feed(line, &mut read);
//! Box::new(reader).finish(&mut read);
//! assert_eq!(read.messages[0].text(), "Hello");
//! assert_eq!(&*read.messages[0].session_id, "s1");
//! ```
//!
//! # Limitations
//!
//! - Files that a session refers to, such as snapshots and results stored beside it, are not read.
//! - A session that was resumed into several files is several conversations. Only [`usage`] counts across files.
//! - Ids are compared by a 64-bit hash. A collision would link one message wrongly.
//! - A compaction waits for its summary for a limited number of messages. After that, it stays without.

mod line;
mod links;
mod message;
mod queue;
mod reader;
mod record;
mod repair;
mod report;
pub mod usage;

use record::RecordFields;
use repair::SessionCheck;

use crate::convert::{
    Confidence, FileHead, Format, FormatReader, FormatWriter, ReadMode, ReadOptions, WriteOptions,
};

use crate::repair::RepairCheck;

pub use reader::SessionReader;

/// How many lines are checked. Any of them may be unusual.
const CHECKED_LINES: usize = 20;

/// Types of records without an id.
const TYPES_WITHOUT_ID: [&str; 8] = [
    "queue-operation",
    "file-history-snapshot",
    "last-prompt",
    "permission-mode",
    "ai-title",
    "custom-title",
    "pr-link",
    "tag",
];

/// Sessions of Claude Code.
#[derive(Debug)]
pub struct ClaudeCodeFormat;

impl Format for ClaudeCodeFormat {
    fn id(&self) -> &'static str {
        "claude-code"
    }

    fn about(&self) -> &'static str {
        "session of Claude Code: JSONL of ~/.claude/projects, also of its sub-agents (read only)"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".jsonl"]
    }

    /// Checks the first lines. The file's name is no proof.
    fn recognise(&self, head: &[u8], name: &str) -> Confidence {
        let without_mark = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
        let text = String::from_utf8_lossy(without_mark);
        let best = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .take(CHECKED_LINES)
            .map(|line| recognise_record(line.trim()))
            .max()
            .unwrap_or(Confidence::No);
        if best > Confidence::No {
            return best;
        }
        if !text.contains('\n') && is_record_start(head) {
            return Confidence::Yes;
        }
        if head.trim_ascii().is_empty() && is_session_path(name) {
            return Confidence::ByName;
        }
        Confidence::No
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        Some(Box::new(SessionReader::new(options)))
    }

    fn read_mode(&self) -> ReadMode {
        ReadMode::Records
    }

    fn repair(&self, name: &str) -> Option<Box<dyn RepairCheck>> {
        Some(Box::new(SessionCheck::new(name)))
    }

    fn writer(&self, _: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        None
    }
}

/// Returns how likely a complete line is a record of a session.
fn recognise_record(line: &str) -> Confidence {
    let Some(fields) = RecordFields::parse(line) else {
        return Confidence::No;
    };
    let has = |key| fields.get(key).is_some();
    let has_message = has("sessionId") && has("message");
    let by_message = if has_message {
        Confidence::Maybe
    } else {
        Confidence::No
    };
    let Some(kind) = fields.string("type") else {
        return by_message;
    };
    if has("v") || has("payload") {
        return Confidence::No;
    }
    let has_id =
        has("uuid") && (has("parentUuid") || has("sessionId") || has("message") || has("leafUuid"));
    let is_without_id =
        TYPES_WITHOUT_ID.contains(&&*kind) && (has("sessionId") || has("messageId"));
    if has_id || is_without_id || (kind == "summary" && has("leafUuid")) {
        return Confidence::Yes;
    }
    by_message
}

/// Returns whether a line that is cut off starts like a record.
fn is_record_start(head: &[u8]) -> bool {
    let head = FileHead::new(head);
    let is_chained = head.has_key("parentUuid") && head.has_key("sessionId");
    head.starts_with("{") && (is_chained || head.has_key("isSnapshotUpdate"))
}

/// Returns whether a path is where Claude Code keeps its sessions.
fn is_session_path(path: &str) -> bool {
    path.ends_with(".jsonl") && path.replace('\\', "/").contains(".claude/projects/")
}

#[cfg(test)]
mod tests;
