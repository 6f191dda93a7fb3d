//! A conversation in, a message file out, and nothing is lost: what the cells of a message cannot say goes to its
//! details, and a message that these cannot restore exactly becomes one cell of JSON.

use std::collections::HashMap;

use analects_core::{Body, Ids, Message, MessageId, NameId, NameTable, RawMap, SessionId};
use jiff::tz::TimeZone;

use super::cells::{CellWriter, MessageCells};
use super::derived_id;
use super::describe::{HeadAttributes, Style};
use super::details::{details_cell, details_cell_around_lines, details_line, difference};
use super::read::{PrecedingMessages, messages_after};
use super::unsaid::Unsaid;
use crate::msgfile::{NewCell, decode, frontmatter};

/// Writes a conversation as a message file. Reading it gives back exactly these messages: what the cells of a message do
/// not say becomes details, and if these do not help, the message becomes JSON. How cells are written tells what they do
/// not say; in rare cases, only reading them back does.
pub fn encode(conversation: &[Message], ids: &mut dyn Ids) -> Vec<u8> {
    let session = conversation
        .first()
        .map(|first| first.session_id.clone())
        .unwrap_or_default();
    let mut writer = ExactWriter::new(&session, ids);
    let mut file = Vec::new();
    let mut tail = Vec::new();
    for message in conversation {
        writer.push(message, &mut file, &mut tail);
    }
    writer.finish(&mut file, &mut tail);
    file.append(&mut tail);
    file
}

/// Writes a message file that loses nothing, message by message; see [`encode`]. The details are written to a buffer of
/// their own, the tail, since they belong at the end of the file.
///
/// ```
/// use analects_core::{CountingIds, Message};
/// use analects_formats::msgfile::{ExactWriter, decode, messages};
///
/// let question = Message { response_id: Some("r1".into()), ..Message::user("1", "Hello") };
/// let mut writer = ExactWriter::new(&question.session_id, CountingIds::default());
/// let (mut file, mut tail) = (Vec::new(), Vec::new());
/// writer.push(&question, &mut file, &mut tail);
/// writer.finish(&mut file, &mut tail);
/// file.extend(tail);
/// assert_eq!(messages(&decode(file), &question.session_id).messages, [question]);
/// ```
pub struct ExactWriter<'a> {
    writer: CellWriter<'a>,
    text: CellJoiner,
    session: SessionId,
    is_begun: bool,
    has_details: bool,
    /// The last message of each chain.
    last: HashMap<Option<String>, MessageId>,
    /// The ids of all messages so far.
    ids: NameTable,
    /// For each id, the name of the head of the first message with it.
    heads: Vec<NameId>,
    /// The names of all cells so far.
    cells: NameTable,
    /// For each name of a cell, the id of its message.
    owners: Vec<NameId>,
}

impl<'a> ExactWriter<'a> {
    /// A writer for the conversation with this id.
    pub fn new(session: &SessionId, ids: impl Ids + 'a) -> ExactWriter<'a> {
        ExactWriter {
            writer: CellWriter::new(ids, Style::Exact),
            text: CellJoiner::default(),
            session: session.clone(),
            is_begun: false,
            has_details: false,
            last: HashMap::new(),
            ids: NameTable::default(),
            heads: Vec::new(),
            cells: NameTable::default(),
            owners: Vec::new(),
        }
    }

    /// Writes times with the offset of this zone, instead of UTC.
    #[must_use]
    pub fn in_zone(mut self, zone: TimeZone) -> Self {
        self.writer.zone = zone;
        self
    }

    /// Writes the next message to `out`, and its details to `tail`.
    pub fn push(&mut self, message: &Message, out: &mut Vec<u8>, tail: &mut Vec<u8>) {
        if !self.is_begun {
            self.is_begun = true;
            self.text = CellJoiner::begin(&opening(&self.session), out);
        }
        let (cells, details) = self.cells_of(message);
        for cell in &cells.cells {
            self.text.push(cell, out);
        }
        if let Some(details) = details {
            if !self.has_details {
                self.has_details = true;
                tail.extend_from_slice(details_cell_around_lines().0.as_bytes());
            }
            tail.extend_from_slice(details.as_bytes());
            tail.push(b'\n');
        }
        self.note_names(message, &cells);
    }

    /// Ends the file, which is `out` followed by `tail`.
    pub fn finish(mut self, out: &mut Vec<u8>, tail: &mut Vec<u8>) {
        if self.has_details {
            self.text.gap(out);
            tail.extend_from_slice(details_cell_around_lines().1.as_bytes());
        }
    }

    /// The cells of a message, and the line of details that they need to restore it.
    fn cells_of(&mut self, message: &Message) -> (MessageCells, Option<String>) {
        let state = self.writer.state_before(message);
        let mut cells = self.writer.cells(message);
        if cells.is_json() {
            return (cells, None);
        }
        let name = cells.name().to_string();
        cells.change_head(|head| self.with_ids(head, message, &name));
        match self.details_of(message, &cells) {
            Some(line) => (cells, Some(line).filter(|line| !line.is_empty())),
            None => {
                self.writer.restore(state);
                (self.writer.json_cell(message), None)
            }
        }
    }

    /// The line of details that cells need to be read as exactly this message, which is empty if they need none; `None`
    /// if no details help.
    fn details_of(&self, message: &Message, cells: &MessageCells) -> Option<String> {
        let is_taken = |cell: &NewCell| self.cells.get(&cell.id).is_some();
        if cells.cells.iter().any(is_taken) {
            return None;
        }
        if let Some(line) = self.known_details(message, cells) {
            return Some(line);
        }
        let details = self.read_details(message, cells)?;
        if details.is_empty() {
            return Some(String::new());
        }
        Some(details_line(cells.name(), &details))
    }

    /// The line of details, known from how the cells are written; `None` if only reading tells.
    fn known_details(&self, message: &Message, cells: &MessageCells) -> Option<String> {
        if !self.names_parent(message, cells) {
            return None;
        }
        let unsaid = Unsaid::of(message, cells)?;
        if unsaid.is_empty() {
            return Some(String::new());
        }
        Some(unsaid.to_line(cells.name()))
    }

    /// Whether the head is sure to be read as following the parent of this message.
    fn names_parent(&self, message: &Message, cells: &MessageCells) -> bool {
        let parent = message.parent_id.as_ref();
        if parent == self.last.get(&message.agent_id) {
            return true;
        }
        let Some(parent) = parent else { return true };
        if self.head_of(parent).is_some() {
            return true;
        }
        // It is not in the file, and must not pass for a cell that is.
        let is_cell = |cell: &NewCell| *cell.id == **parent;
        let head = &cells.cells[cells.head];
        let has_own_id = head.attributes.iter().any(|(key, _)| key == "uuid");
        has_own_id
            && !parent.is_empty()
            && self.cells.get(parent).is_none()
            && !cells.cells.iter().any(is_cell)
    }

    /// The details that reading the cells shows to be missing; `None` if no details help.
    fn read_details(&self, message: &Message, cells: &MessageCells) -> Option<RawMap> {
        let read = self.read(message, cells, None)?;
        if read == *message {
            return Some(RawMap::new());
        }
        let details = difference(message, &read)?;
        let line = details_line(cells.name(), &details);
        let read = self.read(message, cells, Some(&line))?;
        (read == *message).then_some(details)
    }

    /// The message that these cells are read as after those written so far; `None` unless it is exactly one.
    fn read(
        &self,
        message: &Message,
        cells: &MessageCells,
        details: Option<&str>,
    ) -> Option<Message> {
        let text = text_to_read(cells, details);
        let preceding = self.preceding(message, cells);
        let mut read = messages_after(&decode(text), &self.session, preceding).into_iter();
        let first = read.next()?;
        let next = read.next()?;
        (read.next().is_none() && next.text() == NEXT).then_some(first)
    }

    /// What reading the cells of a message needs to know about the messages before it.
    fn preceding<'m>(
        &'m self,
        message: &Message,
        cells: &'m MessageCells,
    ) -> PrecedingMessages<'m> {
        let chain = &message.agent_id;
        let last = self.last.get(chain);
        let mut owners = Vec::new();
        for cell in &cells.cells {
            for (_, value) in &cell.attributes {
                if let Some(named) = self.cells.get(value) {
                    let owner = self.ids.text(self.owners[named.place()]);
                    owners.push((value.as_str(), owner.into()));
                }
            }
        }
        PrecedingMessages {
            last: last.map(|last| (chain.clone(), last)),
            owners,
            calls: self.writer.answered_calls(message),
        }
    }

    /// Notes the names that later cells can use.
    fn note_names(&mut self, message: &Message, cells: &MessageCells) {
        let id = self.ids.keep(&message.id);
        for cell in &cells.cells {
            let place = self.cells.keep(&cell.id).place();
            if place == self.owners.len() {
                self.owners.push(id);
            }
        }
        if id.place() == self.heads.len() {
            self.heads.push(self.cells.keep(cells.name()));
        }
        if !matches!(message.body, Body::Progress(_)) {
            self.last
                .insert(message.agent_id.clone(), message.id.clone());
        }
    }

    /// The head with the ids of its message, its parent and its conversation, as far as they are not implied.
    fn with_ids(&self, mut cell: NewCell, message: &Message, name: &str) -> NewCell {
        if *message.id != *derived_id(&self.session, name) {
            cell = cell.with("uuid", &*message.id);
        }
        if message.parent_id.as_ref() != self.last.get(&message.agent_id) {
            let parent = message.parent_id.as_deref();
            let head = parent.map(|parent| self.head_of(parent).unwrap_or(parent));
            cell = cell.with("parent", head.unwrap_or_default());
        }
        if message.session_id != self.session {
            cell = cell.with("session_id", &*message.session_id);
        }
        if let Some(agent) = &message.agent_id {
            cell = cell.with("agent_id", agent.as_str());
        }
        cell
    }

    /// The name of the head of the first message with this id.
    fn head_of(&self, id: &str) -> Option<&str> {
        let id = self.ids.get(id)?;
        Some(self.cells.text(self.heads[id.place()]))
    }
}

/// The id and the text of a cell after those that are read back. It shows that they end where they should.
const NEXT: &str = "next";

/// A file with the cells of one message, the [`NEXT`] cell and perhaps details.
fn text_to_read(cells: &MessageCells, details: Option<&str>) -> Vec<u8> {
    let mut text = Vec::new();
    let mut joiner = CellJoiner::default();
    for cell in &cells.cells {
        joiner.push(cell, &mut text);
    }
    joiner.push(&NewCell::message(NEXT, NEXT), &mut text);
    if let Some(details) = details {
        joiner.push(&details_cell(details), &mut text);
    }
    text
}

/// The frontmatter of a conversation.
fn opening(session: &SessionId) -> String {
    if session.is_empty() {
        return String::new();
    }
    let splice = frontmatter::set_string(b"", None, "id", session);
    splice.map_or(String::new(), |splice| {
        String::from_utf8_lossy(&splice.bytes).into_owned()
    })
}

impl NewCell {
    /// Adds the attributes that describe a message: its time, model, tokens, and why it ended.
    pub fn describe(self, message: &Message) -> NewCell {
        HeadAttributes::of(message, Style::Exact, None, &TimeZone::UTC).on(self)
    }
}

/// Joins the texts of cells with one blank line between them.
#[derive(Debug, Default)]
pub(super) struct CellJoiner {
    is_begun: bool,
    ends_in_gap: bool,
}

impl CellJoiner {
    /// Begins a file with this text.
    pub(super) fn begin(opening: &str, out: &mut Vec<u8>) -> CellJoiner {
        let mut text = CellJoiner::default();
        text.add(opening, out);
        text
    }

    /// Whether the file has begun.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Adds a cell.
    pub(super) fn push(&mut self, cell: &NewCell, out: &mut Vec<u8>) {
        self.gap(out);
        self.add(&cell.to_text(1, "\n"), out);
    }

    /// Adds the blank line after a cell, unless it is there.
    pub(super) fn gap(&mut self, out: &mut Vec<u8>) {
        if self.is_begun && !self.ends_in_gap {
            out.push(b'\n');
            self.ends_in_gap = true;
        }
    }

    fn add(&mut self, text: &str, out: &mut Vec<u8>) {
        if !text.is_empty() {
            out.extend_from_slice(text.as_bytes());
            self.is_begun = true;
            self.ends_in_gap = text.ends_with("\n\n");
        }
    }
}

/// The names of cells, by the positions of messages, in one string: a conversation may have millions.
#[derive(Debug, Default)]
pub(super) struct PackedNames {
    text: String,
    /// Where each name ends; the next one begins there.
    ends: Vec<usize>,
}

impl PackedNames {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds the name of the next message.
    pub(super) fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    /// The name of a message; empty for one that has none.
    pub(super) fn get(&self, at: usize) -> &str {
        let Some(end) = self.ends.get(at) else {
            return "";
        };
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..*end]
    }
}

#[cfg(test)]
mod tests;
