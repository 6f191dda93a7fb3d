//! A conversation in, a message file out. Every conversation can be written: what cells and residue
//! cannot say exactly, a cell says as JSON.

use std::collections::HashMap;

use analects_core::{Body, Ids, Json, Message, MessageId, Raw, RawMap, SessionId};

use super::blocks::{fence_json, fenced_json};
use super::cells::CellWriter;
use super::derived_id;
use super::describe::{Description, Style};
use super::read::messages;
use super::residue::{difference, is_residue, line};
use crate::msgfile::edit::leading_number;
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
struct File<'a> {
    writer: CellWriter<'a>,
    text: String,
    /// The name of each message's head.
    names: Vec<String>,
    session: SessionId,
    last: HashMap<Option<String>, MessageId>,
    heads: HashMap<MessageId, String>,
}

impl<'a> File<'a> {
    fn new(session: &SessionId, ids: &'a mut dyn Ids) -> File<'a> {
        File {
            writer: CellWriter::new(ids, Style::Exact),
            text: String::new(),
            names: Vec::new(),
            session: session.clone(),
            last: HashMap::new(),
            heads: HashMap::new(),
        }
    }

    fn write(
        conversation: &[Message],
        session: &SessionId,
        forms: &[Form],
        ids: &'a mut dyn Ids,
    ) -> File<'a> {
        let mut file = File::new(session, ids);
        file.text = opening(session);
        let mut residue = String::new();
        for (message, form) in conversation.iter().zip(forms) {
            file.message(message, form);
            if let (Form::WithResidue(difference), Some(name)) = (form, file.names.last()) {
                residue.push_str(&line(name, difference));
                residue.push('\n');
            }
        }
        if !residue.is_empty() {
            push_cell(&mut file.text, &residue_cell("residue", residue.trim_end()));
        }
        file
    }

    fn message(&mut self, message: &Message, form: &Form) {
        let mut cells = match form {
            Form::Json => self.writer.json_cell(message),
            _ => self.writer.cells(message),
        };
        let name = cells.name().to_string();
        if !cells.is_json() {
            cells.change_head(|head| self.with_names(head, message, &name));
        }
        for cell in &cells.cells {
            push_cell(&mut self.text, cell);
        }
        if !matches!(message.body, Body::Progress(_)) {
            self.last.insert(message.agent_id.clone(), message.id.clone());
        }
        self.heads.entry(message.id.clone()).or_insert_with(|| name.clone());
        self.names.push(name);
    }

    /// Notes on a message's head who it is and where it belongs.
    fn with_names(&self, mut cell: NewCell, message: &Message, name: &str) -> NewCell {
        if *message.id != *derived_id(&self.session, name) {
            cell = cell.with("uuid", &*message.id);
        }
        if message.parent_id.as_ref() != self.last.get(&message.agent_id) {
            let parent = message.parent_id.as_ref();
            let known = parent.and_then(|parent| self.heads.get(parent)).cloned();
            cell =
                cell.with("parent", known.or(parent.map(|id| id.to_string())).unwrap_or_default());
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

/// The frontmatter of a conversation.
pub(super) fn opening(session: &SessionId) -> String {
    if session.is_empty() {
        return String::new();
    }
    let splice = frontmatter::set_string(b"", None, "id", session);
    splice.map_or(String::new(), |splice| String::from_utf8_lossy(&splice.bytes).into_owned())
}

/// Adds a cell to a file in the making.
pub(super) fn push_cell(text: &mut String, cell: &NewCell) {
    if !text.is_empty() && !text.ends_with("\n\n") {
        text.push('\n');
    }
    text.push_str(&cell.to_text(1, "\n"));
}

fn residue_cell(id: &str, lines: &str) -> NewCell {
    let cell = NewCell::new(CellKind::Output, id, "residue", fence_json(lines));
    cell.with("history", "none")
}

/// The cells of an answer that is added to a file: its head is named `id`. What they cannot say is
/// a line of residue, for [`add_residue`].
pub fn answer(
    document: &Document,
    id: &str,
    message: &Message,
    ids: &mut dyn Ids,
) -> (Vec<NewCell>, Option<String>) {
    let mut writer = CellWriter::behind(document, ids, Style::Exact, HashMap::new());
    let number = leading_number(id).unwrap_or(1);
    writer.number = number - 1;
    let cells = writer.cells(message);
    let text = append_all(&decode(""), &cells.cells).bytes;
    let read = messages(&decode(text), &SessionId::default()).messages.into_iter().next();
    let residue = read.and_then(|mut read| {
        read.id = message.id.clone();
        read.parent_id = message.parent_id.clone();
        read.session_id = message.session_id.clone();
        let difference = difference(message, &read).unwrap_or_else(|| whole(message));
        (read != *message).then(|| line(cells.name(), &difference))
    });
    (cells.cells, residue)
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
    // Residue that somebody has edited stays as it is.
    let old = document.cells().rfind(is_residue).filter(|old| {
        let content = old.content();
        fenced_json(&content).is_some_and(|lines| fence_json(&lines) == content)
    });
    let Some(old) = old else {
        return append(document, &residue_cell(&document.next_id(), line)).apply(document.source());
    };
    let lines = format!("{}\n{line}", fenced_json(&old.content()).unwrap_or_default());
    let below = document.cells().skip(old.ordinal());
    let below: Vec<Cell<'_>> = below.filter(|cell| !cell.is_ready()).collect();
    // It belongs at the end; but a cell without id that stands below is named by its place.
    if below.is_empty() || below.iter().any(|cell| !cell.is_sealed()) {
        let new = residue_cell(&old.name(), &lines);
        return replace(document, old, &new).apply(document.source());
    }
    let rest = Splice { at: old.span(), bytes: Vec::new() }.apply(document.source());
    let rest = document.with_source(rest);
    append(&rest, &residue_cell(&document.next_id(), &lines)).apply(rest.source())
}

impl NewCell {
    /// Notes on a message's head what is known about it: its time, model, tokens, how it ended.
    pub fn describe(self, message: &Message) -> NewCell {
        Description::of(message, Style::Exact, None).on(self)
    }
}
