//! One line of a session, as its JSON values: exactly one record if the line is undamaged.

use analects_core::Problem;
use memchr::memmem;
use serde_json::value::RawValue;

use super::record::RecordFields;
use crate::damaged_line::{MAX_TRIES, PARTLY_READ, encoding_problems, trim_line};

/// What records start with.
const RECORD_STARTS: [&[u8]; 2] = [b"{\"parentUuid\":", b"{\"type\":"];

/// A value of a line.
pub(super) enum LineValue<'a> {
    /// A record: any JSON object.
    Record(RecordFields<'a>),
    /// JSON that is not an object.
    Other(&'a RawValue),
}

/// Passes the values of a line to `each`, and returns what is wrong with the line. It may lack its line end.
pub(super) fn read_line(line: &[u8], each: &mut dyn FnMut(LineValue<'_>)) -> Vec<Problem> {
    let is_ended = line.ends_with(b"\n");
    let line = trim_line(line);
    if line.is_empty() {
        return Vec::new();
    }
    if let Ok(text) = simdutf8::basic::from_utf8(line)
        && let Some(fields) = RecordFields::parse(text)
    {
        each(LineValue::Record(fields));
        return Vec::new();
    }
    salvage(line, is_ended, each)
}

/// Reads the values of a line that is not one intact record.
fn salvage(line: &[u8], is_ended: bool, each: &mut dyn FnMut(LineValue<'_>)) -> Vec<Problem> {
    let mut problems = encoding_problems(line, is_ended);
    let mut count = 0;
    let mut is_complete = true;
    for part in line.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(part.trim_ascii());
        let found = salvage_part(&text, each);
        count += found.count;
        is_complete &= found.end == text.len();
    }
    problems.extend(salvage_problem(count, is_complete, is_ended));
    problems
}

/// Says what is wrong with a line of `count` values. `is_complete` is false if a part of it could not be read.
fn salvage_problem(count: usize, is_complete: bool, is_ended: bool) -> Option<Problem> {
    if is_complete && count > 1 {
        let text = format!("{count} records stand in this line; a line end got lost");
        return Some(Problem::warning("joined-lines", text).hint("all of them are read"));
    }
    if is_complete {
        return None;
    }
    if count > 0 {
        let text = format!("{count} records and what is left of others stand in this line");
        return Some(Problem::error("joined-lines", text).hint(PARTLY_READ));
    }
    if is_ended {
        let hint = "it is skipped; every other line is read";
        return Some(Problem::error("unreadable-line", "this line is no JSON").hint(hint));
    }
    // No value of the line was complete yet, so nothing is lost.
    let text = "the last line was cut off while it was written";
    let hint = "the session may still be at work; read the file again when the line is complete";
    Some(Problem::warning("torn-line", text).hint(hint))
}

/// The values at the beginning of a text: their number, and the offset where they end.
struct ValueRun {
    count: usize,
    /// The offset behind the last value.
    end: usize,
}

/// Reads the values of a part. The returned `end` is the part's length only if there is nothing else in it.
fn salvage_part(part: &str, each: &mut dyn FnMut(LineValue<'_>)) -> ValueRun {
    let mut run = read_values(part, each);
    let rest = part.get(run.end..).unwrap_or_default();
    if rest.trim_ascii().is_empty() {
        run.end = part.len();
        return run;
    }
    for start in record_starts(rest) {
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
fn record_starts(text: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    for pattern in RECORD_STARTS {
        let found = memmem::find_iter(text.as_bytes(), pattern).filter(|at| *at > 0);
        starts.extend(found.take(MAX_TRIES));
    }
    starts.sort_unstable();
    starts.truncate(MAX_TRIES);
    starts
}

/// Passes the values at the beginning of a text to `each`.
fn read_values(text: &str, each: &mut dyn FnMut(LineValue<'_>)) -> ValueRun {
    let mut run = ValueRun { count: 0, end: 0 };
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    while let Some(Ok(value)) = stream.next() {
        run.count += 1;
        run.end = stream.byte_offset();
        each(RecordFields::of(value).map_or(LineValue::Other(value), LineValue::Record));
    }
    run
}

/// Returns whether a text is JSON values and nothing else.
fn are_values(text: &str) -> bool {
    serde_json::Deserializer::from_str(text)
        .into_iter::<&RawValue>()
        .all(|value| value.is_ok())
}
