//! How much of a session is loaded for whoever answers, and what is said of the rest.

use analects_core::{Hint, Problem};
use analects_store::LoadLimit;

/// As many bytes of text as a token has, or more, of what people write: what is loaded for a window fills it.
const BYTES_PER_TOKEN: u64 = 5;

/// What people call a megabyte.
const MEGABYTE: u64 = 1 << 20;

/// How much of a conversation is loaded for a window of so many tokens.
pub(super) fn reach_for(window: u64) -> LoadLimit {
    LoadLimit::of_text(window.saturating_mul(BYTES_PER_TOKEN))
}

/// So many bytes, for people.
pub fn size_in_words(bytes: u64) -> String {
    match bytes {
        0..MEGABYTE => format!("{bytes} bytes"),
        _ => format!("{:.1} MB", bytes as f64 / MEGABYTE as f64),
    }
}

/// Says that the beginning of a session is not sent.
pub(super) fn not_sent_problem(bytes: u64) -> Problem {
    let size = size_in_words(bytes);
    let text = format!("the first {size} of the session are not sent: they do not fit");
    Problem::warning("sent-in-part", text).hint(Hint::CompactOrLargerModel)
}
