//! Edits of cells that are there already: attributes and texts change, and every other byte stays. A cell
//! that a person typed without metadata gets some.

use std::collections::HashSet;

use analects_core::Span;

use super::edit::replace_content;
use super::encode::{escape, open_fence, stored};
use super::ids::leading_number;
use super::item::{ItemError, ItemErrorKind};
use super::line::is_blank_line;
use super::messages::mentioned_by;
use super::meta::write_attribute;
use super::metadata::AttributeRef;
use super::scan::{line_text, lines};
use super::{Cell, Document, MetaKey, Splice};

/// One edit of a cell, which is given by its place among the cells, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellEdit {
    /// The cell.
    pub cell: usize,
    /// What changes.
    pub edit: Edit,
}

/// What changes about a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// An attribute gets this value; without one, it goes.
    Attribute(MetaKey, Option<String>),
    /// The text becomes this one.
    Text(String),
    /// A cell without an id gets one.
    Id,
}

impl CellEdit {
    /// Sets an attribute.
    pub fn set(cell: usize, key: MetaKey, value: impl Into<String>) -> CellEdit {
        CellEdit {
            cell,
            edit: Edit::Attribute(key, Some(value.into())),
        }
    }

    /// Removes an attribute.
    pub fn remove(cell: usize, key: MetaKey) -> CellEdit {
        CellEdit {
            cell,
            edit: Edit::Attribute(key, None),
        }
    }

    /// Replaces the text.
    pub fn text(cell: usize, text: impl Into<String>) -> CellEdit {
        CellEdit {
            cell,
            edit: Edit::Text(text.into()),
        }
    }

    /// The attribute that it sets.
    fn set_value(&self) -> Option<(MetaKey, &str)> {
        match &self.edit {
            Edit::Attribute(key, Some(value)) => Some((*key, value)),
            Edit::Attribute(_, None) | Edit::Text(_) | Edit::Id => None,
        }
    }

    /// The text that it writes.
    fn new_text(&self) -> Option<&str> {
        match &self.edit {
            Edit::Text(text) => Some(text),
            Edit::Attribute(..) | Edit::Id => None,
        }
    }

    /// Whether there is something to write. What is to go may not be there.
    fn is_needed(&self, cell: Cell<'_>) -> bool {
        match &self.edit {
            Edit::Attribute(key, None) => cell.get(*key).is_some(),
            Edit::Attribute(key, Some(value)) => cell.get(*key) != Some(value),
            Edit::Text(text) => cell.content() != text.as_str() || !cell.is_sealed(),
            Edit::Id => cell.id().is_none(),
        }
    }
}

/// The document with some cells edited. Every other cell reads as before, or nothing is changed.
///
/// ```
/// use analects_formats::msgfile::{self, CellEdit, MetaKey};
///
/// let document = msgfile::decode(*b"# %% [^1]\n\n[^1]: [markdown] note=x\n\nHello\n");
/// let after = msgfile::edit_cells(&document, &[CellEdit::set(0, MetaKey::History, "none")])?;
/// let expected = "# %% [^1]\n\n[^1]: [markdown] history=\"none\" note=x\n\nHello\n";
/// assert_eq!(String::from_utf8_lossy(after.source()), expected);
/// # Ok::<(), msgfile::item::ItemError>(())
/// ```
pub fn edit_cells(document: &Document, edits: &[CellEdit]) -> Result<Document, ItemError> {
    let mut edits: Vec<&CellEdit> = edits.iter().collect();
    edits.sort_by_key(|edit| edit.cell);
    let mut next_id = leading_number(&document.next_id()).unwrap_or(1);
    let mut splices: Vec<Splice> = Vec::new();
    for group in edits.chunk_by(|one, other| one.cell == other.cell) {
        let missing = || ItemError::new(ItemErrorKind::UnknownCell, "there is no such cell");
        let cell = document.cell_at(group[0].cell).ok_or_else(missing)?;
        let group = last_of_each(group, cell);
        if group.is_empty() {
            continue;
        }
        if let Some(text) = group.iter().find_map(|edit| edit.new_text()) {
            let id = own_id(cell, &mut next_id);
            splices.extend(in_body(cell, &id, text));
        } else if cell.is_sealed() {
            splices.extend(in_metadata(cell, &group));
        } else {
            let id = own_id(cell, &mut next_id);
            splices.extend(sealing(cell, &group, &id));
        }
    }
    checked(
        document,
        &edits,
        Splice::apply_all(&splices, document.source()),
    )
}

/// The edits of a cell that are needed: of several of one attribute, the last.
fn last_of_each<'e>(group: &[&'e CellEdit], cell: Cell<'_>) -> Vec<&'e CellEdit> {
    let key = |edit: &CellEdit| match &edit.edit {
        Edit::Attribute(key, _) => Some(*key),
        Edit::Text(_) | Edit::Id => None,
    };
    let mut last: Vec<&CellEdit> = Vec::with_capacity(group.len());
    for edit in group {
        if key(edit).is_some() {
            last.retain(|other| key(other) != key(edit));
        }
        last.push(edit);
    }
    last.retain(|edit| edit.is_needed(cell));
    last
}

/// A changed document, if all cells say what they said, or what they are to say.
fn checked(
    document: &Document,
    edits: &[&CellEdit],
    source: Vec<u8>,
) -> Result<Document, ItemError> {
    let after = document.with_source_within_section(source);
    let mut texts = edits
        .iter()
        .filter_map(|edit| Some((edit.cell, edit.new_text()?)))
        .peekable();
    let mut is_right = document.cells().len() == after.cells().len();
    for (old, new) in document.cells().zip(after.cells()) {
        let text = texts
            .next_if(|(cell, _)| *cell == old.at)
            .map(|(_, text)| text);
        let is_same_text = match text {
            Some(text) => new.content() == text,
            None => old.bytes(old.body()) == new.bytes(new.body()),
        };
        is_right &= old.kind() == new.kind() && old.level() == new.level() && is_same_text;
    }
    if is_right {
        Ok(after)
    } else {
        Err(would_change_others())
    }
}

/// The error of a change that would not stay where it is made.
pub(super) fn would_change_others() -> ItemError {
    ItemError::new(
        ItemErrorKind::Refused,
        "the file cannot be changed there without another cell reading differently",
    )
}

/// Changes in a metadata line: a value that is there is replaced, a new one goes to the front, where
/// nothing that stands behind it can make it part of something else.
fn in_metadata(cell: Cell<'_>, edits: &[&CellEdit]) -> Vec<Splice> {
    let mut splices = Vec::new();
    let mut new = String::new();
    for edit in edits {
        let Edit::Attribute(key, value) = &edit.edit else {
            continue;
        };
        let mut text = String::new();
        if let Some(value) = value {
            write_attribute(&mut text, key.as_str(), value);
        }
        let found = cell
            .attribute_refs()
            .filter(|attribute| attribute.key() == Some(*key));
        let spans: Vec<Span> = found.map(AttributeRef::span).collect();
        match (spans.as_slice(), value) {
            ([], _) => new.push_str(&text),
            // Of a repeated one, the last counts.
            ([.., last], Some(_)) => {
                splices.push(Splice {
                    at: *last,
                    bytes: text.as_bytes()[1..].to_vec(),
                });
            }
            (all, None) => splices.extend(all.iter().map(|span| without_attribute(cell, *span))),
        }
    }
    if !new.is_empty() {
        let at = cell.after_type_word();
        let blank = if is_followed(cell, at) { " " } else { "" };
        splices.push(Splice {
            at: Span::new(at, at),
            bytes: format!("{new}{blank}").into(),
        });
    }
    splices.sort_by_key(|splice| splice.at.start);
    splices
}

/// Another text in the place of a cell's own. Where its metadata has nothing to say of the text, before or after, only
/// the text changes.
fn in_body(cell: Cell<'_>, id: &str, text: &str) -> Vec<Splice> {
    let is_plain = !text.is_empty()
        && !text.ends_with('\r')
        && open_fence(text).is_none()
        && stored(text, false).is_none();
    let body = cell.body();
    if !is_plain || body.is_empty() || cell.get(MetaKey::Stored).is_some() {
        return vec![replace_content(cell.document, cell, id, text)];
    }
    let mut splices = Vec::new();
    if !cell.is_sealed() {
        splices.extend(sealing(cell, &[], id));
    }
    splices.push(Splice {
        at: body,
        bytes: escape(text).into_owned().into_bytes(),
    });
    splices
}

/// Takes an attribute out of its line, with the blank before it.
fn without_attribute(cell: Cell<'_>, span: Span) -> Splice {
    let before = &cell.document.source()[..span.start];
    let start = if before.ends_with(b" ") {
        span.start - 1
    } else {
        span.start
    };
    Splice {
        at: Span::new(start, span.end),
        bytes: Vec::new(),
    }
}

/// Whether something follows right at this place of a line that must be kept apart from it.
fn is_followed(cell: Cell<'_>, at: usize) -> bool {
    let rest = &cell.document.source()[at..];
    rest.first()
        .is_some_and(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Gives a cell without metadata this id, if it has none, and metadata.
fn sealing(cell: Cell<'_>, edits: &[&CellEdit], id: &str) -> Vec<Splice> {
    let (source, head) = (cell.document.source(), cell.head());
    let line_end = cell.document.line_end();
    let text_end = head.start + line_text(head.of(source)).len();
    let mut splices = Vec::new();
    if cell.id().is_none() {
        let kept = head.start + head_without_blanks(&source[head.start..text_end]);
        let blank = if cell.title().is_empty() { " " } else { "" };
        let bytes = format!("{blank}[^{id}]").into_bytes();
        splices.push(Splice {
            at: Span::new(kept, text_end),
            bytes,
        });
    }
    let mut text = String::new();
    if head.end == text_end {
        text.push_str(line_end);
    }
    text.push_str(&format!("{line_end}[^{id}]: [markdown]"));
    for (key, value) in edits.iter().filter_map(|edit| edit.set_value()) {
        write_attribute(&mut text, key.as_str(), value);
    }
    text.push_str(line_end);
    // An indented line right below would be taken for more attributes.
    let next = lines(&source[..cell.span().end], head.end).next();
    if next.is_some_and(|(_, line)| !is_blank_line(line_text(line))) {
        text.push_str(line_end);
    }
    splices.push(Splice {
        at: Span::new(head.end, head.end),
        bytes: text.into_bytes(),
    });
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

/// The document with an id for each of these cells.
pub(super) fn with_ids(
    document: &Document,
    places: impl IntoIterator<Item = usize>,
) -> Result<Document, ItemError> {
    let edits = places.into_iter().map(|cell| CellEdit {
        cell,
        edit: Edit::Id,
    });
    edit_cells(document, &edits.collect::<Vec<_>>())
}

/// The document with a number for each of these cells that has no id: one more than all that there are, or its
/// place where another cell names it by that. The cells are in the order of the file. `None` if all have one.
pub(super) fn with_numbers(
    document: &Document,
    places: &[usize],
) -> Result<Option<Document>, ItemError> {
    let cells = places.iter().filter_map(|at| document.cell_at(*at));
    let loose: Vec<Cell<'_>> = cells.filter(|cell| cell.id().is_none()).collect();
    if loose.is_empty() {
        return Ok(None);
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
    checked(
        document,
        &[],
        Splice::apply_all(&splices, document.source()),
    )
    .map(Some)
}

/// The length of a head's line without the blanks at its end.
fn head_without_blanks(line: &[u8]) -> usize {
    line.iter()
        .rposition(|byte| !matches!(byte, b' ' | b'\t'))
        .map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    //! One attribute changes, and nothing else.

    use super::*;
    use crate::msgfile::{decode, decode_named};

    fn edited(source: &str, edit: CellEdit) -> String {
        let after = edit_cells(&decode(source), &[edit]).unwrap();
        String::from_utf8(after.into_source()).unwrap()
    }

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let set = edited(source, CellEdit::set(0, MetaKey::History, "none"));
        assert_eq!(set, expected);
        let cell_says = decode(set.as_str());
        assert_eq!(
            cell_says.cells().next().unwrap().attribute("history"),
            Some("none")
        );
    }

    #[test]
    fn an_attribute_is_added_behind_the_type_word() {
        check(
            "# %% [^1]\n\n[^1]: [markdown]\n\nx\n",
            "# %% [^1]\n\n[^1]: [markdown] history=\"none\"\n\nx\n",
        );
        check(
            "# %% [^1]\n[^1]: a=1\nx",
            "# %% [^1]\n[^1]: history=\"none\" a=1\nx",
        );
        check(
            "# %% [^1]\n[^1]:\nx",
            "# %% [^1]\n[^1]: history=\"none\"\nx",
        );
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
        check(
            "# %%\n\nhi\n",
            "# %% [^1]\n\n[^1]: [markdown] history=\"none\"\n\nhi\n",
        );
        check(
            "# %% a title  \nhi",
            "# %% a title[^1]\n\n[^1]: [markdown] history=\"none\"\n\nhi",
        );
        check(
            "# %% x[^7]\r\nhi",
            "# %% x[^7]\r\n\r\n[^7]: [markdown] history=\"none\"\r\n\r\nhi",
        );
        check("# %%", "# %% [^1]\n\n[^1]: [markdown] history=\"none\"\n");
        check(
            "# %%\n  a=1 b=2\n",
            "# %% [^1]\n\n[^1]: [markdown] history=\"none\"\n\n  a=1 b=2\n",
        );
    }

    #[test]
    fn several_cells_change_at_once_and_get_ids_of_their_own() {
        let document = decode_named(
            "# %%\n\none\n\n# %%\n\ntwo\n\n# %% [^9]\n\nthree\n",
            "x.msg.md",
        );
        let hide = |cell| CellEdit::set(cell, MetaKey::History, "none");
        let after = edit_cells(&document, &[hide(2), hide(0), hide(1)]).unwrap();
        let names: Vec<_> = after.cells().map(|cell| cell.name().into_owned()).collect();
        assert_eq!(names, ["1", "2", "9"]);
        assert!(
            after
                .cells()
                .all(|cell| cell.attribute("history") == Some("none"))
        );
        assert_eq!(after.problems(), []);
    }

    #[test]
    fn an_unknown_cell_is_an_error() {
        let hide = CellEdit::set(3, MetaKey::History, "none");
        let error = edit_cells(&decode("# %%\n\nhi\n"), &[hide]).unwrap_err();
        assert_eq!(error.kind(), ItemErrorKind::UnknownCell);
    }

    #[test]
    fn an_attribute_goes_with_the_blank_before_it() {
        let shown = |source: &str| edited(source, CellEdit::remove(0, MetaKey::History));
        assert_eq!(
            shown("# %% [^1]\n[^1]: [markdown] history=\"none\" a=1\nx"),
            "# %% [^1]\n[^1]: [markdown] a=1\nx"
        );
        assert_eq!(
            shown("# %% [^1]\n[^1]: history=1 a=1 history=2\nx"),
            "# %% [^1]\n[^1]: a=1\nx"
        );
        assert_eq!(shown("# %%\n\nx\n"), "# %%\n\nx\n");
    }

    #[test]
    fn a_text_takes_the_place_of_another() {
        let say = |source: &str, text: &str| edited(source, CellEdit::text(0, text));
        assert_eq!(
            say(
                "# %% [^1]\n\n[^1]: [markdown] a=1\n\none\n\n# %%\n\ntwo\n",
                "# %% new"
            ),
            "# %% [^1]\n\n[^1]: [markdown] a=1\n\n\\# %% new\n\n# %%\n\ntwo\n"
        );
        assert_eq!(
            say("# %%\n\none\n", "two"),
            "# %% [^1]\n\n[^1]: [markdown]\n\ntwo\n"
        );
    }
}
