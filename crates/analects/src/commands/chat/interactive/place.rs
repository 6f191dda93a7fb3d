//! Where the conversation of a session is kept, and what the commands do there: the same as the verbs.

use std::path::{Path, PathBuf};

use analects_core::{Agent, Attachment, AttachmentKind, Body, Message, MessageId};
use analects_formats::msgfile::{Cell, Document};
use analects_runtime::{
    Conversation, FileConversation, ResolvedAgent, StoredConversation, broken_answer,
};
use analects_store::{
    ChainName, Loaded, Reach, Session, StoreError, TranscriptStore, read_message_file,
};

use super::exchange::undo_in_file;
use crate::commands::chat::asking::broken_cell;
use crate::commands::chat::in_file::{chat_in_file, open_file};
use crate::commands::chat::in_store::go_on;
use crate::commands::chat::{Call, Said, in_words, tell_notes};
use crate::commands::compact::{compact_here, last_summary};
use crate::commands::verbs::{self, Verb};
use crate::commands::{context, rewind};
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ui;

/// Where the conversation is kept.
pub enum Place {
    /// In a message file.
    File(PathBuf),
    /// In the transcript store, under this name.
    Store { sessions: Sessions, name: ChainName },
}

impl Place {
    /// What a person calls it.
    pub fn title(&self) -> String {
        match self {
            Place::Store { .. } if !self.is_there() => "a new conversation".to_string(),
            _ => self.name(),
        }
    }

    /// The name of its file or session.
    pub fn name(&self) -> String {
        match self {
            Place::File(path) => path.display().to_string(),
            Place::Store { name, .. } => format!("session {}", &*name.session),
        }
    }

    /// How to come back later.
    pub fn way_back(&self) -> Option<String> {
        match self {
            Place::File(_) => None,
            Place::Store { .. } if !self.is_there() => None,
            Place::Store { name, .. } => Some(format!(
                "to go on: analects session resume {}",
                &*name.session
            )),
        }
    }

    /// Whether there is a file or a session, also one that cannot be read.
    pub fn is_there(&self) -> bool {
        match self {
            Place::File(path) => path.try_exists().unwrap_or(true),
            Place::Store { sessions, name } => sessions
                .store
                .overview(name)
                .map_or(true, |overview| overview.messages > 0),
        }
    }

    /// Whether something can have been said in it.
    pub fn is_begun(&self) -> bool {
        match self {
            Place::File(path) => path.is_file(),
            Place::Store { .. } => self.is_there(),
        }
    }

    /// Whether there is nothing to send.
    fn is_empty(&self) -> Result<bool, Failure> {
        match self {
            Place::File(path) => {
                let is_said = |cell: Cell<'_>| cell.role().is_user() && !cell.body().is_empty();
                Ok(!read(path)?.is_some_and(|document| document.cells().any(is_said)))
            }
            Place::Store { sessions, name } => {
                let end = Loaded::within(&*sessions.store, name, Reach::of_text(0))?;
                Ok(end.messages.is_empty())
            }
        }
    }

    /// The agents that are defined there.
    pub fn agents(&self) -> Vec<Agent> {
        match self {
            Place::File(path) => read_message_file(path)
                .map(|document| document.agents())
                .unwrap_or_default(),
            Place::Store { .. } => Vec::new(),
        }
    }

    /// Who would answer.
    pub fn responder(&self, call: Call<'_>) -> Result<ResolvedAgent, Failure> {
        let mut conversation = self.open(call.surroundings)?;
        let prepared = call.prepare_idle(&mut *conversation)?;
        tell_notes(prepared.notes());
        Ok(prepared.agent().clone())
    }

    /// The conversation, wherever it is.
    fn open(&self, surroundings: &Surroundings) -> Result<Box<dyn Conversation>, Failure> {
        match self {
            Place::File(path) => Ok(Box::new(open_file(path, surroundings)?)),
            Place::Store { .. } => Ok(Box::new(self.conversation(surroundings)?)),
        }
    }

    /// The stored conversation, which may be a new one.
    fn conversation(&self, surroundings: &Surroundings) -> Result<StoredConversation, Failure> {
        let Place::Store { sessions, name } = self else {
            return Err(Failure::ours("this conversation is not in the store"));
        };
        let (store, folder) = (sessions.store.clone(), &surroundings.folder);
        Ok(StoredConversation::open_in(store, name.clone(), folder)?)
    }

    /// Says something, if there is something to say, and asks.
    pub fn ask(&self, call: Call<'_>, said: &mut Said) -> Result<(), Failure> {
        match self {
            Place::File(path) => chat_in_file(call, path, said),
            Place::Store { .. } => {
                let conversation = self.conversation(call.surroundings)?;
                go_on(call, conversation, said)
            }
        }
    }

    /// Shows what would be sent.
    pub fn context(&self, call: Call<'_>) -> Result<(), Failure> {
        if self.is_empty()? {
            return Err(Failure::input(
                "nothing was said yet, so there is nothing to send",
            ));
        }
        let target = match self {
            Place::File(path) => path.display().to_string(),
            Place::Store { name, .. } => name.session.to_string(),
        };
        context::run(&context::Args::of(target, call.model, call.agent))
    }

    /// Puts a summary in the place of what was said.
    pub fn compact(&self, call: Call<'_>) -> Result<(), Failure> {
        let mut conversation = self.open(call.surroundings)?;
        let mut prepared = call.prepare_idle(&mut *conversation)?;
        let compacted = compact_here(&mut prepared, call.surroundings)?;
        let summary = last_summary(&*conversation);
        ui::print_text(format!("{}\n", summary.trim_end()).as_bytes())?;
        ui::remark(&in_words(&compacted));
        Ok(())
    }

    /// Takes back what was said last, with its answer. Files that were shown with it stay, for the next prompt.
    pub fn undo(&self, surroundings: &Surroundings) -> Result<(), Failure> {
        match self {
            Place::File(path) => {
                read(path)?.ok_or_else(nothing_to_undo)?;
                undo_in_file(path, surroundings)?;
                remark_files(&open_file(path, surroundings)?);
            }
            Place::Store { sessions, name } => {
                let last = self.conversation(surroundings)?.last_prompt()?;
                let last = last.ok_or_else(nothing_to_undo)?;
                let session = Session::open(&*sessions.store, name.clone())?;
                let before = message_before(&session, &last.id)?;
                let place = self.for_verbs(surroundings);
                rewind::back_to(&place, before.as_deref(), surroundings)?;
                remark_files(&self.conversation(surroundings)?);
            }
        }
        Ok(())
    }

    /// Makes a copy, and goes on in it.
    pub fn fork(&mut self, surroundings: &Surroundings) -> Result<(), Failure> {
        if self.is_empty()? {
            return Err(Failure::input(
                "nothing was said yet, so there is nothing to copy",
            ));
        }
        match self {
            Place::File(path) => {
                let copy = verbs::fork_file(path, None, None, false, surroundings)?;
                let (old, new) = (path.display(), copy.display());
                ui::remark(&format!("you are in {new} now; {old} stays as it is"));
                *path = copy;
            }
            Place::Store { sessions, name } => {
                let copy = verbs::fork_session(sessions, name, None)?;
                let (old, new) = (&*name.session, &*copy.session);
                ui::remark(&format!(
                    "you are in session {new} now; {old} stays as it is"
                ));
                *name = copy;
            }
        }
        Ok(())
    }

    /// Whether something was said that nobody has answered.
    pub fn is_unanswered(&self, surroundings: &Surroundings) -> Result<bool, Failure> {
        match self {
            Place::File(path) => {
                Ok(read(path)?.is_some_and(|document| !document.unanswered().is_empty()))
            }
            Place::Store { .. } => Ok(self.conversation(surroundings)?.is_unanswered()),
        }
    }

    /// The last answer, if it broke off: its cell or its message.
    fn broken_answer(&self, surroundings: &Surroundings) -> Result<Option<String>, Failure> {
        match self {
            Place::File(path) => {
                let Some(document) = read(path)? else {
                    return Ok(None);
                };
                let places = &surroundings.places;
                let file = FileConversation::dry_run_document(path, document, places)?;
                Ok(broken_cell(&file))
            }
            Place::Store { .. } => {
                let broken = broken_answer(&self.conversation(surroundings)?.snapshot());
                Ok(broken.map(|message| message.to_string()))
            }
        }
    }

    /// The same place, for verbs.
    fn for_verbs(&self, surroundings: &Surroundings) -> verbs::Place {
        match self {
            Place::File(path) => verbs::Place::File(path.clone()),
            Place::Store { name, .. } => {
                let sessions = Sessions::of(surroundings);
                verbs::Place::Session {
                    sessions,
                    name: name.clone(),
                }
            }
        }
    }

    /// Whether the last answer broke off.
    pub fn has_broken_answer(&self, surroundings: &Surroundings) -> Result<bool, Failure> {
        Ok(self.broken_answer(surroundings)?.is_some())
    }

    /// Takes an answer that broke off out of what is sent, so that its question waits again; whether there was one.
    pub fn set_broken_aside(&self, surroundings: &Surroundings) -> Result<bool, Failure> {
        let Some(broken) = self.broken_answer(surroundings)? else {
            return Ok(false);
        };
        self.for_verbs(surroundings)
            .perform(Verb::Drop(&broken), surroundings)?;
        Ok(true)
    }
}

/// The message that another one follows; records of the state between them are none.
fn message_before(session: &Session<'_>, id: &str) -> Result<Option<MessageId>, Failure> {
    let mut before = session.parent(id)?;
    while let Some(id) = &before {
        match session.message(id)?.body {
            Body::State(_) | Body::Progress(_) | Body::Tombstone(_) | Body::Revision(_) => {
                before = session.parent(id)?;
            }
            _ => break,
        }
    }
    Ok(before)
}

/// What a file holds; nothing where there is none yet. Of one that is no text, nobody knows what was said in it.
fn read(path: &Path) -> Result<Option<Document>, Failure> {
    let document = match read_message_file(path) {
        Err(StoreError::NotFound { .. }) => return Ok(None),
        read => read?,
    };
    if document.is_utf8() {
        return Ok(Some(document));
    }
    let problem = document
        .problems()
        .into_iter()
        .find(|problem| problem.code == "not-utf8");
    let place = path.display();
    Err(match problem {
        Some(problem) => {
            let (line, column, message) = (problem.line, problem.column, problem.message);
            let failure = Failure::input(format!("{place}:{line}:{column}: {message}"));
            problem.hint.into_iter().fold(failure, Failure::or_hint)
        }
        None => Failure::input(format!("{place}: not UTF-8")),
    })
}

/// Names the files that a conversation ends with: they go out with the next prompt.
fn remark_files(conversation: &dyn Conversation) {
    let snapshot = conversation.snapshot();
    let chain = snapshot.chain();
    let sent = chain
        .messages
        .iter()
        .rev()
        .filter(|message| message.why_not_sent().is_none());
    let mut files: Vec<String> = sent.map_while(|message| file_shown(message)).collect();
    files.reverse();
    if !files.is_empty() {
        ui::remark(&format!("still shown to the model: {}", files.join(", ")));
    }
}

/// The path of a file that a message shows.
fn file_shown(message: &Message) -> Option<String> {
    let Body::Attachment(Attachment {
        kind: AttachmentKind::File,
        data,
        ..
    }) = &message.body
    else {
        return None;
    };
    data.as_ref()?.as_object()?.get("path")?.as_string()
}

pub fn nothing_to_undo() -> Failure {
    Failure::input("there is nothing to take back")
}

#[cfg(test)]
mod tests {
    //! What counts as said.

    use super::*;

    #[test]
    fn an_empty_cell_is_nothing_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.msg.md");
        let place = Place::File(path.clone());
        assert!(place.is_empty().unwrap(), "there is no file");
        for (text, is_empty) in [
            ("# %%\n", true),
            ("# %%\n\nq\n", false),
            ("# %%\n\nq\n\n# %%\n", false),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(place.is_empty().unwrap(), is_empty, "{text}");
        }
        std::fs::write(&path, b"# %%\n\nq\xff\n").unwrap();
        assert!(place.is_empty().unwrap_err().message.contains("not UTF-8"));
    }
}
