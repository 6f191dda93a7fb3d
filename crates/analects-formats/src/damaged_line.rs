//! What the readers of JSON lines share: how they trim a line, and what they report about a damaged one.
//!
//! A line can be damaged by a crash or by another program: its end is missing, another record follows in the same line, or
//! the disk has returned zeros. The readers then search the line for complete records. They differ in how a record starts
//! and in what they report, so only the common part is here.

use analects_core::Problem;
use memchr::memmem;
use serde_json::value::RawValue;

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

/// The values that were found in a damaged line.
pub(crate) struct SalvagedValues {
    pub(crate) count: usize,
    /// Whether there is nothing else in the line.
    pub(crate) is_complete: bool,
}

/// Passes the values of a damaged line to `each`. `starts` is what records begin with.
pub(crate) fn salvage_values(
    line: &[u8],
    starts: &[&[u8]],
    each: &mut dyn FnMut(&RawValue),
) -> SalvagedValues {
    let mut salvaged = SalvagedValues {
        count: 0,
        is_complete: true,
    };
    for part in line.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(part.trim_ascii());
        let found = salvage_part(&text, starts, each);
        salvaged.count += found.count;
        salvaged.is_complete &= found.end == text.len();
    }
    salvaged
}

/// The values at the beginning of a text: their number, and the offset where they end.
struct ValueRun {
    count: usize,
    /// The offset behind the last value.
    end: usize,
}

/// Reads the values of a part. The returned `end` is the part's length only if there is nothing else in it.
fn salvage_part(part: &str, starts: &[&[u8]], each: &mut dyn FnMut(&RawValue)) -> ValueRun {
    let mut run = read_values(part, each);
    let rest = part.get(run.end..).unwrap_or_default();
    if rest.trim_ascii().is_empty() {
        run.end = part.len();
        return run;
    }
    for start in record_starts(rest, starts) {
        // Only complete values up to the end count. An object nested in another one does not end there.
        let Some(rest) = rest.get(start..).filter(|rest| are_values(rest)) else {
            continue;
        };
        run.count += read_values(rest, each).count;
        break;
    }
    run
}

/// Returns the offsets where records seem to start, in order, other than at the beginning.
fn record_starts(text: &str, patterns: &[&[u8]]) -> Vec<usize> {
    let mut starts = Vec::new();
    for pattern in patterns {
        let found = memmem::find_iter(text.as_bytes(), pattern).filter(|at| *at > 0);
        starts.extend(found.take(MAX_TRIES));
    }
    starts.sort_unstable();
    starts.truncate(MAX_TRIES);
    starts
}

/// Passes the values at the beginning of a text to `each`.
fn read_values(text: &str, each: &mut dyn FnMut(&RawValue)) -> ValueRun {
    let mut run = ValueRun { count: 0, end: 0 };
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    while let Some(Ok(value)) = stream.next() {
        run.count += 1;
        run.end = stream.byte_offset();
        each(value);
    }
    run
}

/// Returns whether a text is JSON values and nothing else.
fn are_values(text: &str) -> bool {
    serde_json::Deserializer::from_str(text)
        .into_iter::<&RawValue>()
        .all(|value| value.is_ok())
}
