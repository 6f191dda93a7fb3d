//! One pass over a file that finds its frontmatter, its section and its cells. It copies nothing, and looks closely
//! only at lines that may be heads or fences.

use analects_core::Span;
use memchr::memchr;

use super::fence::Region;
use super::ids::IdTable;
use super::line::{Head, head, heading, is_blank_line, metadata_of};
use super::metadata::Metadata;
use super::role::RoleFacts;
use super::{CellKind, CellRole, MetaKey};

/// Where the parts of a cell are, and its role. Everything else is computed on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CellSpans {
    /// The start of the head's line.
    pub(super) start: usize,
    /// The end of the head's line, line end included.
    pub(super) head_end: usize,
    pub(super) title: Span,
    /// The id, empty if there is none.
    pub(super) id: Span,
    /// The start of the metadata line, or 0 if there is none.
    pub(super) meta: usize,
    /// The end of the metadata, including the lines that continue it, or 0 if there is none.
    pub(super) meta_end: usize,
    /// The index of its first entry in the [`Metadata`] of the file.
    pub(super) entries: usize,
    /// The start of the type word.
    word: usize,
    /// The length of the type word; 0 if there is none.
    word_length: u8,
    pub(super) kind: CellKind,
    pub(super) role: CellRole,
    pub(super) level: u8,
}

impl CellSpans {
    /// The offset after the type word and its bracket, if it has one.
    pub(super) fn word_end(self) -> Option<usize> {
        (self.word_length > 0).then(|| self.word + usize::from(self.word_length) + 1)
    }

    /// The type word, if it has one.
    pub(super) fn type_word(self, source: &[u8]) -> Option<&str> {
        let word = Span::new(self.word, self.word + usize::from(self.word_length));
        std::str::from_utf8(word.of(source))
            .ok()
            .filter(|word| !word.is_empty())
    }
}

/// The heading below which a plain Markdown file keeps its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// The heading's line, with its line end.
    pub heading: Span,
    /// The number of `#`.
    pub level: usize,
}

/// The cells of a file, found in one pass.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) cells: Vec<CellSpans>,
    pub(super) metadata: Metadata,
    pub(super) section: Option<Section>,
    /// Sealed heads after a fence that was still open: the offset of the fence, and of the head.
    pub(super) in_fence: Vec<(usize, usize)>,
    /// Fences that nothing closes and below which loose heads start cells: the offset of the fence, and of the first of
    /// these heads.
    pub(super) open_fences: Vec<(usize, usize)>,
    /// The cells that hold code.
    code: IdTable,
}

/// Scans a file from `start` on. With a `section`, cells count only below the first heading of that
/// name.
pub(super) fn scan(source: &[u8], start: usize, section: Option<&str>) -> Scan {
    continue_scan(Scan::default(), source, start, section)
}

/// Scans a file from `start` on, and adds what it finds to an earlier scan.
fn continue_scan(found: Scan, source: &[u8], start: usize, section: Option<&str>) -> Scan {
    let mut scanner = Scanner {
        source,
        section,
        found,
        region: Region::new(),
        waiting: None,
    };
    let mut at = start;
    while at < source.len() {
        let end = memchr(b'\n', &source[at..]).map_or(source.len(), |offset| at + offset + 1);
        scanner.line(at, end);
        at = end;
    }
    scanner.end_region(None);
    scanner.found
}

impl Scan {
    /// Forgets the cells from index `at` on; `source` is the one that was scanned.
    pub(super) fn cut(&mut self, at: usize, source: &[u8]) {
        let Some(first) = self.cells.get(at).copied() else {
            return;
        };
        for place in at..self.cells.len() {
            if self.cells[place].role == CellRole::Code {
                self.code.remove(self.cells[place].id.of(source), place);
            }
        }
        self.cells.truncate(at);
        self.metadata.truncate(first.entries);
        self.in_fence.retain(|(_, head)| *head <= first.start);
        self.open_fences.retain(|(_, head)| *head < first.start);
    }

    /// Continues the scan at `start`, where a cell begins.
    pub(super) fn continue_scan(&mut self, source: &[u8], start: usize) {
        *self = continue_scan(std::mem::take(self), source, start, None);
    }

    /// The range of the metadata entries of a cell.
    pub(super) fn entries(&self, at: usize) -> Span {
        Span::new(self.first_entry(at), self.first_entry(at + 1))
    }

    fn first_entry(&self, at: usize) -> usize {
        let cell = self.cells.get(at);
        cell.map_or(self.metadata.len(), |cell| cell.entries)
    }

    /// Reads the metadata of a cell, decides its role, and adds it.
    fn push(&mut self, mut cell: CellSpans, source: &[u8]) {
        cell.entries = self.metadata.len();
        if cell.meta > 0 {
            let text = cell.meta + "[^]:".len() + cell.id.len();
            let found = self.metadata.read(source, cell.meta, text);
            cell.meta_end = found.end;
            cell.word = found.word.start;
            // A type word is shorter than that.
            cell.word_length = u8::try_from(found.word.len()).unwrap_or(0);
        }
        cell.role = self.role(&cell, source);
        if cell.role == CellRole::Code {
            self.code.add(cell.id.of(source), self.cells.len());
        }
        self.cells.push(cell);
    }

    /// The role of the next cell, whose metadata was read last.
    fn role(&self, cell: &CellSpans, source: &[u8]) -> CellRole {
        let entries = Span::new(cell.entries, self.metadata.len());
        let value = |key: MetaKey| {
            let mut attributes = self.metadata.attributes(source, entries).rev();
            attributes
                .find(|attribute| attribute.key() == Some(key))
                .map(|found| found.value())
        };
        let facts = RoleFacts {
            kind: cell.kind,
            type_word: cell.type_word(source).unwrap_or("markdown"),
            id: cell.id.of(source),
            has_name: value(MetaKey::Name).is_some(),
            is_reasoning: value(MetaKey::Reasoning) == Some("1"),
        };
        CellRole::of(facts, |id| self.code.find(id).is_some())
    }
}

/// A line that a closed fence hides: a loose head, or the heading of the section.
#[derive(Debug, Clone, Copy)]
enum HideableLine {
    Head(CellSpans),
    Heading(Section),
}

/// Takes the lines of a file one by one.
struct Scanner<'a> {
    source: &'a [u8],
    section: Option<&'a str>,
    found: Scan,
    region: Region<HideableLine>,
    /// A head with an id, until the next line that is not blank shows whether it is sealed.
    waiting: Option<CellSpans>,
}

impl Scanner<'_> {
    /// Takes a line. The first test dismisses most lines of most files.
    fn line(&mut self, start: usize, end: usize) {
        let first = self.source[start];
        let special = matches!(
            first,
            b'#' | b'`' | b'~' | b' ' | b'-' | b'*' | b'+' | b'0'..=b'9'
        );
        if !special && self.waiting.is_none() && !self.region.is_in_item() {
            return;
        }
        let text = line_text(&self.source[start..end]);
        if is_blank_line(text) {
            return;
        }
        self.seal(start, text);
        self.region.line(text, start);
        if first == b'#' {
            self.heading(start, end, text);
        }
    }

    /// Decides whether the waiting head is sealed: it is if this line, the first one after it, is its metadata.
    fn seal(&mut self, start: usize, text: &[u8]) {
        let Some(mut cell) = self.waiting.take() else {
            return;
        };
        if metadata_of(text, cell.id.of(self.source)).is_some() {
            cell.meta = start;
            self.region.take_back();
            self.end_region(Some(cell));
        }
    }

    /// Takes a line that starts with `#`, which may be a head or the heading of the section.
    fn heading(&mut self, start: usize, end: usize, text: &[u8]) {
        if let Some(head) = head(text) {
            let cell = spans(start, end, &head);
            self.waiting = (!cell.id.is_empty()).then_some(cell);
            self.region.hideable(HideableLine::Head(cell));
        } else if self.found.section.is_none()
            && let Some(level) = self.section.and_then(|name| heading(text, name))
        {
            let section = Section {
                heading: Span::new(start, end),
                level,
            };
            self.region.hideable(HideableLine::Heading(section));
        }
    }

    /// Ends a region: before the sealed head that starts the next one, or at the end of the file.
    fn end_region(&mut self, sealed: Option<CellSpans>) {
        let source = self.source;
        let is_wanted = self.section.is_some();
        let found = &mut self.found;
        let before = found.cells.len();
        let show = |item| match item {
            HideableLine::Head(cell) if !is_wanted || found.section.is_some() => {
                found.push(cell, source)
            }
            HideableLine::Heading(section) if found.section.is_none() => {
                found.section = Some(section)
            }
            HideableLine::Head(_) | HideableLine::Heading(_) => {}
        };
        let unclosed = self.region.end(show, |_, _| {});
        if let Some(fence) = unclosed {
            let mut shown = found.cells[before..].iter();
            let below = shown.find(|cell| cell.start > fence);
            found
                .open_fences
                .extend(below.map(|cell| (fence, cell.start)));
        }
        if let Some(cell) = sealed
            && (!is_wanted || found.section.is_some())
        {
            found
                .in_fence
                .extend(unclosed.map(|fence| (fence, cell.start)));
            found.push(cell, source);
        }
    }
}

/// The spans of a head, which counts its own from the start of the line.
fn spans(start: usize, end: usize, head: &Head) -> CellSpans {
    let absolute = |span: Span| Span::new(start + span.start, start + span.end);
    CellSpans {
        start,
        head_end: end,
        title: absolute(head.title),
        id: head.id.map_or(Span::default(), absolute),
        meta: 0,
        meta_end: 0,
        entries: 0,
        word: 0,
        word_length: 0,
        kind: head.kind,
        role: CellRole::User,
        level: head.level,
    }
}

/// A line without its line end, which is `\n` or `\r\n` and nothing else.
pub(crate) fn line_text(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n")
        .map_or(line, |text| text.strip_suffix(b"\r").unwrap_or(text))
}

/// The lines from `start` on, including their line ends, each with its offset.
pub(crate) fn lines(source: &[u8], start: usize) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = start;
    std::iter::from_fn(move || {
        let rest = source.get(at..).filter(|rest| !rest.is_empty())?;
        let line = memchr(b'\n', rest).map_or(rest, |offset| &rest[..=offset]);
        let offset = at;
        at += line.len();
        Some((offset, line))
    })
}

/// A line: its text without the line end, and its span with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceLine<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) span: Span,
}

impl SourceLine<'_> {
    pub(crate) fn is_blank(&self) -> bool {
        is_blank_line(self.text)
    }
}

/// The lines from `start` on, with their spans.
pub(crate) fn spanned_lines(source: &[u8], start: usize) -> impl Iterator<Item = SourceLine<'_>> {
    lines(source, start).map(|(at, line)| SourceLine {
        text: line_text(line),
        span: Span::new(at, at + line.len()),
    })
}

/// The frontmatter: from a `---` line at `start` to the next one. `None` if a sealed head or the end comes first.
pub(super) fn frontmatter(source: &[u8], start: usize) -> Option<Span> {
    let mut rest = lines(source, start);
    rest.next().filter(|(_, line)| line_text(line) == b"---")?;
    let mut waiting: Option<&[u8]> = None;
    for (at, line) in rest {
        let text = line_text(line);
        if is_blank_line(text) {
            continue;
        }
        if waiting.is_some_and(|id| metadata_of(text, id).is_some()) {
            return None;
        }
        if text == b"---" {
            return Some(Span::new(start, at + line.len()));
        }
        waiting = head(text).and_then(|head| head.id).map(|id| id.of(text));
    }
    None
}
