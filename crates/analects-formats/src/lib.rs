//! Conversations as text: decodes bytes into messages and problems, encodes messages, and edits files with small splices.
//!
//! This crate is pure. It opens no file: you pass bytes and get back a value, or bytes to put into a file and their
//! position.
//!
//! # Modules, in reading order
//!
//! 1. [`decode`] reads a message file or a transcript into a [`DecodedFile`].
//! 2. [`msgfile`] is the message file: a [`msgfile::Document`] of [`msgfile::Cell`]s that is read without loss, and edited
//!    by [`msgfile::Splice`]s that keep every other byte. Its parts have modules of their own: [`msgfile::frontmatter`],
//!    [`msgfile::invoke`], [`msgfile::output`], [`msgfile::code`] and [`msgfile::base64`]. [`msgfile::item`] shows the
//!    same file as messages and function calls with their outputs, and drafts changes to it.
//! 3. [`chatmd`] is chat Markdown, the dialect of a note-taking plugin. It is read and edited the same way, and written in
//!    three dialects. [`chatmd::session_json`] is the plugin's own JSON.
//! 4. [`openai`] and [`anthropic`] are conversations as requests of these APIs. [`claude_code`] reads the sessions of that
//!    program, and [`page`] writes a page for people to read.
//! 5. [`transcript`] is the format of the store: one message per line, as JSON.
//! 6. [`repair`] mends files with a record on each line.
//! 7. [`convert`] lists all formats, detects them, and converts between them. A [`Loss`] is what the target format cannot
//!    represent.
//!
//! # Where to find things
//!
//! | topic | module |
//! |---|---|
//! | which format a file has, by its first bytes and its name | `convert::registry` |
//! | streaming conversion, and formats that need two passes | `convert::conversion` |
//! | lines and whole files in limited memory | `convert::buffer` |
//! | scanning the items of chat Markdown | `chatmd::decode`, `chatmd::line`, `chatmd::attributes` |
//! | what chat Markdown cannot represent | `chatmd::reduce` |
//! | checking and repairing a transcript | `transcript::check`, `transcript::repair` |
//! | repairing the files of other programs | `repair`, `claude_code::repair` |
//! | the links of records without their content | `transcript::envelope`, `transcript::link` |
//! | which record of Claude Code follows which | `claude_code::links` |
//! | what the request formats share | `requests` |
//! | damaged lines of JSON | `damaged_line` |
//!
//! # Reading a file
//!
//! [`decode`] takes the bytes of a file and its name, and returns its messages:
//!
//! ```
//! let bytes = b"# %%\n\nSix times seven?\n\n# %%% [^2]\n\n[^2]: [coder]\n\nForty-two.\n";
//! let decoded = analects_formats::decode(bytes, "talk.msg.md");
//! let mut lines = Vec::new();
//! for message in &decoded.messages {
//!     lines.push(format!("{}: {}", message.body.type_name(), message.text()));
//! }
//! assert_eq!(lines, ["user: Six times seven?", "assistant: Forty-two."]);
//! assert!(decoded.problems.is_empty());
//! ```
//!
//! # Changing a file
//!
//! The verbs of [`analects_core::verbs`] decide what changes, and [`msgfile::apply`] makes the changes. Cells are named by
//! their ids:
//!
//! ```
//! use analects_core::{CountingIds, SessionId, verbs};
//! use analects_formats::msgfile::{CellMessages, apply, decode};
//!
//! let document = decode("# %%\n\nSix times seven?\n\n# %%% [^2]\n\n[^2]: [coder]\n\nForty.\n");
//! let read = CellMessages::of(&document, &SessionId::default());
//! let answer = read.target_named(&document, "2")?;
//!
//! // Or `verbs::drop(&read.messages, answer)`, or `verbs::rewind(&read.messages, Some(&answer.message))`.
//! let changes = verbs::edit(&read.messages, answer, "Forty-two.")?;
//! let after = apply(&document, &read, &changes, &mut CountingIds::default())?;
//! assert!(after.source().ends_with(b"[^2]: [coder]\n\nForty-two.\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//!
//! - Messages hold the lines of a code output as they are in the cell. `output_file` is not followed.
//! - Setting a key of the frontmatter is refused, with the line to type, unless it is certain that changing one line has
//!   that effect and no other.
//! - Times of chat Markdown without a zone are taken as UTC, unless the caller passes another zone.
//! - A message that cells cannot represent exactly is written as JSON. Nothing is lost, but it is hard to read.
//! - See the pages of the modules for the limitations of each format.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod anthropic;
pub mod chatmd;
pub mod claude_code;
pub mod convert;
mod damaged_line;
pub mod losses;
pub mod msgfile;
pub mod openai;
pub mod page;
pub mod repair;
mod requests;
pub mod transcript;

use analects_core::{Message, Problem};

pub use convert::{
    Confidence, Format, FormatReader, FormatWriter, ReadOptions, ReadOutput, WriteOptions,
    WriteOutput,
};
pub use losses::{Loss, LossKind};

/// The messages of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DecodedFile {
    /// The messages, in file order.
    pub messages: Vec<Message>,
    /// What is wrong or odd about the file.
    pub problems: Vec<Problem>,
}

/// Reads the messages of a file. The name decides on the format: `*.jsonl` is a transcript, and anything else is a message
/// file. Never fails: what cannot be read is a problem.
pub fn decode(bytes: &[u8], name: &str) -> DecodedFile {
    if name.ends_with(".jsonl") {
        return transcript::decode(bytes);
    }
    let document = msgfile::decode_named(bytes, name);
    let mut decoded = msgfile::messages(&document, &msgfile::session_of(name));
    decoded.problems.splice(0..0, document.problems());
    decoded
}
