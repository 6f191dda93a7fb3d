//! Which files an agent has seen as they are now. The facts about a file are arguments; here it is only decided
//! what they mean, and what a conversation itself records about them: attachments say which file was shown, and
//! what it was like; reminders say of what the model was told.

use std::collections::{BTreeMap, BTreeSet};

use analects_core::{Attachment, AttachmentKind, Body, Message, Raw, RawMap};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What a file is like at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// When it was last changed, as its file system says.
    pub modified: Timestamp,
    /// Its length in bytes.
    pub size: u64,
    /// A hash of its content; without one, a change that keeps time and size is not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl FileFacts {
    /// Whether the content is another. The hash decides where there are two of them, else time and size.
    fn differs(&self, other: &FileFacts) -> bool {
        match (&self.hash, &other.hash) {
            _ if self.size != other.size => true,
            (Some(mine), Some(theirs)) => mine != theirs,
            _ => self.modified != other.modified,
        }
    }
}

/// How a file stands to what the agent knows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// It is as the agent last saw it.
    Fresh,
    /// Somebody else changed it.
    ModifiedExternally,
    /// It is gone.
    Deleted,
    /// The agent never saw it.
    Untracked,
}

impl Freshness {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Freshness::Fresh => "fresh",
            Freshness::ModifiedExternally => "modified externally",
            Freshness::Deleted => "deleted",
            Freshness::Untracked => "untracked",
        }
    }
}

/// What is known about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    facts: FileFacts,
    read_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edited_at: Option<Timestamp>,
    /// The state that the model was reminded of: `None` inside stands for a deleted file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reminded: Option<Reminded>,
    /// The id of the right to read it again. It stands in the message that showed the file.
    #[serde(skip)]
    grant: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reminded {
    Gone,
    Changed(FileFacts),
}

impl Known {
    fn accessed_at(&self) -> Timestamp {
        self.edited_at
            .map_or(self.read_at, |edited| edited.max(self.read_at))
    }
}

/// A file of which the model knows something that no longer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Where it is.
    pub path: String,
    /// What it is like now; `None` if it is gone.
    pub now: Option<FileFacts>,
    /// What to tell the model.
    pub text: String,
}

/// The files of a session.
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
/// // In the same second, and of the same length.
/// assert_eq!(files.check("src/lib.rs", Some(&facts("two"))), Freshness::ModifiedExternally);
/// ```
#[doc(alias = "FileFreshnessService")]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileFreshness {
    files: BTreeMap<String, Known>,
    /// Files that changed behind the agent's back.
    conflicts: BTreeSet<String>,
}

impl FileFreshness {
    /// Whether the agent has to do with no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.conflicts.is_empty()
    }

    /// The agent read a file.
    #[doc(alias = "record_file_read")]
    pub fn read(&mut self, path: &str, facts: FileFacts, now: Timestamp) {
        let edited_at = self.files.get(path).and_then(|known| known.edited_at);
        self.conflicts.remove(path);
        let known = Known {
            facts,
            read_at: now,
            edited_at,
            reminded: None,
            grant: None,
        };
        self.files.insert(path.to_string(), known);
    }

    /// The agent changed a file; `facts` are those after its change.
    #[doc(alias = "record_file_edit")]
    pub fn edited(&mut self, path: &str, facts: FileFacts, now: Timestamp) {
        let read_at = self.files.get(path).map_or(now, |known| known.read_at);
        self.conflicts.remove(path);
        let known = Known {
            facts,
            read_at,
            edited_at: Some(now),
            reminded: None,
            grant: None,
        };
        self.files.insert(path.to_string(), known);
    }

    /// How a file stands now; `None` is one that is not there. A change is added to the conflicts.
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

    fn compare(&self, path: &str, now: Option<&FileFacts>) -> Freshness {
        match (self.files.get(path), now) {
            (None, _) => Freshness::Untracked,
            (Some(_), None) => Freshness::Deleted,
            (Some(known), Some(now)) if known.facts.differs(now) => Freshness::ModifiedExternally,
            _ => Freshness::Fresh,
        }
    }

    /// Whether the content has to be hashed to tell: a file of another size is another, and one that was never
    /// seen is untracked, whatever is in it.
    pub fn needs_hash(&self, path: &str, size: u64) -> bool {
        self.files
            .get(path)
            .is_some_and(|known| known.facts.size == size)
    }

    /// What a file was like when the agent last saw it.
    pub fn facts(&self, path: &str) -> Option<&FileFacts> {
        Some(&self.files.get(path)?.facts)
    }

    /// The id of the right to read a file again, as the conversation carries it. Whether it is worth anything, the
    /// machine that gave it knows.
    pub fn grant(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.grant.as_deref()
    }

    /// Takes over the grants of files that are known here, too.
    pub fn take_grants(&mut self, from: &FileFreshness) {
        for (path, known) in &mut self.files {
            known.grant = from.grant(path).map(str::to_string);
        }
    }

    /// Takes over what is known elsewhere, which is newer.
    pub fn take_over(&mut self, newer: &FileFreshness) {
        for (path, known) in &newer.files {
            self.files.insert(path.clone(), known.clone());
            self.conflicts.remove(path);
        }
        self.conflicts.extend(newer.conflicts.iter().cloned());
    }

    /// Forgets all files but these, such as those that the model does not see any more.
    pub fn retain(&mut self, mut stays: impl FnMut(&str) -> bool) {
        self.files.retain(|path, _| stays(path));
        self.conflicts.retain(|path| stays(path));
    }

    /// The files of the session, in the order of their names.
    #[doc(alias = "session_files")]
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Files that changed behind the agent's back, and that it has not read since.
    #[doc(alias = "edit_conflicts")]
    pub fn conflicts(&self) -> impl Iterator<Item = &str> {
        self.conflicts.iter().map(String::as_str)
    }

    /// When the agent last changed a file.
    pub fn edited_at(&self, path: &str) -> Option<Timestamp> {
        self.files.get(path)?.edited_at
    }

    /// A reminder for each stale file, in the order of their names: one for each change, not one a turn, and not
    /// more than `most`; the others have their turn the next time. `facts` tells what a file is like now.
    pub fn reminders(
        &mut self,
        most: usize,
        facts: impl Fn(&str) -> Option<FileFacts>,
    ) -> Vec<Stale> {
        let paths: Vec<String> = self.files.keys().cloned().collect();
        let stale = paths.iter().filter_map(|path| {
            let now = facts(path);
            let text = self.reminder(path, now.as_ref())?;
            Some(Stale {
                path: path.clone(),
                now,
                text,
            })
        });
        stale.take(most).collect()
    }

    /// The model was reminded that a file is like this now, or is gone.
    pub fn reminded(&mut self, path: &str, now: Option<FileFacts>) {
        if let Some(known) = self.files.get_mut(path) {
            known.reminded = Some(now.map_or(Reminded::Gone, Reminded::Changed));
        }
    }

    fn reminder(&mut self, path: &str, now: Option<&FileFacts>) -> Option<String> {
        let freshness = self.check(path, now);
        let known = self.files.get_mut(path)?;
        let (told, text) = match (freshness, now) {
            (Freshness::ModifiedExternally, Some(now)) => {
                let text = format!(
                    "The file {path} was changed by somebody else since you last saw it. Read it again before you \
                     rely on it or change it."
                );
                (Reminded::Changed(now.clone()), text)
            }
            (Freshness::Deleted, _) => (
                Reminded::Gone,
                format!("The file {path}, which you have seen, is no longer there."),
            ),
            _ => {
                known.reminded = None;
                return None;
            }
        };
        let is_new = match (&known.reminded, &told) {
            (Some(Reminded::Changed(before)), Reminded::Changed(now)) => before.differs(now),
            (Some(Reminded::Gone), Reminded::Gone) => false,
            _ => true,
        };
        known.reminded = Some(told);
        is_new.then_some(text)
    }

    /// The files that matter most: those that the agent had to do with last, without what belongs to
    /// dependencies and builds, at most so many.
    #[doc(alias = "get_important_files")]
    pub fn important(&self, most: usize) -> Vec<&str> {
        let mut files: Vec<(&String, &Known)> =
            self.files.iter().filter(|(path, _)| is_own(path)).collect();
        files.sort_by_key(|(_, known)| std::cmp::Reverse(known.accessed_at()));
        files
            .into_iter()
            .take(most)
            .map(|(path, _)| path.as_str())
            .collect()
    }

    /// Everything that is known, as JSON, to be kept with the session.
    pub fn snapshot(&self) -> Raw {
        let json = serde_json::to_string(self).unwrap_or_default();
        Raw::parse(&json).unwrap_or_else(|_| Raw::empty_object())
    }

    /// Reads what [`FileFreshness::snapshot`] wrote; anything else is as if no file was seen.
    pub fn from_snapshot(raw: &Raw) -> FileFreshness {
        raw.to().unwrap_or_default()
    }
}

/// Folders that others fill. Only a whole name counts: `.git` is one of them, `.github` is not.
const FOREIGN: [&str; 26] = [
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

/// Whether a file is in none of these folders. Both kinds of slashes separate, whatever the machine.
fn is_own(path: &str) -> bool {
    let mut folders: Vec<&str> = path.split(['/', '\\']).collect();
    folders.pop();
    !folders.iter().any(|folder| FOREIGN.contains(folder))
}

/// What an attachment says about the file in it.
pub(crate) fn seen(path: &str, facts: Option<&FileFacts>, grant: Option<&str>) -> Raw {
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

impl Stale {
    /// What a reminder of this says beside its text, so that nobody is reminded twice.
    pub fn data(&self) -> Raw {
        seen(&self.path, self.now.as_ref(), None)
    }
}

impl FileFreshness {
    /// What the messages that a model sees record about files. What is not sent, it has not seen.
    pub fn recorded<'a>(messages: impl IntoIterator<Item = &'a Message>) -> FileFreshness {
        let mut files = FileFreshness::default();
        for message in messages
            .into_iter()
            .filter(|message| message.why_not_sent().is_none())
        {
            let Body::Attachment(Attachment {
                kind,
                data: Some(data),
                ..
            }) = &message.body
            else {
                continue;
            };
            let Some(data) = data.as_object() else {
                continue;
            };
            let Some(path) = data.get("path").and_then(Raw::as_string) else {
                continue;
            };
            let facts: Option<FileFacts> = data.get("facts").and_then(Raw::to);
            match (kind, facts) {
                (AttachmentKind::File, Some(facts)) => {
                    files.read(&path, facts, message.created_at.unwrap_or_default());
                    let grant = data.get("grant").and_then(Raw::as_string);
                    if let (Some(known), Some(grant)) = (files.files.get_mut(&path), grant) {
                        known.grant = Some(grant);
                    }
                }
                (AttachmentKind::Reminder, facts) => files.reminded(&path, facts),
                _ => {}
            }
        }
        files
    }
}

#[cfg(test)]
mod tests;
