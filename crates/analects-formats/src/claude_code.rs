//! Sessions of Claude Code: the JSONL files below `~/.claude/projects`, those of sub-agents too. Read only.
//!
//! Every record that is a part of the conversation becomes one message of the same name; nothing is merged,
//! so one answer is as many messages as it has blocks, all with the same `response_id` and usage ([`usage`]
//! counts it once). What a message does not name stays in its `extra`, under the name that it has in the
//! record. Records beside the conversation (progress, snapshots, queues, types that nobody knows yet)
//! are left out and counted, or, in full, become `progress` messages, which are nobody's parents.

mod fields;
mod kind;
mod line;
mod links;
mod message;
mod reader;
mod recognise;
pub mod usage;

use crate::frame::{Format, ReadOptions, Reader, Sure, WriteOptions, Writer};

pub use reader::SessionReader;

/// Sessions of Claude Code.
#[derive(Debug)]
pub struct ClaudeCode;

impl Format for ClaudeCode {
    fn id(&self) -> &'static str {
        "claude-code"
    }

    fn about(&self) -> &'static str {
        "session of Claude Code: JSONL of ~/.claude/projects, also of its sub-agents (read only)"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".jsonl"]
    }

    fn recognise(&self, head: &[u8], name: &str) -> Sure {
        recognise::recognise(head, name)
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn Reader>> {
        Some(Box::new(SessionReader::new(options)))
    }

    fn writer(&self, _: &WriteOptions) -> Option<Box<dyn Writer>> {
        None
    }
}

#[cfg(test)]
mod tests;
