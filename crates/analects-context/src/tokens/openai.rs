//! Counts with `o200k`, the vocabulary of OpenAI's models. The vocabulary and the character classes are embedded in the
//! program and read in place: nothing is unpacked, and memory is only used for one piece of text at a time.

mod merge;
mod split;
#[cfg(test)]
mod tests;

use super::Tokenizer;

/// The tokenizer of the vocabulary `o200k`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct O200k;

impl Tokenizer for O200k {
    fn name(&self) -> &str {
        "o200k"
    }

    fn count(&self, text: &str) -> Option<u64> {
        let counts = split::pieces(text).map(|piece| merge::count(piece.as_bytes()) as u64);
        Some(counts.sum())
    }
}

/// The tokens of `o200k` as a hash table in one file. `tests.rs` generates it and compares it with the list that OpenAI
/// publishes.
///
/// The file starts with the offset of each bucket, and the end of the last one, as four-byte numbers. A bucket holds
/// its tokens one after the other: the rank in three bytes, the length in one, and the bytes of the token.
const TABLE: &[u8] = include_bytes!("../../data/o200k.bin");

/// The number of buckets. With three tokens per bucket, a lookup touches one cache line.
const BUCKETS: usize = 1 << 16;

/// The number of bytes before a token's own: rank and length.
const HEADER_LEN: usize = 4;

/// The length of the longest token, in bytes.
const MAX_TOKEN_LEN: usize = 128;

/// Returns the rank of a token. Pairs with a lower rank are merged earlier.
fn rank(token: &[u8]) -> Option<u32> {
    if token.len() > MAX_TOKEN_LEN {
        return None;
    }
    bucket(bucket_of(token))
        .find(|(_, bytes)| *bytes == token)
        .map(|(rank, _)| rank)
}

/// Iterates over the tokens of a bucket, with their ranks.
fn bucket(at: usize) -> impl Iterator<Item = (u32, &'static [u8])> {
    let mut rest = &TABLE[bucket_start(at)..bucket_start(at + 1)];
    std::iter::from_fn(move || {
        let (head, after) = rest.split_first_chunk::<HEADER_LEN>()?;
        let [low, middle, high, length] = *head;
        let (bytes, after) = after.split_at_checked(usize::from(length))?;
        rest = after;
        Some((u32::from_le_bytes([low, middle, high, 0]), bytes))
    })
}

/// Returns the offset of a bucket in the table.
fn bucket_start(bucket: usize) -> usize {
    let number = TABLE.as_chunks::<4>().0[bucket];
    u32::from_le_bytes(number) as usize
}

/// Returns the bucket of a token.
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
