//! Counts the tokens of a piece of text by byte-pair encoding: of all neighbours, the pair with the lowest rank is
//! merged first, the leftmost of equals, until no pair is a token. Words of ordinary length are merged in an array,
//! long runs with a heap, which takes O(n log n) for any text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::rank;

/// Up to this length, scanning all pairs for the next one is faster than keeping them in order.
pub(super) const MAX_SHORT: usize = 128;

/// Marks a position without a mergeable pair.
const NO_PAIR: u32 = u32::MAX;

/// Returns the number of tokens in a piece. Most words are one token.
pub(super) fn count(piece: &[u8]) -> usize {
    if piece.len() < 2 || rank(piece).is_some() {
        return piece.len().min(1);
    }
    if piece.len() <= MAX_SHORT {
        count_short(piece)
    } else {
        count_long(piece)
    }
}

/// Counts by merging in an array.
pub(super) fn count_short(piece: &[u8]) -> usize {
    let length = piece.len();
    // All three arrays are indexed by the start of a token: the rank of its pair with the next token combined with the
    // start, the start of the next token, and the start of the previous one.
    let mut pairs = [NO_PAIR; MAX_SHORT];
    let mut next: [u8; MAX_SHORT + 1] = std::array::from_fn(|at| at as u8 + 1);
    let mut before: [u8; MAX_SHORT + 1] = std::array::from_fn(|at| (at as u8).wrapping_sub(1));
    let pair = |start: usize, end: usize| {
        rank(&piece[start..end]).map_or(NO_PAIR, |rank| rank << 8 | start as u32)
    };
    for (start, lowest) in pairs.iter_mut().enumerate().take(length - 1) {
        *lowest = pair(start, start + 2);
    }
    let mut tokens = length;
    loop {
        let lowest = pairs[..length]
            .iter()
            .fold(NO_PAIR, |lowest, pair| lowest.min(*pair));
        if lowest == NO_PAIR {
            return tokens;
        }
        let start = lowest as usize & 0xff;
        let middle = usize::from(next[start]);
        let end = usize::from(next[middle]);
        tokens -= 1;
        next[start] = end as u8;
        before[end] = start as u8;
        pairs[middle] = NO_PAIR;
        pairs[start] = if end < length {
            pair(start, usize::from(next[end]))
        } else {
            NO_PAIR
        };
        if start > 0 {
            let first = usize::from(before[start]);
            pairs[first] = pair(first, end);
        }
    }
}

/// Counts by merging with a heap.
pub(super) fn count_long(piece: &[u8]) -> usize {
    HeapMerge::new(piece).count()
}

/// The state of merging a long piece.
struct HeapMerge<'a> {
    piece: &'a [u8],
    starts: TokenStarts,
    tokens: usize,
    pairs: BinaryHeap<Reverse<Pair>>,
}

/// A mergeable pair: its rank, its start, and in the last byte its length. It is packed into one number, since a heap
/// spends its time moving these.
type Pair = u64;

/// The bits of a [`Pair`] that hold its length.
const LENGTH_BITS: u32 = 8;
/// The bits of a [`Pair`] that hold its start.
const START_BITS: u32 = 38;

impl<'a> HeapMerge<'a> {
    fn new(piece: &'a [u8]) -> HeapMerge<'a> {
        let starts = 0..piece.len() - 1;
        let pairs = starts.filter_map(|start| pair(piece, start, start + 2));
        HeapMerge {
            piece,
            starts: TokenStarts::at_every(piece.len()),
            tokens: piece.len(),
            pairs: pairs.collect(),
        }
    }

    fn count(mut self) -> usize {
        while let Some(Reverse(pair)) = self.pairs.pop() {
            let start = pair >> LENGTH_BITS & ((1 << START_BITS) - 1);
            let length = pair & ((1 << LENGTH_BITS) - 1);
            self.merge(start as usize, (start + length) as usize);
        }
        self.tokens
    }

    /// Merges a pair, unless one half was merged with another token since.
    fn merge(&mut self, start: usize, end: usize) {
        let middle = self.starts.after(start);
        if !self.starts.is_set(start) || middle >= end || self.starts.after(middle) != end {
            return;
        }
        self.starts.clear(middle);
        self.tokens -= 1;
        if end < self.piece.len() {
            self.pairs
                .extend(pair(self.piece, start, self.starts.after(end)));
        }
        if start > 0 {
            self.pairs
                .extend(pair(self.piece, self.starts.before(start), end));
        }
    }
}

/// Returns the pair from `start` to `end`, if it is a token.
fn pair(piece: &[u8], start: usize, end: usize) -> Option<Reverse<Pair>> {
    let rank = u64::from(rank(&piece[start..end])?);
    let length = (end - start) as u64;
    Some(Reverse(
        (rank << START_BITS | start as u64) << LENGTH_BITS | length,
    ))
}

/// The starts of tokens and the end of the last one, one bit per position. Two set bits are never farther apart than
/// the longest token.
struct TokenStarts(Vec<u64>);

impl TokenStarts {
    /// Starts with one token per byte.
    fn at_every(bytes: usize) -> TokenStarts {
        TokenStarts(vec![u64::MAX; bytes / 64 + 1])
    }

    /// Returns whether a token starts at a position.
    fn is_set(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    /// Removes a start, after a merge.
    fn clear(&mut self, at: usize) {
        self.0[at / 64] &= !(1 << (at % 64));
    }

    /// Returns the next start after a position.
    fn after(&self, at: usize) -> usize {
        let from = at + 1;
        let mut word = from / 64;
        let mut bits = self.0[word] >> (from % 64) << (from % 64);
        while bits == 0 {
            word += 1;
            bits = self.0[word];
        }
        word * 64 + bits.trailing_zeros() as usize
    }

    /// Returns the last start before a position.
    fn before(&self, at: usize) -> usize {
        let until = at - 1;
        let mut word = until / 64;
        let unwanted = 63 - until % 64;
        let mut bits = self.0[word] << unwanted >> unwanted;
        while bits == 0 {
            word -= 1;
            bits = self.0[word];
        }
        word * 64 + 63 - bits.leading_zeros() as usize
    }
}
