//! Lines and heads: what a single line is, whatever stands around it.

use analects_core::Span;

use super::CellKind;

/// The longest id.
const MAX_ID: usize = 64;

/// A line: its text, and where it is with and without its line end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) text: &'a [u8],
    /// The whole line, line end included.
    pub(super) span: Span,
}

impl Line<'_> {
    /// The line without its line end.
    pub(super) fn text_span(&self) -> Span {
        Span::new(self.span.start, self.span.start + self.text.len())
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.iter().all(|byte| is_blank(*byte))
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Splits a source into lines. A line ends with `\n` or `\r\n`, nothing else.
pub(super) fn lines(source: &[u8], from: usize) -> impl Iterator<Item = Line<'_>> {
    let mut start = from;
    source[from..].split_inclusive(|byte| *byte == b'\n').map(move |whole| {
        let span = Span::new(start, start + whole.len());
        start = span.end;
        let text = whole
            .strip_suffix(b"\n")
            .map_or(whole, |text| text.strip_suffix(b"\r").unwrap_or(text));
        Line { text, span }
    })
}

/// A line that starts a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) level: usize,
    pub(super) kind: CellKind,
    pub(super) title: &'a [u8],
    pub(super) id: Option<&'a str>,
}

/// Reads a line as a head: 1 to 5 `#` in the first column, a blank, `%%` or `%%%`, then nothing, or
/// an id, or a blank and a title that an id may close.
pub(super) fn head(line: &[u8]) -> Option<Head<'_>> {
    let level = line.iter().take_while(|byte| **byte == b'#').count();
    let after_hashes = &line[level..];
    let blanks = after_hashes.iter().take_while(|byte| is_blank(**byte)).count();
    if !(1..=5).contains(&level) || blanks == 0 {
        return None;
    }
    let marker = after_hashes[blanks..].strip_prefix(b"%%")?;
    let (kind, rest) = match marker.strip_prefix(b"%") {
        Some(rest) => (CellKind::Output, rest),
        None => (CellKind::Message, marker),
    };
    let (title, id) = split_id(rest);
    if !title.is_empty() && !is_blank(title[0]) {
        return None;
    }
    Some(Head { level, kind, title: trim(title), id })
}

/// Takes the id off the end of what follows the marker.
fn split_id(rest: &[u8]) -> (&[u8], Option<&str>) {
    let trimmed = trim_end(rest);
    let inner = trimmed.strip_suffix(b"]").and_then(|open| {
        let at = open.iter().rposition(|byte| *byte == b'[')?;
        Some((&open[..at], open[at + 1..].strip_prefix(b"^")?))
    });
    match inner {
        Some((title, id)) if let Some(id) = as_id(id) => (title, Some(id)),
        _ => (rest, None),
    }
}

/// An id: 1 to 64 characters, no blank, control character or any of `[ ] ^`.
fn as_id(bytes: &[u8]) -> Option<&str> {
    let id = std::str::from_utf8(bytes).ok()?;
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && !"[]^".contains(c);
    ((1..=MAX_ID).contains(&id.chars().count()) && id.chars().all(allowed)).then_some(id)
}

/// What follows `[^id]:` if the line is the metadata line of that id.
pub(super) fn metadata_of<'a>(line: &'a [u8], id: &str) -> Option<&'a [u8]> {
    line.strip_prefix(b"[^")?.strip_prefix(id.as_bytes())?.strip_prefix(b"]:")
}

/// Whether a line of text must be escaped: any number of `\`, then a head.
pub(super) fn is_head_like(line: &[u8]) -> bool {
    let escapes = line.iter().take_while(|byte| **byte == b'\\').count();
    head(&line[escapes..]).is_some()
}

/// Whether more text could still turn the beginning of a line into one that must be escaped.
pub(super) fn may_become_head(start: &[u8]) -> bool {
    let escapes = start.iter().take_while(|byte| **byte == b'\\').count();
    let hashes = start[escapes..].iter().take_while(|byte| **byte == b'#').count();
    let rest = &start[escapes + hashes..];
    let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
    let rest = &rest[blanks..];
    match (hashes, blanks) {
        (0, 0) => rest.is_empty(),
        (1..=5, 0) => rest.is_empty(),
        (1..=5, _) => rest.starts_with(b"%%") || b"%%".starts_with(rest),
        _ => false,
    }
}

fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().take_while(|byte| is_blank(**byte)).count();
    trim_end(&text[start..])
}

fn trim_end(text: &[u8]) -> &[u8] {
    let blanks = text.iter().rev().take_while(|byte| is_blank(**byte)).count();
    &text[..text.len() - blanks]
}
