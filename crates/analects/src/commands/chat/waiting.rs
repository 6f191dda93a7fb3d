//! What waits for an answer in a file, turn by turn: cells that are meant for different agents are answered one
//! after the other, in their order, each by the agent that it names.

use analects_formats::msgfile::{Cell, Choice, Document, is_same_text, list_of};
use analects_runtime::WaitingCells;

/// How many cells are told by name.
const MANY: usize = 12;

/// A cell that waits for an answer.
#[derive(Debug, Clone)]
pub struct Waiting {
    name: String,
    id: Option<String>,
    text: String,
}

impl Waiting {
    fn of(cell: &Cell<'_>) -> Waiting {
        let (name, text) = (cell.name().into_owned(), cell.content().into_owned());
        Waiting { name, id: cell.id().map(str::to_string), text }
    }

    /// Whether it is the same question, though the file has changed: a cell without id has another name when an
    /// answer stands above it.
    fn is(&self, other: &Waiting) -> bool {
        match (&self.id, &other.id) {
            (Some(id), Some(other)) => id == other,
            _ => is_same_text(&self.text, &other.text),
        }
    }
}

/// The cells that are answered next.
#[derive(Debug, Default)]
pub struct Turn {
    /// The agent that they are meant for, if they say so.
    pub agent: Option<String>,
    pub cells: Vec<Waiting>,
    /// The cells that come after that.
    pub later: Vec<Waiting>,
    /// The same as a list.
    pub left: Option<String>,
}

impl Turn {
    /// The first of the cells that wait, as many as are meant for one agent. What is not sent waits for nobody.
    pub fn next(document: &Document, choice: &Choice) -> Turn {
        let WaitingCells { agent, now, later } = WaitingCells::of(document, &choice.exclude);
        let left = (!later.is_empty()).then(|| list_of(&later));
        let of = |cells: &[Cell<'_>]| cells.iter().map(Waiting::of).collect();
        Turn { cells: of(&now), later: of(&later), left, agent }
    }

    /// Says who answers what in this turn of a call, and what comes after that; nothing if nothing does.
    pub fn in_words(&self, choice: &Choice, agent: &str) -> Option<String> {
        let mut course = Course::of(choice);
        course.take(self);
        course.in_words(self, agent)
    }

    /// Says what waits where this turn is not taken.
    pub fn not_taken(&self) -> String {
        left_waiting(&self.cells.iter().chain(&self.later).collect::<Vec<_>>())
    }
}

/// The way of a call through what waits: what waits when it begins is what it asks, and no question twice, so that it
/// ends, whatever is typed meanwhile.
#[derive(Debug, Default)]
pub struct Course {
    /// Whether one answer is all that this call gets.
    is_one: bool,
    /// What a further call has to know, in words that end the sentence about it.
    note: &'static str,
    is_begun: bool,
    /// What is still to be asked.
    next: Vec<Waiting>,
    asked: Vec<Waiting>,
}

impl Course {
    /// The course of a call with a choice that is not kept: it does not hold for the next call, and places have moved.
    pub fn of(choice: &Choice) -> Course {
        match choice.is_empty() {
            true => Course::default(),
            false => Course::of_one(", with its own -i or -e"),
        }
    }

    /// A course of one turn, and what a further call has to know.
    pub fn of_one(note: &'static str) -> Course {
        Course { is_one: true, note, ..Course::default() }
    }

    /// Whether a turn was taken.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Whether another turn is to be taken.
    pub fn goes_on(&self) -> bool {
        !self.next.is_empty()
    }

    /// Goes on with a turn; `false` if it does not belong to this call.
    pub fn take(&mut self, turn: &Turn) -> bool {
        let is_in = |cells: &[Waiting], cell: &Waiting| cells.iter().any(|known| known.is(cell));
        if !self.is_begun {
            self.is_begun = true;
            self.next = if self.is_one { Vec::new() } else { turn.later.clone() };
        } else {
            let mut waiting = turn.cells.iter().chain(&turn.later);
            let is_new = |cell| is_in(&self.next, cell) || !is_in(&self.asked, cell);
            if !waiting.any(|cell| is_in(&self.next, cell)) || !turn.cells.iter().any(is_new) {
                return false;
            }
            take_out(&mut self.next, &turn.cells);
        }
        self.asked.extend_from_slice(&turn.cells);
        true
    }

    /// Says who answers what in a turn that was taken, and what comes after that; nothing if it is the only one.
    pub fn in_words(&self, turn: &Turn, agent: &str) -> Option<String> {
        let mut next = self.next.clone();
        let others = take_out(&mut next, &turn.later);
        let is_other = |at: &usize| others.contains(at);
        let (others, next): (Vec<usize>, Vec<usize>) = (0..turn.later.len()).partition(is_other);
        let of = |places: &[usize]| places.iter().map(|at| &turn.later[*at]).collect::<Vec<_>>();
        let mut words =
            format!("{agent} answers {}", named(&turn.cells.iter().collect::<Vec<_>>()));
        if !next.is_empty() {
            words += &format!("; next: {}", named(&of(&next)));
        }
        if !others.is_empty() {
            words += &format!("; {}{}", left_waiting(&of(&others)), self.note);
        }
        let is_only = turn.later.is_empty() && self.asked.len() <= turn.cells.len();
        (!is_only).then_some(words)
    }
}

/// Says that cells are not asked by this call.
fn left_waiting(cells: &[&Waiting]) -> String {
    let (wait, them) = if cells.len() == 1 { ("waits", "it") } else { ("wait", "them") };
    format!("{} {wait}: a further call asks {them}", named(cells))
}

/// Takes cells out of some, each once; the places of those that are not among them.
fn take_out(from: &mut Vec<Waiting>, cells: &[Waiting]) -> Vec<usize> {
    let mut missing = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        match from.iter().position(|known| known.is(cell)) {
            Some(found) => drop(from.remove(found)),
            None => missing.push(at),
        }
    }
    missing
}

/// Cells by their names.
fn named(cells: &[&Waiting]) -> String {
    let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
    match names[..] {
        [one] => format!("cell {one}"),
        _ if names.len() > MANY => format!("{} cells", names.len()),
        _ => format!("cells {}", names.join(", ")),
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
            let names = |cells: &[Waiting]| {
                cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>().join(",")
            };
            (turn.agent, names(&turn.cells), names(&turn.later))
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

    #[test]
    fn a_call_asks_what_it_said_and_nothing_twice() {
        let turn = |cells: &[(&str, &str)]| {
            let cells = cells.iter().map(|(id, agent)| {
                format!("# %% [^{id}]\n\n[^{id}]: [markdown] agent={agent}\n\ntext {id}\n\n")
            });
            Turn::next(&msgfile::decode(cells.collect::<String>()), &Choice::default())
        };
        let mut course = Course::default();
        let says = |course: &Course, turn: &Turn| course.in_words(turn, "x").unwrap_or_default();
        let first = turn(&[("1", "a"), ("2", "b"), ("3", "a")]);
        assert!(course.take(&first) && course.goes_on());
        assert_eq!(says(&course, &first), "x answers cell 1; next: cells 2, 3");
        // What is typed above is asked before, and what is typed below waits.
        let typed = turn(&[("4", "a"), ("2", "b"), ("3", "a"), ("5", "b")]);
        assert!(course.take(&typed) && course.goes_on());
        assert_eq!(
            says(&course, &typed),
            "x answers cell 4; next: cells 2, 3; cell 5 waits: a further call asks it"
        );
        // What was asked and still waits is not asked again.
        assert!(!course.take(&turn(&[("1", "a"), ("2", "b"), ("3", "a")])));
        assert!(course.take(&turn(&[("2", "b"), ("3", "a")])));
        assert!(course.take(&turn(&[("3", "a"), ("5", "b")])) && !course.goes_on());
        let mut course = Course::default();
        assert!(course.take(&turn(&[("1", "a"), ("2", "b")])));
        let last = turn(&[("2", "b")]);
        assert!(course.take(&last));
        assert_eq!(says(&course, &last), "x answers cell 2");
        let mut only = Course::default();
        assert!(only.take(&last) && says(&only, &last).is_empty());
        assert!(!course.take(&turn(&[("5", "b")])) && !course.take(&turn(&[])));
        let mut one = Course::of_one(", so");
        assert!(one.take(&first) && !one.goes_on());
        assert_eq!(
            says(&one, &first),
            "x answers cell 1; cells 2, 3 wait: a further call asks them, so"
        );
    }
}
