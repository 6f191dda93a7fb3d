//! Styled text broken into lines at words, or between the characters of a script without blanks.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthStr;

use super::style::{StyledLine, StyledText, plain_text};

/// Breaks a text so that no line takes more columns than `width`. A line end in the text stays one.
pub fn wrapped(text: &[StyledText], width: usize) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for line in split_lines(text) {
        let plain = plain_text(&line);
        if plain.width() <= width {
            lines.push(line);
            continue;
        }
        let mut start = 0;
        for part in broken(&plain, width) {
            // What lies between two lines is blank.
            start += plain[start..].find(&*part).unwrap_or(0);
            lines.push(cut(&line, start, start + part.len()));
            start += part.len();
        }
    }
    lines
}

/// A plain text broken into lines of at most `width` columns.
pub fn broken(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width.max(1))
        .word_separator(WordSeparator::UnicodeBreakProperties)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options)
        .into_iter()
        .map(|line| line.into_owned())
        .collect()
}

/// The text, cut at its line ends.
pub fn split_lines(text: &[StyledText]) -> Vec<StyledLine> {
    let mut lines = vec![Vec::new()];
    for part in text {
        for (at, piece) in part.text.split('\n').enumerate() {
            if at > 0 {
                lines.push(Vec::new());
            }
            if let Some(line) = lines.last_mut().filter(|_| !piece.is_empty()) {
                line.push(StyledText::new(part.style, piece));
            }
        }
    }
    lines
}

/// The part of a line between two byte positions of its plain text.
fn cut(line: &[StyledText], start: usize, end: usize) -> StyledLine {
    let mut parts = Vec::new();
    let mut at = 0;
    for part in line {
        let from = start.max(at);
        let to = end.min(at + part.text.len());
        if from < to {
            let text = &part.text[from - at..to - at];
            parts.push(StyledText::new(part.style, text));
        }
        at += part.text.len();
    }
    parts
}
