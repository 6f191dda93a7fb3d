//! Lines of a text that could pass for the start of an item get a `\`, which reading takes off
//! again. No other line is ever touched.

use std::borrow::Cow;

use memchr::memmem;

use super::line::{backslashes, is_gap, is_separator, tag_line};
use crate::msgfile::scan::line_text;

/// The lines of a text, with their line ends.
type Lines<'a> = std::iter::Peekable<std::str::SplitInclusive<'a, char>>;

/// Puts a `\` before every separator that a tag follows, and before every such line that has one
/// already.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    rewrite(text, |line| Cow::Owned(format!("\\{line}")), 0)
}

/// Takes one `\` off every separator with `\` before it that a tag follows.
pub(super) fn unescape(text: Cow<'_, str>) -> Cow<'_, str> {
    match rewrite(&text, |line| Cow::Borrowed(&line[1..]), 1) {
        Cow::Owned(text) => Cow::Owned(text),
        Cow::Borrowed(_) => text,
    }
}

/// Changes the separators of a text that a tag follows and that have at least so many `\`.
fn rewrite<'a>(
    text: &'a str,
    change: impl Fn(&'a str) -> Cow<'a, str>,
    at_least: usize,
) -> Cow<'a, str> {
    // Nothing to do for nearly every text; a separator always holds this.
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
    if changed { Cow::Owned(out) } else { Cow::Borrowed(text) }
}

/// Whether a tag comes next, perhaps after a `>` line.
fn is_tagged(rest: &Lines<'_>) -> bool {
    let mut rest = rest.clone().map(|line| line_text(line.as_bytes()));
    match rest.next() {
        Some(line) if is_gap(line) => rest.next().is_some_and(|line| tag_line(line).is_some()),
        Some(line) => tag_line(line).is_some(),
        None => false,
    }
}
