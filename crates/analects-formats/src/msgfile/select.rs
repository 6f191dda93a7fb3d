//! Naming cells: lists such as `1,3-5` as people type them, and the messages that they mean.

use std::collections::HashMap;

use analects_core::verbs::Target;
use analects_core::{Hint, SessionId, nearest};

use super::item::{ItemError, ItemErrorKind};
use super::{Cell, CellMessages, Document, place_in};

/// The cells of a list such as `1,3-5,2.k3f9qx7a`, by their places, from 0. A range goes from one cell
/// to another in the order of the file; without an end, `5-`, to the last one.
pub fn find_cells(document: &Document, list: &str) -> Result<Vec<usize>, ItemError> {
    let names = CellIndex::of(document);
    let mut found = Vec::new();
    for word in list
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
    {
        match names.find(word) {
            Some(at) => found.push(at),
            None => found.extend(names.range(word)?),
        }
    }
    if found.is_empty() {
        let error = ItemError::new(ItemErrorKind::Invalid, format!("{list:?} names no cells"));
        return Err(error.hinting("name them by their ids, such as 1,3-5"));
    }
    Ok(found)
}

/// Resolves a selector to exactly one cell, by its place from 0.
pub fn find_one(document: &Document, name: &str) -> Result<usize, ItemError> {
    if let Some(cell) = document.cell(name) {
        return Ok(cell.at);
    }
    match find_cells(document, name)?[..] {
        [one] => Ok(one),
        _ => {
            let text = format!("{name} names several cells");
            Err(ItemError::new(ItemErrorKind::Invalid, text).hinting("name one at a time"))
        }
    }
}

/// A cell that a person named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenCell {
    /// The message, or the call, that it is.
    pub target: Target,
    /// Whether only its place names it, which is another one as soon as somebody types a cell above it.
    pub is_named_by_place: bool,
}

/// The messages of the cells in lists such as `1,3-5`. The empty cell at the end, which is ready for the next
/// message, is nothing to choose. What is sent of these is decided by [`analects_core::verbs::choose`].
///
/// ```
/// use analects_formats::msgfile::{chosen_cells, decode, session_of};
///
/// let document = decode("# %% [^1]\n\n[^1]: [markdown]\n\none\n\n# %%\n\ntwo\n\n# %%\n");
/// let chosen = chosen_cells(&document, &session_of("talk.msg.md"), &["1-".to_string()])?;
/// assert_eq!(chosen.iter().map(|cell| cell.is_named_by_place).collect::<Vec<_>>(), [false, true]);
/// # Ok::<(), analects_formats::msgfile::item::ItemError>(())
/// ```
pub fn chosen_cells(
    document: &Document,
    session: &SessionId,
    lists: &[String],
) -> Result<Vec<ChosenCell>, ItemError> {
    let mut chosen = Vec::new();
    if lists.is_empty() {
        return Ok(chosen);
    }
    let read = CellMessages::of(document, session);
    for list in lists {
        let places = find_cells(document, list)?.into_iter();
        let mut cells = places
            .filter_map(|at| document.cell_at(at))
            .filter(|cell| !cell.is_ready())
            .peekable();
        if cells.peek().is_none() {
            let text = format!("{list}: the cell at the end of the file is empty");
            return Err(ItemError::new(ItemErrorKind::Invalid, text).hinting(Hint::ShowCells));
        }
        for cell in cells {
            if let Some(target) = read.target(cell.at) {
                chosen.push(ChosenCell {
                    target: target.clone(),
                    is_named_by_place: cell.id().is_none(),
                });
            }
        }
    }
    Ok(chosen)
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
    cell.id()
        .filter(means_it)
        .map_or_else(|| format!("#{}", cell.ordinal()), str::to_string)
}

/// The names of cells, and their places.
struct CellIndex<'a> {
    ids: HashMap<&'a str, usize>,
    /// The places of cells without id, from 1.
    ordinals: HashMap<usize, usize>,
    count: usize,
}

impl<'a> CellIndex<'a> {
    fn of(document: &'a Document) -> CellIndex<'a> {
        let (mut ids, mut ordinals) = (HashMap::new(), HashMap::new());
        for (at, cell) in document.cells().enumerate() {
            match cell.id() {
                Some(id) => ids.entry(id).or_insert(at),
                None => ordinals.entry(cell.ordinal()).or_insert(at),
            };
        }
        CellIndex {
            ids,
            ordinals,
            count: document.cells().len(),
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        // With `#`, a place is meant, whatever cell is there, and whatever ids there are.
        let place = name
            .strip_prefix('#')
            .and_then(place_in)
            .filter(|place| *place <= self.count);
        let by_name = || {
            self.ids
                .get(name)
                .or_else(|| self.ordinals.get(&place_in(name)?))
        };
        place.map(|place| place - 1).or_else(|| by_name().copied())
    }

    /// The cells from one to another. Ids may hold a hyphen, so each one is tried.
    fn range(&self, word: &str) -> Result<std::ops::RangeInclusive<usize>, ItemError> {
        let mut splits: Vec<(&str, &str)> = word
            .match_indices('-')
            .map(|(at, _)| (&word[..at], &word[at + 1..]))
            .collect();
        splits.extend(word.split_once(".."));
        let end = |name: &str, open: usize| match name.trim() {
            "" => Some(open),
            name => self.find(name),
        };
        let ends = splits
            .iter()
            .filter(|(first, last)| !(first.is_empty() && last.is_empty()));
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
        let name = parts
            .clone()
            .find(missing)
            .filter(|_| splits.len() == 1)
            .unwrap_or(word);
        let error = ItemError::new(
            ItemErrorKind::UnknownCell,
            format!("there is no cell {name}"),
        );
        match nearest(name, self.ids.keys().copied()) {
            Some(near) => error.hinting(format!("did you mean {near}?")),
            None => error.hinting(Hint::ShowCells),
        }
    }
}
