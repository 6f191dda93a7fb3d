//! The syntax of the metadata line: `[^id]: [type] key="value" key2=bare [flag=1]`. It is split into tokens here, and
//! written; what a token means is decided elsewhere.

use std::borrow::Cow;

use analects_core::Span;
use memchr::{memchr, memchr2};

use super::line::is_blank;

/// A type word is shorter than this, in bytes.
pub(super) const MAX_WORD: usize = 256;

/// A part of a metadata line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetaToken {
    /// The type word, without its brackets.
    Word(Span),
    /// `key=value`, with or without brackets around it.
    Attribute(AttributeSpans),
    /// What is neither, such as a value without its closing quote.
    Junk(Span),
}

/// Where the parts of an attribute are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttributeSpans {
    /// The whole attribute, including brackets and quotes.
    pub(super) token: Span,
    pub(super) key: Span,
    /// The value without its quotes, still with its escapes.
    pub(super) value: Span,
    /// Whether the value has escapes.
    pub(super) is_escaped: bool,
}

impl AttributeSpans {
    /// The value with its escapes resolved.
    pub(super) fn text(self, source: &[u8]) -> Cow<'_, str> {
        let text = String::from_utf8_lossy(self.value.of(source));
        if self.is_escaped {
            Cow::Owned(unescape(&text))
        } else {
            text
        }
    }
}

/// The tokens of a span: what follows `[^id]:` in its line, or a line that continues it, without the line end.
pub(super) fn tokens(source: &[u8], line: Span) -> Tokens<'_> {
    let source = source.get(..line.end).unwrap_or(source);
    Tokens {
        source,
        at: line.start,
        may_be_word: true,
    }
}

/// Iterates over the tokens of a line. No input makes it fail: what cannot be read is junk up to the next blank.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    /// The source up to the end of the line.
    source: &'a [u8],
    at: usize,
    /// Whether no type word and no attribute has come yet.
    may_be_word: bool,
}

impl Iterator for Tokens<'_> {
    type Item = MetaToken;

    fn next(&mut self) -> Option<MetaToken> {
        let blanks = self
            .source
            .get(self.at..)?
            .iter()
            .take_while(|byte| is_blank(**byte));
        self.at += blanks.count();
        let first = *self.source.get(self.at)?;
        let token = match first {
            b'[' => self.bracketed(),
            _ => self.plain_attribute(),
        };
        let token = token.unwrap_or_else(|| self.junk());
        self.at = match token {
            MetaToken::Word(word) => word.end + 1,
            MetaToken::Attribute(attribute) => attribute.token.end,
            MetaToken::Junk(junk) => junk.end,
        };
        self.may_be_word &= matches!(token, MetaToken::Junk(_));
        Some(token)
    }
}

impl Tokens<'_> {
    /// A token that starts with a bracket: `[type]`, or `[key=value]`, which means `key=value`.
    fn bracketed(&self) -> Option<MetaToken> {
        let inner = self.at + 1;
        if let Some(mut attribute) = attribute(self.source, inner, Some(b']'))
            && self.source.get(attribute.token.end) == Some(&b']')
        {
            attribute.token = Span::new(self.at, attribute.token.end + 1);
            return Some(MetaToken::Attribute(attribute));
        }
        if self.may_be_word {
            self.word(inner).map(MetaToken::Word)
        } else {
            None
        }
    }

    /// A type word. It is short; looking for its end in the whole line could take quadratic time.
    fn word(&self, start: usize) -> Option<Span> {
        let rest = self.source.get(start..)?;
        let end = rest.iter().take(MAX_WORD).position(|byte| *byte == b']')?;
        let word = &rest[..end];
        let is_word = !word.is_empty()
            && !word.iter().any(|byte| matches!(byte, b'[' | b'='))
            && std::str::from_utf8(word).is_ok();
        is_word.then(|| Span::new(start, start + end))
    }

    /// An attribute without brackets, which must end at a blank.
    fn plain_attribute(&self) -> Option<MetaToken> {
        let attribute = attribute(self.source, self.at, None)?;
        let next = self.source.get(attribute.token.end);
        next.is_none_or(|byte| is_blank(*byte))
            .then_some(MetaToken::Attribute(attribute))
    }

    /// Everything up to the next blank.
    fn junk(&self) -> MetaToken {
        let rest = &self.source[self.at..];
        let length = rest
            .iter()
            .position(|byte| is_blank(*byte))
            .unwrap_or(rest.len());
        MetaToken::Junk(Span::new(self.at, self.at + length))
    }
}

/// Reads `key=value` at an offset; a bare value ends at a blank or at `stop`.
fn attribute(source: &[u8], start: usize, stop: Option<u8>) -> Option<AttributeSpans> {
    let rest = source.get(start..)?;
    let key_len = rest.iter().take_while(|byte| is_key_byte(**byte)).count();
    let is_key = rest[0..key_len]
        .first()
        .is_some_and(|byte| is_key_start(*byte));
    if !is_key || key_len > MAX_KEY || rest.get(key_len) != Some(&b'=') {
        return None;
    }
    let key = Span::new(start, start + key_len);
    let value = value_at(source, key.end + 1, stop)?;
    Some(AttributeSpans {
        token: Span::new(start, value.end),
        key,
        value: value.inner,
        is_escaped: value.is_escaped,
    })
}

/// A value, and where it ends.
struct ValueSpans {
    /// The value without its quotes.
    inner: Span,
    /// The end, after the closing quote.
    end: usize,
    is_escaped: bool,
}

/// Reads a value in double or single quotes, or a bare one up to a blank or `stop`. `None` if a quote is not closed.
fn value_at(source: &[u8], at: usize, stop: Option<u8>) -> Option<ValueSpans> {
    match source.get(at) {
        Some(b'"') => {
            let (end, is_escaped) = quoted_end(source, at + 1)?;
            Some(ValueSpans {
                inner: Span::new(at + 1, end),
                end: end + 1,
                is_escaped,
            })
        }
        Some(b'\'') => {
            let end = at + 1 + memchr(b'\'', source.get(at + 1..)?)?;
            Some(ValueSpans {
                inner: Span::new(at + 1, end),
                end: end + 1,
                is_escaped: false,
            })
        }
        _ => {
            let rest = source.get(at..)?;
            let is_end = |byte: &u8| is_blank(*byte) || Some(*byte) == stop;
            let end = at + rest.iter().position(is_end).unwrap_or(rest.len());
            Some(ValueSpans {
                inner: Span::new(at, end),
                end,
                is_escaped: false,
            })
        }
    }
}

/// The longest key, in bytes.
const MAX_KEY: usize = u16::MAX as usize;

fn is_key_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// Where the closing quote of a double-quoted value is, and whether the value has escapes.
fn quoted_end(source: &[u8], start: usize) -> Option<(usize, bool)> {
    let mut at = start;
    let mut is_escaped = false;
    loop {
        at += memchr2(b'"', b'\\', source.get(at..)?)?;
        if source[at] == b'"' {
            return Some((at, is_escaped));
        }
        is_escaped = true;
        match source.get(at + 1)? {
            b'u' => at += 2 + unicode(source.get(at + 2..)?)?.1,
            _ => at += 2,
        }
    }
}

/// `{hex}` after `\u`, one to six digits: the character, and how many bytes it takes.
fn unicode(text: &[u8]) -> Option<(char, usize)> {
    let rest = text.strip_prefix(b"{")?;
    let length = rest
        .iter()
        .take(6)
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let digits = std::str::from_utf8(&rest[..length]).ok()?;
    let c = u32::from_str_radix(digits, 16)
        .ok()
        .and_then(char::from_u32)?;
    (rest.get(length) == Some(&b'}')).then_some((c, length + 2))
}

/// Resolves the escapes of a double-quoted value. A backslash before any other character is text.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escaped)) = rest.split_once('\\') {
        out.push_str(before);
        let mut chars = escaped.chars();
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                if let Some((c, length)) = unicode(chars.as_str().as_bytes()) {
                    out.push(c);
                    chars = chars.as_str()[length..].chars();
                }
            }
            Some(c @ ('"' | '\\')) => out.push(c),
            // Not one of our escapes, so a person typed a backslash.
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out
}

/// Writes ` key="value"`. Numbers, durations such as `2s`, and counts such as `1/2` need no quotes.
pub(super) fn write_attribute(out: &mut String, key: &str, value: &str) {
    out.push(' ');
    out.push_str(key);
    out.push('=');
    if is_number(value) {
        out.push_str(value);
    } else {
        write_quoted(out, value);
    }
}

fn is_number(value: &str) -> bool {
    let digits = value.strip_suffix('s').unwrap_or(value);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'/'))
}

fn write_quoted(out: &mut String, value: &str) {
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}
