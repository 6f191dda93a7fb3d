//! An answer on its way: it is in the journal before it is in the file.

use std::any::Any;
use std::path::{Path, PathBuf};

use analects_core::{
    Assistant, Block, Body, Content, Ids, Json, Message, Raw, RawMap, StopReason, Thinking,
};
use analects_formats::msgfile::{CellsHash, Document};
use jiff::Timestamp;

use super::asked::{AskedCell, TextHash, text_before, waiting_places};
use super::{ANSWERS, Journal, MESSAGES, Note, RecordName, number, path_hash};
use crate::error::to;
use crate::places::create_private_folder;
use crate::vfs::{Open, VfsFile};
use crate::{OsIds, StoreError};

/// What is known of an answer before it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// The file that the question stands in.
    pub path: String,
    pub at: Option<Timestamp>,
    pub author: Option<String>,
    pub model: Option<String>,
    /// The cells that are answered; none for other messages.
    pub asked: Vec<AskedCell>,
    /// The text of the cell before them.
    pub before: Option<TextHash>,
    /// What the file system calls the file.
    pub identity: Option<String>,
}

impl Header {
    pub(super) fn without_question(path: &Path, message: &Message) -> Header {
        Header {
            path: path.to_string_lossy().into_owned(),
            at: message.created_at,
            author: message.author.clone(),
            model: message.model.clone(),
            asked: Vec::new(),
            before: None,
            identity: None,
        }
    }

    pub(super) fn to_json(&self) -> Raw {
        let mut record = RawMap::new();
        record.push("v", number(1));
        record.push("type", Raw::string("journal_answer"));
        record.push("path", Raw::string(&self.path));
        let at = self.at.map(|at| at.to_string());
        let before = self.before.map(|before| before.to_string());
        let known = [
            ("at", &at),
            ("author", &self.author),
            ("model", &self.model),
            ("before", &before),
            ("identity", &self.identity),
        ];
        for (key, value) in known {
            if let Some(value) = value {
                record.push(key, Raw::string(value));
            }
        }
        let asked: Vec<String> = self
            .asked
            .iter()
            .map(|asked| asked.to_raw().to_string())
            .collect();
        if let Ok(asked) = Raw::parse(&format!("[{}]", asked.join(","))) {
            record.push("asked", asked);
        }
        record.to_raw()
    }

    fn parse(record: &RawMap) -> Option<Header> {
        let string = |key: &str| record.get(key).and_then(Raw::as_string);
        let asked = record
            .get("asked")
            .and_then(Raw::as_array)
            .unwrap_or_default();
        Some(Header {
            path: string("path")?,
            at: string("at").and_then(|at| at.parse().ok()),
            author: string("author"),
            model: string("model"),
            asked: asked
                .iter()
                .map(AskedCell::from_raw)
                .collect::<Option<_>>()?,
            before: string("before").and_then(|before| before.parse().ok()),
            identity: string("identity"),
        })
    }

    /// The text by which the answer is found: that of the last cell that was asked.
    pub(super) fn question(&self) -> Option<TextHash> {
        self.asked.last().map(|asked| asked.text)
    }
}

/// A piece of an answer as it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerPiece<'a> {
    /// Words of the answer.
    Text(&'a str),
    /// Words of a thought.
    Thinking(&'a str),
}

impl<'a> AnswerPiece<'a> {
    fn key(self) -> &'static str {
        match self {
            AnswerPiece::Text(_) => "text",
            AnswerPiece::Thinking(_) => "thinking",
        }
    }

    fn text(self) -> &'a str {
        match self {
            AnswerPiece::Text(text) | AnswerPiece::Thinking(text) => text,
        }
    }
}

/// The key of the line that says into which file an answer was about to be put.
const SETTLED: &str = "settled";

/// The file of an answer, read.
#[derive(Debug)]
pub(super) struct Entry {
    pub header: Header,
    /// The whole message, if it came to its end.
    pub message: Option<Message>,
    /// The state of the file that the message was about to be put into. It is kept by the hash of its cells then.
    pub settled: Option<String>,
    blocks: Vec<Block>,
}

impl Entry {
    /// Reads the lines of an entry, as far as they are whole.
    pub(super) fn parse(text: &str) -> Option<Entry> {
        let mut lines = text.lines();
        let header = Header::parse(&RawMap::parse(lines.next()?).ok()?)?;
        let mut entry = Entry {
            header,
            message: None,
            settled: None,
            blocks: Vec::new(),
        };
        for line in lines {
            // A kill or a full disk may have cut a line.
            let Ok(record) = RawMap::parse(line) else {
                continue;
            };
            let string = |key: &str| record.get(key).and_then(Raw::as_string);
            if record.get("type").is_some() {
                entry.message = Message::from_json(line).ok().or(entry.message);
            } else if let Some(state) = string(SETTLED) {
                entry.settled = Some(state);
            } else if let Some(text) = string("text") {
                entry.blocks.push(Block::from_text(text));
            } else if let Some(thinking) = string("thinking") {
                let thought = Thinking {
                    thinking: thinking.into(),
                    ..Thinking::default()
                };
                entry.blocks.push(Block::Thinking(thought));
            }
        }
        Some(entry)
    }

    /// The message, or its beginning; `None` if nothing came.
    pub(super) fn into_message(self) -> Option<(Header, Message)> {
        let Entry {
            header,
            message,
            blocks,
            ..
        } = self;
        if let Some(message) = message {
            return Some((header, message));
        }
        let blocks = joined(blocks);
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

/// The pieces of each block put together.
fn joined(pieces: Vec<Block>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for piece in pieces {
        match (blocks.last_mut(), &piece) {
            (Some(Block::Text(last)), Block::Text(more)) => {
                last.text = format!("{}{}", last.text.as_str(), more.text.as_str()).into();
            }
            (Some(Block::Thinking(last)), Block::Thinking(more)) => {
                let thinking = format!("{}{}", last.thinking.as_str(), more.thinking.as_str());
                last.thinking = thinking.into();
            }
            _ => blocks.push(piece),
        }
    }
    blocks
}

/// An answer under way. While this lives, others see that the question is being answered.
#[derive(Debug)]
pub struct AnswerEntry {
    journal: Journal,
    header: Header,
    path: PathBuf,
    file: Box<dyn VfsFile>,
    /// How many bytes of whole lines the file holds.
    length: u64,
    /// How many bytes it held before it was settled.
    unsettled_length: Option<u64>,
    /// Pieces that are not in the file yet, each with what it is.
    pending: Vec<(&'static str, String)>,
    /// Whether the file holds something of the answer.
    holds_words: bool,
    /// Given up last.
    _lock: Box<dyn Any + Send + Sync>,
}

impl Journal {
    /// What the file system calls the file at a path, whatever its name.
    pub(super) fn identity_of(&self, path: &Path) -> Option<String> {
        let (device, number) = self.vfs.facts(path).ok()?.identity;
        Some(format!("{device}:{number}"))
    }

    /// Makes sure that answers can be kept, before anything is spent on one.
    pub fn check_writable(&self) -> Result<(), StoreError> {
        for folder in ["asked", MESSAGES, ANSWERS, "about", "texts"] {
            let folder = self.folder.join(folder);
            create_private_folder(&*self.vfs, &folder)?;
            self.vfs
                .list(&folder)
                .map_err(to("use this folder", &folder))?;
        }
        Ok(())
    }

    /// Begins the entry of an answer to these cells. `base` has its author, its model and its time.
    pub(crate) fn begin(
        &self,
        document: &Document,
        path: &Path,
        asked: Vec<AskedCell>,
        base: &Message,
    ) -> Result<AnswerEntry, StoreError> {
        let places = waiting_places(&asked, document).unwrap_or_default();
        let before = places
            .first()
            .and_then(|first| text_before(*first, document));
        let identity = self.identity_of(path);
        let header = Header {
            asked,
            before,
            identity,
            ..Header::without_question(path, base)
        };
        let folder = self.asked_folder();
        create_private_folder(&*self.vfs, &folder)?;
        let id = OsIds.uuid(header.at.unwrap_or_default());
        let path = folder.join(entry_name(&header, path, &id));
        // The lock is there before the entry, and goes after it.
        let lock_path = lock_path(&path);
        let locked = self.vfs.lock(&lock_path).map_err(to("lock", &lock_path))?;
        let lock = locked.ok_or_else(|| StoreError::Locked {
            path: lock_path.clone(),
        })?;
        let file = self.vfs.open(&path, Open::Private).map_err(|error| {
            self.remove_entry(&path);
            to("write to", &path)(error)
        })?;
        let mut entry = AnswerEntry {
            journal: self.clone(),
            header,
            path,
            file,
            length: 0,
            unsettled_length: None,
            pending: Vec::new(),
            holds_words: false,
            _lock: lock,
        };
        entry.write(&format!("{}\n", entry.header.to_json()))?;
        self.vfs
            .sync_folder(&folder)
            .map_err(to("sync the folder of", &entry.path))?;
        Ok(entry)
    }
}

/// What an entry is called: the question and the file that it is about can be told without reading it.
fn entry_name(header: &Header, path: &Path, id: &str) -> String {
    let question = header
        .question()
        .map(|text| text.to_string())
        .unwrap_or_default();
    format!("{question}.{}.{id}.jsonl", path_hash(path))
}

/// The lock of an entry.
pub(super) fn lock_path(entry: &Path) -> PathBuf {
    entry.with_extension("lock")
}

impl AnswerEntry {
    /// The cells that are being answered.
    pub fn asked(&self) -> &[AskedCell] {
        &self.header.asked
    }

    /// The places of the asked cells in a document, from 0, if all of them still stand there and wait.
    pub fn places(&self, document: &Document) -> Option<Vec<usize>> {
        waiting_places(&self.header.asked, document)
    }

    /// Takes a piece of the answer; it reaches the journal with the next [`AnswerEntry::flush`].
    pub fn push(&mut self, piece: AnswerPiece<'_>) {
        match self.pending.last_mut() {
            Some((key, text)) if *key == piece.key() => text.push_str(piece.text()),
            _ => self.pending.push((piece.key(), piece.text().to_string())),
        }
    }

    /// Whether there are pieces that the journal does not hold yet.
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Writes what came since the last time, without a sync: a kill costs nothing, a power cut the last moments.
    /// What cannot be written is tried again the next time.
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
            self.holds_words = true;
        }
    }

    /// Keeps the whole answer. When this returns, it survives a power cut.
    pub(crate) fn complete(&mut self, answer: &Message) -> Result<(), StoreError> {
        self.write(&format!("{}\n", answer.to_json()))?;
        self.holds_words = true;
        self.sync()
    }

    /// Keeps the answer by the hash of the cells in which it is about to stand in this file.
    pub(crate) fn settle(
        &mut self,
        answer: &Message,
        cells: CellsHash,
        path: &Path,
    ) -> Result<(), StoreError> {
        self.journal.settle(&self.header, answer, cells)?;
        self.unsettled_length.get_or_insert(self.length);
        self.write(&self.journal.settled_line(path))?;
        self.sync()
    }

    /// Takes back that the answer was about to be put into the file. That needs no space on a disk that is full.
    pub(crate) fn unsettle(&mut self) {
        if let Some(length) = self.unsettled_length.take()
            && self.file.truncate(length).is_ok()
        {
            self.length = length;
        }
    }

    /// Ends the entry: the answer is in the file, or nothing came that is worth keeping.
    pub(crate) fn end(mut self) {
        self.holds_words = false;
    }

    /// Writes whole lines, or nothing.
    fn write(&mut self, lines: &str) -> Result<(), StoreError> {
        // A blank line does no harm; it ends a line that was cut, and could not be taken back.
        let lines = if self.length == 0 {
            lines.to_string()
        } else {
            format!("\n{lines}")
        };
        if let Err(error) = self.file.write_all(lines.as_bytes()) {
            let _ = self.file.truncate(self.length);
            return Err(to("write to", &self.path)(error));
        }
        self.length += lines.len() as u64;
        Ok(())
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.file.sync().map_err(to("sync", &self.path))
    }
}

impl Drop for AnswerEntry {
    fn drop(&mut self) {
        // What holds something of the answer stays, and its lock is given up with this.
        if !self.holds_words {
            self.journal.remove_entry(&self.path);
        }
    }
}

impl Journal {
    /// Keeps the message of an answer that is in the file, and notes whose answer it is.
    pub(super) fn settle(
        &self,
        header: &Header,
        answer: &Message,
        cells: CellsHash,
    ) -> Result<(), StoreError> {
        // The note comes first: a record that nothing leads to could not be forgotten.
        if let Some(text) = header.question() {
            let path = path_hash(Path::new(&header.path));
            let record = RecordName::Message(cells);
            self.note(&Note {
                text,
                path,
                record,
                is_told: false,
            })?;
        }
        self.keep_message(header, cells, answer)
    }

    /// The line of an answer that is about to be put into a file. While the file stays in this state, it is not there.
    pub(super) fn settled_line(&self, path: &Path) -> String {
        format!("{{\"{SETTLED}\":\"{}\"}}\n", self.state_of(path))
    }

    /// The state of a file: every write changes it.
    pub(super) fn state_of(&self, path: &Path) -> String {
        let Ok(facts) = self.vfs.facts(path) else {
            return String::new();
        };
        let (device, number) = facts.identity;
        let (seconds, nanos) = facts.modified;
        format!("{device}-{number}-{}-{seconds}.{nanos}", facts.length)
    }
}
