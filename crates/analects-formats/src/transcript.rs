//! The transcript: one message per line, as JSON. Lines end with `\n`, and only with that.
//!
//! 1. [`decode`] reads a whole transcript and [`encode`] writes a line. [`read_line`] reads one line into a
//!    [`TranscriptLine`], damaged or not.
//! 2. [`Envelope`], [`OwnedLink`], [`read_links`] and [`placeholder`] are for transcripts that do not fit into memory.
//! 3. [`Checker`] finds what is wrong and returns a [`CheckReport`]. It makes a [`RepairPlan`], which turns each old
//!    line into a [`RepairedLine`](crate::repair::RepairedLine).
//!
//! ```
//! use analects_core::Message;
//! use analects_formats::transcript::{check, decode, encode};
//!
//! let mut file = encode(&Message::user("m1", "Hello"));
//! file += "{\"v\":1,\"type\":\"user\",\"id\":\"m2\",\"par";
//! let decoded = decode(file.as_bytes());
//! assert_eq!(decoded.messages.len(), 1);
//! assert_eq!(decoded.problems[0].code, "torn-line");
//! assert_eq!(check(file.as_bytes()).problems.len(), 1);
//! ```
//!
//! # Damage
//!
//! | damage | reading | repair |
//! |---|---|---|
//! | a wrong checksum | reads the record as it is now | writes the record anew |
//! | records joined in one line | reads all of them | puts each on a line of its own |
//! | zeros, or bytes that are not UTF-8 | reads the records around them | writes only the records |
//! | a line that is cut off, or no record | skips the line | moves it to the second file |
//! | two records with one id | keeps both | gives the second one a new id |
//! | the same record twice | keeps both | drops the copy |
//! | a parent that is missing or leads in a circle | starts a new chain | links the previous record |
//! | a call without a result | sends a result that says so | adds that result |
//!
//! # Limitations
//!
//! - A repaired line keeps only its records. Other text of the line is in the second file alone.
//! - The most likely parent of a record is only a guess: the previous record of the same agent.
//! - A record that is longer than the caller's limit is moved to the second file, even if nothing is wrong with it.

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
pub use repair::RepairPlan;

#[cfg(test)]
mod tests;
