//! Identifiers from the operating system's random number generator.

use analects_core::Ids;
use jiff::Timestamp;
use uuid::{NoContext, Uuid};

/// Crockford's base32: no `i`, `l`, `o`, `u`.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The number of characters of a nonce.
const NONCE_LENGTH: usize = 8;

/// Creates real identifiers: UUIDs of version 7, and random nonces.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsIds;

impl Ids for OsIds {
    fn uuid(&mut self, now: Timestamp) -> String {
        let seconds = u64::try_from(now.as_second()).unwrap_or(0);
        let nanos = u32::try_from(now.subsec_nanosecond()).unwrap_or(0);
        Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds, nanos)).to_string()
    }

    fn nonce(&mut self) -> String {
        loop {
            let nonce = random_letters();
            // A nonce of digits only could be mistaken for a number.
            if nonce.contains(|c: char| c.is_ascii_alphabetic()) {
                return nonce;
            }
        }
    }
}

/// Returns random characters of the alphabet, five bits each.
fn random_letters() -> String {
    // The random part of a version 7 UUID is its last eight bytes, less two bits.
    let random = Uuid::now_v7().as_u128();
    let mut letters = String::new();
    for at in 0..NONCE_LENGTH {
        letters.push(ALPHABET[(random >> (at * 5)) as usize & 31] as char);
    }
    letters
}
