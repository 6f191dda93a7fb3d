//! The attributes of a tag: `key="value"` with entities, some of which are times. Nothing is refused: what cannot be read
//! is junk with a position. Takes linear time for any line.
//!
//! The grammar is that of HTML, with two exceptions for tags that were written by hand or by other programs:
//!
//! - A quote closes a value only if the ending or another attribute follows. So `title="the "best" one" />` has one value.
//! - A value that nothing closes is junk up to the end of the line, and the tag is still a tag if it ends properly.

use std::borrow::Cow;

use analects_core::Span;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::line::count;
use crate::msgfile::line::{is_blank, is_blank_line};

/// How a list of attributes ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttributeEnd {
    /// With `>` or `/>`, followed by nothing but blanks.
    Tag,
    /// With `}`, followed by nothing but blanks.
    Brace,
}

/// A part of a list of attributes. Spans are relative to the start of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttributeToken {
    /// A key and its value, still with entities.
    Attribute {
        key: Span,
        value: Span,
        /// The whole attribute, quotes included.
        whole: Span,
    },
    /// Text that is not an attribute.
    Junk(Span),
}

/// Scans the attributes of a line, as an iterator.
#[derive(Debug)]
pub(super) struct AttributeScanner<'a> {
    line: &'a [u8],
    /// Where the next token starts.
    at: usize,
    /// What must follow the last attribute.
    ending: AttributeEnd,
    /// Where the list ends, once that is known.
    end: Option<usize>,
    /// The next `"` and the next `'` that can close a value.
    closers: [QuoteSearch; 2],
}

/// The search for a quote. Its result is kept, so that the line is searched once, however many values it has.
#[derive(Debug, Clone, Copy)]
enum QuoteSearch {
    /// No value has asked for it yet.
    NotStarted,
    /// The offset of the quote. It is outdated for values that start behind it.
    Found(usize),
    /// The rest of the line has no such quote.
    NotFound,
}

impl<'a> AttributeScanner<'a> {
    /// Starts at offset `at` of the line.
    pub(super) fn new(line: &'a [u8], at: usize, ending: AttributeEnd) -> AttributeScanner<'a> {
        AttributeScanner {
            line,
            at,
            ending,
            end: None,
            closers: [QuoteSearch::NotStarted; 2],
        }
    }

    /// Returns where the list ends, at the blanks before `/>`. `None` before the last attribute was read, and for a line
    /// that does not end as it should.
    pub(super) fn end(&self) -> Option<usize> {
        self.end
    }

    /// Returns the offset of the next byte that is not a blank.
    fn skip_blanks(&self, at: usize) -> usize {
        at + count(&self.line[at..], is_blank)
    }

    /// Returns whether nothing but the ending follows.
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

    /// Returns the length of the key at an offset; 0 if there is none.
    fn key_length(&self, at: usize) -> usize {
        match self.line.get(at) {
            Some(byte) if is_key_start(*byte) => count(&self.line[at..], is_key_byte),
            _ => 0,
        }
    }

    /// Returns whether a quote closes a value: the ending follows, or a blank and another attribute. Any other quote is
    /// part of the value, since not every writer escapes it.
    fn closes(&self, quote: usize) -> bool {
        if self.is_end(quote + 1) {
            return true;
        }
        let next = self.skip_blanks(quote + 1);
        let length = self.key_length(next);
        next > quote + 1 && length > 0 && self.line.get(next + length) == Some(&b'=')
    }

    /// Finds the quote that closes a value which starts at `from`.
    fn find_closer(&mut self, from: usize, quote: u8) -> Option<usize> {
        let kind = usize::from(quote == b'\'');
        match self.closers[kind] {
            QuoteSearch::Found(at) if at >= from => return Some(at),
            QuoteSearch::NotFound => return None,
            QuoteSearch::Found(_) | QuoteSearch::NotStarted => {}
        }
        let mut quotes = memchr::memchr_iter(quote, &self.line[from..]).map(|at| from + at);
        let found = quotes.find(|at| self.closes(*at));
        self.closers[kind] = found.map_or(QuoteSearch::NotFound, QuoteSearch::Found);
        found
    }

    /// Reads an attribute; `None` if there is none.
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
                let close = self.find_closer(open + 1, *quote)?;
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

    /// Returns the length of the ending that a text ends with; 0 if there is none.
    fn ending_length(&self, text: &[u8]) -> usize {
        match self.ending {
            AttributeEnd::Tag if text.ends_with(b"/>") => 2,
            AttributeEnd::Tag if text.ends_with(b">") => 1,
            AttributeEnd::Brace if text.ends_with(b"}") => 1,
            _ => 0,
        }
    }

    /// Returns the end of a value without quotes.
    fn bare_end(&self, start: usize) -> usize {
        let length = count(&self.line[start..], |byte| !is_blank(byte));
        let ending = self.ending_length(&self.line[start..start + length]);
        let end = start + length - ending;
        if ending > 0 && self.is_end(end) {
            end
        } else {
            start + length
        }
    }

    /// Skips text that is not an attribute, up to the next blank or the ending.
    fn junk(&mut self, start: usize) -> AttributeToken {
        let mut end = start + count(&self.line[start..], |byte| !is_blank(byte)).max(1);
        let key = self.key_length(start);
        let after = self.line.get(start + key..).unwrap_or_default();
        if key > 0 && (after.starts_with(b"=\"") || after.starts_with(b"='")) {
            // Nothing closes the value, so it takes the rest of the line.
            end = self.line.len();
        }
        let trimmed = trim_blanks_end(&self.line[..end]);
        let ending = self.ending_length(trimmed);
        let cut = trimmed.len() - ending;
        if ending > 0 && cut > start && self.is_end(cut) {
            end = cut;
        }
        AttributeToken::Junk(Span::new(start, end))
    }
}

/// Keys start like names in XML.
fn is_key_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':')
}

/// Returns whether a byte may follow the start of a key.
fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_:.-".contains(&byte)
}

/// Removes blanks at the end. Other white space is part of a value.
fn trim_blanks_end(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., last] = text
        && is_blank(*last)
    {
        text = rest;
    }
    text
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
        // A tag that ends before its line is HTML.
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

/// Decodes the entities `&quot;`, `&amp;`, `&lt;`, `&gt;`, `&apos;` and numbers such as `&#10;`. Any other `&` stays.
pub(super) fn decode_entities(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (c, length) = entity(rest).unwrap_or(('&', 1));
        out.push(c);
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The longest entity: `&#x10ffff;`.
const MAX_ENTITY: usize = 10;

/// Returns the character of the entity at the start of a text, and the entity's length.
fn entity(text: &str) -> Option<(char, usize)> {
    let end = text
        .bytes()
        .take(MAX_ENTITY)
        .position(|byte| byte == b';')?;
    let c = match text.get(1..end)? {
        "quot" => '"',
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "apos" => '\'',
        name => numeric_entity(name)?,
    };
    Some((c, end + 1))
}

/// Returns the character of `#10` or `#xA`.
fn numeric_entity(name: &str) -> Option<char> {
    let number = name.strip_prefix('#')?;
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    // `from_str_radix` would allow a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    char::from_u32(u32::from_str_radix(digits, radix).ok()?)
}

/// Encodes a value so that it can be in double quotes on one line.
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

/// Appends ` key="value"`.
pub(super) fn write_attribute(out: &mut String, key: &str, value: &str) {
    out.push(' ');
    out.push_str(key);
    out.push_str("=\"");
    out.push_str(&encode_entities(value));
    out.push('"');
}

/// Encodes a value so that it needs no quotes.
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

/// Returns whether a text can be the key of an attribute.
pub(super) fn is_key(key: &str) -> bool {
    let line = format!("{key}=");
    let attributes = AttributeScanner::new(line.as_bytes(), 0, AttributeEnd::Tag);
    !key.is_empty() && attributes.key_length(0) == key.len()
}

/// Reads a time in the form of RFC 3339 or of the plugin, `2025-05-07 14:01:32`. A time without a zone is one of `zone`.
pub(super) fn read_time(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    // A date alone is not a time.
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
