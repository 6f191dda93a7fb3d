//! One frame for all formats: what a format is, which there are, and how a conversation goes from one to
//! another. Bytes come in pieces and go out in pieces, so that a file need not fit into memory where its
//! format does not need that.
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

mod buffer;
mod conversion;
mod own_formats;
mod registry;

use std::fmt;
use std::rc::Rc;

use analects_core::{Message, MessageId, Problem, SessionId};
use jiff::tz::TimeZone;
use serde::Serialize;
use uuid::Uuid;

use crate::chatmd::Dialect;
use crate::msgfile::{KnownMessages, LeftBehind};

pub use buffer::{FileLine, LINE_LIMIT, LineSplitter, WHOLE_LIMIT, WholeFile};
pub(crate) use conversion::{BufferedWriter, RevisionPass};
pub use conversion::{Conversion, FirstPass, FirstPassRunner, ProblemList};
pub use own_formats::{ChatMarkdownFormat, ChatSessionFormat, MessageFileFormat, TranscriptFormat};
pub use registry::{FORMATS, FileHead, FormatChoice, detect, format_by_id, format_for_name};

/// How much of a file's beginning [`Format::recognise`] is to be shown.
pub const HEAD_SIZE: usize = 64 << 10;

/// A format of conversations.
pub trait Format: Sync {
    /// Its name, such as `claude-code`.
    fn id(&self) -> &'static str;

    /// What it is, in one line.
    fn about(&self) -> &'static str;

    /// How names of its files end, the usual ending first.
    fn endings(&self) -> &'static [&'static str];

    /// How sure it is that a file that begins like this is its own. `head` is up to [`HEAD_SIZE`] bytes.
    fn recognise(&self, head: &[u8], name: &str) -> Confidence;

    /// Something that reads it; `None` if it can only be written.
    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>>;

    /// Something that writes it; `None` if it can only be read. Where there is a [`survey`](Format::survey), it holds
    /// all messages until the end.
    fn writer(&self, options: &WriteOptions) -> Option<Box<dyn FormatWriter>>;

    /// How its files are read.
    fn read_mode(&self) -> ReadMode {
        ReadMode::Whole
    }

    /// The first of two passes over a conversation, for a format in which what comes late changes what is written
    /// early; `None` where the writer needs no such pass.
    fn first_pass(&self, _: &WriteOptions) -> Option<Box<dyn FirstPass>> {
        None
    }
}

/// How the files of a format are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// Record by record, and a record may revise an earlier one.
    Revisions,
    /// Record by record, and none revises another.
    Records,
    /// As a whole.
    Whole,
}

/// How sure a format is that a file is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It is not, or there is no sign of it.
    No,
    /// Only the name says so.
    ByName,
    /// The content looks like it.
    Maybe,
    /// The content says so.
    Yes,
}

/// Takes the bytes of a file in pieces, and gives messages as soon as it can. Never fails: what cannot be
/// read is a problem.
pub trait FormatReader {
    /// The next bytes of the file.
    fn feed(&mut self, bytes: &[u8], out: &mut ReadOutput);

    /// There are no more.
    fn finish(self: Box<Self>, out: &mut ReadOutput);
}

/// What was read since somebody looked last.
///
/// A file may hold several conversations; their messages follow one another and differ in
/// [`Message::session_id`]. What is known of a conversation as a whole, such as its title, is a message
/// too: a change of state ([`analects_core::StateChange`]) before the first of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOutput {
    /// The messages, in file order.
    pub messages: Vec<Message>,
    /// What is odd about the file. What is an error could not be read, and is lost on the way.
    pub problems: Vec<Problem>,
    /// What the file says and messages have no place for.
    pub losses: Vec<Loss>,
    /// How many records were left out because they are no conversation, such as progress.
    pub left_out: usize,
}

/// Takes messages in order, and gives bytes as soon as it can.
pub trait FormatWriter {
    /// The next message.
    fn push(&mut self, message: &Message, out: &mut WriteOutput);

    /// There are no more.
    fn finish(self: Box<Self>, out: &mut WriteOutput);
}

/// What was written since somebody looked last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteOutput {
    /// The bytes, which follow on those from before.
    pub bytes: Vec<u8>,
    /// The bytes that stand behind all others, at the end of the file; they follow on those from before, too.
    pub tail: Vec<u8>,
    /// What has no place in them.
    pub losses: Vec<Loss>,
    /// What a readable message file leaves out.
    pub left_behind: LeftBehind,
}

/// How a file is read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The file's name, from which a conversation without a name of its own gets one.
    pub name: String,
    /// Whether to keep progress, snapshots and other records that are no conversation.
    pub full: bool,
    /// The zone of times that name none.
    pub zone: TimeZone,
    /// What is known of the answers of a message file beyond its cells.
    pub stored_messages: Option<StoredMessages>,
    /// Whether the messages are for a [`FirstPass`]: what they say may be left out, but for what revisions say.
    pub is_first_pass: bool,
}

/// Full messages by the hash of their cells.
#[derive(Clone)]
pub struct StoredMessages(pub Rc<dyn KnownMessages>);

impl fmt::Debug for StoredMessages {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Known")
    }
}

impl ReadOptions {
    /// A file of that name, without what is no conversation, times without a zone in UTC.
    pub fn named(name: impl Into<String>) -> ReadOptions {
        let (name, zone) = (name.into(), TimeZone::UTC);
        ReadOptions {
            name,
            full: false,
            zone,
            stored_messages: None,
            is_first_pass: false,
        }
    }
}

/// How a file is written.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The file's name, where its ending makes a difference; it may be empty.
    pub name: String,
    /// The dialect of chat Markdown.
    pub dialect: Dialect,
    /// The zone of times in formats that cannot name one.
    pub zone: TimeZone,
    /// Whether a message file holds everything; else it is a readable one.
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

/// Whether a conversation's name was made from its file's, so that nothing is lost with it: whoever reads
/// the file again gives it one. Such names are UUIDs of version 5.
pub(crate) fn is_derived_id(session: &SessionId) -> bool {
    Uuid::try_parse(session).is_ok_and(|id| id.get_version_num() == 5)
}

/// Something of a conversation that the target has no place for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The message that loses it; `None` for what belongs to the conversation as a whole.
    pub message: Option<MessageId>,
    /// What is lost: a field such as `model`, or a block such as `tool_use`.
    pub what: String,
    /// Why, or what becomes of it: lower case, no full stop.
    pub why: String,
}

impl Loss {
    /// Something that a message loses.
    pub fn of(message: &MessageId, what: impl Into<String>, why: impl Into<String>) -> Loss {
        Loss {
            message: Some(message.clone()),
            what: what.into(),
            why: why.into(),
        }
    }

    /// Something that the conversation as a whole loses.
    pub fn of_session(what: impl Into<String>, why: impl Into<String>) -> Loss {
        Loss {
            message: None,
            what: what.into(),
            why: why.into(),
        }
    }
}

#[cfg(test)]
mod tests;
