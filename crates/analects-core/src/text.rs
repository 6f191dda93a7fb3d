//! JSON strings: Unicode text, sometimes with a lone surrogate.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use crate::json::write_string;
use crate::{Json, JsonError, Problem, Raw};

/// A string that is written exactly as it was read.
///
/// A JSON string may hold a lone surrogate (`"\ud83d"`), which Rust's `String` cannot represent. Such a text keeps its
/// JSON spelling, and readers see U+FFFD in place of each lone surrogate.
///
/// ```
/// use analects_core::{Json, Text};
///
/// let text = Text::from_json(r#""one \ud83d""#)?;
/// assert_eq!(text.as_str(), "one \u{fffd}");
/// assert_eq!(text.to_json(), r#""one \ud83d""#);
/// # Ok::<(), analects_core::JsonError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Text {
    /// Ordinary text.
    Plain(String),
    /// Text with at least one lone surrogate.
    Broken(Box<SurrogateText>),
}

/// Text with at least one lone surrogate. The part before the first one stays decoded, so that appending to a text that
/// is broken only for a moment does not spell it out again and again.
#[derive(Clone)]
pub struct SurrogateText {
    plain: String,
    /// The rest of the text, as the inside of a JSON string literal.
    literal: String,
    /// The number of lone surrogates in `literal`.
    lone: usize,
    /// Whether `literal` ends in a lone high surrogate.
    ends_high: bool,
}

impl Text {
    /// The text to show and to send, with U+FFFD for each lone surrogate.
    pub fn as_str(&self) -> Cow<'_, str> {
        match self {
            Text::Plain(text) => Cow::Borrowed(text),
            Text::Broken(broken) => {
                Cow::Owned(format!("{}{}", broken.plain, broken.decode_lossy()))
            }
        }
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        matches!(self, Text::Plain(text) if text.is_empty())
    }

    /// Returns whether the text is empty or only white space.
    pub fn is_blank(&self) -> bool {
        self.as_str().trim().is_empty()
    }

    /// Appends `more`. If two halves of a surrogate pair meet, they become one character.
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
            *self = Text::Plain(broken.take_decoded());
        }
    }

    /// Removes and returns a high surrogate at the end, since its other half may come next. Returns an empty text if
    /// there is none.
    pub fn take_high_end(&mut self) -> Text {
        let Text::Broken(broken) = self else {
            return Text::default();
        };
        if !broken.ends_high {
            return Text::default();
        }
        let end = broken.literal.split_off(broken.literal.len() - ESCAPE_LEN);
        let plain = std::mem::take(&mut broken.plain);
        *self = SurrogateText::new(plain, std::mem::take(&mut broken.literal)).into_text();
        SurrogateText::new(String::new(), end).into_text()
    }

    /// Reads a raw JSON string; `None` for any other JSON value.
    pub fn from_raw(raw: &Raw) -> Option<Text> {
        let inside = raw.as_str().strip_prefix('"')?.strip_suffix('"')?;
        Some(match raw.as_string() {
            Some(text) => Text::Plain(text),
            None => SurrogateText::new(String::new(), inside.to_string()).into_text(),
        })
    }
}

impl SurrogateText {
    fn new(plain: String, literal: String) -> SurrogateText {
        let mut lone = 0;
        let mut ends_high = false;
        for piece in LiteralParts(&literal) {
            lone += usize::from(matches!(piece, LiteralPart::Lone(_)));
            ends_high = matches!(piece, LiteralPart::Lone(0xD800..=0xDBFF));
        }
        SurrogateText {
            plain,
            literal,
            lone,
            ends_high,
        }
    }

    /// Returns plain text if no surrogate is lone.
    fn into_text(mut self) -> Text {
        if self.lone > 0 {
            Text::Broken(Box::new(self))
        } else {
            Text::Plain(self.take_decoded())
        }
    }

    fn after(&self, mut plain: String) -> SurrogateText {
        plain.push_str(&self.plain);
        SurrogateText {
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

    fn push_broken(&mut self, more: &SurrogateText) {
        self.push_plain(&more.plain);
        let meet = self.ends_high && starts_with_low_surrogate(&more.literal);
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

    /// Takes the decoded text, once no surrogate is lone.
    fn take_decoded(&mut self) -> String {
        let mut text = std::mem::take(&mut self.plain);
        text.push_str(&self.decode_lossy());
        text
    }

    /// The decoded literal, with every lone surrogate replaced by U+FFFD.
    fn decode_lossy(&self) -> String {
        let mut json = String::with_capacity(self.literal.len() + 2);
        json.push('"');
        for piece in LiteralParts(&self.literal) {
            match piece {
                LiteralPart::Lone(_) => json.push('\u{fffd}'),
                LiteralPart::Valid(text) => json.push_str(text),
            }
        }
        json.push('"');
        serde_json::from_str(&json).unwrap_or(json)
    }
}

// How much of the text is decoded makes no difference to equality.
impl PartialEq for SurrogateText {
    fn eq(&self, other: &SurrogateText) -> bool {
        self.to_json() == other.to_json()
    }
}

impl Eq for SurrogateText {}

impl Hash for SurrogateText {
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
const ESCAPE_LEN: usize = 6;

/// Splits the inside of a string literal at its lone surrogates.
struct LiteralParts<'a>(&'a str);

enum LiteralPart<'a> {
    Lone(u16),
    /// Ordinary text, surrogate pairs and other escapes.
    Valid(&'a str),
}

impl<'a> Iterator for LiteralParts<'a> {
    type Item = LiteralPart<'a>;

    fn next(&mut self) -> Option<LiteralPart<'a>> {
        let rest = self.0;
        if rest.is_empty() {
            return None;
        }
        let after = |len: usize| rest.get(len..).unwrap_or("");
        let len = match (
            leading_surrogate(rest),
            leading_surrogate(after(ESCAPE_LEN)),
        ) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * ESCAPE_LEN,
            (Some(unit), _) => {
                self.0 = after(ESCAPE_LEN);
                return Some(LiteralPart::Lone(unit));
            }
            _ if rest.starts_with('\\') => 2,
            _ => rest.find('\\').unwrap_or(rest.len()),
        };
        let (kept, rest) = rest.split_at_checked(len).unwrap_or((rest, ""));
        self.0 = rest;
        Some(LiteralPart::Valid(kept))
    }
}

/// Returns whether a literal begins with a starts_with_low_surrogate surrogate.
fn starts_with_low_surrogate(literal: &str) -> bool {
    matches!(leading_surrogate(literal), Some(0xDC00..=0xDFFF))
}

/// Returns the code unit of a `\uXXXX` escape at the start of `text`, if it is a surrogate.
fn leading_surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16)
        .ok()
        .filter(|unit| (0xD800..=0xDFFF).contains(unit))
}
