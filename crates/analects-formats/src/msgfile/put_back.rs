//! Putting an answer back over which somebody has saved what they knew of it while it grew, or nothing of it.

use super::edit::typed_cell;
use super::{Cell, CellKind, Document, NewCell, Splice, answer_behind, role};

/// Puts an answer back that somebody has saved over with the form that it had while it grew, if there is such a
/// one: an editor that read the file too early does not know what it takes away. `complete` is the file as it was
/// when the answer was complete; what a person has typed below the answer since becomes a cell of its own.
pub fn put_back(document: &Document, complete: &Document) -> Option<Splice> {
    let is_growing = |cell: &Cell<'_>| cell.attribute("status").as_deref() == Some("streaming");
    document.cells().filter(is_growing).find_map(|growing| {
        let whole = complete.cell(growing.id()?).filter(|cell| !is_growing(cell))?;
        if whole.kind() != CellKind::Output || whole.type_word() != growing.type_word() {
            return None;
        }
        let grown = growing.content();
        // What grew is one part of the answer; the others came with its end.
        let below = whole.parts().find_map(|part| {
            let text = part.content();
            match text.starts_with(grown.trim_end()) {
                true => Some(String::new()),
                false if text.is_empty() => None,
                false => Some(grown.strip_prefix(&*text)?.trim_matches(['\r', '\n']).to_string()),
            }
        })?;
        let mut bytes = answer_text(whole).to_vec();
        let is_last = growing.span().end == document.source().len();
        if is_last || !below.is_empty() {
            bytes.extend_from_slice(typed_cell(complete, whole.level(), &below).as_bytes());
        }
        if !is_last {
            bytes.extend_from_slice(complete.line_end().as_bytes());
        }
        Some(Splice { at: growing.span(), bytes })
    })
}

/// Puts the last answer of a file back where somebody has saved the file as it was before that answer began to
/// grow, behind its question. Whether they meant to take it away, only they know.
pub fn put_back_lost(document: &Document, complete: &Document) -> Option<Splice> {
    let is_first = |cell: &Cell<'_>| cell.is_answer() && cell.attribute("part").is_none();
    let answer = complete.cells().rfind(is_first).filter(|cell| role(*cell) == "reply")?;
    let mut before = complete.cells().take(answer.at);
    let question = before.rfind(|cell| cell.is_question())?;
    let is_gone = document.cell(answer.id()?).is_none_or(|cell| cell.is_prompt());
    let asked = document.cells().rfind(|cell| {
        let is_same = question.id().is_none() || cell.id() == question.id();
        cell.is_question() && is_same && cell.content() == question.content()
    })?;
    let is_answered = document.cells().skip(asked.ordinal()).any(|cell| cell.is_answer());
    if !is_gone || is_answered {
        return None;
    }
    let mut cells: Vec<NewCell> = answer.parts().map(NewCell::of).collect();
    if document.cell(&cells[0].id).is_some() {
        let id = document.next_id();
        let old = std::mem::replace(&mut cells[0].id, id.clone());
        for cell in &mut cells[1..] {
            rename(cell, &old, &id);
        }
    }
    Some(answer_behind(document, asked, &cells))
}

/// Gives a cell that belongs to another the other's new name.
fn rename(cell: &mut NewCell, old: &str, new: &str) {
    if let Some(rest) = cell.id.strip_prefix(old).filter(|rest| rest.starts_with('.')) {
        cell.id = format!("{new}{rest}");
    }
    for (key, value) in &mut cell.attributes {
        if key == "part" && value == old {
            *value = new.to_string();
        }
    }
}

/// The bytes of an answer, which may have several cells, without the blank line that parts it from the next cell.
fn answer_text(first: Cell<'_>) -> &[u8] {
    let end = first.parts().last().unwrap_or(first).span().end;
    let source = first.document.source();
    let text = &source[first.span().start..end];
    let shorter = text.strip_suffix(b"\r\n").or(text.strip_suffix(b"\n")).unwrap_or(text);
    if end < source.len() && shorter.ends_with(b"\n") { shorter } else { text }
}
