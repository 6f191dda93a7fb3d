//! Changes to a message file as splices, each as small as possible: where new cells go, and which ids they get.

use analects_core::Span;

use super::decode::{BOM, common_start};
use super::frontmatter::line_end;
use super::{Cell, CellKind, CellRole, Document, DocumentKind, MetaKey, NewCell};

/// A change of a file: some bytes replaced by others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The bytes that are replaced.
    pub at: Span,
    /// The bytes that replace them.
    pub bytes: Vec<u8>,
}

impl Splice {
    /// A splice that changes nothing.
    pub fn nothing() -> Splice {
        Splice {
            at: Span::new(0, 0),
            bytes: Vec::new(),
        }
    }

    /// A splice that replaces the whole source by `bytes`.
    pub fn whole(source: &[u8], bytes: Vec<u8>) -> Splice {
        Splice {
            at: Span::new(0, source.len()),
            bytes,
        }
    }

    /// The smallest splice that turns one source into another.
    pub fn between(source: &[u8], bytes: &[u8]) -> Splice {
        let start = common_start(source, bytes);
        let old = source[start..].iter().rev();
        let new = bytes[start..].iter().rev();
        let end = old.zip(new).take_while(|(old, new)| old == new).count();
        let at = Span::new(start, source.len() - end);
        Splice {
            at,
            bytes: bytes[start..bytes.len() - end].to_vec(),
        }
    }

    /// Whether it only adds bytes at the end of `source`.
    pub fn is_append(&self, source: &[u8]) -> bool {
        self.at == Span::new(source.len(), source.len())
    }

    /// The source with this change made.
    pub fn apply(&self, source: &[u8]) -> Vec<u8> {
        [
            &source[..self.at.start],
            &self.bytes,
            &source[self.at.end..],
        ]
        .concat()
    }

    /// The source with several changes made, which must be in order and must not overlap.
    pub fn apply_all(splices: &[Splice], source: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(source.len());
        let mut at = 0;
        for splice in splices {
            out.extend_from_slice(&source[at..splice.at.start]);
            out.extend_from_slice(&splice.bytes);
            at = splice.at.end;
        }
        out.extend_from_slice(&source[at..]);
        out
    }
}

impl Document {
    /// Whether a cell has this name already, apart from the empty one that a new cell replaces.
    pub fn is_taken(&self, name: &str) -> bool {
        let Some(cell) = self.cell(name) else {
            return false;
        };
        !cell.is_ready()
    }

    /// The number of `#` of new cells: one more than the heading of their section, at most five.
    pub fn new_cell_level(&self) -> usize {
        if self.kind != DocumentKind::Section {
            return 1;
        }
        let section = self.scan.section;
        section.map_or(3, |section| section.level + 1).min(5)
    }

    /// The line end of the file's first line; `\n` if it has none.
    pub(super) fn line_end(&self) -> &'static str {
        line_end(&self.source)
    }

    /// The ready cell: an empty `# %%` at the end of a file, for a person to type into. It is not a message; the next
    /// message takes its place.
    pub fn ready_cell(&self) -> Option<Cell<'_>> {
        self.cells().next_back().filter(|cell| cell.is_ready())
    }

    /// The bytes that a new cell replaces, and the text that must come before its head.
    pub(super) fn insertion_point(&self) -> (Span, String) {
        if let Some(ready) = self.ready_cell() {
            return (ready.span(), String::new());
        }
        let end = self.source.len();
        let mut before = self.gap_at_end();
        if let (DocumentKind::Section, None, Some(name)) =
            (self.kind, self.scan.section, &self.front.message_section)
        {
            let line_end = self.line_end();
            before.push_str(&format!("## {name}{line_end}{line_end}"));
        }
        (Span::new(end, end), before)
    }

    /// What must be added at the end of the file so that it ends with a blank line.
    fn gap_at_end(&self) -> String {
        let mut gap = String::new();
        if self.source.is_empty() || self.source == BOM {
            return gap;
        }
        let line_end = self.line_end();
        match self.source.last() {
            Some(b'\n') => {}
            Some(b'\r') => gap.push_str("\r\n"),
            _ => gap.push_str(line_end),
        }
        if !self.last_cell_waits_for_lines() {
            gap.push_str(line_end);
        }
        gap
    }

    /// Whether the last cell has fewer lines than its `stored` says. With one more line it could read differently, so
    /// nothing may be added between it and the next head.
    fn last_cell_waits_for_lines(&self) -> bool {
        self.cells()
            .next_back()
            .is_some_and(|cell| !cell.is_stored_as_it_says())
    }
}

impl Cell<'_> {
    /// Whether this is the [ready cell](Document::ready_cell) of its file.
    pub fn is_ready(self) -> bool {
        self.ordinal() == self.document.scan.cells.len()
            && self.kind() == CellKind::Message
            && self.title().is_empty()
            && (self.id().is_none() && self.body().is_empty() || self.is_rewind_mark())
    }

    /// Whether it is a rewind mark: an empty message cell with a `parent`, which the next message follows.
    pub fn is_rewind_mark(self) -> bool {
        self.role() == CellRole::User
            && self.parent().is_some()
            && self.title().is_empty()
            && self.get(MetaKey::Content).is_none()
            && self.body().is_empty()
    }
}

/// Adds a cell at the end of the file, as [`append_all`] does.
pub fn append(document: &Document, cell: &NewCell) -> Splice {
    append_all(document, std::slice::from_ref(cell))
}

/// Adds cells at the end of the file. The first message takes the place of the [ready cell](Document::ready_cell); if
/// that is a rewind mark, the message gets its `parent`. Cells that are not messages go before it. After an output,
/// the file gets a new ready cell if it had one.
pub fn append_all(document: &Document, cells: &[NewCell]) -> Splice {
    let (at, mut text) = document.insertion_point();
    let level = document.new_cell_level();
    let mark = document.ready_cell().filter(|ready| ready.is_rewind_mark());
    match (mark, cells) {
        (Some(_), [first, ..]) if !first.is_message() => {
            text.push_str(&cells_text(document, cells, level));
            text.push_str(document.line_end());
            return Splice {
                at: Span::new(at.start, at.start),
                bytes: text.into_bytes(),
            };
        }
        (Some(mark), [first, rest @ ..]) => {
            let first = with_parent_of(mark, first);
            text.push_str(&cells_text(document, &[first], level));
            if !rest.is_empty() {
                text.push_str(document.line_end());
            }
            text.push_str(&cells_text(document, rest, level));
        }
        _ => text.push_str(&cells_text(document, cells, level)),
    }
    if document.ready_cell().is_some() && ends_with_output(cells) {
        text.push_str(&typed_cell(document, level, ""));
    }
    Splice {
        at,
        bytes: text.into_bytes(),
    }
}

/// The cell with the parent of a rewind mark, unless it has a parent of its own.
fn with_parent_of(mark: Cell<'_>, cell: &NewCell) -> NewCell {
    let key = MetaKey::Parent.as_str();
    let cell = cell.clone();
    if cell.attributes.iter().any(|(other, _)| other == key) {
        return cell;
    }
    cell.with(key, mark.parent().unwrap_or_default())
}

/// Adds an answer at the end of the file, and a ready cell for the next message.
pub fn append_answer(document: &Document, cells: &[NewCell]) -> Splice {
    let mut splice = append_all(document, cells);
    if document.ready_cell().is_none() && ends_with_output(cells) {
        let ready = typed_cell(document, document.new_cell_level(), "");
        splice.bytes.extend_from_slice(ready.as_bytes());
    }
    splice
}

/// The text of a ready cell for a copy of the file that ends at `end`, between two cells or at the end of the file.
pub(super) fn ready_cell_text(document: &Document, end: usize) -> String {
    let line_end = document.line_end();
    let blank_line = [line_end, line_end].concat();
    let copied = &document.source[..end];
    let mut text = String::new();
    if end == document.source.len() && !copied.ends_with(blank_line.as_bytes()) {
        text = document.gap_at_end();
    }
    text.push_str(&"#".repeat(document.new_cell_level()));
    text.push_str(" %%");
    text.push_str(line_end);
    text
}

/// Replaces a cell by another one, which keeps its level unless it has one of its own.
pub fn replace(document: &Document, old: Cell<'_>, cell: &NewCell) -> Splice {
    let mut text = cells_text(document, std::slice::from_ref(cell), old.level());
    if old.span().end < document.source.len() {
        text.push_str(document.line_end());
    }
    Splice {
        at: old.span(),
        bytes: text.into_bytes(),
    }
}

/// A cell without metadata, as a person types it, after a blank line.
pub(super) fn typed_cell(document: &Document, level: usize, text: &str) -> String {
    let line_end = document.line_end();
    let head = format!("{line_end}{} %%{line_end}", "#".repeat(level));
    if text.is_empty() {
        return head;
    }
    format!("{head}{line_end}{text}{line_end}")
}

/// Whether the last of these cells is an output, after which a person types next.
fn ends_with_output(cells: &[NewCell]) -> bool {
    cells
        .last()
        .is_some_and(|cell| cell.kind == CellKind::Output)
}

/// Cells as text, with a blank line between them.
pub(super) fn cells_text(document: &Document, cells: &[NewCell], level: usize) -> String {
    let line_end = document.line_end();
    let texts = cells.iter().map(|cell| cell.to_text(level, line_end));
    texts.collect::<Vec<String>>().join(line_end)
}

/// Writes a cell anew with another text; its title and its other attributes stay.
pub(super) fn replace_content(document: &Document, cell: Cell<'_>, id: &str, text: &str) -> Splice {
    let written_anew = [Some(MetaKey::Stored), Some(MetaKey::Title)];
    let mut attributes = Vec::new();
    for attribute in cell.attribute_refs() {
        if !written_anew.contains(&attribute.key()) {
            attributes.push((attribute.name().to_string(), attribute.value().to_string()));
        }
    }
    let new = NewCell {
        kind: cell.kind(),
        level: Some(cell.level()),
        title: cell.full_title().into_owned(),
        id: id.to_string(),
        type_word: cell.type_word().to_string(),
        attributes,
        content: text.to_string(),
    };
    replace(document, cell, &new)
}
