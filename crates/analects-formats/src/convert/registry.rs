//! The list of all formats, and how the format of a file is detected from its first bytes and its name.

use analects_core::{Raw, RawMap};
use memchr::memmem;
use serde_json::value::RawValue;

use super::{
    ChatMarkdownFormat, ChatSessionFormat, Confidence, Format, MessageFileFormat, TranscriptFormat,
    WriteOptions,
};
use crate::anthropic::AnthropicFormat;
use crate::claude_code::ClaudeCodeFormat;
use crate::openai::OpenAiFormat;
use crate::page::MarkdownPageFormat;

/// All formats. If two are equally confident about a file, the first one gets it.
pub static FORMATS: &[&dyn Format] = &[
    &MessageFileFormat,
    &ChatMarkdownFormat,
    &TranscriptFormat,
    &ClaudeCodeFormat,
    &ChatSessionFormat,
    &AnthropicFormat,
    &OpenAiFormat,
    &MarkdownPageFormat,
];

/// Returns the format with this id, such as `chatmd`.
pub fn format_by_id(id: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.id() == id)
}

/// Detects the format of a file from its first bytes. Among equally confident formats, the name decides. Returns `None`
/// if no format recognises the file.
/// ```
/// use analects_formats::convert::detect;
///
/// let head = br#"{"messages":[{"role":"developer","content":"Be brief."}]}"#;
/// assert_eq!(detect(head, "talk.json").unwrap().id(), "openai");
/// // The content counts, whatever the name says.
/// assert_eq!(detect(head, "talk.md").unwrap().id(), "openai");
/// assert!(detect(b"Hello", "notes.txt").is_none());
/// ```
pub fn detect(head: &[u8], name: &str) -> Option<&'static dyn Format> {
    let mut best: Option<&'static dyn Format> = None;
    let mut best_rank = (Confidence::No, usize::MAX);
    for format in FORMATS.iter().copied() {
        let rank = (format.recognise(head, name), matching_ending(format, name));
        if rank > best_rank {
            best = Some(format);
            best_rank = rank;
        }
    }
    best
}

/// A file that is one JSON value over several lines, so that no format with a record on each line can read it.
///
/// ```
/// use analects_formats::convert::{JsonOverLines, detect};
///
/// let file = b"{\n  \"v\": 1,\n  \"type\": \"user\",\n  \"content\": \"Hi\"\n}\n";
/// assert!(detect(file, "talk.jsonl").is_none());
/// let found = JsonOverLines::find(file).unwrap();
/// assert_eq!(found.records_of.unwrap().id(), "transcript");
/// ```
#[derive(Clone, Copy)]
pub struct JsonOverLines {
    /// The format whose records it seems to hold, if each were on a line of its own.
    pub records_of: Option<&'static dyn Format>,
    /// Whether the records are the elements of a list.
    pub is_list: bool,
}

impl JsonOverLines {
    /// Looks at the first bytes of a file; `None` if it is anything else.
    pub fn find(head: &[u8]) -> Option<JsonOverLines> {
        let head = FileHead::new(head);
        if !head.is_json_over_lines() {
            return None;
        }
        let (is_list, text) = match head.bytes.strip_prefix(b"[") {
            Some(rest) => (true, rest),
            None => (false, head.bytes),
        };
        let record = first_value(text).map(|record| Raw::from(record).to_string());
        Some(JsonOverLines {
            records_of: record.and_then(|record| detect(record.as_bytes(), "")),
            is_list,
        })
    }
}

/// Returns the JSON value that a text starts with, if it is complete.
fn first_value(text: &[u8]) -> Option<&RawValue> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
    values.next()?.ok()
}

/// What a file's name says about the format to write.
#[derive(Clone)]
pub enum FormatChoice {
    /// Only this format fits.
    One(&'static dyn Format),
    /// These formats fit equally well.
    Several(Vec<&'static dyn Format>),
    /// No format fits.
    Unknown,
}

/// Chooses the format to write from the ending of the file's name.
///
/// ```
/// use analects_formats::convert::{FormatChoice, format_for_name};
///
/// assert!(matches!(format_for_name("talk.msg.md"), FormatChoice::One(_)));
/// // Several formats are written as `.md`.
/// assert!(matches!(format_for_name("talk.md"), FormatChoice::Several(_)));
/// assert!(matches!(format_for_name("talk"), FormatChoice::Unknown));
/// ```
pub fn format_for_name(name: &str) -> FormatChoice {
    let mut longest = 1;
    let mut fitting: Vec<&'static dyn Format> = Vec::new();
    for format in FORMATS.iter().copied() {
        let length = matching_ending(format, name);
        if length < longest || format.writer(&WriteOptions::default()).is_none() {
            continue;
        }
        if length > longest {
            longest = length;
            fitting.clear();
        }
        fitting.push(format);
    }
    match fitting.as_slice() {
        [] => FormatChoice::Unknown,
        [one] => FormatChoice::One(*one),
        _ => FormatChoice::Several(fitting),
    }
}

/// Returns the length of the longest ending of a format that a name has, or 0.
fn matching_ending(format: &dyn Format, name: &str) -> usize {
    format
        .endings()
        .iter()
        .filter(|ending| name.ends_with(**ending))
        .map(|ending| ending.len())
        .max()
        .unwrap_or(0)
}

/// The first bytes of a file, to search for signs of a format. The JSON may be cut off, so it is searched as text.
///
/// ```
/// use analects_formats::convert::FileHead;
///
/// let head = FileHead::new(br#" {"type": "message", "items": [{"id"#);
/// assert!(head.has("type", "message"));
/// assert!(head.has_value("items", "["));
/// assert!(!head.has_key("id"));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FileHead<'a> {
    bytes: &'a [u8],
}

impl<'a> FileHead<'a> {
    /// Skips a byte-order mark and white space.
    pub fn new(bytes: &'a [u8]) -> FileHead<'a> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        FileHead {
            bytes: bytes.trim_ascii_start(),
        }
    }

    /// Returns the bytes, for scanners of their own.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns whether the file starts with `text`.
    pub fn starts_with(self, text: &str) -> bool {
        self.bytes.starts_with(text.as_bytes())
    }

    /// Returns whether a JSON key of this name seems to be there.
    pub fn has_key(self, key: &str) -> bool {
        self.values(key).next().is_some()
    }

    /// Returns whether a JSON key of this name seems to be there with this string as its value.
    pub fn has(self, key: &str, value: &str) -> bool {
        self.has_value(key, &format!("\"{value}\""))
    }

    /// Returns whether a JSON key of this name seems to be there with a value that starts with `beginning`.
    pub fn has_value(self, key: &str, beginning: &str) -> bool {
        self.values(key)
            .any(|value| value.starts_with(beginning.as_bytes()))
    }

    /// Returns the bytes from the value on, for each place where this key seems to be.
    fn values(self, key: &str) -> impl Iterator<Item = &'a [u8]> {
        let quoted = format!("\"{key}\"");
        let starts: Vec<usize> = memmem::find_iter(self.bytes, quoted.as_bytes()).collect();
        starts.into_iter().filter_map(move |start| {
            let rest = self.bytes.get(start + quoted.len()..)?;
            let value = rest.trim_ascii_start().strip_prefix(b":")?;
            Some(value.trim_ascii_start())
        })
    }

    /// Returns whether the file starts with a JSON value that goes on behind the first line.
    pub(crate) fn is_json_over_lines(self) -> bool {
        let text = self.bytes.trim_ascii_end();
        let Some(first_line) = memchr::memchr(b'\n', text) else {
            return false;
        };
        if !text.starts_with(b"{") && !text.starts_with(b"[") {
            return false;
        }
        let mut values = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
        match values.next() {
            Some(Ok(value)) => value.get().len() > first_line,
            Some(Err(error)) => error.is_eof(),
            None => false,
        }
    }

    /// Parses the first line; `None` unless it is one complete JSON object.
    pub fn first_object(self) -> Option<RawMap> {
        let line = self.bytes.split(|byte| *byte == b'\n').next()?;
        RawMap::parse(std::str::from_utf8(line).ok()?).ok()
    }
}
