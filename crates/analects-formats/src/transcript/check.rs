//! What is wrong with a transcript, found line by line: memory is needed for the names of its records,
//! not for what they say.

use analects_core::{Finding, Hint, Message, Pairs, Problem, Said, SessionId, Span, Tree};

use super::envelope::{Envelope, OwnedLink};
use super::line::read_line;
use super::{RepairPlan, crc32c};

/// How many problems are listed. A file of nothing but damage would fill the memory with them.
const MOST: usize = 10_000;

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
    notes: Vec<RecordFacts>,
    problems: ListedProblems,
    session: Option<SessionId>,
    line: usize,
    offset: usize,
}

/// Finds what is wrong with a transcript in memory.
pub fn check(bytes: &[u8]) -> CheckReport {
    let mut checker = Checker::default();
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .for_each(|line| checker.push(line));
    checker.finish()
}

/// What is kept of a record.
#[derive(Debug, Clone)]
pub(super) struct RecordFacts {
    pub names: OwnedLink,
    pub said: Said,
    /// The line, from 1, and which of the records in it.
    pub line: usize,
    pub nth: usize,
    /// A hash and the length of the line, if the record is alone in it and in order.
    pub print: Option<(u32, usize)>,
    /// Whether only its names are known, since its line is too long.
    pub is_long: bool,
    span: Span,
}

/// Problems, up to as many as anybody reads.
#[derive(Debug, Default)]
struct ListedProblems {
    found: Vec<Problem>,
    more: usize,
}

impl ListedProblems {
    fn add(&mut self, mut problem: Problem, span: Span, line: usize) {
        if self.found.len() >= MOST {
            self.more += 1;
            return;
        }
        (problem.span, problem.line, problem.column) = (Some(span), line, 1);
        self.found.push(problem);
    }

    fn finish(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|problem| problem.line);
        if self.more > 0 {
            let text = format!(
                "there are {} more problems, which are not listed",
                self.more
            );
            self.found.push(Problem::warning("more-problems", text));
        }
        self.found
    }
}

/// What was found.
#[derive(Debug)]
pub struct CheckReport {
    /// What is wrong, with line and span, in the order of the lines.
    pub problems: Vec<Problem>,
    /// How many lines there are.
    pub lines: usize,
    session: SessionId,
    notes: Vec<RecordFacts>,
}

impl Checker {
    /// The next line, with its line end if it has one.
    pub fn push(&mut self, line: &[u8]) {
        let span = self.next(line.len());
        let read = read_line(line);
        for problem in read.problems {
            self.problems.add(problem, span, self.line);
        }
        let is_alone = read.messages.len() == 1 && !read.is_damaged;
        let print = is_alone.then(|| (crc32c(line.trim_ascii()), line.trim_ascii().len()));
        for (nth, message) in read.messages.into_iter().enumerate() {
            self.note(
                &message,
                RecordPosition {
                    line: self.line,
                    nth,
                    span,
                    print,
                },
            );
        }
    }

    /// The next line, which is too long to be read: so many bytes, and how it begins. If it begins with its names,
    /// those that follow it stay linked.
    pub fn push_long(&mut self, length: u64, beginning: &[u8]) {
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        let span = self.next(size);
        let at = span.start;
        let text =
            format!("this line, at byte {at}, has {length} bytes, more than a record may have");
        let problem = Problem::error("long-line", text).hint(Hint::RepairTranscript);
        self.problems.add(problem, span, self.line);
        if let Some(names) = Envelope::read_beginning(beginning).link_without_content() {
            let (said, line) = (Said::default(), self.line);
            self.notes.push(RecordFacts {
                names,
                said,
                line,
                nth: 0,
                print: None,
                is_long: true,
                span,
            });
        }
    }

    fn next(&mut self, length: usize) -> Span {
        let span = Span::new(self.offset, self.offset.saturating_add(length));
        self.offset = span.end;
        self.line += 1;
        span
    }

    fn note(&mut self, message: &Message, place: RecordPosition) {
        let RecordPosition {
            line,
            nth,
            span,
            print,
        } = place;
        if !message.session_id.is_empty() {
            let session = self
                .session
                .get_or_insert_with(|| message.session_id.clone());
            if *session != message.session_id {
                let text = "this message is of another session than the first one";
                let problem =
                    Problem::warning("foreign-session", text).hint("it is read as one of this");
                self.problems.add(problem, span, line);
            }
        }
        let names = OwnedLink::of(&analects_core::Link::of(message));
        let said = Said::of(message);
        self.notes.push(RecordFacts {
            names,
            said,
            line,
            nth,
            print,
            is_long: false,
            span,
        });
    }

    /// What is wrong with all of it: the lines, the links between the records, calls without results.
    pub fn finish(self) -> CheckReport {
        let Checker {
            notes,
            mut problems,
            line,
            session,
            ..
        } = self;
        let session = session.unwrap_or_default();
        if notes.is_empty() && problems.found.is_empty() {
            let problem = Problem::warning("empty-transcript", "there is no message in this file");
            problems.add(problem, Span::new(0, 0), 1);
        }
        let mut add = |finding: &Finding| {
            let note = &notes[finding.at];
            problems.add(finding.problem.clone(), note.span, note.line);
        };
        let tree = Tree::new(notes.iter().map(|note| note.names.link()).collect());
        tree.findings().iter().for_each(&mut add);
        for leaf in tree.chain_leaves() {
            tree.effective(leaf).findings.iter().for_each(&mut add);
            for unpaired in unpaired(&tree, leaf, |at| &notes[at].said) {
                add(&Finding {
                    at: unpaired.at,
                    problem: unpaired.problem(),
                });
            }
        }
        CheckReport {
            problems: problems.finish(),
            lines: line,
            session,
            notes,
        }
    }
}

impl CheckReport {
    /// What would mend the file. New names come from `ids`.
    pub fn repair(&self, ids: &mut dyn analects_core::Ids, now: jiff::Timestamp) -> RepairPlan {
        if self.notes.iter().all(|note| !note.is_long) {
            return RepairPlan::plan(&self.notes, &self.session, ids, now);
        }
        // A record that is too long goes aside, so that nobody can follow it in the new file.
        let notes = self.notes.iter().filter(|note| !note.is_long).cloned();
        RepairPlan::plan(
            &notes.collect::<Vec<RecordFacts>>(),
            &self.session,
            ids,
            now,
        )
    }
}

/// Where a record stands.
struct RecordPosition {
    line: usize,
    nth: usize,
    span: Span,
    print: Option<(u32, usize)>,
}

/// What has no counterpart on the way to a leaf, whether or not a compaction hides it from the model.
pub(super) fn unpaired<'n>(
    tree: &Tree,
    leaf: usize,
    said: impl Fn(usize) -> &'n Said,
) -> Vec<analects_core::Unpaired> {
    let mut pairs = Pairs::default();
    for at in tree
        .path(leaf)
        .into_iter()
        .filter(|at| !tree.is_hidden(*at))
    {
        pairs.push(at, said(at));
    }
    pairs.finish()
}
