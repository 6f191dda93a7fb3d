//! A conversation in, a message file out, and nothing is lost: what cells cannot say is in their details, and
//! what these cannot say exactly, a cell says as JSON.

use std::collections::HashMap;

use analects_core::{Body, Ids, Message, MessageId, RawMap, SessionId};

use super::cells::CellWriter;
use super::derived_id;
use super::describe::{Description, Style};
use super::details::{details_cell, difference, line};
use super::read::messages;
use crate::msgfile::{NewCell, decode, frontmatter};

/// How often the file is read back before all that still differs is written as JSON.
const ROUNDS: usize = 3;

/// Writes a conversation as a message file. Reading it gives back exactly these messages; that is
/// checked here, and a message of which cells would lose something gets details, or is JSON.
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
    /// Cells, and a line of details.
    WithDetails(RawMap),
    /// One cell that holds its JSON.
    Json,
}

impl Form {
    fn next(&self, details: Option<RawMap>) -> Form {
        match (self, details) {
            (Form::Cells, Some(difference)) => Form::WithDetails(difference),
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
        let mut details = String::new();
        for (message, form) in conversation.iter().zip(forms) {
            file.message(message, form);
            if let (Form::WithDetails(difference), Some(name)) = (form, file.names.last()) {
                details.push_str(&line(name, difference));
                details.push('\n');
            }
        }
        if !details.is_empty() {
            push_cell(&mut file.text, &details_cell(details.trim_end()));
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

impl NewCell {
    /// Notes on a message's head what is known about it: its time, model, tokens, how it ended.
    pub fn describe(self, message: &Message) -> NewCell {
        Description::of(message, Style::Exact, None).on(self)
    }
}
