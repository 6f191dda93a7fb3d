//! One line of a session, as its JSON values: exactly one record if the line is undamaged.

use analects_core::Problem;
use serde_json::value::RawValue;

use super::record::RecordFields;
use crate::damaged_line::{PARTLY_READ, encoding_problems, salvage_values, trim_line};

/// What records start with.
pub(super) const RECORD_STARTS: [&[u8]; 2] = [b"{\"parentUuid\":", b"{\"type\":"];

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
    let salvaged = salvage_values(line, &RECORD_STARTS, &mut |value| {
        each(RecordFields::of(value).map_or(LineValue::Other(value), LineValue::Record));
    });
    problems.extend(salvage_problem(
        salvaged.count,
        salvaged.is_complete,
        is_ended,
    ));
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
