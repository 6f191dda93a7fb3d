//! Where a text is split before tokens are looked for; no token spans two pieces. These are the seven
//! alternatives of the regular expression that OpenAI publishes for `o200k`, tried in its order:
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

/// The pieces of a text, which together are the text.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (piece, after) = rest.split_at(end_of_piece(rest, first));
        rest = after;
        Some(piece)
    })
}

fn end_of_piece(text: &str, first: char) -> usize {
    let kind = Kind::of(first);
    if let Some(end) = end_of_word(text, first, kind) {
        return end + end_of_contraction(&text[end..]);
    }
    match kind {
        Kind::Number => end_of_number(text),
        Kind::Space => end_of_signs(text).unwrap_or_else(|| end_of_blanks(text)),
        _ => end_of_signs(text).unwrap_or(first.len_utf8()),
    }
}

/// A word, with or without one character before it that is no letter.
fn end_of_word(text: &str, first: char, kind: Kind) -> Option<usize> {
    if kind.is_letter() {
        return end_of_mixed(text).or_else(|| end_of_capitals(text));
    }
    if kind == Kind::Number || is_line_end(first) {
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

/// Capitals and then small letters, of which there is at least one; a caseless letter or a mark is both.
fn end_of_mixed(text: &str) -> Option<usize> {
    let mut characters = text.chars();
    let mut end = 0;
    let mut end_of_caseless = None;
    for character in characters.by_ref() {
        match Kind::of(character) {
            Kind::Upper => end += character.len_utf8(),
            Kind::Caseless | Kind::Mark => {
                end += character.len_utf8();
                end_of_caseless = Some(end);
            }
            Kind::Lower => {
                end += character.len_utf8();
                return Some(end + end_of_run(&text[end..], is_small));
            }
            Kind::Number | Kind::Space | Kind::Sign => break,
        }
    }
    end_of_caseless
}

fn is_small(character: char) -> bool {
    matches!(
        Kind::of(character),
        Kind::Lower | Kind::Caseless | Kind::Mark
    )
}

/// Capitals alone: with any other letter behind them, it would be a mixed word.
fn end_of_capitals(text: &str) -> Option<usize> {
    let end = end_of_run(text, |character| Kind::of(character) == Kind::Upper);
    (end > 0).then_some(end)
}

/// The end of `'s`, `'ll` and their like at the beginning of a text, or 0. A long s counts as one.
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

fn end_of_number(text: &str) -> usize {
    let numbers = text
        .chars()
        .take_while(|character| Kind::of(*character) == Kind::Number);
    numbers.take(3).map(char::len_utf8).sum()
}

/// Signs behind a blank or none, and the line ends and slashes behind them.
fn end_of_signs(text: &str) -> Option<usize> {
    let start = usize::from(text.starts_with(' '));
    let is_sign = |character| matches!(Kind::of(character), Kind::Sign | Kind::Mark);
    let end = start + end_of_run(&text[start..], is_sign);
    let closes = |character| is_line_end(character) || character == '/';
    (end > start).then(|| end + end_of_run(&text[end..], closes))
}

/// Blanks up to the last line end among them; else all of them at the end of the text; else all but the last,
/// which goes with what follows.
fn end_of_blanks(text: &str) -> usize {
    let end = end_of_run(text, |character| Kind::of(character) == Kind::Space);
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

fn end_of_run(text: &str, mut belongs: impl FnMut(char) -> bool) -> usize {
    text.find(|character| !belongs(character))
        .unwrap_or(text.len())
}

/// The kinds of characters that make a difference where a text is split. They are looked up in a table in two
/// steps, which `tests.rs` makes of Unicode's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Capital and title letters.
    Upper,
    /// Small letters.
    Lower,
    /// Letters of scripts without such a difference.
    Caseless,
    /// Accents and other signs that go with a letter.
    Mark,
    /// Digits and all other numbers.
    Number,
    /// Blanks and line ends.
    Space,
    /// Everything else.
    Sign,
}

/// The kinds in the order of their numbers in the table.
pub(super) const KINDS: [Kind; 7] = [
    Kind::Sign,
    Kind::Upper,
    Kind::Lower,
    Kind::Caseless,
    Kind::Mark,
    Kind::Number,
    Kind::Space,
];

/// Characters in a block.
pub(super) const BLOCK: usize = 128;

/// How many blocks all characters take.
pub(super) const BLOCKS: usize = (char::MAX as usize + 1) / BLOCK;

/// For each block of characters the number of its kinds; then these, each once.
const TABLE: &[u8] = include_bytes!("../../../data/characters.bin");

impl Kind {
    pub fn of(character: char) -> Kind {
        let code = character as usize;
        let kinds = BLOCKS + BLOCK * usize::from(TABLE[code / BLOCK]);
        KINDS[usize::from(TABLE[kinds + code % BLOCK])]
    }

    /// Whether it is a letter as regular expressions have them; marks are none.
    pub fn is_letter(self) -> bool {
        matches!(self, Kind::Upper | Kind::Lower | Kind::Caseless)
    }
}
