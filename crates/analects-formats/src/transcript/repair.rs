//! The repair of a transcript: a new file with every record that can be read, linked again. No record is dropped. Lines
//! that are not in the new file as they were belong in a second file.
//!
//! The plan is made in three steps, because each one needs the result of the one before:
//!
//! 1. Records without an id, and different records with the same id, get new ids. References follow.
//! 2. Records whose parent is missing or leads in a circle get the previous record of their agent as parent.
//! 3. On each branch, calls without a result get one, and records that no model can read get a tombstone.
//!
//! The ids and parents that records had before are noted in extra fields.

mod gaps;
mod planner;

use std::borrow::Cow;
use std::collections::BTreeMap;

use analects_core::{Body, Ids, Link, LinkKind, Message, MessageId, Raw, SessionId};
use jiff::Timestamp;

use super::check::RecordFacts;
use super::{TranscriptLine, encode_to, read_line};
use crate::repair::{LineRepair, RepairedLine};
use planner::RepairPlanner;

/// What to change in a transcript to repair it.
#[derive(Debug, Default)]
pub struct RepairPlan {
    /// The changes of lines, by the line's number.
    lines: BTreeMap<usize, LineChange>,
    /// New records after the last line.
    end: Vec<Message>,
}

/// The changes of one line.
#[derive(Debug, Default)]
struct LineChange {
    /// The changes of its records, by their position in the line.
    records: BTreeMap<usize, LinkChange>,
    /// Whether the line repeats an earlier one and is left out.
    is_repeated: bool,
    /// New records after the line.
    after: Vec<Message>,
}

/// New ids for a record and for its references. `None` leaves an id as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct LinkChange {
    id: Option<String>,
    /// `Some(None)` makes the record a root.
    parent: Option<Option<String>>,
    /// The id of what a tombstone or a revision is about.
    target: Option<String>,
    /// The id of a compaction's summary.
    summary: Option<String>,
    /// The id of the first message that a compaction keeps.
    kept_from: Option<String>,
}

impl RepairPlan {
    /// Plans the repair of checked records. New ids come from `ids`, and `now` dates new records.
    pub(super) fn new(
        records: &[RecordFacts],
        session: &SessionId,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> RepairPlan {
        RepairPlanner::new(records, session, ids, now).plan()
    }

    /// Repairs the line with this number, from 1.
    pub fn line<'l>(&self, number: usize, line: &'l [u8]) -> RepairedLine<'l> {
        let unchanged = LineChange::default();
        let change = self.lines.get(&number).unwrap_or(&unchanged);
        let read = read_line(line);
        let is_aside = change.is_repeated || read.is_damaged || !change.records.is_empty();
        let mut lines: Cow<'l, [u8]> = Cow::Borrowed(&[]);
        let changes = change.in_words(&read);
        let mut added = String::new();
        if !is_aside {
            lines = Cow::Borrowed(line);
        } else if !change.is_repeated {
            change.encode_records(read.messages, &mut added);
        }
        for message in &change.after {
            encode_to(&mut added, message);
        }
        if !lines.is_empty() && !lines.ends_with(b"\n") {
            lines.to_mut().push(b'\n');
        }
        if !added.is_empty() {
            lines.to_mut().extend_from_slice(added.as_bytes());
        }
        RepairedLine {
            lines,
            is_aside,
            changes,
        }
    }

    /// Returns the new lines after the last one.
    pub fn end(&self) -> String {
        let mut out = String::new();
        for message in &self.end {
            encode_to(&mut out, message);
        }
        out
    }
}

impl LineRepair for RepairPlan {
    fn line<'l>(&self, number: usize, line: &'l [u8]) -> RepairedLine<'l> {
        RepairPlan::line(self, number, line)
    }

    fn end(&self) -> String {
        RepairPlan::end(self)
    }
}

impl LineChange {
    /// Says what changes, in words about the line.
    fn in_words(&self, read: &TranscriptLine) -> Vec<String> {
        if self.is_repeated {
            return vec!["it repeats an earlier line; left out".to_string()];
        }
        let mut words = Vec::new();
        if read.is_damaged && read.messages.is_empty() {
            words.push("no record in it can be read; left out".to_string());
        } else if read.is_damaged {
            words.push("only its records were kept, written anew".to_string());
        }
        for (index, change) in &self.records {
            let id = read.messages.get(*index).map_or("", |message| &*message.id);
            change.put_into_words(id, &mut words);
        }
        for added in &self.after {
            if let Body::ToolResult(result) = &added.body {
                let call = &result.tool_use_id;
                words.push(format!(
                    "after it, a result says that call {call} was interrupted"
                ));
            }
        }
        words
    }

    /// Encodes the records of a damaged line, each on a line of its own.
    fn encode_records(&self, messages: Vec<Message>, out: &mut String) {
        for (index, mut message) in messages.into_iter().enumerate() {
            if let Some(change) = self.records.get(&index) {
                change.apply(&mut message);
            }
            encode_to(out, &message);
        }
    }
}

impl LinkChange {
    /// Says what changes, in words about the line of the record that has this id.
    fn put_into_words(&self, id: &str, words: &mut Vec<String>) {
        match &self.id {
            Some(new) if id.is_empty() => words.push(format!("it had no id; it is now {new}")),
            Some(new) => words.push(format!(
                "its id {id} is that of another record; it is now {new}"
            )),
            None => {}
        }
        match &self.parent {
            Some(Some(parent)) => words.push(format!("it now follows {parent}")),
            Some(None) => words.push("it now follows no record".to_string()),
            None => {}
        }
        let others = [&self.target, &self.summary, &self.kept_from];
        for other in others.into_iter().flatten() {
            words.push(format!("it now refers to {other}"));
        }
    }

    /// Changes a message. Notes the ids that it had in extra fields.
    fn apply(&self, message: &mut Message) {
        if let Some(parent) = &self.parent {
            change_parent(message, parent.as_deref());
        }
        if self.id.is_some() && !message.id.is_empty() {
            let old = Raw::string(&message.id);
            message.extra.push("repaired_id", old);
        }
        replace_id(&mut message.id, self.id.as_deref());
        match &mut message.body {
            Body::Tombstone(body) => replace_id(&mut body.target, self.target.as_deref()),
            Body::Revision(body) => replace_id(&mut body.target, self.target.as_deref()),
            Body::CompactBoundary(body) => {
                if let Some(id) = &mut body.summary_id {
                    replace_id(id, self.summary.as_deref());
                }
                if let Some(id) = &mut body.kept_from {
                    replace_id(id, self.kept_from.as_deref());
                }
            }
            Body::System(_)
            | Body::User(_)
            | Body::Assistant(_)
            | Body::ToolUse(_)
            | Body::ToolResult(_)
            | Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::Summary(_)
            | Body::State(_)
            | Body::Other(_) => {}
        }
    }

    /// Returns the changed link of a record.
    fn link<'c>(&'c self, record: &'c RecordFacts) -> Link<'c> {
        let link = record.link.link();
        let parent = self.parent.as_ref().and_then(|parent| parent.as_deref());
        Link {
            id: self.id.as_deref().unwrap_or(link.id),
            parent,
            kind: self.link_kind(link.kind),
            ..link
        }
    }

    /// Returns the kind with its references changed.
    fn link_kind<'c>(&'c self, kind: LinkKind<'c>) -> LinkKind<'c> {
        match kind {
            LinkKind::Tombstone {
                target,
                target_parent,
            } => LinkKind::Tombstone {
                target: self.target.as_deref().unwrap_or(target),
                target_parent,
            },
            LinkKind::Revision { target, history } => LinkKind::Revision {
                target: self.target.as_deref().unwrap_or(target),
                history,
            },
            LinkKind::Boundary {
                summary,
                kept_from,
                is_separator,
            } => LinkKind::Boundary {
                summary: self.summary.as_deref().or(summary),
                kept_from: self.kept_from.as_deref().or(kept_from),
                is_separator,
            },
            kind @ (LinkKind::Speech
            | LinkKind::Summary
            | LinkKind::State
            | LinkKind::Progress
            | LinkKind::Unknown) => kind,
        }
    }
}

/// Changes the parent of a message and notes the old one.
fn change_parent(message: &mut Message, parent: Option<&str>) {
    let old = message.parent_id.take();
    message.parent_id = parent.map(MessageId::from);
    // Joined lines may name the parent twice. The other one would count when the line is read again.
    message.unknown.remove("parent_id");
    if let Some(old) = old {
        message.extra.push("repaired_parent_id", Raw::string(&old));
    }
}

/// Replaces an id if there is a new one.
fn replace_id(id: &mut MessageId, new: Option<&str>) {
    if let Some(new) = new {
        *id = new.into();
    }
}
