//! One pass over a file: where its frontmatter ends and where its items start. Nothing is copied,
//! and only lines that may matter are looked at twice.

use analects_core::Span;
use memchr::memchr;

use super::line::{is_gap, is_separator, tag_line};
use crate::msgfile::fence::Region;
use crate::msgfile::line::{is_blank, is_blank_line};
use crate::msgfile::scan::{line_text, lines};

/// Where an item's head is. The rest is worked out when somebody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ItemSpans {
    /// The start of the separator's line.
    pub(super) start: usize,
    /// The tag's line, line end included.
    pub(super) tag: Span,
    /// The tag's name.
    pub(super) name: Span,
}

/// What a pass over a file found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scan {
    pub(super) items: Vec<ItemSpans>,
    /// Code blocks that nothing closes: the line that opens one, and the end of the part of the file
    /// in which it could have been closed.
    pub(super) open_fences: Vec<Span>,
}

impl Scan {
    /// Whether a code block is still open at `offset`, which is the start of an item or the end of
    /// the file: something that is written there could close it.
    pub(super) fn has_open_fence_at(&self, offset: usize) -> bool {
        self.open_fences.iter().any(|open| open.start < offset && offset <= open.end)
    }
}

/// Scans a file from `start` on.
pub(super) fn scan(source: &[u8], start: usize) -> Scan {
    let mut scanner =
        Scanner { source, found: Scan::default(), region: Region::with_cuts(), waiting: None };
    let mut at = start;
    while at < source.len() {
        let end = memchr(b'\n', &source[at..]).map_or(source.len(), |offset| at + offset + 1);
        scanner.line(at, end);
        at = end;
    }
    scanner.end_region(source.len());
    scanner.found
}

/// A separator, until the next line or two say whether it starts an item.
#[derive(Debug, Clone, Copy)]
struct Separator {
    start: usize,
    /// Whether a `>` line came after it.
    gap: bool,
}

struct Scanner<'a> {
    source: &'a [u8],
    found: Scan,
    region: Region<ItemSpans>,
    waiting: Option<Separator>,
}

impl Scanner<'_> {
    /// Takes a line. Most lines of most files end at the first test.
    fn line(&mut self, start: usize, end: usize) {
        let first = self.source[start];
        let special = matches!(first, b'>' | b'`' | b'~' | b' ' | b'-' | b'*' | b'+' | b'0'..=b'9');
        if !special && !self.region.is_in_item() {
            self.waiting = None;
            return;
        }
        let text = line_text(&self.source[start..end]);
        let waiting = self.waiting.take();
        if is_blank_line(text) {
            return;
        }
        self.region.line(text, start);
        if first == b'>' {
            self.quoted(waiting, text, Span::new(start, end));
        }
    }

    /// Takes a line that starts with `>`.
    fn quoted(&mut self, waiting: Option<Separator>, text: &[u8], span: Span) {
        if is_separator(text) {
            self.waiting = Some(Separator { start: span.start, gap: false });
            return;
        }
        let Some(separator) = waiting else { return };
        if !separator.gap && is_gap(text) {
            self.waiting = Some(Separator { gap: true, ..separator });
        } else if let Some(tag) = tag_line(text) {
            let name = Span::new(span.start + tag.name.start, span.start + tag.name.end);
            let item = ItemSpans { start: separator.start, tag: span, name };
            if tag.apart {
                self.end_region(item.start);
            }
            // Only a fence above could hide it.
            if self.region.is_empty() {
                self.found.items.push(item);
            } else {
                self.region.hideable(item);
            }
        }
    }

    /// Ends a part of the file that fences cannot reach beyond.
    fn end_region(&mut self, end: usize) {
        let items = &mut self.found.items;
        let unclosed = self.region.end(|item| items.push(item), |_, _| {});
        self.found.open_fences.extend(unclosed.map(|open| Span::new(open, end)));
    }
}

/// From a `---` line at `start` to the next one, if the first key is `chat`, unless an item or the
/// end comes first.
pub(super) fn frontmatter(source: &[u8], start: usize) -> Option<Span> {
    let mut rest = lines(source, start);
    rest.next().filter(|(_, line)| line_text(line) == b"---")?;
    let says_something = |text: &[u8]| !is_blank_line(text) && !text.starts_with(b"#");
    let mut is_first = true;
    let mut separated = false;
    for (at, line) in rest {
        let text = line_text(line);
        if text == b"---" {
            return (!is_first).then(|| Span::new(start, at + line.len()));
        }
        if is_first && says_something(text) {
            is_first = false;
            let after = text.strip_prefix(b"chat:")?;
            after.first().is_none_or(|byte| is_blank(*byte)).then_some(())?;
        }
        if separated && tag_line(text).is_some() {
            return None;
        }
        separated = is_separator(text) || (separated && is_gap(text));
    }
    None
}
