//! A conversation in a message file. The file is the record; the journal adds what its cells do not say, and holds
//! unfinished answers.

mod access;
mod pictures;

pub use pictures::{NamedPicture, named_pictures};
use pictures::{completed, file_messages, with_outputs};

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_context::{Calibration, FileFreshness, document_message};
use analects_core::verbs::{Change, Choice, Target};
use analects_core::{Agent, Body, Content, History, Message, MessageId, SessionId, Text, User};
use analects_formats::DecodedFile;
use analects_formats::msgfile::item::ItemError;
use analects_formats::msgfile::{
    self, AnswerDetail, Cell, CellEdit, CellMessages, CellRole, ChosenCell, Document, MetaKey,
    NewCell, Splice, frontmatter,
};
use analects_store::{
    AllowedPictures, AnswerDelta, AnswerDestination, AnswerEntry, Journal, OsIds, PictureConsent,
    QuestionCell, RecoveredAnswer, StoreError, StoreFolders,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::agents::is_askable;
use crate::conversation::as_single_summary;
use crate::{ChosenMessages, Conversation, Notes, Question, ResolvedAgent, Responders, Snapshot};
use access::FileAccess;

/// How long to wait for another program that is writing to the file.
const PATIENCE: Duration = Duration::from_secs(2);

/// A conversation in a message file.
#[derive(Debug)]
pub struct FileConversation {
    /// The pictures that a person allowed to send.
    pictures: AllowedPictures,
    /// The name of the agent that answers.
    author: String,
    file: FileAccess,
    /// The journal entry of the answer that is arriving.
    entry: Option<AnswerEntry>,
    /// Where the last answer is in the file.
    place: Option<AnswerDestination>,
    /// Whether the model sees the author's text, even if the file does not say so.
    sends_document: bool,
    /// How much detail the file holds about an answer.
    detail: AnswerDetail,
    /// The zone of times in the file.
    zone: TimeZone,
    /// How the estimated token counts compare with the provider's. Lost when this value is dropped.
    calibration: Calibration,
}

impl FileConversation {
    /// Opens the file, or prepares to create it. First writes answers into the file that broke off earlier.
    ///
    /// Fails with [`StoreError::AlreadyAnswering`] if another program is asking a question of this file, and with
    /// [`StoreError::NotWritable`] if the file has a problem because of which nothing may be asked about it.
    pub fn open(path: &Path, places: &StoreFolders) -> Result<FileConversation, StoreError> {
        let file = FileAccess::open(path, places, PATIENCE)?;
        if file
            .journal()
            .is_being_answered(file.document(), file.path())
        {
            let path = path.to_path_buf();
            return Err(StoreError::AlreadyAnswering { path });
        }
        check_askable(path, file.document())?;
        Ok(FileConversation::of(file, places))
    }

    /// Opens a document as if it were the content of the file at `path`, to see what would be sent. Takes no lock and
    /// makes changes in memory only; it cannot record an answer.
    pub fn dry_run_document(
        path: &Path,
        document: Document,
        places: &StoreFolders,
    ) -> Result<FileConversation, StoreError> {
        if document.kind() == msgfile::DocumentKind::Plain {
            return Err(StoreError::without_section(path.to_path_buf(), &document));
        }
        check_askable(path, &document)?;
        let file = FileAccess::in_memory(path, document, places);
        Ok(FileConversation::of(file, places))
    }

    fn of(file: FileAccess, places: &StoreFolders) -> FileConversation {
        FileConversation {
            pictures: PictureConsent::of(file.path(), places).allowed(),
            author: String::new(),
            file,
            entry: None,
            place: None,
            sends_document: false,
            detail: AnswerDetail::Usual,
            zone: places.zone.clone(),
            calibration: Calibration::default(),
        }
    }

    /// Replaces the pictures that a person allowed for this file.
    pub fn allow_pictures(&mut self, pictures: AllowedPictures) {
        self.pictures = pictures;
    }

    /// Sends the author's text above the messages along, whether or not the frontmatter says so.
    pub fn send_document(&mut self) {
        self.sends_document = true;
    }

    /// The author's text above the messages, if the model sees it.
    fn author_text(&self) -> Option<Message> {
        let document = self.document();
        if !self.sends_document && !document.frontmatter().sends_document {
            return None;
        }
        let text = document.author_text().of(document.source());
        document_message(&String::from_utf8_lossy(text))
    }

    /// Sets how much detail the file holds about answers.
    pub fn set_detail(&mut self, detail: AnswerDetail) {
        self.detail = detail;
    }

    /// The path of the file, with symbolic links resolved.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The content of the file.
    pub fn document(&self) -> &Document {
        self.file.document()
    }

    /// Closes the conversation and returns the content of the file.
    pub fn into_document(self) -> Document {
        self.file.into_document()
    }

    /// The journal that holds unfinished answers and details of the cells.
    pub fn journal(&self) -> &Journal {
        self.file.journal()
    }

    /// Other versions of the file that were saved beside it: see [`LockedFile::other_versions`](analects_store::LockedFile::other_versions).
    pub fn other_versions(&self) -> &[PathBuf] {
        self.file.other_versions()
    }

    /// The answers that had broken off and that [`FileConversation::open`] wrote into the file.
    pub fn recovered(&self) -> &[RecoveredAnswer] {
        self.file.recovered()
    }

    /// Where the last answer is in the file; `None` before there is one.
    pub fn answer_place(&self) -> Option<&AnswerDestination> {
        self.place.as_ref()
    }

    /// Chooses the messages of cells for one call, by lists such as `1,3-5`. Two empty lists choose everything.
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
        let positioned = self.content_of_positioned(include.iter().chain(&exclude));
        Ok(ChosenMessages {
            choice: Choice {
                include: targets(include),
                exclude: targets(exclude),
            },
            positioned,
        })
    }

    /// The content of the chosen messages whose ids come from their position.
    fn content_of_positioned<'c>(
        &self,
        cells: impl Iterator<Item = &'c ChosenCell>,
    ) -> Vec<(MessageId, Body)> {
        let mut cells = cells.filter(|cell| cell.is_named_by_place).peekable();
        if cells.peek().is_none() {
            return Vec::new();
        }
        let messages = self.read(self.document()).messages;
        let find = |id: &MessageId| messages.iter().find(|message| message.id == *id);
        cells
            .filter_map(|cell| find(&cell.target.message))
            .map(|message| (message.id.clone(), message.body.clone()))
            .collect()
    }

    /// The name of the first cell of a message; `None` if the file has no such message.
    pub fn cell_of(&self, message: &MessageId) -> Option<String> {
        msgfile::cell_of(self.document(), &self.session(), message)
    }

    /// The names of the first cells of all messages.
    pub fn cell_names(&self) -> std::collections::HashMap<MessageId, String> {
        msgfile::cell_names(self.document(), &self.session())
    }

    /// The pictures that the file names, and whether each is sent.
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

    /// The cells that the next answer is for: those of the questions, or else the last one, such as the result of a
    /// call.
    fn asked_cells(&self, questions: &[Question]) -> Vec<QuestionCell> {
        let document = self.document();
        let indexes: HashSet<usize> = questions
            .iter()
            .map(|question| question.cell_index)
            .collect();
        let mut cells: Vec<Cell<'_>> = Vec::with_capacity(questions.len());
        if !indexes.is_empty() {
            let is_asked = |cell: &Cell<'_>| indexes.contains(&cell_index(cell));
            cells.extend(document.cells().filter(is_asked));
        }
        if cells.is_empty() {
            cells.extend(document.cells().rfind(|cell| !cell.is_ready()));
        }
        QuestionCell::all(document, &cells)
    }

    /// The messages of a version of the file, completed from the journal.
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

    /// Ids of messages without one of their own derive from it, so it has to be the same for every call.
    fn session(&self) -> SessionId {
        msgfile::session_of(&self.file.session_name().to_string_lossy())
    }

    /// Adds messages that a program made. The journal stores what their cells do not say before the file changes.
    fn add(&mut self, messages: &[Message], expected: &[Message]) -> Result<(), StoreError> {
        let session = self.session();
        let path = self.file.path().to_path_buf();
        let pictures = self.pictures.clone();
        let zone = self.zone.clone();
        self.file.try_edit_keeping(|document, known| {
            let mut messages = messages.to_vec();
            if !expected.is_empty() {
                let decoded = file_messages(document, &session, &path, &pictures, known);
                let seen = analects_core::chain(&decoded.messages).messages;
                let Some(newer) = strip_expected(&seen, expected) else {
                    let why = "the conversation was changed while its summary was being written";
                    return Err(refused(&path, why.to_string()));
                };
                keep_newer(&mut messages, newer.first().copied());
            }
            let added = msgfile::put_messages(document, &session, &messages, &zone, &mut OsIds);
            added.map_err(|error| refused(&path, error.to_string()))
        })
    }

    /// Stores the summary of a message that may only be sent as a summary, unless somebody changed the message.
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
            let is_unchanged = |then: &Message| now.iter().any(|now| says_the_same(now, then));
            if !expected.iter().all(is_unchanged) {
                let why = "it was changed while its summary was being written";
                return Err(refused(&path, why.to_string()));
            }
            let cell = CellMessages::of(document, &session).head(id);
            let cell = cell.ok_or_else(|| no_message(&path, id))?;
            let edit = CellEdit::set(cell, MetaKey::Summary, summary);
            let after = msgfile::edit_cells(document, &[edit]);
            let after = after.map_err(|error| refused(&path, error.to_string()))?;
            Ok(Splice::between(document.source(), after.source()))
        })
    }

    /// Changes messages that are in the file already.
    /// All of them or none: if one cannot be made, the file stays as it is.
    fn change(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let session = self.session();
        let path = self.file.path().to_path_buf();
        let zone = self.zone.clone();
        self.file.try_edit(|document| {
            let read = CellMessages::of(document, &session);
            let after = msgfile::apply_in(document, &read, changes, &zone, &mut OsIds);
            let after = after.map_err(|error| refused(&path, error.to_string()))?;
            Ok(Splice::between(document.source(), after.source()))
        })
    }
}

/// Fails if the file has a problem because of which nothing may be asked about it.
fn check_askable(path: &Path, document: &Document) -> Result<(), StoreError> {
    let Some(problem) = document.why_not_asked() else {
        return Ok(());
    };
    Err(StoreError::NotWritable {
        path: path.to_path_buf(),
        problem: Box::new(problem),
    })
}

fn targets(cells: Vec<ChosenCell>) -> Vec<Target> {
    cells.into_iter().map(|cell| cell.target).collect()
}

/// The position of a cell in its file, from 0.
fn cell_index(cell: &Cell<'_>) -> usize {
    cell.ordinal() - 1
}

/// A cell that waits for an answer.
fn question(cell: &Cell<'_>, message: MessageId) -> Question {
    let agent = cell.attribute("agent").filter(|name| !name.is_empty());
    Question {
        message,
        name: cell.name().into_owned(),
        key: cell.id().map(str::to_string),
        text: cell.content().into_owned(),
        agent: agent.map(str::to_string),
        timeout: cell.timeout(),
        cell_index: cell_index(cell),
    }
}

/// Times and costs may differ: only the id and the content count.
fn says_the_same(now: &Message, then: &Message) -> bool {
    now.id == then.id && now.body == then.body
}

/// The messages after the expected ones; `None` if the expected ones are not there unchanged.
fn strip_expected<'m, 's>(
    seen: &'s [&'m Message],
    expected: &[Message],
) -> Option<&'s [&'m Message]> {
    let (first, newer) = seen.split_at_checked(expected.len())?;
    let mut pairs = first.iter().zip(expected);
    pairs
        .all(|(now, then)| says_the_same(now, then))
        .then_some(newer)
}

fn no_message(path: &Path, id: &MessageId) -> StoreError {
    StoreError::MessageNotFound {
        name: path.display().to_string(),
        id: id.to_string(),
    }
}

/// The error for a change that no longer suits the file.
fn refused(path: &Path, why: String) -> StoreError {
    StoreError::Refused {
        path: path.to_path_buf(),
        why,
    }
}

/// Lets a boundary that keeps no messages keep those that were added since it was planned.
fn keep_newer(messages: &mut [Message], first_newer: Option<&Message>) {
    for message in messages {
        if let Body::CompactBoundary(boundary) = &mut message.body
            && boundary.kept_from.is_none()
        {
            boundary.kept_from = first_newer.map(|message| message.id.clone());
        }
    }
}

/// The text of a plain prompt, which becomes a cell as a person would type it. `None` for anything else.
fn plain_prompt(messages: &[Message]) -> Option<&str> {
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
        let indexes: Vec<usize> = waiting.iter().map(cell_index).collect();
        let session = self.session();
        let known = self.file.known();
        let (path, allowed) = (self.file.path(), &self.pictures);
        let (read, problems) = with_outputs(document, path, allowed);
        let (decoded, ids) = msgfile::messages_with_cells(&read, &session, known, &indexes);
        let decoded = completed(decoded, &read, problems, path, allowed);
        let mut questions = Vec::new();
        for (cell, id) in waiting.iter().zip(ids) {
            questions.extend(id.map(|id| question(cell, id)));
        }
        Snapshot {
            messages: decoded.messages,
            problems: decoded.problems,
            questions,
            document: self.author_text(),
            ..Snapshot::default()
        }
    }

    /// Reads no messages, since every call with a prompt asks this.
    fn is_waiting_last(&self, prompt: &str) -> bool {
        let waiting = self.document().unanswered();
        waiting
            .last()
            .is_some_and(|cell| msgfile::is_same_text(&cell.content(), prompt))
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

    /// Writes an agent that is new to the file into its frontmatter, so that the next call need not name it. Does not
    /// write an agent of a recording, which no later call could ask by that name.
    fn set_responder(&mut self, agent: &ResolvedAgent) -> Result<(), StoreError> {
        self.author.clone_from(&agent.agent.name);
        let agents = self.document().agents();
        let is_known = agents.iter().any(|known| known.name == agent.agent.name);
        if is_known || agent.is_recording() {
            return Ok(());
        }
        self.try_edit(|document| Ok(add_agent(document, &agent.agent)))
    }

    fn begin_answer(&mut self, questions: &[Question], base: &Message) -> Result<(), StoreError> {
        let asked = self.asked_cells(questions);
        let is_begun = self
            .entry
            .as_ref()
            .is_some_and(|entry| entry.questions() == asked);
        if is_begun {
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
            let questions = self.snapshot().questions;
            self.begin_answer(&questions, &answer)?;
        }
        let Some(entry) = self.entry.take() else {
            let path = self.file.path().to_path_buf();
            return Err(StoreError::InvalidState { path });
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
        if let Some(prompt) = plain_prompt(&added) {
            return self.try_edit(|document| Ok(append_prompt(document, prompt)));
        }
        if let [message] = &added[..]
            && let Some((id, text)) = as_single_summary(message)
        {
            return self.summarise(id, &text, expected);
        }
        if added.is_empty() {
            return Ok(());
        }
        self.add(&added, expected)
    }

    fn name_of(&self, message: &MessageId) -> String {
        self.cell_of(message)
            .map_or_else(|| message.to_string(), |name| format!("cell {name}"))
    }

    /// The cells of attached files say which files the model has seen.
    fn notes(&self) -> Notes {
        let mut files = FileFreshness::default();
        if self.document().has_role(CellRole::Attachment) {
            let messages = self.read(self.document()).messages;
            files = FileFreshness::recorded(analects_core::chain(&messages).messages);
        }
        let folder = self.file.path().parent();
        Notes {
            files,
            calibration: self.calibration.clone(),
            folder: folder.map(Path::to_path_buf).unwrap_or_default(),
        }
    }

    fn set_notes(&mut self, notes: &Notes) {
        self.calibration = notes.calibration.clone();
    }
}

/// Adds an agent to the frontmatter. If the frontmatter cannot be changed, adds an agent cell at the end instead.
fn add_agent(document: &Document, agent: &Agent) -> Splice {
    let span = document.frontmatter_span();
    frontmatter::add_agent(document.source(), span, agent)
        .unwrap_or_else(|_| msgfile::append(document, &NewCell::agent(document.next_id(), agent)))
}

fn append_prompt(document: &Document, prompt: &str) -> Splice {
    msgfile::append(document, &NewCell::message(document.next_id(), prompt))
}

/// A name for an agent with this model: the last part of the model's name, with characters replaced that a type word
/// cannot have. A word with a fixed meaning gets a suffix.
pub fn agent_name(model: &str) -> String {
    let last = model.rsplit('/').next().unwrap_or(model);
    let name: String = last.chars().map(to_name_character).collect();
    if name.is_empty() || msgfile::is_fixed_word(&name) {
        format!("{name}-agent")
    } else {
        name
    }
}

fn to_name_character(c: char) -> char {
    if c.is_alphanumeric() || "._-".contains(c) {
        c
    } else {
        '-'
    }
}
