//! Collects the problems of a session, and what is only known to be a problem at its end.

use std::collections::{BTreeMap, HashMap};

use analects_core::{Block, Content, Hint, Message, Problem, Severity};

use super::links::{RecordLinks, hash};
use crate::convert::{LIST_LIMIT, ReadOutput, more_problems};

/// How many types of left-out records are counted one by one.
const MAX_TYPES: usize = 100;

/// How many characters of a type are shown.
const MAX_TYPE_LENGTH: usize = 40;

/// The problems of a session so far.
#[derive(Debug, Default)]
pub(super) struct SessionReport {
    /// How many problems there are, including those that are not listed.
    problem_count: usize,
    /// Calls without a result so far: a hash of their id, and their line.
    calls: HashMap<u64, usize>,
    /// Records to check again at the end of the file.
    missing_parents: Vec<MissingParent>,
    /// How many records of each type were left out.
    left_out: BTreeMap<String, usize>,
    /// How many records were copies of earlier ones.
    pub(super) repeated: usize,
}

/// A record whose parent has not been seen so far.
#[derive(Debug)]
pub(super) struct MissingParent {
    /// A hash of the parent's id.
    pub(super) parent: u64,
    /// The line of the record.
    pub(super) line: usize,
    /// Whether the record is not a message, so that the conversation goes on without it.
    pub(super) is_beside: bool,
}

impl SessionReport {
    /// Reports a problem of a line, unless there are too many.
    pub(super) fn add(&mut self, line: usize, mut problem: Problem, out: &mut ReadOutput) {
        self.problem_count += 1;
        if self.problem_count <= LIST_LIMIT {
            problem.line = line;
            problem.column = 1;
            out.problems.push(problem);
        }
    }

    /// Remembers a parent to look for at the end of the file.
    pub(super) fn add_missing_parent(&mut self, missing: MissingParent) {
        if self.missing_parents.len() < LIST_LIMIT {
            self.missing_parents.push(missing);
        }
    }

    /// Counts a record that is left out.
    pub(super) fn count_left_out(&mut self, type_name: &str) {
        // A hostile file can have any number of types.
        let has_room = self.left_out.len() < MAX_TYPES || self.left_out.contains_key(type_name);
        let name = if has_room {
            type_name.chars().take(MAX_TYPE_LENGTH).collect()
        } else {
            "other".to_string()
        };
        *self.left_out.entry(name).or_default() += 1;
    }

    /// Matches the calls of a message with the results that follow.
    pub(super) fn pair_calls(&mut self, message: &Message, line: usize, out: &mut ReadOutput) {
        let Some(Content::Blocks(blocks)) = message.body.content() else {
            return;
        };
        for block in blocks {
            match block {
                Block::ToolUse(call) => {
                    self.calls.insert(hash(&*call.id), line);
                }
                Block::ToolResult(result) => self.pair_result(&result.tool_use_id, line, out),
                Block::Text(_)
                | Block::Image(_)
                | Block::Thinking(_)
                | Block::RedactedThinking(_)
                | Block::Document(_)
                | Block::Other(_) => {}
            }
        }
    }

    /// Matches a result with its call. A result without one is reported.
    fn pair_result(&mut self, call_id: &str, line: usize, out: &mut ReadOutput) {
        if self.calls.remove(&hash(call_id)).is_none() {
            let text = "no call before this result waits for one";
            let problem = Problem::warning("result-without-call", text);
            self.add(line, problem.hint("it is kept, and not sent"), out);
        }
    }

    /// Reports what the end of the file has settled. `full` is set if no records are left out.
    pub(super) fn finish(mut self, links: &RecordLinks, full: bool, out: &mut ReadOutput) {
        self.report_missing_parents(links, out);
        self.report_open_calls(out);
        self.report_repeated(out);
        if !full && !self.left_out.is_empty() {
            self.report_left_out(out);
        }
        if self.problem_count > LIST_LIMIT {
            out.problems
                .push(more_problems(self.problem_count - LIST_LIMIT));
        }
    }

    /// Reports the parents that are nowhere in the file.
    fn report_missing_parents(&mut self, links: &RecordLinks, out: &mut ReadOutput) {
        for missing in std::mem::take(&mut self.missing_parents) {
            if links.has(missing.parent) {
                continue;
            }
            let text = "the record that this one follows is not in this file";
            let hint = if missing.is_beside {
                "a record got lost; what comes next follows the message before it"
            } else {
                "the conversation starts here, as far as this file knows"
            };
            let problem = Problem::warning("unknown-parent", text).hint(hint);
            self.add(missing.line, problem, out);
        }
    }

    /// Reports the calls that have no result, in the order of their lines.
    fn report_open_calls(&mut self, out: &mut ReadOutput) {
        let mut lines: Vec<usize> = std::mem::take(&mut self.calls).into_values().collect();
        lines.sort_unstable();
        for line in lines {
            let hint = "when the conversation is sent, a result that says so is added";
            let problem = Problem::warning("call-without-result", "a call has no result");
            self.add(line, problem.hint(hint), out);
        }
    }

    /// Remarks how many copies of records were skipped.
    fn report_repeated(&self, out: &mut ReadOutput) {
        if self.repeated == 0 {
            return;
        }
        let text = format!(
            "{} records are there more than once; each is read once",
            self.repeated
        );
        out.problems
            .push(remark(Problem::warning("repeated-records", text)));
    }

    /// Remarks which types of records were left out, and how many of each.
    fn report_left_out(&self, out: &mut ReadOutput) {
        let counts: Vec<String> = self
            .left_out
            .iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let text = format!(
            "records that are no conversation were left out: {}",
            counts.join(", ")
        );
        out.problems
            .push(remark(Problem::warning("left-out", text)));
    }
}

/// Turns a problem into a remark about records that a full conversion keeps.
fn remark(problem: Problem) -> Problem {
    problem.with(Severity::Hint).hint(Hint::ConvertInFull)
}
