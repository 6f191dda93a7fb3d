//! Strings as JSON has them: mostly Unicode, sometimes with half a surrogate pair.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use crate::json::write_string;
use crate::{Json, JsonError, Problem, Raw};

/// A piece of text that goes out as it came in.
///
/// JSON strings may hold a lone surrogate (`"\ud83d"`), for which Rust's `String` has no place. Such
/// a text is kept as the JSON string that it was; everybody reads it with U+FFFD in that place.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Text {
    /// Ordinary text.
    Plain(String),
    /// Text with at least one lone surrogate.
    Broken(Box<Broken>),
}

/// Text with at least one lone surrogate, ready to grow: what was ordinary text before the first of
/// them stays decoded, so that text which is broken for a moment is not spelled again and again.
#[derive(Clone)]
pub struct Broken {
    plain: String,
    /// The inside of a JSON string literal, which follows on `plain`.
    literal: String,
    /// The lone surrogates in `literal`.
    lone: usize,
    /// Whether `literal` ends in a lone high surrogate.
    ends_high: bool,
}

impl Text {
    /// The text to show and to send; lone surrogates read as U+FFFD.
    pub fn as_str(&self) -> Cow<'_, str> {
        match self {
            Text::Plain(text) => Cow::Borrowed(text),
            Text::Broken(broken) => Cow::Owned(format!("{}{}", broken.plain, broken.lossy())),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        matches!(self, Text::Plain(text) if text.is_empty())
    }

    /// Adds `more` at the end. Two halves of a surrogate pair that meet become one character.
    pub fn push(&mut self, more: &Text) {
        let broken = match (&mut *self, more) {
            (_, Text::Plain(more)) if more.is_empty() => return,
            (Text::Plain(text), Text::Plain(more)) => return text.push_str(more),
            (Text::Plain(text), Text::Broken(more)) => {
                let plain = std::mem::take(text);
                *self = Text::Broken(Box::new(more.after(plain)));
                return;
            }
            (Text::Broken(broken), _) => broken,
        };
        match more {
            Text::Plain(more) => broken.push_plain(more),
            Text::Broken(more) => broken.push_broken(more),
        }
        if broken.lone == 0 {
            *self = Text::Plain(broken.mended());
        }
    }

    /// Takes off a high surrogate at the end, whose other half may be the start of what comes next.
    /// Without one there, what is taken is empty.
    pub fn take_high_end(&mut self) -> Text {
        let Text::Broken(broken) = self else {
            return Text::default();
        };
        if !broken.ends_high {
            return Text::default();
        }
        let end = broken.literal.split_off(broken.literal.len() - ESCAPE);
        let plain = std::mem::take(&mut broken.plain);
        *self = Broken::new(plain, std::mem::take(&mut broken.literal)).into_text();
        Broken::new(String::new(), end).into_text()
    }

    /// Reads a raw JSON string; `None` for any other JSON value.
    pub fn from_raw(raw: &Raw) -> Option<Text> {
        let inside = raw.as_str().strip_prefix('"')?.strip_suffix('"')?;
        Some(match raw.as_string() {
            Some(text) => Text::Plain(text),
            None => Broken::new(String::new(), inside.to_string()).into_text(),
        })
    }
}

impl Broken {
    fn new(plain: String, literal: String) -> Broken {
        let (mut lone, mut ends_high) = (0, false);
        for piece in Pieces(&literal) {
            lone += usize::from(matches!(piece, Piece::Lone(_)));
            ends_high = matches!(piece, Piece::Lone(0xD800..=0xDBFF));
        }
        Broken {
            plain,
            literal,
            lone,
            ends_high,
        }
    }

    /// Plain text if nothing in it is lone after all.
    fn into_text(mut self) -> Text {
        if self.lone > 0 {
            Text::Broken(Box::new(self))
        } else {
            Text::Plain(self.mended())
        }
    }

    fn after(&self, mut plain: String) -> Broken {
        plain.push_str(&self.plain);
        Broken {
            plain,
            ..self.clone()
        }
    }

    fn push_plain(&mut self, more: &str) {
        if more.is_empty() {
            return;
        }
        let mut spelled = String::with_capacity(more.len() + 2);
        write_string(&mut spelled, more);
        self.literal.push_str(&spelled[1..spelled.len() - 1]);
        self.ends_high = false;
    }

    fn push_broken(&mut self, more: &Broken) {
        self.push_plain(&more.plain);
        let meet = self.ends_high && low(&more.literal);
        self.literal.push_str(&more.literal);
        self.lone = self.lone + more.lone - if meet { 2 } else { 0 };
        self.ends_high = more.ends_high;
    }

    fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        write_string(out, &self.plain);
        out.pop();
        out.push_str(&self.literal);
        out.push('"');
    }

    /// The text, once nothing in it is lone.
    fn mended(&mut self) -> String {
        let mut text = std::mem::take(&mut self.plain);
        text.push_str(&self.lossy());
        text
    }

    /// The decoded literal, with every lone surrogate replaced by U+FFFD.
    fn lossy(&self) -> String {
        let mut mended = String::with_capacity(self.literal.len() + 2);
        mended.push('"');
        for piece in Pieces(&self.literal) {
            match piece {
                Piece::Lone(_) => mended.push('\u{fffd}'),
                Piece::Kept(text) => mended.push_str(text),
            }
        }
        mended.push('"');
        serde_json::from_str(&mended).unwrap_or(mended)
    }
}

// What is decoded and what is not does not make a difference to anyone.
impl PartialEq for Broken {
    fn eq(&self, other: &Broken) -> bool {
        self.to_json() == other.to_json()
    }
}

impl Eq for Broken {}

impl Hash for Broken {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_json().hash(state);
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl Default for Text {
    fn default() -> Text {
        Text::Plain(String::new())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::Plain(text)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::Plain(text.to_string())
    }
}

impl Json for Text {
    fn read(raw: &Raw, problems: &mut Vec<Problem>) -> Result<Text, JsonError> {
        let expected = JsonError::Field {
            field: "text",
            expected: "a string",
        };
        let text = Text::from_raw(raw).ok_or(expected)?;
        if matches!(text, Text::Broken(_)) {
            problems.push(Problem::warning(
                "lone-surrogate",
                "a string holds half of a surrogate pair; it is kept as it is and shown as U+FFFD",
            ));
        }
        Ok(text)
    }

    fn write(&self, out: &mut String) {
        match self {
            Text::Plain(text) => write_string(out, text),
            Text::Broken(broken) => broken.write(out),
        }
    }
}

/// The length of `\ud83d`.
const ESCAPE: usize = 6;

/// Splits the inside of a literal at its lone surrogates.
struct Pieces<'a>(&'a str);

enum Piece<'a> {
    Lone(u16),
    /// Ordinary text, whole pairs and other escapes.
    Kept(&'a str),
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let rest = self.0;
        if rest.is_empty() {
            return None;
        }
        let after = |len: usize| rest.get(len..).unwrap_or("");
        let len = match (surrogate(rest), surrogate(after(ESCAPE))) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * ESCAPE,
            (Some(unit), _) => {
                self.0 = after(ESCAPE);
                return Some(Piece::Lone(unit));
            }
            _ if rest.starts_with('\\') => 2,
            _ => rest.find('\\').unwrap_or(rest.len()),
        };
        let (kept, rest) = rest.split_at_checked(len).unwrap_or((rest, ""));
        self.0 = rest;
        Some(Piece::Kept(kept))
    }
}

/// Whether a literal begins with a low surrogate.
fn low(literal: &str) -> bool {
    matches!(surrogate(literal), Some(0xDC00..=0xDFFF))
}

/// The code unit of a `\uXXXX` escape at the start of `text`, if it is a surrogate.
fn surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16)
        .ok()
        .filter(|unit| (0xD800..=0xDFFF).contains(unit))
}
