//! Which formats there are, and which one a file has, by its beginning and its name.

use analects_core::RawMap;
use memchr::memmem;

use super::{
    ChatMarkdownFormat, ChatSessionFormat, Confidence, Format, MessageFileFormat, TranscriptFormat,
    WriteOptions,
};
use crate::anthropic::AnthropicFormat;
use crate::claude_code::ClaudeCodeFormat;
use crate::openai::OpenAiFormat;
use crate::page::MarkdownPageFormat;

/// All formats. Where two are equally sure of a file, the first of them has it.
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

/// The format of that name.
pub fn format_by_id(id: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.id() == id)
}

/// The format of a file, by its beginning, and by its name where that does not tell.
pub fn detect(head: &[u8], name: &str) -> Option<&'static dyn Format> {
    let mut best: Option<(&'static dyn Format, (Confidence, usize))> = None;
    for format in FORMATS.iter().copied() {
        let sure = (format.recognise(head, name), ending(format, name));
        let is_better = best.is_none_or(|(_, known)| sure > known);
        if sure.0 > Confidence::No && is_better {
            best = Some((format, sure));
        }
    }
    best.map(|(format, _)| format)
}

/// What a name says about the format of a file that is to be written.
#[derive(Clone)]
pub enum FormatChoice {
    /// It can only be this one.
    One(&'static dyn Format),
    /// It can be any of these.
    Several(Vec<&'static dyn Format>),
    /// It says nothing.
    Unknown,
}

/// The format that a file of this name is to have.
pub fn format_for_name(name: &str) -> FormatChoice {
    let is_written = |format: &&dyn Format| format.writer(&WriteOptions::default()).is_some();
    let formats = || FORMATS.iter().copied().filter(is_written);
    let longest = formats()
        .map(|format| ending(format, name))
        .max()
        .unwrap_or(0);
    if longest == 0 {
        return FormatChoice::Unknown;
    }
    let fits = |format: &&'static dyn Format| ending(*format, name) == longest;
    let mut found: Vec<&'static dyn Format> = formats().filter(fits).collect();
    if found.len() > 1 {
        return FormatChoice::Several(found);
    }
    found.pop().map_or(FormatChoice::Unknown, FormatChoice::One)
}

/// The length of the longest of a format's endings that a name has.
fn ending(format: &dyn Format, name: &str) -> usize {
    let endings = format
        .endings()
        .iter()
        .filter(|ending| name.ends_with(**ending));
    endings.map(|ending| ending.len()).max().unwrap_or(0)
}

/// The beginning of a file.
#[derive(Debug, Clone, Copy)]
pub struct FileHead<'a> {
    bytes: &'a [u8],
}

impl<'a> FileHead<'a> {
    /// Looks at a beginning, without a byte-order mark and blanks before it.
    pub fn new(bytes: &'a [u8]) -> FileHead<'a> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        FileHead {
            bytes: bytes.trim_ascii_start(),
        }
    }

    /// What it holds.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Whether it begins with this.
    pub fn starts_with(self, text: &str) -> bool {
        self.bytes.starts_with(text.as_bytes())
    }

    /// Whether a JSON key of this name stands somewhere in it, or looks as if it did.
    pub fn has_key(self, key: &str) -> bool {
        let quoted = format!("\"{key}\"");
        memmem::find_iter(self.bytes, quoted.as_bytes()).any(|at| {
            let rest = self.bytes.get(at + quoted.len()..).unwrap_or_default();
            rest.trim_ascii_start().starts_with(b":")
        })
    }

    /// Whether a JSON key of this name stands somewhere in it with this string as its value.
    pub fn has(self, key: &str, value: &str) -> bool {
        self.values(key)
            .any(|rest| rest.starts_with(format!("\"{value}\"").as_bytes()))
    }

    /// Whether a JSON key of this name stands somewhere in it with a value that begins like this.
    pub fn has_value(self, key: &str, beginning: &str) -> bool {
        self.values(key)
            .any(|rest| rest.starts_with(beginning.as_bytes()))
    }

    fn values(self, key: &str) -> impl Iterator<Item = &'a [u8]> {
        let quoted = format!("\"{key}\"");
        let places: Vec<usize> = memmem::find_iter(self.bytes, quoted.as_bytes()).collect();
        places.into_iter().filter_map(move |at| {
            let rest = self.bytes.get(at + quoted.len()..)?.trim_ascii_start();
            rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start)
        })
    }

    /// The fields of the first line, if that line is a JSON object and is all there.
    pub fn first_object(self) -> Option<RawMap> {
        let line = self.bytes.split(|byte| *byte == b'\n').next()?;
        RawMap::parse(std::str::from_utf8(line).ok()?).ok()
    }
}
