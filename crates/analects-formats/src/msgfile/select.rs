//! Selectors: lists of cells such as `1,3-5`, as people type them, and the messages that they mean.

use std::collections::HashMap;

use analects_core::verbs::Target;
use analects_core::{Hint, SessionId, nearest};

use super::item::{ItemError, ItemErrorKind};
use super::{Cell, CellMessages, Document, place_in};

/// The indexes, from 0, of the cells in a list such as `1,3-5,2.k3f9qx7a`. A range is in the order of the file; without
/// an end, as in `5-`, it goes to the last cell. Fails if the list is empty or names a cell that does not exist.
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

/// Resolves a selector to the index, from 0, of exactly one cell.
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

/// A cell that a person chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenCell {
    /// The message, or the call, that the cell is part of.
    pub target: Target,
    /// Whether the cell has no id, so that its name changes as soon as a cell is typed above it.
    pub is_named_by_place: bool,
}

/// The messages of the cells in lists such as `1,3-5`, without the empty cell at the end of the file. Which of them are
/// sent is decided by [`analects_core::verbs::choose`].
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

/// A list of these cells that [`find_cells`] reads.
pub fn list_of(cells: &[Cell<'_>]) -> String {
    let names: Vec<String> = cells.iter().map(|cell| firm_name(*cell)).collect();
    names.join(",")
}

/// A name that means only this cell in a list: its id, or `#` and its ordinal if the id does not.
fn firm_name(cell: Cell<'_>) -> String {
    let means_it = |id: &&str| {
        let first = cell.document.cell(id);
        !id.contains([',', '#']) && first.is_some_and(|first| first.at == cell.at)
    };
    cell.id()
        .filter(means_it)
        .map_or_else(|| format!("#{}", cell.ordinal()), str::to_string)
}

/// The cells of a document, by id and by ordinal.
struct CellIndex<'a> {
    ids: HashMap<&'a str, usize>,
    /// The indexes of cells without an id, by their ordinals.
    ordinals: HashMap<usize, usize>,
    count: usize,
}

impl<'a> CellIndex<'a> {
    fn of(document: &'a Document) -> CellIndex<'a> {
        let mut ids = HashMap::new();
        let mut ordinals = HashMap::new();
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

    /// The index of the cell with this name.
    fn find(&self, name: &str) -> Option<usize> {
        // A name with `#` is always a place, whatever ids there are.
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

    /// The range between two cells. Ids may hold hyphens, so the word is split at each hyphen in turn.
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

    /// The error for a word that names no cell, with a similar id as the hint.
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
