//! Strings as JSON has them: mostly Unicode, sometimes with half a surrogate pair.

use std::borrow::Cow;

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
    /// A JSON string literal that holds at least one lone surrogate.
    Broken(Raw),
}

impl Text {
    /// The text to show and to send; lone surrogates read as U+FFFD.
    pub fn as_str(&self) -> Cow<'_, str> {
        match self {
            Text::Plain(text) => Cow::Borrowed(text),
            Text::Broken(literal) => Cow::Owned(lossy(literal.as_str())),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        matches!(self, Text::Plain(text) if text.is_empty())
    }

    /// Adds `more` at the end. Two halves of a surrogate pair that meet become one character.
    pub fn push(&mut self, more: &Text) {
        match (&mut *self, more) {
            (Text::Plain(text), Text::Plain(more)) => text.push_str(more),
            _ => {
                let (left, right) = (self.to_json(), more.to_json());
                let literal = format!("{}{}", &left[..left.len() - 1], &right[1..]);
                *self = Text::from_literal(Raw::trusted(literal));
            }
        }
    }

    /// Reads a raw JSON string; `None` for any other JSON value.
    pub fn from_raw(raw: &Raw) -> Option<Text> {
        raw.as_str().starts_with('"').then(|| Text::from_literal(raw.clone()))
    }

    fn from_literal(literal: Raw) -> Text {
        match literal.as_string() {
            Some(text) => Text::Plain(text),
            None => Text::Broken(literal),
        }
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
        let expected = JsonError::Field { field: "text", expected: "a string" };
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
            Text::Broken(literal) => out.push_str(literal.as_str()),
        }
    }
}

/// Decodes a JSON string literal with every lone surrogate replaced by U+FFFD.
fn lossy(literal: &str) -> String {
    let mut mended = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let taken = match (surrogate(escape), surrogate(escape.get(6..).unwrap_or(""))) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => push_kept(&mut mended, escape, 12),
            (Some(_), _) => {
                mended.push('\u{fffd}');
                6
            }
            (None, _) => push_kept(&mut mended, escape, 2),
        };
        rest = &escape[taken..];
    }
    mended.push_str(rest);
    serde_json::from_str(&mended).unwrap_or(mended)
}

fn push_kept(out: &mut String, text: &str, len: usize) -> usize {
    out.push_str(&text[..len]);
    len
}

/// The code unit of a `\uXXXX` escape at the start of `text`, if it is a surrogate.
fn surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xD800..=0xDFFF).contains(unit))
}
