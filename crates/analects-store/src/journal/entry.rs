//! An answer on its way: what came of it is in the journal before it is in the file.

use std::any::Any;
use std::path::{Path, PathBuf};

use analects_core::{
    Assistant, Block, Body, Content, Ids, Json, Message, Raw, RawMap, StopReason, Thinking,
};
use analects_formats::msgfile::{CellsHash, Document};
use jiff::Timestamp;

use super::asked::{AskedCell, CellFinder, TextHash};
use super::{Journal, Note, RecordName, number, path_hash};
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
}

impl Header {
    pub(super) fn without_question(path: &Path, message: &Message) -> Header {
        Header {
            path: path.to_string_lossy().into_owned(),
            at: message.created_at,
            author: message.author.clone(),
            model: message.model.clone(),
            asked: Vec::new(),
        }
    }

    pub(super) fn to_json(&self) -> Raw {
        let mut record = RawMap::new();
        record.push("v", number(1));
        record.push("type", Raw::string("journal_answer"));
        record.push("path", Raw::string(&self.path));
        let at = self.at.map(|at| at.to_string());
        for (key, value) in [("at", &at), ("author", &self.author), ("model", &self.model)] {
            if let Some(value) = value {
                record.push(key, Raw::string(value));
            }
        }
        let asked: Vec<String> =
            self.asked.iter().map(|asked| asked.to_raw().to_string()).collect();
        if let Ok(asked) = Raw::parse(&format!("[{}]", asked.join(","))) {
            record.push("asked", asked);
        }
        record.to_raw()
    }

    fn parse(record: &RawMap) -> Option<Header> {
        let string = |key: &str| record.get(key).and_then(Raw::as_string);
        let asked = record.get("asked").and_then(Raw::as_array).unwrap_or_default();
        Some(Header {
            path: string("path")?,
            at: string("at").and_then(|at| at.parse().ok()),
            author: string("author"),
            model: string("model"),
            asked: asked.iter().map(AskedCell::from_raw).collect::<Option<_>>()?,
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

/// The file of an answer, read.
#[derive(Debug)]
pub(super) struct Entry {
    pub header: Header,
    /// The whole message, if it came to its end.
    pub message: Option<Message>,
    /// Whether the message was kept by the hash of its cells: then it is in the file, or was about to be.
    pub is_settled: bool,
    blocks: Vec<Block>,
}

impl Entry {
    /// Reads the lines of an entry, as far as they are whole.
    pub(super) fn parse(text: &str) -> Option<Entry> {
        let mut lines = text.lines();
        let header = Header::parse(&RawMap::parse(lines.next()?).ok()?)?;
        let mut entry = Entry { header, message: None, is_settled: false, blocks: Vec::new() };
        for line in lines {
            // A kill or a full disk may have cut a line.
            let Ok(record) = RawMap::parse(line) else { continue };
            if record.get("cells").is_some() {
                entry.is_settled = true;
            } else if let Some(text) = record.get("text").and_then(Raw::as_string) {
                entry.blocks.push(Block::from_text(text));
            } else if let Some(thinking) = record.get("thinking").and_then(Raw::as_string) {
                let thought = Thinking { thinking: thinking.into(), ..Thinking::default() };
                entry.blocks.push(Block::Thinking(thought));
            } else {
                entry.message = Message::from_json(line).ok();
            }
        }
        Some(entry)
    }

    /// The message, or what came of it; `None` if nothing came.
    pub(super) fn into_message(self) -> Option<(Header, Message)> {
        let Entry { header, message, blocks, .. } = self;
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
    lock_path: PathBuf,
    file: Box<dyn VfsFile>,
    /// Pieces that are not in the file yet, each with what it is.
    pending: Vec<(&'static str, String)>,
    /// Whether the file holds something of the answer.
    holds_words: bool,
    _lock: Box<dyn Any + Send + Sync>,
}

impl Journal {
    /// Begins the entry of an answer to these cells. `base` has its author, its model and its time.
    pub fn begin(
        &self,
        path: &Path,
        asked: Vec<AskedCell>,
        base: &Message,
    ) -> Result<AnswerEntry, StoreError> {
        let header = Header { asked, ..Header::without_question(path, base) };
        let folder = self.asked_folder();
        create_private_folder(&*self.vfs, &folder)?;
        let id = OsIds.uuid(header.at.unwrap_or_default());
        let question = header.question().map(|text| text.to_string()).unwrap_or_default();
        let lock_path = folder.join(format!("{question}.{id}.lock"));
        let locked = self.vfs.lock(&lock_path).map_err(to("lock", &lock_path))?;
        let lock = locked.ok_or_else(|| StoreError::Locked { path: lock_path.clone() })?;
        let path = folder.join(format!("{question}.{id}.jsonl"));
        let mut file = self.vfs.open(&path, Open::Private).map_err(to("write to", &path))?;
        let first = format!("{}\n", header.to_json());
        file.write_all(first.as_bytes()).map_err(to("write to", &path))?;
        Ok(AnswerEntry {
            journal: self.clone(),
            header,
            path,
            lock_path,
            file,
            pending: Vec::new(),
            holds_words: false,
            _lock: lock,
        })
    }
}

impl AnswerEntry {
    /// The cells that are being answered.
    pub fn asked(&self) -> &[AskedCell] {
        &self.header.asked
    }

    /// The places of the asked cells in a document, from 0, if all of them still stand there and wait.
    pub fn places(&self, document: &Document) -> Option<Vec<usize>> {
        CellFinder::new(document).waiting_places(&self.header.asked)
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
    /// What cannot be written is tried again with the whole answer.
    pub fn flush(&mut self) {
        let mut lines = String::new();
        for (key, text) in self.pending.drain(..) {
            let mut record = RawMap::new();
            record.push(key, Raw::string(&text));
            lines.push_str(record.to_raw().as_str());
            lines.push('\n');
        }
        if self.file.write_all(lines.as_bytes()).is_ok() {
            self.holds_words |= !lines.is_empty();
        }
    }

    /// Keeps the whole answer. When this returns, it survives a power cut.
    pub fn complete(&mut self, answer: &Message) -> Result<(), StoreError> {
        // A line of its own, also behind a piece that could not be written.
        let line = format!("\n{}\n", answer.to_json());
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync());
        written.map_err(to("write to", &self.path))?;
        self.holds_words = true;
        Ok(())
    }

    /// Keeps the answer by the hash of the cells in which it is about to stand in the file.
    pub fn settle(&mut self, answer: &Message, cells: CellsHash) -> Result<(), StoreError> {
        self.journal.settle(&self.header, answer, cells)?;
        // Without this line, the entry could be taken for an answer that nobody has seen.
        let written = self.file.write_all(settled_line(cells).as_bytes());
        written.map_err(to("write to", &self.path))
    }

    /// Ends the entry: the answer is in the file, or nothing came that is worth keeping.
    pub fn end(mut self) {
        self.holds_words = false;
    }
}

/// The line that tells where an answer went.
fn settled_line(cells: CellsHash) -> String {
    format!("{{\"cells\":\"{cells}\"}}\n")
}

impl Drop for AnswerEntry {
    fn drop(&mut self) {
        if !self.holds_words {
            // What stays is an answer of which nothing came.
            let _ = self.journal.vfs.remove(&self.path);
        }
        let _ = self.journal.vfs.remove(&self.lock_path);
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
        self.keep_message(header, cells, answer)?;
        let Some(text) = header.question() else { return Ok(()) };
        let path = path_hash(Path::new(&header.path));
        let record = RecordName::Message(cells);
        self.note(&Note { text, path, record, is_told: false })
    }
}
