//! The transcript: one message per line, as JSON. Lines end with `\n`, and only with that.
//!
//! 1. [`decode`] reads a whole transcript and [`encode`] writes a line. [`read_line`] reads one line into a
//!    [`TranscriptLine`], damaged or not.
//! 2. [`Envelope`], [`OwnedLink`], [`read_links`] and [`placeholder`] are for transcripts that do not fit into memory.
//! 3. [`Checker`] finds what is wrong and returns a [`CheckReport`]. It makes a [`RepairPlan`], which turns each old
//!    line into a [`RepairedLine`].

mod check;
mod crc;
mod decode;
mod encode;
mod envelope;
mod line;
mod link;
mod repair;

pub use check::{CheckReport, Checker, check};
pub use crc::crc32c;
pub use decode::decode;
pub use encode::{encode, encode_to};
pub use envelope::{Envelope, placeholder, read_links};
pub use line::{TranscriptLine, read_line};
pub use link::OwnedLink;
pub use repair::{RepairPlan, RepairedLine};

#[cfg(test)]
mod tests;
