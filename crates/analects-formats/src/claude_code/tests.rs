//! Sessions as Claude Code writes them, and as crashes leave them.

use analects_core::{Body, Message, chain};

use super::*;
use crate::frame::Read;

mod counts;
mod damaged;
mod pitfalls;
mod records;
mod restore;
mod samples;

/// Reads a session in one piece.
fn read(bytes: impl AsRef<[u8]>, full: bool) -> Read {
    let options = ReadOptions {
        full,
        ..ReadOptions::named("talk.jsonl")
    };
    let mut reader = Box::new(SessionReader::new(&options));
    let mut out = Read::default();
    reader.feed(bytes.as_ref(), &mut out);
    reader.finish(&mut out);
    out
}
