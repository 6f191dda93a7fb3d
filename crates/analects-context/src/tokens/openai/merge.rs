//! How many tokens a piece of text becomes: of all neighbours, those whose merger has the lowest rank are
//! merged first, the leftmost of equals, until no two can be. Words of ordinary length are merged in an array,
//! long runs with a heap, which takes O(n log n) whatever the text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::rank;

/// Up to this length, looking at all pairs for the next one is quicker than keeping them in order.
pub(super) const SHORT: usize = 128;

/// What stands where no pair can be merged.
const NONE: u32 = u32::MAX;

/// The tokens of a piece. Most words are one.
pub(super) fn count(piece: &[u8]) -> usize {
    if piece.len() < 2 || rank(piece).is_some() {
        return piece.len().min(1);
    }
    if piece.len() <= SHORT {
        count_short(piece)
    } else {
        count_long(piece)
    }
}

/// By mergers alone, in an array of all places.
pub(super) fn count_short(piece: &[u8]) -> usize {
    let length = piece.len();
    // By the place where a token starts: the token's rank with the next one and the place, where the next starts,
    // and where the one before does.
    let mut pairs = [NONE; SHORT];
    let mut next: [u8; SHORT + 1] = std::array::from_fn(|at| at as u8 + 1);
    let mut before: [u8; SHORT + 1] = std::array::from_fn(|at| (at as u8).wrapping_sub(1));
    let pair = |start: usize, end: usize| {
        rank(&piece[start..end]).map_or(NONE, |rank| rank << 8 | start as u32)
    };
    for (start, lowest) in pairs.iter_mut().enumerate().take(length - 1) {
        *lowest = pair(start, start + 2);
    }
    let mut tokens = length;
    loop {
        let lowest = pairs[..length]
            .iter()
            .fold(NONE, |lowest, pair| lowest.min(*pair));
        if lowest == NONE {
            return tokens;
        }
        let start = lowest as usize & 0xff;
        let middle = usize::from(next[start]);
        let end = usize::from(next[middle]);
        tokens -= 1;
        next[start] = end as u8;
        before[end] = start as u8;
        pairs[middle] = NONE;
        pairs[start] = if end < length {
            pair(start, usize::from(next[end]))
        } else {
            NONE
        };
        if start > 0 {
            let first = usize::from(before[start]);
            pairs[first] = pair(first, end);
        }
    }
}

/// By mergers alone, with a heap.
pub(super) fn count_long(piece: &[u8]) -> usize {
    Merging::new(piece).count()
}

/// A long piece that is being merged.
struct Merging<'a> {
    piece: &'a [u8],
    starts: Starts,
    tokens: usize,
    pairs: BinaryHeap<Reverse<Pair>>,
}

/// Two neighbours that can be merged: the rank, where they start, and in the last byte how long they are together.
/// One number, since a heap spends its time with moving these.
type Pair = u64;

const BITS_OF_LENGTH: u32 = 8;
const BITS_OF_START: u32 = 38;

impl<'a> Merging<'a> {
    fn new(piece: &'a [u8]) -> Merging<'a> {
        let starts = 0..piece.len() - 1;
        let pairs = starts.filter_map(|start| pair(piece, start, start + 2));
        Merging {
            piece,
            starts: Starts::at_every(piece.len()),
            tokens: piece.len(),
            pairs: pairs.collect(),
        }
    }

    fn count(mut self) -> usize {
        while let Some(Reverse(pair)) = self.pairs.pop() {
            let start = pair >> BITS_OF_LENGTH & ((1 << BITS_OF_START) - 1);
            let length = pair & ((1 << BITS_OF_LENGTH) - 1);
            self.merge(start as usize, (start + length) as usize);
        }
        self.tokens
    }

    /// Merges two neighbours, unless one of them was merged with another since.
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

fn pair(piece: &[u8], start: usize, end: usize) -> Option<Reverse<Pair>> {
    let rank = u64::from(rank(&piece[start..end])?);
    let length = (end - start) as u64;
    Some(Reverse(
        (rank << BITS_OF_START | start as u64) << BITS_OF_LENGTH | length,
    ))
}

/// Where tokens start, and where the last one ends: a bit for each place. Two are never farther apart than the
/// longest token.
struct Starts(Vec<u64>);

impl Starts {
    /// A token for each byte.
    fn at_every(bytes: usize) -> Starts {
        Starts(vec![u64::MAX; bytes / 64 + 1])
    }

    fn is_set(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    fn clear(&mut self, at: usize) {
        self.0[at / 64] &= !(1 << (at % 64));
    }

    /// The first place behind this one.
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

    /// The last place before this one.
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
