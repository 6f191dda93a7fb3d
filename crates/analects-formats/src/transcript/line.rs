//! One line of a transcript: the record in it, or what can be saved of a line that was damaged.

use analects_core::{Json, Message, Problem, Raw};
use memchr::memmem;
use serde_json::value::RawValue;

use super::crc::crc32c;
use super::encode::{SEAL, SEAL_LENGTH};

/// How often a damaged line is searched for the beginning of another record.
const MAX_TRIES: usize = 64;

/// What every record that we write begins with.
const BEGINNING: &[u8] = b"{\"v\":";

/// What is done about damage.
const READ: &str = "what can be read of it is read";

/// What a line holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TranscriptLine {
    /// Its records: one, if nothing is wrong with it.
    pub messages: Vec<Message>,
    /// What is odd about it, without a place.
    pub problems: Vec<Problem>,
    /// Whether the line is not just the records in it: it has to be written anew to be in order.
    pub is_damaged: bool,
}

/// Reads a line, which may or may not have its line end. What is damaged costs as little as possible.
pub fn read_line(line: &[u8]) -> TranscriptLine {
    let mut read = TranscriptLine::default();
    let is_ended = line.ends_with(b"\n");
    // Editors put a mark before the first line, and `\r` before the end of each.
    let line = line
        .strip_prefix("\u{feff}".as_bytes())
        .unwrap_or(line)
        .trim_ascii();
    if line.is_empty() {
        return read;
    }
    let text = simdutf8::basic::from_utf8(line).ok();
    if let Some(message) = text.and_then(|text| read_record(text, &mut read.problems)) {
        if is_seal_wrong(line, &message) {
            read.is_damaged = true;
            let text = "this line is not what was written: its checksum is wrong";
            let hint = "it is read as it is now";
            read.problems
                .push(Problem::error("wrong-crc", text).hint(hint));
        }
        read.messages.push(without_seal(message));
        return read;
    }
    read.is_damaged = true;
    save(line, is_ended, &mut read);
    read
}

fn read_record(text: &str, problems: &mut Vec<Problem>) -> Option<Message> {
    let raw = Raw::parse(text).ok()?;
    let mut odd = Vec::new();
    let message = Message::read(&raw, &mut odd).ok()?;
    problems.append(&mut odd);
    Some(message)
}

fn without_seal(mut message: Message) -> Message {
    message.unknown.remove("crc");
    message
}

/// Whether a record has a checksum that is not that of its bytes. It has to be the last field; elsewhere
/// somebody has moved it, and written the line anew.
fn is_seal_wrong(line: &[u8], message: &Message) -> bool {
    if message.unknown.get("crc").is_none() {
        return false;
    }
    let Some(end) = line.len().checked_sub(SEAL_LENGTH) else {
        return true;
    };
    let (body, seal) = line.split_at(end);
    let hex = seal
        .strip_prefix(SEAL.as_bytes())
        .and_then(|rest| rest.strip_suffix(b"\"}"));
    let stated = hex.and_then(|hex| std::str::from_utf8(hex).ok());
    let stated = stated.and_then(|hex| u32::from_str_radix(hex, 16).ok());
    stated != Some(crc32c(body))
}

/// Finds the records in a line that is not one.
fn save(line: &[u8], is_ended: bool, read: &mut TranscriptLine) {
    let parts = line
        .split(|byte| *byte == 0)
        .filter(|part| !part.trim_ascii().is_empty());
    if line.contains(&0) {
        let text = "this line holds zeros where the disk had nothing to give back";
        read.problems
            .push(Problem::error("nul-run", text).hint(READ));
    }
    let text = String::from_utf8_lossy(line);
    // A line may be cut off inside of a character.
    let is_cut = |error: std::str::Utf8Error| error.error_len().is_none() && !is_ended;
    if std::str::from_utf8(line).is_err_and(|error| !is_cut(error)) {
        read.problems.push(
            Problem::error("not-utf8", "this line holds bytes that are not UTF-8").hint(READ),
        );
    }
    let mut is_whole = true;
    for part in parts {
        is_whole &= save_part(&String::from_utf8_lossy(part), read);
    }
    let found = read.messages.len();
    if found > 1 || (found == 1 && !is_whole) {
        let text = format!("{found} records and what is left of others stand in this line");
        read.problems
            .push(Problem::error("joined-lines", text).hint(READ));
    } else if !is_whole && is_ended {
        let text = format!("this line is no message: {}", why(&text));
        let hint = "the line is left as it is; every other line is read";
        read.problems
            .push(Problem::error("unreadable-line", text).hint(hint));
    } else if !is_whole {
        let hint = "it is left as it is; the next message starts a new line";
        let text = "the last line was cut off while it was written";
        read.problems
            .push(Problem::error("torn-line", text).hint(hint));
    }
}

/// Why a text is no record.
fn why(text: &str) -> String {
    let why = Raw::parse(text).and_then(|raw| Message::read(&raw, &mut Vec::new()));
    why.err().map(|error| error.to_string()).unwrap_or_default()
}

/// Reads the records with which a part ends; whether that was all of it.
fn save_part(part: &str, read: &mut TranscriptLine) -> bool {
    if records(part, read) {
        return true;
    }
    for start in memmem::find_iter(part.as_bytes(), BEGINNING).take(MAX_TRIES) {
        // A whole number of records up to the end: what is nested in another does not end there.
        if start > 0 && part.get(start..).is_some_and(|rest| records(rest, read)) {
            return false;
        }
    }
    false
}

/// Reads a text that is records and nothing else; otherwise nothing of it.
fn records(text: &str, read: &mut TranscriptLine) -> bool {
    let mut found = Vec::new();
    let mut odd = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let Ok(value) = value else { return false };
        let Some(message) = read_record(value.get(), &mut odd) else {
            return false;
        };
        found.push(without_seal(message));
    }
    read.messages.append(&mut found);
    read.problems.append(&mut odd);
    true
}
