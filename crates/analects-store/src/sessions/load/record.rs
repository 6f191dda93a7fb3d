//! A record as the way back comes by, and what is kept of it.

use analects_core::{Message, Problem};
use analects_formats::transcript::{OwnedLink, read_line};

use super::PositionedMessage;

/// Where a record is: its row, and which of the records in it, or `None` if it is alone there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordPosition {
    pub row: u64,
    pub nth: Option<usize>,
}

impl RecordPosition {
    pub fn of_record(self) -> (u64, usize) {
        (self.row, self.nth.unwrap_or(0))
    }
}

/// A record as the way comes by.
#[derive(Debug)]
pub(super) struct RecordView<'r> {
    pub names: OwnedLink,
    pub place: RecordPosition,
    pub source: RecordSource<'r>,
    /// Whether a model is instructed in it, or a person may speak.
    pub is_instruction: bool,
    pub is_of_person: bool,
}

/// Where it can be read.
#[derive(Debug)]
pub(super) enum RecordSource<'r> {
    /// It is alone in its row.
    Row(&'r [u8]),
    /// It was read with others of a damaged row.
    Part(&'r Message),
    /// Nowhere: it is too long.
    TooLong,
}

impl<'r> RecordView<'r> {
    pub fn new(
        names: OwnedLink,
        place: RecordPosition,
        source: RecordSource<'r>,
        type_name: &str,
    ) -> RecordView<'r> {
        let (is_instruction, is_of_person) = (type_name == "system", type_name == "user");
        RecordView {
            names,
            place,
            source,
            is_instruction,
            is_of_person,
        }
    }

    /// What it says, and what is odd about that. What is odd about a damaged row was told when it was met.
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

    pub fn length(&self) -> u64 {
        match self.source {
            RecordSource::Row(bytes) => bytes.len() as u64,
            RecordSource::Part(_) | RecordSource::TooLong => 0,
        }
    }
}

/// A record on the way that is kept.
#[derive(Debug)]
pub(super) struct PathRecord {
    pub place: RecordPosition,
    /// `None` if nobody wants to read it.
    pub message: Option<Message>,
    pub problems: Vec<Problem>,
    pub is_summary: bool,
    /// Whether it is the summary of an earlier compaction, of which the last one's says what it says.
    pub is_earlier: bool,
}

impl PathRecord {
    pub fn placed(self, problems: &mut Vec<Problem>) -> Option<PositionedMessage> {
        problems.extend(self.problems);
        Some((self.place.of_record(), self.message?))
    }
}
