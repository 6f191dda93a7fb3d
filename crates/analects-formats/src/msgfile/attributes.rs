//! Attributes of cells that are there already: one of them is set, and every other byte stays. A cell
//! that a person typed without metadata gets some.

use std::collections::HashSet;

use analects_core::Span;

use super::ids::leading_number;
use super::item::{ItemError, ItemErrorKind};
use super::line::is_blank_line;
use super::messages::mentioned_by;
use super::meta::write_attribute;
use super::metadata::AttributeRef;
use super::scan::{line_text, lines};
use super::{Cell, Document, Splice};

/// An attribute that a cell is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// The place of the cell among the cells, from 0.
    pub cell: usize,
    /// The key.
    pub key: &'static str,
    /// The value.
    pub value: String,
}

/// The source with attributes set. What every cell says stays the same, or nothing is changed.
///
/// ```
/// use analects_formats::msgfile::{self, Attribute};
///
/// let document = msgfile::decode(*b"# %% [^1]\n\n[^1]: [markdown] note=x\n\nHello\n");
/// let hidden = Attribute { cell: 0, key: "history", value: "none".into() };
/// let source = msgfile::set_attributes(&document, &[hidden])?;
/// let expected = "# %% [^1]\n\n[^1]: [markdown] history=\"none\" note=x\n\nHello\n";
/// assert_eq!(String::from_utf8_lossy(&source), expected);
/// # Ok::<(), msgfile::item::ItemError>(())
/// ```
pub fn set_attributes(document: &Document, changes: &[Attribute]) -> Result<Vec<u8>, ItemError> {
    let mut changes: Vec<&Attribute> = changes.iter().collect();
    changes.sort_by_key(|change| change.cell);
    let mut next_id = leading_number(&document.next_id()).unwrap_or(1);
    let mut splices: Vec<Splice> = Vec::new();
    let mut cells = document.cells();
    let mut passed = 0;
    for group in changes.chunk_by(|one, other| one.cell == other.cell) {
        let at = group[0].cell;
        let missing = || ItemError::new(ItemErrorKind::UnknownCell, "there is no such cell");
        let cell = cells.nth(at - passed).ok_or_else(missing)?;
        passed = at + 1;
        match cell.meta_span() {
            Some(_) => splices.extend(in_metadata(cell, group)),
            None => {
                let id = own_id(cell, &mut next_id);
                splices.extend(sealing(cell, group, &id));
            }
        }
    }
    let source = Splice::apply_all(&splices, document.source());
    checked(document, source).map(Document::into_source)
}

/// A changed document, if all cells say what they said.
fn checked(document: &Document, source: Vec<u8>) -> Result<Document, ItemError> {
    let after = document.with_source_within_section(source);
    match reads_the_same(document, &after) {
        true => Ok(after),
        false => Err(would_change_others()),
    }
}

/// The error of a change that would not stay where it is made.
pub(super) fn would_change_others() -> ItemError {
    ItemError::new(
        ItemErrorKind::Refused,
        "the file cannot be changed there without another cell reading differently",
    )
}

/// Whether all cells say what they said.
fn reads_the_same(before: &Document, after: &Document) -> bool {
    let says = |cell: Cell<'_>| (cell.kind(), cell.level(), cell.body().len());
    before.cells().len() == after.cells().len()
        && before.cells().zip(after.cells()).all(|(old, new)| {
            says(old) == says(new)
                && old.body().of(before.source()) == new.body().of(after.source())
        })
}

/// Changes in a metadata line: a value that is there is replaced, a new one goes to the front, where
/// nothing that stands behind it can make it part of something else.
fn in_metadata(cell: Cell<'_>, changes: &[&Attribute]) -> Vec<Splice> {
    let mut splices = Vec::new();
    let mut new = String::new();
    for change in changes {
        let mut text = String::new();
        write_attribute(&mut text, change.key, &change.value);
        match cell.attribute_named(change.key).map(AttributeRef::span) {
            Some(at) => splices.push(Splice { at, bytes: text.as_bytes()[1..].to_vec() }),
            None => new.push_str(&text),
        }
    }
    if !new.is_empty() {
        let at = cell.after_type_word();
        let blank = if is_followed(cell, at) { " " } else { "" };
        splices.push(Splice { at: Span::new(at, at), bytes: format!("{new}{blank}").into() });
    }
    splices.sort_by_key(|splice| splice.at.start);
    splices
}

/// Whether something follows right at this place of a line that must be kept apart from it.
fn is_followed(cell: Cell<'_>, at: usize) -> bool {
    let rest = &cell.document.source()[at..];
    rest.first().is_some_and(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Gives a cell without metadata this id, if it has none, and metadata.
fn sealing(cell: Cell<'_>, changes: &[&Attribute], id: &str) -> Vec<Splice> {
    let (source, head) = (cell.document.source(), cell.head());
    let line_end = cell.document.line_end();
    let text_end = head.start + line_text(head.of(source)).len();
    let mut splices = Vec::new();
    if cell.id().is_none() {
        let kept = head.start + head_without_blanks(&source[head.start..text_end]);
        let blank = if cell.title().is_empty() { " " } else { "" };
        let bytes = format!("{blank}[^{id}]").into_bytes();
        splices.push(Splice { at: Span::new(kept, text_end), bytes });
    }
    let mut text = String::new();
    if head.end == text_end {
        text.push_str(line_end);
    }
    text.push_str(&format!("{line_end}[^{id}]: [markdown]"));
    for change in changes {
        write_attribute(&mut text, change.key, &change.value);
    }
    text.push_str(line_end);
    // An indented line right below would be taken for more attributes.
    let next = lines(&source[..cell.span().end], head.end).next();
    if next.is_some_and(|(_, line)| !is_blank_line(line_text(line))) {
        text.push_str(line_end);
    }
    splices.push(Splice { at: Span::new(head.end, head.end), bytes: text.into_bytes() });
    splices
}

/// The id for a cell: its own, else its ordinal, by which others may name it already, or a new one.
fn own_id(cell: Cell<'_>, next_id: &mut u64) -> String {
    if let Some(id) = cell.id() {
        return id.to_string();
    }
    if !cell.document.has_number(cell.ordinal()) {
        return cell.ordinal().to_string();
    }
    *next_id += 1;
    (*next_id - 1).to_string()
}

/// The source with an id for a cell that may have none, and the id.
pub(super) fn with_id(document: &Document, at: usize) -> Result<(Vec<u8>, String), ItemError> {
    let after = with_ids(document, [at])?;
    let id = after.cell_at(at).and_then(Cell::id).unwrap_or_default().to_string();
    Ok((after.into_source(), id))
}

/// The document with an id for each of these cells, which are in the order of the file.
pub(super) fn with_ids(
    document: &Document,
    places: impl IntoIterator<Item = usize>,
) -> Result<Document, ItemError> {
    let mut next_id = leading_number(&document.next_id()).unwrap_or(1);
    let mut splices = Vec::new();
    for at in places {
        let missing = || ItemError::new(ItemErrorKind::UnknownCell, "there is no such cell");
        let cell = document.cell_at(at).ok_or_else(missing)?;
        if cell.id().is_none() {
            splices.extend(sealing(cell, &[], &own_id(cell, &mut next_id)));
        }
    }
    checked(document, Splice::apply_all(&splices, document.source()))
}

/// The document with a number for each of these cells that has no id: one more than all that there are, or its
/// place where another cell names it by that. The cells are in the order of the file.
pub(super) fn with_numbers(document: &Document, places: &[usize]) -> Result<Document, ItemError> {
    let cells = places.iter().filter_map(|at| document.cell_at(*at));
    let loose: Vec<Cell<'_>> = cells.filter(|cell| cell.id().is_none()).collect();
    if loose.is_empty() {
        return Ok(document.with_source_within_section(document.source().to_vec()));
    }
    let mentioned: HashSet<&str> = document.cells().flat_map(mentioned_by).collect();
    let mut number = document.number_without(places);
    let mut splices = Vec::new();
    for cell in loose {
        let mut id = cell.name().into_owned();
        if !mentioned.contains(id.as_str()) {
            id = number.to_string();
            number += 1;
        }
        splices.extend(sealing(cell, &[], &id));
    }
    checked(document, Splice::apply_all(&splices, document.source()))
}

/// The length of a head's line without the blanks at its end.
fn head_without_blanks(line: &[u8]) -> usize {
    line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    //! One attribute changes, and nothing else.

    use super::*;
    use crate::msgfile::{decode, decode_named};

    fn set(source: &str, cell: usize, key: &'static str, value: &str) -> String {
        let change = Attribute { cell, key, value: value.to_string() };
        let document = decode(source);
        String::from_utf8(set_attributes(&document, &[change]).unwrap()).unwrap()
    }

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let set = set(source, 0, "history", "none");
        assert_eq!(set, expected);
        let cell_says = decode(set.as_str());
        assert_eq!(cell_says.cells().next().unwrap().attribute("history"), Some("none"));
    }

    #[test]
    fn an_attribute_is_added_behind_the_type_word() {
        check(
            "# %% [^1]\n\n[^1]: [markdown]\n\nx\n",
            "# %% [^1]\n\n[^1]: [markdown] history=\"none\"\n\nx\n",
        );
        check("# %% [^1]\n[^1]: a=1\nx", "# %% [^1]\n[^1]: history=\"none\" a=1\nx");
        check("# %% [^1]\n[^1]:\nx", "# %% [^1]\n[^1]: history=\"none\"\nx");
        // An open quote in the rest of the line takes nothing of it.
        check(
            "# %% [^1]\n[^1]: [code] a=\"open b=\nx",
            "# %% [^1]\n[^1]: [code] history=\"none\" a=\"open b=\nx",
        );
    }

    #[test]
    fn a_value_that_is_there_is_replaced_where_it_counts() {
        check(
            "# %% [^1]\n[^1]: [markdown] history=include a=1 history='1'\n  b=2\nx",
            "# %% [^1]\n[^1]: [markdown] history=include a=1 history=\"none\"\n  b=2\nx",
        );
        check(
            "# %% [^1]\r\n[^1]: [markdown]\r\n\t[history=summary] b=2\r\nx",
            "# %% [^1]\r\n[^1]: [markdown]\r\n\thistory=\"none\" b=2\r\nx",
        );
    }

    #[test]
    fn a_cell_without_metadata_is_sealed() {
        check("# %%\n\nhi\n", "# %% [^1]\n\n[^1]: [markdown] history=\"none\"\n\nhi\n");
        check("# %% a title  \nhi", "# %% a title[^1]\n\n[^1]: [markdown] history=\"none\"\n\nhi");
        check("# %% x[^7]\r\nhi", "# %% x[^7]\r\n\r\n[^7]: [markdown] history=\"none\"\r\n\r\nhi");
        check("# %%", "# %% [^1]\n\n[^1]: [markdown] history=\"none\"\n");
        check("# %%\n  a=1 b=2\n", "# %% [^1]\n\n[^1]: [markdown] history=\"none\"\n\n  a=1 b=2\n");
    }

    #[test]
    fn several_cells_change_at_once_and_get_ids_of_their_own() {
        let document =
            decode_named("# %%\n\none\n\n# %%\n\ntwo\n\n# %% [^9]\n\nthree\n", "x.msg.md");
        let hide = |cell| Attribute { cell, key: "history", value: "none".into() };
        let source = set_attributes(&document, &[hide(2), hide(0), hide(1)]).unwrap();
        let after = document.with_source_within_section(source);
        let names: Vec<_> = after.cells().map(|cell| cell.name().into_owned()).collect();
        assert_eq!(names, ["1", "2", "9"]);
        assert!(after.cells().all(|cell| cell.attribute("history") == Some("none")));
        assert_eq!(after.problems(), []);
    }

    #[test]
    fn an_unknown_cell_is_an_error() {
        let change = Attribute { cell: 3, key: "history", value: "none".into() };
        let error = set_attributes(&decode("# %%\n\nhi\n"), &[change]).unwrap_err();
        assert_eq!(error.kind(), ItemErrorKind::UnknownCell);
    }
}
