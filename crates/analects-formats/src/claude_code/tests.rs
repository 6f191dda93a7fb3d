//! Sessions as Claude Code writes them, and as crashes leave them.

use analects_core::{Body, Message, chain};

use super::*;
use crate::convert::ReadOutput;

mod counts;
mod damaged;
mod pitfalls;
mod records;
mod repair;
mod restore;
mod samples;
mod sub_agents;

/// Reads a session in one piece.
fn read(bytes: impl AsRef<[u8]>, full: bool) -> ReadOutput {
    let options = ReadOptions {
        full,
        ..ReadOptions::named("talk.jsonl")
    };
    let mut reader = Box::new(SessionReader::new(&options));
    let mut out = ReadOutput::default();
    reader.feed(bytes.as_ref(), &mut out);
    reader.finish(&mut out);
    out
}
