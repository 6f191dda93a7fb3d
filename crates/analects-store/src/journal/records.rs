//! The records of the journal about a file: list them, bring one back, delete them.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use analects_core::{Message, RawMap};
use analects_formats::msgfile::{Cell, CellKind, CellsHash, Document, cell_hashes};
use jiff::Timestamp;

use super::entry::{EntryHeader, ParsedEntry, lock_path, string};
use super::question::{QuestionCell, TextHash, waiting_positions};
use super::{ANSWERS, Journal, MESSAGES, RecordId, RecordNote, path_hash};
use crate::StoreError;
use crate::error::cannot;
use crate::vfs::folder_of;

/// The kinds of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// A whole answer.
    Answer,
    /// The beginning of an interrupted answer.
    Interrupted,
    /// A text that a verb removed from a cell.
    Text,
    /// Details of a cell that a program wrote, such as a shared file.
    Other,
}

/// A record about a file.
#[derive(Debug, Clone)]
pub struct JournalRecord {
    /// The cell that was answered, or from which a text was removed; `None` if it is not in the file any more.
    pub cell: Option<String>,
    /// The kind of the record.
    pub kind: RecordKind,
    /// The time when the answer arrived, or the text was removed.
    pub at: Option<Timestamp>,
    /// The text of the answer, or the removed text.
    pub text: String,
    /// The path of the file at that time.
    pub path: String,
    /// The cell that holds the text now; `None` if no cell does.
    pub stands_in: Option<String>,
    /// The answer; `None` for a removed text.
    pub message: Option<Message>,
    /// The header of an answer; `None` for a removed text.
    header: Option<EntryHeader>,
    /// The file of the record.
    file: PathBuf,
    /// The note that leads to the record; `None` for an entry, which is found by its name.
    note: Option<RecordNote>,
}

impl JournalRecord {
    /// Returns the positions of the cells that the answer is for, counted from 0, if they still wait for one.
    pub fn positions(&self, document: &Document) -> Option<Vec<usize>> {
        let questions = &self.header.as_ref()?.questions;
        waiting_positions(questions, document).filter(|positions| !positions.is_empty())
    }
}

/// An answer that is not in the file any more, although its question is there unchanged.
#[derive(Debug, Clone)]
pub struct MissingAnswer {
    /// The cell of the question.
    pub cell: String,
    /// The time when the answer arrived; of several answers, the last.
    pub at: Option<Timestamp>,
    /// The notes of all answers that the cell had.
    notes: Vec<RecordNote>,
}

/// An answer to a waiting cell that the journal holds and the file does not.
struct FormerAnswer {
    /// The name of the cell.
    cell: String,
    /// The time when the answer arrived.
    at: Option<Timestamp>,
    /// The note that leads from the question to the answer.
    note: RecordNote,
}

impl Journal {
    /// Returns whether a record is still on disk.
    pub fn holds(&self, record: &JournalRecord) -> bool {
        self.vfs.metadata(&record.file).is_ok()
    }

    /// Returns the missing answers that have not been reported to the person.
    pub fn missing_answers(&self, document: &Document, path: &Path) -> Vec<MissingAnswer> {
        let mut missing: Vec<MissingAnswer> = Vec::new();
        for answer in self.former_answers(document, path) {
            if answer.note.is_reported {
                continue;
            }
            let same_cell = missing.iter_mut().find(|other| other.cell == answer.cell);
            if let Some(other) = same_cell {
                other.at = other.at.max(answer.at);
                other.notes.push(answer.note);
            } else {
                missing.push(MissingAnswer {
                    cell: answer.cell,
                    at: answer.at,
                    notes: vec![answer.note],
                });
            }
        }
        missing
    }

    /// Returns the names of the cells that wait for an answer although they had one in this file.
    pub fn previously_answered(&self, document: &Document, path: &Path) -> Vec<String> {
        let own_path = path_hash(path);
        let mut cells = Vec::new();
        for answer in self.former_answers(document, path) {
            if answer.note.path == own_path {
                cells.push(answer.cell);
            }
        }
        cells
    }

    /// Returns the answers that the waiting cells had.
    fn former_answers(&self, document: &Document, path: &Path) -> Vec<FormerAnswer> {
        let texts = OnceCell::new();
        let mut answers = Vec::new();
        let mut notes_by_folder = HashMap::new();
        for cell in document.unanswered() {
            let text = TextHash::of(&cell.content());
            let notes = notes_by_folder
                .entry(self.notes_folder(text))
                .or_insert_with_key(|folder| self.notes_in(folder));
            for note in notes.iter().filter(|note| note.text == text) {
                let RecordId::Message(cells) = &note.record else {
                    continue;
                };
                let Some((header, message)) = self.find_whole_message(*cells) else {
                    continue;
                };
                if !self.is_answer_to(&header, note, cell, document, path) {
                    continue;
                }
                // An answer that a person hid or moved is not missing.
                let texts = texts.get_or_init(|| CellTexts::of(document));
                let holder = self.cell_with(texts, &message.text(), Some(*cells));
                if holder.is_none() {
                    answers.push(FormerAnswer {
                        cell: cell.name().into_owned(),
                        at: header.at,
                        note: note.clone(),
                    });
                }
            }
        }
        answers
    }

    /// Finds a complete message, and its header.
    fn find_whole_message(&self, cells: CellsHash) -> Option<(EntryHeader, Message)> {
        let (_, entry) = self.find_message(cells)?;
        Some((entry.header, entry.message?))
    }

    /// Returns whether the message with this header answers this cell of the file at this path.
    fn is_answer_to(
        &self,
        header: &EntryHeader,
        note: &RecordNote,
        cell: Cell<'_>,
        document: &Document,
        path: &Path,
    ) -> bool {
        let first = position_of(header.questions.first(), document);
        let last = position_of(header.questions.last(), document);
        if last != Some(cell.ordinal() - 1) {
            return false;
        }
        note.path == path_hash(path)
            || first.is_some_and(|first| self.has_moved(header, path, first, document))
    }

    /// Records that the person knows of a missing answer. From now on, it counts as deleted on purpose.
    pub fn mark_reported(&self, missing: &MissingAnswer) -> Result<(), StoreError> {
        for note in &missing.notes {
            let reported = RecordNote {
                is_reported: true,
                ..note.clone()
            };
            let file = self.note_file(note);
            self.vfs
                .rename(&file, &self.note_file(&reported))
                .map_err(cannot("rename", &file))?;
        }
        Ok(())
    }

    /// Returns the records about the cells of a file and about its path, newest first.
    pub fn records(&self, document: &Document, path: &Path) -> Vec<JournalRecord> {
        let texts = CellTexts::of(document);
        let own_path = path_hash(path);
        let mut records = Vec::new();
        for note in self.all_notes() {
            if note.path == own_path || texts.all.contains(&note.text) {
                records.extend(self.noted_record(note, document));
            }
        }
        let files = self.unlocked_entries(|name| {
            name.path == own_path || name.question.is_some_and(|text| texts.all.contains(&text))
        });
        for file in files {
            if let Some(entry) = self.read_entry(&file) {
                records.extend(answer_record(file, entry, document));
            }
        }
        records.retain(|record| record.cell.is_some() || record.path == path.to_string_lossy());
        for record in &mut records {
            record.stands_in = self.holder_of(record, &texts, document);
        }
        records.sort_by(|one, other| (other.at, &other.file).cmp(&(one.at, &one.file)));
        records.dedup_by(|one, other| one.file == other.file);
        records
    }

    /// Reads the record that a note leads to; `None` if it is gone.
    fn noted_record(&self, note: RecordNote, document: &Document) -> Option<JournalRecord> {
        let record = match &note.record {
            RecordId::Message(cells) => {
                let (file, entry) = self.find_message(*cells)?;
                answer_record(file, entry, document)?
            }
            RecordId::Text(id) => self.text_record(self.text_file(id), document)?,
        };
        Some(JournalRecord {
            note: Some(note),
            ..record
        })
    }

    /// Returns the cell that holds the text of a record now.
    fn holder_of(
        &self,
        record: &JournalRecord,
        texts: &CellTexts,
        document: &Document,
    ) -> Option<String> {
        match record.kind {
            // A text belongs to its cell, even if another cell has the same text.
            RecordKind::Text => {
                let name = record.cell.as_ref()?;
                let cell = document.cell(name)?;
                (cell.content() == record.text).then(|| name.clone())
            }
            RecordKind::Answer | RecordKind::Interrupted | RecordKind::Other => {
                let hash = match record.note.as_ref().map(|note| &note.record) {
                    Some(RecordId::Message(hash)) => Some(*hash),
                    _ => None,
                };
                self.cell_with(texts, &record.text, hash)
            }
        }
    }

    /// Returns the output cell that holds the text of a record: the one that the record was saved for, or one that a
    /// person has changed since. A cell that another record was saved for does not count, because two answers may have
    /// the same text.
    fn cell_with(&self, texts: &CellTexts, text: &str, hash: Option<CellsHash>) -> Option<String> {
        let cells = texts.outputs.get(&TextHash::of(text))?;
        for (name, own_hash) in cells {
            if own_hash.is_some() && *own_hash == hash {
                return Some(name.clone());
            }
        }
        for (name, own_hash) in cells {
            if own_hash.is_none_or(|own_hash| self.find_message(own_hash).is_none()) {
                return Some(name.clone());
            }
        }
        None
    }

    /// Reads the record of a removed text; `None` if it is damaged.
    fn text_record(&self, file: PathBuf, document: &Document) -> Option<JournalRecord> {
        let record = RawMap::parse(self.read(&file)?.trim_end()).ok()?;
        let cell = string(&record, "cell")?;
        Some(JournalRecord {
            cell: document.cell(&cell).map(|cell| cell.name().into_owned()),
            kind: RecordKind::Text,
            at: string(&record, "at").and_then(|at| at.parse().ok()),
            text: string(&record, "text")?,
            path: string(&record, "path")?,
            stands_in: None,
            message: None,
            header: None,
            file,
            note: None,
        })
    }

    /// Records that a restored answer is about to be put into the file again, in cells with this hash.
    pub fn save_restored_answer(
        &self,
        record: &JournalRecord,
        cells: CellsHash,
    ) -> Result<(), StoreError> {
        if let (Some(header), Some(message)) = (&record.header, &record.message) {
            self.save_answer(header, message, cells)?;
        }
        Ok(())
    }

    /// Deletes a record for good, and the notes that lead to it.
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

    /// Deletes all records from before a time, and those without one, for good. Returns the number of deleted records.
    pub fn forget_before(&self, time: Timestamp) -> Result<usize, StoreError> {
        let mut count = 0;
        for file in self.all_record_files() {
            let is_file = self.is_file(&file);
            if is_file && self.time_of(&file).is_none_or(|at| at < time) {
                self.erase(&file)?;
                count += 1;
            }
        }
        for note in self.all_notes() {
            let has_record = self.has_record(&note);
            let file = self.note_file(&note);
            if self.is_file(&file) && !has_record {
                self.erase(&file)?;
            }
        }
        Ok(count)
    }

    /// Returns the files of all records, except those that a process works on.
    fn all_record_files(&self) -> Vec<PathBuf> {
        let texts = self.vfs.list(&self.folder.join("texts"));
        let mut files = texts.unwrap_or_default();
        files.extend(self.unlocked_entries(|_| true));
        for folder in [MESSAGES, ANSWERS] {
            for folder in self.vfs.list(&self.folder.join(folder)).unwrap_or_default() {
                files.extend(self.vfs.list(&folder).unwrap_or_default());
            }
        }
        files
    }

    /// Returns whether the record that a note leads to exists.
    fn has_record(&self, note: &RecordNote) -> bool {
        match &note.record {
            RecordId::Message(cells) => self.find_message(*cells).is_some(),
            RecordId::Text(id) => self.vfs.metadata(&self.text_file(id)).is_ok(),
        }
    }

    /// Returns whether a regular file exists at this path. Anything else in our folders is left alone.
    fn is_file(&self, file: &Path) -> bool {
        self.vfs
            .metadata(file)
            .is_ok_and(|metadata| metadata.is_file)
    }

    /// Returns the time of a record; `None` if it cannot be read.
    fn time_of(&self, file: &Path) -> Option<Timestamp> {
        let text = self.read(file)?;
        let record = RawMap::parse(text.lines().next()?).ok()?;
        record.get("at")?.as_string()?.parse().ok()
    }

    /// Removes a file and its lock, and syncs the folder so that a power cut does not bring them back.
    fn erase(&self, file: &Path) -> Result<(), StoreError> {
        if let Err(error) = self.vfs.remove(file)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(cannot("erase", file)(error));
        }
        let _ = self.vfs.remove(&lock_path(file));
        self.vfs
            .sync_folder(folder_of(file))
            .map_err(cannot("sync the folder of", file))
    }
}

/// Returns the position of a question in a document, counted from 0.
fn position_of(question: Option<&QuestionCell>, document: &Document) -> Option<usize> {
    Some(question?.find(document)?.ordinal() - 1)
}

/// The texts of the cells of a file, by hash.
struct CellTexts {
    /// The texts of all cells.
    all: HashSet<TextHash>,
    /// The names of the output cells with a text, each with the hash of the cells of its message.
    outputs: HashMap<TextHash, Vec<(String, Option<CellsHash>)>>,
}

impl CellTexts {
    /// Hashes the texts of all cells of a document, except the empty cell for the next message.
    fn of(document: &Document) -> CellTexts {
        let hashes = cell_hashes(document);
        let mut texts = CellTexts {
            all: HashSet::new(),
            outputs: HashMap::new(),
        };
        for cell in document.cells().filter(|cell| !cell.is_ready()) {
            let text = TextHash::of(&cell.content());
            texts.all.insert(text);
            if cell.kind() == CellKind::Output {
                let name = cell.name().into_owned();
                let hash = hashes.get(&name).copied();
                texts.outputs.entry(text).or_default().push((name, hash));
            }
        }
        texts
    }
}

/// Converts an entry to a record; `None` if it holds no message.
fn answer_record(file: PathBuf, entry: ParsedEntry, document: &Document) -> Option<JournalRecord> {
    let kind = if entry.header.questions.is_empty() {
        RecordKind::Other
    } else if entry.message.is_some() {
        RecordKind::Answer
    } else {
        RecordKind::Interrupted
    };
    let (header, message) = entry.into_message()?;
    let question = header.questions.last();
    let cell = question.and_then(|question| question.find(document));
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
