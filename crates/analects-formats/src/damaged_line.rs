//! What the readers of JSON lines share: how they trim a line, and what they report about a damaged one.
//!
//! A line can be damaged by a crash or by another program: its end is missing, another record follows in the same line, or
//! the disk has returned zeros. The readers then search the line for complete records. They differ in how a record starts
//! and in what they report, so only the common part is here.

use analects_core::Problem;

/// How often a damaged line is searched for the beginning of another record.
pub(crate) const MAX_TRIES: usize = 64;

/// The hint for damage that costs only a part of a line.
pub(crate) const PARTLY_READ: &str = "what can be read of it is read";

/// Trims white space and a byte-order mark, which editors put before the first line.
pub(crate) fn trim_line(line: &[u8]) -> &[u8] {
    let mark = "\u{feff}".as_bytes();
    line.strip_prefix(mark).unwrap_or(line).trim_ascii()
}

/// Reports zeros and bytes that are not UTF-8. A line without a line end may stop inside a character.
pub(crate) fn encoding_problems(line: &[u8], is_ended: bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    if line.contains(&0) {
        let text = "this line holds zeros where the disk had nothing to give back";
        problems.push(Problem::error("nul-run", text).hint(PARTLY_READ));
    }
    if let Err(error) = std::str::from_utf8(line) {
        let is_cut_off = error.error_len().is_none() && !is_ended;
        if !is_cut_off {
            let text = "this line holds bytes that are not UTF-8";
            problems.push(Problem::error("not-utf8", text).hint(PARTLY_READ));
        }
    }
    problems
}
