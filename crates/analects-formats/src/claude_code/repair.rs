//! The repair of a session: what Claude Code and we can read again is linked and complete, and no other byte changes.
//!
//! | damage | repair |
//! |---|---|
//! | a line that is cut off, or no JSON | is left out |
//! | records joined in one line | each gets a line of its own |
//! | zeros, bytes that are not UTF-8, halves of surrogate pairs | are removed, or become U+FFFD |
//! | two different records with one id | the second one gets a new id |
//! | a parent that is missing or leads in a circle | the previous record of the chain is the parent |
//! | a call without a result | a result that says so is added |
//! | a result without a call | is left out |
//!
//! Copies of records stay, since a resumed session has them. Values are changed in place, so that the rest of a record
//! stays byte for byte.

mod edit;
mod facts;
mod plan;

use std::collections::HashMap;

use analects_core::{Ids, Problem};
use jiff::Timestamp;

use super::SessionReader;
use super::line::RECORD_STARTS;
use crate::convert::ReadOptions;
use crate::damaged_line::trim_line;
use crate::repair::{LineRepair, RepairCheck, RepairedLine, ReportedProblems, mend_line};
use edit::{change_record, result_record};
use facts::SessionFacts;

/// Reads a damaged session line by line, and remembers what its repair needs.
pub(super) struct SessionCheck {
    problems: ReportedProblems,
    facts: SessionFacts,
    /// How many lines were pushed.
    lines: usize,
}

impl SessionCheck {
    /// Starts the check of a file.
    pub(super) fn new(name: &str) -> SessionCheck {
        let options = ReadOptions {
            full: true,
            ..ReadOptions::named(name)
        };
        SessionCheck {
            problems: ReportedProblems::new(Box::new(SessionReader::new(&options))),
            facts: SessionFacts::default(),
            lines: 0,
        }
    }
}

impl RepairCheck for SessionCheck {
    fn push(&mut self, line: &[u8]) {
        self.lines += 1;
        self.problems.push(line);
        let mut index = 0;
        mend_line(line, &RECORD_STARTS, &mut |json| {
            let line = self.lines;
            self.facts.add(json, RecordPlace { line, index });
            index += 1;
        });
    }

    fn push_long(&mut self, length: u64, _: &[u8]) {
        self.lines += 1;
        self.problems.push_long(length);
    }

    fn finish(
        self: Box<Self>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> (Vec<Problem>, Box<dyn LineRepair>) {
        let problems = self.problems.finish();
        (problems, Box::new(plan::plan(&self.facts, ids, now)))
    }
}

/// Where a record is: the number of its line, and its position among the records of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct RecordPlace {
    line: usize,
    index: usize,
}

/// What to change in a session.
#[derive(Debug, Default)]
struct SessionRepair {
    records: HashMap<RecordPlace, RecordChange>,
}

/// The changes of one record. `None` leaves a value as it is.
#[derive(Debug, Default, PartialEq, Eq)]
struct RecordChange {
    id: Option<String>,
    /// `Some(None)` makes the record a root.
    parent: Option<Option<String>>,
    /// The calls whose results are left out, since there are no such calls.
    orphans: Vec<String>,
    /// Whether the record is nothing but such results, and is left out.
    is_left_out: bool,
    /// The results that are added behind the record.
    results: Vec<AddedResult>,
}

/// A result that says that its call was interrupted.
#[derive(Debug, PartialEq, Eq)]
struct AddedResult {
    /// The id of its record.
    id: String,
    /// The id of the record that it follows.
    parent: String,
    call: String,
}

impl LineRepair for SessionRepair {
    fn line<'l>(&self, number: usize, line: &'l [u8]) -> RepairedLine<'l> {
        let mut records = Vec::new();
        let mut added = String::new();
        let mut words = Vec::new();
        let mut index = 0;
        let damage = mend_line(line, &RECORD_STARTS, &mut |json| {
            let place = RecordPlace {
                line: number,
                index,
            };
            index += 1;
            let unchanged = RecordChange::default();
            let change = self.records.get(&place).unwrap_or(&unchanged);
            records.extend(change_record(json, change));
            change.put_into_words(&mut words);
            for result in &change.results {
                added += &result_record(json, result);
                added.push('\n');
            }
        });
        let is_same = damage.is_empty() && matches!(&*records, [one] if line_holds(line, one));
        if words.is_empty() && (is_same || damage.is_empty() && records.is_empty()) {
            return RepairedLine::unchanged(line);
        }
        let mut lines = if is_same {
            ended(line.to_vec())
        } else {
            lines_of(&records, line)
        };
        lines.extend_from_slice(added.as_bytes());
        RepairedLine {
            lines: lines.into(),
            is_aside: !is_same,
            changes: [damage, words].concat(),
        }
    }
}

/// Returns whether a line is this record and nothing else but white space.
fn line_holds(line: &[u8], record: &str) -> bool {
    trim_line(line) == record.as_bytes()
}

/// Returns the records, each on a line of its own, with the line end of the old line.
fn lines_of(records: &[String], old: &[u8]) -> Vec<u8> {
    let end: &[u8] = if old.ends_with(b"\r\n") {
        b"\r\n"
    } else {
        b"\n"
    };
    let mut lines = Vec::new();
    for record in records {
        lines.extend_from_slice(record.as_bytes());
        lines.extend_from_slice(end);
    }
    lines
}

/// Returns a line with a line end.
fn ended(mut line: Vec<u8>) -> Vec<u8> {
    if !line.ends_with(b"\n") {
        line.push(b'\n');
    }
    line
}

impl RecordChange {
    /// Says what changes, in words about the line.
    fn put_into_words(&self, words: &mut Vec<String>) {
        if self.is_left_out {
            let calls = self.orphans.join(", ");
            words.push(format!(
                "it has only results of calls that are not there ({calls}); left out"
            ));
            return;
        }
        for call in &self.orphans {
            words.push(format!(
                "the result of call {call}, which is not there, was left out"
            ));
        }
        if let Some(id) = &self.id {
            words.push(format!("its id is that of another record; it is now {id}"));
        }
        match &self.parent {
            Some(Some(parent)) => words.push(format!("it now follows {parent}")),
            Some(None) => words.push("it now follows no record".to_string()),
            None => {}
        }
        for result in &self.results {
            let call = &result.call;
            words.push(format!(
                "after it, a result says that call {call} was interrupted"
            ));
        }
    }
}
