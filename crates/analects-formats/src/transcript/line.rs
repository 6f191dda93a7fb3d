//! One line of a transcript: its record, or what can be saved of a damaged line.

use analects_core::{Json, Message, Problem, Raw};
use memchr::memmem;
use serde_json::value::RawValue;

use super::crc::crc32c;
use super::encode::{SEAL, SEAL_LENGTH};
use crate::damaged_line::{MAX_TRIES, PARTLY_READ, encoding_problems, trim_line};

/// What each of our own records starts with.
const RECORD_START: &[u8] = b"{\"v\":";

/// A line of a transcript, read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TranscriptLine {
    /// The records: exactly one if the line is undamaged.
    pub messages: Vec<Message>,
    /// What is wrong with the line, without a position.
    pub problems: Vec<Problem>,
    /// Whether the line holds anything but intact records, so that a repair must rewrite it.
    pub is_damaged: bool,
}

/// Reads a line, with or without its line end. Damage costs as little as possible.
///
/// ```
/// use analects_formats::transcript::read_line;
///
/// // The first record was cut off, and the next one was written behind it.
/// let line = b"{\"v\":1,\"type\":\"us{\"v\":1,\"type\":\"user\",\"id\":\"b\",\"content\":\"Hi\"}\n";
/// let read = read_line(line);
/// assert!(read.is_damaged);
/// assert_eq!(read.messages[0].text(), "Hi");
/// assert_eq!(read.problems[0].code, "joined-lines");
/// ```
pub fn read_line(line: &[u8]) -> TranscriptLine {
    let mut read = TranscriptLine::default();
    let is_ended = line.ends_with(b"\n");
    let line = trim_line(line);
    if line.is_empty() {
        return read;
    }
    let text = simdutf8::basic::from_utf8(line).ok();
    if let Some(message) = text.and_then(|text| read_record(text, &mut read.problems)) {
        read.add_sealed(line, message);
    } else {
        read.is_damaged = true;
        read.salvage(line, is_ended);
    }
    read
}

/// Reads a text that is one record.
fn read_record(text: &str, problems: &mut Vec<Problem>) -> Option<Message> {
    let raw = Raw::parse(text).ok()?;
    let mut found = Vec::new();
    let message = Message::read(&raw, &mut found).ok()?;
    problems.append(&mut found);
    Some(message)
}

/// Removes the checksum, which is not part of the message.
fn without_seal(mut message: Message) -> Message {
    message.unknown.remove("crc");
    message
}

/// Returns whether a record has a checksum that does not match its bytes. The checksum must be the last field. Anywhere
/// else, another program has moved it and written the line anew.
fn is_seal_wrong(line: &[u8], message: &Message) -> bool {
    if message.unknown.get("crc").is_none() {
        return false;
    }
    let Some(end) = line.len().checked_sub(SEAL_LENGTH) else {
        return true;
    };
    let (body, seal) = line.split_at(end);
    parse_seal(seal) != Some(crc32c(body))
}

/// Reads the checksum at the end of a line; `None` if it is anything else.
fn parse_seal(seal: &[u8]) -> Option<u32> {
    let hex = seal.strip_prefix(SEAL.as_bytes())?.strip_suffix(b"\"}")?;
    u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

impl TranscriptLine {
    /// Adds the only record of a line, and checks its checksum.
    fn add_sealed(&mut self, line: &[u8], message: Message) {
        if is_seal_wrong(line, &message) {
            self.is_damaged = true;
            let text = "this line is not what was written: its checksum is wrong";
            let problem = Problem::error("wrong-crc", text).hint("it is read as it is now");
            self.problems.push(problem);
        }
        self.messages.push(without_seal(message));
    }

    /// Reads the records of a line that is not one intact record.
    fn salvage(&mut self, line: &[u8], is_ended: bool) {
        self.problems.extend(encoding_problems(line, is_ended));
        let mut is_complete = true;
        for part in line.split(|byte| *byte == 0) {
            if !part.trim_ascii().is_empty() {
                is_complete &= self.salvage_part(&String::from_utf8_lossy(part));
            }
        }
        self.problems
            .extend(self.salvage_problem(line, is_complete, is_ended));
    }

    /// Says what is wrong with a damaged line. `is_complete` is false if a part of it could not be read.
    fn salvage_problem(&self, line: &[u8], is_complete: bool, is_ended: bool) -> Option<Problem> {
        let count = self.messages.len();
        if count > 1 || (count == 1 && !is_complete) {
            let text = format!("{count} records and what is left of others stand in this line");
            return Some(Problem::error("joined-lines", text).hint(PARTLY_READ));
        }
        if is_complete {
            return None;
        }
        if is_ended {
            let why = parse_error(&String::from_utf8_lossy(line));
            let text = format!("this line is no message: {why}");
            let hint = "the line is left as it is; every other line is read";
            return Some(Problem::error("unreadable-line", text).hint(hint));
        }
        let text = "the last line was cut off while it was written";
        let hint = "it is left as it is; the next message starts a new line";
        Some(Problem::error("torn-line", text).hint(hint))
    }

    /// Reads the records at the end of a part. Returns whether there is nothing else in it.
    fn salvage_part(&mut self, part: &str) -> bool {
        if self.add_records(part) {
            return true;
        }
        for start in memmem::find_iter(part.as_bytes(), RECORD_START).take(MAX_TRIES) {
            // Only complete records up to the end count. An object nested in another one does not end there.
            let rest = part.get(start..).filter(|_| start > 0);
            if rest.is_some_and(|rest| self.add_records(rest)) {
                return false;
            }
        }
        false
    }

    /// Adds the records of a text. If it holds anything else, adds nothing and returns `false`.
    fn add_records(&mut self, text: &str) -> bool {
        let mut messages = Vec::new();
        let mut problems = Vec::new();
        for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
            let Ok(value) = value else { return false };
            let Some(message) = read_record(value.get(), &mut problems) else {
                return false;
            };
            messages.push(without_seal(message));
        }
        self.messages.append(&mut messages);
        self.problems.append(&mut problems);
        true
    }
}

/// Explains why a text is not a record.
fn parse_error(text: &str) -> String {
    let read = Raw::parse(text).and_then(|raw| Message::read(&raw, &mut Vec::new()));
    read.err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}
