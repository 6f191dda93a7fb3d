//! What the journal holds for a file: to list it, to bring it back, and to forget it.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use analects_core::{Message, Raw, RawMap};
use analects_formats::msgfile::{CellKind, CellsHash, Document, cell_hashes};
use jiff::Timestamp;

use super::asked::{AskedCell, TextHash, waiting_places};
use super::entry::{Entry, Header, lock_path};
use super::recover::EntryName;
use super::{ANSWERS, Journal, MESSAGES, Note, RecordName, path_hash};
use crate::StoreError;
use crate::error::to;

/// What kind of record it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// A whole answer.
    Answer,
    /// The beginning of an answer that broke off.
    BrokenOff,
    /// A text that a verb took out of a cell.
    Text,
    /// What is known of a cell that a program wrote, such as a file that was shown.
    Other,
}

/// A record that is about a file.
#[derive(Debug, Clone)]
pub struct JournalRecord {
    /// The cell that was answered, or from which a text was taken, if it still stands in the file.
    pub cell: Option<String>,
    /// What it is.
    pub kind: RecordKind,
    /// When it came, or was taken out.
    pub at: Option<Timestamp>,
    /// Its words.
    pub text: String,
    /// The path of its file at that time.
    pub path: String,
    /// The cell in which its words stand in the file now.
    pub stands_in: Option<String>,
    /// The answer.
    pub message: Option<Message>,
    header: Option<Header>,
    file: PathBuf,
    note: Option<Note>,
}

impl JournalRecord {
    /// The places of the cells that the answer is for, from 0, if they still wait for one.
    pub fn places(&self, document: &Document) -> Option<Vec<usize>> {
        let asked = &self.header.as_ref()?.asked;
        waiting_places(asked, document).filter(|places| !places.is_empty())
    }
}

/// An answer that is not in the file any more, though its question stands there unchanged.
#[derive(Debug, Clone)]
pub struct MissingAnswer {
    /// The cell that it answers.
    pub cell: String,
    /// When it came; of several, the last.
    pub at: Option<Timestamp>,
    notes: Vec<Note>,
}

impl Journal {
    /// Whether a record is still where it was found.
    pub fn holds(&self, record: &JournalRecord) -> bool {
        self.vfs.facts(&record.file).is_ok()
    }

    /// The cells whose answers are missing and that nobody was told of.
    pub fn missing(&self, document: &Document, path: &Path) -> Vec<MissingAnswer> {
        let mut missing: Vec<MissingAnswer> = Vec::new();
        for (cell, at, note) in self.answers_to_waiting(document, path) {
            if note.is_told {
                continue;
            }
            match missing.iter_mut().find(|known| known.cell == cell) {
                Some(known) => {
                    known.at = known.at.max(at);
                    known.notes.push(note);
                }
                None => missing.push(MissingAnswer {
                    cell,
                    at,
                    notes: vec![note],
                }),
            }
        }
        missing
    }

    /// The names of cells that wait for an answer although they had one in this file.
    pub fn answered_before(&self, document: &Document, path: &Path) -> Vec<String> {
        let answers = self.answers_to_waiting(document, path).into_iter();
        let own = path_hash(path);
        answers
            .filter(|(_, _, note)| note.path == own)
            .map(|(cell, ..)| cell)
            .collect()
    }

    /// The names of waiting cells, with the answers that they had.
    fn answers_to_waiting(
        &self,
        document: &Document,
        path: &Path,
    ) -> Vec<(String, Option<Timestamp>, Note)> {
        let own = path_hash(path);
        let words = OnceCell::new();
        let mut found = Vec::new();
        let mut notes = HashMap::new();
        for cell in document.unanswered() {
            let text = TextHash::of(&cell.content());
            let folder = self.notes_folder(text);
            let notes = notes
                .entry(folder)
                .or_insert_with_key(|folder| self.notes_in(folder));
            for note in notes.iter().filter(|note| note.text == text) {
                let RecordName::Message(cells) = &note.record else {
                    continue;
                };
                let Some((_, entry)) = self.find_message(*cells) else {
                    continue;
                };
                let Entry {
                    header,
                    message: Some(message),
                    ..
                } = entry
                else {
                    continue;
                };
                let place = |asked: &AskedCell| Some(asked.find(document)?.ordinal() - 1);
                let first = header.asked.first().and_then(place);
                let is_same = header.asked.last().and_then(place) == Some(cell.ordinal() - 1);
                let is_here = note.path == own
                    || first.is_some_and(|first| self.has_moved(&header, path, first, document));
                if !is_same || !is_here {
                    continue;
                }
                // An answer that somebody hid, or moved, is there.
                let words = words.get_or_init(|| FileWords::of(document));
                if self
                    .cell_with(words, &message.text(), Some(*cells))
                    .is_none()
                {
                    found.push((cell.name().into_owned(), header.at, note.clone()));
                }
            }
        }
        found
    }

    /// Remembers that the person knows of a missing answer: from now on it counts as deleted on purpose.
    pub fn note_told(&self, missing: &MissingAnswer) -> Result<(), StoreError> {
        for note in &missing.notes {
            let told = Note {
                is_told: true,
                ..note.clone()
            };
            let file = self.note_file(note);
            self.vfs
                .rename(&file, &self.note_file(&told))
                .map_err(to("rename", &file))?;
        }
        Ok(())
    }

    /// What the journal holds for the cells of a file, and for its path: the newest first.
    pub fn records(&self, document: &Document, path: &Path) -> Vec<JournalRecord> {
        let file = FileWords::of(document);
        let own = path_hash(path);
        let mut records = Vec::new();
        for note in self.notes() {
            if note.path == own || file.cells.contains(&note.text) {
                let record = match &note.record {
                    RecordName::Message(cells) => {
                        let found = self.find_message(*cells);
                        found.and_then(|(file, entry)| answer_record(file, entry, document))
                    }
                    RecordName::Text(id) => self.text_record(self.text_file(id), document),
                };
                let record = record.map(|record| JournalRecord {
                    note: Some(note),
                    ..record
                });
                records.extend(record);
            }
        }
        let is_wanted = |name: &EntryName| {
            let is_about = |question| file.cells.contains(&question);
            name.path == own || name.question.is_some_and(is_about)
        };
        for file in self.unlocked_entries(is_wanted) {
            let entry = self.read_entry(&file);
            records.extend(entry.and_then(|entry| answer_record(file, entry, document)));
        }
        records.retain(|record| record.cell.is_some() || record.path == path.to_string_lossy());
        for record in &mut records {
            let hash = match record.note.as_ref().map(|note| &note.record) {
                Some(RecordName::Message(hash)) => Some(*hash),
                _ => None,
            };
            record.stands_in = match record.kind {
                // A text belongs to its cell; another one may say the same.
                RecordKind::Text => record.cell.clone().filter(|name| {
                    document
                        .cell(name)
                        .is_some_and(|cell| cell.content() == record.text)
                }),
                RecordKind::Answer | RecordKind::BrokenOff | RecordKind::Other => {
                    self.cell_with(&file, &record.text, hash)
                }
            };
        }
        records.sort_by(|one, other| (other.at, &other.file).cmp(&(one.at, &one.file)));
        records.dedup_by(|one, other| one.file == other.file);
        records
    }

    /// The cell of a file that says what a record says: the very one that it was kept for, or one that somebody has
    /// changed since. One that another record was kept for does not count: two answers may say the same.
    fn cell_with(&self, file: &FileWords, text: &str, hash: Option<CellsHash>) -> Option<String> {
        let cells = file.outputs.get(&TextHash::of(text))?;
        let own = cells.iter().find(|(_, of)| of.is_some() && *of == hash);
        let is_free = |of: Option<CellsHash>| of.is_none_or(|of| self.find_message(of).is_none());
        let own = own.or_else(|| cells.iter().find(|(_, of)| is_free(*of)));
        own.map(|(name, _)| name.clone())
    }

    fn text_record(&self, file: PathBuf, document: &Document) -> Option<JournalRecord> {
        let record = RawMap::parse(self.read(&file)?.trim_end()).ok()?;
        let string = |key: &str| record.get(key).and_then(Raw::as_string);
        let cell = string("cell")?;
        Some(JournalRecord {
            cell: document.cell(&cell).map(|cell| cell.name().into_owned()),
            kind: RecordKind::Text,
            at: string("at").and_then(|at| at.parse().ok()),
            text: string("text")?,
            path: string("path")?,
            stands_in: None,
            message: None,
            header: None,
            file,
            note: None,
        })
    }

    /// Notes that a recovered answer is in the file again, in cells of this hash.
    pub fn settle_record(
        &self,
        record: &JournalRecord,
        cells: CellsHash,
    ) -> Result<(), StoreError> {
        match (&record.header, &record.message) {
            (Some(header), Some(message)) => self.settle(header, message, cells),
            _ => Ok(()),
        }
    }

    /// Erases a record.
    pub fn forget(&self, record: &JournalRecord) -> Result<(), StoreError> {
        self.erase(&record.file)?;
        let Some(own) = &record.note else {
            return Ok(());
        };
        for note in self.notes_in(&self.notes_folder(own.text)) {
            if note.record == own.record {
                self.erase(&self.note_file(&note))?;
            }
        }
        Ok(())
    }

    /// Erases everything that came before a time; says how many records that were.
    pub fn forget_before(&self, time: Timestamp) -> Result<usize, StoreError> {
        let mut files = self
            .vfs
            .list(&self.folder.join("texts"))
            .unwrap_or_default();
        files.extend(self.unlocked_entries(|_| true));
        for folder in [MESSAGES, ANSWERS] {
            for folder in self.vfs.list(&self.folder.join(folder)).unwrap_or_default() {
                files.extend(self.vfs.list(&folder).unwrap_or_default());
            }
        }
        let mut count = 0;
        for file in files {
            let is_file = self.vfs.facts(&file).is_ok_and(|facts| facts.is_file);
            if is_file && self.time_of(&file).is_none_or(|at| at < time) {
                self.erase(&file)?;
                count += 1;
            }
        }
        for note in self.notes() {
            let is_there = match &note.record {
                RecordName::Message(cells) => self.find_message(*cells).is_some(),
                RecordName::Text(id) => self.vfs.facts(&self.text_file(id)).is_ok(),
            };
            let is_file = self
                .vfs
                .facts(&self.note_file(&note))
                .is_ok_and(|facts| facts.is_file);
            if is_file && !is_there {
                self.erase(&self.note_file(&note))?;
            }
        }
        Ok(count)
    }

    /// When a record was made; `None` if it cannot be read.
    fn time_of(&self, file: &Path) -> Option<Timestamp> {
        let text = self.read(file)?;
        let record = RawMap::parse(text.lines().next()?).ok()?;
        record.get("at")?.as_string()?.parse().ok()
    }

    /// Removes a file, and makes sure that it stays removed.
    fn erase(&self, file: &Path) -> Result<(), StoreError> {
        let removed = self.vfs.remove(file);
        let is_gone = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        match removed {
            Err(error) if !is_gone(&error) => Err(to("erase", file)(error)),
            _ => {
                let _ = self.vfs.remove(&lock_path(file));
                let folder = crate::vfs::folder_of(file);
                self.vfs
                    .sync_folder(folder)
                    .map_err(to("sync the folder of", file))
            }
        }
    }
}

/// What stands in a file, by its hash.
struct FileWords {
    /// The texts of all cells.
    cells: HashSet<TextHash>,
    /// The cells that came back from somebody, each with the hash of its message's cells.
    outputs: HashMap<TextHash, Vec<(String, Option<CellsHash>)>>,
}

impl FileWords {
    fn of(document: &Document) -> FileWords {
        let hashes = cell_hashes(document);
        let mut words = FileWords {
            cells: HashSet::new(),
            outputs: HashMap::new(),
        };
        for cell in document.cells().filter(|cell| !cell.is_ready()) {
            let text = TextHash::of(&cell.content());
            words.cells.insert(text);
            if cell.kind() == CellKind::Output {
                let name = cell.name().into_owned();
                let hash = hashes.get(&name).copied();
                words.outputs.entry(text).or_default().push((name, hash));
            }
        }
        words
    }
}

fn answer_record(file: PathBuf, entry: Entry, document: &Document) -> Option<JournalRecord> {
    let kind = match entry.message {
        _ if entry.header.asked.is_empty() => RecordKind::Other,
        Some(_) => RecordKind::Answer,
        None => RecordKind::BrokenOff,
    };
    let (header, message) = entry.into_message()?;
    let cell = header.asked.last().and_then(|asked| asked.find(document));
    Some(JournalRecord {
        cell: cell.map(|cell| cell.name().into_owned()),
        kind,
        at: header.at,
        text: message.text(),
        path: header.path.clone(),
        stands_in: None,
        message: Some(message),
        header: Some(header),
        file,
        note: None,
    })
}
