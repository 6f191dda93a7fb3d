//! Base64 as message files hold it: the standard alphabet, padded, in lines of 76 columns.
//!
//! ```
//! use analects_formats::msgfile::base64;
//!
//! assert_eq!(base64::encode(b"Confucius"), "Q29uZnVjaXVz");
//! assert_eq!(base64::decode("Q29u\nZnVj aXVz").as_deref(), Some(&b"Confucius"[..]));
//! assert_eq!(base64::decode("Q29uZnVjaXV"), None);
//! ```

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES: [u8; 256] = values();
const NO_VALUE: u8 = 0xff;
const COLUMNS: usize = 76;

/// The bytes in lines of at most 76 columns, without a line end after the last.
pub fn encode(bytes: &[u8]) -> String {
    let per_line = COLUMNS / 4 * 3;
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4 + bytes.len() / per_line);
    for (number, line) in bytes.chunks(per_line).enumerate() {
        if number > 0 {
            out.push('\n');
        }
        push(&mut out, line);
    }
    out
}

/// The bytes on one line, however long.
pub fn encode_line(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    push(&mut out, bytes);
    out
}

/// The bytes that a text stands for. Blanks and line ends mean nothing; any other deviation from
/// what [`encode`] writes is refused, so that no two texts differ in more than their blanks.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count, mut padding) = (0_u32, 0_usize, 0_usize);
    for byte in text.bytes() {
        match (byte, VALUES[usize::from(byte)]) {
            (b' ' | b'\t' | b'\r' | b'\n', _) => continue,
            (b'=', _) => padding += 1,
            (_, NO_VALUE) => return None,
            (_, _) if padding > 0 => return None,
            (_, value) => bits = bits << 6 | u32::from(value),
        }
        count += 1;
        if padding == 0 && count.is_multiple_of(4) {
            bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
            bits = 0;
        }
    }
    if !count.is_multiple_of(4) {
        return None;
    }
    push_last(&mut bytes, bits, padding)?;
    Some(bytes)
}

/// Adds the one or two bytes of a padded group. The bits that it has too many must be zero.
fn push_last(bytes: &mut Vec<u8>, bits: u32, padding: usize) -> Option<()> {
    let (bits, spare) = match padding {
        0 => return Some(()),
        1 => (bits << 6, 0xff),
        2 => (bits << 12, 0xffff),
        _ => return None,
    };
    if bits & spare != 0 {
        return None;
    }
    bytes.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    Some(())
}

fn push(out: &mut String, bytes: &[u8]) {
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * place) & 0x3f) as usize];
            out.push(if place <= group.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
}

const fn values() -> [u8; 256] {
    let mut values = [NO_VALUE; 256];
    let mut at = 0;
    while at < ALPHABET.len() {
        values[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    values
}

#[cfg(test)]
mod tests;
