//! One message, its cells: what they are called, and what they say.

use std::collections::HashMap;

use analects_core::{
    Block, Body, CompactTrigger, Content, Ids, Json, Message, Notification, Raw, RawMap, Said,
    Text, UserSource,
};

use super::blocks::{self, CallCells, Side, fence_json};
use super::describe::{HeadAttributes, Style};
use crate::msgfile::encode::type_word;
use crate::msgfile::ids::leading_number;
use crate::msgfile::owners::PartNames;
use crate::msgfile::role::{is_fixed_word, names_author};
use crate::msgfile::{CellKind, Document, NewCell};

/// Makes the cells of messages, and gives them their names.
pub(super) struct CellWriter<'a> {
    ids: Box<dyn Ids + 'a>,
    pub(super) style: Style,
    /// The last number of a question or an answer.
    pub(super) number: u64,
    /// The last number of each kind of event.
    events: HashMap<char, u64>,
    written: CallCells,
    /// The model that each agent of the file asks first.
    usual_models: HashMap<String, String>,
}

/// Where a writer stands.
pub(super) struct WriterState {
    number: u64,
    event: Option<(char, u64)>,
}

/// The cells of a message.
pub(super) struct MessageCells {
    pub(super) cells: Vec<NewCell>,
    /// The place of the cell that says what is known of the message, and by which others name it.
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

    pub(super) fn change_head(&mut self, change: impl FnOnce(NewCell) -> NewCell) {
        let head = &mut self.cells[self.head];
        *head = change(std::mem::replace(head, NewCell::message("", "")));
    }

    pub(super) fn is_json(&self) -> bool {
        self.cells[self.head]
            .attributes
            .iter()
            .any(|(key, _)| key == "json")
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
            written: CallCells::default(),
            usual_models: HashMap::new(),
        }
    }

    /// A writer for cells that are added to a file, whose calls stand in these cells.
    pub(super) fn after(
        document: &Document,
        ids: &'a mut dyn Ids,
        style: Style,
        calls: HashMap<String, (String, usize)>,
    ) -> CellWriter<'a> {
        let mut writer = CellWriter::new(ids, style);
        writer.number = leading_number(&document.next_id()).unwrap_or(1) - 1;
        for id in document.cells().filter_map(|cell| cell.id()) {
            let (letter, number) = id.split_at(id.chars().next().map_or(0, char::len_utf8));
            if let (Some(letter), Some(number)) = (letter.chars().next(), leading_number(number)) {
                let last = writer.events.entry(letter).or_default();
                *last = number.max(*last);
            }
        }
        writer.written = CallCells::of(calls);
        writer.usual_models = document.usual_models();
        writer
    }

    /// Where the writer stands before a message is written.
    pub(super) fn mark(&mut self, message: &Message) -> WriterState {
        self.written.begin();
        let letter = event_letter(&message.body);
        let event = letter.map(|letter| (letter, self.events.get(&letter).copied().unwrap_or(0)));
        WriterState {
            number: self.number,
            event,
        }
    }

    /// Takes the last message back.
    pub(super) fn go_back(&mut self, mark: WriterState) {
        self.written.go_back();
        self.number = mark.number;
        self.events.extend(mark.event);
    }

    /// The cells of the calls whose results a message brings, and their ids.
    pub(super) fn called(&self, message: &Message) -> Vec<(String, String)> {
        let results = Said::of(message).results.into_iter();
        results
            .filter_map(|call| Some((self.written.cell_of(&call)?.to_string(), call)))
            .collect()
    }

    /// The cells of a message, or one that holds it as JSON.
    pub(super) fn cells(&mut self, message: &Message) -> MessageCells {
        let Some(mut cells) = self.bare_cells(message) else {
            return self.json_cell(message);
        };
        let usual_model = message
            .author
            .as_ref()
            .and_then(|author| self.usual_models.get(author));
        let description = HeadAttributes::of(message, self.style, usual_model.map(String::as_str));
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

    /// The cells of a message, with its words and nothing else; `None` for one that has no form but JSON.
    pub(super) fn bare_cells(&mut self, message: &Message) -> Option<MessageCells> {
        match &message.body {
            Body::User(body) => {
                let mut cells = self.speech(&body.content, Side::User);
                set_source(
                    &mut cells.cells[0],
                    body.source.as_ref().map(UserSource::as_str),
                );
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

    /// The cells of what somebody says, block by block.
    fn speech(&mut self, content: &Content, side: Side<'_>) -> MessageCells {
        let number = self.next_number();
        let (mut blocks, shape) = shape(content, side);
        if self.style != Style::Exact && side != Side::User {
            blocks.retain(|block| !blocks::is_opaque(block));
        }
        let mut names = PartNames::new(&number, side == Side::User);
        let mut cells: Vec<NewCell> = Vec::new();
        for block in &blocks {
            let nonce = self.ids.nonce();
            let cell = blocks::write(block, side, &mut names, nonce, &mut self.written);
            let is_implied = cells.is_empty() || side != Side::User;
            let first = cells
                .first()
                .map(|first| first.id.clone())
                .unwrap_or_default();
            cells.push(if is_implied {
                cell
            } else {
                cell.with("part", first)
            });
        }
        if cells.is_empty() {
            cells.push(match side {
                Side::User => NewCell::message(&number, ""),
                Side::Agent(agent) => NewCell::reply(&number, agent, ""),
            });
        }
        // Results have names of their own.
        if cells
            .iter()
            .all(|cell| leading_number(&cell.id) != Some(self.number))
        {
            self.number -= 1;
        }
        let is_whole = |cell: &NewCell| side != Side::User && cell.id == number;
        let head = cells.iter().position(is_whole).unwrap_or(0);
        if let Some(shape) = shape {
            cells[head]
                .attributes
                .push(("content".to_string(), shape.to_string()));
        }
        MessageCells { cells, head }
    }
}

/// Notes who wrote a message, where its type word does not say it.
fn with_author(cell: NewCell, author: Option<&str>) -> NewCell {
    let said = cell.kind == CellKind::Output && names_author(&cell.type_word);
    let implied = said.then_some(cell.type_word.as_str());
    if author == implied {
        cell
    } else {
        cell.with("author", author.unwrap_or_default())
    }
}

/// Whether a name can be a reply's type word.
fn is_type_word(name: &str) -> bool {
    !is_fixed_word(name) && type_word(name) == name && name.trim() == name
}

/// The blocks of a content, and what its head must say about its shape.
fn shape(content: &Content, side: Side<'_>) -> (Vec<Block>, Option<&'static str>) {
    let is_user = side == Side::User;
    match content {
        Content::Empty => (Vec::new(), Some("empty")),
        Content::Text(text) => {
            // A text with pictures in it would be read as text and pictures.
            let pictures = text.as_str().contains("![");
            let usual = is_user && !text.is_empty() && !pictures;
            (
                vec![Block::from_text(text.clone())],
                (!usual).then_some("text"),
            )
        }
        Content::Blocks(blocks) => {
            let mut texts = blocks
                .iter()
                .filter(|block| matches!(block, Block::Text(_)));
            let head = if is_user {
                blocks.first()
            } else {
                texts.next().or(blocks.first())
            };
            let head_is_silent = matches!(head, Some(Block::Text(b)) if b.text.is_empty());
            let one_text = matches!(blocks.as_slice(), [Block::Text(_)]);
            let shape = if is_user && blocks.is_empty() {
                Some("none")
            } else if head_is_silent || (is_user && (one_text || has_pictures(blocks))) {
                Some("blocks")
            } else {
                None
            };
            (blocks.clone(), shape)
        }
    }
}

/// Whether the text of the first block would be read as text and pictures.
fn has_pictures(blocks: &[Block]) -> bool {
    blocks
        .first()
        .and_then(Block::text)
        .is_some_and(|text| text.contains("!["))
}

fn set_source(cell: &mut NewCell, source: Option<&str>) {
    match source {
        Some("code") if cell.type_word == "markdown" => cell.type_word = "code".to_string(),
        Some(source) => cell
            .attributes
            .push(("source".to_string(), source.to_string())),
        None => {}
    }
}

/// The letter that the ids of a kind of event start with; questions and answers are numbers.
fn event_letter(body: &Body) -> Option<char> {
    match body {
        Body::User(_) | Body::Assistant(_) | Body::ToolUse(_) | Body::ToolResult(_) => None,
        Body::Attachment(_) => Some('a'),
        Body::CompactBoundary(_) => Some('b'),
        Body::Notification(_) => Some('n'),
        Body::Progress(_) => Some('p'),
        Body::Summary(_) => Some('s'),
        Body::Tombstone(_) => Some('t'),
        Body::System(_) => Some('y'),
        Body::Revision(_) | Body::State(_) | Body::Other(_) => Some('x'),
    }
}

/// The cell of a message that nobody said, without its id.
fn event_cell(body: &Body, style: Style) -> Option<NewCell> {
    let output = |word: &str, text: &str| NewCell::new(CellKind::Output, "", word, text);
    match body {
        Body::System(body) => with_text(output("system", ""), &body.content),
        Body::Attachment(body) => {
            let cell = output("attachment", "").with("kind", body.kind.as_str());
            let path = path_of(body.data.as_ref(), style);
            let cell = with_known(cell, [("path", path.as_deref())]);
            with_text(cell, &body.content)
        }
        Body::Notification(Notification { kind, content, .. }) => with_text(
            output("notification", "").with("kind", kind.as_str()),
            content,
        ),
        Body::Summary(body) => {
            let Text::Plain(text) = &body.text else {
                return None;
            };
            let count = body.count.map(|count| count.to_string());
            let cell = output("summary", text);
            if style != Style::Exact {
                return Some(with_known(cell, [("through", body.to.as_deref())]));
            }
            Some(with_known(
                cell,
                [
                    ("from", body.from.as_deref()),
                    ("to", body.to.as_deref()),
                    ("count", count.as_deref()),
                ],
            ))
        }
        Body::CompactBoundary(body) => {
            let before = body.tokens_before.map(|count| count.to_string());
            let after = body.tokens_after.map(|count| count.to_string());
            Some(with_known(
                output("compact_boundary", ""),
                [
                    ("trigger", body.trigger.as_ref().map(CompactTrigger::as_str)),
                    ("tokens_before", before.as_deref()),
                    ("tokens_after", after.as_deref()),
                    ("summary_id", body.summary_id.as_deref()),
                    ("kept_from", body.kept_from.as_deref()),
                ],
            ))
        }
        Body::Tombstone(body) => Some(with_known(
            output("tombstone", ""),
            [
                ("target", Some(&*body.target)),
                ("target_parent", body.target_parent.as_deref()),
            ],
        )),
        Body::User(_)
        | Body::Assistant(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Progress(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => None,
    }
}

/// The path of an attachment that shows a file.
fn path_of(data: Option<&Raw>, style: Style) -> Option<String> {
    let data = data?;
    let path = data.as_object()?.get("path").and_then(Raw::as_string)?;
    // What must be exact is said by one of them alone.
    (style != Style::Exact || path_data(&path) == *data).then_some(path)
}

/// The data of an attachment of which only the path is known.
pub(super) fn path_data(path: &str) -> Raw {
    let mut data = RawMap::new();
    data.push("path", Raw::string(path));
    data.to_raw()
}

fn with_known<const N: usize>(cell: NewCell, known: [(&str, Option<&str>); N]) -> NewCell {
    let known = known
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    known.fold(cell, |cell, (key, value)| cell.with(key, value))
}

/// The content of an event, if it is plain text.
fn with_text(mut cell: NewCell, content: &Content) -> Option<NewCell> {
    match content {
        Content::Empty => Some(cell.with("content", "empty")),
        Content::Text(Text::Plain(text)) => {
            cell.content.clone_from(text);
            Some(if text.is_empty() {
                cell.with("content", "text")
            } else {
                cell
            })
        }
        _ => None,
    }
}
