//! Damage within a line: its end is missing, two records are joined, zeros, bytes that are not UTF-8, and halves of
//! surrogate pairs. What the records mean does not matter here.

use std::borrow::Cow;

use analects_core::{Ids, Problem};
use jiff::Timestamp;
use serde_json::value::RawValue;

use super::{LineRepair, RepairCheck, RepairedLine, mend_surrogates};
use crate::convert::{FormatReader, ProblemList, ReadOutput};
use crate::damaged_line::{salvage_values, trim_line};

/// What the records of requests start with.
const REQUEST_STARTS: [&[u8]; 3] = [b"{\"messages\":", b"{\"model\":", b"{\"role\":"];

/// Passes the records of a line to `each` as JSON, without halves of surrogate pairs. Returns what had to be changed, in words;
/// nothing for a line that is intact.
pub(crate) fn mend_line(line: &[u8], starts: &[&[u8]], each: &mut dyn FnMut(&str)) -> Vec<String> {
    let is_ended = line.ends_with(b"\n");
    let line = trim_line(line);
    let mut changes = Vec::new();
    if line.is_empty() {
        return changes;
    }
    let mut has_halves = false;
    let mut mend = |json: &str| {
        let mended = mend_surrogates(json);
        has_halves |= mended.is_some();
        each(mended.as_deref().unwrap_or(json));
    };
    let intact = std::str::from_utf8(line).ok();
    let intact = intact.filter(|text| serde_json::from_str::<&RawValue>(text).is_ok());
    if let Some(text) = intact {
        mend(text);
    } else {
        let salvaged = salvage_values(line, starts, &mut |value| mend(value.get()));
        changes = damage_in_words(line, is_ended, salvaged.count, salvaged.is_complete);
    }
    if has_halves {
        changes.push("halves of surrogate pairs became U+FFFD".to_string());
    }
    changes
}

/// Says what was done about a damaged line with `count` records.
fn damage_in_words(line: &[u8], is_ended: bool, count: usize, is_complete: bool) -> Vec<String> {
    let mut changes = Vec::new();
    if count == 0 {
        let why = if line.iter().all(|byte| *byte == 0) {
            "it holds nothing but zeros; left out"
        } else if is_ended {
            "it is not JSON; left out"
        } else {
            "it was cut off while it was written; left out"
        };
        changes.push(why.to_string());
        return changes;
    }
    if line.contains(&0) {
        changes.push("zeros in it were removed".to_string());
    }
    if std::str::from_utf8(line).is_err() {
        changes.push("bytes that are not UTF-8 became U+FFFD".to_string());
    }
    if count > 1 {
        changes.push(format!("its {count} records got lines of their own"));
    }
    if !is_complete {
        changes.push("a part that is no record was left out".to_string());
    }
    changes
}

/// Checks a file whose lines do not depend on each other.
pub(crate) struct LineCheck {
    problems: ReportedProblems,
}

/// The problems that a format's reader reports.
pub(crate) struct ReportedProblems {
    reader: Box<dyn FormatReader>,
    problems: ProblemList,
}

impl ReportedProblems {
    /// Starts with nothing read.
    pub(crate) fn new(reader: Box<dyn FormatReader>) -> ReportedProblems {
        ReportedProblems {
            reader,
            problems: ProblemList::default(),
        }
    }

    /// Reads the next line.
    pub(crate) fn push(&mut self, line: &[u8]) {
        let mut read = ReadOutput::default();
        self.reader.feed(line, &mut read);
        self.add(read);
    }

    /// Counts a line of this length that is too long to be read.
    pub(crate) fn push_long(&mut self, length: u64) {
        self.push(b"\n");
        let text = format!("a line has {length} bytes, more than a record may have");
        self.problems.add(Problem::error("long-line", text));
    }

    /// Ends the file, and returns its problems.
    pub(crate) fn finish(mut self) -> Vec<Problem> {
        let mut read = ReadOutput::default();
        self.reader.finish(&mut read);
        for problem in read.problems {
            self.problems.add(problem);
        }
        self.problems.sort_by_line();
        self.problems.list()
    }

    fn add(&mut self, read: ReadOutput) {
        for problem in read.problems {
            self.problems.add(problem);
        }
    }
}

impl LineCheck {
    /// Creates a check that reports what `reader` reports.
    pub(crate) fn new(reader: Box<dyn FormatReader>) -> LineCheck {
        LineCheck {
            problems: ReportedProblems::new(reader),
        }
    }
}

impl RepairCheck for LineCheck {
    fn push(&mut self, line: &[u8]) {
        self.problems.push(line);
    }

    fn push_long(&mut self, length: u64, _: &[u8]) {
        self.problems.push_long(length);
    }

    fn finish(
        self: Box<Self>,
        _: &mut dyn Ids,
        _: Timestamp,
    ) -> (Vec<Problem>, Box<dyn LineRepair>) {
        (self.problems.finish(), Box::new(RequestLines))
    }
}

/// Repairs requests, one a line.
struct RequestLines;

impl LineRepair for RequestLines {
    fn line<'l>(&self, _: usize, line: &'l [u8]) -> RepairedLine<'l> {
        let mut lines = String::new();
        let changes = mend_line(line, &REQUEST_STARTS, &mut |json| {
            lines.push_str(json);
            lines.push('\n');
        });
        if changes.is_empty() {
            return RepairedLine::unchanged(line);
        }
        RepairedLine {
            lines: Cow::Owned(lines.into_bytes()),
            is_aside: true,
            changes,
        }
    }
}
