//! Secrets that never reach a screen, a log or a file.

use std::fmt;

use analects_core::ApiError;
use memchr::memmem;

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
        if self.is_secret() { text.replace(&self.0, HIDDEN) } else { text.into() }
    }

    /// Something as short as "none" is no secret, and is a word that messages may hold.
    fn is_secret(&self) -> bool {
        self.0.len() >= SHORTEST_SECRET
    }
}

/// What stands in the place of a key.
const HIDDEN: &str = "[key]";

/// How many characters make a secret.
const SHORTEST_SECRET: usize = 8;

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
        key.is_secret().then(|| KeyRemover { key: key.clone(), held: Vec::new() })
    }

    /// Takes a piece and gives as much as is known to hold no key.
    pub(crate) fn push(&mut self, piece: Vec<u8>) -> Vec<u8> {
        let mut bytes = piece;
        if !self.held.is_empty() {
            bytes = [std::mem::take(&mut self.held), bytes].concat();
        }
        if let Some(at) = memmem::find(&bytes, self.key.0.as_bytes()) {
            bytes = self.replaced(&bytes, at);
        }
        self.held = bytes.split_off(bytes.len() - self.begun(&bytes));
        bytes
    }

    /// The bytes with something else in the place of every key, of which the first is at `at`.
    fn replaced(&self, bytes: &[u8], at: usize) -> Vec<u8> {
        let key = self.key.0.as_bytes();
        let (mut out, mut rest, mut next) = (Vec::with_capacity(bytes.len()), bytes, Some(at));
        while let Some(at) = next {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(HIDDEN.as_bytes());
            rest = &rest[at + key.len()..];
            next = memmem::find(rest, key);
        }
        out.extend_from_slice(rest);
        out
    }

    /// How many of the last bytes may be the start of a key.
    fn begun(&self, bytes: &[u8]) -> usize {
        let key = self.key.0.as_bytes();
        let longest = bytes.len().min(key.len() - 1);
        let is_begun = |count: &usize| key.starts_with(&bytes[bytes.len() - count..]);
        (1..=longest).rev().find(is_begun).unwrap_or(0)
    }

    /// What was held back, once no more comes. So much of a key that it is a secret is not given.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        if held.len() < SHORTEST_SECRET { held } else { HIDDEN.into() }
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
            let pieces = text.as_bytes().chunks(size).map(|piece| remover.push(piece.to_vec()));
            let mut out = pieces.collect::<Vec<_>>().concat();
            out.extend(remover.finish());
            let out = String::from_utf8(out).unwrap();
            assert_eq!(out, "a sk-[key] b [key][key] sk-sk c sk", "in pieces of {size}");
        }
    }

    #[test]
    fn most_of_a_key_at_the_end_is_not_told() {
        let mut remover = KeyRemover::new(&Key::new("sk-very-secret").unwrap()).unwrap();
        let out = [remover.push(b"the key is sk-very-secre".to_vec()), remover.finish()].concat();
        assert_eq!(out, b"the key is [key]");
    }

    #[test]
    fn a_word_is_no_secret() {
        assert!(KeyRemover::new(&Key::new("none").unwrap()).is_none());
    }
}
