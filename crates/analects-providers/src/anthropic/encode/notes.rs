//! What the body does not say as it was asked for.

use analects_core::{Problem, Severity};

/// Collects it.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<Problem>);

impl Notes {
    /// Something that was said and does not go out.
    pub fn content(&mut self, turn: usize, what: &str, why: &str) {
        let text = format!("turn {}: {what} is not sent: {why}", turn + 1);
        self.0.push(Problem::warning("not-sent", text));
    }

    /// A thought, which only the model that had it reads: nothing to worry about.
    pub fn thought(&mut self, turn: usize, why: &str) {
        let text = format!("turn {}: a thought is not sent: {why}", turn + 1);
        self.0.push(Problem::warning("not-sent", text).with(Severity::Hint));
    }

    /// A setting that does not go out.
    pub fn setting(&mut self, name: &str, why: &str) {
        self.0.push(Problem::warning("not-sent", format!("{name} is not sent: {why}")));
    }

    /// Something that goes out otherwise than it was said, or that nobody said.
    pub fn otherwise(&mut self, what: impl Into<String>) {
        self.0.push(Problem::warning("sent-otherwise", what));
    }

    /// A choice that nobody made, so that the program had to.
    pub fn choice(&mut self, what: impl Into<String>) {
        self.0.push(Problem::warning("sent-otherwise", what).with(Severity::Hint));
    }

    /// All of it.
    pub fn into_problems(self) -> Vec<Problem> {
        self.0
    }
}
