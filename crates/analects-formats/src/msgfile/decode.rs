//! Bytes in, document out. Every byte string is a document, perhaps one with problems. A document that grows is
//! updated without reading all of it again.

use std::borrow::Cow;
use std::collections::HashMap;
#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicUsize, Ordering};

use analects_core::Span;
use memchr::memrchr;

use super::encode::open_fence;
use super::escape::unescape;
use super::ids::NameIndex;
use super::line::is_blank_line;
use super::scan::{self, line_text, lines};
use super::{Document, DocumentKind, Frontmatter, Section, frontmatter};

/// The number of files that were read as a whole, for tests; a release does not count.
#[cfg(debug_assertions)]
pub static DECODES: AtomicUsize = AtomicUsize::new(0);

pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// Reads a message file (`*.msg.md`), all of which holds messages.
pub fn decode(source: impl Into<Vec<u8>>) -> Document {
    read(source.into(), DocumentKind::Whole)
}

/// Reads a file by its name: a message file, or a plain Markdown file whose frontmatter names the
/// section that holds its messages.
pub fn decode_named(source: impl Into<Vec<u8>>, name: &str) -> Document {
    let kind = if name.ends_with(".msg.md") {
        DocumentKind::Whole
    } else {
        DocumentKind::Section
    };
    read(source.into(), kind)
}

/// Reads a source. A file without a section to name is plain.
fn read(source: Vec<u8>, kind: DocumentKind) -> Document {
    #[cfg(debug_assertions)]
    DECODES.fetch_add(1, Ordering::Relaxed);
    let start = if source.starts_with(BOM) {
        BOM.len()
    } else {
        0
    };
    let front_span = scan::frontmatter(&source, start);
    let front = front_span
        .map(|span| read_front(&source, span))
        .unwrap_or_default();
    let body = front_span.map_or(start, |span| span.end);
    let (kind, section) = match (kind, &front.message_section) {
        (DocumentKind::Section, None) => (DocumentKind::Plain, Some("")),
        (DocumentKind::Section, Some(name)) => (DocumentKind::Section, Some(name.as_str())),
        _ => (DocumentKind::Whole, None),
    };
    let scan = if kind == DocumentKind::Plain {
        scan::Scan::default()
    } else {
        scan::scan(&source, body, section)
    };
    let utf8 = simdutf8::basic::from_utf8(&source).is_ok();
    Document {
        source,
        kind,
        frontmatter: front_span,
        front,
        body,
        scan,
        utf8,
        names: NameIndex::default(),
        outputs: HashMap::new(),
    }
}

impl Document {
    /// Adds `bytes` at the end. The result is the same as that of [`decode_named`], but the time depends only on the last
    /// region and the new cells.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.replace_from(self.source.len(), bytes);
    }

    /// Replaces everything from `at` on by `bytes`; see [`extend`](Document::extend) and
    /// [`update_within_section`](Document::update_within_section).
    pub fn replace_end(&mut self, at: usize, bytes: &[u8]) {
        let known = self.known_section();
        self.replace_from(at, bytes);
        self.keep_section(known);
    }

    /// Replaces everything from `at` on, and reads what may have changed.
    fn replace_from(&mut self, at: usize, bytes: &[u8]) {
        let kept = self.cut(at);
        self.source.truncate(at);
        self.source.extend_from_slice(bytes);
        self.read_on(kept);
    }

    /// Replaces the source. The result is the same as that of [`decode_named`], but the time depends only on what follows
    /// the last sealed head before the first change.
    pub fn update(&mut self, source: Vec<u8>) {
        let same = common_start(&self.source, &source);
        if same == self.source.len() && same == source.len() {
            return;
        }
        let kept = self.cut(same);
        self.source = source;
        self.read_on(kept);
    }

    /// Replaces the source, and keeps the section if the new source does not name it any more, because a person is just
    /// editing the frontmatter or the heading.
    pub fn update_within_section(&mut self, source: Vec<u8>) {
        let known = self.known_section();
        self.update(source);
        self.keep_section(known);
    }

    /// A document with another source, read as [`update_within_section`](Document::update_within_section) does.
    pub fn with_source_within_section(&self, source: Vec<u8>) -> Document {
        let mut document = self.with_source(source);
        document.keep_section(self.known_section());
        document
    }

    /// A document with the frontmatter and the section of this one, and with these cells.
    pub(super) fn with_cells(&self, cells: &[u8]) -> Document {
        let start = self
            .scan
            .section
            .map_or(self.body, |section| section.heading.end);
        self.with_source_within_section([&self.source[..start], cells].concat())
    }

    /// The name and the heading of the section, if the file has one.
    fn known_section(&self) -> Option<(String, Section)> {
        let name = self.front.message_section.clone();
        name.zip(self.scan.section)
            .filter(|_| self.kind == DocumentKind::Section)
    }

    /// Reads the cells of a known section if the file has lost it.
    fn keep_section(&mut self, known: Option<(String, Section)>) {
        if let Some((name, section)) = known.filter(|_| self.scan.section.is_none()) {
            self.read_section(name, section);
        }
    }

    /// Reads the cells of a section that the source does not name any more, or that has lost its heading. If there are
    /// none, the document stays as it is.
    fn read_section(&mut self, name: String, known: Section) {
        let mut scan = scan::scan(&self.source, self.body, Some(&name));
        if scan.section.is_none() {
            scan = scan::scan(&self.source, self.body, None);
            let first = scan
                .cells
                .first()
                .map(|cell| Span::new(cell.start, cell.start));
            scan.section = first.map(|heading| Section { heading, ..known });
        }
        if scan.section.is_some() {
            self.kind = DocumentKind::Section;
            self.front.message_section = Some(name);
            self.scan = scan;
            self.names = NameIndex::default();
        }
    }

    /// Forgets the cells that may change if only the first `same` bytes stay. `None` if all cells must be read again.
    fn cut(&mut self, same: usize) -> Option<Rescan> {
        // A sealed head stays one as long as it and the beginning of its metadata stay. Nothing below it
        // matters to what is above: neither to fences, nor to the frontmatter, nor to the section.
        let is_fixed = |cell: &scan::CellSpans| {
            cell.meta > 0 && cell.meta + "[^]:".len() + cell.id.len() <= same
        };
        let is_open = self.kind != DocumentKind::Section || self.scan.section.is_some();
        let fixed = self.scan.cells.iter().rposition(is_fixed);
        let cells = fixed.filter(|_| is_open && self.utf8)?;
        let start = self.scan.cells[cells].start;
        let gone = self.scan.cells.len() - cells;
        self.names.cut(cells, &self.scan.cells, &self.source);
        self.scan.cut(cells, &self.source);
        Some(Rescan { cells, start, gone })
    }

    /// Reads a changed source from the first cell that was forgotten, or all of it.
    fn read_on(&mut self, kept: Option<Rescan>) {
        let Some(kept) = kept else {
            let source = std::mem::take(&mut self.source);
            *self = self.with_source(source);
            return;
        };
        self.utf8 = simdutf8::basic::from_utf8(&self.source[kept.start..]).is_ok();
        self.scan.continue_scan(&self.source, kept.start);
        self.names
            .extend(kept.cells, kept.gone, &self.scan.cells, &self.source);
    }
}

/// Where to continue reading a changed source.
struct Rescan {
    /// The number of cells before that, which stay.
    cells: usize,
    /// The offset of the first cell to read.
    start: usize,
    /// The number of cells that were forgotten.
    gone: usize,
}

/// The number of equal bytes at the beginning of two sources.
pub(super) fn common_start(one: &[u8], other: &[u8]) -> usize {
    const STEP: usize = 4096;
    let steps = one
        .chunks(STEP)
        .zip(other.chunks(STEP))
        .take_while(|(one, other)| one == other);
    let start: usize = steps.map(|(step, _)| step.len()).sum();
    let rest = one[start..].iter().zip(&other[start..]);
    start + rest.take_while(|(one, other)| one == other).count()
}

/// Reads the frontmatter at a span.
fn read_front(source: &[u8], span: Span) -> Frontmatter {
    let yaml = frontmatter::text_span(source, span).map(|span| span.of(source));
    yaml.map(|yaml| frontmatter::read(&String::from_utf8_lossy(yaml)))
        .unwrap_or_default()
}

/// The span from the first to the last line that is not blank, without the last line end.
pub(crate) fn trimmed(source: &[u8], rest: Span) -> Span {
    let mut all = lines(&source[..rest.end], rest.start);
    let Some((start, _)) = all.find(|(_, line)| !is_blank_line(line_text(line))) else {
        return Span::new(rest.end, rest.end);
    };
    let mut end = rest.end;
    loop {
        let line = last_line(source, Span::new(start, end));
        let text = line_text(line.of(source));
        if !is_blank_line(text) || line.start == start {
            return Span::new(start, line.start + text.len());
        }
        end = line.start;
    }
}

/// The last line of a span, with its line end.
fn last_line(source: &[u8], span: Span) -> Span {
    let before = Span::new(span.start, span.end.saturating_sub(1).max(span.start));
    let start = memrchr(b'\n', before.of(source)).map_or(span.start, |at| span.start + at + 1);
    Span::new(start, span.end)
}

/// The content that a `stored` attribute describes; `None` if a person has edited the cell, so that the attribute does
/// not fit.
///
/// `lines=N`: exactly the N lines after the blank one. `closed`: the last line closes a fence that
/// the text left open, and is not part of it.
pub(super) fn stored_body(source: &[u8], rest: Span, stored: &str) -> Option<Span> {
    stored_body_with(source, rest, stored, unescape)
}

/// Like [`stored_body`], for a format with other escapes.
pub(crate) fn stored_body_with(
    source: &[u8],
    rest: Span,
    stored: &str,
    unescape: impl FnOnce(Cow<'_, str>) -> Cow<'_, str>,
) -> Option<Span> {
    let (count, closed) = stored_words(stored)?;
    let body = match count {
        Some(count) => counted_body(source, rest, count, closed)?,
        None => closed_body(source, rest)?,
    };
    if closed {
        // The closing line must be the one that this text needs.
        let text = unescape(String::from_utf8_lossy(body.of(source)));
        let line = lines(&source[..rest.end], body.end)
            .nth(1)
            .map(|(_, line)| line_text(line));
        open_fence(&text).filter(|closer| Some(closer.as_bytes()) == line)?;
    }
    Some(body)
}

/// Parses `lines=N`, `closed`, or both in this order.
fn stored_words(stored: &str) -> Option<(Option<usize>, bool)> {
    let (lines, closed) = match stored.strip_suffix("closed") {
        Some("") => return Some((None, true)),
        Some(lines) => (lines.strip_suffix(' ')?, true),
        None => (stored, false),
    };
    let digits = lines.strip_prefix("lines=")?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let count = digits.parse().ok().filter(|count| plain && *count > 0)?;
    Some((Some(count), closed))
}

/// The `count` lines after the blank one, if nothing but blank lines follows.
fn counted_body(source: &[u8], rest: Span, count: usize, closed: bool) -> Option<Span> {
    let mut all = lines(&source[..rest.end], rest.start);
    all.next()
        .filter(|(_, gap)| is_blank_line(line_text(gap)))?;
    let (start, first) = all.next()?;
    let (mut last_at, mut last) = (start, first);
    for _ in 1..count {
        (last_at, last) = all.next()?;
    }
    if closed {
        all.next()?;
    }
    let untouched = all.all(|(_, line)| is_blank_line(line_text(line)));
    untouched.then(|| Span::new(start, last_at + line_text(last).len()))
}

/// Everything but the last line, which closes a fence.
fn closed_body(source: &[u8], rest: Span) -> Option<Span> {
    let whole = trimmed(source, rest);
    let closing = last_line(source, whole);
    if closing.start == whole.start {
        return None;
    }
    let last = last_line(source, Span::new(whole.start, closing.start));
    Some(Span::new(
        whole.start,
        last.start + line_text(last.of(source)).len(),
    ))
}
