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
mod blocking;
mod cell;
mod cell_edits;
pub mod code;
pub(crate) mod decode;
mod edit;
pub(crate) mod encode;
mod escape;
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
mod mistakes;
mod new_ids;
pub mod output;
mod output_files;
mod owners;
pub(crate) mod problems;
mod role;
pub(crate) mod scan;
mod seconds;
mod select;
mod show;
mod tidy;
mod unanswered;
mod verbs;

use std::collections::HashMap;

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
    KnownMessages, LeftBehind, PictureLine, PlacedAnswer, ReadableWriter, cell_hashes, cell_names,
    cell_of, current_branch, encode, encode_readable, message_problems, messages,
    messages_with_cells, messages_with_known, messages_with_provenance, picture_lines, pictures_in,
    put_answer, put_messages, session_of, unseen_cells,
};
pub use output_files::{AttachedOutput, OutputFile};
pub use role::{CellRole, is_fixed_word};
pub use scan::Section;
pub use select::{ChosenCell, chosen_cells, find_cells, find_one, list_of};
pub use show::{
    CellOverview, Show, ShowCell, ShowProblem, binary_content, outline, overview, show, show_cell,
};
pub use tidy::tidy;
pub use verbs::{apply, apply_in, edit_text, fork, not_a_message, replace_text, verb_error};

/// A message file: its source, and where its parts are. Make one with [`decode`].
#[derive(Debug)]
pub struct Document {
    source: Vec<u8>,
    kind: DocumentKind,
    /// From the opening `---` line to the closing one, line ends included.
    frontmatter: Option<Span>,
    front: Frontmatter,
    /// Where the body begins: after the frontmatter, or else after the byte-order mark.
    body: usize,
    scan: scan::Scan,
    utf8: bool,
    names: ids::NameIndex,
    /// What stands for outputs that are in files, by the paths of these.
    outputs: HashMap<String, AttachedOutput>,
}

/// Which part of a file holds messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// All of it: the file's name ends in `.msg.md`.
    Whole,
    /// The section that the frontmatter names.
    Section,
    /// None: a Markdown file that is not a message file.
    Plain,
}

/// Whether a person wrote a cell (`%%`) or a program added it (`%%%`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// `# %%`: what people wrote.
    Message,
    /// `# %%%`: answers, and everything else that a program adds.
    Output,
}

impl Document {
    /// The source, put together again from its parts. It is always equal to [`source`](Document::source).
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

    /// Returns the source.
    pub fn into_source(self) -> Vec<u8> {
        self.source
    }

    /// The bytes of the file.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// Which part of the file holds messages.
    pub fn kind(&self) -> DocumentKind {
        self.kind
    }

    /// Reads another source as a file of the same kind.
    pub fn with_source(&self, source: Vec<u8>) -> Document {
        decode_named(source, self.name_of_kind())
    }

    /// A file name with which [`decode_named`] reads a file of this kind.
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

    /// Whether the file is UTF-8. Nothing is written to a file that is not.
    pub fn is_utf8(&self) -> bool {
        self.utf8
    }

    /// Where the frontmatter is, including its `---` lines.
    pub fn frontmatter_span(&self) -> Option<Span> {
        self.frontmatter
    }

    /// The values in the frontmatter.
    pub fn frontmatter(&self) -> &Frontmatter {
        &self.front
    }

    /// The heading of the section that holds the messages.
    pub fn section(&self) -> Option<Section> {
        self.scan.section
    }

    /// The text between the frontmatter and the first cell, which is never sent.
    pub fn preamble(&self) -> Span {
        Span::new(
            self.body,
            self.scan
                .cells
                .first()
                .map_or(self.source.len(), |cell| cell.start),
        )
    }

    /// The text that belongs to the author: between the frontmatter and the section for messages or, in a `*.msg.md`
    /// file, the first cell. It is only sent if somebody asks for that.
    ///
    /// ```
    /// use analects_formats::msgfile::decode_named;
    ///
    /// let notes = "---\nmessage_section: Talk\n---\n\n# Notes\n\nMine.\n\n## Talk\n\n### %%\n\nWhy?\n";
    /// let notes = decode_named(notes, "notes.md");
    /// assert_eq!(notes.author_text().of(notes.source()).trim_ascii(), b"# Notes\n\nMine.");
    /// ```
    pub fn author_text(&self) -> Span {
        let preamble = self.preamble();
        let end = self
            .section()
            .map_or(preamble.end, |section| section.heading.start);
        Span::new(preamble.start, end.max(preamble.start))
    }

    /// The cells, in order.
    pub fn cells(&self) -> impl DoubleEndedIterator<Item = Cell<'_>> + ExactSizeIterator {
        (0..self.scan.cells.len()).map(|at| Cell { document: self, at })
    }

    /// The cell with this id, or else the cell without an id at this place (`7`), or any cell at this place (`#7`).
    pub fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.place_of(name).map(|at| Cell { document: self, at })
    }

    /// Whether there is a cell of this role.
    pub fn has_role(&self, role: CellRole) -> bool {
        self.scan.cells.iter().any(|cell| cell.role == role)
    }

    /// The cell at an index, from 0.
    fn cell_at(&self, at: usize) -> Option<Cell<'_>> {
        (at < self.scan.cells.len()).then_some(Cell { document: self, at })
    }

    /// The agents of the frontmatter, then those that cells define. If several share a name, the first one counts.
    pub fn agents(&self) -> Vec<Agent> {
        self.agents_and_cells()
            .into_iter()
            .map(|(agent, _)| agent)
            .collect()
    }

    /// The agents, each with the cell that defines it, or `None` if the frontmatter does.
    pub fn agents_and_cells(&self) -> Vec<(Agent, Option<Cell<'_>>)> {
        let front = self.front.agents.iter().map(|agent| (agent.clone(), None));
        let mut agents: Vec<(Agent, Option<Cell<'_>>)> = front.collect();
        let mut names: std::collections::HashSet<String> =
            agents.iter().map(|(agent, _)| agent.name.clone()).collect();
        for cell in self.cells() {
            let Some(agent) = agents::agent(cell) else {
                continue;
            };
            // No reply could carry such a name.
            if agents::why_not_a_name(&agent.name).is_some() {
                continue;
            }
            if names.insert(agent.name.clone()) {
                agents.push((agent, Some(cell)));
            }
        }
        agents
    }
}

#[cfg(test)]
pub(crate) mod tests;
