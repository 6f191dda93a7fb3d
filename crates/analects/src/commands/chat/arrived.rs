//! What is in the conversation by now of what a person says, for whoever said it and has to know, also if the answer
//! fails. How many cells there are does not tell: others may add and delete some meanwhile.

use std::cell::Cell;
use std::rc::Rc;

/// What is in the conversation; copies tell the same.
#[derive(Debug, Default, Clone)]
pub struct Arrived {
    facts: Rc<Facts>,
}

#[derive(Debug, Default)]
struct Facts {
    files: Cell<usize>,
    has_prompt: Cell<bool>,
}

impl Arrived {
    /// One more of the files is.
    pub fn add_file(&self) {
        self.facts.files.set(self.facts.files.get() + 1);
    }

    /// The prompt is.
    pub fn add_prompt(&self) {
        self.facts.has_prompt.set(true);
    }

    /// How many of the files are, from the first one on.
    pub fn files(&self) -> usize {
        self.facts.files.get()
    }

    /// Whether the prompt is.
    pub fn has_prompt(&self) -> bool {
        self.facts.has_prompt.get()
    }
}
