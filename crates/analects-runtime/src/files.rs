//! The files of the person, as a conversation has to do with them: shown to the model, and watched from then
//! on. A file is read through a [`FileGrant`], which a person gives and this machine remembers; the conversation only
//! names it. What the facts of a file mean is decided in [`analects_context`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use analects_context::{FileFacts, FileFreshness, FileText, REMINDERS, attach, reminders};
use analects_core::{Body, Message};
use analects_store::{FileGrant, FileGrants, FileState, OsIds, StoreError};
use jiff::Timestamp;

use crate::Conversation;
use crate::conversation::additions;

/// Why a file cannot be shown to a model.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// There is no such file, or it cannot be read.
    #[error("{0}: there is no such file, or it cannot be read")]
    Unreadable(PathBuf),
    /// It is a folder, a pipe or a device.
    #[error("{0}: a folder, a pipe or a device, not a file")]
    NoFile(PathBuf),
    /// The kernel makes it up.
    #[error("{0}: a file of /proc or /sys, which is not read")]
    MadeUp(PathBuf),
    /// It is no text.
    #[error("{0}: not text in UTF-8, or larger than 64 MB")]
    NoText(PathBuf),
    /// The conversation could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Shows a text file that a person named to the model: it goes into the conversation as it is now, and when it changes
/// later, the model is reminded of that. `by` says for the record who named it, and where.
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

/// What [`attach_file`] would add to a conversation in this folder. Nothing is written.
pub fn attachment_preview(folder: &Path, path: &Path) -> Result<Message, AttachError> {
    let (_, file) = read_named(folder, path)?;
    Ok(attach(&file))
}

fn read_named(folder: &Path, path: &Path) -> Result<(FileGrant, FileText), AttachError> {
    let Ok(grant) = FileGrant::from_user_path(path) else {
        return Err(why_not_read(path, false));
    };
    let Some((state, text)) = grant.read() else {
        return Err(why_not_read(path, grant.is_virtual()));
    };
    let text = text.ok_or_else(|| AttachError::NoText(path.to_path_buf()))?;
    let path = name(folder, grant.path());
    let facts = Some(facts(&state));
    Ok((
        grant,
        FileText {
            path,
            text,
            facts,
            grant: None,
        },
    ))
}

fn why_not_read(path: &Path, is_made_up: bool) -> AttachError {
    let path = path.to_path_buf();
    match path.metadata() {
        Ok(facts) if !facts.is_file() => AttachError::NoFile(path),
        Ok(_) if is_made_up => AttachError::MadeUp(path),
        _ => AttachError::Unreadable(path),
    }
}

/// The files of a conversation that may be read again, by the names that they have in it: those that a grant of this
/// machine stands for.
#[derive(Debug, Default)]
struct GrantedFiles {
    grants: BTreeMap<String, FileGrant>,
}

impl GrantedFiles {
    fn of(files: &FileFreshness, grants: Option<&FileGrants>) -> GrantedFiles {
        let mut found = BTreeMap::new();
        for path in files.paths() {
            let id = files.grant(path);
            if let Some(grant) = grants
                .zip(id)
                .and_then(|(grants, id)| grants.find(id, path))
            {
                found.insert(path.to_string(), grant);
            }
        }
        GrantedFiles { grants: found }
    }

    fn contains(&self, path: &str) -> bool {
        self.grants.contains_key(path)
    }

    fn facts(&self, path: &str) -> Option<FileFacts> {
        let (state, _) = self.grants.get(path)?.read()?;
        Some(facts(&state))
    }

    fn text(&self, path: &str, files: &FileFreshness) -> Option<FileText> {
        let (state, text) = self.grants.get(path)?.read()?;
        let grant = files.grant(path).map(str::to_string);
        Some(FileText {
            path: path.to_string(),
            text: text?,
            facts: Some(facts(&state)),
            grant,
        })
    }
}

/// Reminds the model of files that changed since it saw them, of those in `seen`; what it is told.
pub(crate) fn remind(
    conversation: &mut dyn Conversation,
    seen: &FileFreshness,
    grants: Option<&FileGrants>,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let mut notes = conversation.notes();
    notes.files.retain(|path| seen.facts(path).is_some());
    let (made, texts) = due_reminders(&mut notes.files, grants, now);
    if !made.is_empty() {
        conversation.set_notes(&notes);
        conversation.apply(additions(made), &[], now)?;
    }
    Ok(texts)
}

/// The reminders of files that changed since the model saw them, and what they say. Of a file without a grant of this
/// machine, the model is not even told whether it is there.
fn due_reminders(
    files: &mut FileFreshness,
    grants: Option<&FileGrants>,
    now: Timestamp,
) -> (Vec<Message>, Vec<String>) {
    let granted = GrantedFiles::of(files, grants);
    files.retain(|path| granted.contains(path));
    let stale = files.reminders(REMINDERS, |path| granted.facts(path));
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

/// The files that the model had to do with last, as they are now: at most `most`, and only those with a grant.
pub(crate) fn important(
    conversation: &dyn Conversation,
    grants: Option<&FileGrants>,
    most: usize,
) -> Vec<FileText> {
    let mut files = conversation.notes().files;
    let granted = GrantedFiles::of(&files, grants);
    files.retain(|path| granted.contains(path));
    let read = |path: &str| granted.text(path, &files);
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
/// together. The folder may be a stranger's word, so it is only compared and never looked up.
fn name(folder: &Path, file: &Path) -> String {
    let is_plain = folder.is_absolute() && folder.parent().is_some();
    let inside = file.strip_prefix(folder).ok().filter(|_| is_plain);
    inside.unwrap_or(file).to_string_lossy().into_owned()
}
