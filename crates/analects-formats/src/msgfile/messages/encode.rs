//! A conversation in, a message file out, and nothing is lost: what cells cannot say is in their details, and
//! what these cannot say exactly, a cell says as JSON.

use std::collections::HashMap;

use analects_core::{Body, Ids, Message, MessageId, NameId, NameTable, RawMap, SessionId};

use super::cells::{CellWriter, MessageCells};
use super::derived_id;
use super::describe::{HeadAttributes, Style};
use super::details::{details_around, details_cell, difference, line};
use super::read::{PrecedingMessages, messages_after};
use crate::msgfile::{NewCell, decode, frontmatter};

/// Writes a conversation as a message file. Reading it gives back exactly these messages; that is
/// checked here, and a message of which cells would lose something gets details, or is JSON.
pub fn encode(conversation: &[Message], ids: &mut dyn Ids) -> Vec<u8> {
    let session = conversation
        .first()
        .map(|first| first.session_id.clone())
        .unwrap_or_default();
    let mut writer = ExactWriter::new(&session, ids);
    let (mut file, mut tail) = (Vec::new(), Vec::new());
    for message in conversation {
        writer.push(message, &mut file, &mut tail);
    }
    writer.finish(&mut file, &mut tail);
    file.append(&mut tail);
    file
}

/// Writes a message file that holds everything, as [`encode`] does, message by message. Each is read back as it is
/// written. The details stand at the end of the file, so that they are given apart.
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
    /// The ids of the messages, and the name of the first one's head by the place of each.
    ids: NameTable,
    heads: Vec<NameId>,
    /// The names of all cells, and the ids of their messages by the place of each.
    cells: NameTable,
    owners: Vec<NameId>,
}

impl<'a> ExactWriter<'a> {
    /// A writer for a conversation of this name.
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

    /// Writes the next message; its details go to the tail.
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
                tail.extend_from_slice(details_around().0.as_bytes());
            }
            tail.extend_from_slice(details.as_bytes());
            tail.push(b'\n');
        }
        self.note(message, &cells);
    }

    /// There are no more messages. The file is what was written, with the tail behind it.
    pub fn finish(mut self, out: &mut Vec<u8>, tail: &mut Vec<u8>) {
        if self.has_details {
            self.text.gap(out);
            tail.extend_from_slice(details_around().1.as_bytes());
        }
    }

    /// The cells of a message, and the line of details that they need.
    fn cells_of(&mut self, message: &Message) -> (MessageCells, Option<String>) {
        let before = self.writer.mark(message);
        let mut cells = self.writer.cells(message);
        if cells.is_json() {
            return (cells, None);
        }
        let name = cells.name().to_string();
        cells.change_head(|head| self.with_names(head, message, &name));
        let details = self.details_of(message, &cells);
        match details {
            Some(details) if details.is_empty() => (cells, None),
            Some(details) => (cells, Some(line(&name, &details))),
            None => {
                self.writer.go_back(before);
                (self.writer.json_cell(message), None)
            }
        }
    }

    /// What is to be added to cells so that they are read as a message; `None` if nothing helps.
    fn details_of(&self, message: &Message, cells: &MessageCells) -> Option<RawMap> {
        if cells
            .cells
            .iter()
            .any(|cell| self.cells.get(&cell.id).is_some())
        {
            return None;
        }
        let read = self.read(message, cells, None)?;
        if read == *message {
            return Some(RawMap::new());
        }
        let details = difference(message, &read)?;
        let read = self.read(message, cells, Some(&line(cells.name(), &details)))?;
        (read == *message).then_some(details)
    }

    /// The message that is read of cells behind those that are written; `None` unless they are one.
    fn read(
        &self,
        message: &Message,
        cells: &MessageCells,
        details: Option<&str>,
    ) -> Option<Message> {
        let (mut text, mut cell_text) = (Vec::new(), CellJoiner::default());
        cells
            .cells
            .iter()
            .for_each(|cell| cell_text.push(cell, &mut text));
        cell_text.push(&NewCell::message(NEXT, NEXT), &mut text);
        if let Some(details) = details {
            cell_text.push(&details_cell(details), &mut text);
        }
        let mut before = PrecedingMessages {
            last: self
                .last
                .get(&message.agent_id)
                .map(|last| (message.agent_id.clone(), last)),
            owners: Vec::new(),
            calls: self.writer.called(message),
        };
        for (_, value) in cells.cells.iter().flat_map(|cell| &cell.attributes) {
            if let Some(cell) = self.cells.get(value) {
                let owner = self.ids.text(self.owners[cell.place()]);
                before.owners.push((value, owner.into()));
            }
        }
        let mut read = messages_after(&decode(text), &self.session, before).into_iter();
        let (first, next) = (read.next()?, read.next()?);
        (read.next().is_none() && next.text() == NEXT).then_some(first)
    }

    /// Notes what cells further down can name.
    fn note(&mut self, message: &Message, cells: &MessageCells) {
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

    /// Notes on a message's head who it is and where it belongs.
    fn with_names(&self, mut cell: NewCell, message: &Message, name: &str) -> NewCell {
        if *message.id != *derived_id(&self.session, name) {
            cell = cell.with("uuid", &*message.id);
        }
        if message.parent_id.as_ref() != self.last.get(&message.agent_id) {
            let parent = message.parent_id.as_deref();
            let known = parent.and_then(|parent| self.ids.get(parent));
            let known = known.map(|parent| self.cells.text(self.heads[parent.place()]));
            cell = cell.with("parent", known.or(parent).unwrap_or_default());
        }
        if message.session_id != self.session {
            cell = cell.with("session_id", &*message.session_id);
        }
        if let Some(agent) = &message.agent_id {
            cell = cell.with("agent_id", agent.as_str());
        }
        cell
    }
}

/// The name and the text of a cell that stands behind those that are read: it shows that they end where they should.
const NEXT: &str = "next";

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
    /// Notes on a message's head what is known about it: its time, model, tokens, how it ended.
    pub fn describe(self, message: &Message) -> NewCell {
        HeadAttributes::of(message, Style::Exact, None).on(self)
    }
}

/// Puts cells one behind the other.
#[derive(Debug, Default)]
pub(super) struct CellJoiner {
    is_begun: bool,
    ends_in_gap: bool,
}

impl CellJoiner {
    /// A file that begins with this.
    pub(super) fn begin(opening: &str, out: &mut Vec<u8>) -> CellJoiner {
        let mut text = CellJoiner::default();
        text.add(opening, out);
        text
    }

    /// Adds a cell.
    pub(super) fn push(&mut self, cell: &NewCell, out: &mut Vec<u8>) {
        self.gap(out);
        self.add(&cell.to_text(1, "\n"), out);
    }

    /// Adds what stands between a cell and the next one.
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

/// MessageIds of cells by the positions of messages, in little room.
#[derive(Debug, Default)]
pub(super) struct PackedNames {
    text: String,
    /// Where each name ends; it begins where the one before ends.
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
