//! The lines of chat Markdown, each without its context: a separator, a tag, or the attributes that a note-taking program
//! adds below a tag. Lines of a text that look like the start of an item get a `\`, which reading removes again. Other
//! lines are never changed.

use std::borrow::Cow;

use analects_core::Span;
use memchr::memmem;

use super::attributes::{AttributeEnd, AttributeScanner, AttributeToken, decode_entities};
use crate::msgfile::line::{is_blank, is_blank_line};
use crate::msgfile::scan::line_text;

/// A tag. Spans are relative to the start of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TagLine {
    /// The name, without `<`.
    pub(super) name: Span,
    /// Whether it starts an item even inside a code block.
    pub(super) apart: bool,
}

/// Returns whether a line separates items: `> ---`, with three dashes or more.
pub(super) fn is_separator(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"> ") else {
        return false;
    };
    let dashes = count(rest, |byte| byte == b'-');
    dashes >= 3 && is_blank_line(&rest[dashes..])
}

/// Returns whether a line is a `>` and nothing else, which may be between a separator and a tag.
pub(super) fn is_gap(line: &[u8]) -> bool {
    line.strip_prefix(b">").is_some_and(is_blank_line)
}

/// Reads a line as a tag: `> <NAME key="value" />`.
pub(super) fn tag_line(line: &[u8]) -> Option<TagLine> {
    let name = tag_name(line)?;
    // Nearly every tag has a single `>`, at its end, and no attribute `stored`.
    let rest = &line[name.end..];
    let end = memchr::memchr(b'>', rest)?;
    let mut words = memchr::memchr_iter(b's', &rest[..end]).map(|at| &rest[at..]);
    if is_blank_line(&rest[end + 1..]) && !words.any(|word| word.starts_with(b"stored")) {
        return Some(TagLine { name, apart: false });
    }
    let mut attributes = AttributeScanner::new(line, name.end, AttributeEnd::Tag);
    let mut apart = false;
    for token in &mut attributes {
        if let AttributeToken::Attribute { key, value, .. } = token
            && key.of(line) == b"stored"
        {
            // If it is repeated, the last one counts.
            apart = says_apart(value.of(line));
        }
    }
    attributes.end().map(|_| TagLine { name, apart })
}

/// Returns the name of a tag; `None` unless the line starts like one.
pub(super) fn tag_name(line: &[u8]) -> Option<Span> {
    let rest = line.strip_prefix(b">")?;
    let start = 1 + count(rest, is_blank);
    line.get(start).filter(|byte| **byte == b'<')?;
    let letters = count(&line[start + 1..], |byte| byte.is_ascii_alphabetic());
    let end = start + 1 + letters;
    let ends = line
        .get(end)
        .is_some_and(|byte| is_blank(*byte) || matches!(byte, b'/' | b'>'));
    (letters > 0 && ends).then(|| Span::new(start + 1, end))
}

/// Returns whether a value of `stored` says that code blocks above do not reach the item.
fn says_apart(stored: &[u8]) -> bool {
    let stored = String::from_utf8_lossy(stored);
    decode_entities(&stored)
        .split(' ')
        .any(|word| word == "apart")
}

/// Returns where the attributes of a line `{: key="value" }` start. The line may have a `>` before them.
pub(super) fn kramdown_line(line: &[u8]) -> Option<usize> {
    let quote = line
        .strip_prefix(b">")
        .map_or(0, |rest| 1 + count(rest, is_blank));
    let start = quote + 2;
    line[quote..].strip_prefix(b"{:")?;
    let mut attributes = AttributeScanner::new(line, start, AttributeEnd::Brace);
    for token in &mut attributes {
        if let AttributeToken::Junk(_) = token {
            return None;
        }
    }
    attributes.end().map(|_| start)
}

/// Returns how many bytes at the beginning pass a test.
pub(super) fn count(bytes: &[u8], test: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| test(**byte)).count()
}

/// Returns how many `\` a line starts with.
pub(super) fn backslashes(line: &[u8]) -> usize {
    count(line, |byte| byte == b'\\')
}

/// Iterates over lines with their line ends.
type PeekableLines<'a> = std::iter::Peekable<std::str::SplitInclusive<'a, char>>;

/// Puts a `\` before each separator that a tag follows, perhaps behind other `\`.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    rewrite_heads(text, |line| Cow::Owned(format!("\\{line}")), 0)
}

/// Removes one `\` before each separator that a tag follows.
pub(super) fn unescape(text: Cow<'_, str>) -> Cow<'_, str> {
    match rewrite_heads(&text, |line| Cow::Borrowed(&line[1..]), 1) {
        Cow::Owned(text) => Cow::Owned(text),
        Cow::Borrowed(_) => text,
    }
}

/// Changes the separators of a text that a tag follows and that have at least `at_least` times `\` before them.
fn rewrite_heads<'a>(
    text: &'a str,
    change: impl Fn(&'a str) -> Cow<'a, str>,
    at_least: usize,
) -> Cow<'a, str> {
    // Nearly no text has a separator.
    if memmem::find(text.as_bytes(), b"> ---").is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut changed = false;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let inner = line_text(line.as_bytes());
        let escapes = backslashes(inner);
        let is_head = escapes >= at_least && is_separator(&inner[escapes..]) && is_tagged(&lines);
        if is_head {
            out.push_str(&change(line));
            changed = true;
        } else {
            out.push_str(line);
        }
    }
    if changed {
        Cow::Owned(out)
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns whether a tag comes next, perhaps after a `>` line.
fn is_tagged(rest: &PeekableLines<'_>) -> bool {
    let mut rest = rest.clone().map(|line| line_text(line.as_bytes()));
    match rest.next() {
        Some(line) if is_gap(line) => rest.next().is_some_and(|line| tag_line(line).is_some()),
        Some(line) => tag_line(line).is_some(),
        None => false,
    }
}
