//! Conversations as text: bytes in, messages and problems out, and small splices back.
//!
//! This crate is pure. It opens no file: a caller passes bytes and gets back a value, or the bytes
//! to put into a file and the place where they go.
//!
//! # Modules, in reading order
//!
//! 1. [`decode`] reads any known format into messages; [`DecodedFile`] is what it gives.
//! 2. [`msgfile`] is the message file: a [`msgfile::Document`] of [`msgfile::Cell`]s, read without
//!    loss, and edited by [`msgfile::Splice`]s that leave every other byte alone. Its parts are
//!    modules of their own: [`msgfile::frontmatter`], [`msgfile::invoke`], [`msgfile::output`],
//!    [`msgfile::code`], [`msgfile::base64`]. [`msgfile::item`] is the same file as messages and function
//!    calls with their outputs, and a draft of changes to it.
//! 3. [`chatmd`] is chat Markdown, the dialect of a note-taking plugin, read and edited likewise, and
//!    written in three dialects; [`chatmd::session_json`] is that plugin's own JSON.
//! 4. [`openai`] and [`anthropic`] are conversations as these APIs take them; [`claude_code`] reads the
//!    sessions of that program.
//! 5. [`transcript`] is the store's format: one message a line, as JSON.
//! 6. [`frame`] is what all formats have in common, which there are, and how a conversation goes from one to
//!    another.
//! 7. [`Loss`] is what a conversation loses on its way into a format that has no place for it.
//!
//! # Reading a file
//!
//! [`decode`] takes the bytes of a file and its name, and gives its messages:
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
//! The verbs of [`analects_core::verbs`] say what changes, and [`msgfile::apply`] makes the changes. A person names a
//! cell by its id:
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
//! - Of a code output, messages hold the lines as the cell has them; `output_file` is not followed.
//! - Setting a key of the frontmatter is refused, with the line to type, wherever one changed line
//!   cannot be shown to mean just that.
//! - Times of chat Markdown without a zone are taken as UTC, unless the caller passes another one.
//! - A message that cells cannot say exactly is written as JSON: nothing is lost, but it is no
//!   pleasure to read.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod anthropic;
pub mod chatmd;
pub mod claude_code;
pub mod convert;
mod damaged_line;
pub mod msgfile;
pub mod openai;
pub mod page;
mod requests;
pub mod transcript;

use analects_core::{Message, Problem};

pub use convert::{
    Confidence, Format, FormatReader, FormatWriter, Loss, ReadOptions, ReadOutput, WriteOptions,
    WriteOutput,
};

/// What a file held.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DecodedFile {
    /// Its messages, in file order.
    pub messages: Vec<Message>,
    /// What was odd about it.
    pub problems: Vec<Problem>,
}

/// Reads the messages of a file. Its name tells the format: `*.jsonl` is a transcript, anything else
/// a message file. Never fails; what cannot be read is a problem.
pub fn decode(bytes: &[u8], name: &str) -> DecodedFile {
    if name.ends_with(".jsonl") {
        return transcript::decode(bytes);
    }
    let document = msgfile::decode_named(bytes, name);
    let mut decoded = msgfile::messages(&document, &msgfile::session_of(name));
    decoded.problems.splice(0..0, document.problems());
    decoded
}
