//! Which formats there are, and which one a file has.

use super::{ChatMarkdown, ChatSession, Format, MessageFile, Sure, Transcript, WriteOptions};
use crate::anthropic::Anthropic;
use crate::claude_code::ClaudeCode;
use crate::openai::OpenAi;
use crate::page::MarkdownPage;

/// All formats. Where two are equally sure of a file, the first of them has it.
pub static FORMATS: &[&dyn Format] = &[
    &MessageFile,
    &ChatMarkdown,
    &Transcript,
    &ClaudeCode,
    &ChatSession,
    &Anthropic,
    &OpenAi,
    &MarkdownPage,
];

/// The format of that name.
pub fn format(id: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.id() == id)
}

/// The format of a file, by its beginning, and by its name where that does not tell.
pub fn detect(head: &[u8], name: &str) -> Option<&'static dyn Format> {
    let mut best: Option<(&'static dyn Format, (Sure, usize))> = None;
    for format in FORMATS.iter().copied() {
        let sure = (format.recognise(head, name), ending(format, name));
        let is_better = best.is_none_or(|(_, known)| sure > known);
        if sure.0 > Sure::No && is_better {
            best = Some((format, sure));
        }
    }
    best.map(|(format, _)| format)
}

/// What a name says about the format of a file that is to be written.
#[derive(Clone)]
pub enum Target {
    /// It can only be this one.
    One(&'static dyn Format),
    /// It can be any of these.
    Several(Vec<&'static dyn Format>),
    /// It says nothing.
    Unknown,
}

/// The format that a file of this name is to have.
pub fn of_name(name: &str) -> Target {
    let is_written = |format: &&dyn Format| format.writer(&WriteOptions::default()).is_some();
    let formats = || FORMATS.iter().copied().filter(is_written);
    let longest = formats().map(|format| ending(format, name)).max().unwrap_or(0);
    if longest == 0 {
        return Target::Unknown;
    }
    let fits = |format: &&'static dyn Format| ending(*format, name) == longest;
    let mut found: Vec<&'static dyn Format> = formats().filter(fits).collect();
    if found.len() > 1 {
        return Target::Several(found);
    }
    found.pop().map_or(Target::Unknown, Target::One)
}

/// The length of the longest of a format's endings that a name has.
fn ending(format: &dyn Format, name: &str) -> usize {
    let endings = format.endings().iter().filter(|ending| name.ends_with(**ending));
    endings.map(|ending| ending.len()).max().unwrap_or(0)
}
