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
mod attributes;
pub mod base64;
mod branch;
mod choice;
mod chosen;
pub mod code;
mod compaction;
mod current;
pub(crate) mod decode;
mod default_agent;
mod edit;
pub(crate) mod encode;
pub(crate) mod fence;
pub mod frontmatter;
mod glance;
pub mod invoke;
pub mod item;
pub(crate) mod line;
pub(crate) mod messages;
mod meta;
pub mod output;
mod parts;
pub(crate) mod problems;
pub(crate) mod scan;
mod show;
mod tidy;
mod unseen;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;

use analects_core::{Agent, History, LineIndex, Raw, RawMap, Span};

pub use agents::is_fixed_word;
pub use attributes::{Attribute, set_attributes};
pub use branch::{Edited, Rewound, edit_text, fork, rewind, rewind_to_start};
pub use choice::{Choice, check_can_be_hidden, find_cells, find_one, hide, list_of, reveal};
pub use chosen::{ChosenCell, chosen_cells};
pub use compaction::{counting_summary, summed_up};
pub use current::{Step, current_branch};
pub use decode::{decode, decode_named};
pub use edit::{Splice, answer_behind, append, append_all, append_answer, replace, replace_text};
pub use encode::NewCell;
pub use frontmatter::{FrontProblem, Frontmatter, Refusal};
pub use line::is_same_text;
pub use messages::{
    AddedMessages, AnswerDetail, CellsHash, KnownMessages, LeftBehind, PlacedAnswer, cell_names,
    cell_of, cell_targets, encode, encode_readable, hashes_of_cells, message_problems, messages,
    messages_knowing, pictures_in, put_answer, put_messages, session_of,
};
pub use meta::Meta;
pub use scan::Section;
pub use show::{
    Brief, Show, ShowCell, ShowProblem, binary_content, briefs, outline, role, roles, show,
    show_cell,
};
pub use tidy::tidy;
pub use unseen::{Unseen, unseen};

/// A message file, read: the source, and where its parts are.
#[derive(Debug)]
pub struct Document {
    source: Vec<u8>,
    kind: Kind,
    /// From the opening `---` line to the closing one, line ends included.
    frontmatter: Option<Span>,
    front: Frontmatter,
    /// Where the frontmatter, or else the byte-order mark, ends.
    body: usize,
    scan: scan::Scan,
    utf8: bool,
    /// The largest number that an id starts with, once somebody has asked for a new id.
    largest_id: OnceLock<u64>,
    /// The last place of a cell without id, but for the last cell, once somebody has asked for a new id.
    last_loose: OnceLock<Option<usize>>,
    /// The ids that are numbers, once somebody has asked whether a place is one of them.
    numbers: OnceLock<HashSet<usize>>,
}

/// Where a file's messages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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

/// One cell of a document: a cheap handle, from which its parts are read when asked for.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    document: &'a Document,
    at: usize,
}

impl Document {
    /// The bytes that were read, put together again from the parts.
    pub fn to_bytes(&self) -> Vec<u8> {
        let front = self.frontmatter.map_or(self.body, |span| span.start);
        let parts = [Span::new(0, front), Span::new(front, self.body), self.preamble()];
        let spans = parts.into_iter().chain(self.cells().map(Cell::span));
        spans.flat_map(|span| span.of(&self.source)).copied().collect()
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
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// A file of the same kind with another source.
    pub fn with_source(&self, source: Vec<u8>) -> Document {
        decode_named(source, self.name_of_kind())
    }

    /// A name by which [`decode_named`] reads a file of this kind.
    fn name_of_kind(&self) -> &'static str {
        if self.kind == Kind::Whole { "x.msg.md" } else { "x.md" }
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
        Span::new(self.body, self.scan.cells.first().map_or(self.source.len(), |cell| cell.start))
    }

    /// The cells, in order.
    pub fn cells(&self) -> impl DoubleEndedIterator<Item = Cell<'_>> + ExactSizeIterator {
        (0..self.scan.cells.len()).map(|at| Cell { document: self, at })
    }

    /// The cell of that id, else the cell without id at that place (`7`), or any cell there (`#7`).
    pub fn cell(&self, name: &str) -> Option<Cell<'_>> {
        // Where no id is that number, the cell need not be looked for.
        if let Some(place) = place_in(name).filter(|_| !name.starts_with('#'))
            && !self.has_number(place)
        {
            return self.loose_cell(place);
        }
        let is_named = |cell: &Cell<'_>| cell.bytes(cell.spans().id) == name.as_bytes();
        let by_id = self.cells().find(|cell| !name.is_empty() && is_named(cell));
        by_id.or_else(|| match name.strip_prefix('#') {
            Some(place) => self.cells().nth(place_in(place)?.checked_sub(1)?),
            None => self.loose_cell(place_in(name)?),
        })
    }

    /// The cell at a place, from 0.
    fn cell_at(&self, at: usize) -> Option<Cell<'_>> {
        (at < self.scan.cells.len()).then_some(Cell { document: self, at })
    }

    /// The cell at a place, from 1, if it has no id.
    fn loose_cell(&self, place: usize) -> Option<Cell<'_>> {
        self.cell_at(place.checked_sub(1)?).filter(|cell| cell.id().is_none())
    }

    /// Whether a cell has that number as its id.
    fn has_number(&self, number: usize) -> bool {
        let in_id = |id: &str| place_in(id).filter(|_| !id.starts_with('#'));
        let ids = || self.cells().filter_map(|cell| in_id(cell.id()?));
        (number as u64) <= self.largest_id()
            && self.numbers.get_or_init(|| ids().collect()).contains(&number)
    }

    /// Whether a text stands anywhere in the file: a quick way to find that there are no cells of a kind.
    pub fn mentions(&self, text: &str) -> bool {
        memchr::memmem::find(&self.source, text.as_bytes()).is_some()
    }

    /// The agents, frontmatter first, then those that cells define. The first of a name counts.
    pub fn agents(&self) -> Vec<Agent> {
        self.agents_and_cells().into_iter().map(|(agent, _)| agent).collect()
    }

    /// The agents, each with the cell that defines it; without one for those of the frontmatter.
    pub fn agents_and_cells(&self) -> Vec<(Agent, Option<Cell<'_>>)> {
        let front = self.front.agents.iter().map(|agent| (agent.clone(), None));
        let mut agents: Vec<(Agent, Option<Cell<'_>>)> = front.collect();
        let mut names: std::collections::HashSet<String> =
            agents.iter().map(|(agent, _)| agent.name.clone()).collect();
        if !self.may_have_word("agent") {
            return agents;
        }
        for cell in self.cells() {
            let Some(agent) = agents::agent(cell) else { continue };
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
        let (mut behind, sides) = (self.cells().len(), messages::side_places(self));
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
            match cell.attribute("parent").as_deref() {
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
        let sides = messages::side_places(self);
        let cells = self.cells().rev().filter(|cell| !sides.contains(&cell.at));
        let behind = cells.take_while(|cell| !cell.is_answer());
        let mut prompts = behind.filter(|cell| cell.is_prompt() && !cell.body().is_empty());
        prompts.next().filter(|cell| !cell.is_question())
    }
}

impl<'a> Cell<'a> {
    fn spans(self) -> &'a scan::CellSpans {
        &self.document.scan.cells[self.at]
    }

    fn bytes(self, span: Span) -> &'a [u8] {
        span.of(&self.document.source)
    }

    /// Who wrote it.
    pub fn kind(self) -> CellKind {
        self.spans().kind
    }

    /// The number of `#` in its head, 1 to 5.
    pub fn level(self) -> usize {
        usize::from(self.spans().level)
    }

    /// Its place in the file, from 1; the name of a cell without id.
    pub fn ordinal(self) -> usize {
        self.at + 1
    }

    /// The head's title, trimmed.
    pub fn title(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes(self.spans().title))
    }

    /// The id that closes the head.
    pub fn id(self) -> Option<&'a str> {
        let id = std::str::from_utf8(self.bytes(self.spans().id)).ok();
        id.filter(|id| !id.is_empty())
    }

    /// Its id, or else its ordinal; with `#` before it where that is the id of another cell.
    pub fn name(self) -> Cow<'a, str> {
        match self.id() {
            Some(id) => Cow::Borrowed(id),
            None if self.document.has_number(self.ordinal()) => {
                format!("#{}", self.ordinal()).into()
            }
            None => self.ordinal().to_string().into(),
        }
    }

    /// All of its bytes, from its head to the next.
    pub fn span(self) -> Span {
        let next = self.document.scan.cells.get(self.at + 1).map(|next| next.start);
        Span::new(self.spans().start, next.unwrap_or(self.document.source.len()))
    }

    /// The head's line, with its line end.
    pub fn head(self) -> Span {
        Span::new(self.spans().start, self.spans().head_end)
    }

    /// Whether it is sealed: it has an id and metadata.
    pub fn is_sealed(self) -> bool {
        self.spans().meta > 0
    }

    /// The metadata, if the cell is sealed. Read anew at each call.
    pub fn meta(self) -> Option<Meta> {
        let spans = self.spans();
        let source = &self.document.source[..self.span().end];
        self.is_sealed().then(|| decode::read_meta(source, spans.meta, self.bytes(spans.id)))
    }

    /// The type word of its metadata; `markdown` where it has none.
    pub fn type_word(self) -> String {
        self.word().into_owned()
    }

    /// The value of an attribute; of a repeated one, the last.
    pub fn attribute(self, key: &str) -> Option<String> {
        self.may_have(key).then(|| self.meta())??.get(key).map(str::to_string)
    }

    /// The content as it stands in the file, still escaped.
    pub fn body(self) -> Span {
        self.body_of(&self.meta().unwrap_or_default())
    }

    /// What it says: its text, with the escapes taken off.
    pub fn content(self) -> Cow<'a, str> {
        self.content_of(&self.meta().unwrap_or_default())
    }

    /// What it says, byte for byte: where the file is not UTF-8, the bytes as they are.
    pub fn content_bytes(self) -> Cow<'a, [u8]> {
        encode::unescape_bytes(self.bytes(self.body()))
    }

    /// The content of a cell whose metadata has been read already.
    pub fn content_of(self, meta: &Meta) -> Cow<'a, str> {
        encode::unescape(String::from_utf8_lossy(self.bytes(self.body_of(meta))))
    }

    fn body_of(self, meta: &Meta) -> Span {
        let (source, rest) = (&self.document.source, self.below(meta));
        let stored = meta.get("stored").and_then(|words| decode::stored_body(source, rest, words));
        stored.unwrap_or_else(|| decode::trimmed(source, rest))
    }

    /// Whether it is something that a person says to the model, not the definition of an agent.
    pub fn is_prompt(self) -> bool {
        self.kind() == CellKind::Message && self.word() != "agent" && !self.is_ready()
    }

    /// Whether it is a prompt with content that the model sees.
    fn is_question(self) -> bool {
        let history = self.own_history();
        self.is_prompt()
            && !self.body().is_empty()
            && history.is_none_or(|history| history == History::Include)
    }

    /// What its own `history` says, if it says anything that is known.
    pub(crate) fn own_history(self) -> Option<History> {
        self.attribute("history").and_then(|word| History::parse(&word))
    }

    /// Whether it is an answer of which only the beginning came.
    pub fn broke_off(self) -> bool {
        self.attribute("stop_reason").as_deref() == Some("interrupted")
    }

    /// Whether it is something that came back from somebody, however little.
    fn is_answer(self) -> bool {
        let silent = self.broke_off() && self.body().is_empty();
        let word = self.word();
        let is_event = agents::is_event(&word) || (word == "block" && self.is_foreign_record());
        let answers = self.kind() == CellKind::Output && !is_event;
        answers && !silent && !self.is_failed() && !self.is_hidden()
    }

    /// Whether it, or what it belongs to, says that the model does not see it.
    fn is_hidden(self) -> bool {
        let cells = std::iter::successors(Some(self), |cell| cell.whole());
        cells.into_iter().any(|cell| cell.own_history() == Some(History::Exclude))
    }

    /// Whether it holds a whole message that no cell can say, and that is no answer: a change of the state, for
    /// example.
    fn is_foreign_record(self) -> bool {
        let record = || RawMap::parse(&self.content()).unwrap_or_default();
        self.attribute("json").as_deref() == Some("message")
            && record().get("type").and_then(Raw::as_string).as_deref() != Some("assistant")
    }

    /// Whether it only reports that the model's side failed.
    pub fn is_failed(self) -> bool {
        self.attribute("error").as_deref() == Some("1")
    }

    /// Whether its text is what its `stored` attribute says, if it has one.
    fn is_stored_as_it_says(self, meta: &Meta) -> bool {
        let (source, rest) = (&self.document.source, self.below(meta));
        meta.get("stored").is_none_or(|words| decode::stored_body(source, rest, words).is_some())
    }

    /// Everything below the head and the metadata, as it stands in the file.
    pub fn below_meta(self) -> Span {
        self.below(&self.meta().unwrap_or_default())
    }

    fn below(self, meta: &Meta) -> Span {
        // Metadata never ends where a cell starts, so an end of 0 means that there is none.
        Span::new(meta.span.end.max(self.spans().head_end), self.span().end)
    }
}

#[cfg(test)]
pub(crate) mod tests;
