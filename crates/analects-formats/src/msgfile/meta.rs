//! The metadata line: `[^id]: [type] key="value" key2=bare [flag=1]`, read and written.

use analects_core::Span;
use memchr::memchr2;

/// A type word is shorter than this, in bytes.
pub(super) const MAX_WORD: usize = 256;

/// What a metadata line says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meta {
    /// The line, and the lines that continue it, line ends included.
    pub span: Span,
    /// The type word, such as `markdown` or an agent's name.
    pub type_word: Option<String>,
    /// The attributes in order, repeated ones included.
    pub attributes: Vec<(String, String)>,
    /// What could not be read as either, such as a value without its closing quote.
    pub junk: Vec<String>,
}

impl Meta {
    /// Reads what follows `[^id]:`, without a line end.
    pub(super) fn parse(text: &str) -> Meta {
        let mut meta = Meta::default();
        let mut rest = skip_blanks(text);
        while !rest.is_empty() {
            rest = skip_blanks(meta.take_token(rest));
        }
        meta
    }

    /// The parts of what follows `[^id]:`, each read by itself, and where they are.
    pub(super) fn tokens(text: &str) -> impl Iterator<Item = (Span, Meta)> {
        let mut meta = Meta::default();
        let mut rest = skip_blanks(text);
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let start = text.len() - rest.len();
            let seen = (meta.attributes.len(), meta.type_word.is_some());
            let after = meta.take_token(rest);
            let token = Meta {
                type_word: meta.type_word.clone().filter(|_| !seen.1),
                attributes: meta.attributes[seen.0..].to_vec(),
                ..Meta::default()
            };
            let end = text.len() - after.len();
            rest = skip_blanks(after);
            Some((Span::new(start, end), token))
        })
    }

    /// The value of an attribute; of a repeated one, the last.
    pub fn get(&self, key: &str) -> Option<&str> {
        let mut found = self.attributes.iter().rev().filter(|(name, _)| name == key);
        found.next().map(|(_, value)| value.as_str())
    }

    /// Whether it holds attributes and nothing else, as a line that continues another must.
    pub(super) fn is_only_attributes(&self) -> bool {
        self.type_word.is_none() && self.junk.is_empty() && !self.attributes.is_empty()
    }

    /// Takes one token off the front; what remains is shorter.
    fn take_token<'a>(&mut self, text: &'a str) -> &'a str {
        if let Some(rest) = self.take_bracketed(text).or_else(|| self.take_attribute(text)) {
            return rest;
        }
        let end = text.find([' ', '\t']).unwrap_or(text.len());
        self.junk.push(text[..end].to_string());
        &text[end..]
    }

    /// `[type]`, or `[key=value]`, which means `key=value`.
    fn take_bracketed<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let inner = text.strip_prefix('[')?;
        if let Some((key, value, rest)) = attribute(inner, "]")
            && let Some(rest) = rest.strip_prefix(']')
        {
            self.attributes.push((key, value));
            return Some(rest);
        }
        // A type word is short; looking for its end through the whole line would cost too much.
        let end = inner.bytes().take(MAX_WORD).position(|byte| byte == b']')?;
        let (word, rest) = (&inner[..end], &inner[end + 1..]);
        let is_first = self.type_word.is_none() && self.attributes.is_empty();
        if !is_first || word.is_empty() || word.contains(['[', '=']) {
            return None;
        }
        self.type_word = Some(word.to_string());
        Some(rest)
    }

    fn take_attribute<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let (key, value, rest) = attribute(text, "")?;
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return None;
        }
        self.attributes.push((key, value));
        Some(rest)
    }
}

fn skip_blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

/// `key=value` at the start of `text`; a bare value ends at a blank or at one of `stops`.
fn attribute<'a>(text: &'a str, stops: &str) -> Option<(String, String, &'a str)> {
    let end = text.bytes().position(|byte| !is_key_byte(byte)).unwrap_or(text.len());
    let (key, rest) = (&text[..end], text[end..].strip_prefix('=')?);
    if !key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    let (value, rest) = match rest.chars().next() {
        Some('"') => quoted(&rest[1..])?,
        Some('\'') => rest[1..].split_once('\'').map(|(value, rest)| (value.to_string(), rest))?,
        _ => {
            let is_end = |c: char| c == ' ' || c == '\t' || stops.contains(c);
            let end = rest.find(is_end).unwrap_or(rest.len());
            (rest[..end].to_string(), &rest[end..])
        }
    };
    Some((key.to_string(), value, rest))
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// The rest of a double-quoted value, escapes resolved; `None` without a closing quote.
fn quoted(text: &str) -> Option<(String, &str)> {
    // Most values have no escapes.
    let first = memchr2(b'"', b'\\', text.as_bytes())?;
    let mut value = text[..first].to_string();
    if text[first..].starts_with('"') {
        return Some((value, &text[first + 1..]));
    }
    let text = &text[first..];
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                'u' => value.push(unicode(&mut chars)?),
                c @ ('"' | '\\') => value.push(c),
                // Not an escape of ours: a person's backslash stays.
                c => value.extend(['\\', c]),
            },
            c => value.push(c),
        }
    }
    None
}

/// `{hex}` after `\u`: one to six digits.
fn unicode(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    let rest = chars.as_str().strip_prefix('{')?;
    let length = rest.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
    let c = u32::from_str_radix(&rest[..length], 16).ok().and_then(char::from_u32)?;
    rest[length..].strip_prefix('}')?;
    chars.nth(length + 1)?;
    Some(c)
}

/// Writes ` key="value"`; plain numbers, and two with a slash between them, stay bare.
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
        && digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'/'))
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
