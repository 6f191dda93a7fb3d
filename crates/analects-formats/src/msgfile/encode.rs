//! A cell's text: its head, its metadata, and its content with every line escaped that could pass
//! for a head. Whatever text goes in comes out again byte for byte.

use std::borrow::Cow;

use super::CellKind;
use super::line::{is_blank, is_head_like};
use super::meta::write_attribute;

/// A cell that is to be written. Every cell that is written is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCell {
    /// Who wrote it.
    pub kind: CellKind,
    /// The number of `#` in its head, 1 to 5.
    pub level: usize,
    /// The title, which may be empty.
    pub title: String,
    /// The id.
    pub id: String,
    /// The type word; characters that would end it are replaced by `-`.
    pub type_word: String,
    /// The attributes, in order.
    pub attributes: Vec<(String, String)>,
    /// The text, any text.
    pub content: String,
}

impl NewCell {
    /// A message as a person types it.
    pub fn message(id: impl Into<String>, content: impl Into<String>) -> NewCell {
        NewCell::new(CellKind::Message, id.into(), "markdown", content.into())
    }

    /// A reply of the agent of that name.
    pub fn reply(id: impl Into<String>, agent: &str, content: impl Into<String>) -> NewCell {
        NewCell::new(CellKind::Output, id.into(), agent, content.into())
    }

    fn new(kind: CellKind, id: String, type_word: &str, content: String) -> NewCell {
        let (level, title, attributes) = (1, String::new(), Vec::new());
        NewCell { kind, level, title, id, type_word: type_word.into(), attributes, content }
    }

    /// Adds an attribute.
    pub fn with(mut self, key: &str, value: impl Into<String>) -> NewCell {
        self.attributes.push((key.to_string(), value.into()));
        self
    }

    /// The whole cell, with `line_end` after each of its own lines.
    pub(super) fn to_text(&self, line_end: &str) -> String {
        let mut out = self.opening(stored(&self.content), line_end);
        if !self.content.is_empty() {
            out.push_str(line_end);
            out.push_str(&escape(&self.content));
            // A line end right after a lone `\r` would make it part of the line end.
            out.push_str(if self.content.ends_with('\r') { "\r\n" } else { line_end });
        }
        out
    }

    /// Head and metadata, each with its line end.
    pub(super) fn opening(&self, stored: Option<String>, line_end: &str) -> String {
        let marker = if self.kind == CellKind::Message { "%%" } else { "%%%" };
        let hashes = "#".repeat(self.level.clamp(1, 5));
        let plain = self.title.trim_matches([' ', '\t']) == self.title
            && !self.title.contains(char::is_control);
        let title = if plain { &*self.title } else { "" };
        let (id, word) = (&self.id, type_word(&self.type_word));
        let mut out =
            format!("{hashes} {marker} {title}[^{id}]{line_end}{line_end}[^{id}]: [{word}]");
        for (key, value) in &self.attributes {
            write_attribute(&mut out, key, value);
        }
        if !plain {
            write_attribute(&mut out, "title", &self.title);
        }
        if let Some(stored) = stored {
            write_attribute(&mut out, "stored", &stored);
        }
        out.push_str(line_end);
        out
    }
}

fn type_word(word: &str) -> String {
    let ends = |c: char| "[]=".contains(c) || c.is_control();
    if word.is_empty() { "-".to_string() } else { word.replace(ends, "-") }
}

/// What the `stored` attribute must say so that this text comes back: nothing for text that starts
/// and ends with a line that is not blank.
fn stored(content: &str) -> Option<String> {
    let mut lines = content.split('\n');
    let blank = |line: &str| line.strip_suffix('\r').unwrap_or(line).bytes().all(is_blank);
    let (first, count) = (lines.next()?, content.split('\n').count());
    // The last line has no line end of its own, so a `\r` there is text.
    let last = content.rsplit('\n').next()?;
    let needed = (count > 1 && blank(first)) || last.bytes().all(is_blank);
    (needed && !content.is_empty()).then(|| format!("lines={count}"))
}

/// Puts a `\` before every line that is a head, or a head with `\` before it.
pub(super) fn escape(content: &str) -> Cow<'_, str> {
    map_head_lines(content, |line, out| {
        out.push('\\');
        out.push_str(line);
    })
}

/// Takes one `\` off every line that is a head with `\` before it.
pub(super) fn unescape(content: &str) -> String {
    let unescaped = map_head_lines(content, |line, out| {
        out.push_str(line.strip_prefix('\\').unwrap_or(line));
    });
    unescaped.into_owned()
}

fn map_head_lines(content: &str, map: impl Fn(&str, &mut String)) -> Cow<'_, str> {
    // Nothing to do for nearly every text; a head always holds this.
    if !content.contains("%%") {
        return Cow::Borrowed(content);
    }
    let mut out = String::with_capacity(content.len() + 8);
    for line in content.split_inclusive('\n') {
        if is_head_like(line_text(line).as_bytes()) {
            map(line, &mut out);
        } else {
            out.push_str(line);
        }
    }
    Cow::Owned(out)
}

/// A line without its line end; a `\r` that no `\n` follows is text.
pub(super) fn line_text(line: &str) -> &str {
    line.strip_suffix('\n').map_or(line, |text| text.strip_suffix('\r').unwrap_or(text))
}
