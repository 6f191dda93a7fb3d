//! Cells put between others: where they go, and that no other cell reads differently afterwards.

use std::collections::HashSet;
use std::ops::Range;

use analects_core::Span;

use super::cell_edits::would_change_others;
use super::edit::cells_text;
use super::item::{ItemError, ItemErrorKind};
use super::line::is_blank_line;
use super::owners::{OwnedCell, owned_cells};
use super::scan::line_text;
use super::{Cell, CellRole, Document, MetaKey, NewCell, Splice, append, append_answer};

/// Adds an answer behind the cell that was asked and what belongs to it, which others may follow that have no
/// answer yet. It goes to the end of the file, as [`append_answer`] puts it, if nothing follows, or if a cell
/// that follows would read differently.
pub fn answer_below(document: &Document, asked: Cell<'_>, cells: &[NewCell]) -> Splice {
    let placed = owned_cells(document);
    let last = last_of_message(&placed, asked.at);
    if is_end(&placed, last) {
        return append_answer(document, cells);
    }
    insert(document, &placed, last, cells).unwrap_or_else(|_| append_answer(document, cells))
}

/// Adds a cell behind another and what belongs to it: behind the results of a call, else behind everything
/// of the same message. Without a level of its own it gets that of the other.
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
    // A reply belongs to the message above it, so it must stand above the next one.
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

/// Whether nothing follows this cell but the one that is ready.
fn is_end(placed: &[OwnedCell<'_>], at: usize) -> bool {
    placed[at + 1..].iter().all(|other| other.cell.is_ready())
}

/// Puts cells behind another that is not the last one.
fn insert(
    document: &Document,
    placed: &[OwnedCell<'_>],
    behind: usize,
    cells: &[NewCell],
) -> Result<Splice, ItemError> {
    check_places(placed, behind)?;
    let line_end = document.line_end();
    let before = placed[behind].cell;
    let end = before.span().end;
    let blank = if ends_blank(before) { "" } else { line_end };
    let text = cells_text(document, cells, document.new_cell_level());
    let bytes = format!("{blank}{text}{line_end}").into_bytes();
    let splice = Splice {
        at: Span::new(end, end),
        bytes,
    };
    let after = document.with_source_within_section(splice.apply(document.source()));
    let first = behind + 1;
    let new_ids = after.cells().skip(first).take(cells.len()).map(Cell::id);
    let wanted_ids = cells.iter().map(|cell| Some(cell.id.as_str()));
    if new_ids.eq(wanted_ids) && document.others_read_alike(first..first, cells.len(), &after) {
        return Ok(splice);
    }
    Err(would_change_others())
}

/// Whether a cell ends with a blank line, or must not be given one: it could fit its `stored` then.
fn ends_blank(cell: Cell<'_>) -> bool {
    let text = cell.bytes(cell.span());
    let start =
        memchr::memrchr(b'\n', &text[..text.len().saturating_sub(1)]).map_or(0, |at| at + 1);
    is_blank_line(line_text(&text[start..])) || cell.get(MetaKey::Stored).is_some()
}

/// Cells without id are named by their place, which moves when a cell is put above them. Nothing
/// may refer to such a name.
fn check_places(placed: &[OwnedCell<'_>], behind: usize) -> Result<(), ItemError> {
    let ids: HashSet<&str> = placed
        .iter()
        .filter_map(|placed| placed.cell.id())
        .collect();
    let below = placed.iter().skip(behind + 1).map(|placed| placed.cell);
    let mut by_place: HashSet<String> = below
        .filter(|cell| cell.id().is_none())
        .map(|cell| cell.name().into_owned())
        .collect();
    by_place.retain(|name| !ids.contains(name.as_str()));
    let mut names = placed.iter().flat_map(|placed| references(placed.cell));
    let Some(name) = names.find(|name| by_place.contains(*name)) else {
        return Ok(());
    };
    let text = format!("cell {name} has no id, and others refer to it by its place");
    let error = ItemError::new(ItemErrorKind::Refused, text);
    Err(error.hinting(format!("give it an id: # %% [^{name}]")))
}

/// The names of the cells that a cell belongs to.
fn references(cell: Cell<'_>) -> impl Iterator<Item = &str> {
    // A model's call belongs to a reply of its number, and never to what a person typed at that place.
    let is_models = cell.role() == CellRole::ToolCall && cell.get(MetaKey::CallId).is_some();
    let id = cell.id().filter(|_| !is_models);
    let derived_from = id.and_then(|id| id.rsplit_once('.')).map(|(of, _)| of);
    [derived_from, cell.part(), cell.parent(), cell.through()]
        .into_iter()
        .flatten()
}

impl Document {
    /// Whether all cells of a changed document read as those of this one, apart from the changed ones, in whose
    /// place there are this many others.
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
    /// Whether two cells say the same, wherever they stand.
    pub(super) fn reads_like(self, other: Cell<'_>) -> bool {
        (self.kind(), self.level(), self.id()) == (other.kind(), other.level(), other.id())
            && self.title() == other.title()
            && self.written_type() == other.written_type()
            && self.attributes().eq(other.attributes())
            && self.content_bytes() == other.content_bytes()
    }
}
