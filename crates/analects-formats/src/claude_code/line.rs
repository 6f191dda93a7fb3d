//! A line of a session, as the JSON values in it: one, if nothing is wrong with it.

use analects_core::Problem;
use memchr::memmem;
use serde_json::value::RawValue;

use super::record::RecordFields;

/// How often a damaged line is searched for the beginning of another record.
const MAX_TRIES: usize = 64;

/// What records begin with.
const BEGINNINGS: [&[u8]; 2] = [b"{\"parentUuid\":", b"{\"type\":"];

/// What is done about damage.
const READ: &str = "what can be read of it is read";

/// A value of a line.
pub(super) enum LineValue<'a> {
    /// A record.
    Record(RecordFields<'a>),
    /// JSON that is no object.
    Other(&'a RawValue),
}

/// Gives the values of a line, which may lack its line end, and says what is odd about it.
pub(super) fn read_line(line: &[u8], each: &mut dyn FnMut(LineValue<'_>)) -> Vec<Problem> {
    let is_ended = line.ends_with(b"\n");
    // Editors put a mark before the first line, and `\r` before the end of each.
    let line = line
        .strip_prefix("\u{feff}".as_bytes())
        .unwrap_or(line)
        .trim_ascii();
    if line.is_empty() {
        return Vec::new();
    }
    if let Ok(text) = simdutf8::basic::from_utf8(line)
        && let Some(fields) = RecordFields::parse(text)
    {
        each(LineValue::Record(fields));
        return Vec::new();
    }
    save(line, is_ended, each)
}

/// Finds the values in a line that is not one record.
fn save(line: &[u8], is_ended: bool, each: &mut dyn FnMut(LineValue<'_>)) -> Vec<Problem> {
    let mut problems = Vec::new();
    if line.contains(&0) {
        let text = "this line holds zeros where the disk had nothing to give back";
        problems.push(Problem::error("nul-run", text).hint(READ));
    }
    // A line may be cut off inside of a character.
    let is_cut = |error: std::str::Utf8Error| error.error_len().is_none() && !is_ended;
    if std::str::from_utf8(line).is_err_and(|error| !is_cut(error)) {
        let text = "this line holds bytes that are not UTF-8";
        problems.push(Problem::error("not-utf8", text).hint(READ));
    }
    let (mut found, mut is_whole) = (0, true);
    for part in line.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(part.trim_ascii());
        let saved = save_part(&text, each);
        found += saved.0;
        is_whole &= saved.1;
    }
    problems.extend(verdict(found, is_whole, is_ended));
    problems
}

/// What is wrong with a line of so many values, if they are all of it or not.
fn verdict(found: usize, is_whole: bool, is_ended: bool) -> Option<Problem> {
    if is_whole && found > 1 {
        let text = format!("{found} records stand in this line; a line end got lost");
        return Some(Problem::warning("joined-lines", text).hint("all of them are read"));
    }
    if is_whole {
        return None;
    }
    Some(if found > 0 {
        let text = format!("{found} records and what is left of others stand in this line");
        Problem::error("joined-lines", text).hint(READ)
    } else if is_ended {
        let hint = "it is skipped; every other line is read";
        Problem::error("unreadable-line", "this line is no JSON").hint(hint)
    } else {
        let hint =
            "the session may still be at work; read the file again when the line is complete";
        // Nothing of it was complete yet, so nothing gets lost.
        Problem::warning(
            "torn-line",
            "the last line was cut off while it was written",
        )
        .hint(hint)
    })
}

/// Reads the values of a part: how many, and whether that was all of it.
fn save_part(part: &str, each: &mut dyn FnMut(LineValue<'_>)) -> (usize, bool) {
    let (mut found, end) = values(part, each);
    let rest = part.get(end..).unwrap_or_default();
    if rest.trim_ascii().is_empty() {
        return (found, true);
    }
    let starts = |beginning| {
        memmem::find_iter(rest.as_bytes(), beginning)
            .filter(|at| *at > 0)
            .take(MAX_TRIES)
    };
    let mut starts: Vec<usize> = BEGINNINGS.into_iter().flat_map(starts).collect();
    starts.sort_unstable();
    for start in starts.into_iter().take(MAX_TRIES) {
        // A whole number of values up to the end: what is nested in another does not end there.
        let Some(rest) = rest.get(start..).filter(|rest| are_values(rest)) else {
            continue;
        };
        found += values(rest, each).0;
        break;
    }
    (found, false)
}

/// Gives the values with which a text begins: how many there are, and where the last one ends.
fn values(text: &str, each: &mut dyn FnMut(LineValue<'_>)) -> (usize, usize) {
    let (mut found, mut end) = (0, 0);
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    while let Some(Ok(value)) = stream.next() {
        (found, end) = (found + 1, stream.byte_offset());
        each(RecordFields::of(value).map_or(LineValue::Other(value), LineValue::Record));
    }
    (found, end)
}

fn are_values(text: &str) -> bool {
    serde_json::Deserializer::from_str(text)
        .into_iter::<&RawValue>()
        .all(|value| value.is_ok())
}
