//! Answers that broke off: the next change of their file adds them.

use std::any::Any;
use std::path::{Path, PathBuf};

use analects_core::{Assistant, Body, Message, StopReason};
use analects_formats::msgfile::{CellsHash, Document};

use super::asked::{text_before, waiting_places};
use super::entry::{Header, lock_path};
use super::{Journal, TextHash, path_hash};
use crate::StoreError;
use crate::error::to;
use crate::vfs::Open;

/// The end of the name of an entry that can be an answer to a waiting question.
const OPEN: &str = ".jsonl";

/// The end of the name of an entry that found no place, and that only a person brings back.
const KEPT: &str = ".kept";

/// An answer that came into its file after it had broken off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredAnswer {
    /// The name of its cell.
    pub cell: String,
    /// Whether all of it had come.
    pub is_complete: bool,
}

/// An entry that nobody works on.
#[derive(Debug)]
pub(crate) struct BrokenOff {
    pub message: Message,
    header: Header,
    file: PathBuf,
    _lock: Option<Box<dyn Any + Send + Sync>>,
}

impl BrokenOff {
    /// The places of the cells that were asked, if all of them wait.
    pub(crate) fn places(&self, document: &Document) -> Option<Vec<usize>> {
        waiting_places(&self.header.asked, document).filter(|places| !places.is_empty())
    }

    /// Whether all of the answer had come.
    pub(crate) fn is_complete(&self) -> bool {
        !matches!(&self.message.body, Body::Assistant(Assistant { stop_reason, .. })
            if *stop_reason == Some(StopReason::Interrupted))
    }
}

/// What becomes of an entry that nobody works on.
enum Fate {
    /// Its question waits for it.
    Place(Box<BrokenOff>),
    /// It found no place, and a person may want it back.
    PutAway,
    /// It holds nothing that is not elsewhere.
    Remove,
}

impl Journal {
    /// Whether somebody is answering a question that waits in this document.
    pub fn is_under_way(&self, document: &Document, path: &Path) -> bool {
        let entries = self.entries_of(document, path);
        entries
            .iter()
            .any(|entry| entry.is_asked && self.is_locked(&entry.file))
    }

    /// The names of the cells that broken-off answers wait for, for whoever only reads.
    pub fn waiting_answers(&self, document: &Document, path: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for entry in self.entries_of(document, path) {
            if self.is_locked(&entry.file) {
                continue;
            }
            if let Some(Fate::Place(broken)) = self.fate(entry.file, document, path)
                && let Some(place) = broken
                    .places(document)
                    .and_then(|places| places.last().copied())
            {
                names.extend(
                    document
                        .cells()
                        .nth(place)
                        .map(|cell| cell.name().into_owned()),
                );
            }
        }
        names
    }

    /// Whether there may be entries that a writer of this file has to see to.
    pub(crate) fn has_entries(&self, document: &Document, path: &Path) -> bool {
        !self.entries_of(document, path).is_empty()
    }

    /// The answers that broke off and whose questions wait, for whoever writes to the file. The others are put away.
    pub(crate) fn take_broken_off(&self, document: &Document, path: &Path) -> Vec<BrokenOff> {
        let mut found = Vec::new();
        for MaybeOurs { file, .. } in self.entries_of(document, path) {
            let Ok(Some(lock)) = self.vfs.lock(&lock_path(&file)) else {
                continue;
            };
            match self.fate(file.clone(), document, path) {
                Some(Fate::Place(broken)) => found.push(BrokenOff {
                    _lock: Some(lock),
                    ..*broken
                }),
                Some(Fate::PutAway) => self.put_away(&file),
                Some(Fate::Remove) => self.remove_entry(&file),
                // One that was only begun.
                None if self.is_empty(&file) => self.remove_entry(&file),
                None => {}
            }
        }
        found
    }

    /// What is to become of an entry; `None` if it cannot be read.
    fn fate(&self, file: PathBuf, document: &Document, path: &Path) -> Option<Fate> {
        let entry = self.read_entry(&file)?;
        let is_settled = entry.settled.is_some();
        // A file that was written to since may have had the answer, and somebody deleted it.
        let state = self.state_of(path);
        let may_have_been_placed = entry
            .settled
            .as_ref()
            .is_some_and(|settled| *settled != state);
        let Some((mut header, message)) = entry.into_message() else {
            return Some(Fate::Remove);
        };
        // From now on it is about this file.
        header.path = path.to_string_lossy().into_owned();
        let broken = BrokenOff {
            message,
            header,
            file,
            _lock: None,
        };
        if broken.places(document).is_some() && !may_have_been_placed {
            Some(Fate::Place(Box::new(broken)))
        } else if is_settled {
            Some(Fate::Remove)
        } else {
            Some(Fate::PutAway)
        }
    }

    /// Keeps an answer by the hash of the cells in which it is about to stand in this file.
    pub(crate) fn settle_broken(
        &self,
        broken: &BrokenOff,
        cells: CellsHash,
        path: &Path,
    ) -> Result<(), StoreError> {
        self.settle(&broken.header, &broken.message, cells)?;
        let line = format!("\n{}", self.settled_line(path));
        let written = self
            .vfs
            .open(&broken.file, Open::Append)
            .and_then(|mut file| {
                file.write_all(line.as_bytes())?;
                file.sync()
            });
        written.map_err(to("write to", &broken.file))
    }

    /// Ends the entry of an answer that is in its file.
    pub(crate) fn end_broken(&self, broken: BrokenOff) {
        self.remove_entry(&broken.file);
    }

    fn put_away(&self, file: &Path) {
        // If it stays, it is looked at again the next time.
        if self
            .vfs
            .rename(file, &file.with_extension(&KEPT[1..]))
            .is_ok()
        {
            let _ = self.vfs.remove(&lock_path(file));
        }
    }

    /// Removes an entry. Its lock goes after it, so that whoever gets the lock of an entry that is gone finds nothing.
    pub(super) fn remove_entry(&self, file: &Path) {
        // What stays is looked at again the next time.
        let _ = self.vfs.remove(file);
        let _ = self.vfs.remove(&lock_path(file));
    }

    fn is_empty(&self, file: &Path) -> bool {
        self.vfs
            .facts(file)
            .is_ok_and(|facts| facts.is_file && facts.length == 0)
    }

    /// Whether somebody works on an entry.
    fn is_locked(&self, file: &Path) -> bool {
        let lock = lock_path(file);
        // To look must not make a file.
        self.vfs.facts(&lock).is_ok() && !matches!(self.vfs.lock(&lock), Ok(Some(_)))
    }

    /// The entries that belong to the file at this path.
    fn entries_of(&self, document: &Document, path: &Path) -> Vec<MaybeOurs> {
        let mut files = self.vfs.list(&self.asked_folder()).unwrap_or_default();
        files.retain(|file| file.to_string_lossy().ends_with(OPEN));
        if files.is_empty() {
            return Vec::new();
        }
        let mut cells = document.unanswered();
        cells.extend(document.cells().rfind(|cell| !cell.is_ready()));
        let texts: Vec<TextHash> = cells
            .iter()
            .map(|cell| TextHash::of(&cell.content()))
            .collect();
        let own = path_hash(path);
        let entries = files
            .into_iter()
            .map(|file| MaybeOurs::of(file, &texts, &own));
        let ours = entries.filter(|entry| self.is_ours(entry, document, path));
        let mut ours: Vec<MaybeOurs> = ours.collect();
        ours.sort_by(|one, other| one.file.cmp(&other.file));
        ours
    }

    /// Whether an entry was made for this file, or for one with the same question that has moved.
    fn is_ours(&self, entry: &MaybeOurs, document: &Document, path: &Path) -> bool {
        if entry.is_own || !entry.is_asked {
            return entry.is_own;
        }
        let Some(read) = self.read_entry(&entry.file) else {
            return false;
        };
        let places = waiting_places(&read.header.asked, document).unwrap_or_default();
        let first = places.first();
        self.can_be_told(&read.header, path)
            && first.is_some_and(|first| self.has_moved(&read.header, path, *first, document))
    }

    /// Whether what was noted for another path counts for the file at this one: the other leads here, or nowhere any
    /// more, and the same text stands before the question.
    pub(super) fn has_moved(
        &self,
        header: &Header,
        path: &Path,
        first: usize,
        document: &Document,
    ) -> bool {
        let leads_here = match self.vfs.real_path(Path::new(&header.path)) {
            Ok(real) => real == path,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        leads_here && text_before(first, document) == header.before
    }

    /// Whether the file at this path can be told from others that begin with the same question: something stands before
    /// the question, or the file system knows it as the same file.
    fn can_be_told(&self, header: &Header, path: &Path) -> bool {
        let is_same = || header.identity.is_some() && self.identity_of(path) == header.identity;
        header.before.is_some() || is_same()
    }

    /// The entries of answers that nobody works on, of those with a name that is wanted.
    pub(super) fn unlocked_entries(&self, is_wanted: impl Fn(&EntryName) -> bool) -> Vec<PathBuf> {
        let mut files = self.vfs.list(&self.asked_folder()).unwrap_or_default();
        files.retain(|file| {
            let name = file.to_string_lossy();
            let is_entry = name.ends_with(KEPT) || name.ends_with(OPEN);
            is_entry && is_wanted(&EntryName::of(file)) && !self.is_locked(file)
        });
        files
    }
}

/// What the name of an entry says.
pub(super) struct EntryName {
    /// The question's text.
    pub question: Option<TextHash>,
    /// The hash of its file's path.
    pub path: String,
}

impl EntryName {
    fn of(file: &Path) -> EntryName {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let mut parts = name.split('.');
        let question = parts.next().and_then(|text| text.parse().ok());
        EntryName {
            question,
            path: parts.next().unwrap_or_default().to_string(),
        }
    }
}

/// An entry, as far as its name tells.
struct MaybeOurs {
    file: PathBuf,
    /// Whether its question waits in the document.
    is_asked: bool,
    /// Whether it was made for this file.
    is_own: bool,
}

impl MaybeOurs {
    fn of(file: PathBuf, waiting: &[TextHash], own: &str) -> MaybeOurs {
        let name = EntryName::of(&file);
        let is_asked = name
            .question
            .is_some_and(|question| waiting.contains(&question));
        MaybeOurs {
            file,
            is_asked,
            is_own: name.path == own,
        }
    }
}
