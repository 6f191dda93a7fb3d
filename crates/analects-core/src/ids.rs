//! Names for new things. Randomness is an argument here, so that every test is repeatable.

use jiff::Timestamp;

/// Gives out identifiers. The store has the one that asks the operating system.
pub trait Ids {
    /// A new UUID (version 7 in earnest), hyphenated, lower case.
    fn uuid(&mut self, now: Timestamp) -> String;

    /// Eight lower-case Crockford base32 characters, at least one of them a letter.
    fn nonce(&mut self) -> String;
}

/// Identifiers that count up from one: for tests and examples, never for a record.
#[derive(Debug, Clone, Default)]
pub struct CountingIds {
    last: u64,
}

impl CountingIds {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

impl Ids for CountingIds {
    fn uuid(&mut self, _: Timestamp) -> String {
        format!("00000000-0000-7000-8000-{:012x}", self.next())
    }

    fn nonce(&mut self) -> String {
        format!("n{:07}", self.next())
    }
}
