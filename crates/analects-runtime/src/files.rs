//! The files of the person, as a conversation has to do with them: shown to the model, and watched from then
//! on. What their facts mean is decided in [`analects_context`].

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use analects_context::{FileFacts, FileText, REMINDERS, attach, reminders};
use analects_core::{Body, Message};
use analects_store::{FileState, OsIds, StoreError};
use jiff::Timestamp;

use crate::Conversation;

/// Why a file cannot be shown to a model.
#[derive(Debug, thiserror::Error)]
pub enum NotAttached {
    /// There is no such file, or it cannot be read.
    #[error("{0}: there is no such file, or it cannot be read")]
    Unreadable(PathBuf),
    /// It is no text.
    #[error("{0}: not text in UTF-8, or larger than 64 MB")]
    NoText(PathBuf),
    /// The conversation could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Shows a text file to the model: it goes into the conversation as it is now, and when it changes later, the
/// model is reminded of that.
pub fn attach_file(
    conversation: &mut dyn Conversation,
    path: &Path,
    now: Timestamp,
) -> Result<(), NotAttached> {
    let (state, text) =
        FileState::read(path).ok_or_else(|| NotAttached::Unreadable(path.to_path_buf()))?;
    let text = text.ok_or_else(|| NotAttached::NoText(path.to_path_buf()))?;
    let (facts, path) = (facts(&state), name(&conversation.folder(), path));
    conversation.note_shown(&path)?;
    let mut notes = conversation.notes();
    notes.files.read(&path, facts.clone(), now);
    conversation.set_notes(&notes);
    let mut message = attach(&FileText { path, text, facts: Some(facts) });
    message.created_at = Some(now);
    conversation.add(vec![message], now)?;
    Ok(())
}

/// Reminds the model of files that changed since it saw them; what it is told.
pub(crate) fn remind(
    conversation: &mut dyn Conversation,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let mut notes = conversation.notes();
    let folder = conversation.folder();
    // Of a file that a stranger names, the model is not even told whether it is there.
    let known: Vec<String> = notes.files.paths().map(str::to_string).collect();
    let foreign = known.into_iter().filter(|path| !conversation.was_shown_here(path));
    let foreign: HashSet<String> = foreign.collect();
    notes.files.retain(|path| !foreign.contains(path));
    let stale = notes
        .files
        .reminders(REMINDERS, |path| FileState::of(&folder.join(path)).as_ref().map(facts));
    if stale.is_empty() {
        return Ok(Vec::new());
    }
    let texts: Vec<String> = stale.iter().map(|stale| stale.text.clone()).collect();
    // Where they belong is the business of the conversation.
    let mut made = reminders(&texts, &Message::user("", ""), &mut OsIds, now);
    for (message, stale) in made.iter_mut().zip(&stale) {
        if let Body::Attachment(attachment) = &mut message.body {
            attachment.data = Some(stale.data());
        }
    }
    conversation.set_notes(&notes);
    conversation.add(made, now)?;
    Ok(texts)
}

/// The files that the model had to do with last, as they are now: at most so many. What a conversation from elsewhere
/// names is only taken if it is what the model was shown.
pub(crate) fn important(conversation: &dyn Conversation, most: usize) -> Vec<FileText> {
    let (files, folder) = (conversation.notes().files, conversation.folder());
    let read = |path: &str| {
        let (state, text) = FileState::read(&folder.join(path))?;
        let facts = facts(&state);
        let is_known = || {
            let known = files.facts(path).and_then(|known| known.hash.as_ref());
            known.is_some() && known == facts.hash.as_ref()
        };
        let is_ours = conversation.was_shown_here(path) || is_known();
        is_ours.then_some(FileText { path: path.to_string(), text: text?, facts: Some(facts) })
    };
    files.important(most).into_iter().filter_map(read).collect()
}

fn facts(state: &FileState) -> FileFacts {
    let (seconds, nanoseconds) = state.modified;
    let nanoseconds = i32::try_from(nanoseconds).unwrap_or(0);
    FileFacts {
        modified: Timestamp::new(seconds, nanoseconds).unwrap_or_default(),
        size: state.size,
        hash: state.hash.clone(),
    }
}

/// What a file is called in a conversation: from its folder on where it is in there, so that both can be moved
/// together.
fn name(folder: &Path, path: &Path) -> String {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let (folder, path) = (whole(folder), whole(path));
    path.strip_prefix(&folder).unwrap_or(&path).to_string_lossy().into_owned()
}
