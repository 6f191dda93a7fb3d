//! Which questions of a message file wait for an answer.

use super::messages;
use super::{Cell, Document};

impl Document {
    /// The prompts at the end of the current branch that have no answer yet. Prompts that the model does not see do not
    /// count, nor do answers that failed, were interrupted before their first word, or are hidden.
    pub fn unanswered(&self) -> Vec<Cell<'_>> {
        let mut open = Vec::new();
        let mut end = self.cells().len();
        let sides = messages::side_chain_cells(self);
        for (at, cell) in self.cells().enumerate().rev() {
            if at >= end || sides.contains(&at) {
                continue;
            }
            if cell.is_answer() {
                break;
            }
            if cell.is_question() {
                open.push(cell);
            }
            match cell.parent() {
                Some("") => break,
                // A parent that is not there counts as the cell before.
                Some(parent) => {
                    let parent = self.cell(parent).filter(|parent| parent.at < at);
                    end = parent.map_or(at, |parent| parent.at + 1);
                }
                None => end = at,
            }
        }
        open.reverse();
        open
    }

    /// The last prompt without an answer, if its `history` hides it, or its words, from the model.
    pub fn unseen_question(&self) -> Option<Cell<'_>> {
        let sides = messages::side_chain_cells(self);
        let cells = self.cells().rev().filter(|cell| !sides.contains(&cell.at));
        let behind = cells.take_while(|cell| !cell.is_answer());
        let mut prompts = behind.filter(|cell| cell.is_prompt() && !cell.body().is_empty());
        prompts.next().filter(|cell| !cell.is_question())
    }
}
