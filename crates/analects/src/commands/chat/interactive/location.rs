//! Where an interactive session keeps its conversation, and what the slash commands do there: the
//! same as the verbs.

use std::path::{Path, PathBuf};

use analects_core::{Agent, Attachment, AttachmentKind, Body, Message, MessageId};
use analects_formats::msgfile::{Cell, Document};
use analects_runtime::{
    Conversation, FileConversation, ResolvedAgent, StoredConversation, broken_answer,
};
use analects_store::{
    ChainName, LoadLimit, LoadedChain, Session, StoreError, TranscriptStore, read_message_file,
};

use super::exchange::{last_question, undo_in_file};
use crate::commands::chat::in_file::{chat_in_file, open_file};
use crate::commands::chat::in_store::continue_session;
use crate::commands::chat::turn::broken_cell;
use crate::commands::chat::{ChatCall, UserInput, in_words, report_notes};
use crate::commands::compact::{last_summary, run_compaction};
use crate::commands::verbs::{self, Verb};
use crate::commands::{context, rewind};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::Interface;
use crate::sessions::Sessions;
use crate::ui;

/// A message file, or a session in the store.
pub enum ChatLocation {
    /// In a message file.
    File(PathBuf),
    /// In the transcript store, under this name.
    Store { sessions: Sessions, name: ChainName },
}

impl ChatLocation {
    /// The name for the greeting.
    pub fn title(&self) -> String {
        match self {
            ChatLocation::Store { .. } if !self.exists() => "a new conversation".to_string(),
            _ => self.name(),
        }
    }

    /// The name of its file or session.
    pub fn name(&self) -> String {
        match self {
            ChatLocation::File(path) => path.display().to_string(),
            ChatLocation::Store { name, .. } => format!("session {}", &*name.session),
        }
    }

    /// The command that continues the conversation later. `None` if that is obvious, or if there is
    /// nothing to continue.
    pub fn resume_hint(&self) -> Option<String> {
        match self {
            ChatLocation::File(_) => None,
            ChatLocation::Store { .. } if !self.exists() => None,
            ChatLocation::Store { name, .. } => Some(format!(
                "to continue: analects session resume {}",
                &*name.session
            )),
        }
    }

    /// Whether the file or session exists, even if it cannot be read.
    pub fn exists(&self) -> bool {
        match self {
            ChatLocation::File(path) => path.try_exists().unwrap_or(true),
            ChatLocation::Store { sessions, name } => sessions
                .store
                .overview(name)
                .map_or(true, |overview| overview.messages > 0),
        }
    }

    /// Whether the conversation may have messages.
    pub fn has_started(&self) -> bool {
        match self {
            ChatLocation::File(path) => path.is_file(),
            ChatLocation::Store { .. } => self.exists(),
        }
    }

    /// Whether there is nothing to send.
    fn is_empty(&self) -> Result<bool, Failure> {
        match self {
            ChatLocation::File(path) => {
                let is_said = |cell: Cell<'_>| cell.role().is_user() && !cell.body().is_empty();
                Ok(!read(path)?.is_some_and(|document| document.cells().any(is_said)))
            }
            ChatLocation::Store { sessions, name } => {
                let end = LoadedChain::load_end(&*sessions.store, name, LoadLimit::of_text(0))?;
                Ok(end.messages.is_empty())
            }
        }
    }

    /// The agents that the file defines.
    pub fn agents(&self) -> Vec<Agent> {
        match self {
            ChatLocation::File(path) => read_message_file(path)
                .map(|document| document.agents())
                .unwrap_or_default(),
            ChatLocation::Store { .. } => Vec::new(),
        }
    }

    /// The message file; `None` for a session.
    pub fn file(&self) -> Option<&Path> {
        match self {
            ChatLocation::File(path) => Some(path),
            ChatLocation::Store { .. } => None,
        }
    }

    /// The agent that would answer the next prompt, with what goes beside that prompt.
    pub fn responder(
        &self,
        call: ChatCall<'_>,
        input: &UserInput,
    ) -> Result<ResolvedAgent, Failure> {
        let mut conversation = self.open(call.environment)?;
        let prepared = call.prepare_without_question(&mut *conversation, input)?;
        report_notes(prepared.notes());
        Ok(prepared.agent().clone())
    }

    /// Opens the conversation, in whichever form it is kept.
    fn open(&self, environment: &Environment) -> Result<Box<dyn Conversation>, Failure> {
        match self {
            ChatLocation::File(path) => Ok(Box::new(open_file(path, environment)?)),
            ChatLocation::Store { .. } => Ok(Box::new(self.conversation(environment)?)),
        }
    }

    /// Opens the session, which may be new.
    fn conversation(&self, environment: &Environment) -> Result<StoredConversation, Failure> {
        let ChatLocation::Store { sessions, name } = self else {
            return Err(Failure::internal("this conversation is not in the store"));
        };
        let store = sessions.store.clone();
        let folder = &environment.folder;
        Ok(StoredConversation::open_in(store, name.clone(), folder)?)
    }

    /// Adds the prompt, if there is one, and asks the model.
    pub fn ask(&self, call: ChatCall<'_>, input: &mut UserInput) -> Result<(), Failure> {
        match self {
            ChatLocation::File(path) => chat_in_file(call, path, input),
            ChatLocation::Store { .. } => {
                let conversation = self.conversation(call.environment)?;
                continue_session(call, conversation, input)
            }
        }
    }

    /// `/context`: shows what would be sent.
    pub fn context(&self, call: ChatCall<'_>) -> Result<(), Failure> {
        if self.is_empty()? {
            return Err(Failure::input(
                "there are no messages yet, so there is nothing to send",
            ));
        }
        context::run(&context::ContextArgs::of(self.target(), call))
    }

    /// The name of the conversation on the command line: a path, or the id of a session.
    fn target(&self) -> String {
        match self {
            ChatLocation::File(path) => path.display().to_string(),
            ChatLocation::Store { name, .. } => name.session.to_string(),
        }
    }

    /// `/compact`: replaces the messages so far with a summary.
    pub fn compact(&self, call: ChatCall<'_>) -> Result<(), Failure> {
        let mut conversation = self.open(call.environment)?;
        let input = UserInput::default();
        let mut prepared = call.prepare_without_question(&mut *conversation, &input)?;
        let compacted = run_compaction(&mut prepared, call.environment)?;
        let summary = last_summary(&*conversation);
        ui::print_text(format!("{}\n", summary.trim_end()).as_bytes())?;
        ui::remark(&in_words(&compacted, &self.target(), call.interface));
        Ok(())
    }

    /// `/undo`: takes back the last prompt and its answer. Files that were attached stay attached
    /// for the next prompt.
    pub fn undo(&self, environment: &Environment) -> Result<(), Failure> {
        match self {
            ChatLocation::File(path) => {
                read(path)?.ok_or_else(nothing_to_undo)?;
                undo_in_file(path, environment)?;
                report_attached_files(&open_file(path, environment)?);
            }
            ChatLocation::Store { sessions, name } => {
                let last = self.conversation(environment)?.last_prompt()?;
                let last = last.ok_or_else(nothing_to_undo)?;
                let session = Session::open(&*sessions.store, name.clone())?;
                let before = message_before(&session, &last.id)?;
                let place = self.as_verb_target(environment);
                let report = rewind::rewind_to(&place, before.as_deref(), environment)?;
                rewind::print_rewind(&report, Interface::Session);
                report_attached_files(&self.conversation(environment)?);
            }
        }
        Ok(())
    }

    /// `/rewind`: goes back to a cell or message.
    pub fn rewind(&self, to: &str, environment: &Environment) -> Result<(), Failure> {
        let report = rewind::rewind_to(&self.as_verb_target(environment), Some(to), environment)?;
        rewind::print_rewind(&report, Interface::Session);
        Ok(())
    }

    /// For `/retry`: goes back to the last question, so that its answer stays on another branch, and
    /// says how to return to that answer.
    pub fn leave_answer(&self, environment: &Environment) -> Result<(), Failure> {
        let question = match self {
            ChatLocation::File(path) if !path.exists() => None,
            ChatLocation::File(path) => last_question(path)?,
            ChatLocation::Store { .. } => {
                let prompt = self.conversation(environment)?.last_prompt()?;
                prompt.map(|prompt| prompt.id.to_string())
            }
        };
        let Some(question) = question else {
            return Err(Failure::input("there is no question to ask again"));
        };
        let target = self.as_verb_target(environment);
        let report = rewind::rewind_to(&target, Some(&question), environment)?;
        if let Some(last) = &report.last {
            let back = rewind::back_to(&target.word(), last, Interface::Session);
            ui::remark(&format!(
                "asking again; the earlier answer is kept, and {back} returns to it"
            ));
        }
        Ok(())
    }

    /// `/fork`: makes a copy, and continues in it.
    pub fn fork(&mut self, environment: &Environment) -> Result<(), Failure> {
        if self.is_empty()? {
            return Err(Failure::input(
                "there are no messages yet, so there is nothing to copy",
            ));
        }
        match self {
            ChatLocation::File(path) => {
                let copy = verbs::fork_file(path, None, None, false, environment)?;
                let old = path.display();
                let new = copy.display();
                ui::remark(&format!("you are in {new} now; {old} stays as it is"));
                *path = copy;
            }
            ChatLocation::Store { sessions, name } => {
                let copy = verbs::fork_session(sessions, name, None)?;
                let old = &*name.session;
                let new = &*copy.session;
                ui::remark(&format!(
                    "you are in session {new} now; {old} stays as it is"
                ));
                *name = copy;
            }
        }
        Ok(())
    }

    /// Whether a question has no answer.
    pub fn is_unanswered(&self, environment: &Environment) -> Result<bool, Failure> {
        match self {
            ChatLocation::File(path) => {
                Ok(read(path)?.is_some_and(|document| !document.unanswered().is_empty()))
            }
            ChatLocation::Store { .. } => Ok(self.conversation(environment)?.is_unanswered()),
        }
    }

    /// The cell or message of the last answer, if it broke off.
    fn broken_answer(&self, environment: &Environment) -> Result<Option<String>, Failure> {
        match self {
            ChatLocation::File(path) => {
                let Some(document) = read(path)? else {
                    return Ok(None);
                };
                let places = &environment.places;
                let file = FileConversation::dry_run_document(path, document, places)?;
                Ok(broken_cell(&file))
            }
            ChatLocation::Store { .. } => {
                let broken = broken_answer(&self.conversation(environment)?.snapshot());
                Ok(broken.map(|message| message.to_string()))
            }
        }
    }

    /// The same conversation as the target of a verb.
    fn as_verb_target(&self, environment: &Environment) -> verbs::VerbTarget {
        match self {
            ChatLocation::File(path) => verbs::VerbTarget::File(path.clone()),
            ChatLocation::Store { name, .. } => {
                let sessions = Sessions::of(environment);
                verbs::VerbTarget::Session {
                    sessions,
                    name: name.clone(),
                }
            }
        }
    }

    /// Whether the last answer broke off.
    pub fn has_broken_answer(&self, environment: &Environment) -> Result<bool, Failure> {
        Ok(self.broken_answer(environment)?.is_some())
    }

    /// Hides an answer that broke off, so that its question can be asked again. Returns whether
    /// there was one.
    pub fn hide_broken_answer(&self, environment: &Environment) -> Result<bool, Failure> {
        let Some(broken) = self.broken_answer(environment)? else {
            return Ok(false);
        };
        self.as_verb_target(environment)
            .perform(Verb::Drop(&broken), environment)?;
        Ok(true)
    }
}

/// The message before another one, skipping records that are not messages.
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

/// Reads a file; `None` if it does not exist yet. A file that is not UTF-8 is an error, because its
/// messages are uncertain.
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
            let line = problem.line;
            let column = problem.column;
            let message = problem.message;
            let failure = Failure::input(format!("{place}:{line}:{column}: {message}"));
            problem.hint.into_iter().fold(failure, Failure::or_hint)
        }
        None => Failure::input(format!("{place}: not UTF-8")),
    })
}

/// Lists the files at the end of a conversation: they are sent with the next prompt.
fn report_attached_files(conversation: &dyn Conversation) {
    let snapshot = conversation.snapshot();
    let chain = snapshot.chain();
    let sent = chain
        .messages
        .iter()
        .rev()
        .filter(|message| message.why_not_sent().is_none());
    let mut files: Vec<String> = sent.map_while(|message| attached_path(message)).collect();
    files.reverse();
    if !files.is_empty() {
        ui::remark(&format!(
            "still attached for the model: {}",
            files.join(", ")
        ));
    }
}

/// The path of the file that a message attaches.
fn attached_path(message: &Message) -> Option<String> {
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

/// The error for `/undo` in an empty conversation.
pub fn nothing_to_undo() -> Failure {
    Failure::input("there is nothing to take back")
}

#[cfg(test)]
mod tests {
    //! What counts as empty.

    use super::*;

    #[test]
    fn an_empty_cell_is_nothing_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.msg.md");
        let place = ChatLocation::File(path.clone());
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
