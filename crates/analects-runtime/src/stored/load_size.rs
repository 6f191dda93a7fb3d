//! How much of a session to load for a window, and the problem that reports what was left out.

use analects_core::{Hint, Problem};
use analects_store::LoadLimit;

/// At least as many bytes as a token of ordinary text has, so that what is loaded fills the window.
const BYTES_PER_TOKEN: u64 = 5;

/// Bytes in what people call a megabyte.
const MEGABYTE: u64 = 1 << 20;

/// How much text to load for a window of so many tokens.
pub(super) fn load_limit_for(window: u64) -> LoadLimit {
    LoadLimit::of_text(window.saturating_mul(BYTES_PER_TOKEN))
}

/// Formats a number of bytes for people, such as `1.5 MB`.
pub fn size_in_words(bytes: u64) -> String {
    match bytes {
        0..MEGABYTE => format!("{bytes} bytes"),
        _ => format!("{:.1} MB", bytes as f64 / MEGABYTE as f64),
    }
}

/// Reports that the first bytes of a session are not sent.
pub(super) fn not_sent_problem(bytes: u64) -> Problem {
    let size = size_in_words(bytes);
    let text = format!("the first {size} of the session are not sent: they do not fit");
    Problem::warning("sent-in-part", text).hint(Hint::CompactOrLargerModel)
}
