//! The ids of new cells: numbers that no cell of the file has.

use super::ids::leading_number;
use super::{Cell, Document};

impl Document {
    /// The id for a new cell: a number above every number that an id starts with, and above the numbers of all cells
    /// without an id. The empty cell that the new one replaces does not count.
    pub fn next_id(&self) -> String {
        let last = self
            .cells()
            .next_back()
            .filter(|cell| cell.id().is_none() && !cell.is_ready());
        let unnamed = last.map(|cell| cell.at).or_else(|| self.last_without_id());
        let number = unnamed.map_or(0, |at| self.number_of(at));
        (self.largest_lasting_id().max(number) + 1).to_string()
    }

    /// The largest number that an id starts with, without the empty cell at the end, whose number becomes free.
    fn largest_lasting_id(&self) -> u64 {
        let largest = self.largest_id();
        let ready = self.ready_cell().and_then(Cell::id);
        if ready.and_then(leading_number) != Some(largest) {
            return largest;
        }
        let ids = self.cells().rev().skip(1).filter_map(Cell::id);
        ids.filter_map(leading_number).max().unwrap_or(0)
    }

    /// The largest number that follows `prefix` in an id: 2 for `1.` if there is `1.2`, or `1.2-3`.
    pub(super) fn last_number(&self, prefix: &str) -> u64 {
        let ids = self.cells().filter_map(Cell::id);
        let rests = ids.filter_map(|id| id.strip_prefix(prefix));
        rests.filter_map(whole_number).max().unwrap_or(0)
    }
}

/// The number that the rest of an id starts with. A nonce may start with digits too, and is not a number.
fn whole_number(rest: &str) -> Option<u64> {
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_whole = after.is_empty() || after.starts_with(['-', '.']);
    leading_number(rest).filter(|_| is_whole)
}
