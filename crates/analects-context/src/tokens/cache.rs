//! Counts that were made before, by what was counted. A message that did not change is not counted again.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::Count;

/// The name of a content: 128 bits made of all of its bytes. Not made to withstand an attack; what an
/// attacker would win is a wrong count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContentHash {
    left: u64,
    right: u64,
}

const LEFT: u64 = 0x9e37_79b9_7f4a_7c15;
const RIGHT: u64 = 0xc2b2_ae3d_27d4_eb4f;

impl ContentHash {
    /// The hash of a content of this kind, to which nothing was added yet.
    pub fn of_kind(kind: u8) -> ContentHash {
        ContentHash { left: LEFT ^ u64::from(kind), right: RIGHT.wrapping_add(u64::from(kind)) }
    }

    fn mix(&mut self, word: u64) {
        self.left = (self.left ^ word).wrapping_mul(RIGHT).rotate_left(29);
        self.right = (self.right.rotate_left(23) ^ word).wrapping_mul(LEFT);
    }

    /// Adds a piece; where one ends and the next begins makes a difference.
    pub fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last));
        self.mix(bytes.len() as u64);
    }

    /// Adds what a large piece begins and ends with, and its length.
    pub fn add_sample(&mut self, bytes: &[u8]) {
        const END: usize = 4096;
        self.add(&bytes[..bytes.len().min(END)]);
        self.add(&bytes[bytes.len().saturating_sub(END)..]);
        self.mix(bytes.len() as u64);
    }

    fn key(mut self) -> Key {
        self.mix(self.right ^ (self.left >> 31));
        self.mix(self.left ^ (self.right >> 29));
        (self.left, self.right)
    }
}

type Key = (u64, u64);

/// The key is a hash already.
#[derive(Debug, Default)]
struct Taken(u64);

impl Hasher for Taken {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 ^= word;
    }
}

/// Counts by content.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    counts: HashMap<Key, Count, BuildHasherDefault<Taken>>,
}

impl Cache {
    /// The count of a content, made if it is not there.
    pub fn get(&mut self, hash: ContentHash, count: impl FnOnce() -> Count) -> Count {
        *self.counts.entry(hash.key()).or_insert_with(count)
    }

    /// How many contents were counted.
    pub fn len(&self) -> usize {
        self.counts.len()
    }
}
