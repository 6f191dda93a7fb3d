//! Secrets that never reach a screen, a log or a file.

use std::fmt;

use analects_core::ApiError;

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
    }

    fn hide(&self, text: &str) -> String {
        if self.is_secret() { text.replace(&self.0, "[key]") } else { text.into() }
    }

    /// Takes the key out of bytes, of which not all need to be text.
    pub(crate) fn hide_in_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let key = self.0.as_bytes();
        let mut out = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some(at) = rest.windows(key.len()).position(|w| w == key && self.is_secret()) {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(b"[key]");
            rest = &rest[at + key.len()..];
        }
        out.extend_from_slice(rest);
        out
    }

    /// Something as short as "none" is no secret, and is a word that messages may hold.
    fn is_secret(&self) -> bool {
        const SHORTEST_SECRET: usize = 8;
        self.0.len() >= SHORTEST_SECRET
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
