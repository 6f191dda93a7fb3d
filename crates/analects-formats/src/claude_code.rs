//! Sessions of Claude Code: the JSONL files below `~/.claude/projects`, those of sub-agents too. Read only.
//!
//! Every record that is a part of the conversation becomes one message of the same name; nothing is merged,
//! so one answer is as many messages as it has blocks, all with the same `response_id` and usage ([`usage`]
//! counts it once). What a message does not name stays in its `extra`, under the name that it has in the
//! record. RecordReader beside the conversation (progress, snapshots, queues, types that nobody knows yet)
//! are left out and counted, or, in full, become `progress` messages, which are nobody's parents.

mod line;
mod links;
mod message;
mod reader;
mod record;
pub mod usage;

use record::RecordFields;

use crate::convert::{
    Confidence, FileHead, Format, FormatReader, FormatWriter, ReadMode, ReadOptions, WriteOptions,
};

pub use reader::SessionReader;

/// How many lines are looked at. The first ones may be anything.
const LINES: usize = 20;

/// Types of records that have no name of their own.
const BESIDE: [&str; 8] = [
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

    /// By its first lines: endings and names lie.
    fn recognise(&self, head: &[u8], name: &str) -> Confidence {
        let text =
            String::from_utf8_lossy(head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head));
        let lines = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .take(LINES);
        let best = lines
            .map(|line| record(line.trim()))
            .max()
            .unwrap_or(Confidence::No);
        let is_cut = !text.contains('\n') && best == Confidence::No;
        match () {
            _ if is_cut && is_beginning(head) => Confidence::Yes,
            _ if best == Confidence::No && head.trim_ascii().is_empty() && is_place(name) => {
                Confidence::ByName
            }
            _ => best,
        }
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        Some(Box::new(SessionReader::new(options)))
    }

    fn read_mode(&self) -> ReadMode {
        ReadMode::Records
    }

    fn writer(&self, _: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        None
    }
}

/// How sure a whole line makes.
fn record(line: &str) -> Confidence {
    let Some(fields) = RecordFields::parse(line) else {
        return Confidence::No;
    };
    let has = |key| fields.get(key).is_some();
    let Some(kind) = fields.string("type") else {
        return if has("sessionId") && has("message") {
            Confidence::Maybe
        } else {
            Confidence::No
        };
    };
    let (is_foreign, is_chained) = (has("v") || has("payload"), has("parentUuid"));
    let is_named = has("uuid") && (has("sessionId") || has("message") || has("leafUuid"));
    match () {
        _ if is_foreign => Confidence::No,
        _ if is_chained && has("uuid") || is_named => Confidence::Yes,
        _ if BESIDE.contains(&&*kind) && (has("sessionId") || has("messageId")) => Confidence::Yes,
        _ if kind == "summary" && has("leafUuid") => Confidence::Yes,
        _ if has("sessionId") && has("message") => Confidence::Maybe,
        _ => Confidence::No,
    }
}

/// Whether a line that is longer than what is shown of it begins like a record.
fn is_beginning(head: &[u8]) -> bool {
    let head = FileHead::new(head);
    let is_chained = head.has_key("parentUuid") && head.has_key("sessionId");
    head.starts_with("{") && (is_chained || (head.has_key("isSnapshotUpdate")))
}

/// Whether a file of that name is where Claude Code keeps them.
fn is_place(name: &str) -> bool {
    name.ends_with(".jsonl") && name.replace('\\', "/").contains(".claude/projects/")
}

#[cfg(test)]
mod tests;
