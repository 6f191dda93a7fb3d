//! Files that a person attaches to a conversation. The model sees a file once and is reminded when it changes. Reading
//! one takes a [`FileGrant`], which a person gives and this machine stores; the conversation holds only the file's name.
//! [`analects_context`] decides what a change means.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use analects_context::{
    FileFacts, FileFreshness, FileText, REMINDERS, StaleFile, attach, reminders,
};
use analects_core::{Body, Message};
use analects_store::{FileGrant, FileGrants, FileState, OsIds, StoreError};
use jiff::Timestamp;

use crate::Conversation;
use crate::conversation::additions;

/// Why a file cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The file does not exist or cannot be read.
    #[error("{0}: there is no such file, or it cannot be read")]
    Unreadable(PathBuf),
    /// It is a folder, a pipe or a device.
    #[error("{0}: a folder, a pipe or a device, not a file")]
    NoFile(PathBuf),
    /// The kernel makes the content up, as in `/proc`, so it cannot be watched.
    #[error("{0}: a file of /proc or /sys, which is not read")]
    MadeUp(PathBuf),
    /// It is not UTF-8 text, or too large.
    #[error("{0}: not text in UTF-8, or larger than 64 MB")]
    NoText(PathBuf),
    /// The conversation could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Adds a text file that a person named to the conversation, as it is now. When it changes, later turns remind the model
/// of that. `by` records who named the file, and where.
/// The path may be relative to the current folder. Without `grants` the file is attached, but no later turn reads it
/// again.
pub fn attach_file(
    conversation: &mut dyn Conversation,
    grants: Option<&FileGrants>,
    path: &Path,
    by: &str,
    now: Timestamp,
) -> Result<(), AttachError> {
    let (grant, mut file) = read_named(&conversation.notes().folder, path)?;
    if let Some(grants) = grants {
        file.grant = grants.record(&grant, &file.path, by, now)?;
    }
    if let Some(facts) = &file.facts {
        let mut notes = conversation.notes();
        notes.files.read(&file.path, facts.clone(), now);
        conversation.set_notes(&notes);
    }
    let message = Message {
        created_at: Some(now),
        ..attach(&file)
    };
    conversation.apply(additions([message]), &[], now)?;
    Ok(())
}

/// The message that [`attach_file`] would add to a conversation in this folder. Writes nothing.
/// Fails as [`attach_file`] would, so a caller can check all files before it writes the first.
pub fn attachment_preview(folder: &Path, path: &Path) -> Result<Message, AttachError> {
    let (_, file) = read_named(folder, path)?;
    Ok(attach(&file))
}

/// Whether the conversation has this file already. Its later changes are reminders.
pub(crate) fn is_attached(
    conversation: &dyn Conversation,
    path: &Path,
) -> Result<bool, AttachError> {
    let notes = conversation.notes();
    let (_, file) = read_named(&notes.folder, path)?;
    Ok(notes.files.facts(&file.path).is_some())
}

/// Reads a file by the path that a person typed, and names it relative to the folder of the conversation.
fn read_named(folder: &Path, path: &Path) -> Result<(FileGrant, FileText), AttachError> {
    let Ok(grant) = FileGrant::from_user_path(path) else {
        return Err(why_not_read(path, false));
    };
    let Some((state, text)) = grant.read() else {
        return Err(why_not_read(path, grant.is_virtual()));
    };
    let Some(text) = text else {
        return Err(AttachError::NoText(path.to_path_buf()));
    };
    let file = FileText {
        path: name_in(folder, grant.path()),
        text,
        facts: Some(facts_of(&state)),
        grant: None,
    };
    Ok((grant, file))
}

/// Finds the reason for the message after reading failed. The file may have changed meanwhile, so this looks again and
/// settles for "unreadable" if nothing explains it.
fn why_not_read(path: &Path, is_made_up: bool) -> AttachError {
    let path = path.to_path_buf();
    match path.metadata() {
        Ok(metadata) if !metadata.is_file() => AttachError::NoFile(path),
        Ok(_) if is_made_up => AttachError::MadeUp(path),
        _ => AttachError::Unreadable(path),
    }
}

/// The files of a conversation that this machine has a grant for, by their names in the conversation. Only these are
/// read again.
#[derive(Debug, Default)]
struct GrantedFiles {
    grants: BTreeMap<String, FileGrant>,
}

impl GrantedFiles {
    fn of(files: &FileFreshness, grants: Option<&FileGrants>) -> GrantedFiles {
        let mut granted = GrantedFiles::default();
        let Some(grants) = grants else {
            return granted;
        };
        for path in files.paths() {
            let grant = files.grant(path).and_then(|id| grants.find(id, path));
            if let Some(grant) = grant {
                granted.grants.insert(path.to_string(), grant);
            }
        }
        granted
    }

    fn contains(&self, path: &str) -> bool {
        self.grants.contains_key(path)
    }

    /// The facts of a file as it is now; `None` if it is gone.
    fn facts(&self, path: &str) -> Option<FileFacts> {
        let (state, _) = self.grants.get(path)?.read()?;
        Some(facts_of(&state))
    }

    /// A file as it is now; `None` if it is gone or no longer text.
    fn text(&self, path: &str, files: &FileFreshness) -> Option<FileText> {
        let (state, text) = self.grants.get(path)?.read()?;
        Some(FileText {
            path: path.to_string(),
            text: text?,
            facts: Some(facts_of(&state)),
            grant: files.grant(path).map(str::to_string),
        })
    }
}

/// Reminds the model of the files in `seen` that changed since it saw them. Returns the texts of the reminders.
pub(crate) fn remind(
    conversation: &mut dyn Conversation,
    seen: &FileFreshness,
    grants: Option<&FileGrants>,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let mut notes = conversation.notes();
    notes.files.retain(|path| seen.facts(path).is_some());
    let stale = stale_files(&mut notes.files, grants);
    let texts: Vec<String> = stale.iter().map(|file| file.text.clone()).collect();
    let messages = reminder_messages(&stale, &texts, now);
    if !messages.is_empty() {
        conversation.set_notes(&notes);
        conversation.apply(additions(messages), &[], now)?;
    }
    Ok(texts)
}

/// The files that changed since the model saw them. Files without a grant are left out: the model must not even learn
/// whether they exist.
fn stale_files(files: &mut FileFreshness, grants: Option<&FileGrants>) -> Vec<StaleFile> {
    let granted = GrantedFiles::of(files, grants);
    files.retain(|path| granted.contains(path));
    files.reminders(REMINDERS, |path| granted.facts(path))
}

fn reminder_messages(stale: &[StaleFile], texts: &[String], now: Timestamp) -> Vec<Message> {
    // The conversation links the messages itself, so their parent does not matter.
    let parent = Message::user("", "");
    let mut messages = reminders(texts, &parent, &mut OsIds, now);
    for (message, stale) in messages.iter_mut().zip(stale) {
        if let Body::Attachment(attachment) = &mut message.body {
            attachment.data = Some(stale.data());
        }
    }
    messages
}

/// The files that the model used last, as they are now: at most `most`, and only those with a grant.
pub(crate) fn important(
    conversation: &dyn Conversation,
    grants: Option<&FileGrants>,
    most: usize,
) -> Vec<FileText> {
    let mut files = conversation.notes().files;
    let granted = GrantedFiles::of(&files, grants);
    files.retain(|path| granted.contains(path));
    let paths = files.important(most).into_iter();
    paths
        .filter_map(|path| granted.text(path, &files))
        .collect()
}

fn facts_of(state: &FileState) -> FileFacts {
    let (seconds, nanoseconds) = state.modified;
    let nanoseconds = i32::try_from(nanoseconds).unwrap_or(0);
    FileFacts {
        modified: Timestamp::new(seconds, nanoseconds).unwrap_or_default(),
        size: state.size,
        hash: state.hash.clone(),
    }
}

/// The name of a file in a conversation: relative to the conversation's folder if it is inside, so that both can be
/// moved together. A stranger may have chosen the folder, so it is compared as text and never opened.
fn name_in(folder: &Path, file: &Path) -> String {
    let is_below_root = folder.is_absolute() && folder.parent().is_some();
    let inside = file.strip_prefix(folder).ok().filter(|_| is_below_root);
    inside.unwrap_or(file).to_string_lossy().into_owned()
}
