//! Decodes a transcript in memory. A line that cannot be read does not affect other lines.

use analects_core::{LineIndex, Span};

use super::line::read_line;
use crate::DecodedFile;

/// Reads a transcript. Torn, damaged and foreign lines are problems with their position.
pub fn decode(bytes: &[u8]) -> DecodedFile {
    let lines = LineIndex::new(bytes);
    let mut decoded = DecodedFile::default();
    let mut start = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let span = Span::new(start, start + line.len());
        start = span.end;
        let read = read_line(line);
        decoded.messages.extend(read.messages);
        for problem in read.problems {
            decoded.problems.push(problem.at(span, &lines));
        }
    }
    decoded
}
