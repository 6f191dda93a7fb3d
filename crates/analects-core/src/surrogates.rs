//! Halves of surrogate pairs in JSON escapes. Strings of the core may hold them; the APIs refuse them.

use crate::Raw;

/// The length of an escape such as `\ud83d`.
const ESCAPE_LEN: usize = 6;

/// Returns the same JSON with U+FFFD in place of every half of a surrogate pair.
///
/// ```
/// use analects_core::{Raw, replace_lone_surrogates};
///
/// let broken = Raw::parse(r#"{"text":"half \ud83d, whole \ud83d\ude00"}"#).unwrap();
/// let sent = replace_lone_surrogates(&broken);
/// assert_eq!(sent.as_str(), r#"{"text":"half \ufffd, whole \ud83d\ude00"}"#);
/// ```
pub fn replace_lone_surrogates(raw: &Raw) -> Raw {
    let json = raw.as_str();
    if !json.contains("\\u") {
        return raw.clone();
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = copy_escape(&rest[at..], &mut out);
    }
    out.push_str(rest);
    Raw::parse(&out).unwrap_or_else(|_| raw.clone())
}

/// Copies the escape, or the pair of escapes, at the start of `text` to `out`. Returns what
/// follows.
fn copy_escape<'a>(text: &'a str, out: &mut String) -> &'a str {
    let Some(first) = surrogate_at_start(text) else {
        return copy_bytes(text, 2, out);
    };
    let rest = &text[ESCAPE_LEN..];
    let second = surrogate_at_start(rest);
    if is_high(first) && second.is_some_and(|second| !is_high(second)) {
        return copy_bytes(text, 2 * ESCAPE_LEN, out);
    }
    out.push_str("\\ufffd");
    rest
}

/// Copies the first bytes of `text` to `out`. Returns the rest.
fn copy_bytes<'a>(text: &'a str, len: usize, out: &mut String) -> &'a str {
    // A valid escape is never cut off; what does not split stays as it is.
    let (copied, rest) = text.split_at_checked(len).unwrap_or((text, ""));
    out.push_str(copied);
    rest
}

/// The code unit of the escape at the start of `text`, if it is half of a surrogate pair.
fn surrogate_at_start(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (0xD800..=0xDFFF).contains(&unit).then_some(unit)
}

/// Whether a surrogate is the first half of a pair.
fn is_high(surrogate: u16) -> bool {
    surrogate < 0xDC00
}
