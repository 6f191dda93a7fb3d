//! A conversation in a message file: the file is the record.

mod asked;
mod pictures;
mod waiting;

pub use pictures::{NamedPicture, file_messages, named_pictures};
pub use waiting::WaitingCells;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_context::{Calibration, FileFreshness};
use analects_core::{Agent, Body, History, Message, MessageId, SessionId};
use analects_formats::Decoded;
use analects_formats::msgfile::item::ItemError;
use analects_formats::msgfile::{
    self, Attribute, Cell, Choice, Document, NewCell, Splice, find_cells, list_of,
};
use analects_store::{
    AllowedPictures, LockedFile, OsIds, PictureConsent, Places, Reply, StoreError,
};
use jiff::Timestamp;

use crate::{Conversation, Notes};
use asked::{AskedCells, Known, changed_since};

/// How long a conversation waits for somebody else who writes to its file.
const PATIENCE: Duration = Duration::from_secs(2);

/// A conversation in a message file.
#[derive(Debug)]
pub struct FileConversation {
    path: PathBuf,
    /// The pictures that a person allowed.
    pictures: AllowedPictures,
    agent: String,
    state: State,
    /// What was learnt about counting, for as long as this lives.
    calibration: Calibration,
    /// Which cells are sent this time.
    choice: Choice,
    /// What the cells say that are chosen by their places.
    placed: Vec<String>,
    /// Whom the cells are meant for that are asked, if others are left for later: these are not sent.
    turn_of: Option<Option<String>>,
    /// What is being answered, as it was sent.
    asked: OnceCell<AskedCells>,
    /// Those of them that somebody changed while they were being answered.
    changed: Vec<String>,
    /// What the file would hold if the last answer could have been written to its end.
    unwritten: Option<Box<Document>>,
}

#[derive(Debug)]
enum State {
    Resting(Box<LockedFile>),
    Answering(Box<Reply>),
    /// Only while one of the other states turns into the other, or after that failed.
    Changing,
}

impl FileConversation {
    /// Opens the file, or gets ready to make it.
    pub fn open(path: &Path, places: &Places) -> Result<FileConversation, StoreError> {
        let file = LockedFile::open_within(path, places, PATIENCE)?;
        let path = file.path().to_path_buf();
        Ok(FileConversation {
            pictures: PictureConsent::of(&path, places).allowed(),
            path,
            agent: String::new(),
            state: State::Resting(Box::new(file)),
            calibration: Calibration::default(),
            choice: Choice::default(),
            placed: Vec::new(),
            turn_of: None,
            asked: OnceCell::new(),
            changed: Vec::new(),
            unwritten: None,
        })
    }

    /// Allows other pictures than those that a person has allowed for this file before.
    pub fn allow_pictures(&mut self, pictures: AllowedPictures) {
        self.pictures = pictures;
    }

    /// What the file would hold if the last answer could have been written to its end; `None` if it was.
    pub fn take_unwritten(&mut self) -> Option<Document> {
        self.unwritten.take().map(|document| *document)
    }

    /// What the file holds; nothing while an answer is being written.
    pub fn document(&self) -> Option<&Document> {
        match &self.state {
            State::Resting(file) => Some(file.document()),
            _ => None,
        }
    }

    /// What the file holds, for whoever needs it no longer open.
    pub fn into_document(self) -> Option<Document> {
        match self.state {
            State::Resting(file) => Some(file.into_document()),
            _ => None,
        }
    }

    /// Other versions of the file that were found beside it: see [`LockedFile::kept`].
    pub fn kept(&self) -> &[PathBuf] {
        match &self.state {
            State::Resting(file) => file.kept(),
            _ => &[],
        }
    }

    /// Chooses who answers this time, and writes no agent into the file: for an answer that no later
    /// call could ask for by that name, such as a recorded one.
    pub fn set_author(&mut self, name: &str) {
        self.agent = name.to_string();
    }

    /// Chooses who answers. An agent that the file does not know is written into it, so that the
    /// next call need not name it again.
    pub fn set_agent(&mut self, agent: &Agent) -> Result<(), StoreError> {
        self.agent.clone_from(&agent.name);
        let file = self.file()?;
        if file.document().agents().iter().any(|known| known.name == agent.name) {
            return Ok(());
        }
        file.append(|document| NewCell::agent(document.next_id(), agent))
    }

    /// Chooses the cells that are sent, beside those that are being asked, from now on. Call it when
    /// everything has been said: what waits for an answer then is what is asked.
    pub fn choose(&mut self, choice: Choice) -> Result<(), ItemError> {
        if let Some(document) = self.document() {
            // By its place, where an older cell has its id.
            let asked = document.unanswered().first().map(|cell| list_of(&[*cell]));
            let choice = Choice { asked, ..choice };
            chosen(document, &choice)?;
            self.placed = placed(document, &choice);
            self.choice = choice;
        }
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
        self.file()?.try_edit(change)
    }

    /// The names of cells that somebody changed while they were being answered. Their new text is in the
    /// file; the old one, which was answered, is kept with the answer.
    pub fn changed(&self) -> &[String] {
        &self.changed
    }

    /// Remembers what is being asked.
    fn remember_asked(&self, document: &Document) {
        self.asked.get_or_init(|| {
            // What is not sent is not answered, and the answer belongs above what another one is for.
            let WaitingCells { now: mut asked, later, .. } = self.waiting(document);
            let last = document.cells().rfind(|cell| !cell.is_ready());
            let counted = |cell: Cell<'_>| Known::of(cell).among(document, cell);
            // Of the others it is only asked whether they say the same.
            let last_asked = asked.pop().map(counted);
            AskedCells {
                cells: asked.into_iter().map(Known::of).chain(last_asked).collect(),
                last: last.filter(|_| self.turn_of.is_none()).map(counted),
                later: later.first().copied().map(counted),
            }
        });
    }

    /// The file, for a change. What is sent after that is planned anew, and so is what it asks.
    fn file(&mut self) -> Result<&mut LockedFile, StoreError> {
        self.asked = OnceCell::new();
        match &mut self.state {
            State::Resting(file) => Ok(file),
            _ => Err(StoreError::Misused { path: self.path.clone() }),
        }
    }

    /// The reply that grows in the file, begun if need be.
    fn reply(&mut self) -> Result<&mut Reply, StoreError> {
        self.state = match std::mem::replace(&mut self.state, State::Changing) {
            State::Resting(file) => {
                let agent = self.agent.clone();
                let start = |document: &Document| NewCell::reply(document.next_id(), &agent, "");
                let nothing = AskedCells::default();
                let asked = self.asked.get().unwrap_or(&nothing);
                let place = |document: &Document| asked.place(document);
                State::Answering(Box::new(file.start_reply_behind(place, start)?))
            }
            other => other,
        };
        match &mut self.state {
            State::Answering(reply) => Ok(reply),
            _ => Err(StoreError::Misused { path: self.path.clone() }),
        }
    }
}

/// The change that adds messages at the end of a file.
fn added_to(
    document: &Document,
    path: &Path,
    session: &SessionId,
    messages: &[Message],
) -> Result<Splice, StoreError> {
    let splice = msgfile::add_messages(document, session, messages, &mut OsIds);
    let refused =
        |why: ItemError| StoreError::Refused { path: path.to_path_buf(), why: why.to_string() };
    splice.map_err(refused)
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
        let Some(document) = self.document() else { return Decoded::default() };
        self.remember_asked(document);
        let decoded = file_messages(document, &self.path, &self.pictures);
        let later = match self.turn_of {
            Some(_) => self.waiting(document).later,
            None => Vec::new(),
        };
        if self.choice.is_empty() && later.is_empty() {
            return decoded;
        }
        let mut choice = self.choice.clone();
        choice.exclude.extend((!later.is_empty()).then(|| list_of(&later)));
        // Places of problems are those of the file as it is. Where the choice cannot be made any more,
        // nothing is sent: it may be there to keep something back.
        let source = match self.is_choice_lost() {
            true => Vec::new(),
            false => chosen(document, &choice).unwrap_or_default(),
        };
        let messages =
            file_messages(&document.with_source(source), &self.path, &self.pictures).messages;
        Decoded { messages, ..decoded }
    }

    /// What waits for another answer has no part in a summary that is made before. The cells that a choice leaves out
    /// would have got ids, for it alone; in the file they have none.
    fn whole(&self) -> Decoded {
        let Some(document) = self.document() else { return Decoded::default() };
        let mut decoded = file_messages(document, &self.path, &self.pictures);
        let later: HashSet<String> = match self.turn_of {
            Some(_) => self.waiting(document).later.iter().map(|cell| cell.name().into()).collect(),
            None => HashSet::new(),
        };
        if !later.is_empty() {
            let session = msgfile::session_of(&self.path.to_string_lossy());
            let names = msgfile::cell_names(document, &session);
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
        let is_lost = |document| placed(document, &self.choice) != self.placed;
        !self.choice.is_empty() && self.document().is_some_and(is_lost)
    }

    fn has_question(&self) -> bool {
        self.document().is_none_or(|document| !self.waiting(document).now.is_empty())
    }

    fn say(&mut self, prompt: &str, _: Timestamp) -> Result<(), StoreError> {
        self.file()?.append(|document| NewCell::message(document.next_id(), prompt))
    }

    fn push(&mut self, text: &str) -> Result<(), StoreError> {
        self.reply()?.push(text);
        Ok(())
    }

    fn is_waiting(&self) -> bool {
        matches!(&self.state, State::Answering(reply) if reply.is_waiting())
    }

    fn flush(&mut self) {
        if let State::Answering(reply) = &mut self.state {
            reply.flush();
        }
    }

    fn finish(&mut self, answer: Message) -> Result<(), StoreError> {
        self.reply()?;
        let State::Answering(reply) = std::mem::replace(&mut self.state, State::Changing) else {
            return Err(StoreError::Misused { path: self.path.clone() });
        };
        let answer = Message { author: Some(self.agent.clone()), ..answer };
        let asked = self.asked.take().unwrap_or_default();
        let mut changed: Vec<Known> = Vec::new();
        let cells = |document: &Document, id: &str| {
            let (mut cells, residue) = msgfile::answer(document, id, &answer, &mut OsIds);
            changed = changed_since(document, &asked.cells);
            if let Some(first) = cells.first_mut().filter(|_| !changed.is_empty()) {
                let texts: Vec<&str> = changed.iter().map(|known| known.text.as_str()).collect();
                first.attributes.push(("asked".to_string(), texts.join("\n\n")));
            }
            (cells, residue)
        };
        let mut finished = reply.finish_behind(|document| asked.place(document), cells);
        if let Err(StoreError::Unfinished { whole, .. }) = &mut finished {
            self.unwritten = whole.take();
        }
        let file = finished?;
        self.changed = changed.into_iter().map(|known| known.name).collect();
        self.state = State::Resting(Box::new(file));
        Ok(())
    }

    fn add(&mut self, messages: Vec<Message>, _: Timestamp) -> Result<(), StoreError> {
        let session = msgfile::session_of(&self.path.to_string_lossy());
        let path = self.path.clone();
        self.file()?.try_edit(|document| added_to(document, &path, &session, &messages))
    }

    fn compact(
        &mut self,
        mut made: Vec<Message>,
        seen: &[Message],
        _: Timestamp,
    ) -> Result<(), StoreError> {
        let (path, session) =
            (self.path.clone(), msgfile::session_of(&self.path.to_string_lossy()));
        let pictures = self.pictures.clone();
        self.file()?.try_edit(|document| {
            let decoded = file_messages(document, &path, &pictures);
            let now_seen = analects_core::chain(&decoded.messages).messages;
            let is_same =
                |(now, then): (&&Message, &Message)| now.id == then.id && now.body == then.body;
            if now_seen.len() < seen.len() || !now_seen.iter().zip(seen).all(is_same) {
                let why = "the conversation was changed while its summary was being written".into();
                return Err(StoreError::Refused { path: path.clone(), why });
            }
            keep_from(&mut made, now_seen.get(seen.len()).map(|message| &message.id));
            added_to(document, &path, &session, &made)
        })
    }

    fn name_of(&self, message: &MessageId) -> String {
        let session = msgfile::session_of(&self.path.to_string_lossy());
        let cell = self.document().and_then(|doc| msgfile::cell_of(doc, &session, message));
        cell.map_or_else(|| message.to_string(), |name| format!("cell {name}"))
    }

    fn summarise(
        &mut self,
        message: &Message,
        summary: &str,
        _: Timestamp,
    ) -> Result<(), StoreError> {
        let session = msgfile::session_of(&self.path.to_string_lossy());
        let path = self.path.clone();
        let pictures = self.pictures.clone();
        self.file()?.try_edit(|document| {
            let now = file_messages(document, &path, &pictures).messages;
            if !now.iter().any(|now| now.id == message.id && now.body == message.body) {
                let why = "it was changed while its summary was being written".into();
                return Err(StoreError::Refused { path: path.clone(), why });
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
            let bytes = bytes.map_err(|error| StoreError::Refused {
                path: path.clone(),
                why: error.to_string(),
            })?;
            Ok(Splice::whole(document.source(), bytes))
        })
    }

    fn folder(&self) -> PathBuf {
        self.path.parent().map(Path::to_path_buf).unwrap_or_default()
    }

    /// Which files the model has seen stands in the cells that show them.
    fn notes(&self) -> Notes {
        let shows_files = |document: &Document| document.mentions("[attachment]");
        let files = match self.document().is_some_and(shows_files) {
            true => {
                FileFreshness::recorded(analects_core::chain(&self.messages().messages).messages)
            }
            false => FileFreshness::default(),
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
