//! Checks a transcript line by line. Memory is needed for the links of its records, not for their content.

use analects_core::{
    Hint, Ids, Link, Message, Pairs, Problem, Said, SessionId, Span, Tree, Unpaired,
};
use jiff::Timestamp;

use super::envelope::Envelope;
use super::line::read_line;
use super::link::OwnedLink;
use super::{RepairPlan, crc32c};
use crate::convert::ProblemList;
use crate::repair::{LineRepair, RepairCheck};

/// Finds what is wrong with a transcript whose lines are pushed one by one.
///
/// ```
/// use analects_formats::transcript::Checker;
///
/// let mut checker = Checker::default();
/// checker.push(b"{\"v\":1,\"type\":\"user\",\"id\":\"a\",\"content\":\"Hello\"}\n");
/// checker.push(b"{\"v\":1,\"type\":\"user\",\"id\":\"b\",\"parent_id\":\"lost\",\"content\":\"Hi\"}\n");
/// let problems = checker.finish().problems;
/// assert_eq!((&*problems[0].code, problems[0].line), ("unknown-parent", 2));
/// ```
#[derive(Debug, Default)]
pub struct Checker {
    /// All records so far, by position.
    records: Vec<RecordFacts>,
    /// The problems so far, sorted at the end.
    problems: ProblemList,
    /// The session of the first record that names one.
    session: Option<SessionId>,
    /// How many lines were pushed.
    lines: usize,
    /// The offset where the next line starts.
    offset: usize,
}

/// Checks a transcript in memory.
///
/// ```
/// use analects_core::CountingIds;
/// use analects_formats::transcript::check;
/// use jiff::Timestamp;
///
/// let file = b"{\"v\":1,\"type\":\"user\",\"content\":\"Hello\"}\n";
/// let report = check(file);
/// // The record has no id. A repair gives it one, and moves the old line to a second file.
/// let plan = report.repair(&mut CountingIds::default(), Timestamp::UNIX_EPOCH);
/// let repaired = plan.line(1, file);
/// assert!(repaired.is_aside);
/// assert!(check(&repaired.lines).problems.is_empty());
/// ```
pub fn check(bytes: &[u8]) -> CheckReport {
    let mut checker = Checker::default();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        checker.push(line);
    }
    checker.finish()
}

/// What a check remembers of a record.
#[derive(Debug, Clone)]
pub(super) struct RecordFacts {
    /// Its id, and its references to other records.
    pub link: OwnedLink,
    /// Its calls and results.
    pub said: Said,
    /// Where it is in the file.
    pub position: RecordPosition,
    /// Whether only its link is known, because its line is too long.
    pub is_long: bool,
}

/// Where a record is.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordPosition {
    /// The number of the line, from 1.
    pub line: usize,
    /// The position among the records of the line, from 0.
    pub index: usize,
    /// A hash and the length of the line; `None` unless the record is alone in it and undamaged.
    pub fingerprint: Option<(u32, usize)>,
    /// The bytes of the line.
    span: Span,
}

/// The result of a check.
#[derive(Debug)]
pub struct CheckReport {
    /// What is wrong, with line and span, in the order of the lines.
    pub problems: Vec<Problem>,
    /// How many lines the transcript has.
    pub lines: usize,
    /// The session of the records that a repair adds.
    session: SessionId,
    /// The records that a repair links again.
    records: Vec<RecordFacts>,
}

impl Checker {
    /// Takes the next line, with its line end if it has one.
    pub fn push(&mut self, line: &[u8]) {
        let span = self.next_line(line.len());
        let read = read_line(line);
        for problem in read.problems {
            self.add_problem(problem, span, self.lines);
        }
        let is_alone = read.messages.len() == 1 && !read.is_damaged;
        let fingerprint = is_alone.then(|| (crc32c(line.trim_ascii()), line.trim_ascii().len()));
        for (index, message) in read.messages.into_iter().enumerate() {
            let position = RecordPosition {
                line: self.lines,
                index,
                fingerprint,
                span,
            };
            self.add_record(&message, position);
        }
    }

    /// Takes the next line, which is too long to be read: its length in bytes and its beginning. If the beginning has
    /// the record's id, its children stay linked.
    pub fn push_long(&mut self, length: u64, beginning: &[u8]) {
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        let span = self.next_line(size);
        let at = span.start;
        let text =
            format!("this line, at byte {at}, has {length} bytes, more than a record may have");
        let problem = Problem::error("long-line", text).hint(Hint::RepairTranscript);
        self.add_problem(problem, span, self.lines);
        let Some(link) = Envelope::read_beginning(beginning).link_without_content() else {
            return;
        };
        self.records.push(RecordFacts {
            link,
            said: Said::default(),
            position: RecordPosition {
                line: self.lines,
                index: 0,
                fingerprint: None,
                span,
            },
            is_long: true,
        });
    }

    /// Counts a line and returns its span.
    fn next_line(&mut self, length: usize) -> Span {
        let span = Span::new(self.offset, self.offset.saturating_add(length));
        self.offset = span.end;
        self.lines += 1;
        span
    }

    /// Reports a problem of a line.
    fn add_problem(&mut self, mut problem: Problem, span: Span, line: usize) {
        problem.span = Some(span);
        problem.line = line;
        problem.column = 1;
        self.problems.add(problem);
    }

    /// Remembers a record for the checks at the end.
    fn add_record(&mut self, message: &Message, position: RecordPosition) {
        if !message.session_id.is_empty() {
            self.check_session(&message.session_id, position);
        }
        self.records.push(RecordFacts {
            link: OwnedLink::of(&Link::of(message)),
            said: Said::of(message),
            position,
            is_long: false,
        });
    }

    /// Reports a record that is of another session than the first one.
    fn check_session(&mut self, session: &SessionId, position: RecordPosition) {
        let first = self.session.get_or_insert_with(|| session.clone());
        if first == session {
            return;
        }
        let text = "this message is of another session than the first one";
        let problem = Problem::warning("foreign-session", text).hint("it is read as one of this");
        self.add_problem(problem, position.span, position.line);
    }

    /// Reports a problem of the record at a position.
    fn add_finding(&mut self, at: usize, problem: Problem) {
        let RecordPosition { span, line, .. } = self.records[at].position;
        self.add_problem(problem, span, line);
    }

    /// Ends the transcript. Adds what is wrong with the links between records, and calls without results.
    pub fn finish(mut self) -> CheckReport {
        if self.records.is_empty() && self.problems.is_empty() {
            let problem = Problem::warning("empty-transcript", "there is no message in this file");
            self.add_problem(problem, Span::new(0, 0), 1);
        }
        self.check_links();
        self.problems.sort_by_line();
        CheckReport {
            problems: self.problems.list(),
            lines: self.lines,
            session: self.session.unwrap_or_default(),
            records: self.records,
        }
    }

    /// Reports what is wrong between the records: with their links, their compactions, and their calls.
    fn check_links(&mut self) {
        let links = self.records.iter().map(|record| record.link.link());
        let tree = Tree::new(links.collect());
        for finding in tree.findings() {
            self.add_finding(finding.at, finding.problem.clone());
        }
        for leaf in tree.chain_leaves() {
            for finding in tree.effective(leaf).findings {
                self.add_finding(finding.at, finding.problem);
            }
            for unpaired in unpaired(&tree, leaf, |at| &self.records[at].said) {
                self.add_finding(unpaired.at, unpaired.problem());
            }
        }
    }
}

impl RepairCheck for Checker {
    fn push(&mut self, line: &[u8]) {
        Checker::push(self, line);
    }

    fn push_long(&mut self, length: u64, beginning: &[u8]) {
        Checker::push_long(self, length, beginning);
    }

    fn finish(
        self: Box<Self>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> (Vec<Problem>, Box<dyn LineRepair>) {
        let report = Checker::finish(*self);
        let plan = report.repair(ids, now);
        (report.problems, Box::new(plan))
    }
}

impl CheckReport {
    /// Plans how to repair the file. New ids come from `ids`, and `now` dates new records.
    pub fn repair(&self, ids: &mut dyn Ids, now: Timestamp) -> RepairPlan {
        if self.records.iter().all(|record| !record.is_long) {
            return RepairPlan::new(&self.records, &self.session, ids, now);
        }
        // A record that is too long is not in the new file, so nothing can follow it there.
        let records = self.records.iter().filter(|record| !record.is_long);
        let records: Vec<RecordFacts> = records.cloned().collect();
        RepairPlan::new(&records, &self.session, ids, now)
    }
}

/// Finds calls and results without counterpart on the path to a leaf, even if a compaction hides them from the model.
pub(super) fn unpaired<'n>(
    tree: &Tree,
    leaf: usize,
    said: impl Fn(usize) -> &'n Said,
) -> Vec<Unpaired> {
    let mut pairs = Pairs::default();
    for at in tree.path(leaf) {
        if !tree.is_hidden(at) {
            pairs.push(at, said(at));
        }
    }
    pairs.finish()
}
