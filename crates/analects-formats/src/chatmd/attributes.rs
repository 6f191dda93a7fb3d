//! The attributes of a tag: `key="value"`, with entities, and times among the values. Nothing is refused: what cannot be read
//! is junk with a place. Linear in the line, whatever it holds.

use std::borrow::Cow;

use analects_core::Span;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::line::count;
use crate::msgfile::line::{is_blank, is_blank_line};

/// What a list of attributes ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttributeEnd {
    /// `>` or `/>`, and nothing but blanks up to the end of the line.
    Tag,
    /// `}`, likewise.
    Brace,
}

/// A piece of a list of attributes; spans count from the start of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttributeToken {
    /// A key and its value, still with entities.
    Attribute {
        key: Span,
        value: Span,
        /// All of it, quotes included.
        whole: Span,
    },
    /// Something that is no attribute.
    Junk(Span),
}

/// The attributes of a line, one by one.
#[derive(Debug)]
pub(super) struct AttributeScanner<'a> {
    line: &'a [u8],
    at: usize,
    ending: AttributeEnd,
    end: Option<usize>,
    /// The next quote that closes a value, for each kind: looked for once, however many values
    /// there are before it. `None` is not known yet, `Some(None)` there is no other.
    closers: [Option<Option<usize>>; 2],
}

impl<'a> AttributeScanner<'a> {
    /// The attributes from `at` on.
    pub(super) fn new(line: &'a [u8], at: usize, ending: AttributeEnd) -> AttributeScanner<'a> {
        AttributeScanner {
            line,
            at,
            ending,
            end: None,
            closers: [None; 2],
        }
    }

    /// Where the list ends, once it has been gone through: at the blanks before `/>`. `None` if the
    /// line does not end as it should.
    pub(super) fn end(&self) -> Option<usize> {
        self.end
    }

    fn skip_blanks(&self, at: usize) -> usize {
        at + count(&self.line[at..], is_blank)
    }

    /// Whether nothing but the ending follows.
    fn is_end(&self, at: usize) -> bool {
        let mut at = self.skip_blanks(at);
        let last = match self.ending {
            AttributeEnd::Tag => {
                if self.line.get(at) == Some(&b'/') {
                    at = self.skip_blanks(at + 1);
                }
                b'>'
            }
            AttributeEnd::Brace => b'}',
        };
        self.line.get(at) == Some(&last) && is_blank_line(&self.line[at + 1..])
    }

    /// The length of a key; 0 where there is none.
    fn key_length(&self, at: usize) -> usize {
        let starts = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':');
        let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || b"_:.-".contains(&byte);
        self.line
            .get(at)
            .filter(|byte| starts(byte))
            .map_or(0, |_| count(&self.line[at..], goes_on))
    }

    /// Whether a quote closes a value: the ending follows, or a blank and another attribute. Any other
    /// quote is part of the value, since not everybody escapes it.
    fn closes(&self, quote: usize) -> bool {
        if self.is_end(quote + 1) {
            return true;
        }
        let next = self.skip_blanks(quote + 1);
        let length = self.key_length(next);
        next > quote + 1 && length > 0 && self.line.get(next + length) == Some(&b'=')
    }

    fn closer(&mut self, from: usize, quote: u8) -> Option<usize> {
        let kind = usize::from(quote == b'\'');
        if let Some(known) = self.closers[kind]
            && known.is_none_or(|at| at >= from)
        {
            return known;
        }
        let mut quotes = memchr::memchr_iter(quote, &self.line[from..]).map(|at| from + at);
        let found = quotes.find(|at| self.closes(*at));
        self.closers[kind] = Some(found);
        found
    }

    fn attribute(&mut self, start: usize) -> Option<AttributeToken> {
        let key = Span::new(start, start + self.key_length(start));
        if key.is_empty() {
            return None;
        }
        if self.line.get(key.end) != Some(&b'=') {
            // A key alone, as in HTML.
            let ends = self.line.get(key.end).is_none_or(|byte| is_blank(*byte));
            let none = Span::new(key.end, key.end);
            let token = AttributeToken::Attribute {
                key,
                value: none,
                whole: key,
            };
            return (ends || self.is_end(key.end)).then_some(token);
        }
        let open = key.end + 1;
        let (value, end) = match self.line.get(open) {
            Some(quote @ (b'"' | b'\'')) => {
                let close = self.closer(open + 1, *quote)?;
                (Span::new(open + 1, close), close + 1)
            }
            _ => {
                let end = self.bare_end(open);
                (Span::new(open, end), end)
            }
        };
        Some(AttributeToken::Attribute {
            key,
            value,
            whole: Span::new(start, end),
        })
    }

    /// The end of a value without quotes.
    fn bare_end(&self, start: usize) -> usize {
        let length = count(&self.line[start..], |byte| !is_blank(byte));
        let word = &self.line[start..start + length];
        let ending = match self.ending {
            AttributeEnd::Tag if word.ends_with(b"/>") => 2,
            AttributeEnd::Tag if word.ends_with(b">") => 1,
            AttributeEnd::Brace if word.ends_with(b"}") => 1,
            _ => 0,
        };
        let end = start + length - ending;
        if ending > 0 && self.is_end(end) {
            end
        } else {
            start + length
        }
    }

    /// Skips what is no attribute: to the next blank, or to the ending.
    fn junk(&mut self, start: usize) -> AttributeToken {
        let mut end = start + count(&self.line[start..], |byte| !is_blank(byte)).max(1);
        let key = self.key_length(start);
        let after = self.line.get(start + key..).unwrap_or_default();
        if key > 0 && (after.starts_with(b"=\"") || after.starts_with(b"='")) {
            // A value that nothing closes: what follows cannot be told from it.
            end = self.line.len();
        }
        let blanks = self.line[..end]
            .iter()
            .rev()
            .take_while(|byte| is_blank(**byte))
            .count();
        let whole = &self.line[..end - blanks];
        let ending = match self.ending {
            AttributeEnd::Tag if whole.ends_with(b"/>") => 2,
            AttributeEnd::Tag if whole.ends_with(b">") => 1,
            AttributeEnd::Brace if whole.ends_with(b"}") => 1,
            _ => 0,
        };
        let cut = whole.len() - ending;
        if ending > 0 && cut > start && self.is_end(cut) {
            end = cut;
        }
        AttributeToken::Junk(Span::new(start, end))
    }
}

impl Iterator for &mut AttributeScanner<'_> {
    type Item = AttributeToken;

    fn next(&mut self) -> Option<AttributeToken> {
        if self.end.is_some() {
            return None;
        }
        if self.is_end(self.at) {
            self.end = Some(self.at);
            return None;
        }
        let start = self.skip_blanks(self.at);
        if start >= self.line.len() {
            return None;
        }
        // A tag that ends before its line does is none: somebody wrote HTML.
        if self.ending == AttributeEnd::Tag && self.line[start] == b'>' {
            self.at = self.line.len();
            return None;
        }
        let token = self.attribute(start).unwrap_or_else(|| self.junk(start));
        self.at = match token {
            AttributeToken::Attribute { whole, .. } | AttributeToken::Junk(whole) => whole.end,
        };
        Some(token)
    }
}

/// A value as it is meant: `&quot;`, `&amp;`, `&lt;`, `&gt;`, `&apos;` and numbers such as `&#10;` stand
/// for characters. Any other `&` is itself.
pub(super) fn decode_entities(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match entity(rest) {
            Some((c, length)) => {
                out.push(c);
                length
            }
            None => {
                out.push('&');
                1
            }
        };
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character of an entity at the start of a text, and the entity's length.
fn entity(text: &str) -> Option<(char, usize)> {
    /// `&#x10ffff;` is the longest that means anything.
    const MAX: usize = 10;
    let end = text.bytes().take(MAX).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let c = match name {
        "quot" => '"',
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let (digits, radix) = match number.strip_prefix(['x', 'X']) {
                Some(digits) => (digits, 16),
                None => (number, 10),
            };
            let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            char::from_u32(u32::from_str_radix(digits, radix).ok().filter(|_| plain)?)?
        }
    };
    Some((c, end + 1))
}

/// A value as it can stand in double quotes on one line.
pub(super) fn encode_entities(value: &str) -> Cow<'_, str> {
    let special = ['&', '"', '<', '>', '\n', '\r'];
    if !value.contains(special) {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len() + 8);
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Adds ` key="value"`.
pub(super) fn write_attribute(out: &mut String, key: &str, value: &str) {
    out.push(' ');
    out.push_str(key);
    out.push_str("=\"");
    out.push_str(&encode_entities(value));
    out.push('"');
}

/// A value as it can stand without quotes.
pub(super) fn bare_value(value: &str) -> String {
    let mut out = encode_entities(value).into_owned();
    for (c, entity) in [
        (" ", "&#32;"),
        ("\t", "&#9;"),
        ("'", "&#39;"),
        ("/", "&#47;"),
        ("}", "&#125;"),
    ] {
        out = out.replace(c, entity);
    }
    out
}

/// Whether a key can be written.
pub(super) fn is_key(key: &str) -> bool {
    let line = format!("{key}=");
    let attributes = AttributeScanner::new(line.as_bytes(), 0, AttributeEnd::Tag);
    !key.is_empty() && attributes.key_length(0) == key.len()
}

/// Reads a time, as RFC 3339 or as the plugin writes it, `2025-05-07 14:01:32`. One without a zone is of `zone`.
pub(super) fn read_time(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    // A day alone is no time.
    let local = text
        .parse::<DateTime>()
        .ok()
        .filter(|_| text.contains(':'))?;
    zone.to_timestamp(local).ok()
}

/// Writes a time without its zone, to the second.
pub(super) fn write_local_time(time: Timestamp, zone: &TimeZone) -> String {
    zone.to_datetime(time)
        .strftime("%Y-%m-%d %H:%M:%S")
        .to_string()
}
