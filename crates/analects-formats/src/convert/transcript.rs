//! The transcript as a format that conversations are converted from and to.

use analects_core::{Message, Raw, RawMap};

use super::{
    Confidence, FileHead, FileLine, Format, FormatReader, FormatWriter, LineSplitter, ReadMode,
    ReadOptions, ReadOutput, WriteOptions, WriteOutput,
};
use crate::Loss;
use crate::repair::RepairCheck;
use crate::transcript::{self, read_line, read_links};

/// The types of a transcript's records.
const RECORD_TYPES: [&str; 13] = [
    "system",
    "user",
    "assistant",
    "tool_use",
    "tool_result",
    "progress",
    "attachment",
    "notification",
    "summary",
    "compact_boundary",
    "tombstone",
    "revision",
    "state",
];

/// Fields that records of other programs have and ours do not.
const FOREIGN_FIELDS: [&str; 5] = ["sessionId", "message", "timestamp", "payload", "uuid"];

/// The transcript.
#[derive(Debug)]
pub struct TranscriptFormat;

impl Format for TranscriptFormat {
    fn id(&self) -> &'static str {
        "transcript"
    }

    fn about(&self) -> &'static str {
        "transcript: one message of the model a line, as JSON (*.jsonl)"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".jsonl"]
    }

    fn recognise(&self, head: &[u8], name: &str) -> Confidence {
        let head = FileHead::new(head);
        if head.is_json_over_lines() {
            return Confidence::No;
        }
        if head.starts_with("{\"v\":") {
            return Confidence::Yes;
        }
        if let Some(record) = head.first_object() {
            if is_foreign(&record) {
                return Confidence::No;
            }
            if has_record_type(&record) {
                return Confidence::Maybe;
            }
        }
        if name.ends_with(".jsonl") {
            Confidence::ByName
        } else {
            Confidence::No
        }
    }

    fn reader(&self, options: &ReadOptions) -> Option<Box<dyn FormatReader>> {
        Some(Box::new(TranscriptReader {
            lines: LineSplitter::default(),
            full: options.full,
            is_first_pass: options.is_first_pass,
        }))
    }

    fn read_mode(&self) -> ReadMode {
        ReadMode::Revisions
    }

    fn repair(&self, _: &str) -> Option<Box<dyn RepairCheck>> {
        Some(Box::<transcript::Checker>::default())
    }

    fn writer(&self, _: &WriteOptions) -> Option<Box<dyn FormatWriter>> {
        Some(Box::new(TranscriptWriter))
    }
}

/// Returns whether another program wrote a record.
fn is_foreign(record: &RawMap) -> bool {
    let has_foreign_field = FOREIGN_FIELDS
        .iter()
        .any(|field| record.get(field).is_some());
    has_foreign_field || record.get("type").is_none()
}

/// Returns whether a record has one of our types.
fn has_record_type(record: &RawMap) -> bool {
    let name = record.get("type").and_then(Raw::as_string);
    name.is_some_and(|name| RECORD_TYPES.contains(&name.as_str()))
}

/// Reads a transcript line by line.
struct TranscriptReader {
    lines: LineSplitter,
    /// Whether to keep progress.
    full: bool,
    /// Whether the links of messages are enough.
    is_first_pass: bool,
}

impl FormatReader for TranscriptReader {
    fn feed(&mut self, bytes: &[u8], out: &mut ReadOutput) {
        let full = self.full;
        let is_first_pass = self.is_first_pass;
        self.lines.feed(bytes, &mut |line| {
            read_record(line, full, is_first_pass, out)
        });
    }

    fn finish(mut self: Box<Self>, out: &mut ReadOutput) {
        let full = self.full;
        let is_first_pass = self.is_first_pass;
        self.lines
            .finish(&mut |line| read_record(line, full, is_first_pass, out));
    }
}

/// Reads a line. A line that is too long becomes a problem and a placeholder, so that its children stay linked.
fn read_record(line: FileLine<'_>, full: bool, is_first_pass: bool, out: &mut ReadOutput) {
    let Some(bytes) = line.bytes else {
        out.problems.push(line.too_long());
        let placeholder = transcript::placeholder(line.beginning, line.length);
        out.messages.extend(placeholder);
        return;
    };
    if is_first_pass && let Some(message) = read_links(bytes) {
        out.add_messages(vec![message], full);
        return;
    }
    let read = read_line(bytes);
    for problem in read.problems {
        out.problems.push(line.locate(problem));
    }
    out.add_messages(read.messages, full);
}

/// Writes a line per message. Only a foreign checksum has no place.
struct TranscriptWriter;

impl FormatWriter for TranscriptWriter {
    fn push(&mut self, message: &Message, out: &mut WriteOutput) {
        if message.unknown.get("crc").is_some() {
            let why = "each line of a transcript has a checksum of its own under this name";
            out.losses.push(Loss::of(&message.id, "crc", why));
        }
        out.bytes.extend(transcript::encode(message).into_bytes());
    }

    fn finish(self: Box<Self>, _: &mut WriteOutput) {}
}
