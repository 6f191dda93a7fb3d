//! Interrupted answers. The next change of their file adds them to it.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};

use analects_core::{Assistant, Body, Message, StopReason};
use analects_formats::msgfile::{CellsHash, Document};

use super::entry::{EntryHeader, lock_path};
use super::question::{text_before, waiting_positions};
use super::{Journal, TextHash, path_hash};
use crate::StoreError;
use crate::error::cannot;
use crate::vfs::OpenMode;

/// The end of the name of an entry whose answer may still go into its file.
const OPEN: &str = ".jsonl";

/// The end of the name of an entry whose question is gone. Only a person brings its answer back.
const KEPT: &str = ".kept";

/// An interrupted answer that was added to its file later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredAnswer {
    /// The name of its cell.
    pub cell: String,
    /// Whether the whole answer had arrived.
    pub is_complete: bool,
}

/// The answer of an entry that no process works on.
#[derive(Debug)]
pub(crate) struct InterruptedAnswer {
    /// The answer, or the part of it that arrived.
    pub message: Message,
    header: EntryHeader,
    /// The file of the entry.
    file: PathBuf,
    /// Keeps other processes from recovering the same answer; `None` while we only read.
    _lock: Option<Box<dyn Any + Send + Sync>>,
}

impl InterruptedAnswer {
    /// Returns the positions of the questions in a document, if all of them wait.
    pub(crate) fn positions(&self, document: &Document) -> Option<Vec<usize>> {
        waiting_positions(&self.header.questions, document)
            .filter(|positions| !positions.is_empty())
    }

    /// Returns whether the whole answer had arrived.
    pub(crate) fn is_complete(&self) -> bool {
        !matches!(&self.message.body, Body::Assistant(Assistant { stop_reason, .. })
            if *stop_reason == Some(StopReason::Interrupted))
    }
}

/// The action for an entry that no process works on.
enum EntryAction {
    /// Put the answer into the file: its question waits.
    Place(Box<InterruptedAnswer>),
    /// Put the entry aside: its question is gone, but a person may want the answer.
    PutAside,
    /// Remove the entry: its answer is saved elsewhere, or empty.
    Remove,
}

impl Journal {
    /// Returns whether another process is answering a question of this document.
    pub fn is_being_answered(&self, document: &Document, path: &Path) -> bool {
        let entries = self.entries_of(document, path);
        entries
            .iter()
            .any(|entry| entry.is_question_waiting && self.is_locked(&entry.file))
    }

    /// Returns the names of the cells whose interrupted answers the next change of the file adds. For readers; never
    /// writes.
    pub fn recoverable_cells(&self, document: &Document, path: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for entry in self.entries_of(document, path) {
            if self.is_locked(&entry.file) {
                continue;
            }
            let action = self.action_for(entry.file, document, path);
            if let Some(EntryAction::Place(answer)) = action {
                let positions = answer.positions(document).unwrap_or_default();
                let cell = positions
                    .last()
                    .and_then(|last| document.cells().nth(*last));
                names.extend(cell.map(|cell| cell.name().into_owned()));
            }
        }
        names
    }

    /// Returns whether there may be entries that a writer of this file must handle.
    pub(crate) fn has_entries(&self, document: &Document, path: &Path) -> bool {
        !self.entries_of(document, path).is_empty()
    }

    /// Returns the interrupted answers whose questions wait, for a writer of the file. Puts the other entries aside, or
    /// removes them.
    pub(crate) fn take_interrupted(
        &self,
        document: &Document,
        path: &Path,
    ) -> Vec<InterruptedAnswer> {
        let mut answers = Vec::new();
        for EntryCandidate { file, .. } in self.entries_of(document, path) {
            let Ok(Some(lock)) = self.vfs.lock(&lock_path(&file)) else {
                continue;
            };
            match self.action_for(file.clone(), document, path) {
                Some(EntryAction::Place(answer)) => answers.push(InterruptedAnswer {
                    _lock: Some(lock),
                    ..*answer
                }),
                Some(EntryAction::PutAside) => self.put_aside(&file),
                Some(EntryAction::Remove) => self.remove_entry(&file),
                // A kill came before the header was written.
                None if self.is_empty(&file) => self.remove_entry(&file),
                None => {}
            }
        }
        answers
    }

    /// Decides what to do with an entry; `None` if it cannot be read.
    fn action_for(&self, file: PathBuf, document: &Document, path: &Path) -> Option<EntryAction> {
        let entry = self.read_entry(&file)?;
        let state_at_placement = entry.placement_state.clone();
        // If the file was written to since, it may have held the answer, and a person may have deleted it.
        let current_state = self.file_state(path);
        let may_have_been_placed = state_at_placement
            .as_ref()
            .is_some_and(|state| *state != current_state);
        let Some((mut header, message)) = entry.into_message() else {
            return Some(EntryAction::Remove);
        };
        // The file may have moved since.
        header.path = path.to_string_lossy().into_owned();
        let answer = InterruptedAnswer {
            message,
            header,
            file,
            _lock: None,
        };
        if answer.positions(document).is_some() && !may_have_been_placed {
            return Some(EntryAction::Place(Box::new(answer)));
        }
        if state_at_placement.is_some() {
            return Some(EntryAction::Remove);
        }
        Some(EntryAction::PutAside)
    }

    /// Records that an interrupted answer is about to be put into this file, in cells with this hash.
    pub(crate) fn begin_recovery(
        &self,
        answer: &InterruptedAnswer,
        cells: CellsHash,
        path: &Path,
    ) -> Result<(), StoreError> {
        self.save_answer(&answer.header, &answer.message, cells)?;
        let line = format!("\n{}", self.placement_line(path));
        self.append_and_sync(&answer.file, &line)
            .map_err(cannot("write to", &answer.file))
    }

    /// Appends a line to an existing file and syncs it.
    fn append_and_sync(&self, file: &Path, line: &str) -> io::Result<()> {
        let mut open = self.vfs.open(file, OpenMode::Append)?;
        open.write_all(line.as_bytes())?;
        open.sync()
    }

    /// Removes the entry of an answer that is in its file now.
    pub(crate) fn end_recovery(&self, answer: InterruptedAnswer) {
        self.remove_entry(&answer.file);
    }

    /// Renames an entry so that only a person brings its answer back.
    fn put_aside(&self, file: &Path) {
        let aside = file.with_extension(&KEPT[1..]);
        // If the rename fails, the next writer tries again.
        if self.vfs.rename(file, &aside).is_ok() {
            let _ = self.vfs.remove(&lock_path(file));
        }
    }

    /// Removes an entry, and then its lock: whoever gets the lock of a removed entry finds nothing.
    pub(super) fn remove_entry(&self, file: &Path) {
        // If a removal fails, the next writer tries again.
        let _ = self.vfs.remove(file);
        let _ = self.vfs.remove(&lock_path(file));
    }

    /// Returns whether a file has no content.
    fn is_empty(&self, file: &Path) -> bool {
        self.vfs
            .metadata(file)
            .is_ok_and(|metadata| metadata.is_file && metadata.length == 0)
    }

    /// Returns whether a process works on an entry.
    fn is_locked(&self, file: &Path) -> bool {
        let lock = lock_path(file);
        // Without this check, `lock` would create the file.
        self.vfs.metadata(&lock).is_ok() && !matches!(self.vfs.lock(&lock), Ok(Some(_)))
    }

    /// Returns the entries that belong to the file at this path, sorted.
    fn entries_of(&self, document: &Document, path: &Path) -> Vec<EntryCandidate> {
        let mut files = self.vfs.list(&self.entries_folder()).unwrap_or_default();
        files.retain(|file| file.to_string_lossy().ends_with(OPEN));
        if files.is_empty() {
            return Vec::new();
        }
        let texts = texts_of_possible_questions(document);
        let own_path = path_hash(path);
        let mut entries = Vec::new();
        for file in files {
            let entry = EntryCandidate::of(file, &texts, &own_path);
            if self.belongs_to_file(&entry, document, path) {
                entries.push(entry);
            }
        }
        entries.sort_by(|one, other| one.file.cmp(&other.file));
        entries
    }

    /// Returns whether an entry was made for this file, or for a file with the same question that has moved here.
    fn belongs_to_file(&self, entry: &EntryCandidate, document: &Document, path: &Path) -> bool {
        if entry.has_own_path || !entry.is_question_waiting {
            return entry.has_own_path;
        }
        let Some(parsed) = self.read_entry(&entry.file) else {
            return false;
        };
        let positions = waiting_positions(&parsed.header.questions, document).unwrap_or_default();
        let first = positions.first();
        self.is_distinguishable(&parsed.header, path)
            && first.is_some_and(|first| self.has_moved(&parsed.header, path, *first, document))
    }

    /// Returns whether a record that was made for another path counts for the file at this one. That holds if the other
    /// path leads here or to nothing, and the text before the question is the same.
    pub(super) fn has_moved(
        &self,
        header: &EntryHeader,
        path: &Path,
        first: usize,
        document: &Document,
    ) -> bool {
        let leads_here = match self.vfs.real_path(Path::new(&header.path)) {
            Ok(real) => real == path,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        leads_here && text_before(first, document) == header.before
    }

    /// Returns whether the file at this path can be told from others that begin with the same question: a text precedes
    /// the question, or the identity of the file is the same.
    fn is_distinguishable(&self, header: &EntryHeader, path: &Path) -> bool {
        if header.before.is_some() {
            return true;
        }
        header.identity.is_some() && self.identity_of(path) == header.identity
    }

    /// Returns the entries that no process works on and whose name is wanted.
    pub(super) fn unlocked_entries(&self, is_wanted: impl Fn(&EntryName) -> bool) -> Vec<PathBuf> {
        let mut files = self.vfs.list(&self.entries_folder()).unwrap_or_default();
        files.retain(|file| {
            let name = file.to_string_lossy();
            let is_entry = name.ends_with(KEPT) || name.ends_with(OPEN);
            is_entry && is_wanted(&EntryName::of(file)) && !self.is_locked(file)
        });
        files
    }
}

/// Returns the texts of the cells that an entry may answer: those that wait, and the last one, since a tool result can
/// be answered, too.
fn texts_of_possible_questions(document: &Document) -> Vec<TextHash> {
    let mut cells = document.unanswered();
    cells.extend(document.cells().rfind(|cell| !cell.is_ready()));
    let mut texts = Vec::new();
    for cell in cells {
        texts.push(TextHash::of(&cell.content()));
    }
    texts
}

/// The parts of the file name of an entry.
pub(super) struct EntryName {
    /// The text of the question; `None` if there was none.
    pub question: Option<TextHash>,
    /// The hash of the path of its file.
    pub path: String,
}

impl EntryName {
    /// Parses the name of a file. Damaged parts are left empty.
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

/// An entry that may belong to a file, judged by its name only.
struct EntryCandidate {
    file: PathBuf,
    /// Whether its question waits in the document.
    is_question_waiting: bool,
    /// Whether it was made for the path of the document.
    has_own_path: bool,
}

impl EntryCandidate {
    /// Judges a file by its name. `waiting` are the texts of the questions in the document, and `own_path` is the hash
    /// of its path.
    fn of(file: PathBuf, waiting: &[TextHash], own_path: &str) -> EntryCandidate {
        let name = EntryName::of(&file);
        let is_question_waiting = name
            .question
            .is_some_and(|question| waiting.contains(&question));
        EntryCandidate {
            file,
            is_question_waiting,
            has_own_path: name.path == own_path,
        }
    }
}
