//! The journal: answers while they arrive, and content that is no longer in its file. It lives in the state folder.
//!
//! | folder | content |
//! |---|---|
//! | `asked` | entries: answers that are being received, were interrupted, or lost their question |
//! | `messages` | whole messages that the next request needs, by the hash of their cells |
//! | `answers` | all other answers, by the hash of their cells |
//! | `texts` | texts that a verb removed from a file |
//! | `rewinds` | for each rewound file, the empty cell that marks the rewind |
//! | `about` | notes: empty files whose names link a text and a path to a record |
//!
//! Records are found by the content of a file, so the file can be moved, copied, forked and checked out. The path is
//! only a hint, which distinguishes two files with the same text. If nothing is left at that path, the text before the
//! question decides. File names tell what a record is about, so that unrelated records are never read.
//!
//! Whoever asks holds a lock on the entry until the answer is in the file. An entry without a lock is an interrupted
//! answer. Just before the answer is put into the file, the entry records the state of the file. After a kill, the
//! answer is put only into a file in that state, and never into one from which a person may have deleted it.
//!
//! All files here are private. A record is synced before its message counts as saved.

mod entry;
mod question;
mod records;
mod recover;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analects_core::{Block, Body, Content, Json, Message, Raw, RawMap};
use analects_formats::msgfile::{CellsHash, Document, KnownMessages};
use jiff::Timestamp;

use crate::error::cannot;
use crate::folders::{create_private_folder, name_in_state};
use crate::vfs::{Disk, OpenMode, Vfs, folder_of};
use crate::{OsIds, StoreError, StoreFolders};
use entry::{EntryHeader, ParsedEntry, string};

pub use entry::{AnswerDelta, AnswerEntry};
pub use question::{QuestionCell, TextHash};
pub use records::{JournalRecord, MissingAnswer, RecordKind};
pub(crate) use recover::InterruptedAnswer;
pub use recover::RecoveredAnswer;

/// The folder of the messages that the next request needs.
const MESSAGES: &str = "messages";
/// The folder of all other answers.
const ANSWERS: &str = "answers";

/// The size limit of a record in bytes.
const MAX_RECORD: u64 = 256 << 20;

/// The journal of a state folder.
#[derive(Debug, Clone)]
pub struct Journal {
    vfs: Arc<dyn Vfs>,
    /// The folder of the journal in the state folder.
    folder: PathBuf,
}

impl Journal {
    /// Returns the journal in the state folder.
    pub fn new(folders: &StoreFolders) -> Journal {
        Journal::with_vfs(Arc::new(Disk), folders)
    }

    /// Returns the journal on any file system.
    pub fn with_vfs(vfs: Arc<dyn Vfs>, folders: &StoreFolders) -> Journal {
        Journal {
            vfs,
            folder: folders.journal_folder(),
        }
    }

    /// Saves a message whose cells cannot represent all of it. When this returns, it survives a power cut.
    pub fn save_message(
        &self,
        path: &Path,
        cells: CellsHash,
        message: &Message,
    ) -> Result<(), StoreError> {
        // The note comes first: without one, the record could never be found and deleted.
        self.save_note(&RecordNote {
            text: TextHash::of(&message.text()),
            path: path_hash(path),
            record: RecordId::Message(cells),
            is_reported: false,
        })?;
        let header = EntryHeader::without_question(path, message);
        self.write_message(&header, cells, message)
    }

    /// Writes a message, unless it is there already.
    fn write_message(
        &self,
        header: &EntryHeader,
        cells: CellsHash,
        message: &Message,
    ) -> Result<(), StoreError> {
        let folder = if is_needed_for_requests(message) {
            MESSAGES
        } else {
            ANSWERS
        };
        let file = self.message_file(folder, cells);
        let entry = self.read_entry(&file);
        if entry.is_some_and(|entry| entry.message.is_some()) {
            return Ok(());
        }
        self.write_new(
            &file,
            &format!("{}\n{}\n", header.to_json(), message.to_json()),
        )
    }

    /// Saves the text of a cell that a verb is about to replace with `new`.
    pub fn save_removed_text(
        &self,
        path: &Path,
        cell: &str,
        old: &str,
        new: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let id = analects_core::Ids::uuid(&mut OsIds, now).replace('-', "");
        // The note comes first: without one, the record could never be found and deleted.
        self.save_note(&RecordNote {
            text: TextHash::of(new),
            path: path_hash(path),
            record: RecordId::Text(id.clone()),
            is_reported: false,
        })?;
        let mut record = RawMap::new();
        record.push("v", number(1));
        record.push("type", Raw::string("journal_text"));
        record.push("path", Raw::string(&path.to_string_lossy()));
        record.push("at", Raw::string(&now.to_string()));
        record.push("cell", Raw::string(cell));
        record.push("text", Raw::string(old));
        self.write_new(&self.text_file(&id), &format!("{}\n", record.to_raw()))
    }

    /// Writes a new file and syncs it. Removes what a kill left under its name.
    fn write_new(&self, file: &Path, text: &str) -> Result<(), StoreError> {
        create_private_folder(&*self.vfs, folder_of(file))?;
        if let Err(error) = self.vfs.remove(file)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(cannot("replace", file)(error));
        }
        self.write_and_sync(file, text)
            .map_err(cannot("write to", file))
    }

    /// Writes a file and syncs it and its name.
    fn write_and_sync(&self, file: &Path, text: &str) -> io::Result<()> {
        let mut open = self.vfs.open(file, OpenMode::Private)?;
        open.write_all(text.as_bytes())?;
        open.sync()?;
        self.vfs.sync_folder(folder_of(file))
    }

    /// Finds the record of the message in cells with this hash, and its file.
    fn find_message(&self, cells: CellsHash) -> Option<(PathBuf, ParsedEntry)> {
        for folder in [MESSAGES, ANSWERS] {
            let file = self.message_file(folder, cells);
            if let Some(entry) = self.read_entry(&file) {
                return Some((file, entry));
            }
        }
        None
    }

    /// Returns the file of a message. The two first characters of the hash are a subfolder, which keeps folders small.
    fn message_file(&self, folder: &str, cells: CellsHash) -> PathBuf {
        let name = cells.to_string();
        self.folder
            .join(folder)
            .join(&name[..2])
            .join(format!("{name}.jsonl"))
    }

    /// Returns the file of a removed text.
    fn text_file(&self, id: &str) -> PathBuf {
        self.folder.join("texts").join(format!("{id}.jsonl"))
    }

    /// The folder of the entries.
    fn entries_folder(&self) -> PathBuf {
        self.folder.join("asked")
    }

    /// Creates the file of a note, and syncs its name. A note that exists already stays.
    fn save_note(&self, note: &RecordNote) -> Result<(), StoreError> {
        let file = self.note_file(note);
        let folder = folder_of(&file);
        create_private_folder(&*self.vfs, folder)?;
        let created = self.vfs.open(&file, OpenMode::Private);
        created
            .and_then(|_| self.vfs.sync_folder(folder))
            .map_err(cannot("write to", &file))
    }

    /// Returns the file of a note. Its name is all that it holds.
    fn note_file(&self, note: &RecordNote) -> PathBuf {
        self.notes_folder(note.text).join(note.to_string())
    }

    /// Returns the folder that holds the notes about a text, among others.
    fn notes_folder(&self, text: TextHash) -> PathBuf {
        self.folder.join("about").join(&text.to_string()[..2])
    }

    /// Returns all notes, in no particular order.
    fn all_notes(&self) -> Vec<RecordNote> {
        let folders = self.vfs.list(&self.folder.join("about"));
        let mut notes = Vec::new();
        for folder in folders.unwrap_or_default() {
            notes.extend(self.notes_in(&folder));
        }
        notes
    }

    /// Returns the notes in a folder. Skips other files.
    fn notes_in(&self, folder: &Path) -> Vec<RecordNote> {
        let files = self.vfs.list(folder).unwrap_or_default();
        files
            .iter()
            .filter_map(|file| RecordNote::parse(file.file_name()?.to_str()?))
            .collect()
    }

    /// Reads an entry or a message record; `None` if it cannot be read.
    fn read_entry(&self, file: &Path) -> Option<ParsedEntry> {
        ParsedEntry::parse(&self.read(file)?)
    }

    /// Reads a file of the journal; `None` if it cannot be read.
    fn read(&self, file: &Path) -> Option<String> {
        // Usually there is no such file, and this check is all. Opening a pipe could block.
        let metadata = self.vfs.metadata(file).ok()?;
        if !metadata.is_file || metadata.length > MAX_RECORD {
            return None;
        }
        let mut open = self.vfs.open(file, OpenMode::Read).ok()?;
        let bytes = open.read_from(0).ok()?;
        // A kill may have cut off the last line within a character.
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The messages that the next request needs. Most answers are not among them, so most lookups find no file.
impl KnownMessages for Journal {
    fn get(&self, cells: CellsHash) -> Option<Message> {
        self.read_entry(&self.message_file(MESSAGES, cells))?
            .message
    }

    fn is_empty(&self) -> bool {
        self.vfs
            .list(&self.folder.join(MESSAGES))
            .unwrap_or_default()
            .is_empty()
    }
}

/// All messages of a journal, whether a request needs them or not.
#[derive(Debug, Clone)]
pub struct AllJournalMessages(pub Journal);

impl KnownMessages for AllJournalMessages {
    fn get(&self, cells: CellsHash) -> Option<Message> {
        self.0.find_message(cells)?.1.message
    }
}

/// Returns whether a request needs more of a message than its cells hold: signatures, encrypted reasoning, unknown
/// fields of blocks, and facts about a shared file.
fn is_needed_for_requests(message: &Message) -> bool {
    let Body::Assistant(body) = &message.body else {
        return true;
    };
    let Content::Blocks(blocks) = &body.content else {
        return false;
    };
    blocks.iter().any(is_block_needed_for_requests)
}

/// Returns whether a block has content that its cell does not show.
fn is_block_needed_for_requests(block: &Block) -> bool {
    match block {
        Block::Text(text) => !text.extra.is_empty(),
        Block::Thinking(thought) => thought.signature.is_some() || !thought.extra.is_empty(),
        Block::ToolUse(call) => !call.extra.is_empty(),
        Block::Image(_)
        | Block::ToolResult(_)
        | Block::RedactedThinking(_)
        | Block::Document(_)
        | Block::Other(_) => true,
    }
}

/// A link from a text and a path to a record: the name of an empty file in `about`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RecordNote {
    /// The text of the question that was answered, or of the cell from which a text was removed.
    text: TextHash,
    /// The hash of the path of the file at that time.
    path: String,
    /// The record that the note leads to.
    record: RecordId,
    /// Whether the person has been told that the answer is missing in the file.
    is_reported: bool,
}

/// The id of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum RecordId {
    /// The hash of the cells of a message.
    Message(CellsHash),
    /// The random id of a removed text.
    Text(String),
}

/// The last part of the name of a reported note.
const REPORTED: &str = "told";

impl RecordNote {
    /// Parses the name of a file; `None` if it is not a note.
    fn parse(name: &str) -> Option<RecordNote> {
        let mut parts = name.split('.');
        let text: TextHash = parts.next()?.parse().ok()?;
        let path = parts.next()?.to_string();
        let record = parts.next()?;
        let record = match record.split_at_checked(1)? {
            ("m", cells) => RecordId::Message(cells.parse().ok()?),
            ("t", id) if id.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                RecordId::Text(id.to_string())
            }
            _ => return None,
        };
        let is_reported = parts.next() == Some(REPORTED);
        Some(RecordNote {
            text,
            path,
            record,
            is_reported,
        })
    }
}

impl std::fmt::Display for RecordNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.", self.text, self.path)?;
        match &self.record {
            RecordId::Message(cells) => write!(f, "m{cells}")?,
            RecordId::Text(id) => write!(f, "t{id}")?,
        }
        if self.is_reported {
            write!(f, ".{REPORTED}")?;
        }
        Ok(())
    }
}

/// Returns the hash of a path, for file names. It is the hash of the path as text, the form in which records hold it.
fn path_hash(path: &Path) -> String {
    name_in_state(Path::new(&*path.to_string_lossy()))
}

/// Returns a number as JSON.
fn number(value: u64) -> Raw {
    Raw::parse(&value.to_string()).unwrap_or_else(|_| Raw::empty_object())
}

/// A rewind that was undone by accident: its cell was removed before anything was written in it. The next message would
/// follow another one than the person meant, so a command reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRewind {
    /// The cell that the next message should have followed; empty for the beginning.
    pub to: String,
}

impl Journal {
    /// Records the rewind of a file that its last cell marks, or removes the record if the file is not rewound.
    pub fn save_rewind(&self, path: &Path, document: &Document) -> Result<(), StoreError> {
        let file = self.rewind_file(path);
        let mark = document.ready_cell().filter(|cell| cell.is_rewind_mark());
        let Some((cell, parent)) = mark.and_then(|cell| Some((cell.id()?, cell.parent()?))) else {
            // Usually there is none.
            let _ = self.vfs.remove(&file);
            return Ok(());
        };
        let mut record = RawMap::new();
        record.push("cell", Raw::string(cell));
        record.push("parent", Raw::string(parent));
        self.write_new(&file, &record.to_raw().to_string())
    }

    /// Returns the rewind of a file if its cell is gone and no message took its place. Reports each rewind once.
    pub fn take_lost_rewind(&self, path: &Path, document: &Document) -> Option<LostRewind> {
        let file = self.rewind_file(path);
        let record = RawMap::parse(&self.read(&file)?).unwrap_or_default();
        let to = string(&record, "parent").unwrap_or_default();
        let id = string(&record, "cell").unwrap_or_default();
        let cell = document.cell(&id);
        if cell.is_some_and(|cell| cell.is_rewind_mark()) {
            return None;
        }
        let _ = self.vfs.remove(&file);
        let is_used = cell.is_some_and(|cell| cell.parent() == Some(&to));
        (!is_used).then_some(LostRewind { to })
    }

    /// Returns the file with the rewind of the file at `path`.
    fn rewind_file(&self, path: &Path) -> PathBuf {
        self.folder
            .join("rewinds")
            .join(format!("{}.json", path_hash(path)))
    }
}
