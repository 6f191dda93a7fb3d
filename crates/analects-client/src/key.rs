//! Keys, which never reach a screen, a log or a file.

use std::fmt;

use analects_core::ApiError;
use memchr::{memchr2, memmem};

/// A provider's key. It prints as `[key]` and cannot be serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Makes a key from text, without the blanks and line ends around it that a file may have.
    /// Returns `None` if nothing is left.
    pub fn new(text: &str) -> Option<Key> {
        let text = text.trim();
        (!text.is_empty()).then(|| Key(text.to_string()))
    }

    /// The key itself, for the header that carries it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Removes the key from an error, in case the server quotes it.
    pub(crate) fn hide_in(&self, error: &mut ApiError) {
        error.message = self.hide(&error.message);
        error.error_type = error.error_type.as_deref().map(|text| self.hide(text));
        error.request_id = error.request_id.as_deref().map(|text| self.hide(text));
    }

    /// Removes the key from a text.
    pub(crate) fn hide(&self, text: &str) -> String {
        if !self.is_secret() {
            return text.to_string();
        }
        let RedactedBytes { mut out, held } = self.remove_from(text.as_bytes());
        out.extend_from_slice(&text.as_bytes()[held..]);
        // The rest consists of whole characters, since a key is ASCII, or stands there as it is.
        String::from_utf8_lossy(&out).into_owned()
    }

    /// A word as short as "none" is no secret, and messages may contain it.
    fn is_secret(&self) -> bool {
        self.0.len() >= MIN_SECRET_LENGTH
    }

    /// Whether the key may stand in these bytes, or begin at their end. This is a quick look; only
    /// its no is certain. A key begins with its first two characters, or with an escape for one of
    /// them.
    fn may_be_in(&self, bytes: &[u8]) -> bool {
        let key = self.0.as_bytes();
        let has_short_escapes = key.iter().any(|byte| b"/\"\\".contains(byte));
        let escape: &[u8] = if has_short_escapes { b"\\" } else { b"\\u" };
        let last = bytes.last().copied();
        if last == Some(key[0]) || last == Some(ESCAPE) {
            return true;
        }
        let beginnings: [&[u8]; 3] = [&key[..2], &[key[0], ESCAPE], escape];
        let mut beginnings = beginnings.iter();
        beginnings.any(|beginning| memmem::find(bytes, beginning).is_some())
    }

    /// Replaces the key everywhere, in whatever spelling.
    fn remove_from(&self, bytes: &[u8]) -> RedactedBytes {
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        let first = self.0.as_bytes()[0];
        while let Some(offset) = memchr2(first, ESCAPE, &bytes[at..]) {
            let candidate = at + offset;
            out.extend_from_slice(&bytes[at..candidate]);
            at = candidate;
            match self.match_at(&bytes[candidate..]) {
                KeyMatch::Whole(length) => {
                    out.extend_from_slice(REPLACEMENT.as_bytes());
                    at += length;
                }
                KeyMatch::Partial(_) => return RedactedBytes { out, held: at },
                KeyMatch::No => {
                    out.push(bytes[at]);
                    at += 1;
                }
            }
        }
        out.extend_from_slice(&bytes[at..]);
        RedactedBytes {
            out,
            held: bytes.len(),
        }
    }

    /// Whether bytes begin with the key. Any character may be escaped as in JSON, several times in
    /// JSON within JSON.
    fn match_at(&self, bytes: &[u8]) -> KeyMatch {
        let mut at = 0;
        for (count, byte) in self.0.bytes().enumerate() {
            let rest = &bytes[at..];
            let escapes = rest
                .iter()
                .take(MAX_ESCAPES)
                .take_while(|byte| **byte == ESCAPE);
            let escapes = escapes.count();
            let spelling = &rest[escapes..];
            let length = match spelling.first() {
                // In the key itself, too, it may stand once or escaped.
                _ if byte == ESCAPE && escapes > 0 => 0,
                None => return KeyMatch::Partial(count),
                Some(_) if escapes > 0 && begins_with_code(spelling, byte) => {
                    match spelling.len() {
                        0..CODE_LENGTH => return KeyMatch::Partial(count),
                        _ => CODE_LENGTH,
                    }
                }
                Some(first) if *first == byte => 1,
                Some(_) => return KeyMatch::No,
            };
            at += escapes + length;
        }
        KeyMatch::Whole(at)
    }
}

/// The length of `u0073`.
const CODE_LENGTH: usize = 5;

/// Whether bytes begin with an escape such as `u0073` for a byte, or are the beginning of one.
fn begins_with_code(bytes: &[u8], byte: u8) -> bool {
    let digit = |number: u8| b"0123456789abcdef"[usize::from(number)];
    let code: [u8; CODE_LENGTH] = [b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)];
    let length = bytes.len().min(CODE_LENGTH);
    bytes[..length].eq_ignore_ascii_case(&code[..length])
}

/// Bytes without keys.
struct RedactedBytes {
    out: Vec<u8>,
    /// The position at which a key may have begun; the end if there is none.
    held: usize,
}

/// Whether bytes begin with the key.
enum KeyMatch {
    No,
    /// They end after this many of its characters.
    Partial(usize),
    /// They do, with a key of this many bytes.
    Whole(usize),
}

/// What replaces a key.
const REPLACEMENT: &str = "[key]";

/// Shorter keys are no secrets.
const MIN_SECRET_LENGTH: usize = 8;

/// The start of an escape in JSON.
const ESCAPE: u8 = b'\\';

/// How many of them may stand before a character: JSON in JSON in JSON has seven.
const MAX_ESCAPES: usize = 8;

/// Removes a key from bytes that arrive in pieces, wherever they are cut. They need not be text.
#[derive(Debug)]
pub(crate) struct KeyRemover {
    key: Key,
    /// The end of the last piece, if a key may have begun there.
    held: Vec<u8>,
}

impl KeyRemover {
    /// Returns `None` for a key that is no secret.
    pub(crate) fn new(key: &Key) -> Option<KeyRemover> {
        key.is_secret().then(|| KeyRemover {
            key: key.clone(),
            held: Vec::new(),
        })
    }

    /// Takes a piece and returns as much as certainly contains no key.
    pub(crate) fn push(&mut self, piece: Vec<u8>) -> Vec<u8> {
        let mut bytes = piece;
        if !self.held.is_empty() {
            bytes = [std::mem::take(&mut self.held), bytes].concat();
        }
        if !self.key.may_be_in(&bytes) {
            return bytes;
        }
        let RedactedBytes { out, held } = self.key.remove_from(&bytes);
        self.held = bytes.split_off(held);
        out
    }

    /// Returns what is held back, once no more bytes come. A part of the key that is long enough to
    /// be a secret is hidden.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        match self.key.match_at(&held) {
            KeyMatch::Partial(count) if count >= MIN_SECRET_LENGTH => REPLACEMENT.into(),
            _ => held,
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

#[cfg(test)]
mod tests {
    //! A key is found in pieces of any size.

    use super::*;

    #[test]
    fn a_key_is_removed_however_the_bytes_are_cut() {
        let key = Key::new("sk-sk-sk-secret").unwrap();
        let text = "a sk-sk-sk-sk-secret b sk-sk-sk-secretsk-sk-sk-secret sk-sk c sk";
        for size in 1..=text.len() {
            let mut remover = KeyRemover::new(&key).unwrap();
            let pieces = text
                .as_bytes()
                .chunks(size)
                .map(|piece| remover.push(piece.to_vec()));
            let mut out = pieces.collect::<Vec<_>>().concat();
            out.extend(remover.finish());
            let out = String::from_utf8(out).unwrap();
            assert_eq!(
                out, "a sk-[key] b [key][key] sk-sk c sk",
                "in pieces of {size}"
            );
        }
    }

    fn without(key: &str, text: &str, size: usize) -> String {
        let mut remover = KeyRemover::new(&Key::new(key).unwrap()).unwrap();
        let pieces = text
            .as_bytes()
            .chunks(size)
            .map(|piece| remover.push(piece.to_vec()));
        let mut out = pieces.collect::<Vec<_>>().concat();
        out.extend(remover.finish());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_key_is_removed_in_whatever_spelling() {
        let key = "sk-u/useme";
        let all: String = key
            .chars()
            .map(|c| format!("\\u{:04x}", u32::from(c)))
            .collect();
        let capitals = all.to_uppercase().replace("\\U", "\\u");
        let nested = all.replace('\\', "\\\\\\\\");
        let some = key.replace("sk", "\\u0073\\u006B").replace('/', "\\/");
        for spelling in [key.to_string(), all, capitals, nested, some] {
            let text = format!("{{\"a\":\"\\n{spelling}\\u0073k \\\"{spelling}\"}}\\u0073");
            for size in 1..=text.len() {
                let expected = "{\"a\":\"\\n[key]\\u0073k \\\"[key]\"}\\u0073";
                assert_eq!(
                    without(key, &text, size),
                    expected,
                    "{spelling} in pieces of {size}"
                );
            }
            assert_eq!(Key::new(key).unwrap().hide(&spelling), "[key]");
        }
        let key = "sk-use\\me";
        assert_eq!(without(key, "sk-use\\me sk-use\\\\me", 3), "[key] [key]");
    }

    #[test]
    fn text_without_a_key_stays_unchanged() {
        let text = "\\\\\\\\\\\\\\\\\\\\\\\\ \\u \\u00 \\u0073 sk\\-very \\\"sk-very-secrex";
        for size in 1..=text.len() {
            assert_eq!(without("sk-very-secret", text, size), text);
        }
    }

    #[test]
    fn most_of_a_key_at_the_end_is_hidden() {
        let mut remover = KeyRemover::new(&Key::new("sk-very-secret").unwrap()).unwrap();
        let out = [
            remover.push(b"the key is sk-very-secre".to_vec()),
            remover.finish(),
        ]
        .concat();
        assert_eq!(out, b"the key is [key]");
    }

    #[test]
    fn a_short_word_is_not_a_secret() {
        assert!(KeyRemover::new(&Key::new("none").unwrap()).is_none());
    }
}
