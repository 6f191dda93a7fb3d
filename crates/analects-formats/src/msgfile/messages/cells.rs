//! A message in, its cells out: what the cells are called, and what they say.

mod events;

use std::collections::HashMap;

use analects_core::{Block, Body, Content, Ids, Json, Message, Said, UserSource};
use jiff::tz::TimeZone;

use super::blocks::{self, CallCells, Side, fence_json};
use super::describe::{HeadAttributes, Style};
use crate::msgfile::encode::type_word;
use crate::msgfile::ids::leading_number;
use crate::msgfile::owners::PartNames;
use crate::msgfile::role::{is_fixed_word, names_author};
use crate::msgfile::{CellKind, Document, NewCell};
use events::{event_cell, event_letter};

pub(super) use events::path_data;

/// Makes the cells of messages, and gives them their names.
pub(super) struct CellWriter<'a> {
    ids: Box<dyn Ids + 'a>,
    pub(super) style: Style,
    /// The last number of a question or an answer.
    pub(super) number: u64,
    /// The last number of each kind of event, by the letter that its ids start with.
    events: HashMap<char, u64>,
    call_cells: CallCells,
    /// The model that each agent of the file asks first.
    pub(super) usual_models: HashMap<String, String>,
    /// The zone of the times.
    pub(super) zone: TimeZone,
}

/// The numbers of a writer before a message, to return to if the message is written in another way.
pub(super) struct WriterState {
    number: u64,
    event: Option<(char, u64)>,
}

/// The cells of a message.
#[derive(Debug)]
pub(super) struct MessageCells {
    pub(super) cells: Vec<NewCell>,
    /// The index of the head: the cell that describes the message, and by which others name it.
    pub(super) head: usize,
}

impl MessageCells {
    fn one(cell: NewCell) -> MessageCells {
        MessageCells {
            cells: vec![cell],
            head: 0,
        }
    }

    /// The name by which other cells mean the message.
    pub(super) fn name(&self) -> &str {
        &self.cells[self.head].id
    }

    /// Replaces the head by what `change` makes of it.
    pub(super) fn change_head(&mut self, change: impl FnOnce(NewCell) -> NewCell) {
        let head = &mut self.cells[self.head];
        *head = change(std::mem::replace(head, NewCell::message("", "")));
    }

    /// Whether the head holds the whole message as JSON.
    pub(super) fn is_json(&self) -> bool {
        let attributes = &self.cells[self.head].attributes;
        attributes
            .iter()
            .any(|(key, value)| key == "json" && value == "message")
    }
}

impl<'a> CellWriter<'a> {
    /// A writer for a file without cells.
    pub(super) fn new(ids: impl Ids + 'a, style: Style) -> CellWriter<'a> {
        CellWriter {
            ids: Box::new(ids),
            style,
            number: 0,
            events: HashMap::new(),
            call_cells: CallCells::default(),
            usual_models: HashMap::new(),
            zone: TimeZone::UTC,
        }
    }

    /// A writer for cells after those of a file. `calls` has the cell of each call in the file, and how many results
    /// the call has.
    pub(super) fn after(
        document: &Document,
        ids: &'a mut dyn Ids,
        style: Style,
        calls: HashMap<String, (String, usize)>,
    ) -> CellWriter<'a> {
        CellWriter {
            number: leading_number(&document.next_id()).unwrap_or(1) - 1,
            events: event_numbers(document),
            call_cells: CallCells::of(calls),
            usual_models: document.usual_models(),
            ..CellWriter::new(ids, style)
        }
    }

    /// The state of the writer before it writes a message.
    pub(super) fn state_before(&mut self, message: &Message) -> WriterState {
        self.call_cells.begin();
        let letter = event_letter(&message.body);
        let event = letter.map(|letter| (letter, self.events.get(&letter).copied().unwrap_or(0)));
        WriterState {
            number: self.number,
            event,
        }
    }

    /// Returns to the state before the last message.
    pub(super) fn restore(&mut self, state: WriterState) {
        self.call_cells.restore();
        self.number = state.number;
        self.events.extend(state.event);
    }

    /// The calls whose results a message brings: the cell of each, and its id.
    pub(super) fn answered_calls(&self, message: &Message) -> Vec<(String, String)> {
        let mut calls = Vec::new();
        for call in Said::of(message).results {
            if let Some(cell) = self.call_cells.cell_of(&call) {
                calls.push((cell.to_string(), call));
            }
        }
        calls
    }

    /// The cells of a message, or one that holds it as JSON.
    pub(super) fn cells(&mut self, message: &Message) -> MessageCells {
        let Some(mut cells) = self.undescribed_cells(message) else {
            return self.json_cell(message);
        };
        let author = message.author.as_ref();
        let usual_model = author.and_then(|author| self.usual_models.get(author));
        let usual_model = usual_model.map(String::as_str);
        let description = HeadAttributes::of(message, self.style, usual_model, &self.zone);
        cells.change_head(|head| description.on(with_author(head, message.author.as_deref())));
        cells
    }

    /// A cell that holds a message as JSON.
    pub(super) fn json_cell(&mut self, message: &Message) -> MessageCells {
        let word = if matches!(message.body, Body::Progress(_)) {
            "progress"
        } else {
            "block"
        };
        let id = match event_letter(&message.body) {
            Some(letter) => self.event_id(letter),
            None => self.next_number(),
        };
        let cell = NewCell::new(CellKind::Output, id, word, fence_json(&message.to_json()));
        MessageCells::one(cell.with("json", "message"))
    }

    fn next_number(&mut self) -> String {
        self.number += 1;
        self.number.to_string()
    }

    fn event_id(&mut self, letter: char) -> String {
        let last = self.events.entry(letter).or_default();
        *last += 1;
        format!("{letter}{last}")
    }

    /// The cells with the words of a message, whose head does not describe it yet. `None` for a message that only
    /// JSON can express.
    fn undescribed_cells(&mut self, message: &Message) -> Option<MessageCells> {
        match &message.body {
            Body::User(body) => {
                let mut cells = self.speech(&body.content, Side::User);
                if let Some(source) = &body.source {
                    set_source(&mut cells.cells[0], source);
                }
                Some(cells)
            }
            Body::Assistant(body) => {
                let author = message.author.as_deref().filter(|name| is_type_word(name));
                Some(self.speech(&body.content, Side::Agent(author.unwrap_or("assistant"))))
            }
            body @ (Body::System(_)
            | Body::ToolUse(_)
            | Body::ToolResult(_)
            | Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::Summary(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_)) => {
                let cell = event_cell(body, self.style)?;
                let id = self.event_id(event_letter(body)?);
                Some(MessageCells::one(NewCell { id, ..cell }))
            }
        }
    }

    /// The cells of what a person or an agent says, block by block.
    fn speech(&mut self, content: &Content, side: Side<'_>) -> MessageCells {
        let number = self.next_number();
        let shape = shape_attribute(content, side);
        let mut cells = self.block_cells(&self.written_blocks(content, side), side, &number);
        if cells.is_empty() {
            cells.push(match side {
                Side::User => NewCell::message(&number, ""),
                Side::Agent(agent) => NewCell::reply(&number, agent, ""),
            });
        }
        // The cells of results are named after their calls, and use no number.
        let is_numbered = |cell: &NewCell| leading_number(&cell.id) == Some(self.number);
        if !cells.iter().any(is_numbered) {
            self.number -= 1;
        }
        let whole = cells.iter().position(|cell| cell.id == number);
        let head = whole.filter(|_| side != Side::User).unwrap_or(0);
        let has_shape = cells[head]
            .attributes
            .iter()
            .any(|(key, _)| key == "content");
        if let Some(shape) = shape.filter(|_| !has_shape) {
            let attribute = ("content".to_string(), shape.to_string());
            cells[head].attributes.push(attribute);
        }
        MessageCells { cells, head }
    }

    /// The blocks of a content that get a cell.
    fn written_blocks(&self, content: &Content, side: Side<'_>) -> Vec<Block> {
        let mut blocks = match content {
            Content::Empty => Vec::new(),
            Content::Text(text) => vec![Block::from_text(text.clone())],
            Content::Blocks(blocks) => blocks.clone(),
        };
        if self.style != Style::Exact && side != Side::User {
            blocks.retain(|block| !blocks::is_opaque(block));
        }
        blocks
    }

    /// The cells of blocks. The further cells of a person say what they are a part of; those of an agent, and those of
    /// one result, have ids that say it.
    fn block_cells(&mut self, blocks: &[Block], side: Side<'_>, number: &str) -> Vec<NewCell> {
        let mut names = PartNames::new(number, side == Side::User);
        let mut cells: Vec<NewCell> = Vec::with_capacity(blocks.len());
        let is_sayable = |block: &Block| side != Side::User || blocks::user_can_say(block);
        if blocks.first().is_some_and(|first| !is_sayable(first)) {
            // JSON does not show that its message is a person's.
            cells.push(NewCell::message(names.text(), "").with("content", PARTS));
        }
        for block in blocks {
            let nonce = self.ids.nonce();
            let mut written = blocks::write(block, side, &mut names, nonce, &mut self.call_cells);
            if let (Side::User, Some(first)) = (side, cells.first()) {
                let whole = ("part".to_string(), first.id.clone());
                written[0].attributes.push(whole);
            }
            cells.append(&mut written);
        }
        cells
    }
}

/// The value of `content=` on a cell of a person that has no text: all blocks of its message are in the cells below it.
pub(in crate::msgfile) const PARTS: &str = "parts";

/// The largest number behind each letter with which an id starts.
fn event_numbers(document: &Document) -> HashMap<char, u64> {
    let mut numbers: HashMap<char, u64> = HashMap::new();
    for id in document.cells().filter_map(|cell| cell.id()) {
        let mut rest = id.chars();
        let Some(letter) = rest.next() else { continue };
        if let Some(number) = leading_number(rest.as_str()) {
            let largest = numbers.entry(letter).or_default();
            *largest = number.max(*largest);
        }
    }
    numbers
}

/// Adds the author of a message, unless the type word says it.
fn with_author(cell: NewCell, author: Option<&str>) -> NewCell {
    let is_in_type_word = cell.kind == CellKind::Output && names_author(&cell.type_word);
    let implied = is_in_type_word.then_some(cell.type_word.as_str());
    if author == implied {
        cell
    } else {
        cell.with("author", author.unwrap_or_default())
    }
}

/// Whether an agent's name can be the type word of its replies.
fn is_type_word(name: &str) -> bool {
    !is_fixed_word(name) && type_word(name) == name && name.trim() == name
}

/// The value of `content=`, where reading the cells would otherwise give content of another shape.
fn shape_attribute(content: &Content, side: Side<'_>) -> Option<&'static str> {
    match content {
        Content::Empty => Some("empty"),
        Content::Text(text) => {
            // A text with pictures in it would be read as text and pictures.
            let has_pictures = text.as_str().contains("![");
            let is_usual = side == Side::User && !text.is_empty() && !has_pictures;
            (!is_usual).then_some("text")
        }
        Content::Blocks(blocks) => shape_of_blocks(blocks, side == Side::User),
    }
}

fn shape_of_blocks(blocks: &[Block], is_user: bool) -> Option<&'static str> {
    if is_user && blocks.is_empty() {
        return Some("none");
    }
    let is_text = |block: &&Block| matches!(block, Block::Text(_));
    let first_text = blocks.iter().find(is_text);
    let head = if is_user {
        blocks.first()
    } else {
        first_text.or(blocks.first())
    };
    let head_is_silent = matches!(head, Some(Block::Text(block)) if block.text.is_empty());
    let is_one_text = matches!(blocks, [Block::Text(_)]);
    let reads_otherwise = head_is_silent || (is_user && (is_one_text || has_pictures(blocks)));
    reads_otherwise.then_some("blocks")
}

/// Whether the text of the first block would be read as text and pictures.
fn has_pictures(blocks: &[Block]) -> bool {
    let text = blocks.first().and_then(Block::text);
    text.is_some_and(|text| text.contains("!["))
}

/// Says where a person's message came from.
fn set_source(cell: &mut NewCell, source: &UserSource) {
    let source = source.as_str();
    if source == "code" && cell.type_word == "markdown" {
        cell.type_word = "code".to_string();
    } else {
        let attribute = ("source".to_string(), source.to_string());
        cell.attributes.push(attribute);
    }
}
