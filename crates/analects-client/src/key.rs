//! Secrets that never reach a screen, a log or a file.

use std::fmt;

use analects_core::ApiError;
use memchr::{memchr2, memmem};

/// A provider's key. It prints as `[key]` and cannot be serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Takes a key, without the blanks and line ends that come along when it is read from a file.
    /// `None` where nothing is left.
    pub fn new(text: &str) -> Option<Key> {
        let text = text.trim();
        (!text.is_empty()).then(|| Key(text.to_string()))
    }

    /// The key itself, for the header that carries it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Takes the key out of an error, should the server have quoted it.
    pub(crate) fn hide_in(&self, error: &mut ApiError) {
        error.message = self.hide(&error.message);
        error.error_type = error.error_type.as_deref().map(|text| self.hide(text));
        error.request_id = error.request_id.as_deref().map(|text| self.hide(text));
    }

    /// Takes the key out of a text.
    pub(crate) fn hide(&self, text: &str) -> String {
        if !self.is_secret() {
            return text.to_string();
        }
        let Removed { mut out, held } = self.remove_from(text.as_bytes());
        out.extend_from_slice(&text.as_bytes()[held..]);
        // Whole characters come out, since a key is ASCII or stands there as it is.
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Something as short as "none" is no secret, and is a word that messages may hold.
    fn is_secret(&self) -> bool {
        self.0.len() >= SHORTEST_SECRET
    }

    /// Whether a key may stand in these bytes, or begin at their end. A quick look, which is sure only if it says no:
    /// a key has its first two characters as they are, or an escape for one of them.
    fn may_be_in(&self, bytes: &[u8]) -> bool {
        let key = self.0.as_bytes();
        let has_short_escapes = key.iter().any(|byte| b"/\"\\".contains(byte));
        let escape: &[u8] = if has_short_escapes { b"\\" } else { b"\\u" };
        let beginnings: [&[u8]; 3] = [&key[..2], &[key[0], ESCAPE], escape];
        let ends_with_beginning = bytes
            .last()
            .is_some_and(|last| [key[0], ESCAPE].contains(last));
        ends_with_beginning
            || beginnings
                .iter()
                .any(|it| memmem::find(bytes, it).is_some())
    }

    /// Puts something else in the place of every key, in whatever spelling.
    fn remove_from(&self, bytes: &[u8]) -> Removed {
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        let first = self.0.as_bytes()[0];
        while let Some(offset) = memchr2(first, ESCAPE, &bytes[at..]) {
            let candidate = at + offset;
            out.extend_from_slice(&bytes[at..candidate]);
            at = candidate;
            match self.spelled_at(&bytes[candidate..]) {
                Spelled::Whole(length) => {
                    out.extend_from_slice(HIDDEN.as_bytes());
                    at += length;
                }
                Spelled::Begun(_) => return Removed { out, held: at },
                Spelled::Not => {
                    out.push(bytes[at]);
                    at += 1;
                }
            }
        }
        out.extend_from_slice(&bytes[at..]);
        Removed {
            out,
            held: bytes.len(),
        }
    }

    /// Whether bytes begin with the key, of which any character may be escaped as in JSON, also more than once, as
    /// in JSON within JSON.
    fn spelled_at(&self, bytes: &[u8]) -> Spelled {
        let mut at = 0;
        for (count, byte) in self.0.bytes().enumerate() {
            let rest = &bytes[at..];
            let escapes = rest
                .iter()
                .take(MOST_ESCAPES)
                .take_while(|byte| **byte == ESCAPE);
            let escapes = escapes.count();
            let spelling = &rest[escapes..];
            let length = match spelling.first() {
                // In the key itself, too, it may stand once or escaped.
                _ if byte == ESCAPE && escapes > 0 => 0,
                None => return Spelled::Begun(count),
                Some(_) if escapes > 0 && begins_code(spelling, byte) => match spelling.len() {
                    0..CODE_LENGTH => return Spelled::Begun(count),
                    _ => CODE_LENGTH,
                },
                Some(first) if *first == byte => 1,
                Some(_) => return Spelled::Not,
            };
            at += escapes + length;
        }
        Spelled::Whole(at)
    }
}

/// The length of `u0073`.
const CODE_LENGTH: usize = 5;

/// Whether bytes begin with `u0073` for a byte, or are the beginning of that.
fn begins_code(bytes: &[u8], byte: u8) -> bool {
    let digit = |number: u8| b"0123456789abcdef"[usize::from(number)];
    let code: [u8; CODE_LENGTH] = [b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)];
    let length = bytes.len().min(CODE_LENGTH);
    bytes[..length].eq_ignore_ascii_case(&code[..length])
}

/// Bytes without keys.
struct Removed {
    out: Vec<u8>,
    /// From where on a key may have begun; the end if none has.
    held: usize,
}

/// Whether a key stands somewhere.
enum Spelled {
    Not,
    /// So many of its characters do, and then the bytes end.
    Begun(usize),
    /// It does, in so many bytes.
    Whole(usize),
}

/// What stands in the place of a key.
const HIDDEN: &str = "[key]";

/// How many characters make a secret.
const SHORTEST_SECRET: usize = 8;

/// What an escape begins with in JSON.
const ESCAPE: u8 = b'\\';

/// How many of them may stand before a character: JSON in JSON in JSON has seven.
const MOST_ESCAPES: usize = 8;

/// Takes a key out of bytes that come in pieces, wherever they were cut. Not all of them need to be
/// text.
#[derive(Debug)]
pub(crate) struct KeyRemover {
    key: Key,
    /// The end of what came, if a key may have begun there.
    held: Vec<u8>,
}

impl KeyRemover {
    /// `None` for a key that is no secret.
    pub(crate) fn new(key: &Key) -> Option<KeyRemover> {
        key.is_secret().then(|| KeyRemover {
            key: key.clone(),
            held: Vec::new(),
        })
    }

    /// Takes a piece and gives as much as is known to hold no key.
    pub(crate) fn push(&mut self, piece: Vec<u8>) -> Vec<u8> {
        let mut bytes = piece;
        if !self.held.is_empty() {
            bytes = [std::mem::take(&mut self.held), bytes].concat();
        }
        if !self.key.may_be_in(&bytes) {
            return bytes;
        }
        let Removed { out, held } = self.key.remove_from(&bytes);
        self.held = bytes.split_off(held);
        out
    }

    /// What was held back, once no more comes. So much of a key that it is a secret is not given.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        match self.key.spelled_at(&held) {
            Spelled::Begun(count) if count >= SHORTEST_SECRET => HIDDEN.into(),
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
    fn what_is_no_key_stays_as_it_is() {
        let text = "\\\\\\\\\\\\\\\\\\\\\\\\ \\u \\u00 \\u0073 sk\\-very \\\"sk-very-secrex";
        for size in 1..=text.len() {
            assert_eq!(without("sk-very-secret", text, size), text);
        }
    }

    #[test]
    fn most_of_a_key_at_the_end_is_not_told() {
        let mut remover = KeyRemover::new(&Key::new("sk-very-secret").unwrap()).unwrap();
        let out = [
            remover.push(b"the key is sk-very-secre".to_vec()),
            remover.finish(),
        ]
        .concat();
        assert_eq!(out, b"the key is [key]");
    }

    #[test]
    fn a_word_is_no_secret() {
        assert!(KeyRemover::new(&Key::new("none").unwrap()).is_none());
    }
}
