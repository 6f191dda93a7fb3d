//! A conversation in a message file: the file is the record, and the journal holds how its answers travelled.

mod access;
mod pictures;

pub use pictures::{NamedPicture, named_pictures};
use pictures::{completed, file_messages};

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_context::{Calibration, FileFreshness};
use analects_core::verbs::{Change, Choice};
use analects_core::{Agent, Body, Content, History, Message, MessageId, SessionId, Text, User};
use analects_formats::DecodedFile;
use analects_formats::msgfile::item::ItemError;
use analects_formats::msgfile::{
    self, AnswerDetail, Cell, CellEdit, CellMessages, CellRole, Document, MetaKey, NewCell, Splice,
    frontmatter,
};
use analects_store::{
    AllowedPictures, AnswerDelta, AnswerDestination, AnswerEntry, Journal, OsIds, PictureConsent,
    QuestionCell, RecoveredAnswer, StoreError, StoreFolders,
};
use jiff::Timestamp;

use crate::agents::is_askable;
use crate::conversation::as_single_summary;
use crate::{ChosenMessages, Conversation, Notes, Question, ResolvedAgent, Responders, Snapshot};
use access::FileAccess;

/// How long a conversation waits for somebody else who writes to its file.
const PATIENCE: Duration = Duration::from_secs(2);

/// A conversation in a message file.
#[derive(Debug)]
pub struct FileConversation {
    /// The pictures that a person allowed.
    pictures: AllowedPictures,
    /// Who answers.
    author: String,
    file: FileAccess,
    /// The answer that is on its way.
    entry: Option<AnswerEntry>,
    /// Where the last answer went.
    place: Option<AnswerDestination>,
    /// How much the file says of an answer.
    detail: AnswerDetail,
    /// What was learnt about counting, for as long as this lives.
    calibration: Calibration,
}

impl FileConversation {
    /// Opens the file, or gets ready to make it. What came of an answer that broke off comes into it first. A question
    /// that somebody else is getting an answer to is refused: [`StoreError::AlreadyAnswering`].
    pub fn open(path: &Path, places: &StoreFolders) -> Result<FileConversation, StoreError> {
        let file = FileAccess::open(path, places, PATIENCE)?;
        if file
            .journal()
            .is_being_answered(file.document(), file.path())
        {
            return Err(StoreError::AlreadyAnswering {
                path: path.to_path_buf(),
            });
        }
        Ok(FileConversation::of(file, places))
    }

    /// Reads a file, or what would be a new one, to see what would be sent. It takes no lock, and changes are made in
    /// memory alone; no answer can be recorded.
    pub fn rehearse(path: &Path, places: &StoreFolders) -> Result<FileConversation, StoreError> {
        let document = match analects_store::read_message_file(path) {
            Err(error) if error.is_not_found() => {
                msgfile::decode_named(*b"", &path.to_string_lossy())
            }
            read => read?,
        };
        FileConversation::dry_run_document(path, document, places)
    }

    /// The same of a file that would hold this.
    pub fn dry_run_document(
        path: &Path,
        document: Document,
        places: &StoreFolders,
    ) -> Result<FileConversation, StoreError> {
        if document.kind() == msgfile::DocumentKind::Plain {
            return Err(StoreError::NotAMessageFile {
                path: path.to_path_buf(),
            });
        }
        Ok(FileConversation::of(
            FileAccess::in_memory(path, document, places),
            places,
        ))
    }

    fn of(file: FileAccess, places: &StoreFolders) -> FileConversation {
        FileConversation {
            pictures: PictureConsent::of(file.path(), places).allowed(),
            author: String::new(),
            file,
            entry: None,
            place: None,
            detail: AnswerDetail::Usual,
            calibration: Calibration::default(),
        }
    }

    /// Allows other pictures than those that a person has allowed for this file before.
    pub fn allow_pictures(&mut self, pictures: AllowedPictures) {
        self.pictures = pictures;
    }

    /// Chooses how much the file says of answers.
    pub fn set_detail(&mut self, detail: AnswerDetail) {
        self.detail = detail;
    }

    /// The path of the file, without symbolic links.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// What the file holds.
    pub fn document(&self) -> &Document {
        self.file.document()
    }

    /// What the file holds, for whoever needs it no longer open.
    pub fn into_document(self) -> Document {
        self.file.into_document()
    }

    /// The journal of its answers.
    pub fn journal(&self) -> &Journal {
        self.file.journal()
    }

    /// Other versions of the file that were found beside it: see [`LockedFile::kept`](analects_store::LockedFile::kept).
    pub fn kept(&self) -> &[PathBuf] {
        self.file.kept()
    }

    /// Answers that had broken off, and came into the file when it was opened.
    pub fn recovered(&self) -> &[RecoveredAnswer] {
        self.file.recovered()
    }

    /// Where the last answer went; `None` before there is one.
    pub fn answer_place(&self) -> Option<&AnswerDestination> {
        self.place.as_ref()
    }

    /// The messages of the cells in lists such as `1,3-5`, for one call.
    pub fn choose(
        &self,
        include: &[String],
        exclude: &[String],
    ) -> Result<ChosenMessages, ItemError> {
        if include.is_empty() && exclude.is_empty() {
            return Ok(ChosenMessages::default());
        }
        let session = self.session();
        let include = msgfile::chosen_cells(self.document(), &session, include)?;
        let exclude = msgfile::chosen_cells(self.document(), &session, exclude)?;
        let mut placed = Vec::new();
        if include
            .iter()
            .chain(&exclude)
            .any(|cell| cell.is_named_by_place)
        {
            let messages = self.read(self.document()).messages;
            for cell in include
                .iter()
                .chain(&exclude)
                .filter(|cell| cell.is_named_by_place)
            {
                let message = messages
                    .iter()
                    .find(|message| message.id == cell.target.message);
                placed.extend(message.map(|message| (message.id.clone(), message.body.clone())));
            }
        }
        let include = include.into_iter().map(|cell| cell.target).collect();
        let exclude = exclude.into_iter().map(|cell| cell.target).collect();
        Ok(ChosenMessages {
            choice: Choice { include, exclude },
            placed,
        })
    }

    /// The name of the first cell of a message.
    pub fn cell_of(&self, message: &MessageId) -> Option<String> {
        msgfile::cell_of(self.document(), &self.session(), message)
    }

    /// The names of the first cells of all messages.
    pub fn cell_names(&self) -> std::collections::HashMap<MessageId, String> {
        msgfile::cell_names(self.document(), &self.session())
    }

    /// The pictures that the file names, and which of them are sent.
    pub fn named_pictures(&self) -> Vec<NamedPicture> {
        named_pictures(self.document(), self.path(), &self.pictures)
    }

    /// Changes the file, as [`LockedFile::try_edit`](analects_store::LockedFile::try_edit) does.
    pub fn try_edit<E: From<StoreError>>(
        &mut self,
        change: impl FnMut(&Document) -> Result<Splice, E>,
    ) -> Result<(), E> {
        self.file.try_edit(change)
    }

    /// The cells that the next answer is for: those that are asked, or else the last one, such as the result of a
    /// call.
    fn asked_cells(&self, asked: &[Question]) -> Vec<QuestionCell> {
        let document = self.document();
        let places: HashSet<usize> = asked.iter().map(|question| question.place).collect();
        let mut cells: Vec<Cell<'_>> = Vec::with_capacity(asked.len());
        if !places.is_empty() {
            cells.extend(
                document
                    .cells()
                    .filter(|cell| places.contains(&(cell.ordinal() - 1))),
            );
        }
        if cells.is_empty() {
            cells.extend(document.cells().rfind(|cell| !cell.is_ready()));
        }
        QuestionCell::all(document, &cells)
    }

    /// What the file says, with what the journal knows of it.
    fn read(&self, document: &Document) -> DecodedFile {
        let session = self.session();
        file_messages(
            document,
            &session,
            self.file.path(),
            &self.pictures,
            self.file.known(),
        )
    }

    fn session(&self) -> SessionId {
        msgfile::session_of(&self.file.session_name().to_string_lossy())
    }

    /// Adds messages that a program makes. What their cells do not say is in the journal before they are in the file.
    fn add(&mut self, messages: &[Message], expected: &[Message]) -> Result<(), StoreError> {
        let session = self.session();
        let path = self.file.path().to_path_buf();
        let pictures = self.pictures.clone();
        self.file.try_edit_keeping(|document, known| {
            let mut made = messages.to_vec();
            if !expected.is_empty() {
                let decoded = file_messages(document, &session, &path, &pictures, known);
                let seen = analects_core::chain(&decoded.messages).messages;
                let is_same =
                    |(now, then): (&&Message, &Message)| now.id == then.id && now.body == then.body;
                if seen.len() < expected.len() || !seen.iter().zip(expected).all(is_same) {
                    let why = "the conversation was changed while its summary was being written";
                    return Err(refused(&path, why.to_string()));
                }
                keep_from(
                    &mut made,
                    seen.get(expected.len()).map(|message| &message.id),
                );
            }
            let added = msgfile::put_messages(document, &session, &made, &mut OsIds);
            added.map_err(|error| refused(&path, error.to_string()))
        })
    }

    /// Keeps the summary of a message of which nothing else may be sent, if it still says the same.
    fn summarise(
        &mut self,
        id: &MessageId,
        summary: &str,
        expected: &[Message],
    ) -> Result<(), StoreError> {
        let session = self.session();
        let path = self.file.path().to_path_buf();
        let pictures = self.pictures.clone();
        self.file.try_edit_knowing(|document, known| {
            let now = file_messages(document, &session, &path, &pictures, known).messages;
            let is_there = |then: &Message| {
                now.iter()
                    .any(|now| now.id == then.id && now.body == then.body)
            };
            if !expected.iter().all(is_there) {
                let why = "it was changed while its summary was being written";
                return Err(refused(&path, why.to_string()));
            }
            let cell = CellMessages::of(document, &session).head(id);
            let cell = cell.ok_or_else(|| no_message(&path, id))?;
            let summary = CellEdit::set(cell, MetaKey::Summary, summary);
            let after = msgfile::edit_cells(document, &[summary]);
            let after = after.map_err(|error| refused(&path, error.to_string()))?;
            Ok(Splice::between(document.source(), after.source()))
        })
    }

    /// Makes changes of what is there.
    fn change(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let session = self.session();
        let path = self.file.path().to_path_buf();
        self.file.try_edit(|document| {
            let read = CellMessages::of(document, &session);
            let after = msgfile::apply(document, &read, changes, &mut OsIds);
            let after = after.map_err(|error| refused(&path, error.to_string()))?;
            Ok(Splice::between(document.source(), after.source()))
        })
    }
}

/// A cell that waits for an answer.
fn question(cell: Cell<'_>, message: MessageId) -> Question {
    Question {
        message,
        name: cell.name().into_owned(),
        key: cell.id().map(str::to_string),
        text: cell.content().into_owned(),
        agent: cell
            .attribute("agent")
            .filter(|name| !name.is_empty())
            .map(str::to_string),
        place: cell.ordinal() - 1,
    }
}

fn no_message(path: &Path, id: &MessageId) -> StoreError {
    StoreError::MessageNotFound {
        name: path.display().to_string(),
        id: id.to_string(),
    }
}

fn refused(path: &Path, why: String) -> StoreError {
    StoreError::Refused {
        path: path.to_path_buf(),
        why,
    }
}

/// A boundary that keeps nothing keeps what was said since it was planned.
fn keep_from(made: &mut [Message], first_since: Option<&MessageId>) {
    for message in made {
        if let Body::CompactBoundary(boundary) = &mut message.body
            && boundary.kept_from.is_none()
        {
            boundary.kept_from = first_since.cloned();
        }
    }
}

/// What a person says, in words alone: it becomes a cell as they would type it.
fn prompt_in(messages: &[Message]) -> Option<&str> {
    let [message] = messages else { return None };
    let Body::User(User {
        content: Content::Text(Text::Plain(text)),
        ..
    }) = &message.body
    else {
        return None;
    };
    (message.history == History::Include).then_some(text)
}

impl Conversation for FileConversation {
    fn snapshot(&self) -> Snapshot {
        let document = self.document();
        let waiting = document.unanswered();
        let places: Vec<usize> = waiting.iter().map(|cell| cell.ordinal() - 1).collect();
        let session = self.session();
        let known = self.file.known();
        let (decoded, messages) = msgfile::messages_with_cells(document, &session, known, &places);
        let DecodedFile {
            messages: said,
            problems,
        } = completed(decoded, document, self.file.path(), &self.pictures);
        let questions = waiting.into_iter().zip(messages);
        let questions = questions.filter_map(|(cell, message)| Some(question(cell, message?)));
        Snapshot {
            messages: said,
            problems,
            questions: questions.collect(),
            ..Snapshot::default()
        }
    }

    fn responders(&self) -> Responders {
        let can_be_asked = |agent: &Agent| agent.models.iter().any(|model| is_askable(model));
        let default = self.document().default_agent_among(can_be_asked);
        Responders {
            agents: self.document().agents(),
            defines_agents: true,
            default: default.map(|agent| agent.name),
            ..Responders::default()
        }
    }

    /// An agent that the file does not know is written into its frontmatter, so that the next call need not name it
    /// again; but not one that no later call could ask for by that name, such as a recorded one.
    fn set_responder(&mut self, agent: &ResolvedAgent) -> Result<(), StoreError> {
        self.author.clone_from(&agent.agent.name);
        let agents = self.document().agents();
        let is_known = agents.iter().any(|known| known.name == agent.agent.name);
        if is_known || agent.is_recording() {
            return Ok(());
        }
        self.try_edit(|document| {
            let span = document.frontmatter_span();
            Ok(
                match frontmatter::add_agent(document.source(), span, &agent.agent) {
                    Ok(splice) => splice,
                    // Frontmatter that nobody can change is the person's own.
                    Err(_) => {
                        msgfile::append(document, &NewCell::agent(document.next_id(), &agent.agent))
                    }
                },
            )
        })
    }

    fn begin_answer(&mut self, asked: &[Question], base: &Message) -> Result<(), StoreError> {
        let asked = self.asked_cells(asked);
        if self
            .entry
            .as_ref()
            .is_some_and(|entry| entry.questions() == asked)
        {
            return Ok(());
        }
        self.entry = None;
        self.entry = Some(self.file.locked()?.begin_answer(asked, base)?);
        Ok(())
    }

    fn push(&mut self, piece: AnswerDelta<'_>) {
        if let Some(entry) = &mut self.entry {
            entry.push(piece);
            entry.flush();
        }
    }

    fn finish(&mut self, answer: Message) -> Result<(), StoreError> {
        if self.entry.is_none() {
            let asked = self.snapshot().questions;
            self.begin_answer(&asked, &answer)?;
        }
        let Some(entry) = self.entry.take() else {
            return Err(StoreError::InvalidState {
                path: self.file.path().to_path_buf(),
            });
        };
        let answer = Message {
            author: Some(self.author.clone()),
            ..answer
        };
        let detail = self.detail;
        self.place = Some(self.file.locked()?.put_answer(entry, &answer, detail)?);
        Ok(())
    }

    fn apply(
        &mut self,
        changes: Vec<Change>,
        expected: &[Message],
        _: Timestamp,
    ) -> Result<(), StoreError> {
        let mut added = Vec::new();
        let mut others = Vec::new();
        for change in changes {
            match change {
                Change::Append(message) => added.push(*message),
                change @ (Change::Revise { .. }
                | Change::SetHistory { .. }
                | Change::ContinueFrom { .. }) => others.push(change),
            }
        }
        if !others.is_empty() {
            self.change(&others)?;
        }
        if let Some(prompt) = prompt_in(&added) {
            return self.try_edit(|document| {
                Ok(msgfile::append(
                    document,
                    &NewCell::message(document.next_id(), prompt),
                ))
            });
        }
        if let [message] = &added[..]
            && let Some((id, text)) = as_single_summary(message)
        {
            return self.summarise(id, &text, expected);
        }
        if added.is_empty() {
            Ok(())
        } else {
            self.add(&added, expected)
        }
    }

    fn name_of(&self, message: &MessageId) -> String {
        self.cell_of(message)
            .map_or_else(|| message.to_string(), |name| format!("cell {name}"))
    }

    /// Which files the model has seen stands in the cells that show them.
    fn notes(&self) -> Notes {
        let files = if self.document().has_role(CellRole::Attachment) {
            let messages = self.read(self.document()).messages;
            FileFreshness::recorded(analects_core::chain(&messages).messages)
        } else {
            FileFreshness::default()
        };
        let folder = self
            .file
            .path()
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default();
        Notes {
            files,
            calibration: self.calibration.clone(),
            folder,
        }
    }

    fn set_notes(&mut self, notes: &Notes) {
        self.calibration = notes.calibration.clone();
    }
}

/// The name of an agent that asks the model of that name: its last part, in the characters that a
/// type word may have, and none of the words that mean something else.
pub fn agent_name(model: &str) -> String {
    let last = model.rsplit('/').next().unwrap_or(model);
    let allowed = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let name: String = last
        .chars()
        .map(|c| if allowed(c) { c } else { '-' })
        .collect();
    if name.is_empty() || msgfile::is_fixed_word(&name) {
        format!("{name}-agent")
    } else {
        name
    }
}
