//! A short name for some bytes, to know them again. Not against forgery: whoever can write beside a
//! person's file can do worse.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The same bytes always have the same one; others hardly ever.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
