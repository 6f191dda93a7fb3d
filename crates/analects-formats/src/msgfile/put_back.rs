//! Putting an answer back over which somebody has saved what they knew of it while it grew, or nothing of it.

use std::collections::HashSet;

use super::edit::typed_cell;
use super::{
    Cell, CellKind, Document, History, NewCell, Splice, answer_behind, complete_answer, role,
};

/// A change that puts an answer back.
#[derive(Debug)]
pub struct PutBack {
    /// The change.
    pub splice: Splice,
    /// Whether all that stands in the answer's cell is the answer's own. Else a person has typed below it, or it is
    /// the beginning of another answer that begins with the same words.
    pub is_exact: bool,
}

/// Puts an answer back that somebody has saved over with the form that it had while it grew, if there is such a
/// one: an editor that read the file too early does not know what it takes away. `complete` is the file as it was
/// when the answer was complete; what a person has typed below the answer since becomes a cell of its own. Those
/// that are `gone` are not looked for: what has their name is something else.
pub fn put_back(document: &Document, complete: &Document, gone: &[String]) -> Option<PutBack> {
    let mut halves = half_answers(document, complete, gone);
    halves.find_map(|Half { growing, whole, below, .. }| {
        let below = below?;
        let is_exact = below.is_empty();
        if document.line_end() != complete.line_end() {
            // An editor has changed the line ends of the file.
            let cells: Vec<NewCell> = whole.parts().map(NewCell::of).collect();
            let splice = complete_answer(document, growing, &cells, &below);
            return Some(PutBack { splice, is_exact });
        }
        let is_last = growing.span().end == document.source().len();
        let mut bytes = answer_text(whole).to_vec();
        if is_last || !below.is_empty() {
            bytes.extend_from_slice(typed_cell(complete, whole.level(), &below).as_bytes());
        }
        if !is_last {
            bytes.extend_from_slice(complete.line_end().as_bytes());
        }
        Some(PutBack { splice: Splice { at: growing.span(), bytes }, is_exact })
    })
}

/// The name of an answer that stands in the file as it was while it grew, and that cannot be put back, since
/// somebody has changed its text.
pub fn changed_half(document: &Document, complete: &Document, gone: &[String]) -> Option<String> {
    let mut halves = half_answers(document, complete, gone);
    let changed = halves.find(|half| half.below.is_none() && half.is_known);
    changed.map(|half| half.growing.name().into_owned())
}

/// The names of the answers of `complete` that are not in the file any more, in whatever form.
pub fn gone_answers(document: &Document, complete: &Document) -> Vec<String> {
    let there: HashSet<&str> = output_ids(document).collect();
    output_ids(complete).filter(|id| !there.contains(id)).map(str::to_string).collect()
}

fn output_ids(document: &Document) -> impl Iterator<Item = &str> {
    let outputs = document.cells().filter(|cell| cell.kind() == CellKind::Output);
    outputs.filter_map(Cell::id)
}

/// An answer as it was while it grew.
struct Half<'a> {
    growing: Cell<'a>,
    /// What it was when it was complete.
    whole: Cell<'a>,
    /// What a person has typed below it; `None` if it cannot be put back.
    below: Option<String>,
    /// Whether it is known to be the same answer, and not another one that has got its name.
    is_known: bool,
}

/// The answers that are as they were while they grew, each with what it was when it was complete.
fn half_answers<'a>(
    document: &'a Document,
    complete: &'a Document,
    gone: &[String],
) -> impl Iterator<Item = Half<'a>> {
    document.cells().filter(|cell| cell.is_growing()).filter_map(move |growing| {
        // What a person has hidden stays hidden.
        let is_shown = growing.own_history().is_none_or(|history| history == History::Include);
        let id = growing.id().filter(|id| is_shown && gone.iter().all(|gone| gone != id))?;
        let whole = complete.cell(id).filter(|cell| !cell.is_growing())?;
        is_by_the_same(whole, growing).then(|| Half::of(growing, whole))
    })
}

impl<'a> Half<'a> {
    fn of(growing: Cell<'a>, whole: Cell<'a>) -> Half<'a> {
        let below = typed_below_cell(growing, whole);
        let (now, then) = (question_above(growing), question_above(whole));
        let text = |question: Cell<'a>| question.content();
        let is_same = match (now, then) {
            (Some(now), Some(then)) => is_same_text(&text(now), &text(then)),
            (now, then) => now.is_none() && then.is_none(),
        };
        if is_same {
            return Half { growing, whole, below, is_known: true };
        }
        // The name may be that of an answer that was removed, with its question. If only the question was changed,
        // then all that is there is the answer's, or so much that an answer to another question would not say it.
        let is_named_alike = now.and_then(Cell::id) == then.and_then(Cell::id);
        let grown = growing.content().trim().len();
        let is_own = |below: &String| match below.len() {
            0 => grown > 0,
            typed => grown.saturating_sub(typed) >= MUCH,
        };
        let is_known = is_named_alike && grown > 0 && below.is_some();
        let is_own = |below: &String| is_known && is_own(below);
        Half { growing, whole, below: below.filter(is_own), is_known }
    }
}

/// So many bytes of an answer are not the beginning of another one by chance.
const MUCH: usize = 80;

/// Whether two cells are answers of the same agent.
fn is_by_the_same(one: Cell<'_>, other: Cell<'_>) -> bool {
    one.kind() == CellKind::Output && one.type_word() == other.type_word()
}

/// The question that an answer follows.
fn question_above(answer: Cell<'_>) -> Option<Cell<'_>> {
    let mut before = answer.document.cells().take(answer.at);
    before.rfind(|cell| cell.is_question())
}

/// What a person has typed below an answer in the cell in which it grew.
fn typed_below_cell(growing: Cell<'_>, whole: Cell<'_>) -> Option<String> {
    let source = growing.document.source();
    let mut grown = growing.content().into_owned();
    if growing.span().end == source.len() && source.ends_with(b"\n") {
        grown.push('\n');
    }
    // What grew is one part of the answer; the others came with its end.
    let below = whole.parts().filter_map(|part| {
        let text = part.content();
        let may_be = grown.trim_end().is_empty() || !text.is_empty();
        typed_below(&grown, &text).filter(|_| may_be)
    });
    below.min_by_key(|below| below.len()).map(str::to_string)
}

/// Puts the last answer of a file back where somebody has saved the file as it was before that answer began to
/// grow, behind its question. Whether they meant to take it away, only they know.
pub fn put_back_lost(document: &Document, complete: &Document) -> Option<Splice> {
    let is_first = |cell: &Cell<'_>| cell.is_answer() && cell.attribute("part").is_none();
    let answer = complete.cells().rfind(is_first).filter(|cell| role(*cell) == "reply")?;
    let question = question_above(answer)?;
    // Another answer may have got its name.
    let is_other = |cell: Cell<'_>| cell.is_prompt() || cell.type_word() != answer.type_word();
    let is_gone = document.cell(answer.id()?).is_none_or(is_other);
    let asked = document.cells().rfind(|cell| {
        let is_same = question.id().is_none() || cell.id() == question.id();
        cell.is_question() && is_same && is_same_text(&cell.content(), &question.content())
    })?;
    let mut below = document.cells().skip(asked.ordinal()).take_while(|cell| !cell.is_question());
    let is_answered = below.any(|cell| cell.is_answer());
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

/// A line of which so many characters are the beginning of the answer's next one was not typed by chance.
const LONG: usize = 12;

/// What a person has typed below an answer, where `text` is the answer as it was at some time while it grew to
/// `whole`, and then what they typed; nothing, if that is all that is there. `None` if it is something else: the
/// first line is not the answer's, or a line was changed above others that are. Line ends and blanks at the ends of
/// lines do not matter.
///
/// Where it cannot be known whose words the last ones are, they count as typed: words that stand there twice are
/// better than words that are lost.
pub fn typed_below<'t>(text: &'t str, whole: &str) -> Option<&'t str> {
    // Where an answer begins with blank lines, only its final form says how many of them are its own.
    let (text, whole) = (from_first_word(text), from_first_word(whole));
    if is_beginning(text, whole) {
        return Some("");
    }
    let ours: Vec<&str> = whole.split('\n').map(str::trim_end).collect();
    let lines = text.trim_end().split_inclusive('\n').zip(&ours);
    let is_same = |(line, our): &(&str, &&str)| line.trim_end() == **our;
    let same: Vec<&str> = lines.take_while(is_same).map(|(line, _)| line).collect();
    let at: usize = same.iter().map(|line| line.len()).sum();
    let (rest, missing) = (&text[at..], &ours[same.len()..]);
    let said = rest.lines().next().unwrap_or_default().trim_end();
    let our = missing.first().copied().unwrap_or_default();
    if missing.iter().all(|line| line.is_empty()) {
        // All of it is there, and then something else.
        return Some(typed(rest));
    }
    // The person went on in the last line, though not within a word.
    let more = said.strip_prefix(our).filter(|_| missing.len() == 1);
    let in_word = [our.chars().next_back(), more.and_then(|more| more.chars().next())];
    if more.is_some() && !in_word.iter().all(|c| c.is_some_and(char::is_alphanumeric)) {
        return Some(typed(&rest[our.len()..]));
    }
    if is_changed(rest, missing) {
        return None;
    }
    let is_begun = !said.is_empty() && our.starts_with(said);
    if is_begun && (!rest.contains('\n') || said.chars().count() >= LONG) {
        return Some(typed(&rest[said.len()..]));
    }
    let is_common = same.iter().any(|line| !line.trim_end().is_empty());
    (is_common || is_begun).then(|| typed(&text[at - fence_of(&same, rest)..]))
}

/// A text without the blank lines at its beginning.
fn from_first_word(text: &str) -> &str {
    let blank = text.split_inclusive('\n').take_while(|line| line.trim().is_empty());
    &text[blank.map(str::len).sum()..]
}

/// What a person has typed below an answer that was `grown` when they read it; `None` if it was not.
pub fn typed_behind<'t>(text: &'t str, grown: &str) -> Option<&'t str> {
    let mut lines = text.split_inclusive('\n');
    let mut at = 0;
    for our in grown.trim_end().split('\n').map(str::trim_end) {
        let line = lines.next()?;
        if line.trim_end() != our {
            return None;
        }
        at += line.len();
    }
    Some(typed(&text[at..]))
}

/// Whether all lines of a text are those with which an answer begins, wherever an editor has put blank ones.
fn is_beginning(text: &str, whole: &str) -> bool {
    let lines = |text| str::lines(text).map(str::trim_end).filter(|line| !line.is_empty());
    let mut ours = lines(whole);
    lines(text).all(|line| ours.next() == Some(line))
}

/// Whether the first line was changed in a text that then goes on as the answer does. Nobody types that without
/// having read it. Lines without a word, such as the ends of code, stand in many texts.
fn is_changed(rest: &str, missing: &[&str]) -> bool {
    let below = || rest.trim_end().lines().map(str::trim_end).skip(1);
    let ours = missing.iter().copied().skip(1);
    below().eq(ours.take(below().count()))
        && below().any(|line| line.contains(char::is_alphanumeric))
}

/// The length of the line that opens the code with which typed text begins, where the answer goes on with the very
/// same line: else the code would be closed and never opened.
fn fence_of(same: &[&str], rest: &str) -> usize {
    let is_fence = |line: &&str| line.starts_with("```") || line.starts_with("~~~");
    let is_odd = |count: usize| count % 2 == 1;
    let last = same.last().filter(|line| is_fence(line));
    let opens = is_odd(same.iter().copied().filter(|line| is_fence(line)).count());
    let closes = is_odd(rest.lines().filter(is_fence).count());
    last.filter(|_| opens && closes).map_or(0, |line| line.len())
}

/// The typed text, without blank lines around it, and without the head of its cell: code that the answer had begun
/// to show may have hidden it, and it gets another.
fn typed(text: &str) -> &str {
    let text = text.trim_end().trim_start_matches(['\r', '\n']);
    let is_head = |line: &str| line.starts_with('#') && line.trim_start_matches('#').trim() == "%%";
    match text.split_once('\n') {
        Some((head, below)) if is_head(head) => below.trim_start_matches(['\r', '\n']),
        _ => text,
    }
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
            ("The first line\nand the secon\n\nNext?\nAnd then?", Some("Next?\nAnd then?")),
            // So few words may be typed as well.
            ("The fir\nNext?", Some("The fir\nNext?")),
            ("The first line\nand\n", Some("and")),
            ("The first line\n\nand", Some("and")),
            // A blank line of an editor.
            ("The first line\n\nand the second.", Some("")),
            // Changes of the answer itself: in its first line, and above other lines of it.
            ("Another text", None),
            ("\n\nAnother text", None),
            ("The last line\nand the second.", None),
            ("The first\nand the second.", None),
            ("The first line\nor the second.\n\nA paragraph", None),
            ("The first line\nand the second.\n\nA longer paragraph\nof two lines.", None),
            // Below these, nothing is the answer's.
            ("The first line\nor the second.", Some("or the second.")),
            ("The first line\nand the second.\n\nA paragraf", Some("A paragraf")),
        ] {
            assert_eq!(typed_below(text, whole), typed, "{text:?}");
        }
        // A line that has come to its end goes on with nothing.
        assert_eq!(typed_below("one (really?)", "one\n"), None);
        assert_eq!(typed_below("one\n\nNext?", "one\n"), Some("Next?"));
        // Blank lines above the first word.
        assert_eq!(typed_below("one\ntw\nNext?", "\n\none\ntwo"), Some("tw\nNext?"));
        assert_eq!(typed_below("\r\none\ntw", "one\ntwo"), Some(""));
        assert_eq!(typed_below("one\ntw", " \n\r\none\ntwo"), Some(""));
        assert_eq!(typed_below("One\ntw", "\none\ntwo"), None);
        assert_eq!(typed_below("one\nNobody?", "one\nNo"), Some("Nobody?"));
    }

    #[test]
    fn a_question_with_code_below_an_answer_with_code_is_told_from_it() {
        let steps = |range: std::ops::Range<usize>| -> String {
            range.map(|n| format!("Step {n}:\n\n```\ncmd {n}\n```\n\n")).collect()
        };
        let whole = format!("It begins.\n{}done.", steps(0..5));
        let questions = [
            "Why?\n\n```\nmy code\n```\n\nSo?",
            "```\ncmd 3\n```",
            "Step 4:\nwhat?",
            "Step",
            "Step 7:",
        ];
        for question in questions {
            for first in ["", "\n", "\r\n\r\n"] {
                let text = format!("It begins.\n{}{first}{question}\n", steps(0..1));
                assert_eq!(typed_below(&text, &whole), Some(question), "{text:?}");
            }
        }
        // The answer was about to show code, too.
        for first in ["", "\n"] {
            let text = format!("It begins.\nStep 0:\n{first}```\nmy code\n```\nwhy?");
            assert_eq!(typed_below(&text, &whole), Some("```\nmy code\n```\nwhy?"));
        }
        // Within its code.
        let text = "It begins.\nStep 0:\n\n```\ncm\n\n```\nmy code\n```\n";
        assert_eq!(typed_below(text, &whole), Some("cm\n\n```\nmy code\n```"));
    }

    #[test]
    fn what_was_typed_behind_a_text_that_is_known_is_all_the_rest() {
        for (text, grown, typed) in [
            ("one\ntwo\n\nNext?\n", "one\ntwo\n", Some("Next?")),
            ("one\r\ntwo\r\nNext?", "one  \ntwo", Some("Next?")),
            ("one\ntw\n", "one\ntw", Some("")),
            ("one\ntw\n", "one\n", Some("tw")),
            ("one\n", "one\ntw", None),
            ("one\ntwo", "one\ntw", None),
        ] {
            assert_eq!(typed_behind(text, grown), typed, "{text:?} {grown:?}");
        }
    }
}
