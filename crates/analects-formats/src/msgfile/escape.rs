//! Escaping: a line of text that would start a cell gets a `\` in front, so no answer can pass for a cell.

use std::borrow::Cow;

use super::fence::closed_fences;
use super::line::{count, head};
use super::scan::{line_text, lines};

/// Puts a `\` before every line that is a head, or a head after some `\`. A loose head inside a closed fence stays as
/// it is, since the fence hides it: code in percent format remains readable.
pub(super) fn escape(content: &str) -> Cow<'_, str> {
    // Every head holds this, and nearly no text does.
    if !content.contains("%%") {
        return Cow::Borrowed(content);
    }
    let mut hidden = closed_fences(content).into_iter().peekable();
    let mut out = String::with_capacity(content.len() + 8);
    let mut at = 0;
    for line in content.split_inclusive('\n') {
        while hidden.next_if(|fence| fence.end <= at).is_some() {}
        let text = line_text(line.as_bytes());
        let is_hidden = hidden.peek().is_some_and(|fence| fence.start <= at);
        let may_stay = is_hidden && head(text).is_some() && !line.contains("[^");
        if is_head_like(text) && !may_stay {
            out.push('\\');
        }
        out.push_str(line);
        at += line.len();
    }
    Cow::Owned(out)
}

/// Removes one `\` from every line that is a head after some `\`.
pub(super) fn unescape(content: Cow<'_, str>) -> Cow<'_, str> {
    let escaped = |line: &str| line.starts_with('\\') && is_head_like(line_text(line.as_bytes()));
    let has_escapes = memchr::memchr(b'\\', content.as_bytes()).is_some() && content.contains("%%");
    if !has_escapes || !content.split_inclusive('\n').any(escaped) {
        return content;
    }
    let lines = content.split_inclusive('\n');
    Cow::Owned(
        lines
            .map(|line| if escaped(line) { &line[1..] } else { line })
            .collect(),
    )
}

/// Like [`unescape`], for bytes that may not be UTF-8.
pub(super) fn unescape_bytes(content: &[u8]) -> Cow<'_, [u8]> {
    let escaped = |line: &[u8]| line.starts_with(b"\\") && is_head_like(line_text(line));
    if !lines(content, 0).any(|(_, line)| escaped(line)) {
        return Cow::Borrowed(content);
    }
    let restored = lines(content, 0).map(|(_, line)| if escaped(line) { &line[1..] } else { line });
    Cow::Owned(restored.flatten().copied().collect())
}

/// Whether a line of text must be escaped because it is a head, or a head after any number of `\`.
pub(super) fn is_head_like(line: &[u8]) -> bool {
    head(&line[count(line, |byte| byte == b'\\')..]).is_some()
}
