//! The journal: how answers travelled, and what is no longer in a file. It lives in the state folder.
//!
//! | folder | holds |
//! |---|---|
//! | `asked` | answers under way, answers that broke off, and answers whose question is gone |
//! | `messages` | whole messages that the next request needs, by the hash of their cells |
//! | `answers` | all other answers, by the hash of their cells |
//! | `texts` | texts that a verb took out of a file |
//! | `rewinds` | which empty cell of a file says that the file was rewound |
//! | `about` | empty files whose names say which records belong to which text and which path |
//!
//! Records are found by what stands in a file, so a file can be moved, copied, forked and checked out. The path is
//! kept as a hint: it tells two files apart that hold the same words. Where nothing is left at that path, the text
//! before the question does. Names of files tell what they are about, so that what others left here is not read.
//!
//! Whoever asks holds a lock on the entry until the answer is in the file, so an entry without a lock is an answer that
//! broke off. Just before the answer is put into the file, the entry notes the state of that file: after a kill, an
//! answer comes into a file in that state, and never into one from which somebody may have deleted it.
//!
//! Every file here is private. A record is on the disk before its message counts as kept.

mod asked;
mod entry;
mod found;
mod recover;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analects_core::{Block, Body, Content, Json, Message, Raw, RawMap};
use analects_formats::msgfile::{CellsHash, Document, KnownMessages};
use jiff::Timestamp;

use crate::error::to;
use crate::places::{create_private_folder, name_in_state};
use crate::vfs::{Disk, Open, Vfs, folder_of};
use crate::{OsIds, Places, StoreError};
use entry::{Entry, Header};

pub use asked::{AskedCell, TextHash};
pub use entry::{AnswerEntry, AnswerPiece};
pub use found::{JournalRecord, MissingAnswer, RecordKind};
pub use recover::RecoveredAnswer;

/// The folder of messages that the next request needs, and that of the others.
const MESSAGES: &str = "messages";
const ANSWERS: &str = "answers";

/// The largest record that is read, in bytes.
const LARGEST_RECORD: u64 = 256 << 20;

/// The journal of a state folder.
#[derive(Debug, Clone)]
pub struct Journal {
    vfs: Arc<dyn Vfs>,
    folder: PathBuf,
}

impl Journal {
    /// The journal in these places.
    pub fn of(places: &Places) -> Journal {
        Journal::on(Arc::new(Disk), places)
    }

    /// The same on any file system.
    pub fn on(vfs: Arc<dyn Vfs>, places: &Places) -> Journal {
        Journal {
            vfs,
            folder: places.state.join("journal"),
        }
    }

    /// Keeps a message whose cells do not say everything. When this returns, it survives a power cut.
    pub fn keep(&self, path: &Path, cells: CellsHash, message: &Message) -> Result<(), StoreError> {
        // The note comes first: a record that nothing leads to could not be forgotten.
        self.note(&Note {
            text: TextHash::of(&message.text()),
            path: path_hash(path),
            record: RecordName::Message(cells),
            is_told: false,
        })?;
        self.keep_message(&Header::without_question(path, message), cells, message)
    }

    fn keep_message(
        &self,
        header: &Header,
        cells: CellsHash,
        message: &Message,
    ) -> Result<(), StoreError> {
        let folder = if goes_back(message) {
            MESSAGES
        } else {
            ANSWERS
        };
        let file = self.message_file(folder, cells);
        if self
            .read_entry(&file)
            .is_some_and(|entry| entry.message.is_some())
        {
            return Ok(());
        }
        self.write_new(
            &file,
            &format!("{}\n{}\n", header.to_json(), message.to_json()),
        )
    }

    /// Keeps a text that a verb is about to take out of a cell, in favour of another one.
    pub fn keep_text(
        &self,
        path: &Path,
        cell: &str,
        old: &str,
        new: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let id = analects_core::Ids::uuid(&mut OsIds, now).replace('-', "");
        // The note comes first: a record that nothing leads to could not be forgotten.
        self.note(&Note {
            text: TextHash::of(new),
            path: path_hash(path),
            record: RecordName::Text(id.clone()),
            is_told: false,
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

    /// Writes a file of ours and brings it to the disk. What a kill left under its name goes.
    fn write_new(&self, file: &Path, text: &str) -> Result<(), StoreError> {
        let folder = folder_of(file);
        create_private_folder(&*self.vfs, folder)?;
        match self.vfs.remove(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(to("replace", file)(error));
            }
            _ => {}
        }
        let written = self.vfs.open(file, Open::Private).and_then(|mut open| {
            open.write_all(text.as_bytes())?;
            open.sync()?;
            self.vfs.sync_folder(folder)
        });
        written.map_err(to("write to", file))
    }

    /// The entry of a message that stands in cells of this hash, and its file.
    fn find_message(&self, cells: CellsHash) -> Option<(PathBuf, Entry)> {
        let files = [MESSAGES, ANSWERS].map(|folder| self.message_file(folder, cells));
        files
            .into_iter()
            .find_map(|file| self.read_entry(&file).map(|entry| (file, entry)))
    }

    fn message_file(&self, folder: &str, cells: CellsHash) -> PathBuf {
        let name = cells.to_string();
        self.folder
            .join(folder)
            .join(&name[..2])
            .join(format!("{name}.jsonl"))
    }

    fn text_file(&self, id: &str) -> PathBuf {
        self.folder.join("texts").join(format!("{id}.jsonl"))
    }

    fn asked_folder(&self) -> PathBuf {
        self.folder.join("asked")
    }

    /// Notes that a record belongs to a text and a path.
    fn note(&self, note: &Note) -> Result<(), StoreError> {
        let file = self.note_file(note);
        let folder = folder_of(&file);
        create_private_folder(&*self.vfs, folder)?;
        let made = self.vfs.open(&file, Open::Private);
        made.and_then(|_| self.vfs.sync_folder(folder))
            .map_err(to("write to", &file))
    }

    fn note_file(&self, note: &Note) -> PathBuf {
        self.notes_folder(note.text).join(note.to_string())
    }

    /// The folder with the notes about a text, and about others.
    fn notes_folder(&self, text: TextHash) -> PathBuf {
        self.folder.join("about").join(&text.to_string()[..2])
    }

    /// All notes, in no particular order.
    fn notes(&self) -> Vec<Note> {
        let folders = self
            .vfs
            .list(&self.folder.join("about"))
            .unwrap_or_default();
        folders
            .iter()
            .flat_map(|folder| self.notes_in(folder))
            .collect()
    }

    fn notes_in(&self, folder: &Path) -> Vec<Note> {
        let files = self.vfs.list(folder).unwrap_or_default();
        files
            .iter()
            .filter_map(|file| Note::parse(file.file_name()?.to_str()?))
            .collect()
    }

    /// What a file of an answer holds; `None` if it cannot be read.
    fn read_entry(&self, file: &Path) -> Option<Entry> {
        Entry::parse(&self.read(file)?)
    }

    fn read(&self, file: &Path) -> Option<String> {
        // Mostly there is no such file, and one look is enough. To open a pipe would take for ever.
        let facts = self.vfs.facts(file).ok()?;
        if !facts.is_file || facts.length > LARGEST_RECORD {
            return None;
        }
        let bytes = self
            .vfs
            .open(file, Open::Read)
            .and_then(|mut open| open.read_from(0))
            .ok()?;
        // A kill may have cut the last line within a character.
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// What the next request needs. Most answers have nothing of that kind, so most lookups end at once.
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

/// All that a journal knows of messages, whether a request needs it or not.
#[derive(Debug, Clone)]
pub struct AllDetails(pub Journal);

impl KnownMessages for AllDetails {
    fn get(&self, cells: CellsHash) -> Option<Message> {
        self.0.find_message(cells)?.1.message
    }
}

/// Whether a request needs more of a message than its cells say: signatures, encrypted reasoning, fields of blocks,
/// and what is known of a file that was shown.
fn goes_back(message: &Message) -> bool {
    let Body::Assistant(body) = &message.body else {
        return true;
    };
    let Content::Blocks(blocks) = &body.content else {
        return false;
    };
    blocks.iter().any(|block| match block {
        Block::Text(text) => !text.extra.is_empty(),
        Block::Thinking(thought) => thought.signature.is_some() || !thought.extra.is_empty(),
        Block::ToolUse(call) => !call.extra.is_empty(),
        Block::Image(_)
        | Block::ToolResult(_)
        | Block::RedactedThinking(_)
        | Block::Document(_)
        | Block::Other(_) => true,
    })
}

/// The name of an empty file in `about`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Note {
    /// The text: of the question that was answered, or of the cell from which a text was taken.
    text: TextHash,
    /// The hash of the path of its file at that time.
    path: String,
    record: RecordName,
    /// Whether the person was told that the answer is not in the file.
    is_told: bool,
}

/// What a record is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum RecordName {
    Message(CellsHash),
    Text(String),
}

const TOLD: &str = "told";

impl Note {
    fn parse(name: &str) -> Option<Note> {
        let mut parts = name.split('.');
        let text: TextHash = parts.next()?.parse().ok()?;
        let path = parts.next()?.to_string();
        let record = parts.next()?;
        let record = match record.split_at_checked(1)? {
            ("m", cells) => RecordName::Message(cells.parse().ok()?),
            ("t", id) if id.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                RecordName::Text(id.to_string())
            }
            _ => return None,
        };
        let is_told = parts.next() == Some(TOLD);
        Some(Note {
            text,
            path,
            record,
            is_told,
        })
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.", self.text, self.path)?;
        match &self.record {
            RecordName::Message(cells) => write!(f, "m{cells}")?,
            RecordName::Text(id) => write!(f, "t{id}")?,
        }
        if self.is_told {
            write!(f, ".{TOLD}")
        } else {
            Ok(())
        }
    }
}

/// What a path is called in names of files. Records hold it as text.
fn path_hash(path: &Path) -> String {
    name_in_state(Path::new(&*path.to_string_lossy()))
}

fn number(value: u64) -> Raw {
    Raw::parse(&value.to_string()).unwrap_or_else(|_| Raw::empty_object())
}

/// A rewind whose cell is gone before anything was said in it: the next message would follow another one than the person
/// meant, so somebody has to say that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRewind {
    /// The cell that the next message was to follow; empty for the beginning.
    pub to: String,
}

impl Journal {
    /// Notes where a file goes on, as its last cell says it. A file that was not rewound has no note.
    pub fn note_rewind(&self, path: &Path, document: &Document) -> Result<(), StoreError> {
        let file = self.rewind_file(path);
        let mark = document.ready_cell().filter(|cell| cell.is_rewind_mark());
        let Some((cell, to)) = mark.and_then(|cell| Some((cell.id()?, cell.parent()?))) else {
            // There is mostly none.
            let _ = self.vfs.remove(&file);
            return Ok(());
        };
        let mut note = RawMap::new();
        note.push("cell", Raw::string(cell));
        note.push("parent", Raw::string(to));
        self.write_new(&file, &note.to_raw().to_string())
    }

    /// The rewind of a file whose cell is gone though nothing was said in it. It is told once.
    pub fn take_lost_rewind(&self, path: &Path, document: &Document) -> Option<LostRewind> {
        let file = self.rewind_file(path);
        let note = RawMap::parse(&self.read(&file)?).unwrap_or_default();
        let get = |key: &str| note.get(key).and_then(Raw::as_string).unwrap_or_default();
        let to = get("parent");
        let cell = document.cell(&get("cell"));
        if cell.is_some_and(|cell| cell.is_rewind_mark()) {
            return None;
        }
        let _ = self.vfs.remove(&file);
        let is_used = cell.is_some_and(|cell| cell.parent() == Some(&to));
        (!is_used).then_some(LostRewind { to })
    }

    fn rewind_file(&self, path: &Path) -> PathBuf {
        self.folder
            .join("rewinds")
            .join(format!("{}.json", path_hash(path)))
    }
}
