//! Splits a text into pieces before it is tokenized; no token spans two pieces. The rules are the seven alternatives of
//! the regular expression that OpenAI publishes for `o200k`, tried in order:
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! \p{N}{1,3}
//!  ?[^\s\p{L}\p{N}]+[\r\n/]*
//! \s*[\r\n]+
//! \s+(?!\S)
//! \s+
//! ```

/// Iterates over the pieces of a text. Together they are the text.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (piece, after) = rest.split_at(end_of_piece(rest, first));
        rest = after;
        Some(piece)
    })
}

/// Returns the end of the first piece of a text, which starts with `first`.
fn end_of_piece(text: &str, first: char) -> usize {
    let class = SplitClass::of(first);
    if let Some(end) = end_of_word(text, first, class) {
        return end + end_of_contraction(&text[end..]);
    }
    match class {
        SplitClass::Number => end_of_number(text),
        SplitClass::Space => end_of_signs(text).unwrap_or_else(|| end_of_blanks(text)),
        _ => end_of_signs(text).unwrap_or(first.len_utf8()),
    }
}

/// Returns the end of a word, with or without one preceding character that is no letter.
fn end_of_word(text: &str, first: char, class: SplitClass) -> Option<usize> {
    if class.is_letter() {
        return end_of_mixed(text).or_else(|| end_of_capitals(text));
    }
    if class == SplitClass::Number || is_line_end(first) {
        return None;
    }
    let skipped = first.len_utf8();
    let word = &text[skipped..];
    let after_first = |end: usize| skipped + end;
    end_of_mixed(word)
        .map(after_first)
        .or_else(|| end_of_mixed(text))
        .or_else(|| end_of_capitals(word).map(after_first))
        .or_else(|| end_of_capitals(text))
}

/// Returns the end of capitals followed by at least one small letter. Caseless letters and marks count as both.
fn end_of_mixed(text: &str) -> Option<usize> {
    let mut characters = text.chars();
    let mut end = 0;
    let mut end_of_caseless = None;
    for character in characters.by_ref() {
        match SplitClass::of(character) {
            SplitClass::Upper => end += character.len_utf8(),
            SplitClass::Caseless | SplitClass::Mark => {
                end += character.len_utf8();
                end_of_caseless = Some(end);
            }
            SplitClass::Lower => {
                end += character.len_utf8();
                return Some(end + end_of_run(&text[end..], is_small));
            }
            SplitClass::Number | SplitClass::Space | SplitClass::Sign => break,
        }
    }
    end_of_caseless
}

fn is_small(character: char) -> bool {
    matches!(
        SplitClass::of(character),
        SplitClass::Lower | SplitClass::Caseless | SplitClass::Mark
    )
}

/// Returns the end of a run of capitals. With any other letter behind them, they are a mixed word.
fn end_of_capitals(text: &str) -> Option<usize> {
    let end = end_of_run(text, |character| {
        SplitClass::of(character) == SplitClass::Upper
    });
    (end > 0).then_some(end)
}

/// Returns the end of a contraction such as `'s` or `'ll` at the start of a text, or 0. A long s counts as an s.
fn end_of_contraction(text: &str) -> usize {
    let Some(after) = text.strip_prefix('\'') else {
        return 0;
    };
    let mut characters = after.chars();
    let first = characters.next().unwrap_or_default();
    let second = characters.next().unwrap_or_default().to_ascii_lowercase();
    match (first.to_ascii_lowercase(), second) {
        ('s' | 't' | 'm' | 'd' | 'ſ', _) => 1 + first.len_utf8(),
        ('r' | 'v', 'e') | ('l', 'l') => 3,
        _ => 0,
    }
}

/// Returns the end of up to three digits.
fn end_of_number(text: &str) -> usize {
    let numbers = text
        .chars()
        .take_while(|character| SplitClass::of(*character) == SplitClass::Number);
    numbers.take(3).map(char::len_utf8).sum()
}

/// Returns the end of punctuation after an optional space, including the line ends and slashes behind it.
fn end_of_signs(text: &str) -> Option<usize> {
    let start = usize::from(text.starts_with(' '));
    let is_sign = |character| {
        matches!(
            SplitClass::of(character),
            SplitClass::Sign | SplitClass::Mark
        )
    };
    let end = start + end_of_run(&text[start..], is_sign);
    let closes = |character| is_line_end(character) || character == '/';
    (end > start).then(|| end + end_of_run(&text[end..], closes))
}

/// Returns the end of white space: up to its last line end, or all of it at the end of the text, or all but the last
/// character, which belongs to the next piece.
fn end_of_blanks(text: &str) -> usize {
    let end = end_of_run(text, |character| {
        SplitClass::of(character) == SplitClass::Space
    });
    let blanks = &text[..end];
    if let Some(line_end) = blanks.rfind(is_line_end) {
        return line_end + 1;
    }
    let last = blanks.chars().next_back().map_or(0, char::len_utf8);
    if end == text.len() || end == last {
        end
    } else {
        end - last
    }
}

fn is_line_end(character: char) -> bool {
    matches!(character, '\r' | '\n')
}

/// Returns the end of the leading characters that `belongs` accepts.
fn end_of_run(text: &str, mut belongs: impl FnMut(char) -> bool) -> usize {
    text.find(|character| !belongs(character))
        .unwrap_or(text.len())
}

/// The classes of characters that determine where a text is split. A two-level table, which `tests.rs` generates from
/// Unicode data, maps characters to classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SplitClass {
    /// Capital and title-case letters.
    Upper,
    /// Small letters.
    Lower,
    /// Letters of scripts without case.
    Caseless,
    /// Accents and other combining marks.
    Mark,
    /// Digits and other numbers.
    Number,
    /// White space, including line ends.
    Space,
    /// Everything else.
    Sign,
}

/// The classes in the order of their numbers in the table.
pub(super) const SPLIT_CLASSES: [SplitClass; 7] = [
    SplitClass::Sign,
    SplitClass::Upper,
    SplitClass::Lower,
    SplitClass::Caseless,
    SplitClass::Mark,
    SplitClass::Number,
    SplitClass::Space,
];

/// The number of characters in a block.
pub(super) const BLOCK_LEN: usize = 128;

/// The number of blocks for all characters.
pub(super) const BLOCKS: usize = (char::MAX as usize + 1) / BLOCK_LEN;

/// For each block of characters, the number of its class list; then each distinct class list once.
const TABLE: &[u8] = include_bytes!("../../../data/characters.bin");

impl SplitClass {
    pub fn of(character: char) -> SplitClass {
        let code = character as usize;
        let classes = BLOCKS + BLOCK_LEN * usize::from(TABLE[code / BLOCK_LEN]);
        SPLIT_CLASSES[usize::from(TABLE[classes + code % BLOCK_LEN])]
    }

    /// Returns whether it is a letter as regular expressions define it; marks are not.
    pub fn is_letter(self) -> bool {
        matches!(
            self,
            SplitClass::Upper | SplitClass::Lower | SplitClass::Caseless
        )
    }
}
