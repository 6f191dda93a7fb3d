//! Text as YAML on one line: plain where every reader of YAML takes it for text, else in quotes.

use std::fmt::Write as _;

/// Words that some version of YAML, or some reader of it, takes for something else than text.
const RESERVED: [&str; 13] =
    ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf", "infinity", "none"];

/// Writes a text so that it is read back as that text.
pub(crate) fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_string() } else { quoted(text) }
}

/// Whether a text may stand without quotes. What starts with a digit may be a number, a date or a
/// time to somebody, so it may not.
pub(super) fn is_plain(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
    starts
        && text.bytes().all(allowed)
        && !RESERVED.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether a character must be escaped: YAML forbids it, or takes it for the end of a line or for a
/// byte-order mark.
pub(super) fn must_be_escaped(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// In double quotes, with the escapes that JSON and YAML share.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if must_be_escaped(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
