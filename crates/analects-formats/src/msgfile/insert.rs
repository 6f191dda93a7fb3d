//! Insertion of cells between others: where they go, and the check that no other cell reads differently afterwards.

use std::ops::Range;

use analects_core::Span;

use super::cell_edits::would_change_others;
use super::edit::cells_text;
use super::item::ItemError;
use super::line::is_blank_line;
use super::owners::{OwnedCell, owned_cells};
use super::scan::line_text;
use super::{Cell, CellRole, Document, MetaKey, NewCell, Splice, append, append_answer};

/// Adds an answer below the cell that was asked and everything that belongs to it, even if prompts without an answer
/// follow. If nothing follows, or if a cell that follows would read differently, the answer goes to the end of the file
/// as [`append_answer`] puts it.
pub fn answer_below(document: &Document, asked: Cell<'_>, cells: &[NewCell]) -> Splice {
    let placed = owned_cells(document);
    let last = last_of_message(&placed, asked.at);
    if is_end(&placed, last) {
        return append_answer(document, cells);
    }
    insert(document, &placed, last, cells).unwrap_or_else(|_| append_answer(document, cells))
}

/// Adds a cell below another one and what belongs to it: below the results of a call, or else below everything of the
/// same message. Its level is that of the other cell unless it has one of its own.
pub(super) fn insert_below(
    document: &Document,
    other: Cell<'_>,
    cell: &NewCell,
) -> Result<Splice, ItemError> {
    let placed = owned_cells(document);
    let last = if other.role() == CellRole::ToolCall {
        last_result(&placed, other.at)
    } else {
        last_of_message(&placed, other.at)
    };
    let cell = NewCell {
        level: cell.level.or(Some(other.level())),
        ..cell.clone()
    };
    if is_end(&placed, last) {
        return Ok(append(document, &cell));
    }
    insert(document, &placed, last, &[cell])
}

/// The last cell that belongs to the same message as this one.
fn last_of_message(placed: &[OwnedCell<'_>], at: usize) -> usize {
    let Some(root) = placed[at].root else {
        return at;
    };
    // A reply belongs to the message above it, so it must come before the next one.
    let below = placed[at + 1..]
        .iter()
        .take_while(|other| !other.cell.is_for_an_answer());
    let last = below.filter(|other| other.root == Some(root)).last();
    last.map_or(at, |last| last.cell.at)
}

/// The last result of a call, or the call itself.
fn last_result(placed: &[OwnedCell<'_>], call: usize) -> usize {
    let is_result = |other: &OwnedCell<'_>| {
        other.cell.role() == CellRole::ToolResult && other.owner == Some(call)
    };
    placed.iter().rposition(is_result).unwrap_or(call).max(call)
}

/// Whether nothing but the ready cell follows this one.
fn is_end(placed: &[OwnedCell<'_>], at: usize) -> bool {
    placed[at + 1..].iter().all(|other| other.cell.is_ready())
}

/// Inserts cells below the one with the index `above`, which is not the last one.
fn insert(
    document: &Document,
    placed: &[OwnedCell<'_>],
    above: usize,
    cells: &[NewCell],
) -> Result<Splice, ItemError> {
    let line_end = document.line_end();
    let before = placed[above].cell;
    let end = before.span().end;
    let blank = if ends_blank(before) { "" } else { line_end };
    let text = cells_text(document, cells, document.new_cell_level());
    let bytes = format!("{blank}{text}{line_end}").into_bytes();
    let splice = Splice {
        at: Span::new(end, end),
        bytes,
    };
    let after = document.with_source_within_section(splice.apply(document.source()));
    let first = above + 1;
    let new_ids = after.cells().skip(first).take(cells.len()).map(Cell::id);
    let wanted_ids = cells.iter().map(|cell| Some(cell.id.as_str()));
    if new_ids.eq(wanted_ids) && document.others_read_alike(first..first, cells.len(), &after) {
        return Ok(splice);
    }
    Err(would_change_others())
}

/// Whether a cell ends with a blank line, or must not get one because it could fit its `stored` then.
fn ends_blank(cell: Cell<'_>) -> bool {
    let text = cell.bytes(cell.span());
    let start =
        memchr::memrchr(b'\n', &text[..text.len().saturating_sub(1)]).map_or(0, |at| at + 1);
    is_blank_line(line_text(&text[start..])) || cell.get(MetaKey::Stored).is_some()
}

impl Document {
    /// Whether the cells of a changed document read like those of this one, apart from the `changed` ones, which `count`
    /// others replace.
    pub(super) fn others_read_alike(
        &self,
        changed: Range<usize>,
        count: usize,
        after: &Document,
    ) -> bool {
        let above = changed.start;
        let below = self.cells().len() - changed.end;
        if after.cells().len() != above + count + below {
            return false;
        }
        let old = self
            .cells()
            .take(above)
            .chain(self.cells().rev().take(below));
        let new = after
            .cells()
            .take(above)
            .chain(after.cells().rev().take(below));
        old.zip(new).all(|(old, new)| old.reads_like(new))
    }
}

impl Cell<'_> {
    /// Whether two cells say the same, wherever they are.
    pub(super) fn reads_like(self, other: Cell<'_>) -> bool {
        (self.kind(), self.level(), self.id()) == (other.kind(), other.level(), other.id())
            && self.title() == other.title()
            && self.written_type() == other.written_type()
            && self.attributes().eq(other.attributes())
            && self.content_bytes() == other.content_bytes()
    }
}
