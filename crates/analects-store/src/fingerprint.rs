//! A short name for some bytes, to know them again. Not against forgery: whoever can write beside a
//! person's file can do worse.

/// The same bytes always have the same one, in every version of this program; others hardly ever.
/// (FNV-1a, over eight bytes at a time.)
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().map(|word| u64::from_le_bytes(*word)).fold(0xcbf2_9ce4_8422_2325, mix);
    let hash = rest.iter().map(|byte| u64::from(*byte)).fold(hash, mix);
    mix(mix(hash, bytes.len() as u64), 0)
}

#[cfg(test)]
mod tests {
    //! Names on disk must not change with the program.

    use super::fingerprint;

    #[test]
    fn it_never_changes_and_sees_every_byte() {
        assert_eq!(fingerprint(b""), PINNED[0]);
        assert_eq!(fingerprint(b"# %% [^1]\n\n[^1]: [markdown]\n"), PINNED[1]);
        let bytes = [7_u8; 40];
        for at in 0..bytes.len() {
            let mut other = bytes;
            other[at] ^= 1;
            assert_ne!(fingerprint(&bytes), fingerprint(&other), "{at}");
            assert_ne!(fingerprint(&bytes), fingerprint(&bytes[..at]), "{at}");
        }
    }

    const PINNED: [u64; 2] = [0xdc45_c19e_1d2d_c629, 0x3bd4_3d3f_6e30_b17e];
}
