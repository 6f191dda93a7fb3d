//! An index of cells by id, and the numbers that new ids must not repeat. What needs a pass over all cells is computed
//! on the first use, and updated when the file grows.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::scan::CellSpans;
use super::{Cell, Document};

/// The indexes of cells, by their ids. If several cells share an id, it holds the first one.
#[derive(Debug, Default)]
pub(super) struct IdTable {
    places: HashMap<Box<[u8]>, usize>,
}

impl IdTable {
    /// The index of the cell with this id.
    pub(super) fn find(&self, id: &[u8]) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// Adds a cell, unless it has no id or an earlier cell has the same.
    pub(super) fn add(&mut self, id: &[u8], place: usize) {
        if !id.is_empty() {
            self.places.entry(id.into()).or_insert(place);
        }
    }

    /// Removes a cell, if the table holds it.
    pub(super) fn remove(&mut self, id: &[u8], place: usize) {
        if self.find(id) == Some(place) {
            self.places.remove(id);
        }
    }
}

/// What is known about the names of a file's cells; each part is computed on its first use.
#[derive(Debug, Default)]
pub(super) struct NameIndex {
    ids: OnceLock<IdTable>,
    numbers: OnceLock<IdNumbers>,
    loose: OnceLock<LooseNumbers>,
    /// The cells that come before the head that they are parts of, and the index of that head.
    leading: OnceLock<HashMap<usize, usize>>,
}

/// The numbers that a new id must not collide with.
#[derive(Debug, Clone, Copy)]
struct IdNumbers {
    /// The largest number that an id starts with.
    largest_id: u64,
    /// The index of the last cell without an id, not counting the last cell of the file.
    last_without_id: Option<usize>,
}

impl IdNumbers {
    fn of(cells: &[CellSpans], source: &[u8]) -> IdNumbers {
        let numbers = cells.iter().filter_map(|cell| number_in(cell, source));
        let before_last = &cells[..cells.len().saturating_sub(1)];
        IdNumbers {
            largest_id: numbers.max().unwrap_or(0),
            last_without_id: before_last.iter().rposition(|cell| cell.id.is_empty()),
        }
    }
}

/// The numbers of the cells without an id. They count up in file order and leave out every number that is an id, so that
/// a new cell with a larger id changes none of them.
#[derive(Debug, Default)]
struct LooseNumbers {
    /// The indexes of these cells, in order.
    places: Vec<usize>,
    /// Their numbers, in the same order.
    numbers: Vec<u64>,
}

impl LooseNumbers {
    fn of(cells: &[CellSpans], source: &[u8], ids: &IdTable) -> LooseNumbers {
        let mut loose = LooseNumbers::default();
        // Numbers of outputs above, such as `2` of `2.think`. An output belongs to a cell above it, so the ids of
        // outputs below may mean a cell without an id.
        let mut above = HashSet::new();
        let mut number = 0;
        for (at, cell) in cells.iter().enumerate() {
            if !cell.id.is_empty() {
                above.extend(number_in(cell, source));
                continue;
            }
            number += 1;
            while above.contains(&number) || ids.find(number.to_string().as_bytes()).is_some() {
                number += 1;
            }
            loose.places.push(at);
            loose.numbers.push(number);
        }
        loose
    }
}

/// The number that the id of a cell starts with.
fn number_in(cell: &CellSpans, source: &[u8]) -> Option<u64> {
    leading_number(std::str::from_utf8(cell.id.of(source)).ok()?)
}

/// The number that an id starts with.
pub(super) fn leading_number(id: &str) -> Option<u64> {
    let digits = id.len() - id.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    // No file has so many cells that a longer number counts them, and the next number must be a valid id too.
    (1..=15)
        .contains(&digits)
        .then(|| id[..digits].parse().ok())
        .flatten()
}

/// The position in a name such as `#7`.
fn position_in(name: &str) -> Option<usize> {
    let position = number_in_name(name.strip_prefix('#')?)?;
    usize::try_from(position).ok()
}

/// The number in a name such as `7`. `07` is no number, because there is one way to write each.
fn number_in_name(name: &str) -> Option<u64> {
    let is_plain = name.starts_with(|c: char| ('1'..='9').contains(&c));
    name.parse().ok().filter(|_| is_plain)
}

impl NameIndex {
    /// Forgets the cells from `at` on, which are about to be removed.
    pub(super) fn cut(&mut self, at: usize, cells: &[CellSpans], source: &[u8]) {
        self.leading = OnceLock::new();
        self.loose = OnceLock::new();
        if let Some(ids) = self.ids.get_mut() {
            for (place, cell) in cells.iter().enumerate().skip(at) {
                ids.remove(cell.id.of(source), place);
            }
        }
    }

    /// Adds the cells from `at` on, which replaced `gone` others.
    pub(super) fn extend(&mut self, at: usize, gone: usize, cells: &[CellSpans], source: &[u8]) {
        if let Some(ids) = self.ids.get_mut() {
            for (place, cell) in cells.iter().enumerate().skip(at) {
                ids.add(cell.id.of(source), place);
            }
        }
        let Some(known) = self.numbers.get_mut() else {
            return;
        };
        let new = IdNumbers::of(&cells[at..], source);
        // A cell that was removed may have had the largest number, or may have been the last one without an id.
        let is_larger = new.largest_id >= known.largest_id;
        let is_gone = known.last_without_id.is_some_and(|loose| loose >= at);
        if (!is_larger && gone > 1) || (new.last_without_id.is_none() && is_gone) {
            self.numbers = OnceLock::new();
            return;
        }
        known.largest_id = known.largest_id.max(new.largest_id);
        known.last_without_id = new
            .last_without_id
            .map(|loose| at + loose)
            .or(known.last_without_id);
    }
}

impl Document {
    /// The index of the first cell with this id, from 0.
    pub(super) fn place_of_id(&self, id: &str) -> Option<usize> {
        let cells = &self.scan.cells;
        let ids = self.names.ids.get_or_init(|| {
            let mut ids = IdTable::default();
            for (place, cell) in cells.iter().enumerate() {
                ids.add(cell.id.of(&self.source), place);
            }
            ids
        });
        ids.find(id.as_bytes())
    }

    /// The cells that come before the head that they are parts of, and the index of that head.
    pub(super) fn leading_parts(&self) -> &HashMap<usize, usize> {
        self.names.leading.get_or_init(|| self.find_leading_parts())
    }

    fn loose_numbers(&self) -> &LooseNumbers {
        self.names.loose.get_or_init(|| {
            // Builds the table of ids.
            self.place_of_id("");
            let ids = self.names.ids.get();
            ids.map_or_else(LooseNumbers::default, |ids| {
                LooseNumbers::of(&self.scan.cells, &self.source, ids)
            })
        })
    }

    /// The number of the cell without an id at this index, which it gets as its id. It is the next number that is no id:
    /// 1 for the first such cell, unless a cell has the id 1.
    pub(super) fn number_of(&self, place: usize) -> u64 {
        let loose = self.loose_numbers();
        let at = loose.places.partition_point(|other| *other < place);
        loose.numbers.get(at).copied().unwrap_or_default()
    }

    /// The index of the cell without an id that has this number.
    fn place_of_number(&self, number: u64) -> Option<usize> {
        let loose = self.loose_numbers();
        let at = loose.numbers.binary_search(&number).ok()?;
        loose.places.get(at).copied()
    }

    fn numbers(&self) -> IdNumbers {
        *self
            .names
            .numbers
            .get_or_init(|| IdNumbers::of(&self.scan.cells, &self.source))
    }

    /// The largest number that an id starts with.
    pub(super) fn largest_id(&self) -> u64 {
        self.numbers().largest_id
    }

    /// The index of the last cell without an id, not counting the last cell of the file.
    pub(super) fn last_without_id(&self) -> Option<usize> {
        self.numbers().last_without_id
    }

    /// The index of the cell with this name, from 0: the cell with this id, or else the cell without an id that has this
    /// number (`7`). A number with `#` is a position (`#7`), even if a cell has it as its id.
    pub(super) fn place_of(&self, name: &str) -> Option<usize> {
        position_in(name)
            .filter(|position| *position <= self.scan.cells.len())
            .map(|position| position - 1)
            .or_else(|| self.place_of_id(name))
            .or_else(|| self.place_of_number(number_in_name(name)?))
    }

    /// Whether all ids are numbers that grow, so that no id can be repeated.
    pub(super) fn ids_count_up(&self) -> bool {
        let mut last = None;
        self.cells().filter_map(Cell::id).all(|id| {
            let number = id.parse::<u64>().ok();
            number > std::mem::replace(&mut last, number)
        })
    }
}
