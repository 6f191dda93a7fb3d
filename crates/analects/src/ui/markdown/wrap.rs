//! Styled text broken into lines at words, or between the characters of a script without blanks.
//!
//! Wrapping works on plain text, and the styles are cut to the same places afterwards. A blank where a line breaks is
//! dropped.

use std::borrow::Cow;

use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style::{StyledLine, StyledText, plain_text};

/// Breaks a text so that no line takes more columns than `width`. A line end in the text stays one.
/// A word that is longer than a line is cut. A width of 0 counts as 1.
pub fn wrapped(text: &[StyledText], width: usize) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for line in split_lines(text) {
        let plain = plain_text(&line);
        if plain.width() <= width {
            lines.push(line);
            continue;
        }
        let mut start = 0;
        for part in wrap_words(&plain, width) {
            // What lies between two lines is blank.
            start += plain[start..].find(&*part).unwrap_or(0);
            lines.push(cut(&line, start, start + part.len()));
            start += part.len();
        }
    }
    lines
}

/// A line of plain text broken into lines of at most `width` columns, the further ones indented.
/// Further lines are indented by two columns more than the first. For hints and remarks, which have no styles.
pub fn hanging_lines(line: &str, width: usize) -> Vec<String> {
    let indent = line.len() - line.trim_start_matches(' ').len() + 2;
    let indent = " ".repeat(indent);
    owned_lines(line, options(width).subsequent_indent(&indent))
}

/// A line of plain text broken into lines of at most `width` columns.
pub fn wrap_words(text: &str, width: usize) -> Vec<String> {
    owned_lines(text, options(width))
}

/// Lines are filled greedily and never hyphenated, so copied words stay whole.
fn options<'a>(width: usize) -> Options<'a> {
    Options::new(width.max(1))
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
}

/// Parts that need no change are borrowed by the library, and copied here.
fn owned_lines(text: &str, options: Options<'_>) -> Vec<String> {
    let lines = textwrap::wrap(text, options);
    lines.into_iter().map(Cow::into_owned).collect()
}

/// The text, cut at its line ends.
/// An empty line in the text gives a line without parts. There is always at least one line.
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
/// Both positions lie between characters.
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

/// The words of a line, which can be broken behind blanks and beside a wide character. Unicode's rules also break
/// behind the slashes and hyphens of addresses, paths and commands, which people want to copy.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for word in WordSeparator::UnicodeBreakProperties.find_words(line) {
        end += word.word.len() + word.whitespace.len();
        let is_beside_wide =
            is_wide(word.word.chars().next_back()) || is_wide(line[end..].chars().next());
        if !word.whitespace.is_empty() || is_beside_wide {
            push_words(&mut words, &line[start..end]);
            start = end;
        }
    }
    push_words(&mut words, &line[start..]);
    Box::new(words.into_iter())
}

/// Adds a piece that Unicode's rules do not break. They keep a slash with what is before it, even behind a blank, and
/// paths and commands begin with one.
fn push_words<'a>(words: &mut Vec<Word<'a>>, piece: &'a str) {
    let mut rest = piece;
    while let Some(blank) = rest.find(" /") {
        let (word, after) = rest.split_at(blank + 1);
        words.push(Word::from(word));
        rest = after;
    }
    words.push(Word::from(rest));
}

/// False without a character, at the start or end of a line.
fn is_wide(c: Option<char>) -> bool {
    c.and_then(UnicodeWidthChar::width) == Some(2)
}
