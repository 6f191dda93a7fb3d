//! Which cells the model sees: lists of cells as people type them, and what has to be said in the
//! cells' `history` so that a call and its result always go together.

mod versions;

pub(super) use versions::{Versions, original};

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use analects_core::{Hint, History, nearest};

use super::branch::rewinds_moved;
use super::compaction::{Compaction, renamed};
use super::item::{ItemError, ItemErrorKind};
use super::parts::whole_of;
use super::{Attribute, Cell, Document, place_in};

/// The roles of cells that a choice is about. Instructions, summaries and the rest of the frame stay.
const CHOSEN: [&str; 6] =
    ["user", "reply", "tool_call", "tool_result", "code_output", "attachment"];

/// What each cell of a document is.
pub(super) fn roles(document: &Document) -> Vec<&'static str> {
    document.cells().map(|cell| cell.role().as_str()).collect()
}

const NAME_ANOTHER: Hint = Hint::Note(Cow::Borrowed("name a message or an answer"));

/// What the `history` of a hidden cell was, if it was seen in part.
pub(super) const BEFORE: &str = "history_before";

/// Cells that are to be seen, and cells that are not, as lists such as `1,3-5`.
///
/// ```
/// use analects_formats::msgfile::{self, Choice};
///
/// let file = "# %% [^1]\n\n[^1]: [markdown]\n\none\n\n# %%% [^2]\n\n[^2]: [coder]\n\ntwo\n";
/// let document = msgfile::decode(file);
/// let choice = Choice { exclude: vec!["2".into()], ..Choice::default() };
/// let changes = choice.changes(&document)?;
/// assert_eq!((changes[0].cell, changes[0].value.as_str()), (1, "none"));
/// # Ok::<(), msgfile::item::ItemError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// If there are any, these are sent and no others, but for what waits for an answer.
    pub include: Vec<String>,
    /// These are not sent.
    pub exclude: Vec<String>,
    /// The first cell that is being asked: it and what comes after it is sent, unless it is excluded or hidden
    /// anyway. Without it, this is the first cell that waits for an answer.
    pub asked: Option<String>,
}

impl Choice {
    /// Whether nothing was chosen.
    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// The same choice with each cell by its own name: what is said next does not belong to it, as it would to
    /// a range without an end. The empty cell that is ready for that is nothing to choose.
    pub fn settled(&self, document: &Document) -> Result<Choice, ItemError> {
        let settle = |lists: &[String]| -> Result<Vec<String>, ItemError> {
            let mut names = Vec::new();
            for list in lists {
                let cells = find_cells(document, list)?;
                let cells = cells.into_iter().map(|at| Cell { document, at });
                let cells: Vec<Cell<'_>> = cells.filter(|cell| !cell.is_ready()).collect();
                if cells.is_empty() {
                    let text = format!("{list}: the cell at the end of the file is empty");
                    let error = ItemError::new(ItemErrorKind::Invalid, text);
                    return Err(error.hinting(Hint::ShowCells));
                }
                names.extend(cells.into_iter().map(firm_name));
            }
            Ok(names)
        };
        let (include, exclude) = (settle(&self.include)?, settle(&self.exclude)?);
        Ok(Choice { include, exclude, asked: self.asked.clone() })
    }

    /// What the cells have to say so that the model sees just these.
    pub fn changes(&self, document: &Document) -> Result<Vec<Attribute>, ItemError> {
        let named = |lists: &[String]| -> Result<BTreeSet<usize>, ItemError> {
            let found: Result<Vec<_>, _> =
                lists.iter().map(|list| find_cells(document, list)).collect();
            Ok(found?.into_iter().flatten().collect())
        };
        let (include, exclude) = (named(&self.include)?, named(&self.exclude)?);
        let families = Families::of(document);
        let mut wanted: BTreeMap<usize, History> = BTreeMap::new();
        if !self.include.is_empty() {
            let tops = |cells: BTreeSet<usize>| -> BTreeSet<usize> {
                cells.into_iter().map(|at| families.top[at]).collect()
            };
            let (named, asked) = (tops(include), tops(self.asked_cells(document)));
            let versions = Versions::of(document);
            let is_kept = |at: &usize| {
                let top = families.top[*at];
                let is_seen = families.history[*at] != History::Exclude;
                is_seen && (named.contains(&top) || asked.contains(&top))
            };
            for at in (0..families.len()).filter(|at| families.is_chosen(*at)) {
                let (top, is_hidden) = (families.top[at], families.history[at] == History::Exclude);
                // What is asked is sent as it stands: only what is named is shown that was hidden, unless
                // something else is said in its place.
                match (named.contains(&top), asked.contains(&top)) {
                    (true, _) if is_hidden && !versions.edits(at).iter().any(is_kept) => {
                        wanted.insert(at, History::Include)
                    }
                    (false, false) if !is_hidden => wanted.insert(at, History::Exclude),
                    _ => None,
                };
            }
        }
        for at in exclude {
            wanted.extend(families.hidden(at).into_iter().map(|at| (at, History::Exclude)));
        }
        // What is no message needs no history, and is left ready to be typed into.
        if let Some(ready) = document.ready_cell() {
            wanted.remove(&(ready.ordinal() - 1));
        }
        let changes = wanted.into_iter().flat_map(|(at, history)| match history {
            History::Exclude => families.hiding(at),
            _ => families.showing(at),
        });
        Ok(changes.collect())
    }

    /// Refuses to leave out for good what stands for others.
    pub fn check_can_be_kept(&self, document: &Document) -> Result<(), ItemError> {
        let Some(summary) = Compaction::of(document).and_then(|it| it.summary) else {
            return Ok(());
        };
        for list in &self.exclude {
            if find_cells(document, list)?.contains(&summary) {
                return check_can_be_hidden(document, summary);
            }
        }
        Ok(())
    }

    /// The places of the cells that are being asked, with what stands between and behind them.
    fn asked_cells(&self, document: &Document) -> BTreeSet<usize> {
        let asked = self.asked.as_deref().and_then(|name| document.cell(name));
        let first = asked.or_else(|| document.unanswered().first().copied());
        first.map_or_else(BTreeSet::new, |first| (first.at..document.cells().len()).collect())
    }
}

fn attribute(cell: usize, key: &'static str, history: History) -> Attribute {
    let value = if history == History::Exclude { "none" } else { history.as_str() };
    Attribute { cell, key, value: value.to_string() }
}

/// What hides a cell and what belongs to it; nothing if the model does not see it anyway.
pub fn hide(document: &Document, at: usize) -> Vec<Attribute> {
    let families = Families::of(document);
    if families.history[at] == History::Exclude {
        return Vec::new();
    }
    families.hidden(at).into_iter().flat_map(|at| families.hiding(at)).collect()
}

/// What hides a cell in whose place something else is said.
pub(super) fn hide_version(document: &Document, at: usize) -> Vec<Attribute> {
    Families::of(document).hiding_version(at)
}

/// Whether the model sees each cell, as far as its `history` says.
pub(super) fn shown(document: &Document) -> Vec<bool> {
    let families = Families::of(document);
    families.history.iter().map(|history| *history != History::Exclude).collect()
}

/// The first cell of what each cell belongs to.
pub(super) fn tops(document: &Document) -> Vec<usize> {
    Families::of(document).top
}

/// Whether a cell says something that can be hidden. A boundary says nothing: it does what it does whether or
/// not the model sees it, and so does a tombstone, and an agent's definition.
pub fn check_can_be_hidden(document: &Document, at: usize) -> Result<(), ItemError> {
    let name = || document.cells().nth(at).map(|cell| cell.name().into_owned()).unwrap_or_default();
    let refuse = |why: &str, hint: Hint| {
        let text = format!("cell {} cannot be hidden: {why}", name());
        Err(ItemError::new(ItemErrorKind::Invalid, text).hinting(hint))
    };
    match roles(document).get(at).copied() {
        Some("compact_boundary") => {
            refuse("it is the boundary of a compaction", Hint::UndoCompaction)
        }
        // Without it the model would know nothing of what it stands for.
        Some("summary") if Compaction::of(document).is_some_and(|it| it.summary == Some(at)) => {
            refuse(
                "it is the summary of a compaction, and stands for what came before",
                Hint::UndoCompaction,
            )
        }
        Some("agent_definition") => refuse("it defines an agent", NAME_ANOTHER),
        Some("details") => refuse("it holds what no other cell can say", NAME_ANOTHER),
        Some("progress") => refuse("it tells of progress only", NAME_ANOTHER),
        Some("tombstone") => refuse("it only takes another cell back", NAME_ANOTHER),
        _ => Ok(()),
    }
}

/// What shows a cell again that was hidden, and what belongs to it. Of the versions of a cell one is seen: if
/// something else was said in its place, that is hidden, and if it was said in the place of another, that one is.
pub fn reveal(document: &Document, at: usize) -> Vec<Attribute> {
    let (families, versions) = (Families::of(document), Versions::of(document));
    let top = families.top[at];
    // A call is not seen without its reply, nor a result without its call.
    let meant: Vec<usize> =
        std::iter::successors(Some(at), |below| families.above[*below]).collect();
    let of_it = |other: &usize| families.top[*other] == top;
    let says_no = |other: &usize| families.own[*other] == Some(History::Exclude);
    let is_meant = |other: &usize| {
        let all = versions.all(*other);
        let is_only = || all.iter().all(says_no) && versions.newest(&all) == Some(*other);
        meant.contains(other) || (!all.iter().any(|at| meant.contains(at)) && is_only())
    };
    // What was hidden beside it was hidden for itself.
    let is_below = |other: &usize| {
        std::iter::successors(Some(*other), |below| families.above[*below]).any(|it| it == at)
    };
    let is_near = |other: &usize| meant.contains(other) || is_below(other);
    let cells = (0..families.len()).filter(of_it).filter(says_no).filter(is_near).filter(is_meant);
    let mut changes: Vec<Attribute> = cells.flat_map(|at| families.showing(at)).collect();
    if !changes.is_empty() {
        // Also one that only its call hides, which is shown now.
        let others = meant.iter().flat_map(|at| versions.all(*at).into_iter().map(|it| (*at, it)));
        let others = others.filter(|(_, other)| !meant.contains(other) && !says_no(other));
        for (meant, other) in others {
            changes.extend(families.hiding_version(other));
            changes.extend(rewinds_moved(document, other, meant));
            // A compaction goes by the version that is seen.
            let name = document.cells().nth(at).map(|cell| cell.name().into_owned());
            changes.extend(name.into_iter().flat_map(|name| renamed(document, other, &name)));
        }
    }
    changes
}

/// The cells of a list such as `1,3-5,2.k3f9qx7a`, by their places, from 0. A range goes from one cell
/// to another in the order of the file; without an end, `5-`, to the last one.
pub fn find_cells(document: &Document, list: &str) -> Result<Vec<usize>, ItemError> {
    let names = Names::of(document);
    let mut found = Vec::new();
    for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match names.find(word) {
            Some(at) => found.push(at),
            None => found.extend(names.range(word)?),
        }
    }
    match found.is_empty() {
        true => Err(ItemError::new(ItemErrorKind::Invalid, format!("{list:?} names no cells"))
            .hinting("name them by their ids, such as 1,3-5")),
        false => Ok(found),
    }
}

/// The cell that a person means who names one: the same words as for a list, of which there must be one.
pub fn find_one(document: &Document, name: &str) -> Result<usize, ItemError> {
    if let Some(cell) = document.cell(name) {
        return Ok(cell.at);
    }
    match find_cells(document, name)?[..] {
        [one] => Ok(one),
        _ => Err(ItemError::new(ItemErrorKind::Invalid, format!("{name} names several cells"))
            .hinting("name one at a time")),
    }
}

/// The list of some cells, which [`find_cells`] reads.
pub fn list_of(cells: &[Cell<'_>]) -> String {
    let names: Vec<String> = cells.iter().map(|cell| firm_name(*cell)).collect();
    names.join(",")
}

/// A name that only this cell has in a list: its id, or its place where that is not enough.
fn firm_name(cell: Cell<'_>) -> String {
    let means_it = |id: &&str| {
        let first = cell.document.cell(id);
        !id.contains([',', '#']) && first.is_some_and(|first| first.at == cell.at)
    };
    cell.id().filter(means_it).map_or_else(|| format!("#{}", cell.ordinal()), str::to_string)
}

/// The names of cells, and their places.
struct Names<'a> {
    ids: HashMap<&'a str, usize>,
    /// The places of cells without id, from 1.
    ordinals: HashMap<usize, usize>,
    count: usize,
}

impl<'a> Names<'a> {
    fn of(document: &'a Document) -> Names<'a> {
        let (mut ids, mut ordinals) = (HashMap::new(), HashMap::new());
        for (at, cell) in document.cells().enumerate() {
            match cell.id() {
                Some(id) => ids.entry(id).or_insert(at),
                None => ordinals.entry(cell.ordinal()).or_insert(at),
            };
        }
        Names { ids, ordinals, count: document.cells().len() }
    }

    fn find(&self, name: &str) -> Option<usize> {
        // With `#`, a place is meant, whatever cell is there, and whatever ids there are.
        let place = name.strip_prefix('#').and_then(place_in).filter(|place| *place <= self.count);
        let by_name = || self.ids.get(name).or_else(|| self.ordinals.get(&place_in(name)?));
        place.map(|place| place - 1).or_else(|| by_name().copied())
    }

    /// The cells from one to another. Ids may hold a hyphen, so each one is tried.
    fn range(&self, word: &str) -> Result<std::ops::RangeInclusive<usize>, ItemError> {
        let mut splits: Vec<(&str, &str)> =
            word.match_indices('-').map(|(at, _)| (&word[..at], &word[at + 1..])).collect();
        splits.extend(word.split_once(".."));
        let end = |name: &str, open: usize| match name.trim() {
            "" => Some(open),
            name => self.find(name),
        };
        let ends = splits.iter().filter(|(first, last)| !(first.is_empty() && last.is_empty()));
        let mut ends = ends.filter_map(|(first, last)| {
            Some((end(first, 0)?, end(last, self.count.saturating_sub(1))?))
        });
        match ends.next() {
            Some((first, last)) if first <= last => Ok(first..=last),
            Some(_) => Err(ItemError::new(
                ItemErrorKind::Invalid,
                format!("{word}: the second cell stands before the first one"),
            )),
            None => Err(self.unknown(word, &splits)),
        }
    }

    fn unknown(&self, word: &str, splits: &[(&str, &str)]) -> ItemError {
        let missing = |name: &&str| !name.is_empty() && self.find(name).is_none();
        let parts = splits.iter().flat_map(|(first, last)| [*first, *last]);
        let name = parts.clone().find(missing).filter(|_| splits.len() == 1).unwrap_or(word);
        let error = ItemError::new(ItemErrorKind::UnknownCell, format!("there is no cell {name}"));
        match nearest(name, self.ids.keys().copied()) {
            Some(near) => error.hinting(format!("did you mean {near}?")),
            None => error.hinting(Hint::ShowCells),
        }
    }
}

/// Which cells belong together: the parts of a message, a call and its results, code and its outputs.
struct Families {
    roles: Vec<&'static str>,
    /// The cell that each belongs to, and those that belong to it.
    above: Vec<Option<usize>>,
    below: Vec<Vec<usize>>,
    /// The first cell of each one's family.
    top: Vec<usize>,
    /// What each says itself, what it said before it was hidden, and what counts for it.
    own: Vec<Option<History>>,
    before: Vec<Option<History>>,
    history: Vec<History>,
}

impl Families {
    fn of(document: &Document) -> Families {
        let (roles, names) = (roles(document), Names::of(document));
        let count = roles.len();
        let leading = document.leading_parts();
        let mut families = Families {
            roles,
            above: vec![None; count],
            below: vec![Vec::new(); count],
            top: (0..count).collect(),
            own: Vec::with_capacity(count),
            before: Vec::with_capacity(count),
            history: vec![History::Include; count],
        };
        for (at, cell) in document.cells().enumerate() {
            let is_named =
                matches!(families.roles[at], "tool_call" | "tool_result" | "code_output");
            let by_id = || {
                let id = cell.id()?;
                let of_call = id.rsplit_once('.').map(|(of, _)| of).filter(|_| is_named);
                names.find(of_call.or_else(|| whole_of(id))?)
            };
            let part = cell.part().and_then(|part| names.find(part));
            let above = part.or_else(by_id).filter(|above| *above < at);
            families.above[at] = leading.get(&at).copied().or(above);
            families.own.push(cell.history());
            families.before.push(cell.attribute(BEFORE).and_then(History::parse));
        }
        // What stands before the cell that it belongs to comes after it here.
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|at| leading.get(at).map_or((*at, false), |whole| (*whole, true)));
        for at in order {
            families.add(at);
        }
        families
    }

    fn add(&mut self, at: usize) {
        let (above, own) = (self.above[at], self.own[at]);
        if let Some(above) = above {
            self.below[above].push(at);
            self.top[at] = self.top[above];
        }
        // Only code and its outputs, and results that say so, speak for themselves.
        let governing = above.filter(|_| match (self.roles[at], own) {
            ("code_output", _) => false,
            ("tool_result", own) => own.is_none(),
            (_, own) => own.is_none_or(|own| own == History::Include),
        });
        self.history[at] = match governing {
            Some(above) => self.history[above],
            None => own.unwrap_or_default(),
        };
    }

    fn len(&self) -> usize {
        self.roles.len()
    }

    fn is_chosen(&self, at: usize) -> bool {
        CHOSEN.contains(&self.roles[at])
    }

    /// The cells that have to say that they are hidden, so that this one is, with its call or its result,
    /// and with the rest of its message.
    fn hidden(&self, at: usize) -> Vec<usize> {
        let mut first = at;
        while let Some(above) = self.above[first] {
            // A call can go without its reply; a result cannot go without its call.
            if matches!(self.roles[first], "tool_call" | "code_output") {
                break;
            }
            first = above;
        }
        let must_say = |other: usize| {
            self.roles[other] == "code_output"
                || self.above[other].is_some_and(|above| above > other)
                || self.own[other].is_some_and(|own| own != History::Exclude)
        };
        let (mut found, mut waiting) = (vec![first], self.below[first].clone());
        while let Some(other) = waiting.pop() {
            waiting.extend(&self.below[other]);
            found.extend(must_say(other).then_some(other));
        }
        found.sort_unstable();
        found
    }

    /// What a cell has to say that is hidden: with it what it said before, where that is not that all of it is seen.
    fn hiding(&self, at: usize) -> Vec<Attribute> {
        let before = match (self.own[at], self.before[at]) {
            (Some(History::Exclude), _) | (Some(History::Summary), Some(History::Summary)) => None,
            (Some(History::Summary), _) => Some(History::Summary),
            (_, Some(_)) => Some(History::Include),
            _ => None,
        };
        let before = before.map(|before| attribute(at, BEFORE, before));
        std::iter::once(attribute(at, "history", History::Exclude)).chain(before).collect()
    }

    /// What a cell has to say that is shown again.
    fn showing(&self, at: usize) -> Vec<Attribute> {
        let before = self.before[at].filter(|before| *before != History::Exclude);
        vec![attribute(at, "history", before.unwrap_or_default())]
    }

    /// What hides a cell in whose place another one stands. A result, or a part of a message, goes alone: the other
    /// one is beside the call, or in the message.
    fn hiding_version(&self, at: usize) -> Vec<Attribute> {
        let goes_alone = self.roles[at] == "tool_result" || self.above[at].is_some();
        let cells = if goes_alone { vec![at] } else { self.hidden(at) };
        cells.into_iter().flat_map(|at| self.hiding(at)).collect()
    }
}

#[cfg(test)]
mod tests {
    //! Lists of cells, and families.

    use super::*;
    use crate::msgfile::{Document, decode, messages, session_of, set_attributes};
    use analects_core::Json;

    const FILE: &str = "# %% [^1]\n[^1]: [markdown]\n\nweather?\n\n\
        # %%% [^2]\n[^2]: [coder]\n\nlet me see\n\n\
        # %%% [^2.aaa]\n[^2.aaa]: [tool] name=\"w\"\n\n<invoke name=\"w\"></invoke>\n\n\
        # %%% [^2.bbb]\n[^2.bbb]: [tool] name=\"w\"\n\n<invoke name=\"w\"></invoke>\n\n\
        # %%% [^2.aaa.1]\n[^2.aaa.1]: [tool] status=\"success\"\n\nsun\n\n\
        # %%% [^2.bbb.1]\n[^2.bbb.1]: [tool] status=\"success\"\n\nrain\n\n\
        # %% [^c-1]\n[^c-1]: [code]\n\n```python\n1\n```\n\n\
        # %%% [^c-1.1]\n[^c-1.1]: [python]\n\nstdout> 1\n\n\
        # %%\n\nand now?\n";

    fn visible(document: &Document) -> Vec<String> {
        let all = messages(document, &session_of("x")).messages;
        let seen = all.iter().filter(|message| message.history != History::Exclude);
        seen.map(|message| message.to_json()).collect()
    }

    fn apply(document: &Document, changes: &[Attribute]) -> Document {
        document.with_source(set_attributes(document, changes).unwrap())
    }

    fn places(list: &str) -> Vec<usize> {
        find_cells(&decode(FILE), list).unwrap()
    }

    #[test]
    fn lists_name_cells_by_id_place_and_range() {
        assert_eq!(places("1"), [0]);
        assert_eq!(places("2.aaa, 9"), [2, 8]);
        assert_eq!(places("1-2.aaa"), [0, 1, 2]);
        assert_eq!(places("c-1"), [6]);
        assert_eq!(places("c-1-c-1.1"), [6, 7]);
        assert_eq!(places("c-1.1-"), [7, 8]);
        assert_eq!(places("..2"), [0, 1]);
        for (wrong, says) in [
            ("7", "no cell 7"),
            ("1-77", "no cell 77"),
            ("", "no cells"),
            ("9-1", "before"),
            ("-", "no cell -"),
        ] {
            let error = find_cells(&decode(FILE), wrong).unwrap_err();
            assert!(error.to_string().contains(says), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_call_and_its_result_go_together() {
        let document = decode(FILE);
        for at in [2, 4] {
            let after = apply(&document, &hide(&document, at));
            let seen = visible(&after).join("\n");
            assert!(!seen.contains("sun") && seen.contains("rain"), "{at}: {seen}");
            assert_eq!(seen.matches("\"type\":\"tool_use\"").count(), 1, "{seen}");
        }
        let after = apply(&document, &hide(&document, 1));
        let seen = visible(&after).join("\n");
        assert!(!seen.contains("sun") && !seen.contains("rain") && !seen.contains("see"), "{seen}");
    }

    #[test]
    fn code_and_its_outputs_go_together() {
        let document = decode(FILE);
        let after = apply(&document, &hide(&document, 6));
        assert!(!visible(&after).join("\n").contains("stdout"));
        assert_eq!(visible(&after).len(), visible(&document).len() - 2);
    }

    #[test]
    fn what_was_hidden_is_shown_again() {
        let document = decode(FILE);
        for at in 0..9 {
            let hidden = apply(&document, &hide(&document, at));
            assert_eq!(hide(&hidden, at), [], "{at} is hidden");
            let shown = apply(&hidden, &reveal(&hidden, at));
            assert_eq!(visible(&shown).len(), visible(&document).len(), "{at}");
            assert!(reveal(&shown, at).is_empty());
        }
    }

    #[test]
    fn a_result_that_insists_is_hidden_with_its_call() {
        let file = FILE.replace("[^2.aaa.1]: [tool]", "[^2.aaa.1]: [tool] history=include");
        let document = decode(file.as_str());
        let after = apply(&document, &hide(&document, 2));
        assert!(!visible(&after).join("\n").contains("sun"));
    }

    #[test]
    fn what_is_hidden_is_not_shown_because_something_is_asked_above_it() {
        let hidden = "\n# %% [^n]\n[^n]: [markdown] history=none\n\nPRIVATE\n\n\
            # %% [^f]\n[^f]: [attachment]\n\nfacts\n\n# %%\n\nand then?\n";
        let document = decode(format!("{FILE}{hidden}"));
        for asked in [None, Some("9".to_string()), Some("#9".to_string())] {
            let choice = Choice { include: vec!["1".into()], asked, ..Choice::default() };
            let changes = choice.changes(&document).unwrap();
            let seen = visible(&apply(&document, &changes)).join("\n");
            assert!(!seen.contains("PRIVATE") && !seen.contains("sun"), "{seen}");
            for said in ["weather?", "and now?", "facts", "and then?"] {
                assert!(seen.contains(said), "{said}: {seen}");
            }
        }
        // Who names it wants to see it.
        let choice = Choice { include: vec!["n".into()], ..Choice::default() };
        let changes = choice.changes(&document).unwrap();
        assert!(visible(&apply(&document, &changes)).join("\n").contains("PRIVATE"));
    }

    #[test]
    fn only_the_chosen_cells_and_the_question_are_seen() {
        let document = decode(FILE);
        let choice = Choice { include: vec!["2.aaa".into()], ..Choice::default() };
        let seen = visible(&apply(&document, &choice.changes(&document).unwrap())).join("\n");
        assert!(seen.contains("sun") && seen.contains("see") && seen.contains("and now"), "{seen}");
        assert!(!seen.contains("weather?") && !seen.contains("python"), "{seen}");
        let choice = Choice { include: vec!["1-2".into()], exclude: vec!["2".into()], asked: None };
        let seen = visible(&apply(&document, &choice.changes(&document).unwrap()));
        assert_eq!(seen.len(), 2, "{seen:?}");
    }
}
