//! Lines in, messages out. A line that cannot be read costs that line only.

use analects_core::{Json, LineIndex, Message, Problem, Raw, Span};

use crate::Decoded;

/// Reads a transcript. Torn, damaged and foreign lines are problems with their place.
pub fn decode(bytes: &[u8]) -> Decoded {
    let lines = LineIndex::new(bytes);
    let mut decoded = Decoded::default();
    let mut start = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let span = Span::new(start, start + line.len());
        start = span.end;
        decode_line(line, span, &lines, &mut decoded);
    }
    decoded
}

fn decode_line(line: &[u8], span: Span, lines: &LineIndex<'_>, decoded: &mut Decoded) {
    if line.iter().all(u8::is_ascii_whitespace) {
        return;
    }
    let mut odd = Vec::new();
    let read = std::str::from_utf8(line)
        .map_err(|error| error.to_string())
        .and_then(|text| Raw::parse(text).map_err(|error| error.to_string()))
        .and_then(|raw| Message::read(&raw, &mut odd).map_err(|error| error.to_string()));
    decoded.problems.extend(odd.into_iter().map(|problem| problem.at(span, lines)));
    match read {
        Ok(message) => decoded.messages.push(message),
        Err(error) if line.ends_with(b"\n") => decoded.problems.push(
            Problem::error("unreadable-line", format!("this line is no message: {error}"))
                .at(span, lines)
                .hint("the line is left as it is; every other line is read"),
        ),
        Err(_) => decoded.problems.push(
            Problem::error("torn-line", "the last line was cut off while it was written")
                .at(span, lines)
                .hint("it is left as it is; the next message starts a new line"),
        ),
    }
}
