//! An answer put into a file below the cells that it answers.

use std::collections::HashMap;

use analects_core::{Ids, Message};
use jiff::tz::TimeZone;

use super::cells::CellWriter;
use super::known::{CellsHash, is_partial};
use super::lookup::message_of_new_cells;
use crate::msgfile::cell_edits::with_missing_ids;
use crate::msgfile::{Cell, CellKind, Document, NewCell, Splice, answer_below, append_answer};

/// How much of what a provider reports about an answer goes into the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerDetail {
    /// What people read: author, time, model, tokens, cost.
    #[default]
    Usual,
    /// Also durations, response ids and every count of tokens.
    All,
}

/// An answer that is put into a file.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedAnswer {
    /// The change of the file.
    pub splice: Splice,
    /// The name of the answer's head.
    pub cell: String,
    /// The hash of the answer's cells.
    pub hash: CellsHash,
    /// Whether the cells say less than the message.
    pub is_partial: bool,
}

/// Puts an answer below the cells that it answers, given by their indexes from 0, in order. It goes below everything
/// that follows them except further prompts, and to the end of the file if `asked` is empty. A question without an id
/// gets one, unless that would make another cell read differently. At the end of the file, an empty cell is added
/// for the next prompt. The time of the answer has the offset of the zone.
///
/// ```
/// use analects_core::{CountingIds, Message};
/// use analects_formats::msgfile::{AnswerDetail, decode, put_answer};
///
/// let document = decode("# %%\n\nWhat is a monad?\n");
/// let answer = Message { author: Some("coder".into()), ..Message::assistant("m", "A monoid.") };
/// let ids = &mut CountingIds::default();
/// let zone = jiff::tz::TimeZone::UTC;
/// let placed = put_answer(&document, &[0], &answer, AnswerDetail::Usual, &zone, ids);
/// let file = String::from_utf8(placed.splice.apply(document.source()))?;
/// assert!(file.starts_with("# %% [^1]\n\n[^1]: [markdown]\n\nWhat is a monad?\n\n# %%% [^2]\n"));
/// assert!(file.ends_with("A monoid.\n\n# %%\n"));
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
pub fn put_answer(
    document: &Document,
    asked: &[usize],
    answer: &Message,
    detail: AnswerDetail,
    zone: &TimeZone,
    ids: &mut dyn Ids,
) -> PlacedAnswer {
    let sealed = with_missing_ids(document, asked);
    let base = sealed.as_ref().unwrap_or(document);
    let mut writer = CellWriter::after(base, ids, detail.into(), HashMap::new());
    writer.zone.clone_from(zone);
    let cells = writer.cells(answer);
    let name = cells.name().to_string();
    let splice = answer_splice(base, asked, &cells.cells);
    // No cell above changes what the new cells say, so a large file is not read again.
    let alone = base.with_cells(&splice.bytes);
    let (hash, is_partial) = match message_of_new_cells(&alone, base, &name) {
        Some((read, hash)) => (hash, is_partial(answer, &read)),
        None => (CellsHash::of(alone.cell(&name)), true),
    };
    let splice = match &sealed {
        Some(sealed) => Splice::between(document.source(), &splice.apply(sealed.source())),
        None => splice,
    };
    PlacedAnswer {
        splice,
        cell: name,
        hash,
        is_partial,
    }
}

fn answer_splice(document: &Document, asked: &[usize], cells: &[NewCell]) -> Splice {
    match last_before_answer(document, asked) {
        Some(last) => answer_below(document, last, cells),
        None => append_answer(document, cells),
    }
}

/// The cell that an answer comes after: its question, or the last output below that, up to the next prompt that waits
/// for another answer. `None` if the answer goes to the end of the file.
fn last_before_answer<'d>(document: &'d Document, asked: &[usize]) -> Option<Cell<'d>> {
    // A rewind mark at the end says what the answer follows, so it must take the mark's place.
    if document.ready_cell().is_some_and(Cell::is_rewind_mark) {
        return None;
    }
    let last_asked = *asked.last()?;
    let unanswered = document.unanswered().into_iter();
    let mut others = unanswered.filter(|cell| cell.at > last_asked && !asked.contains(&cell.at));
    let end = others.next().map_or(document.cells().len(), |cell| cell.at);
    let mut before = document.cells().take(end);
    before.rfind(|cell| cell.at <= last_asked || cell.kind() == CellKind::Output)
}
