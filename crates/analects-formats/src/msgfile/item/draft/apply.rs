//! A change as a splice: where it goes, and that no other cell reads differently afterwards.

use std::collections::HashSet;

use analects_core::Span;

use super::outputs::{answer_cell, code_cell};
use super::{AddedCell, Change, Place, unknown_cell};
use crate::msgfile::item::homes::{Placed, find, placed};
use crate::msgfile::item::{ItemError, ItemErrorKind, Output};
use crate::msgfile::line::is_blank_line;
use crate::msgfile::scan::{CellSpans, line_text};
use crate::msgfile::{
    Cell, CellRole, Document, MetaKey, NewCell, Refusal, Splice, append, append_answer,
    frontmatter, replace,
};

/// The source with a change made.
pub(super) fn source(document: &Document, change: &Change) -> Result<Vec<u8>, ItemError> {
    let (source, front) = (document.source(), document.frontmatter_span());
    match change {
        Change::AddAgent(agent) => {
            let splice = frontmatter::add_agent(source, front, agent).map_err(refused)?;
            above(document, &splice)
        }
        Change::SetDefaultAgent(name) => {
            let splice = frontmatter::set_string(source, front, "default_agent", name);
            above(document, &splice.map_err(refused)?)
        }
        Change::AddCell(added) => add_cell(document, added),
        Change::Fill { name, output } => fill(document, name, output),
    }
}

fn refused(refusal: Refusal) -> ItemError {
    let error = ItemError::new(ItemErrorKind::Refused, refusal.message);
    error.hinting(format!("type it into the frontmatter:\n{}", refusal.type_this))
}

/// Makes a change above the cells, all of which must read as before.
fn above(document: &Document, splice: &Splice) -> Result<Vec<u8>, ItemError> {
    let source = splice.apply(document.source());
    let after = document.with_source_within_section(source);
    let shift = splice.bytes.len() as isize - splice.at.len() as isize;
    if !moved(&document.scan.cells, &after.scan.cells, shift) {
        return Err(would_change_others());
    }
    Ok(after.into_source())
}

fn add_cell(document: &Document, added: &AddedCell) -> Result<Vec<u8>, ItemError> {
    let anchor = match &added.place {
        Place::End => None,
        Place::Message(name) | Place::Call(name) => Some(name),
    };
    let Some(name) = anchor else {
        return Ok(append(document, &added.cell).apply(document.source()));
    };
    let placed = placed(document);
    let anchor = find(&placed, name).ok_or_else(|| unknown_cell(name))?;
    let last = match added.place {
        Place::Call(_) => last_result(&placed, anchor),
        _ => last_of_message(&placed, anchor),
    };
    let level = added.cell.level.unwrap_or(placed[anchor].cell.level());
    let cell = NewCell { level: Some(level), ..added.cell.clone() };
    match placed.get(last + 1) {
        None | Some(Placed { is_ready: true, .. }) => {
            Ok(append(document, &cell).apply(document.source()))
        }
        Some(_) => insert(document, &placed, last, &cell),
    }
}

/// The source with an answer behind a cell and what belongs to it; at the end of the file if nothing else
/// follows, or if a cell that follows would read differently.
pub(in crate::msgfile) fn with_answer(
    document: &Document,
    asked: usize,
    cells: &[NewCell],
) -> Vec<u8> {
    let placed = placed(document);
    let last = last_of_message(&placed, asked);
    let is_end = placed[last + 1..].iter().all(|other| other.is_ready);
    let inserted = (!is_end).then(|| insert_all(document, last, cells).ok()).flatten();
    inserted.unwrap_or_else(|| append_answer(document, cells).apply(document.source()))
}

fn insert_all(document: &Document, behind: usize, cells: &[NewCell]) -> Result<Vec<u8>, ItemError> {
    let level = document.new_cell_level();
    let mut source = document.source().to_vec();
    for (behind, cell) in (behind..).zip(cells) {
        let document = document.with_source_within_section(source);
        let cell = NewCell { level: cell.level.or(Some(level)), ..cell.clone() };
        source = insert(&document, &placed(&document), behind, &cell)?;
    }
    Ok(source)
}

/// The last cell that belongs to the same message as this one.
fn last_of_message(placed: &[Placed<'_>], at: usize) -> usize {
    let Some(root) = placed[at].root else { return at };
    // A reply belongs to the message above it, so it must stand above the next one.
    let below = &placed[at + 1..];
    let length = below.iter().position(Placed::is_question).unwrap_or(below.len());
    let last = below[..length].iter().rposition(|other| other.root == Some(root));
    last.map_or(at, |last| at + 1 + last)
}

/// The last result of a call, or the call itself.
fn last_result(placed: &[Placed<'_>], call: usize) -> usize {
    let is_result =
        |other: &Placed<'_>| other.role() == CellRole::ToolResult && other.home == Some(call);
    placed.iter().rposition(is_result).unwrap_or(call).max(call)
}

/// Puts a cell behind another that is not the last one.
fn insert(
    document: &Document,
    placed: &[Placed<'_>],
    behind: usize,
    cell: &NewCell,
) -> Result<Vec<u8>, ItemError> {
    check_places(placed, behind)?;
    let line_end = document.line_end();
    let before = &placed[behind];
    let at = before.cell.span().end;
    let blank = if ends_blank(document, before) { "" } else { line_end };
    let text = format!("{blank}{}{line_end}", cell.to_text(1, line_end));
    let splice = Splice { at: Span::new(at, at), bytes: text.into_bytes() };
    let after = document.with_source_within_section(splice.apply(document.source()));
    let (old, new) = (&document.scan.cells, &after.scan.cells);
    let (first, rest) = (behind + 1, splice.bytes.len() as isize);
    let is_right = new.len() == old.len() + 1
        && moved(&old[..first], &new[..first], 0)
        && moved(&old[first..], &new[first + 1..], rest)
        && after.cells().nth(first).and_then(Cell::id) == Some(&*cell.id);
    if !is_right {
        return Err(would_change_others());
    }
    Ok(after.into_source())
}

/// Whether a cell ends with a blank line, or must not be given one: it could fit its `stored` then.
fn ends_blank(document: &Document, placed: &Placed<'_>) -> bool {
    let text = placed.cell.span().of(document.source());
    let start =
        memchr::memrchr(b'\n', &text[..text.len().saturating_sub(1)]).map_or(0, |at| at + 1);
    is_blank_line(line_text(&text[start..])) || placed.get(MetaKey::Stored).is_some()
}

/// Whether cells are the same, but for the line end of a head that was the file's last line.
pub(super) fn same_cells(old: &[CellSpans], new: &[CellSpans]) -> bool {
    let parts =
        |cell: &CellSpans| (cell.start, cell.title, cell.id, cell.meta, cell.kind, cell.level);
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| parts(old) == parts(new))
}

/// Whether cells are the same, but for their place.
fn moved(old: &[CellSpans], new: &[CellSpans], shift: isize) -> bool {
    let to = |at: usize| at.checked_add_signed(shift);
    let same = |old: Span, new: Span| {
        old.is_empty() && new.is_empty()
            || (to(old.start), to(old.end)) == (Some(new.start), Some(new.end))
    };
    old.len() == new.len()
        && old.iter().zip(new).all(|(old, new)| {
            let meta = (old.meta == 0 && new.meta == 0) || to(old.meta) == Some(new.meta);
            let head = Span::new(old.start, old.head_end);
            same(head, Span::new(new.start, new.head_end))
                && same(old.id, new.id)
                && meta
                && (old.kind, old.level) == (new.kind, new.level)
        })
}

fn would_change_others() -> ItemError {
    let text = "this cannot be put here without changing how other cells read";
    ItemError::new(ItemErrorKind::Refused, text)
}

/// Cells without id are named by their place, which moves when a cell is put above them. Nothing
/// may refer to such a name.
fn check_places(placed: &[Placed<'_>], behind: usize) -> Result<(), ItemError> {
    let ids: HashSet<&str> = placed.iter().filter_map(|placed| placed.cell.id()).collect();
    let mut by_place: HashSet<&str> = HashSet::new();
    let all_below = placed.get(behind + 1..).unwrap_or_default();
    for below in all_below.iter().filter(|below| below.cell.id().is_none()) {
        by_place.insert(&below.name);
    }
    by_place.retain(|name| !ids.contains(name));
    let used = placed.iter().find_map(|placed| {
        // A model's call belongs to a reply of its number, and never to what a person typed at that place.
        let is_models =
            placed.role() == CellRole::ToolCall && placed.get(MetaKey::CallId).is_some();
        let of = placed.name.rsplit_once('.').filter(|_| !is_models).map(|(of, _)| of);
        let names = [of, placed.cell.part(), placed.cell.parent()];
        names.into_iter().flatten().find(|name| by_place.contains(name))
    });
    let Some(name) = used else { return Ok(()) };
    let text = format!("cell {name} has no id, and others refer to it by its place");
    let error = ItemError::new(ItemErrorKind::Refused, text);
    Err(error.hinting(format!("give it an id: # %% [^{name}]")))
}

/// Finds the place that is kept for an output, by the cell's name or by the file's.
pub(super) fn placeholder<'a>(
    placed: &'a [Placed<'a>],
    name: &str,
) -> Result<&'a Placed<'a>, ItemError> {
    let pending = |placed: &&Placed<'_>| placed.get(MetaKey::Status) == Some("pending");
    let of_file = |placed: &&Placed<'_>| placed.get(MetaKey::OutputFile) == Some(name);
    let by_name = find(placed, name).map(|at| &placed[at]);
    let found = by_name.or_else(|| placed.iter().filter(pending).find(of_file));
    let found = found.ok_or_else(|| unknown_cell(name))?;
    if !pending(&found) || found.get(MetaKey::OutputFile).is_none() {
        let text = format!("cell {} does not wait for an output", found.name);
        let error = ItemError::new(ItemErrorKind::UnknownCell, text);
        return Err(error.hinting("only a place that add_output_placeholder made can be filled"));
    }
    if !found.cell.is_placeholder() {
        // Nobody knows whose text it is, so nobody throws it away.
        let text = format!("cell {} has text already", found.name);
        let error = ItemError::new(ItemErrorKind::Refused, text);
        return Err(error.hinting("remove its text, or its status=\"pending\""));
    }
    Ok(found)
}

fn fill(document: &Document, name: &str, output: &Output) -> Result<Vec<u8>, ItemError> {
    let all = placed(document);
    let old = placeholder(&all, name)?;
    let word = old.cell.written_type().unwrap_or_default();
    let mut cell = match (output, old.role()) {
        (Output::Code(code), CellRole::CodeOutput) => code_cell(code, &old.name),
        (Output::Answer(answer), role) if role.is_reply() || role == CellRole::ToolResult => {
            answer_cell(answer, &old.name, word)
        }
        _ => {
            let text = format!("cell {} waits for another kind of output", old.name);
            return Err(ItemError::invalid(text));
        }
    };
    cell.type_word = word.to_string();
    cell.title = old.cell.title().into_owned();
    let goes = ["status", "output_file", "mime_type", "encoding", "stored"];
    let is_kept = |(key, _): &(&str, &str)| {
        !goes.contains(key) && !cell.attributes.iter().any(|(other, _)| other == key)
    };
    let kept = old.cell.attributes().filter(is_kept);
    let kept: Vec<(String, String)> =
        kept.map(|(key, value)| (key.to_string(), value.to_string())).collect();
    cell.attributes.splice(0..0, kept);
    Ok(replace(document, old.cell, &cell).apply(document.source()))
}
