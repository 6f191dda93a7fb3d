//! The journal entry of an answer: it holds the answer while it arrives, before the answer is in its file.

use std::any::Any;
use std::path::{Path, PathBuf};

use analects_core::{
    Assistant, Block, Body, Content, Ids, Json, Message, Raw, RawMap, StopReason, Thinking,
};
use analects_formats::msgfile::{CellsHash, Document};
use jiff::Timestamp;

use super::question::{QuestionCell, TextHash, text_before, waiting_positions};
use super::{ANSWERS, Journal, MESSAGES, RecordId, RecordNote, number, path_hash};
use crate::error::cannot;
use crate::folders::create_private_folder;
use crate::vfs::{OpenMode, VfsFile};
use crate::{OsIds, StoreError};

/// The facts about an answer that are known before it arrives: the first line of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryHeader {
    /// The path of the file with the question.
    pub path: String,
    /// The time of the request.
    pub at: Option<Timestamp>,
    /// The agent that answers.
    pub author: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// The cells that are answered; empty for other messages.
    pub questions: Vec<QuestionCell>,
    /// The text of the cell before the questions.
    pub before: Option<TextHash>,
    /// The identity of the file on its file system.
    pub identity: Option<String>,
}

impl EntryHeader {
    /// Returns the header of a message that answers no cell.
    pub(super) fn without_question(path: &Path, message: &Message) -> EntryHeader {
        EntryHeader {
            path: path.to_string_lossy().into_owned(),
            at: message.created_at,
            author: message.author.clone(),
            model: message.model.clone(),
            questions: Vec::new(),
            before: None,
            identity: None,
        }
    }

    /// Formats the header as JSON. The keys are part of the file format.
    pub(super) fn to_json(&self) -> Raw {
        let mut record = RawMap::new();
        record.push("v", number(1));
        record.push("type", Raw::string("journal_answer"));
        record.push("path", Raw::string(&self.path));
        let at = self.at.map(|at| at.to_string());
        let before = self.before.map(|before| before.to_string());
        let optional = [
            ("at", &at),
            ("author", &self.author),
            ("model", &self.model),
            ("before", &before),
            ("identity", &self.identity),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                record.push(key, Raw::string(value));
            }
        }
        let mut questions = Vec::new();
        for question in &self.questions {
            questions.push(question.to_raw().to_string());
        }
        if let Ok(questions) = Raw::parse(&format!("[{}]", questions.join(","))) {
            record.push("asked", questions);
        }
        record.to_raw()
    }

    /// Parses a header; `None` if the path or a question is damaged.
    fn parse(record: &RawMap) -> Option<EntryHeader> {
        let questions = record.get("asked").and_then(Raw::as_array);
        Some(EntryHeader {
            path: string(record, "path")?,
            at: string(record, "at").and_then(|at| at.parse().ok()),
            author: string(record, "author"),
            model: string(record, "model"),
            questions: questions
                .unwrap_or_default()
                .iter()
                .map(QuestionCell::from_raw)
                .collect::<Option<_>>()?,
            before: string(record, "before").and_then(|before| before.parse().ok()),
            identity: string(record, "identity"),
        })
    }

    /// Returns the text by which the answer is found again: that of the last question.
    pub(super) fn question_text(&self) -> Option<TextHash> {
        self.questions.last().map(|question| question.text)
    }
}

/// Returns a string field of a record.
pub(super) fn string(record: &RawMap, key: &str) -> Option<String> {
    record.get(key).and_then(Raw::as_string)
}

/// A part of an answer that has just arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerDelta<'a> {
    /// Text of the answer.
    Text(&'a str),
    /// Text of the model's thinking.
    Thinking(&'a str),
}

impl<'a> AnswerDelta<'a> {
    /// The key of the line that holds this delta.
    fn key(self) -> &'static str {
        match self {
            AnswerDelta::Text(_) => "text",
            AnswerDelta::Thinking(_) => "thinking",
        }
    }

    /// The text of the delta.
    fn text(self) -> &'a str {
        match self {
            AnswerDelta::Text(text) | AnswerDelta::Thinking(text) => text,
        }
    }
}

/// The key of the line that is written before the answer is put into its file. Its value is the state of the file.
const PLACEMENT: &str = "settled";

/// The parsed content of an entry.
#[derive(Debug)]
pub(super) struct ParsedEntry {
    /// The first line.
    pub header: EntryHeader,
    /// The whole message, if it is complete.
    pub message: Option<Message>,
    /// The state of the file when the message was about to be put into it. If set, the journal also holds the message
    /// by the hash of its cells.
    pub placement_state: Option<String>,
    /// The parts of an incomplete message, as they arrived.
    blocks: Vec<Block>,
}

impl ParsedEntry {
    /// Parses the lines of an entry, and skips damaged ones; `None` if the header is damaged.
    pub(super) fn parse(text: &str) -> Option<ParsedEntry> {
        let mut lines = text.lines();
        let header = EntryHeader::parse(&RawMap::parse(lines.next()?).ok()?)?;
        let mut entry = ParsedEntry {
            header,
            message: None,
            placement_state: None,
            blocks: Vec::new(),
        };
        for line in lines {
            // A kill or a full disk may have cut off a line.
            if let Ok(record) = RawMap::parse(line) {
                entry.add_line(line, &record);
            }
        }
        Some(entry)
    }

    /// Adds the content of a line. A later message or placement replaces an earlier one.
    fn add_line(&mut self, line: &str, record: &RawMap) {
        if record.get("type").is_some() {
            if let Ok(message) = Message::from_json(line) {
                self.message = Some(message);
            }
        } else if let Some(state) = string(record, PLACEMENT) {
            self.placement_state = Some(state);
        } else if let Some(text) = string(record, "text") {
            self.blocks.push(Block::from_text(text));
        } else if let Some(thinking) = string(record, "thinking") {
            self.blocks.push(Block::Thinking(Thinking {
                thinking: thinking.into(),
                ..Thinking::default()
            }));
        }
    }

    /// Returns the message, or the part of it that arrived; `None` if nothing did.
    pub(super) fn into_message(self) -> Option<(EntryHeader, Message)> {
        let ParsedEntry {
            header,
            message,
            blocks,
            ..
        } = self;
        if let Some(message) = message {
            return Some((header, message));
        }
        let blocks = merge_blocks(blocks);
        if blocks.is_empty() {
            return None;
        }
        let body = Assistant {
            content: Content::Blocks(blocks),
            stop_reason: Some(StopReason::Interrupted),
        };
        let mut message = Message::new("", Body::Assistant(body));
        message.created_at = header.at;
        message.author.clone_from(&header.author);
        message.model.clone_from(&header.model);
        Some((header, message))
    }
}

/// Merges adjacent blocks of the same kind.
fn merge_blocks(parts: Vec<Block>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for part in parts {
        match (blocks.last_mut(), &part) {
            (Some(Block::Text(last)), Block::Text(more)) => {
                last.text = format!("{}{}", last.text.as_str(), more.text.as_str()).into();
            }
            (Some(Block::Thinking(last)), Block::Thinking(more)) => {
                let thinking = format!("{}{}", last.thinking.as_str(), more.thinking.as_str());
                last.thinking = thinking.into();
            }
            _ => blocks.push(part),
        }
    }
    blocks
}

/// The journal entry of an answer that is being received. While this lives, other processes see that the question is
/// being answered.
#[derive(Debug)]
pub struct AnswerEntry {
    journal: Journal,
    header: EntryHeader,
    /// The path of the entry, not of the message file.
    path: PathBuf,
    file: Box<dyn VfsFile>,
    /// The length of the file in bytes, up to the last whole line.
    length: u64,
    /// The length before the line about the placement, to which a failed placement returns.
    length_before_placement: Option<u64>,
    /// The deltas that are not in the file yet, each with its key.
    pending: Vec<(&'static str, String)>,
    /// Whether the file holds any part of the answer.
    has_content: bool,
    /// Dropped last.
    _lock: Box<dyn Any + Send + Sync>,
}

impl Journal {
    /// Returns the identity of a file on its file system, which survives a rename.
    pub(super) fn identity_of(&self, path: &Path) -> Option<String> {
        let (device, number) = self.vfs.metadata(path).ok()?.identity;
        Some(format!("{device}:{number}"))
    }

    /// Checks that the journal can store answers, before any money is spent on one.
    pub fn check_writable(&self) -> Result<(), StoreError> {
        for folder in ["asked", MESSAGES, ANSWERS, "about", "texts"] {
            let folder = self.folder.join(folder);
            create_private_folder(&*self.vfs, &folder)?;
            self.vfs
                .list(&folder)
                .map_err(cannot("use this folder", &folder))?;
        }
        Ok(())
    }

    /// Creates the entry of an answer to these cells. `base` has its author, its model and its time.
    pub(crate) fn begin_entry(
        &self,
        document: &Document,
        path: &Path,
        questions: Vec<QuestionCell>,
        base: &Message,
    ) -> Result<AnswerEntry, StoreError> {
        let positions = waiting_positions(&questions, document).unwrap_or_default();
        let before = positions
            .first()
            .and_then(|first| text_before(*first, document));
        let identity = self.identity_of(path);
        let header = EntryHeader {
            questions,
            before,
            identity,
            ..EntryHeader::without_question(path, base)
        };
        let folder = self.entries_folder();
        create_private_folder(&*self.vfs, &folder)?;
        let id = OsIds.uuid(header.at.unwrap_or_default());
        let path = folder.join(entry_name(&header, path, &id));
        // The lock exists before the entry, and is removed after it.
        let lock_path = lock_path(&path);
        let lock = self
            .vfs
            .lock(&lock_path)
            .map_err(cannot("lock", &lock_path))?;
        let lock = lock.ok_or_else(|| StoreError::Locked {
            path: lock_path.clone(),
        })?;
        let file = self.vfs.open(&path, OpenMode::Private).map_err(|error| {
            self.remove_entry(&path);
            cannot("write to", &path)(error)
        })?;
        let mut entry = AnswerEntry {
            journal: self.clone(),
            header,
            path,
            file,
            length: 0,
            length_before_placement: None,
            pending: Vec::new(),
            has_content: false,
            _lock: lock,
        };
        entry.write(&format!("{}\n", entry.header.to_json()))?;
        self.vfs
            .sync_folder(&folder)
            .map_err(cannot("sync the folder of", &entry.path))?;
        Ok(entry)
    }
}

/// Returns the file name of an entry. It holds the hashes of the question and of the path, so that an entry can be
/// assigned to a file without reading it.
fn entry_name(header: &EntryHeader, path: &Path, id: &str) -> String {
    let question = header
        .question_text()
        .map(|text| text.to_string())
        .unwrap_or_default();
    format!("{question}.{}.{id}.jsonl", path_hash(path))
}

/// Returns the path of the lock of an entry.
pub(super) fn lock_path(entry: &Path) -> PathBuf {
    entry.with_extension("lock")
}

impl AnswerEntry {
    /// The cells that are being answered.
    pub fn questions(&self) -> &[QuestionCell] {
        &self.header.questions
    }

    /// Returns the positions of the questions in a document, counted from 0, if all of them are still there and wait.
    pub fn positions(&self, document: &Document) -> Option<Vec<usize>> {
        waiting_positions(&self.header.questions, document)
    }

    /// Adds a part of the answer to a buffer. [`AnswerEntry::flush`] writes it.
    pub fn push(&mut self, delta: AnswerDelta<'_>) {
        match self.pending.last_mut() {
            Some((key, text)) if *key == delta.key() => text.push_str(delta.text()),
            _ => self.pending.push((delta.key(), delta.text().to_string())),
        }
    }

    /// Returns whether the buffer holds parts that are not written yet.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Writes the buffer without a sync: a kill loses nothing, and a power cut only the last moments. If the write
    /// fails, the buffer stays for the next call.
    pub fn flush(&mut self) {
        let mut lines = String::new();
        for (key, text) in &self.pending {
            let mut record = RawMap::new();
            record.push(key, Raw::string(text));
            lines.push_str(record.to_raw().as_str());
            lines.push('\n');
        }
        if !lines.is_empty() && self.write(&lines).is_ok() {
            self.pending.clear();
            self.has_content = true;
        }
    }

    /// Writes the complete answer. When this returns, it survives a power cut.
    pub(crate) fn complete(&mut self, answer: &Message) -> Result<(), StoreError> {
        self.write(&format!("{}\n", answer.to_json()))?;
        self.has_content = true;
        self.sync()
    }

    /// Records that the answer is about to be put into its file, in cells with this hash.
    pub(crate) fn begin_placement(
        &mut self,
        answer: &Message,
        cells: CellsHash,
        path: &Path,
    ) -> Result<(), StoreError> {
        self.journal.save_answer(&self.header, answer, cells)?;
        self.length_before_placement.get_or_insert(self.length);
        self.write(&self.journal.placement_line(path))?;
        self.sync()
    }

    /// Reverts [`AnswerEntry::begin_placement`] after the file could not be written. Works even on a full disk.
    pub(crate) fn cancel_placement(&mut self) {
        if let Some(length) = self.length_before_placement.take()
            && self.file.truncate(length).is_ok()
        {
            self.length = length;
        }
    }

    /// Removes the entry: the answer is in its file, or nothing worth keeping arrived.
    pub(crate) fn discard(mut self) {
        self.has_content = false;
    }

    /// Writes whole lines, or nothing.
    fn write(&mut self, lines: &str) -> Result<(), StoreError> {
        // A blank line is harmless. It terminates a line that was cut off and could not be removed.
        let lines = if self.length == 0 {
            lines.to_string()
        } else {
            format!("\n{lines}")
        };
        if let Err(error) = self.file.write_all(lines.as_bytes()) {
            let _ = self.file.truncate(self.length);
            return Err(cannot("write to", &self.path)(error));
        }
        self.length += lines.len() as u64;
        Ok(())
    }

    /// Syncs the entry. Its name was synced when it was created.
    fn sync(&self) -> Result<(), StoreError> {
        self.file.sync().map_err(cannot("sync", &self.path))
    }
}

impl Drop for AnswerEntry {
    fn drop(&mut self) {
        // An entry with a part of the answer stays on disk; dropping it releases only its lock.
        if !self.has_content {
            self.journal.remove_entry(&self.path);
        }
    }
}

impl Journal {
    /// Saves the message of an answer by the hash of its cells, and a note that leads from its question to it.
    pub(super) fn save_answer(
        &self,
        header: &EntryHeader,
        answer: &Message,
        cells: CellsHash,
    ) -> Result<(), StoreError> {
        // The note comes first: without one, the record could never be found and deleted.
        if let Some(text) = header.question_text() {
            self.save_note(&RecordNote {
                text,
                path: path_hash(Path::new(&header.path)),
                record: RecordId::Message(cells),
                is_reported: false,
            })?;
        }
        self.write_message(header, cells, answer)
    }

    /// Returns the line that marks an entry before its answer is put into a file. As long as the file stays in this
    /// state, it does not hold the answer.
    pub(super) fn placement_line(&self, path: &Path) -> String {
        format!("{{\"{PLACEMENT}\":\"{}\"}}\n", self.file_state(path))
    }

    /// Returns a string that changes with every write to a file; empty if there is no file.
    pub(super) fn file_state(&self, path: &Path) -> String {
        let Ok(metadata) = self.vfs.metadata(path) else {
            return String::new();
        };
        let (device, number) = metadata.identity;
        let (seconds, nanos) = metadata.modified;
        format!("{device}-{number}-{}-{seconds}.{nanos}", metadata.length)
    }
}
