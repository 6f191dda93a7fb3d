//! Edits of existing cells: attributes and texts change, and no other byte does. A cell that a person typed without
//! metadata gets some.

use analects_core::Span;

use super::edit::replace_content;
use super::encode::{open_fence, stored};
use super::escape::escape;
use super::item::{ItemError, ItemErrorKind};
use super::line::is_blank_line;
use super::meta::write_attribute;
use super::metadata::AttributeRef;
use super::scan::{line_text, lines};
use super::{Cell, Document, MetaKey, Splice};

/// One edit of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellEdit {
    /// The index of the cell, from 0.
    pub cell: usize,
    /// What changes.
    pub edit: Edit,
}

/// What changes about a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Sets an attribute, or removes it if the value is `None`.
    Attribute(MetaKey, Option<String>),
    /// Replaces the text.
    Text(String),
    /// Gives a cell without an id one.
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

    /// The attribute that it sets or removes.
    fn key(&self) -> Option<MetaKey> {
        match &self.edit {
            Edit::Attribute(key, _) => Some(*key),
            Edit::Text(_) | Edit::Id => None,
        }
    }

    /// The attribute that it sets, and its value.
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

    /// Whether the edit changes anything.
    fn is_needed(&self, cell: Cell<'_>) -> bool {
        match &self.edit {
            Edit::Attribute(key, None) => cell.get(*key).is_some(),
            Edit::Attribute(key, Some(value)) => cell.get(*key) != Some(value),
            Edit::Text(text) => cell.content() != text.as_str() || !cell.is_sealed(),
            Edit::Id => cell.id().is_none(),
        }
    }
}

/// The document with some cells edited. Fails if a cell would read differently from what the edits say, or if there is
/// no such cell.
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
    let mut splices: Vec<Splice> = Vec::new();
    for group in edits.chunk_by(|one, other| one.cell == other.cell) {
        let missing = || ItemError::new(ItemErrorKind::UnknownCell, "there is no such cell");
        let cell = document.cell_at(group[0].cell).ok_or_else(missing)?;
        let needed = needed_edits(group, cell);
        if !needed.is_empty() {
            splices.extend(splices_of(cell, &needed));
        }
    }
    let source = Splice::apply_all(&splices, document.source());
    checked(document, &edits, source)
}

/// The splices that make the edits of one cell. A new text excludes other edits of the same cell.
fn splices_of(cell: Cell<'_>, edits: &[&CellEdit]) -> Vec<Splice> {
    if let Some(text) = edits.iter().find_map(|edit| edit.new_text()) {
        return replace_body(cell, &cell.name(), text);
    }
    if cell.is_sealed() {
        return edit_metadata(cell, edits);
    }
    seal(cell, edits, &cell.name())
}

/// The edits of a cell that change something. Of several edits of one attribute, the last one counts.
fn needed_edits<'e>(group: &[&'e CellEdit], cell: Cell<'_>) -> Vec<&'e CellEdit> {
    let mut needed: Vec<&CellEdit> = Vec::with_capacity(group.len());
    for edit in group {
        if let Some(key) = edit.key() {
            needed.retain(|other| other.key() != Some(key));
        }
        needed.push(edit);
    }
    needed.retain(|edit| edit.is_needed(cell));
    needed
}

/// The document with this source, if each of its cells says what the same cell said before, or what an edit made it
/// say.
fn checked(
    document: &Document,
    edits: &[&CellEdit],
    source: Vec<u8>,
) -> Result<Document, ItemError> {
    let after = document.with_source_within_section(source);
    if document.cells().len() != after.cells().len() {
        return Err(would_change_others());
    }
    let mut texts = edits
        .iter()
        .filter_map(|edit| Some((edit.cell, edit.new_text()?)))
        .peekable();
    for (old, new) in document.cells().zip(after.cells()) {
        let is_same_text = match texts.next_if(|(cell, _)| *cell == old.at) {
            Some((_, text)) => new.content() == text,
            None => old.bytes(old.body()) == new.bytes(new.body()),
        };
        if !is_same_text || old.kind() != new.kind() || old.level() != new.level() {
            return Err(would_change_others());
        }
    }
    Ok(after)
}

/// The error of a change that would affect other cells.
pub(super) fn would_change_others() -> ItemError {
    ItemError::new(
        ItemErrorKind::Refused,
        "the file cannot be changed there without another cell reading differently",
    )
}

/// Edits the attributes of a sealed cell. An existing value is replaced; a new attribute becomes the first one, where
/// nothing that follows it can turn it into something else.
fn edit_metadata(cell: Cell<'_>, edits: &[&CellEdit]) -> Vec<Splice> {
    let mut splices = Vec::new();
    let mut new = String::new();
    for edit in edits {
        let Edit::Attribute(key, value) = &edit.edit else {
            continue;
        };
        let spans = attribute_spans(cell, *key);
        match (spans.last(), value) {
            // If an attribute is repeated, the last one counts.
            (Some(last), Some(value)) => splices.push(Splice {
                at: *last,
                bytes: attribute_text(*key, value).trim_start().into(),
            }),
            (None, Some(value)) => new.push_str(&attribute_text(*key, value)),
            (_, None) => {
                let removed = spans.iter().map(|span| without_attribute(cell, *span));
                splices.extend(removed);
            }
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

/// Where the attributes with this key are, in order.
fn attribute_spans(cell: Cell<'_>, key: MetaKey) -> Vec<Span> {
    let attributes = cell.attribute_refs();
    attributes
        .filter(|attribute| attribute.key() == Some(key))
        .map(AttributeRef::span)
        .collect()
}

/// ` key="value"`.
fn attribute_text(key: MetaKey, value: &str) -> String {
    let mut text = String::new();
    write_attribute(&mut text, key.as_str(), value);
    text
}

/// Replaces the text of a cell. If neither text needs `stored`, only the text changes; else the whole cell is written
/// anew.
fn replace_body(cell: Cell<'_>, id: &str, text: &str) -> Vec<Splice> {
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
        splices.extend(seal(cell, &[], id));
    }
    splices.push(Splice {
        at: body,
        bytes: escape(text).into_owned().into_bytes(),
    });
    splices
}

/// Removes an attribute from its line, with the blank before it.
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

/// Whether text follows at this offset without a blank or a line end before it.
fn is_followed(cell: Cell<'_>, at: usize) -> bool {
    let rest = &cell.document.source()[at..];
    rest.first()
        .is_some_and(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Gives a cell without metadata this id, if it has none, and metadata.
fn seal(cell: Cell<'_>, edits: &[&CellEdit], id: &str) -> Vec<Splice> {
    let mut splices = Vec::new();
    if cell.id().is_none() {
        splices.push(add_id(cell, id));
    }
    let head = cell.head();
    let line_end = cell.document.line_end();
    let mut text = String::new();
    if head.end == head_text_end(cell) {
        text.push_str(line_end);
    }
    text.push_str(&format!("{line_end}[^{id}]: [markdown]"));
    for (key, value) in edits.iter().filter_map(|edit| edit.set_value()) {
        write_attribute(&mut text, key.as_str(), value);
    }
    text.push_str(line_end);
    if starts_with_text(cell) {
        // An indented line right below would be read as more attributes.
        text.push_str(line_end);
    }
    splices.push(Splice {
        at: Span::new(head.end, head.end),
        bytes: text.into_bytes(),
    });
    splices
}

/// Where the head's line ends, without its line end.
fn head_text_end(cell: Cell<'_>) -> usize {
    let head = cell.head();
    head.start + line_text(cell.bytes(head)).len()
}

/// Whether the line right below the head is not blank.
fn starts_with_text(cell: Cell<'_>) -> bool {
    let source = &cell.document.source()[..cell.span().end];
    let next = lines(source, cell.head().end).next();
    next.is_some_and(|(_, line)| !is_blank_line(line_text(line)))
}

/// Adds an id at the end of a head, in place of trailing blanks.
fn add_id(cell: Cell<'_>, id: &str) -> Splice {
    let start = cell.head().start;
    let end = head_text_end(cell);
    let line = &cell.document.source()[start..end];
    let blank = if cell.title().is_empty() { " " } else { "" };
    Splice {
        at: Span::new(start + length_without_blanks(line), end),
        bytes: format!("{blank}[^{id}]").into_bytes(),
    }
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

/// The document with an id for each of these cells that has none. `None` if all have one, or if a cell would read
/// differently with it.
pub(super) fn with_missing_ids(document: &Document, places: &[usize]) -> Option<Document> {
    let cells = places.iter().filter_map(|at| document.cell_at(*at));
    let loose: Vec<usize> = cells
        .filter(|cell| cell.id().is_none())
        .map(|cell| cell.at)
        .collect();
    if loose.is_empty() {
        return None;
    }
    with_ids(document, loose).ok()
}

/// The length of a line without the blanks at its end.
fn length_without_blanks(line: &[u8]) -> usize {
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
