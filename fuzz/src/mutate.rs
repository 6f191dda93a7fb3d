//! Changes a seed a little, by a random number generator that gives the same numbers every time.

use crate::{TOKENS, Target};

/// Longer inputs find little more, and take longer.
const MAX_LEN: usize = 4096;

/// A small generator (xorshift64*); the same seed gives the same numbers on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator for a name, so that adding a target does not change the others' runs.
    pub fn named(name: &str) -> Random {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        // Zero is the one state that the generator never leaves.
        Random(name.bytes().fold(0xcbf2_9ce4_8422_2325, mix).max(1))
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`; 0 if there is none.
    pub fn below(&mut self, limit: usize) -> usize {
        // The upper bits are the better ones; the cast keeps what a small limit needs.
        ((self.number() >> 32) as usize)
            .checked_rem(limit)
            .unwrap_or(0)
    }

    fn byte(&mut self) -> u8 {
        self.number().to_be_bytes()[0]
    }

    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        let most = (len - start).min(32);
        start..start + self.below(most + 1)
    }
}

/// A copy of `seed` with one to four changes; `other` is a second seed to take pieces from.
pub fn mutate(target: &Target, seed: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        change(target, &mut bytes, other, random);
    }
    bytes.truncate(MAX_LEN);
    bytes
}

fn change(target: &Target, bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let range = random.range(bytes.len());
    match random.below(8) {
        0 => flip(bytes, random),
        1 => bytes.insert(at, random.byte()),
        2 => drop(bytes.drain(range)),
        3 => bytes.truncate(at),
        4 => {
            let piece = bytes[range].to_vec();
            bytes.splice(at..at, piece).for_each(drop);
        }
        5 => {
            let piece = other[random.range(other.len())].to_vec();
            bytes.splice(range, piece).for_each(drop);
        }
        _ => bytes
            .splice(at..at, token(target, random).iter().copied())
            .for_each(drop),
    }
}

fn flip(bytes: &mut [u8], random: &mut Random) {
    let at = random.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

fn token(target: &Target, random: &mut Random) -> &'static [u8] {
    let at = random.below(TOKENS.len() + target.tokens.len());
    TOKENS
        .iter()
        .chain(target.tokens)
        .nth(at)
        .copied()
        .unwrap_or_default()
}
