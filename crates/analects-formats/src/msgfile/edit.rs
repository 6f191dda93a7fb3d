//! Changes to a message file as splices: what goes where, and not a byte more.

use analects_core::{Problem, Span};

use super::decode::is_stored_as;
use super::{Cell, CellKind, Document, NewCell};

/// Bytes to put in the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The bytes that go.
    pub at: Span,
    /// The bytes that come.
    pub bytes: Vec<u8>,
}

impl Splice {
    /// The source with this change made.
    pub fn apply(&self, source: &[u8]) -> Vec<u8> {
        [&source[..self.at.start], &self.bytes, &source[self.at.end..]].concat()
    }
}

impl Document {
    /// The id that a new cell gets: one more than the number of cells and than every number that an
    /// id starts with.
    pub fn next_id(&self) -> String {
        let numbers = self.cells.iter().filter_map(|cell| leading_number(cell.id.as_deref()?));
        let largest = numbers.chain([self.cells.len() as u64]).max().unwrap_or(0);
        let free = |id: &String| self.cells.iter().all(|cell| cell.id.as_ref() != Some(id));
        let mut ids = (largest + 1..).map(|number| number.to_string());
        ids.find(free).unwrap_or_default()
    }

    /// The problem that keeps this file from being written, if there is one.
    pub fn why_not_writable(&self) -> Option<&Problem> {
        self.problems.iter().find(|problem| problem.code == "not-utf8")
    }

    /// The empty `# %%` at the end of a file that waits for somebody to type into it.
    pub(super) fn ready_cell(&self) -> Option<&Cell> {
        let ready = |cell: &&Cell| {
            cell.kind == CellKind::Message
                && cell.id.is_none()
                && cell.title.is_empty()
                && cell.body.is_empty()
        };
        self.cells.last().filter(ready)
    }

    /// Where a new cell goes, and what must stand before its head.
    pub(super) fn place_for_new_cell(&self) -> (Span, String) {
        let end = self.source.len();
        if let Some(ready) = self.ready_cell() {
            return (ready.span, String::new());
        }
        let line_end = self.line_end();
        let mut before = String::new();
        match self.source.last() {
            None => return (Span::new(0, 0), before),
            Some(b'\n') => {}
            Some(b'\r') => before.push_str("\r\n"),
            Some(_) => before.push_str(line_end),
        }
        if !self.last_cell_waits_for_lines() {
            before.push_str(line_end);
        }
        (Span::new(end, end), before)
    }

    /// Whether the last cell has fewer lines than its `stored` says. One more, and it would read
    /// differently, so nothing may be added between it and the next head.
    fn last_cell_waits_for_lines(&self) -> bool {
        self.cells.last().is_some_and(|cell| {
            let stored = cell.attribute("stored");
            stored.is_some_and(|stored| !is_stored_as(self, cell, stored))
        })
    }
}

fn leading_number(id: &str) -> Option<u64> {
    let digits = id.len() - id.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    // Longer numbers are nobody's count of cells.
    (1..=15).contains(&digits).then(|| id[..digits].parse().ok()).flatten()
}

/// Adds a cell at the end of the file, or in the place of the empty one that is ready there.
pub fn append(document: &Document, cell: &NewCell) -> Splice {
    let (at, mut text) = document.place_for_new_cell();
    text.push_str(&cell.to_text(document.line_end()));
    Splice { at, bytes: text.into_bytes() }
}

/// Writes a cell in the place of another.
pub fn replace(document: &Document, old: &Cell, cell: &NewCell) -> Splice {
    let mut text = cell.to_text(document.line_end());
    if old.span.end < document.source.len() {
        text.push_str(document.line_end());
    }
    Splice { at: old.span, bytes: text.into_bytes() }
}
