//! Selectors: lists of cells such as `1,3-5`, as people type them, and the messages that they mean.

use analects_core::verbs::Target;
use analects_core::{Hint, SessionId, nearest};

use super::item::{ItemError, ItemErrorKind};
use super::{Cell, CellMessages, Document};

/// The indexes, from 0, of the cells in a list such as `1,3-5,2.k3f9qx7a`. A range is in the order of the file; without
/// an end, as in `5-`, it goes to the last cell. Fails if the list is empty or names a cell that does not exist.
pub fn find_cells(document: &Document, list: &str) -> Result<Vec<usize>, ItemError> {
    let mut found = Vec::new();
    for word in list
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
    {
        match document.place_of(word) {
            Some(at) => found.push(at),
            None => found.extend(range_of(document, word)?),
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

/// A name that means only this cell in a list: its name, or `#` and its ordinal if a list cannot hold the name or
/// another cell has the same.
fn firm_name(cell: Cell<'_>) -> String {
    let name = cell.name();
    let first = cell.document.cell(&name);
    let is_first = first.is_some_and(|first| first.at == cell.at);
    let is_listable = cell.id().is_none() || !name.contains([',', '#']);
    if is_first && is_listable {
        name.into_owned()
    } else {
        format!("#{}", cell.ordinal())
    }
}

/// The range of cells in a word such as `3-5`. Ids may hold hyphens, so the word is split at each hyphen in turn.
fn range_of(document: &Document, word: &str) -> Result<std::ops::RangeInclusive<usize>, ItemError> {
    let mut splits: Vec<(&str, &str)> = word
        .match_indices('-')
        .map(|(at, _)| (&word[..at], &word[at + 1..]))
        .collect();
    splits.extend(word.split_once(".."));
    let end = |name: &str, open: usize| match name.trim() {
        "" => Some(open),
        name => document.place_of(name),
    };
    let last = document.cells().len().saturating_sub(1);
    let mut ends = splits
        .iter()
        .filter(|(first, last)| !(first.is_empty() && last.is_empty()))
        .filter_map(|(from, to)| Some((end(from, 0)?, end(to, last)?)));
    match ends.next() {
        Some((first, last)) if first <= last => Ok(first..=last),
        Some(_) => Err(ItemError::new(
            ItemErrorKind::Invalid,
            format!("{word}: the second cell stands before the first one"),
        )),
        None => Err(unknown_cell(document, word, &splits)),
    }
}

/// The error for a word that names no cell, with a similar id as the hint.
fn unknown_cell(document: &Document, word: &str, splits: &[(&str, &str)]) -> ItemError {
    let missing = |name: &&str| !name.is_empty() && document.place_of(name).is_none();
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
    match nearest(name, document.cells().filter_map(Cell::id)) {
        Some(near) => error.hinting(format!("did you mean {near}?")),
        None => error.hinting(Hint::ShowCells),
    }
}
