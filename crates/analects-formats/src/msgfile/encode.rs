//! The text of a new cell: its head, its metadata, and its content with every line escaped that could pass for a head.
//! Reading it gives back the same content, byte for byte.

use super::escape::escape;
use super::fence::{Fence, FenceLine, indentation};
use super::line::is_blank_line;
use super::meta::{MAX_WORD, write_attribute};
use super::role::RoleFacts;
use super::scan::{line_text, lines};
use super::{CellKind, CellRole, MetaKey};

/// A cell to be written. Every written cell is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCell {
    /// Who wrote it.
    pub kind: CellKind,
    /// The number of `#` in its head, 1 to 5; `None` leaves it to the file.
    pub level: Option<usize>,
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
    /// A message of a person.
    pub fn message(id: impl Into<String>, content: impl Into<String>) -> NewCell {
        NewCell::new(CellKind::Message, id, "markdown", content)
    }

    /// A reply of the agent with this name.
    pub fn reply(id: impl Into<String>, agent: &str, content: impl Into<String>) -> NewCell {
        NewCell::new(CellKind::Output, id, agent, content)
    }

    /// The role that the cell will have. Outputs of code count as replies here, since only a file knows its code cells.
    pub fn role(&self) -> CellRole {
        let value = |key: MetaKey| {
            let mut attributes = self.attributes.iter().rev();
            attributes
                .find(|(name, _)| name == key.as_str())
                .map(|(_, value)| value.as_str())
        };
        let facts = RoleFacts {
            kind: self.kind,
            type_word: &self.type_word,
            id: self.id.as_bytes(),
            has_name: value(MetaKey::Name).is_some(),
            is_reasoning: value(MetaKey::Reasoning) == Some("1"),
        };
        CellRole::of(facts, |_| false)
    }

    /// Whether it holds a message, and not an agent or details.
    pub(super) fn is_message(&self) -> bool {
        !matches!(self.type_word.as_str(), "agent" | "details")
    }

    /// Any cell.
    pub fn new(
        kind: CellKind,
        id: impl Into<String>,
        type_word: &str,
        content: impl Into<String>,
    ) -> NewCell {
        NewCell {
            kind,
            level: None,
            title: String::new(),
            id: id.into(),
            type_word: type_word.to_string(),
            attributes: Vec::new(),
            content: content.into(),
        }
    }

    /// Adds an attribute.
    pub fn with(mut self, key: &str, value: impl Into<String>) -> NewCell {
        self.attributes.push((key.to_string(), value.into()));
        self
    }

    /// The whole cell, with `line_end` after each line that is not part of the content.
    pub(super) fn to_text(&self, level: usize, line_end: &str) -> String {
        let closer = open_fence(&self.content);
        let mut out = self.opening(level, stored(&self.content, closer.is_some()), line_end);
        if self.content.is_empty() {
            return out;
        }
        // A plain `\n` after a lone `\r` would make that part of the line end.
        let after = if self.content.ends_with('\r') {
            "\r\n"
        } else {
            line_end
        };
        let mut content = format!("{}{after}", self.content);
        if let Some(closer) = closer {
            content.push_str(&closer);
            content.push_str(line_end);
        }
        out.push_str(line_end);
        out.push_str(&escape(&content));
        out
    }

    /// The head and the metadata line, with a blank line between them.
    fn opening(&self, level: usize, stored: Option<String>, line_end: &str) -> String {
        let marker = if self.kind == CellKind::Message {
            "%%"
        } else {
            "%%%"
        };
        let hashes = "#".repeat(self.level.unwrap_or(level).clamp(1, 5));
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

/// A type word with the characters replaced that would end it.
pub(super) fn type_word(word: &str) -> String {
    let ends = |c: char| "[]=".contains(c) || c.is_control();
    let short = &word[..word.floor_char_boundary(MAX_WORD - 1)];
    if word.is_empty() {
        "-".to_string()
    } else {
        short.replace(ends, "-")
    }
}

/// The value of `stored=` with which this text is read back exactly. `None` for text that starts and ends with a line
/// that is not blank, and leaves no fence open.
pub(crate) fn stored(content: &str, closed: bool) -> Option<String> {
    let mut all = lines(content.as_bytes(), 0);
    let (_, first) = all.next()?;
    let count = content.split('\n').count();
    // The last line has no line end of its own, so a `\r` there is text.
    let last = content.rsplit('\n').next().unwrap_or_default();
    let first_is_blank = count > 1 && is_blank_line(line_text(first));
    match (first_is_blank || is_blank_line(last.as_bytes()), closed) {
        (true, true) => Some(format!("lines={count} closed")),
        (true, false) => Some(format!("lines={count}")),
        (false, true) => Some("closed".to_string()),
        (false, false) => None,
    }
}

/// The line that closes the fence which a text leaves open. Without it, Markdown readers would show everything after the
/// cell as code. A fence in a list item ends with the item.
pub(crate) fn open_fence(content: &str) -> Option<String> {
    if !content.contains("```") && !content.contains("~~~") {
        return None;
    }
    let mut open: Option<Fence> = None;
    // The column of the list item that the line may belong to.
    let mut item: Option<usize> = None;
    for (_, line) in lines(content.as_bytes(), 0) {
        let text = line_text(line);
        if is_blank_line(text) || item.is_some_and(|column| indentation(text) >= column) {
            continue;
        }
        item = None;
        match (FenceLine::parse(text), open) {
            (Some(FenceLine::Listed { column, .. }), None) => item = Some(column),
            (Some(FenceLine::Flush(fence) | FenceLine::Indented(fence)), Some(opener)) => {
                open = Some(opener).filter(|opener| !fence.closes(*opener));
            }
            (Some(FenceLine::Flush(fence) | FenceLine::Indented(fence)), None) => {
                open = fence.opens().then_some(fence);
            }
            _ => {}
        }
    }
    open.map(|fence| fence.closer())
}
