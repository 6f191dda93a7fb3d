//! The transcript: one message a line, as JSON. Lines end with `\n` and nothing else.
//!
//! [`decode`] reads a whole one and [`encode`] writes a line; [`read_line`] and [`Envelope`] are for
//! those that are too large for that. [`Checker`] finds what is wrong with one, and what would mend it.

mod check;
mod crc;
mod decode;
mod encode;
mod envelope;
mod line;
mod repair;

pub use check::{CheckReport, Checker, check};
pub use crc::crc32c;
pub use decode::decode;
pub use encode::{encode, encode_to};
pub use envelope::{Envelope, OwnedLink, placeholder, read_links};
pub use line::{TranscriptLine, read_line};
pub use repair::{RepairPlan, RepairedLine};

#[cfg(test)]
mod tests;
