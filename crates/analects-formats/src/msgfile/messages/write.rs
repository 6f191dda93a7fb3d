//! A conversation in, a message file out. Every conversation can be written: what cells and residue
//! cannot say exactly, a cell says as JSON.

use std::collections::HashMap;

use analects_core::{
    Attachment, Block, Body, CompactTrigger, Content, History, Ids, Json, Message, MessageId,
    Notification, Raw, RawMap, SessionId, StopReason, Text, UserSource,
};

use super::answers::AnswerDetail;
use super::blocks::{self, Side, Written, fence_json, fenced_json};
use super::derived_id;
use super::read::messages;
use super::residue::{difference, is_residue, line};
use crate::msgfile::agents::{is_fixed_word, names_author};
use crate::msgfile::encode::type_word;
use crate::msgfile::{
    Cell, CellKind, Document, NewCell, Splice, append, append_all, decode, frontmatter, replace,
};

/// How often the file is read back before all that still differs is written as JSON.
const ROUNDS: usize = 3;

/// Writes a conversation as a message file. Reading it gives back exactly these messages; that is
/// checked here, and a message of which cells would lose something gets residue, or is JSON.
pub fn encode(conversation: &[Message], ids: &mut dyn Ids) -> Vec<u8> {
    let session = conversation.first().map(|first| first.session_id.clone()).unwrap_or_default();
    let mut forms = vec![Form::Cells; conversation.len()];
    for round in 0..ROUNDS {
        let file = File::write(conversation, &session, &forms, ids);
        let read = messages(&decode(file.text.as_bytes()), &SessionId::default()).messages;
        if read == conversation {
            return file.text.into_bytes();
        }
        if read.len() != conversation.len() || round + 1 == ROUNDS {
            break;
        }
        for (at, (wanted, read)) in conversation.iter().zip(&read).enumerate() {
            if wanted != read {
                forms[at] = forms[at].next(difference(wanted, read));
            }
        }
    }
    forms.fill(Form::Json);
    File::write(conversation, &session, &forms, ids).text.into_bytes()
}

/// How a message is written.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    Cells,
    /// Cells, and a line of residue.
    WithResidue(RawMap),
    /// One cell that holds its JSON.
    Json,
}

impl Form {
    fn next(&self, residue: Option<RawMap>) -> Form {
        match (self, residue) {
            (Form::Cells, Some(difference)) => Form::WithResidue(difference),
            _ => Form::Json,
        }
    }
}

/// A file in the making.
pub(super) struct File<'a> {
    ids: &'a mut dyn Ids,
    text: String,
    /// The name of each message's first cell.
    names: Vec<String>,
    pub(super) cells: usize,
    session: SessionId,
    pub(super) written: Written,
    last: HashMap<Option<String>, MessageId>,
    first_cell: HashMap<MessageId, String>,
}

impl<'a> File<'a> {
    pub(super) fn new(ids: &'a mut dyn Ids, session: &SessionId) -> File<'a> {
        File {
            ids,
            text: String::new(),
            names: Vec::new(),
            cells: 0,
            session: session.clone(),
            written: Written::default(),
            last: HashMap::new(),
            first_cell: HashMap::new(),
        }
    }

    fn write(
        conversation: &[Message],
        session: &SessionId,
        forms: &[Form],
        ids: &'a mut dyn Ids,
    ) -> File<'a> {
        let mut file = File::new(ids, session);
        file.frontmatter();
        let mut residue = String::new();
        for (message, form) in conversation.iter().zip(forms) {
            file.message(message, form);
            if let (Form::WithResidue(difference), Some(name)) = (form, file.names.last()) {
                residue.push_str(&line(name, difference));
                residue.push('\n');
            }
        }
        if !residue.is_empty() {
            let id = file.next_id();
            let content = fence_json(residue.trim_end());
            let cell = NewCell::new(CellKind::Output, id, "residue", content);
            file.cell(&cell.with("history", "none"));
        }
        file
    }

    fn frontmatter(&mut self) {
        if self.session.is_empty() {
            return;
        }
        if let Ok(splice) = frontmatter::set_string(b"", None, "id", &self.session) {
            self.text = String::from_utf8_lossy(&splice.apply(b"")).into_owned();
        }
    }

    pub(super) fn next_id(&mut self) -> String {
        self.cells += 1;
        self.cells.to_string()
    }

    fn cell(&mut self, cell: &NewCell) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        self.text.push_str(&cell.to_text(1, "\n"));
    }

    fn message(&mut self, message: &Message, form: &Form) {
        let id = self.next_id();
        let cells = match form {
            Form::Json => None,
            _ => self.nice_cells(message, &id),
        };
        let cells = cells.unwrap_or_else(|| vec![json_cell(message, &id)]);
        let name = cells[0].id.clone();
        for cell in &cells {
            self.cell(cell);
        }
        if !matches!(message.body, Body::Progress(_)) {
            self.last.insert(message.agent_id.clone(), message.id.clone());
        }
        self.first_cell.entry(message.id.clone()).or_insert_with(|| name.clone());
        self.names.push(name);
    }

    /// The cells of a message, the first with all that is known about it; `None` for a message that
    /// has no form but JSON.
    fn nice_cells(&mut self, message: &Message, id: &str) -> Option<Vec<NewCell>> {
        let mut cells = self.bare_cells(message, id)?;
        let name = cells[0].id.clone();
        let first = std::mem::replace(&mut cells[0], NewCell::message("", ""));
        cells[0] = self.with_names(first, message, &name).describe(message);
        Some(cells)
    }

    /// The cells of a message, with its words and nothing else.
    pub(super) fn bare_cells(&mut self, message: &Message, id: &str) -> Option<Vec<NewCell>> {
        Some(match &message.body {
            Body::User(body) => {
                let mut cells = self.speech(&body.content, Side::User, id);
                let source = body.source.as_ref().map(UserSource::as_str);
                set_source(&mut cells[0], source);
                cells
            }
            Body::Assistant(body) => {
                let author = message.author.as_deref().filter(|name| is_type_word(name));
                self.speech(&body.content, Side::Agent(author.unwrap_or("assistant")), id)
            }
            body => vec![event_cell(body, id)?],
        })
    }

    /// The cells of what somebody says, block by block.
    fn speech(&mut self, content: &Content, side: Side<'_>, id: &str) -> Vec<NewCell> {
        let (blocks, shape) = shape(content, side);
        let mut cells: Vec<NewCell> = Vec::new();
        for block in &blocks {
            let first = cells.first().map_or(id.to_string(), |first| first.id.clone());
            let own = if cells.is_empty() { id.to_string() } else { self.next_id() };
            let nonce = self.ids.nonce();
            let cell = blocks::write(block, side, &first, &own, nonce, &mut self.written);
            let implied = cells.is_empty() || cell.id.starts_with(&format!("{first}."));
            cells.push(if implied { cell } else { cell.with("part", first) });
        }
        if cells.is_empty() {
            cells.push(match side {
                Side::User => NewCell::message(id, ""),
                Side::Agent(agent) => NewCell::reply(id, agent, ""),
            });
        }
        if let Some(shape) = shape {
            cells[0].attributes.push(("content".to_string(), shape.to_string()));
        }
        cells
    }

    /// Notes on a message's first cell who it is and where it belongs.
    fn with_names(&self, mut cell: NewCell, message: &Message, name: &str) -> NewCell {
        if *message.id != *derived_id(&self.session, name) {
            cell = cell.with("uuid", &*message.id);
        }
        if message.parent_id.as_ref() != self.last.get(&message.agent_id) {
            let parent = message.parent_id.as_ref();
            let known = parent.and_then(|parent| self.first_cell.get(parent)).cloned();
            cell =
                cell.with("parent", known.or(parent.map(|id| id.to_string())).unwrap_or_default());
        }
        if message.session_id != self.session {
            cell = cell.with("session_id", &*message.session_id);
        }
        if let Some(agent) = &message.agent_id {
            cell = cell.with("agent_id", agent.as_str());
        }
        with_author(cell, message.author.as_deref())
    }
}

/// Notes who wrote a message, where its type word does not say it.
pub(super) fn with_author(cell: NewCell, author: Option<&str>) -> NewCell {
    let said = cell.kind == CellKind::Output && names_author(&cell.type_word);
    let implied = said.then_some(cell.type_word.as_str());
    if author == implied { cell } else { cell.with("author", author.unwrap_or_default()) }
}

/// The cells of an answer that is added to a file: the first is named `id`.
pub(super) fn answer_cells(
    document: &Document,
    id: &str,
    message: &Message,
    detail: AnswerDetail,
    ids: &mut dyn Ids,
) -> Vec<NewCell> {
    let mut file = File::new(ids, &SessionId::default());
    let number = |id: &str| id.parse::<usize>().unwrap_or(0);
    file.cells = number(id).max(number(&document.next_id()).saturating_sub(1));
    let Some(mut cells) = file.bare_cells(message, id) else { return vec![json_cell(message, id)] };
    let first = std::mem::replace(&mut cells[0], NewCell::message("", ""));
    let mut first = with_author(first, message.author.as_deref()).describe(message);
    if detail == AnswerDetail::Usual {
        first.attributes.retain(|(key, _)| !DETAILS.contains(&key.as_str()));
    }
    cells[0] = first;
    cells
}

/// The attributes of an answer that few people read.
const DETAILS: [&str; 5] =
    ["cache_read_tokens", "cache_creation_tokens", "reasoning_tokens", "duration", "response_id"];

/// The cells of an answer that is added to a file: the first is named `id`. What they cannot say is
/// a line of residue, for [`add_residue`].
pub fn answer(
    document: &Document,
    id: &str,
    message: &Message,
    ids: &mut dyn Ids,
) -> (Vec<NewCell>, Option<String>) {
    if !matches!(message.body, Body::Assistant(_)) {
        return (vec![json_cell(message, id)], None);
    }
    let cells = answer_cells(document, id, message, AnswerDetail::All, ids);
    let text = append_all(&decode(""), &cells).bytes;
    let read = messages(&decode(text), &SessionId::default()).messages.into_iter().next();
    let residue = read.and_then(|mut read| {
        read.id = message.id.clone();
        read.parent_id = message.parent_id.clone();
        read.session_id = message.session_id.clone();
        let difference = difference(message, &read).unwrap_or_else(|| whole(message));
        (read != *message).then(|| line(&cells[0].id, &difference))
    });
    (cells, residue)
}

/// What cannot be said as a difference is kept whole; readers take no notice of it.
pub(super) fn whole(message: &Message) -> RawMap {
    let mut kept = RawMap::new();
    if let Ok(json) = Raw::parse(&message.to_json()) {
        kept.push("message", json);
    }
    kept
}

/// The file with one more line of residue. It stands at the end of the file, unless somebody has typed a
/// cell below it; where somebody has changed it, another one is begun.
pub fn add_residue(document: &Document, line: &str) -> Vec<u8> {
    let cell = |id: String, lines: &str| {
        let cell = NewCell::new(CellKind::Output, id, "residue", fence_json(lines));
        cell.with("history", "none")
    };
    // Residue that somebody has edited stays as it is.
    let old = document.cells().rfind(is_residue).filter(|old| {
        let content = old.content();
        fenced_json(&content).is_some_and(|lines| fence_json(&lines) == content)
    });
    let Some(old) = old else {
        return append(document, &cell(document.next_id(), line)).apply(document.source());
    };
    let lines = format!("{}\n{line}", fenced_json(&old.content()).unwrap_or_default());
    let below = document.cells().skip(old.ordinal());
    let below: Vec<Cell<'_>> = below.filter(|cell| !cell.is_ready()).collect();
    // It belongs at the end; but a cell without id that stands below is named by its place.
    if below.is_empty() || below.iter().any(|cell| !cell.is_sealed()) {
        let new = cell(old.name().into_owned(), &lines);
        return replace(document, old, &new).apply(document.source());
    }
    let rest = Splice { at: old.span(), bytes: Vec::new() }.apply(document.source());
    let rest = document.with_source(rest);
    append(&rest, &cell(document.next_id(), &lines)).apply(rest.source())
}

/// Whether a name can be a reply's type word.
fn is_type_word(name: &str) -> bool {
    !is_fixed_word(name) && type_word(name) == name && name.trim() == name
}

/// A cell that holds a message as JSON.
pub(super) fn json_cell(message: &Message, id: &str) -> NewCell {
    let word = if matches!(message.body, Body::Progress(_)) { "progress" } else { "block" };
    let cell = NewCell::new(CellKind::Output, id, word, fence_json(&message.to_json()));
    cell.with("json", "message")
}

/// The blocks of a content, and what its first cell must say about its shape.
fn shape(content: &Content, side: Side<'_>) -> (Vec<Block>, Option<&'static str>) {
    let is_user = side == Side::User;
    match content {
        Content::Empty => (Vec::new(), Some("empty")),
        Content::Text(text) => {
            // A text with pictures in it would be read as text and pictures.
            let pictures = text.as_str().contains("![");
            let usual = is_user && !text.is_empty() && !pictures;
            (vec![Block::from_text(text.clone())], (!usual).then_some("text"))
        }
        Content::Blocks(blocks) => {
            let first_is_silent =
                matches!(blocks.first(), Some(Block::Text(b)) if b.text.is_empty());
            let one_text = matches!(blocks.as_slice(), [Block::Text(_)]);
            let shape = match is_user {
                true if blocks.is_empty() => Some("none"),
                _ if first_is_silent || (is_user && (one_text || has_pictures(blocks))) => {
                    Some("blocks")
                }
                _ => None,
            };
            (blocks.clone(), shape)
        }
    }
}

/// Whether the text of the first block would be read as text and pictures.
fn has_pictures(blocks: &[Block]) -> bool {
    blocks.first().and_then(Block::text).is_some_and(|text| text.contains("!["))
}

fn set_source(cell: &mut NewCell, source: Option<&str>) {
    match source {
        Some("code") if cell.type_word == "markdown" => cell.type_word = "code".to_string(),
        Some(source) => cell.attributes.push(("source".to_string(), source.to_string())),
        None => {}
    }
}

/// The cell of a message that nobody said.
fn event_cell(body: &Body, id: &str) -> Option<NewCell> {
    let output = |word: &str, text: &str| NewCell::new(CellKind::Output, id, word, text);
    match body {
        Body::System(body) => with_text(output("system", ""), &body.content),
        Body::Attachment(Attachment { kind, content, .. }) => {
            with_text(output("attachment", "").with("kind", kind.as_str()), content)
        }
        Body::Notification(Notification { kind, content, .. }) => {
            with_text(output("notification", "").with("kind", kind.as_str()), content)
        }
        Body::Summary(body) => {
            let Text::Plain(text) = &body.text else { return None };
            let count = body.count.map(|count| count.to_string());
            let cell = output("summary", text);
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
            let number = |count: Option<u64>| count.map(|count| count.to_string());
            let (before, after) = (number(body.tokens_before), number(body.tokens_after));
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
            [("target", Some(&*body.target)), ("target_parent", body.target_parent.as_deref())],
        )),
        _ => None,
    }
}

fn with_known<const N: usize>(cell: NewCell, known: [(&str, Option<&str>); N]) -> NewCell {
    let known = known.into_iter().filter_map(|(key, value)| Some((key, value?)));
    known.fold(cell, |cell, (key, value)| cell.with(key, value))
}

/// The content of an event, if it is plain text.
fn with_text(mut cell: NewCell, content: &Content) -> Option<NewCell> {
    match content {
        Content::Empty => Some(cell.with("content", "empty")),
        Content::Text(Text::Plain(text)) => {
            cell.content.clone_from(text);
            Some(if text.is_empty() { cell.with("content", "text") } else { cell })
        }
        _ => None,
    }
}

impl NewCell {
    /// Notes on a message's first cell what is known about it: its time, model, tokens, how it ended.
    pub fn describe(mut self, message: &Message) -> NewCell {
        let usage = message.usage.clone().unwrap_or_default();
        let count = |count: Option<u64>| count.map(|count| count.to_string());
        let history = Some(message.history).filter(|history| *history != History::Include);
        let known = [
            ("history", history.map(|history| history.as_str().to_string())),
            ("time", message.created_at.map(|time| time.to_string())),
            ("model", message.model.clone()),
            ("input_tokens", count(usage.input_tokens)),
            ("output_tokens", count(usage.output_tokens)),
            ("cache_read_tokens", count(usage.cache_read_input_tokens)),
            ("cache_creation_tokens", count(usage.cache_creation_input_tokens)),
            ("reasoning_tokens", count(usage.reasoning_tokens)),
            ("cost_usd", message.cost_usd.map(|cost| cost.to_string())),
            ("duration", message.duration_ms.map(|ms| format!("{}s", ms as f64 / 1000.0))),
            ("response_id", message.response_id.clone()),
            ("stop_reason", unusual_stop(message)),
            ("error", message.is_api_error_message.then(|| "1".to_string())),
        ];
        for (key, value) in known {
            self.attributes.extend(value.map(|value| (key.to_string(), value)));
        }
        self
    }
}

/// How an answer ended, if a reader would not guess it: `end_turn`, or `tool_use` after calls.
fn unusual_stop(message: &Message) -> Option<String> {
    let Body::Assistant(body) = &message.body else { return None };
    let calls = matches!(&body.content, Content::Blocks(blocks)
        if blocks.iter().any(|block| matches!(block, Block::ToolUse(_))));
    let usual = match message.is_api_error_message {
        true => None,
        false => Some(if calls { StopReason::ToolUse } else { StopReason::EndTurn }),
    };
    let stop = body.stop_reason.clone();
    (stop != usual).then(|| stop.map(String::from).unwrap_or_default())
}
