//! A conversation in a message file: the file is the record, and the journal holds how its answers travelled.

mod pictures;
mod waiting;

pub use pictures::{NamedPicture, file_messages, named_pictures};
pub use waiting::WaitingCells;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_context::{Calibration, FileFreshness};
use analects_core::{Agent, Body, History, Message, MessageId, SessionId};
use analects_formats::Decoded;
use analects_formats::msgfile::item::ItemError;
use analects_formats::msgfile::{
    self, AnswerDetail, Attribute, Cell, Choice, Document, NewCell, Splice, find_cells,
    frontmatter, list_of,
};
use analects_store::{
    AllowedPictures, AnswerEntry, AnswerPiece, AnswerPlace, AskedCell, Journal, LockedFile, OsIds,
    PictureConsent, Places, RecoveredAnswer, StoreError,
};
use jiff::Timestamp;

use crate::{Conversation, Notes};

/// How long a conversation waits for somebody else who writes to its file.
const PATIENCE: Duration = Duration::from_secs(2);

/// A conversation in a message file.
#[derive(Debug)]
pub struct FileConversation {
    /// The pictures that a person allowed.
    pictures: AllowedPictures,
    agent: String,
    file: LockedFile,
    /// The answer that is on its way.
    entry: Option<AnswerEntry>,
    /// Where the last answer went.
    place: Option<AnswerPlace>,
    /// How much the file says of an answer.
    detail: AnswerDetail,
    /// What was learnt about counting, for as long as this lives.
    calibration: Calibration,
    /// Which cells are sent this time.
    choice: Choice,
    /// What the cells say that are chosen by their places.
    placed: Vec<String>,
    /// Whom the cells are meant for that are asked, if others are left for later: these are not sent.
    turn_of: Option<Option<String>>,
}

impl FileConversation {
    /// Opens the file, or gets ready to make it. What came of an answer that broke off comes into it first. A question
    /// that somebody else is getting an answer to is refused: [`StoreError::UnderWay`].
    pub fn open(path: &Path, places: &Places) -> Result<FileConversation, StoreError> {
        let file = LockedFile::open_within(path, places, PATIENCE)?;
        if file.journal().is_under_way(file.document(), file.path()) {
            return Err(StoreError::UnderWay { path: path.to_path_buf() });
        }
        Ok(FileConversation {
            pictures: PictureConsent::of(file.path(), places).allowed(),
            agent: String::new(),
            file,
            entry: None,
            place: None,
            detail: AnswerDetail::Usual,
            calibration: Calibration::default(),
            choice: Choice::default(),
            placed: Vec::new(),
            turn_of: None,
        })
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

    /// Other versions of the file that were found beside it: see [`LockedFile::kept`].
    pub fn kept(&self) -> &[PathBuf] {
        self.file.kept()
    }

    /// Answers that had broken off, and came into the file when it was opened.
    pub fn recovered(&self) -> &[RecoveredAnswer] {
        self.file.recovered()
    }

    /// Where the last answer went; `None` before there is one.
    pub fn answer_place(&self) -> Option<&AnswerPlace> {
        self.place.as_ref()
    }

    /// Chooses who answers this time, and writes no agent into the file: for an answer that no later
    /// call could ask for by that name, such as a recorded one.
    pub fn set_author(&mut self, name: &str) {
        self.agent = name.to_string();
    }

    /// Chooses who answers. An agent that the file does not know is written into its frontmatter, so that the
    /// next call need not name it again.
    pub fn set_agent(&mut self, agent: &Agent) -> Result<(), StoreError> {
        self.agent.clone_from(&agent.name);
        if self.document().agents().iter().any(|known| known.name == agent.name) {
            return Ok(());
        }
        self.file.edit(|document| {
            let span = document.frontmatter_span();
            match frontmatter::add_agent(document.source(), span, agent) {
                Ok(splice) => splice,
                // Frontmatter that nobody can change is the person's own.
                Err(_) => msgfile::append(document, &NewCell::agent(document.next_id(), agent)),
            }
        })
    }

    /// Chooses the cells that are sent, beside those that are being asked, from now on. Call it when
    /// everything has been said: what waits for an answer then is what is asked.
    pub fn choose(&mut self, choice: Choice) -> Result<(), ItemError> {
        let document = self.document();
        // By its place, where an older cell has its id.
        let asked = document.unanswered().first().map(|cell| list_of(&[*cell]));
        let choice = Choice { asked, ..choice };
        chosen(document, &choice)?;
        self.placed = placed(document, &choice);
        self.choice = choice;
        Ok(())
    }

    /// Asks only the cells meant for this agent, or for nobody in particular, and leaves those from the first other one
    /// on for another answer: they are not sent, and what is answered now is answered above them.
    pub fn ask_only(&mut self, agent: Option<String>) {
        self.turn_of = Some(agent);
    }

    /// What waits, as this conversation asks it.
    fn waiting<'d>(&self, document: &'d Document) -> WaitingCells<'d> {
        let left_out = &self.choice.exclude;
        match &self.turn_of {
            Some(agent) => WaitingCells::for_agent(document, left_out, agent.clone()),
            None => WaitingCells::all(document, left_out),
        }
    }

    /// Writes the choice into the cells, so that it holds for every later call, too.
    pub fn save_choice<E: From<StoreError> + From<ItemError>>(&mut self) -> Result<(), E> {
        let choice = self.choice.clone();
        self.try_edit(|document| {
            choice.check_can_be_kept(document).map_err(E::from)?;
            let source = chosen(document, &choice)?;
            Ok::<_, E>(Splice::whole(document.source(), source))
        })?;
        // The file says it from now on.
        self.choice = Choice::default();
        Ok(())
    }

    /// Changes the file, as [`LockedFile::try_edit`] does.
    pub fn try_edit<E: From<StoreError>>(
        &mut self,
        change: impl FnMut(&Document) -> Result<Splice, E>,
    ) -> Result<(), E> {
        self.file.try_edit(change)
    }

    /// The cells that the next answer is for: those that wait for it, or else the last one, such as the result of a
    /// call.
    fn asked(&self) -> Vec<AskedCell> {
        let document = self.document();
        let mut cells = self.waiting(document).now;
        if cells.is_empty() {
            cells.extend(document.cells().rfind(|cell| !cell.is_ready()));
        }
        AskedCell::all(document, &cells)
    }

    /// What the file says, with what the journal knows of it.
    fn read(&self, document: &Document) -> Decoded {
        file_messages(document, self.file.path(), &self.pictures, self.journal())
    }

    fn session(&self) -> SessionId {
        msgfile::session_of(&self.file.path().to_string_lossy())
    }

    /// Adds messages that a program makes. What their cells do not say is in the journal before they are in the file.
    fn add_made(
        &mut self,
        mut made: impl FnMut(&Document) -> Result<Vec<Message>, StoreError>,
    ) -> Result<(), StoreError> {
        let session = self.session();
        let path = self.file.path().to_path_buf();
        let journal = self.journal().clone();
        self.file.try_edit(|document| {
            let messages = made(document)?;
            let added = msgfile::put_messages(document, &session, &messages, &mut OsIds);
            let added = added.map_err(|error| refused(&path, error.to_string()))?;
            for (cells, message) in &added.kept {
                journal.keep(&path, *cells, message)?;
            }
            Ok(added.splice)
        })
    }
}

fn refused(path: &Path, why: String) -> StoreError {
    StoreError::Refused { path: path.to_path_buf(), why }
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

/// The source of a document in which the cells say what was chosen.
fn chosen(document: &Document, choice: &Choice) -> Result<Vec<u8>, ItemError> {
    msgfile::set_attributes(document, &choice.changes(document)?)
}

/// What the cells say that a choice names by their places, which are others when a cell is typed above them.
fn placed(document: &Document, choice: &Choice) -> Vec<String> {
    let lists = choice.include.iter().chain(&choice.exclude).chain(&choice.asked);
    let places = lists.filter_map(|list| find_cells(document, list).ok()).flatten();
    let cells: Vec<Cell<'_>> = document.cells().collect();
    let cells = places.filter_map(|at| cells.get(at)).filter(|cell| cell.id().is_none());
    cells.map(|cell| cell.content().into_owned()).collect()
}

impl Conversation for FileConversation {
    fn messages(&self) -> Decoded {
        let document = self.document();
        let decoded = self.read(document);
        let later = if self.turn_of.is_some() { self.waiting(document).later } else { Vec::new() };
        if self.choice.is_empty() && later.is_empty() {
            return decoded;
        }
        let mut choice = self.choice.clone();
        if !later.is_empty() {
            choice.exclude.push(list_of(&later));
        }
        // Places of problems are those of the file as it is. Where the choice cannot be made any more,
        // nothing is sent: it may be there to keep something back.
        let source = if self.is_choice_lost() {
            Vec::new()
        } else {
            chosen(document, &choice).unwrap_or_default()
        };
        let messages = self.read(&document.with_source(source)).messages;
        Decoded { messages, ..decoded }
    }

    /// What waits for another answer has no part in a summary that is made before. The cells that a choice leaves out
    /// would have got ids, for it alone; in the file they have none.
    fn whole(&self) -> Decoded {
        let document = self.document();
        let mut decoded = self.read(document);
        let later: HashSet<String> = match self.turn_of {
            Some(_) => self.waiting(document).later.iter().map(|cell| cell.name().into()).collect(),
            None => HashSet::new(),
        };
        if !later.is_empty() {
            let names = msgfile::cell_names(document, &self.session());
            let is_later = |id: &MessageId| names.get(id).is_some_and(|name| later.contains(name));
            for message in decoded.messages.iter_mut().filter(|message| is_later(&message.id)) {
                message.history = History::Exclude;
            }
        }
        decoded
    }

    fn is_chosen(&self) -> bool {
        !self.choice.is_empty()
    }

    fn is_choice_lost(&self) -> bool {
        !self.choice.is_empty() && placed(self.document(), &self.choice) != self.placed
    }

    fn has_question(&self) -> bool {
        !self.waiting(self.document()).now.is_empty()
    }

    fn say(&mut self, prompt: &str, _: Timestamp) -> Result<(), StoreError> {
        self.file.append(|document| NewCell::message(document.next_id(), prompt))
    }

    fn begin_answer(&mut self, base: &Message) -> Result<(), StoreError> {
        let asked = self.asked();
        if self.entry.as_ref().is_some_and(|entry| entry.asked() == asked) {
            return Ok(());
        }
        self.entry = None;
        self.entry = Some(self.file.begin_answer(asked, base)?);
        Ok(())
    }

    fn push(&mut self, piece: AnswerPiece<'_>) {
        if let Some(entry) = &mut self.entry {
            entry.push(piece);
            entry.flush();
        }
    }

    fn finish(&mut self, answer: Message) -> Result<(), StoreError> {
        if self.entry.is_none() {
            self.begin_answer(&answer)?;
        }
        let Some(entry) = self.entry.take() else {
            return Err(StoreError::Misused { path: self.file.path().to_path_buf() });
        };
        let answer = Message { author: Some(self.agent.clone()), ..answer };
        self.place = Some(self.file.put_answer(entry, &answer, self.detail)?);
        Ok(())
    }

    fn add(&mut self, messages: Vec<Message>, _: Timestamp) -> Result<(), StoreError> {
        self.add_made(|_| Ok(messages.clone()))
    }

    fn compact(
        &mut self,
        made: Vec<Message>,
        seen: &[Message],
        _: Timestamp,
    ) -> Result<(), StoreError> {
        let path = self.file.path().to_path_buf();
        let pictures = self.pictures.clone();
        let journal = self.journal().clone();
        self.add_made(|document| {
            let decoded = file_messages(document, &path, &pictures, &journal);
            let now_seen = analects_core::chain(&decoded.messages).messages;
            let is_same =
                |(now, then): (&&Message, &Message)| now.id == then.id && now.body == then.body;
            if now_seen.len() < seen.len() || !now_seen.iter().zip(seen).all(is_same) {
                let why = "the conversation was changed while its summary was being written";
                return Err(refused(&path, why.to_string()));
            }
            let mut made = made.clone();
            keep_from(&mut made, now_seen.get(seen.len()).map(|message| &message.id));
            Ok(made)
        })
    }

    fn name_of(&self, message: &MessageId) -> String {
        let cell = msgfile::cell_of(self.document(), &self.session(), message);
        cell.map_or_else(|| message.to_string(), |name| format!("cell {name}"))
    }

    fn summarise(
        &mut self,
        message: &Message,
        summary: &str,
        _: Timestamp,
    ) -> Result<(), StoreError> {
        let session = self.session();
        let path = self.file.path().to_path_buf();
        let pictures = self.pictures.clone();
        let journal = self.journal().clone();
        self.file.try_edit(|document| {
            let now = file_messages(document, &path, &pictures, &journal).messages;
            if !now.iter().any(|now| now.id == message.id && now.body == message.body) {
                let why = "it was changed while its summary was being written";
                return Err(refused(&path, why.to_string()));
            }
            let message = &message.id;
            let name = msgfile::cell_of(document, &session, message);
            let cell = name.and_then(|name| document.cells().position(|cell| cell.name() == name));
            let cell = cell.ok_or_else(|| StoreError::NoMessage {
                name: path.display().to_string(),
                id: message.to_string(),
            })?;
            let summary = Attribute { cell, key: "summary", value: summary.to_string() };
            let bytes = msgfile::set_attributes(document, &[summary]);
            let bytes = bytes.map_err(|error| refused(&path, error.to_string()))?;
            Ok(Splice::whole(document.source(), bytes))
        })
    }

    fn folder(&self) -> PathBuf {
        self.file.path().parent().map(Path::to_path_buf).unwrap_or_default()
    }

    /// Which files the model has seen stands in the cells that show them.
    fn notes(&self) -> Notes {
        let files = if self.document().mentions("[attachment]") {
            FileFreshness::recorded(analects_core::chain(&self.messages().messages).messages)
        } else {
            FileFreshness::default()
        };
        Notes { files, calibration: self.calibration.clone() }
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
    let name: String = last.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
    if name.is_empty() || msgfile::is_fixed_word(&name) { format!("{name}-agent") } else { name }
}
