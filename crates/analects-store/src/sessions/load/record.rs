//! A record that the backward loader meets, and what it keeps of the record.

use analects_core::{Message, Problem};
use analects_formats::transcript::{OwnedLink, read_line};

use super::PositionedMessage;
use crate::sessions::RecordPosition;

/// A record that the loader meets.
#[derive(Debug)]
pub(super) struct RecordView<'r> {
    /// The id, the parent, and what the record does to others.
    pub link: OwnedLink,
    pub position: RecordPosition,
    pub source: RecordSource<'r>,
    /// Whether it holds instructions for the model.
    pub is_instruction: bool,
    /// Whether it may hold text of the person.
    pub is_of_person: bool,
}

/// The source of a record's content.
#[derive(Debug)]
pub(super) enum RecordSource<'r> {
    /// The row that holds only this record.
    Row(&'r [u8]),
    /// One of the messages of a damaged row.
    Part(&'r Message),
    /// None, because the record is too long to be read.
    TooLong,
}

impl<'r> RecordView<'r> {
    /// Creates a view. `type_name` is the type of the record; an empty one fits any record that is too long to be read.
    pub fn new(
        link: OwnedLink,
        position: RecordPosition,
        source: RecordSource<'r>,
        type_name: &str,
    ) -> RecordView<'r> {
        RecordView {
            link,
            position,
            source,
            is_instruction: type_name == "system",
            is_of_person: type_name == "user",
        }
    }

    /// Reads the message and its problems. The problems of a damaged row are reported when the loader meets it, and not
    /// here.
    pub fn read(&self) -> (Option<Message>, Vec<Problem>) {
        match self.source {
            RecordSource::Row(bytes) => {
                let read = read_line(bytes);
                (read.messages.into_iter().next(), read.problems)
            }
            RecordSource::Part(message) => (Some(message.clone()), Vec::new()),
            RecordSource::TooLong => (None, Vec::new()),
        }
    }

    /// Returns the length of the row in bytes; 0 unless the record is alone in it.
    pub fn length(&self) -> u64 {
        match self.source {
            RecordSource::Row(bytes) => bytes.len() as u64,
            RecordSource::Part(_) | RecordSource::TooLong => 0,
        }
    }
}

/// A record on the path to the root that the loader keeps.
#[derive(Debug)]
pub(super) struct PathRecord {
    pub position: RecordPosition,
    /// The message; `None` if the loader does not read messages, or if it cannot be read.
    pub message: Option<Message>,
    /// The problems of the record, which are reported if it is used.
    pub problems: Vec<Problem>,
    /// Whether it is the summary of a compaction.
    pub is_summary: bool,
    /// Whether it is the summary of an earlier compaction, which the last summary includes.
    pub is_earlier_summary: bool,
}

impl PathRecord {
    /// Returns the message with its position, and moves its problems to `problems`.
    pub fn into_message(self, problems: &mut Vec<Problem>) -> Option<PositionedMessage> {
        problems.extend(self.problems);
        Some((self.position, self.message?))
    }
}
