//! What repairs have in common: a file with a record on each line is checked once, and then each old line becomes the
//! lines of a new file. Nothing is dropped: what the new file does not have as it was belongs in a second file.
//!
//! [`Format::repair`](crate::Format::repair) starts the repair of a file:
//!
//! ```
//! use analects_core::CountingIds;
//! use analects_formats::convert::format_by_id;
//! use jiff::Timestamp;
//!
//! let file = b"{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}\n{\"messages\":[{\"ro";
//! let mut check = format_by_id("openai").unwrap().repair("talk.jsonl").unwrap();
//! for line in file.split_inclusive(|byte| *byte == b'\n') {
//!     check.push(line);
//! }
//! let (_, plan) = check.finish(&mut CountingIds::default(), Timestamp::UNIX_EPOCH);
//! assert!(!plan.line(1, &file[..46]).is_aside);
//! let torn = plan.line(2, &file[46..]);
//! assert!(torn.is_aside && torn.lines.is_empty());
//! assert_eq!(torn.changes, ["it was cut off while it was written; left out"]);
//! ```
//!
//! # Limitations
//!
//! - Requests are repaired line by line. Calls without results stay as they are.
//! - A line that is longer than the caller's limit is moved to the second file.

mod groups;
mod lines;
mod surrogates;

use std::borrow::Cow;

use analects_core::{Ids, Problem};
use jiff::Timestamp;

pub(crate) use groups::RecordGroups;
pub(crate) use lines::{LineCheck, ReportedProblems, mend_line};
pub(crate) use surrogates::mend_surrogates;

/// Takes all lines of a damaged file, and then plans its repair.
pub trait RepairCheck {
    /// Takes the next line, with its line end if it has one.
    fn push(&mut self, line: &[u8]);

    /// Takes the next line, which is too long to be read: its length in bytes and its beginning.
    fn push_long(&mut self, length: u64, beginning: &[u8]);

    /// Returns what is wrong with the file, and how to repair it. New ids come from `ids`, and `now` dates new records.
    fn finish(
        self: Box<Self>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> (Vec<Problem>, Box<dyn LineRepair>);
}

/// Turns each line of a damaged file into lines of the new one.
pub trait LineRepair {
    /// Repairs the line with this number, from 1.
    fn line<'l>(&self, number: usize, line: &'l [u8]) -> RepairedLine<'l>;

    /// Returns the new lines after the last one.
    fn end(&self) -> String {
        String::new()
    }
}

/// A line of the old file, repaired.
#[derive(Debug, PartialEq, Eq)]
pub struct RepairedLine<'l> {
    /// The lines of the new file that replace it: complete lines, or nothing.
    pub lines: Cow<'l, [u8]>,
    /// Whether the old line belongs in the second file, because the new file does not have it as it was.
    pub is_aside: bool,
    /// What was changed, in words about "it", the line: lower case, no full stop.
    pub changes: Vec<String>,
}

impl<'l> RepairedLine<'l> {
    /// A line that stays as it is.
    pub(crate) fn unchanged(line: &'l [u8]) -> RepairedLine<'l> {
        RepairedLine {
            lines: Cow::Borrowed(line),
            is_aside: false,
            changes: Vec::new(),
        }
    }
}
