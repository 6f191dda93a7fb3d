//! A complete answer, put into a file in one step.

use std::collections::HashMap;

use analects_core::{Ids, Message, SessionId};

use super::cells::CellWriter;
use super::known::{CellsHash, is_partial};
use super::lookup::messages_of_cells;
use crate::msgfile::cell_edits::with_numbers;
use crate::msgfile::{Cell, CellKind, Document, Splice, answer_behind, append_answer};

/// How much of what a provider tells of an answer stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerDetail {
    /// What people read: who, when, which model, tokens, cost.
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
    /// The name of the answer's cell.
    pub cell: String,
    /// The hash of the answer's cells.
    pub hash: CellsHash,
    /// Whether the cells say less than the message.
    pub is_partial: bool,
}

/// Puts an answer behind the cells that it answers, given by their places from 0, in order, and behind all that
/// follows them except further prompts; at the end of the file if there are none. A question without an id gets one, unless some cell would read differently then.
/// At the end of the file, an empty cell is ready for what is said next.
///
/// ```
/// use analects_core::{CountingIds, Message};
/// use analects_formats::msgfile::{AnswerDetail, decode, put_answer};
///
/// let document = decode("# %%\n\nWhat is a monad?\n");
/// let answer = Message { author: Some("coder".into()), ..Message::assistant("m", "A monoid.") };
/// let ids = &mut CountingIds::default();
/// let placed = put_answer(&document, &[0], &answer, AnswerDetail::Usual, ids);
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
    ids: &mut dyn Ids,
) -> PlacedAnswer {
    let sealed = with_numbers(document, asked).ok().flatten();
    let base = sealed.as_ref().unwrap_or(document);
    let mut writer = CellWriter::behind(base, ids, detail.into(), HashMap::new());
    let cells = writer.cells(answer);
    let name = cells.name().to_string();
    let cells = cells.cells;
    // An empty cell that says whom the answer follows gives it its place.
    let is_marked = base.ready_cell().is_some_and(Cell::is_rewind_mark);
    let splice = match last_before_answer(base, asked).filter(|_| !is_marked) {
        Some(last) => answer_behind(base, last, &cells),
        None => append_answer(base, &cells),
    };
    let after = splice.apply(base.source());
    let splice = Splice::between(document.source(), &after);
    let after = document.with_source_within_section(after);
    let read = messages_of_cells(&after, &SessionId::default(), std::slice::from_ref(&name));
    let (hash, is_partial) = match read.into_iter().flatten().next() {
        Some((read, hash)) => (hash, is_partial(answer, &read)),
        None => (CellsHash::of(after.cell(&name)), true),
    };
    PlacedAnswer { splice, cell: name, hash, is_partial }
}

/// The cell that an answer stands behind: its question, or what came back below that, as on another branch, up to the
/// next prompt that waits for another answer.
fn last_before_answer<'d>(document: &'d Document, asked: &[usize]) -> Option<Cell<'d>> {
    let last_asked = *asked.last()?;
    let is_other = |cell: &Cell<'_>| cell.at > last_asked && !asked.contains(&cell.at);
    let waiting = document.unanswered().into_iter().find(is_other);
    let end = waiting.map_or(document.cells().len(), |cell| cell.at);
    let mut before = document.cells().take(end);
    before.rfind(|cell| cell.at <= last_asked || cell.kind() == CellKind::Output)
}
