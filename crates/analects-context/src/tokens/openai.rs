//! Counts with the vocabulary `o200k` of OpenAI's models. The vocabulary and what kind every character is are
//! part of the program and are read where they lie: nothing is unpacked, and memory is taken for one
//! piece of text at a time.

mod merge;
mod pieces;
#[cfg(test)]
mod tests;

use super::Tokenizer;

/// Counts with the vocabulary `o200k`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct O200k;

impl Tokenizer for O200k {
    fn name(&self) -> &str {
        "o200k"
    }

    fn count(&self, text: &str) -> Option<u64> {
        let counts = pieces::pieces(text).map(|piece| merge::count(piece.as_bytes()) as u64);
        Some(counts.sum())
    }
}

/// The tokens of `o200k` as a hash table in one file, which `tests.rs` makes and compares with the list that OpenAI
/// publishes.
///
/// The file begins with where each bucket starts, and where the last one ends, as numbers of four bytes. A bucket
/// holds its tokens one behind the other: three bytes with the token's rank, one with its length, its bytes.
const TABLE: &[u8] = include_bytes!("../../data/o200k.bin");

/// How many buckets there are: three tokens in each, so that a look at one is a look at one line of the cache.
const BUCKETS: usize = 1 << 16;

/// The bytes of a token before its own: rank and length.
const HEAD: usize = 4;

/// No token has more bytes than this.
const LONGEST: usize = 128;

/// The rank of a token: the lower, the earlier two tokens are merged into it.
fn rank(token: &[u8]) -> Option<u32> {
    if token.len() > LONGEST {
        return None;
    }
    let mut found = bucket(bucket_of(token));
    found
        .find(|(_, bytes)| *bytes == token)
        .map(|(rank, _)| rank)
}

/// The tokens of a bucket, with their ranks.
fn bucket(at: usize) -> impl Iterator<Item = (u32, &'static [u8])> {
    let mut rest = &TABLE[start(at)..start(at + 1)];
    std::iter::from_fn(move || {
        let (head, after) = rest.split_first_chunk::<HEAD>()?;
        let [low, middle, high, length] = *head;
        let (bytes, after) = after.split_at_checked(usize::from(length))?;
        rest = after;
        Some((u32::from_le_bytes([low, middle, high, 0]), bytes))
    })
}

fn start(bucket: usize) -> usize {
    let number = TABLE.as_chunks::<4>().0[bucket];
    u32::from_le_bytes(number) as usize
}

/// The bucket in which a token is, if it is one.
fn bucket_of(token: &[u8]) -> usize {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = token.as_chunks::<8>();
    let mut hash = token.len() as u64;
    for word in words {
        hash = (hash ^ u64::from_le_bytes(*word))
            .wrapping_mul(FACTOR)
            .rotate_left(29);
    }
    let last = rest
        .iter()
        .fold(0, |last, byte| last << 8 | u64::from(*byte));
    hash = (hash ^ last).wrapping_mul(FACTOR);
    (hash >> (u64::BITS - BUCKETS.ilog2())) as usize
}
