//! The message file: Markdown whose `# %%` cells are what people wrote and whose `# %%%` cells are
//! what came back. Reading keeps every byte; writing is a [`Splice`], never a re-print.
//!
//! A cell starts with a **head** (`# %% title[^id]`). A head is *sealed* when it has an id and the
//! first line after it that is not blank is its metadata (`[^id]: [type] key="value"`); every cell
//! that this program writes is sealed, and every line of a text that looks like a head is escaped
//! with a backslash, so that no text can pass for a cell.

mod decode;
mod edit;
mod encode;
mod line;
mod messages;
mod meta;
mod show;
mod stream;

use analects_core::{Agent, LineIndex, Problem, Span};

pub use decode::decode;
pub use edit::{Splice, append, replace};
pub use encode::NewCell;
pub use messages::{messages, session_of};
pub use meta::Meta;
pub use show::{Show, role, show};
pub use stream::CellStream;

/// A message file, read: the source, and where its parts are.
#[derive(Debug, Clone)]
pub struct Document {
    source: Vec<u8>,
    lines: LineIndex,
    /// From the opening `---` line to the closing one, line ends included.
    pub frontmatter: Option<Span>,
    /// What stands before the first cell; never sent.
    pub preamble: Span,
    /// The cells, in order.
    pub cells: Vec<Cell>,
    /// What was odd.
    pub problems: Vec<Problem>,
}

/// Who wrote a cell: a person (`%%`) or somebody who answered (`%%%`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// `# %%`: what people wrote.
    Message,
    /// `# %%%`: what came back.
    Output,
}

/// One cell of a message file.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Who wrote it.
    pub kind: CellKind,
    /// The number of `#` in its head, 1 to 5.
    pub level: usize,
    /// The head's title, trimmed.
    pub title: String,
    /// The id that closes the head.
    pub id: Option<String>,
    /// Its place in the file, from 1; the name of a cell without id.
    pub ordinal: usize,
    /// The metadata line, if the cell is sealed.
    pub meta: Option<Meta>,
    /// All of its bytes, from its head to the next.
    pub span: Span,
    /// The head's line, with its line end.
    pub head: Span,
    /// The content as it stands in the file, still escaped.
    pub body: Span,
}

impl Document {
    /// The bytes that were read, put together again from the parts.
    pub fn to_bytes(&self) -> Vec<u8> {
        let front = self.frontmatter.map_or(self.preamble.start, |span| span.start);
        let mut bytes = self.source[..front].to_vec();
        let parts = self.frontmatter.into_iter().chain([self.preamble]);
        for part in parts.chain(self.cells.iter().map(|cell| cell.span)) {
            bytes.extend_from_slice(part.of(&self.source));
        }
        bytes
    }

    /// The bytes that were read.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// Where the lines are.
    pub fn lines(&self) -> &LineIndex {
        &self.lines
    }

    /// What a cell says: its text, with the escapes taken off.
    pub fn content(&self, cell: &Cell) -> String {
        encode::unescape(&String::from_utf8_lossy(cell.body.of(&self.source)))
    }

    /// The cell of that id, or of that ordinal.
    pub fn cell(&self, name: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.name() == name)
    }

    /// The agents that cells define, in order; the first one answers unless told otherwise.
    pub fn agents(&self) -> Vec<Agent> {
        self.cells.iter().filter_map(messages::agent).collect()
    }

    /// The cells at the end of the file that nobody has answered yet: messages with content and no
    /// answer (other than a failed one) after them.
    pub fn unanswered(&self) -> Vec<&Cell> {
        let answered = |cell: &&Cell| cell.kind == CellKind::Output && !cell.is_failed();
        let open = self.cells.iter().rev().take_while(|cell| !answered(cell));
        let mut open: Vec<&Cell> =
            open.filter(|cell| cell.is_prompt() && !cell.body.is_empty()).collect();
        open.reverse();
        open
    }

    /// The line end of the file's first line; `\n` where there is none.
    fn line_end(&self) -> &'static str {
        let first = self.source.iter().position(|byte| *byte == b'\n');
        match first.and_then(|at| at.checked_sub(1)).map(|at| self.source[at]) {
            Some(b'\r') => "\r\n",
            _ => "\n",
        }
    }
}

impl Cell {
    /// Its id, or else its ordinal.
    pub fn name(&self) -> String {
        self.id.clone().unwrap_or_else(|| self.ordinal.to_string())
    }

    /// The type word of its metadata; `markdown` where it has none.
    pub fn type_word(&self) -> &str {
        self.meta.as_ref().and_then(|meta| meta.type_word.as_deref()).unwrap_or("markdown")
    }

    /// The value of an attribute; of a repeated one, the last.
    pub fn attribute(&self, key: &str) -> Option<&str> {
        self.meta.as_ref()?.get(key)
    }

    /// Whether it is something that a person says to the model, not the definition of an agent.
    pub fn is_prompt(&self) -> bool {
        self.kind == CellKind::Message && self.type_word() != "agent"
    }

    /// Whether it only reports that the model's side failed.
    pub fn is_failed(&self) -> bool {
        self.attribute("error") == Some("1")
    }
}

#[cfg(test)]
mod tests;
