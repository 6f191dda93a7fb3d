//! Fuzz functions, one file each, and what runs them as ordinary tests: over a committed corpus, and over
//! seeded mutations of it. `cargo xtask fuzz` searches for inputs by coverage: `libfuzzer/` calls the same
//! functions.
//!
//! To add a target: write a file of `src` with its `TARGET`, name it in [`TARGETS`], and put a dozen
//! small files into `corpus/<name>/`. `tests/corpus.rs` and `cargo xtask fuzz` do the rest.

use std::path::PathBuf;

mod chat_markdown;
mod claude_code;
mod convert;
mod dictionary;
mod frontmatter;
mod message_file;
mod message_json;
mod mutate;
mod run;
mod sse;
mod streams;
mod terminal;
mod transcript;

/// Sources of the command: a program exports nothing that another crate could call.
#[allow(dead_code, missing_docs)]
#[path = "../../crates/analects/src/ui"]
mod ui {
    pub mod markdown;
    pub mod text;
}

pub use dictionary::dictionary;
pub use mutate::{Random, mutate};
pub use run::{Failure, Seed, corpus, run};

/// A property that must hold for any bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its corpus.
    pub name: &'static str,
    /// Panics where the property does not hold.
    pub run: fn(&[u8]),
    /// What to mix into mutations besides [`TOKENS`], since chance alone seldom finds it.
    pub tokens: &'static [&'static [u8]],
}

/// Every target.
pub const TARGETS: &[Target] = &[
    message_json::TARGET,
    message_file::TARGET,
    chat_markdown::TARGET,
    claude_code::TARGET,
    convert::TARGET,
    frontmatter::TARGET,
    transcript::TARGET,
    terminal::TARGET,
    sse::TARGET,
    streams::OPENAI_CHAT,
    streams::OPENAI_RESPONSES,
    streams::ANTHROPIC,
    streams::GEMINI,
];

/// What troubles most readers of text: line ends, a byte order mark, broken UTF-8, separators.
pub const TOKENS: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    "\u{2028}".as_bytes(),
    "\u{85}".as_bytes(),
    "论语".as_bytes(),
    "👩‍💻".as_bytes(),
];

/// The folder of a target's corpus.
pub fn corpus_dir(target: &Target) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name)
}
