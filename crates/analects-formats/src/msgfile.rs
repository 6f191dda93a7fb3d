//! The message file: Markdown whose `# %%` cells are what people wrote and whose `# %%%` cells are
//! what came back. Reading keeps every byte; writing is a [`Splice`], never a re-print.
//!
//! A cell starts with a **head** (`# %% title[^id]`). A head is *sealed* when it has an id and the
//! first line after it that is not blank is its metadata (`[^id]: [type] key="value"`); every cell
//! that this program writes is sealed. A sealed head always starts a cell, and the sealed heads cut
//! a file into regions. A *loose* head, typed by hand, counts unless a fenced code block hides it
//! that opens and closes within its region. Every line of a text that could pass for a head is
//! escaped with a backslash when it is written, so no text can forge a cell.

mod agents;
pub mod base64;
mod cell;
mod cell_edits;
pub mod code;
pub(crate) mod decode;
mod edit;
pub(crate) mod encode;
pub(crate) mod fence;
pub mod frontmatter;
mod ids;
mod insert;
pub mod invoke;
pub mod item;
mod keys;
pub(crate) mod line;
pub(crate) mod messages;
mod meta;
mod metadata;
pub mod output;
mod owners;
pub(crate) mod problems;
mod role;
pub(crate) mod scan;
mod seconds;
mod select;
mod show;
mod tidy;
mod verbs;

use analects_core::{Agent, LineIndex, Span};

pub use cell::Cell;
pub use cell_edits::{CellEdit, Edit, edit_cells};
#[cfg(debug_assertions)]
#[doc(hidden)]
pub use decode::DECODES;
pub use decode::{decode, decode_named};
pub use edit::{Splice, append, append_all, append_answer, replace};
pub use encode::NewCell;
pub use frontmatter::{Frontmatter, FrontmatterProblem, Refusal};
pub use insert::answer_below;
pub use keys::MetaKey;
pub use line::is_same_text;
pub use messages::{
    AddedMessages, AnswerDetail, BranchMessage, CellMessages, CellsHash, ExactWriter,
    KnownMessages, LeftBehind, PlacedAnswer, ReadableWriter, cell_hashes, cell_names, cell_of,
    current_branch, encode, encode_readable, message_problems, messages, messages_with_cells,
    messages_with_known, pictures_in, put_answer, put_messages, session_of, unseen_cells,
};
pub use role::{CellRole, is_fixed_word};
pub use scan::Section;
pub use select::{ChosenCell, chosen_cells, find_cells, find_one, list_of};
pub use show::{
    CellOverview, Show, ShowCell, ShowProblem, binary_content, outline, overview, show, show_cell,
};
pub use tidy::tidy;
pub use verbs::{apply, edit_text, fork, not_a_message, replace_text, verb_error};

/// A message file, read: the source, and where its parts are.
#[derive(Debug)]
pub struct Document {
    source: Vec<u8>,
    kind: DocumentKind,
    /// From the opening `---` line to the closing one, line ends included.
    frontmatter: Option<Span>,
    front: Frontmatter,
    /// Where the frontmatter, or else the byte-order mark, ends.
    body: usize,
    scan: scan::Scan,
    utf8: bool,
    names: ids::NameIndex,
}

/// Where a file's messages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// Everywhere: the file's name ends in `.msg.md`.
    Whole,
    /// In the section that the frontmatter names.
    Section,
    /// Nowhere: a Markdown file that is no message file.
    Plain,
}

/// Who wrote a cell: a person (`%%`) or somebody who answered (`%%%`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// `# %%`: what people wrote.
    Message,
    /// `# %%%`: what came back.
    Output,
}

impl Document {
    /// The bytes that were read, put together again from the parts.
    pub fn to_bytes(&self) -> Vec<u8> {
        let front = self.frontmatter.map_or(self.body, |span| span.start);
        let parts = [
            Span::new(0, front),
            Span::new(front, self.body),
            self.preamble(),
        ];
        let spans = parts.into_iter().chain(self.cells().map(Cell::span));
        spans
            .flat_map(|span| span.of(&self.source))
            .copied()
            .collect()
    }

    /// Gives the bytes back.
    pub fn into_source(self) -> Vec<u8> {
        self.source
    }

    /// The bytes that were read.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// Where the file's messages are.
    pub fn kind(&self) -> DocumentKind {
        self.kind
    }

    /// A file of the same kind with another source.
    pub fn with_source(&self, source: Vec<u8>) -> Document {
        decode_named(source, self.name_of_kind())
    }

    /// A name by which [`decode_named`] reads a file of this kind.
    fn name_of_kind(&self) -> &'static str {
        if self.kind == DocumentKind::Whole {
            "x.msg.md"
        } else {
            "x.md"
        }
    }

    /// Where the lines are.
    pub fn lines(&self) -> LineIndex<'_> {
        LineIndex::new(&self.source)
    }

    /// Whether every byte is part of a character.
    pub fn is_utf8(&self) -> bool {
        self.utf8
    }

    /// Where the frontmatter is, with its `---` lines.
    pub fn frontmatter_span(&self) -> Option<Span> {
        self.frontmatter
    }

    /// What the frontmatter says.
    pub fn frontmatter(&self) -> &Frontmatter {
        &self.front
    }

    /// The heading of the section that holds the messages.
    pub fn section(&self) -> Option<Section> {
        self.scan.section
    }

    /// What stands between the frontmatter and the first cell; never sent.
    pub fn preamble(&self) -> Span {
        Span::new(
            self.body,
            self.scan
                .cells
                .first()
                .map_or(self.source.len(), |cell| cell.start),
        )
    }

    /// The cells, in order.
    pub fn cells(&self) -> impl DoubleEndedIterator<Item = Cell<'_>> + ExactSizeIterator {
        (0..self.scan.cells.len()).map(|at| Cell { document: self, at })
    }

    /// The cell of that id, else the cell without id at that place (`7`), or any cell there (`#7`).
    pub fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.place_of(name).map(|at| Cell { document: self, at })
    }

    /// Whether there is a cell of this role.
    pub fn has_role(&self, role: CellRole) -> bool {
        self.scan.cells.iter().any(|cell| cell.role == role)
    }

    /// The cell at a place, from 0.
    fn cell_at(&self, at: usize) -> Option<Cell<'_>> {
        (at < self.scan.cells.len()).then_some(Cell { document: self, at })
    }

    /// The agents, frontmatter first, then those that cells define. The first of a name counts.
    pub fn agents(&self) -> Vec<Agent> {
        self.agents_and_cells()
            .into_iter()
            .map(|(agent, _)| agent)
            .collect()
    }

    /// The agents, each with the cell that defines it; without one for those of the frontmatter.
    pub fn agents_and_cells(&self) -> Vec<(Agent, Option<Cell<'_>>)> {
        let front = self.front.agents.iter().map(|agent| (agent.clone(), None));
        let mut agents: Vec<(Agent, Option<Cell<'_>>)> = front.collect();
        let mut names: std::collections::HashSet<String> =
            agents.iter().map(|(agent, _)| agent.name.clone()).collect();
        for cell in self.cells() {
            let Some(agent) = agents::agent(cell) else {
                continue;
            };
            // Nobody can answer to such a name.
            if agents::why_not_a_name(&agent.name).is_some() {
                continue;
            }
            if names.insert(agent.name.clone()) {
                agents.push((agent, Some(cell)));
            }
        }
        agents
    }

    /// The cells at the end of the file that nobody has answered yet: messages that the model sees
    /// and that no answer follows. An answer that failed, that broke off before its first word, or
    /// that the model does not see, is none. What stands on another branch or in a side chain does not count.
    pub fn unanswered(&self) -> Vec<Cell<'_>> {
        let mut open = Vec::new();
        let (mut behind, sides) = (self.cells().len(), messages::side_chain_cells(self));
        for (at, cell) in self.cells().enumerate().rev() {
            if at >= behind || sides.contains(&at) {
                continue;
            }
            if cell.is_answer() {
                break;
            }
            if cell.is_question() {
                open.push(cell);
            }
            match cell.parent() {
                Some("") => break,
                // A parent that is not there counts as the cell before.
                Some(parent) => {
                    let parent = self.cell(parent).filter(|parent| parent.at < at);
                    behind = parent.map_or(at, |parent| parent.at + 1);
                }
                None => behind = at,
            }
        }
        open.reverse();
        open
    }
}

/// The place that a name means if it is no id: `7`, or `#7`.
pub(crate) fn place_in(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('#').unwrap_or(name);
    // There is one way to write a number.
    let is_plain = digits.starts_with(|c: char| ('1'..='9').contains(&c));
    digits.parse().ok().filter(|_| is_plain)
}

impl Document {
    /// The last cell that would wait for an answer if its `history` did not keep it, or its words, from the model.
    pub fn unseen_question(&self) -> Option<Cell<'_>> {
        let sides = messages::side_chain_cells(self);
        let cells = self.cells().rev().filter(|cell| !sides.contains(&cell.at));
        let behind = cells.take_while(|cell| !cell.is_answer());
        let mut prompts = behind.filter(|cell| cell.is_prompt() && !cell.body().is_empty());
        prompts.next().filter(|cell| !cell.is_question())
    }
}

#[cfg(test)]
pub(crate) mod tests;
