//! The files of the person, as a conversation has to do with them: shown to the model, and watched from then
//! on. What their facts mean is decided in [`analects_context`].

use std::path::{Path, PathBuf};

use analects_context::{FileFacts, FileFreshness, FileText, REMINDERS, attach, reminders};
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
    /// It is a folder, a pipe or a device.
    #[error("{0}: a folder, a pipe or a device, not a file")]
    NoFile(PathBuf),
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
    let (file, facts) = read(&conversation.folder(), path)?;
    conversation.note_shown(&file.path)?;
    let mut notes = conversation.notes();
    notes.files.read(&file.path, facts, now);
    conversation.set_notes(&notes);
    let message = Message { created_at: Some(now), ..attach(&file) };
    conversation.add(vec![message], now)?;
    Ok(())
}

/// What [`attach_file`] would add to a conversation in this folder. Nothing is written.
pub fn attached(folder: &Path, path: &Path) -> Result<Message, NotAttached> {
    Ok(attach(&read(folder, path)?.0))
}

fn read(folder: &Path, path: &Path) -> Result<(FileText, FileFacts), NotAttached> {
    let Some((state, text)) = FileState::read(path) else {
        let is_other = path.metadata().is_ok_and(|facts| !facts.is_file());
        let why = if is_other { NotAttached::NoFile } else { NotAttached::Unreadable };
        return Err(why(path.to_path_buf()));
    };
    let text = text.ok_or_else(|| NotAttached::NoText(path.to_path_buf()))?;
    let facts = facts(&state);
    Ok((FileText { path: name(folder, path), text, facts: Some(facts.clone()) }, facts))
}

/// Reminds the model of files that changed since it saw them; what it is told.
pub(crate) fn remind(
    conversation: &mut dyn Conversation,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let mut notes = conversation.notes();
    let is_ours = |path: &str| conversation.was_shown_here(path);
    let (made, texts) = due_reminders(&mut notes.files, &conversation.folder(), &is_ours, now);
    if !made.is_empty() {
        conversation.set_notes(&notes);
        conversation.add(made, now)?;
    }
    Ok(texts)
}

/// The reminders of files that changed since the model saw them, and what they say. Nothing is written. `is_ours` says
/// which files were shown here: of one that a stranger names, the model is not even told whether it is there.
pub fn due_reminders(
    files: &mut FileFreshness,
    folder: &Path,
    is_ours: &dyn Fn(&str) -> bool,
    now: Timestamp,
) -> (Vec<Message>, Vec<String>) {
    files.retain(is_ours);
    let stale =
        files.reminders(REMINDERS, |path| FileState::of(&folder.join(path)).as_ref().map(facts));
    let texts: Vec<String> = stale.iter().map(|stale| stale.text.clone()).collect();
    // Where they belong is the business of the conversation.
    let mut made = reminders(&texts, &Message::user("", ""), &mut OsIds, now);
    for (message, stale) in made.iter_mut().zip(&stale) {
        if let Body::Attachment(attachment) = &mut message.body {
            attachment.data = Some(stale.data());
        }
    }
    (made, texts)
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
