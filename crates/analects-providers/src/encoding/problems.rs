//! Reports about what a body lacks or says differently than the request. The texts are for people.

use analects_core::{Problem, Severity};

/// Collects what a body omits, changes or adds.
#[derive(Debug, Default)]
pub(crate) struct EncodeProblems(Vec<Problem>);

impl EncodeProblems {
    /// Reports that a part of a turn is not sent. `turn` counts from 0, the message from 1.
    pub fn omit_content(&mut self, turn: usize, what: &str, why: &str) {
        let text = format!("turn {}: {what} is not sent: {why}", turn + 1);
        self.push_omission(text, Severity::Warning);
    }

    /// Reports that a block of thinking is not sent. This is only a hint, because no other provider
    /// reads it anyway.
    pub fn omit_thinking(&mut self, turn: usize, why: &str) {
        let text = format!("turn {}: a thought is not sent: {why}", turn + 1);
        self.push_omission(text, Severity::Hint);
    }

    /// Reports that a setting of the request is not sent.
    pub fn omit_setting(&mut self, name: &str, why: &str) {
        let text = format!("{name} is not sent: {why}");
        self.push_omission(text, Severity::Warning);
    }

    /// Reports that a detail of a setting is not sent, which rarely matters.
    pub fn omit_detail(&mut self, text: String) {
        self.push_omission(text, Severity::Hint);
    }

    /// Reports that the whole request holds nothing that the API accepts.
    pub fn omit_everything(&mut self) {
        self.omit_setting("the request", "there is nothing in it that the API takes");
    }

    /// Reports something that is sent differently than the request says, or added to it.
    pub fn change(&mut self, text: impl Into<String>) {
        self.0.push(Problem::warning("sent-otherwise", text));
    }

    /// Reports a change within a turn. `turn` counts from 0, the message from 1.
    pub fn change_turn(&mut self, turn: usize, text: &str) {
        self.change(format!("turn {}: {text}", turn + 1));
    }

    /// Reports a value that the request leaves open and the API requires.
    pub fn choose_default(&mut self, text: impl Into<String>) {
        let problem = Problem::warning("sent-otherwise", text);
        self.0.push(problem.with(Severity::Hint));
    }

    /// Adds problems that somebody else found.
    pub fn extend(&mut self, problems: Vec<Problem>) {
        self.0.extend(problems);
    }

    /// Returns all reports, in the order in which they were made.
    pub fn into_problems(self) -> Vec<Problem> {
        self.0
    }

    /// Adds a report with the code of omissions.
    fn push_omission(&mut self, text: String, severity: Severity) {
        let problem = Problem::warning("not-sent", text);
        self.0.push(problem.with(severity));
    }
}
