//! Converts conversations between formats: what a format is, which formats exist, and the conversion itself. Files are
//! read and written in chunks, so that a file need not fit into memory unless its format requires that.
//!
//! ```
//! use analects_formats::convert::{Conversion, ReadOptions, WriteOptions, detect, format_by_id};
//!
//! let file = b"> ---\n> <USER />\n\nHello\n";
//! let from = detect(file, "talk.md").unwrap();
//! assert_eq!(from.id(), "chatmd");
//! let to = format_by_id("transcript").unwrap();
//! let reader = from.reader(&ReadOptions::named("talk.md")).unwrap();
//! let writer = to.writer(&WriteOptions::default()).unwrap();
//! let mut conversion = Conversion::new(reader, writer);
//! let mut line = conversion.feed(file);
//! line.extend(conversion.finish());
//! assert!(String::from_utf8(line).unwrap().contains("\"content\":\"Hello\""));
//! assert!(conversion.losses.is_empty() && conversion.problems.is_empty());
//! ```
//!
//! # Types, in reading order
//!
//! 1. A [`Format`] creates a [`FormatReader`] and a [`FormatWriter`]. [`FORMATS`] lists all of them. [`detect`] and
//!    [`format_for_name`] choose one.
//! 2. A [`Conversion`] connects a reader with a writer and collects problems and [`Loss`]es.
//! 3. Some formats need a [`FirstPass`] over the conversation. A [`FirstPassRunner`] does it for large files. Small
//!    conversations are buffered instead.
//! 4. [`LineSplitter`] and [`WholeFile`] are for implementing readers.
//!
//! # Limitations
//!
//! - Formats with [`ReadMode::Whole`] need memory for the whole file, up to [`WHOLE_LIMIT`].
//! - A line of more than [`LINE_LIMIT`] bytes is not read. In a transcript, a placeholder keeps its place.
//! - At most 10,000 problems are listed. The rest is counted.

mod buffer;
mod chat_markdown;
mod chat_session;
mod conversion;
mod message_file;
mod registry;
mod transcript;

use std::fmt;
use std::rc::Rc;

use analects_core::{Body, Message, Problem};
use jiff::tz::TimeZone;

use crate::Loss;
use crate::chatmd::Dialect;
use crate::msgfile::{KnownMessages, LeftBehind};
use crate::repair::RepairCheck;

pub use buffer::{FileLine, LINE_LIMIT, LineSplitter, WHOLE_LIMIT, WholeFile};
pub use chat_markdown::ChatMarkdownFormat;
pub use chat_session::ChatSessionFormat;
pub(crate) use conversion::{BufferedWriter, LIST_LIMIT, RevisionPass, more_problems};
pub use conversion::{Conversion, FirstPass, FirstPassRunner, ProblemList};
pub use message_file::MessageFileFormat;
pub use registry::{
    FORMATS, FileHead, FormatChoice, JsonOverLines, detect, format_by_id, format_for_name,
};
pub use transcript::TranscriptFormat;

/// How many bytes from the start of a file to pass to [`detect`] and [`Format::recognise`].
pub const HEAD_SIZE: usize = 64 << 10;

/// A format of conversations. All of them are listed in [`FORMATS`].
pub trait Format: Sync {
    /// Returns its name, such as `claude-code`.
    fn id(&self) -> &'static str;

    /// Describes it in one line.
    fn about(&self) -> &'static str;

    /// Returns the usual endings of its file names, the most usual first.
    fn endings(&self) -> &'static [&'static str];

    /// Returns how likely a file is of this format. `head` holds its first [`HEAD_SIZE`] bytes, or fewer.
    fn recognise(&self, head: &[u8], name: &str) -> Confidence;

    /// Creates a reader; `None` for a format that can only be written.
    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>>;

    /// Creates a writer; `None` for a format that can only be read. If the format needs a
    /// [`first_pass`](Format::first_pass), this writer makes up for it by holding all messages until the end.
    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn FormatWriter>>;

    /// Returns whether its files are for people to read, so that nobody minds if they lack anything but words.
    fn is_for_people(&self, _: &WriteOptions) -> bool {
        false
    }

    /// Returns how its files are read.
    fn read_mode(&self) -> ReadMode {
        ReadMode::Whole
    }

    /// Starts the repair of a file of this name; `None` for a format whose files have no records to repair.
    fn repair(&self, _: &str) -> Option<Box<dyn RepairCheck>> {
        None
    }

    /// Creates the first of two passes over a conversation, for formats in which a late message changes what is written
    /// early. `None` if the writer needs no such pass.
    fn first_pass(&self, _: &WriteOptions) -> Option<Box<dyn FirstPass>> {
        None
    }
}

/// How the files of a format are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// Record by record, and a record may revise an earlier one.
    Revisions,
    /// Record by record, without revisions.
    Records,
    /// As a whole, so that nothing is known before the end.
    Whole,
}

/// How likely a file is of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It is not, or nothing suggests so.
    No,
    /// Only the file's name suggests so.
    ByName,
    /// The content could be.
    Maybe,
    /// The content certainly is.
    Yes,
}

/// Reads a file in chunks and returns messages as early as possible. Never fails: unreadable content is a problem.
pub trait FormatReader {
    /// Takes the next bytes of the file.
    fn feed(&mut self, bytes: &[u8], out: &mut ReadOutput);

    /// Ends the file.
    fn finish(self: Box<Self>, out: &mut ReadOutput);
}

/// What a [`FormatReader`] has read since the caller last took it.
///
/// A file may hold several conversations. Their messages follow one another and differ in [`Message::session_id`].
/// Facts about a whole conversation, such as its title, are a message too: a change of state
/// ([`analects_core::StateChange`]) before its first message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOutput {
    /// The messages, in file order.
    pub messages: Vec<Message>,
    /// What is odd about the file. Content with an error could not be read and is missing from the messages.
    pub problems: Vec<Problem>,
    /// Content of the file that messages cannot represent.
    pub losses: Vec<Loss>,
    /// The number of skipped records that are not part of a conversation, such as progress.
    pub left_out: usize,
}

/// Takes messages in order and returns bytes as early as possible.
pub trait FormatWriter {
    /// Takes the next message.
    fn push(&mut self, message: &Message, out: &mut WriteOutput);

    /// Ends the conversation.
    fn finish(self: Box<Self>, out: &mut WriteOutput);
}

/// What a [`FormatWriter`] has written since the caller last took it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteOutput {
    /// The next bytes of the file.
    pub bytes: Vec<u8>,
    /// The next bytes of the file's tail, which comes after all other bytes.
    pub tail: Vec<u8>,
    /// Content of the messages that the format cannot represent.
    pub losses: Vec<Loss>,
    /// Counts what a readable message file leaves out.
    pub left_behind: LeftBehind,
}

/// How to read a file.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The file's name. A conversation without an id gets one that is derived from it.
    pub name: String,
    /// Whether to keep progress, snapshots and other records that are not part of a conversation.
    pub full: bool,
    /// The time zone of times without one.
    pub zone: TimeZone,
    /// Where to look up the full messages behind the cells of a message file.
    pub stored_messages: Option<StoredMessages>,
    /// Whether the messages are for a [`FirstPass`]. Then their content may be missing, except in revisions.
    pub is_first_pass: bool,
}

/// Looks up full messages by the hash of their cells.
#[derive(Clone)]
pub struct StoredMessages(pub Rc<dyn KnownMessages>);

impl fmt::Debug for StoredMessages {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StoredMessages")
    }
}

impl ReadOutput {
    /// Adds messages. Progress is skipped and counted, unless `full` is set.
    pub(crate) fn add_messages(&mut self, messages: Vec<Message>, full: bool) {
        for message in messages {
            if !full && matches!(message.body, Body::Progress(_)) {
                self.left_out += 1;
            } else {
                self.messages.push(message);
            }
        }
    }
}

impl ReadOptions {
    /// Creates the default options for a file of this name: skip records outside of the conversation, and take times
    /// without a zone as UTC.
    pub fn named(name: impl Into<String>) -> ReadOptions {
        ReadOptions {
            name: name.into(),
            full: false,
            zone: TimeZone::UTC,
            stored_messages: None,
            is_first_pass: false,
        }
    }
}

/// How to write a file.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The file's name, or an empty string. Some formats depend on its ending.
    pub name: String,
    /// The dialect of chat Markdown.
    pub dialect: Dialect,
    /// The zone of the times in formats that cannot name one, and of their offsets in message files.
    pub zone: TimeZone,
    /// Whether to write a message file that holds everything, instead of a readable one.
    pub full: bool,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            name: String::new(),
            dialect: Dialect::Ours,
            zone: TimeZone::UTC,
            full: false,
        }
    }
}

#[cfg(test)]
mod tests;
