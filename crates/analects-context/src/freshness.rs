//! Tracks which files an agent has seen in their current state. File facts are arguments; this module decides what they
//! mean. A conversation records the rest itself: attachments say which file was shown in which state, and reminders say
//! which changes the model knows of.

use std::collections::{BTreeMap, BTreeSet};

use analects_core::{AttachmentKind, Body, Message, Raw, RawMap};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The facts of a file at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Its modification time according to the file system.
    pub modified: Timestamp,
    /// Its size in bytes.
    pub size: u64,
    /// A hash of its content. Without one, a change that keeps time and size goes unnoticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl FileFacts {
    /// Returns whether the content differs: by size, else by hash if both are known, else by time.
    fn differs(&self, other: &FileFacts) -> bool {
        if self.size != other.size {
            return true;
        }
        match (&self.hash, &other.hash) {
            (Some(own), Some(others)) => own != others,
            _ => self.modified != other.modified,
        }
    }
}

/// The state of a file compared with what the agent has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// The file is as the agent last saw it.
    Fresh,
    /// Someone else changed the file.
    ModifiedExternally,
    /// The file no longer exists.
    Deleted,
    /// The agent has never seen the file.
    Untracked,
}

impl Freshness {
    /// The name of the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Freshness::Fresh => "fresh",
            Freshness::ModifiedExternally => "modified externally",
            Freshness::Deleted => "deleted",
            Freshness::Untracked => "untracked",
        }
    }
}

/// What is known about a file that the agent has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TrackedFile {
    facts: FileFacts,
    read_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edited_at: Option<Timestamp>,
    /// The state that the model was last reminded of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reminded: Option<RemindedState>,
    /// The id of the grant to read it again, from the message that showed the file.
    #[serde(skip)]
    grant: Option<String>,
}

/// A state that the model was reminded of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RemindedState {
    Gone,
    Changed(FileFacts),
}

impl RemindedState {
    /// Returns whether another reminder would say the same.
    fn is_same(&self, other: &RemindedState) -> bool {
        match (self, other) {
            (RemindedState::Changed(before), RemindedState::Changed(now)) => !before.differs(now),
            (RemindedState::Gone, RemindedState::Gone) => true,
            _ => false,
        }
    }
}

/// The reminder about a file that changed.
fn changed_text(path: &str) -> String {
    format!(
        "The file {path} was changed by somebody else since you last saw it. Read it again before you \
         rely on it or change it."
    )
}

/// The reminder about a file that is gone.
fn gone_text(path: &str) -> String {
    format!("The file {path}, which you have seen, is no longer there.")
}

impl TrackedFile {
    /// The time of the last read or edit.
    fn accessed_at(&self) -> Timestamp {
        self.edited_at
            .map_or(self.read_at, |edited| edited.max(self.read_at))
    }
}

/// A file that changed since the model saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleFile {
    /// Its path.
    pub path: String,
    /// Its current facts; `None` if it is gone.
    pub now: Option<FileFacts>,
    /// The text of the reminder.
    pub text: String,
}

/// The files that the agent of a session has seen.
///
/// ```
/// use analects_context::{FileFacts, FileFreshness, Freshness};
/// use jiff::Timestamp;
///
/// let second = |second| Timestamp::new(second, 0).unwrap_or_default();
/// let facts = |hash: &str| FileFacts { modified: second(7), size: 3, hash: Some(hash.into()) };
/// let mut files = FileFreshness::default();
/// files.read("src/lib.rs", facts("one"), second(8));
/// assert_eq!(files.check("src/lib.rs", Some(&facts("one"))), Freshness::Fresh);
/// // Modified in the same second, and of the same length.
/// assert_eq!(files.check("src/lib.rs", Some(&facts("two"))), Freshness::ModifiedExternally);
/// ```
#[doc(alias = "FileFreshnessService")]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileFreshness {
    files: BTreeMap<String, TrackedFile>,
    /// Files that changed since the agent saw them.
    conflicts: BTreeSet<String>,
}

impl FileFreshness {
    /// Returns whether no file is tracked.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.conflicts.is_empty()
    }

    /// Records that the agent read a file.
    #[doc(alias = "record_file_read")]
    pub fn read(&mut self, path: &str, facts: FileFacts, now: Timestamp) {
        let edited_at = self.files.get(path).and_then(|known| known.edited_at);
        self.conflicts.remove(path);
        let known = TrackedFile {
            facts,
            read_at: now,
            edited_at,
            reminded: None,
            grant: None,
        };
        self.files.insert(path.to_string(), known);
    }

    /// Records that the agent edited a file. `facts` describe it after the edit.
    #[doc(alias = "record_file_edit")]
    pub fn edited(&mut self, path: &str, facts: FileFacts, now: Timestamp) {
        let read_at = self.files.get(path).map_or(now, |known| known.read_at);
        self.conflicts.remove(path);
        let known = TrackedFile {
            facts,
            read_at,
            edited_at: Some(now),
            reminded: None,
            grant: None,
        };
        self.files.insert(path.to_string(), known);
    }

    /// Compares a file with what the agent saw; `now` is `None` for a missing file. Changes are added to the conflicts.
    #[doc(alias = "check_file_freshness")]
    pub fn check(&mut self, path: &str, now: Option<&FileFacts>) -> Freshness {
        let freshness = self.compare(path, now);
        match freshness {
            Freshness::ModifiedExternally | Freshness::Deleted => {
                self.conflicts.insert(path.to_string());
            }
            Freshness::Fresh => {
                self.conflicts.remove(path);
            }
            Freshness::Untracked => {}
        }
        freshness
    }

    /// Compares a file without noting conflicts.
    fn compare(&self, path: &str, now: Option<&FileFacts>) -> Freshness {
        match (self.files.get(path), now) {
            (None, _) => Freshness::Untracked,
            (Some(_), None) => Freshness::Deleted,
            (Some(known), Some(now)) if known.facts.differs(now) => Freshness::ModifiedExternally,
            _ => Freshness::Fresh,
        }
    }

    /// Returns whether [`FileFreshness::check`] needs a hash: a file of another size has changed, and an unknown file
    /// is untracked, whatever its content.
    pub fn needs_hash(&self, path: &str, size: u64) -> bool {
        self.files
            .get(path)
            .is_some_and(|known| known.facts.size == size)
    }

    /// The facts of a file when the agent last saw it.
    pub fn facts(&self, path: &str) -> Option<&FileFacts> {
        Some(&self.files.get(path)?.facts)
    }

    /// The id of the grant to read a file again. Only the machine that issued a grant knows whether it is valid.
    pub fn grant(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.grant.as_deref()
    }

    /// Copies the grants of files that are tracked here from another tracker.
    pub fn take_grants(&mut self, from: &FileFreshness) {
        for (path, known) in &mut self.files {
            known.grant = from.grant(path).map(str::to_string);
        }
    }

    /// Merges newer knowledge from another tracker.
    pub fn take_over(&mut self, newer: &FileFreshness) {
        for (path, known) in &newer.files {
            self.files.insert(path.clone(), known.clone());
            self.conflicts.remove(path);
        }
        self.conflicts.extend(newer.conflicts.iter().cloned());
    }

    /// Forgets all other files, such as those that the model no longer sees.
    pub fn retain(&mut self, mut stays: impl FnMut(&str) -> bool) {
        self.files.retain(|path, _| stays(path));
        self.conflicts.retain(|path| stays(path));
    }

    /// Iterates over the paths of all files, in alphabetical order.
    #[doc(alias = "session_files")]
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Iterates over the files that changed, and that the agent has not read since.
    #[doc(alias = "edit_conflicts")]
    pub fn conflicts(&self) -> impl Iterator<Item = &str> {
        self.conflicts.iter().map(String::as_str)
    }

    /// The time of the agent's last edit of a file.
    pub fn edited_at(&self, path: &str) -> Option<Timestamp> {
        self.files.get(path)?.edited_at
    }

    /// Returns a reminder for each changed file, in alphabetical order: one per change, not one per turn, and at most
    /// `most`. The rest follows with the next call. `facts` returns the current facts of a file.
    pub fn reminders(
        &mut self,
        most: usize,
        facts: impl Fn(&str) -> Option<FileFacts>,
    ) -> Vec<StaleFile> {
        let paths: Vec<String> = self.files.keys().cloned().collect();
        let stale = paths.iter().filter_map(|path| {
            let now = facts(path);
            let text = self.reminder(path, now.as_ref())?;
            Some(StaleFile {
                path: path.clone(),
                now,
                text,
            })
        });
        stale.take(most).collect()
    }

    /// Records that the model was reminded of this state of a file; `None` means that it is gone.
    pub fn reminded(&mut self, path: &str, now: Option<FileFacts>) {
        if let Some(known) = self.files.get_mut(path) {
            known.reminded = Some(now.map_or(RemindedState::Gone, RemindedState::Changed));
        }
    }

    /// Returns the text of a reminder, if the file changed since the last one.
    fn reminder(&mut self, path: &str, now: Option<&FileFacts>) -> Option<String> {
        let freshness = self.check(path, now);
        let known = self.files.get_mut(path)?;
        let (state, text) = match (freshness, now) {
            (Freshness::ModifiedExternally, Some(now)) => {
                (RemindedState::Changed(now.clone()), changed_text(path))
            }
            (Freshness::Deleted, _) => (RemindedState::Gone, gone_text(path)),
            _ => {
                known.reminded = None;
                return None;
            }
        };
        let is_repeated = known
            .reminded
            .as_ref()
            .is_some_and(|reminded| reminded.is_same(&state));
        known.reminded = Some(state);
        (!is_repeated).then_some(text)
    }

    /// Returns the files that the agent used last, at most `most`, without those of dependencies and builds.
    #[doc(alias = "get_important_files")]
    pub fn important(&self, most: usize) -> Vec<&str> {
        let mut files: Vec<(&String, &TrackedFile)> =
            self.files.iter().filter(|(path, _)| is_own(path)).collect();
        files.sort_by_key(|(_, known)| std::cmp::Reverse(known.accessed_at()));
        files
            .into_iter()
            .take(most)
            .map(|(path, _)| path.as_str())
            .collect()
    }

    /// Returns everything as JSON, to store with the session.
    pub fn snapshot(&self) -> Raw {
        let json = serde_json::to_string(self).unwrap_or_default();
        Raw::parse(&json).unwrap_or_else(|_| Raw::empty_object())
    }

    /// Reads the JSON of [`FileFreshness::snapshot`]. Anything else yields an empty tracker.
    pub fn from_snapshot(raw: &Raw) -> FileFreshness {
        raw.to().unwrap_or_default()
    }
}

/// Folders with files of other tools. Only whole names count: `.git` is one of them, `.github` is not.
const FOREIGN_FOLDERS: [&str; 26] = [
    ".cache",
    ".git",
    ".gradle",
    ".hg",
    ".idea",
    ".mypy_cache",
    ".next",
    ".nuxt",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".terraform",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "bower_components",
    "build",
    "coverage",
    "dist",
    "node_modules",
    "out",
    "site-packages",
    "target",
    "vendor",
    "venv",
];

/// Returns whether a file is in none of these folders. Both kinds of slashes separate, on any machine.
fn is_own(path: &str) -> bool {
    let mut folders: Vec<&str> = path.split(['/', '\\']).collect();
    folders.pop();
    !folders
        .iter()
        .any(|folder| FOREIGN_FOLDERS.contains(folder))
}

/// Returns the data of an attachment that shows a file.
pub(crate) fn attachment_data(path: &str, facts: Option<&FileFacts>, grant: Option<&str>) -> Raw {
    let mut data = RawMap::new();
    data.push("path", Raw::string(path));
    if let Some(facts) = facts.and_then(to_raw) {
        data.push("facts", facts);
    }
    if let Some(grant) = grant {
        data.push("grant", Raw::string(grant));
    }
    data.to_raw()
}

fn to_raw(facts: &FileFacts) -> Option<Raw> {
    serde_json::to_string(facts)
        .ok()
        .and_then(|json| Raw::parse(&json).ok())
}

impl StaleFile {
    /// Returns the data of the reminder, so that nobody is reminded twice.
    pub fn data(&self) -> Raw {
        attachment_data(&self.path, self.now.as_ref(), None)
    }
}

impl FileFreshness {
    /// Reads what the messages of a conversation record about files. Messages that are not sent do not count.
    pub fn recorded<'a>(messages: impl IntoIterator<Item = &'a Message>) -> FileFreshness {
        let mut files = FileFreshness::default();
        for message in messages {
            if message.why_not_sent().is_none() {
                files.add_recorded(message);
            }
        }
        files
    }

    /// Reads what one message records about a file.
    fn add_recorded(&mut self, message: &Message) -> Option<()> {
        let Body::Attachment(attachment) = &message.body else {
            return None;
        };
        let data = attachment.data.as_ref()?.as_object()?;
        let path = data.string("path")?;
        let facts: Option<FileFacts> = data.get("facts").and_then(Raw::to);
        match (&attachment.kind, facts) {
            (AttachmentKind::File, Some(facts)) => {
                self.read(&path, facts, message.created_at.unwrap_or_default());
                self.files.get_mut(&path)?.grant = data.string("grant");
            }
            (AttachmentKind::Reminder, facts) => self.reminded(&path, facts),
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
