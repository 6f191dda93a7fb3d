//! The token list that OpenAI publishes: one token per line, in base64, with its rank.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The SHA-256 that OpenAI publishes for `o200k_base.tiktoken`.
pub(super) const SHA256: &str = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d";

/// Parses the tokens of a list.
pub(super) fn read(list: &str) -> Vec<Vec<u8>> {
    list.lines()
        .map(|line| decode(line.split(' ').next().unwrap()))
        .collect()
}

/// Writes the token list.
pub(super) fn write(tokens: &[&[u8]]) -> String {
    let lines = tokens.iter().enumerate();
    lines
        .map(|(rank, token)| format!("{} {rank}\n", encode(token)))
        .collect()
}

fn decode(base64: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut bits = 0_u32;
    for (at, letter) in base64.trim_end_matches('=').bytes().enumerate() {
        let value = ALPHABET.iter().position(|it| *it == letter).unwrap();
        bits = bits << 6 | value as u32;
        if at % 4 > 0 {
            bytes.push((bits >> (6 - at % 4 * 2)) as u8);
        }
    }
    bytes
}

fn encode(bytes: &[u8]) -> String {
    let mut base64 = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| {
            bits << 8 | u32::from(*three.get(at).unwrap_or(&0))
        });
        for at in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * at)) as usize & 63];
            base64.push(if at > three.len() {
                '='
            } else {
                letter as char
            });
        }
    }
    base64
}

/// The SHA-256 of some bytes, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    let mut message = bytes.to_vec();
    message.push(0x80);
    message.resize((message.len() + 8).next_multiple_of(64) - 8, 0);
    message.extend((bytes.len() as u64 * 8).to_be_bytes());
    let primes = || (2_u32..).filter(|n| (2..*n).all(|divisor| n % divisor != 0));
    let fraction = |root: f64| (root.fract() * 2_f64.powi(32)) as u32;
    let keys: Vec<u32> = primes()
        .take(64)
        .map(|prime| fraction(f64::from(prime).cbrt()))
        .collect();
    let mut state: Vec<u32> = primes()
        .take(8)
        .map(|prime| fraction(f64::from(prime).sqrt()))
        .collect();
    for block in message.as_chunks::<64>().0 {
        let words: Vec<u32> = block
            .as_chunks::<4>()
            .0
            .iter()
            .map(|it| u32::from_be_bytes(*it))
            .collect();
        let round = sha256_block(words, &state, &keys);
        state
            .iter_mut()
            .zip(round)
            .for_each(|(sum, it)| *sum = sum.wrapping_add(it));
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

fn sha256_block(mut words: Vec<u32>, state: &[u32], keys: &[u32]) -> [u32; 8] {
    for at in 16..64 {
        let early = words[at - 15];
        let late = words[at - 2];
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
        words.push(
            words[at - 16]
                .wrapping_add(early)
                .wrapping_add(words[at - 7])
                .wrapping_add(late),
        );
    }
    let mut now: [u32; 8] = state.try_into().unwrap();
    for (word, key) in words.iter().zip(keys) {
        let [a, b, c, _, e, f, g, last] = now;
        let choice = (e & f) ^ (!e & g);
        let of_e = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let first = [of_e, choice, *key, *word]
            .into_iter()
            .fold(last, u32::wrapping_add);
        let of_a = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = of_a.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        now.rotate_right(1);
        now[0] = first.wrapping_add(second);
        now[4] = now[4].wrapping_add(first);
    }
    now
}
