//! Whom the cells wait for that nobody has answered: those for one agent are asked together, the others later.

use std::collections::HashSet;

use analects_formats::msgfile::{Cell, Document, find_cells};

/// The cells of a file that wait for an answer.
#[derive(Debug, Default)]
pub struct WaitingCells<'d> {
    /// The agent that those of now are meant for, if they say so.
    pub agent: Option<String>,
    /// Those that are asked next, in their order.
    pub now: Vec<Cell<'d>>,
    /// Those that come after these.
    pub later: Vec<Cell<'d>>,
}

impl<'d> WaitingCells<'d> {
    /// The cells that wait: the first ones, as many as are meant for one agent, and the others. What is in one of the
    /// lists `left_out` is not sent, and waits for nobody.
    pub fn of(document: &'d Document, left_out: &[String]) -> WaitingCells<'d> {
        let now = waiting(document, left_out);
        let agent = now.first().and_then(meant_for);
        WaitingCells { now, ..WaitingCells::default() }.split(agent)
    }

    /// The same in the middle of a turn in which cells meant for this agent are asked: none, if somebody has taken them
    /// away. What was typed above them is asked with them.
    pub fn for_agent(
        document: &'d Document,
        left_out: &[String],
        agent: Option<String>,
    ) -> WaitingCells<'d> {
        WaitingCells::all(document, left_out).split(agent)
    }

    /// The same if all of them are asked next, whomever they are meant for.
    pub fn all(document: &'d Document, left_out: &[String]) -> WaitingCells<'d> {
        WaitingCells { now: waiting(document, left_out), ..WaitingCells::default() }
    }

    fn split(mut self, agent: Option<String>) -> WaitingCells<'d> {
        let is_own = |cell: &Cell<'_>| meant_for(cell) == agent;
        let first = self.now.iter().position(is_own);
        let count = first.map_or(0, |first| {
            first + self.now[first..].iter().take_while(|cell| is_own(cell)).count()
        });
        self.later = self.now.split_off(count);
        WaitingCells { agent, ..self }
    }
}

fn waiting<'d>(document: &'d Document, left_out: &[String]) -> Vec<Cell<'d>> {
    let left_out = left_out.iter().filter_map(|list| find_cells(document, list).ok());
    let left_out: HashSet<usize> = left_out.flatten().collect();
    let cells = document.unanswered().into_iter();
    cells.filter(|cell| !left_out.contains(&(cell.ordinal() - 1))).collect()
}

fn meant_for(cell: &Cell<'_>) -> Option<String> {
    cell.attribute("agent").filter(|name| !name.is_empty())
}
