//! Changes to a message file as splices: what goes where, and not a byte more.

use analects_core::Span;

use super::decode::{BOM, common_start};
use super::ids::leading_number;
use super::{Cell, CellKind, CellRole, Document, DocumentKind, MetaKey, NewCell};

/// Bytes to put in the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The bytes that go.
    pub at: Span,
    /// The bytes that come.
    pub bytes: Vec<u8>,
}

impl Splice {
    /// A change of nothing.
    pub fn nothing() -> Splice {
        Splice {
            at: Span::new(0, 0),
            bytes: Vec::new(),
        }
    }

    /// A change of everything to `bytes`.
    pub fn whole(source: &[u8], bytes: Vec<u8>) -> Splice {
        Splice {
            at: Span::new(0, source.len()),
            bytes,
        }
    }

    /// The smallest change from one source to another.
    pub fn between(source: &[u8], bytes: &[u8]) -> Splice {
        let start = common_start(source, bytes);
        let rest = source[start..]
            .iter()
            .rev()
            .zip(bytes[start..].iter().rev());
        let end = rest.take_while(|(one, other)| one == other).count();
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

    /// The source with several changes made, which are in order and do not overlap.
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
    /// The id that a new cell gets: one more than every number that an id starts with, and than the places of
    /// cells without an id, by which they are named. The empty cell whose place it takes does not count.
    pub fn next_id(&self) -> String {
        let last = self
            .cells()
            .next_back()
            .filter(|cell| cell.id().is_none() && !cell.is_ready());
        let loose = last.map(|cell| cell.at).or_else(|| self.last_without_id());
        self.number_behind(loose).to_string()
    }

    /// The number of a new cell if the cells at these places, in order, get other names.
    pub(super) fn number_without(&self, places: &[usize]) -> u64 {
        let is_other = |cell: &Cell<'_>| places.binary_search(&cell.at).is_err();
        let loose = self
            .cells()
            .rev()
            .find(|cell| is_other(cell) && cell.is_named_by_place());
        self.number_behind(loose.map(|cell| cell.at))
    }

    fn number_behind(&self, loose: Option<usize>) -> u64 {
        let mut largest = self.largest_id();
        // The cell that is ready gives its number away.
        if let Some(ready) = self
            .ready_cell()
            .and_then(Cell::id)
            .and_then(leading_number)
            && ready == largest
        {
            let ids = self.cells().rev().skip(1).filter_map(Cell::id);
            largest = ids.filter_map(leading_number).max().unwrap_or(0);
        }
        largest.max(loose.map_or(0, |at| at as u64 + 1)) + 1
    }

    /// The largest number that follows `prefix` in an id: 2 behind `1.` if there is `1.2`, or `1.2-3`.
    pub(super) fn last_number(&self, prefix: &str) -> u64 {
        let number = |cell: Cell<'_>| {
            let rest = cell.id()?.strip_prefix(prefix)?;
            let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            // A nonce may start with digits, and is no number.
            let is_whole = behind.is_empty() || behind.starts_with(['-', '.']);
            leading_number(rest).filter(|_| is_whole)
        };
        self.cells().filter_map(number).max().unwrap_or(0)
    }

    /// Whether a new cell cannot have that name. That of the empty cell whose place it takes is free.
    pub fn is_taken(&self, name: &str) -> bool {
        let ready = self.ready_cell().map(Cell::ordinal);
        self.cell(name)
            .is_some_and(|cell| Some(cell.ordinal()) != ready)
    }

    /// The number of `#` of new cells: one more than their section's heading, at most five.
    pub fn new_cell_level(&self) -> usize {
        match self.kind {
            DocumentKind::Section => self
                .scan
                .section
                .map_or(3, |section| section.level + 1)
                .min(5),
            _ => 1,
        }
    }

    /// The line end of the file's first line; `\n` where there is none.
    pub(super) fn line_end(&self) -> &'static str {
        let first = memchr::memchr(b'\n', &self.source);
        match first
            .and_then(|at| at.checked_sub(1))
            .map(|at| self.source[at])
        {
            Some(b'\r') => "\r\n",
            _ => "\n",
        }
    }

    /// The empty `# %%` at the end of a file that waits for somebody to type into it. It is no message;
    /// the next one takes its place.
    pub fn ready_cell(&self) -> Option<Cell<'_>> {
        self.cells().next_back().filter(|cell| cell.is_ready())
    }

    /// Where a new cell goes, and what must stand before its head.
    pub(super) fn insertion_point(&self) -> (Span, String) {
        if let Some(ready) = self.ready_cell() {
            return (ready.span(), String::new());
        }
        let (end, line_end) = (self.source.len(), self.line_end());
        let mut before = String::new();
        let is_first = end == 0 || self.source == BOM;
        match self.source.last() {
            _ if is_first => {}
            Some(b'\n') => {}
            Some(b'\r') => before.push_str("\r\n"),
            _ => before.push_str(line_end),
        }
        if !is_first && !self.last_cell_waits_for_lines() {
            before.push_str(line_end);
        }
        if let (DocumentKind::Section, None, Some(name)) =
            (self.kind, self.scan.section, &self.front.message_section)
        {
            before.push_str(&format!("## {name}{line_end}{line_end}"));
        }
        (Span::new(end, end), before)
    }

    /// Whether the last cell has fewer lines than its `stored` says. One more, and it would read
    /// differently, so nothing may be added between it and the next head.
    fn last_cell_waits_for_lines(&self) -> bool {
        self.cells()
            .next_back()
            .is_some_and(|cell| !cell.is_stored_as_it_says())
    }
}

impl Cell<'_> {
    /// Whether it has no id and says something, so that people name it by its place.
    fn is_named_by_place(self) -> bool {
        self.id().is_none() && !(self.title().is_empty() && self.body().is_empty())
    }

    /// Whether this is the [ready cell](Document::ready_cell) of its file.
    pub fn is_ready(self) -> bool {
        self.ordinal() == self.document.scan.cells.len()
            && self.kind() == CellKind::Message
            && self.title().is_empty()
            && (self.id().is_none() && self.body().is_empty() || self.is_rewind_mark())
    }

    /// Whether it is an empty message cell with a `parent`: what is said next follows that.
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

/// Adds cells at the end of the file. An empty cell that is ready there is filled by a message, and
/// stays behind what is no message. If that cell says which message is followed next, the first new one follows it.
pub fn append_all(document: &Document, cells: &[NewCell]) -> Splice {
    let (at, mut text) = document.insertion_point();
    let mark = document.ready_cell().filter(|ready| ready.is_rewind_mark());
    if let (Some(mark), [first, rest @ ..]) = (mark, cells) {
        if !first.is_message() {
            text.push_str(&cells_text(document, cells, document.new_cell_level()));
            text.push_str(document.line_end());
            return Splice {
                at: Span::new(at.start, at.start),
                bytes: text.into_bytes(),
            };
        }
        let mut first = first.clone();
        if first
            .attributes
            .iter()
            .all(|(key, _)| key != MetaKey::Parent.as_str())
        {
            first = first.with("parent", mark.parent().unwrap_or_default());
        }
        text.push_str(&cells_text(document, &[first], document.new_cell_level()));
        if !rest.is_empty() {
            text.push_str(document.line_end());
        }
        text.push_str(&cells_text(document, rest, document.new_cell_level()));
    } else {
        text.push_str(&cells_text(document, cells, document.new_cell_level()));
    }
    if document.ready_cell().is_some() && ends_with_output(cells) {
        text.push_str(&typed_cell(document, document.new_cell_level(), ""));
    }
    Splice {
        at,
        bytes: text.into_bytes(),
    }
}

/// Adds an answer at the end of the file, and an empty cell that is ready for what is said next.
pub fn append_answer(document: &Document, cells: &[NewCell]) -> Splice {
    let mut splice = append_all(document, cells);
    if document.ready_cell().is_none() && ends_with_output(cells) {
        let ready = typed_cell(document, document.new_cell_level(), "");
        splice.bytes.extend_from_slice(ready.as_bytes());
    }
    splice
}

/// Writes a cell in the place of another. Without a level of its own it keeps the other's.
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

/// A cell as a person types it, with what stands before it.
pub(super) fn typed_cell(document: &Document, level: usize, text: &str) -> String {
    let (line_end, hashes) = (document.line_end(), "#".repeat(level));
    match text {
        "" => format!("{line_end}{hashes} %%{line_end}"),
        _ => format!("{line_end}{hashes} %%{line_end}{line_end}{text}{line_end}"),
    }
}

fn ends_with_output(cells: &[NewCell]) -> bool {
    cells
        .last()
        .is_some_and(|cell| cell.kind == CellKind::Output)
}

/// Cells as text, with a blank line between them.
pub(super) fn cells_text(document: &Document, cells: &[NewCell], level: usize) -> String {
    let line_end = document.line_end();
    let texts: Vec<String> = cells
        .iter()
        .map(|cell| cell.to_text(level, line_end))
        .collect();
    texts.join(line_end)
}

/// A cell with another text in the place of its own, and with everything else that it says of itself.
pub(super) fn replace_content(document: &Document, cell: Cell<'_>, id: &str, text: &str) -> Splice {
    let of_the_text = [Some(MetaKey::Stored), Some(MetaKey::Title)];
    let kept = cell
        .attribute_refs()
        .filter(|attribute| !of_the_text.contains(&attribute.key()));
    let new = NewCell {
        kind: cell.kind(),
        level: Some(cell.level()),
        title: cell.full_title().into_owned(),
        id: id.to_string(),
        type_word: cell.type_word().to_string(),
        attributes: kept
            .map(|kept| (kept.name().to_string(), kept.value().to_string()))
            .collect(),
        content: text.to_string(),
    };
    replace(document, cell, &new)
}
