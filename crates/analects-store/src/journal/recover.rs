//! Answers that broke off: the next change of their file brings in what came of them.

use std::any::Any;
use std::path::{Path, PathBuf};

use analects_core::{Assistant, Body, Message, StopReason};
use analects_formats::msgfile::{CellsHash, Document};

use super::asked::CellFinder;
use super::entry::{Entry, Header};
use super::{Journal, TextHash};
use crate::StoreError;

/// The end of the name of an entry that can be answers to a waiting question.
const OPEN: &str = ".jsonl";

/// The end of the name of an entry that found no place, and that only a person brings back.
pub(super) const KEPT: &str = ".kept";

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
    pub header: HeaderOf,
    pub message: Message,
    file: PathBuf,
    _lock: Box<dyn Any + Send + Sync>,
}

/// The header of an entry, for those outside of the journal who need not know what is in it.
#[derive(Debug, Clone)]
pub(crate) struct HeaderOf(pub(super) Header);

impl BrokenOff {
    /// The places of the cells that were asked, if all of them wait.
    pub(crate) fn places(&self, document: &Document) -> Option<Vec<usize>> {
        CellFinder::new(document).waiting_places(&self.header.0.asked)
    }

    /// Whether all of the answer had come.
    pub(crate) fn is_complete(&self) -> bool {
        !matches!(&self.message.body, Body::Assistant(Assistant { stop_reason, .. })
            if *stop_reason == Some(StopReason::Interrupted))
    }
}

/// Whether an answer to a file's question is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lookup {
    /// Look at entries, and leave them as they are.
    Only,
    /// Put away entries that have no place.
    AndPutAway,
}

impl Journal {
    /// Whether somebody is answering a question that waits in this document.
    pub fn is_under_way(&self, document: &Document, path: &Path) -> bool {
        self.entries_about(document, path).iter().any(|file| self.lock_of(file).is_none())
    }

    /// The names of the cells that broke-off answers wait for, for whoever only reads.
    pub fn waiting_answers(&self, document: &Document, path: &Path) -> Vec<String> {
        let broken = self.broken_off(document, path, Lookup::Only);
        let names = broken.iter().filter_map(|broken| {
            let place = *broken.places(document)?.last()?;
            Some(document.cells().nth(place)?.name().into_owned())
        });
        names.collect()
    }

    /// The answers that broke off and whose questions wait, for whoever writes to the file. The others are put away.
    pub(crate) fn take_broken_off(&self, document: &Document, path: &Path) -> Vec<BrokenOff> {
        self.broken_off(document, path, Lookup::AndPutAway)
    }

    fn broken_off(&self, document: &Document, path: &Path, lookup: Lookup) -> Vec<BrokenOff> {
        let files = match lookup {
            Lookup::Only => self.entries_about(document, path),
            Lookup::AndPutAway => self.entries_of(path),
        };
        let cells = CellFinder::new(document);
        let mut found = Vec::new();
        for file in files {
            let Some(lock) = self.lock_of(&file) else { continue };
            let Some(entry) = self.read_entry(&file) else { continue };
            let is_settled = entry.is_settled;
            let is_waiting = cells.waiting_places(&entry.header.asked).is_some();
            let Some((header, message)) = entry.into_message() else {
                // Nothing came of it.
                if lookup == Lookup::AndPutAway {
                    self.remove_entry(&file);
                }
                continue;
            };
            if is_waiting {
                found.push(BrokenOff { header: HeaderOf(header), message, file, _lock: lock });
            } else if lookup == Lookup::AndPutAway {
                if is_settled {
                    self.remove_entry(&file);
                } else {
                    let _ = self.vfs.rename(&file, &file.with_extension("kept"));
                    let _ = self.vfs.remove(&file.with_extension("lock"));
                }
            }
        }
        found
    }

    /// Keeps an answer by the hash of the cells in which it is about to stand.
    pub(crate) fn settle_broken(
        &self,
        broken: &BrokenOff,
        cells: CellsHash,
    ) -> Result<(), StoreError> {
        self.settle(&broken.header.0, &broken.message, cells)
    }

    /// Ends the entry of an answer that is in its file.
    pub(crate) fn end_broken(&self, broken: BrokenOff) {
        self.remove_entry(&broken.file);
    }

    pub(super) fn remove_entry(&self, file: &Path) {
        // What stays is looked at again the next time.
        let _ = self.vfs.remove(file);
        let _ = self.vfs.remove(&file.with_extension("lock"));
    }

    /// The lock of an entry; `None` if somebody else holds it.
    fn lock_of(&self, file: &Path) -> Option<Box<dyn Any + Send + Sync>> {
        self.vfs.lock(&file.with_extension("lock")).ok().flatten()
    }

    /// The entries whose question may stand in this document, and that belong to this file.
    fn entries_about(&self, document: &Document, path: &Path) -> Vec<PathBuf> {
        let files = self.open_entries();
        if files.is_empty() {
            return files;
        }
        let mut cells = document.unanswered();
        cells.extend(document.cells().rfind(|cell| !cell.is_ready()));
        let texts: Vec<String> =
            cells.iter().map(|cell| TextHash::of(&cell.content()).to_string()).collect();
        let is_about = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let is_asked = texts.iter().any(|text| name.starts_with(text.as_str()));
            is_asked && self.belongs_to(file, path)
        };
        files.into_iter().filter(is_about).collect()
    }

    /// The entries that belong to this file.
    fn entries_of(&self, path: &Path) -> Vec<PathBuf> {
        let files = self.open_entries().into_iter();
        files.filter(|file| self.belongs_to(file, path)).collect()
    }

    fn open_entries(&self) -> Vec<PathBuf> {
        let mut files = self.vfs.list(&self.asked_folder()).unwrap_or_default();
        files.retain(|file| file.to_string_lossy().ends_with(OPEN));
        files.sort();
        files
    }

    /// Whether an entry is about the file at this path.
    fn belongs_to(&self, file: &Path, path: &Path) -> bool {
        let header = self.read_entry(file).map(|entry: Entry| entry.header);
        header.is_some_and(|header| self.is_of(&header.path, path))
    }

    /// Whether what was noted for one path counts for another: they are the same, or the file has moved, and nothing
    /// is left where it was.
    pub(super) fn is_of(&self, noted: &str, path: &Path) -> bool {
        *noted == *path.to_string_lossy() || self.vfs.facts(Path::new(noted)).is_err()
    }
}
