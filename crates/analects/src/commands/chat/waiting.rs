//! What waits for an answer in a file, turn by turn: cells that are meant for different agents are answered one
//! after the other, in their order, each by the agent that it names.

use std::collections::HashSet;

use analects_formats::msgfile::{Cell, Choice, Document, find_cells, list_of};

/// How many cells are told by name.
const MANY: usize = 12;

/// The cells that are answered next.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The agent that they are meant for, if they say so.
    pub agent: Option<String>,
    /// Their names.
    pub cells: Vec<String>,
    /// The names of the cells that come after that.
    pub later: Vec<String>,
    /// The same as a list.
    pub left: Option<String>,
}

impl Turn {
    /// The first of the cells that wait, as many as are meant for one agent. What is not sent waits for nobody.
    pub fn next(document: &Document, choice: &Choice) -> Turn {
        let excluded = choice.exclude.iter().filter_map(|list| find_cells(document, list).ok());
        let excluded: HashSet<usize> = excluded.flatten().collect();
        let waiting = document.unanswered().into_iter();
        let waiting = waiting.filter(|cell| !excluded.contains(&(cell.ordinal() - 1)));
        let waiting: Vec<Cell<'_>> = waiting.collect();
        let meant_for = |cell: &Cell<'_>| cell.attribute("agent").filter(|name| !name.is_empty());
        let agent = waiting.first().and_then(meant_for);
        let is_other = |cell: &Cell<'_>| meant_for(cell) != agent;
        let count = waiting.iter().position(is_other).unwrap_or(waiting.len());
        let (now, later) = waiting.split_at(count);
        let left = (!later.is_empty()).then(|| list_of(later));
        let names =
            |cells: &[Cell<'_>]| cells.iter().map(|cell| cell.name().into_owned()).collect();
        Turn { cells: names(now), later: names(later), left, agent }
    }

    /// Says who answers what, and what comes after that; nothing if nothing does.
    pub fn in_words(&self, agent: &str) -> Option<String> {
        let named = |cells: &[String]| match cells {
            [one] => format!("cell {one}"),
            cells if cells.len() > MANY => format!("{} cells", cells.len()),
            cells => format!("cells {}", cells.join(", ")),
        };
        let (now, later) = (named(&self.cells), named(&self.later));
        (!self.later.is_empty()).then(|| format!("{agent} answers {now}; next: {later}"))
    }
}

#[cfg(test)]
mod tests {
    //! What comes first, and what is left.

    use analects_formats::msgfile;

    use super::*;

    #[test]
    fn cells_for_one_agent_are_answered_together() {
        let turn = |agents: &[&str], exclude: &[&str]| {
            let cells = agents.iter().enumerate().map(|(at, agent)| {
                let name = at + 1;
                format!("# %% [^{name}]\n\n[^{name}]: [markdown] {agent}\n\ntext\n\n")
            });
            let exclude = exclude.iter().map(|list| (*list).to_string()).collect();
            let choice = Choice { exclude, ..Choice::default() };
            let turn = Turn::next(&msgfile::decode(cells.collect::<String>()), &choice);
            (turn.agent, turn.cells.join(","), turn.later.join(","))
        };
        let of = |agent: Option<&str>, cells: &str, later: &str| {
            (agent.map(str::to_string), cells.to_string(), later.to_string())
        };
        let (a, b) = ("agent=a", "agent=b");
        assert_eq!(turn(&[a, b], &[]), of(Some("a"), "1", "2"));
        assert_eq!(turn(&[a, a, b, a], &[]), of(Some("a"), "1,2", "3,4"));
        assert_eq!(turn(&["", "agent=\"\"", a], &[]), of(None, "1,2", "3"));
        assert_eq!(turn(&[a, ""], &[]), of(Some("a"), "1", "2"));
        assert_eq!(turn(&[a, b, b], &["1"]), of(Some("b"), "2,3", ""));
        assert_eq!(turn(&[], &[]), of(None, "", ""));
    }
}
