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
            let may_be = grown.is_empty() || !text.is_empty();
            typed_below(&grown, &text).filter(|_| may_be)
        })?;
        let mut bytes = answer_text(whole).to_vec();
        let is_last = growing.span().end == document.source().len();
        if is_last || !below.is_empty() {
            bytes.extend_from_slice(typed_cell(complete, whole.level(), below).as_bytes());
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
        cell.is_question() && is_same && is_same_text(&cell.content(), &question.content())
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

/// Whether two texts are the same but for line ends and blanks at the ends of lines, which many editors change
/// when they save.
pub fn is_same_text(one: &str, other: &str) -> bool {
    let lines = |text| str::split(str::trim_end(text), '\n').map(str::trim_end);
    lines(one).eq(lines(other))
}

/// What a person has typed below an answer, where `text` is the answer as it was at some time while it grew to
/// `whole`, and then what they typed; nothing, if that is all that is there. `None` if it is something else, such as
/// an answer in which somebody has changed a word. Line ends and blanks at the ends of lines do not matter.
pub fn typed_below<'t>(text: &'t str, whole: &str) -> Option<&'t str> {
    let text = text.trim_end();
    let mut ours = whole.split('\n').map(str::trim_end);
    let (mut at, mut is_common, mut is_apart) = (0, false, false);
    let found = text.split_inclusive('\n').find_map(|line| {
        let (said, our) = (line.trim_end(), ours.next());
        if our == Some(said) {
            at += line.len();
            is_common |= !said.is_empty();
            is_apart = said.is_empty();
            return None;
        }
        Some((line, said, our))
    });
    let Some((line, said, our)) = found else { return Some("") };
    let missing: Vec<&str> = our.into_iter().chain(ours).filter(|our| !our.is_empty()).collect();
    let our = match our.filter(|_| !missing.is_empty()) {
        // All of it is there, and then something else.
        None => return Some(typed(&text[at..])),
        Some(our) => our,
    };
    if !our.is_empty() && missing.len() == 1 && !whole.ends_with('\n') && said.starts_with(our) {
        return Some(typed(&text[at + our.len()..]));
    }
    let is_cut = !said.is_empty() && our.starts_with(said);
    let rest = if is_cut { &text[at + line.len()..] } else { &text[at..] };
    let first = rest.lines().map(str::trim_end).find(|line| !line.is_empty());
    let is_ours = rest.lines().any(|line| missing.contains(&line.trim_end()))
        || first.is_some_and(|first| !is_cut && is_alike(first, missing[0]));
    let is_below = is_cut || (is_common && (is_apart || said.is_empty()));
    (is_below && !is_ours).then(|| typed(rest))
}

fn typed(text: &str) -> &str {
    text.trim_end().trim_start_matches(['\r', '\n'])
}

/// Whether a line seems to be another one in which something was changed.
fn is_alike(line: &str, ours: &str) -> bool {
    let same = |(a, b): &(char, char)| a == b;
    let start = line.chars().zip(ours.chars()).take_while(same).count();
    let end = line.chars().rev().zip(ours.chars().rev()).take_while(same).count();
    (start + end) * 2 >= ours.chars().count()
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

#[cfg(test)]
mod tests {
    //! What counts as typed below an answer.

    use super::*;

    #[test]
    fn what_was_typed_below_an_answer_is_told_from_the_answer() {
        let whole = "The first line  \nand the second.\n\nA paragraph\nof two lines.";
        for (text, typed) in [
            ("", Some("")),
            ("The first", Some("")),
            ("The first line", Some("")),
            ("The first line\r\nand the second.\r\n", Some("")),
            (whole, Some("")),
            // Below all of it, in its last line, and below a part.
            (&format!("{whole}\n\n\nNext?\n\n  And then?\n"), Some("Next?\n\n  And then?")),
            (&format!("{whole} Next?"), Some(" Next?")),
            ("The first line\nand the second.\n\nNext?", Some("Next?")),
            ("The first line\r\n\r\nNext?\r\n", Some("Next?")),
            ("The fir\nNext?", Some("Next?")),
            ("The first line\nand the sec\n\nNext?\nAnd then?", Some("Next?\nAnd then?")),
            // Changes of the answer itself.
            ("Another text", None),
            ("\n\nAnother text", None),
            ("The last line\nand the second.", None),
            ("The first line\nor the second.", None),
            ("The first line\n\nand the second.", None),
            ("The first line\nand the second.\n\nA longer paragraph\nof two lines.", None),
            ("The first line\nand the second.\n\nA paragraf", None),
            ("The first\nand the second.", None),
        ] {
            assert_eq!(typed_below(text, whole), typed, "{text:?}");
        }
        // A line that has come to its end goes on with nothing.
        assert_eq!(typed_below("one (really?)", "one\n"), None);
        assert_eq!(typed_below("one\n\nNext?", "one\n"), Some("Next?"));
    }
}
