//! Names and identifiers as the API accepts them.

use std::collections::{BTreeMap, BTreeSet};

use crate::outgoing::{Names, is_plain_char};

/// The names of tools.
pub(super) const NAMES: Names = Names::Plain(128);

/// Whether the API accepts this as an identifier.
pub(super) fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(is_plain_char)
}

/// The nearest word that the API accepts; `fallback` for one without any letter.
fn plain(word: &str, fallback: &str) -> String {
    if word.is_empty() {
        return fallback.to_string();
    }
    word.chars().map(|c| if is_plain_char(c) { c } else { '_' }).collect()
}

/// Identifiers in use, for calls that have different ones.
#[derive(Debug, Default)]
pub(super) struct Ids {
    taken: BTreeSet<String>,
    /// What is sent for each.
    sent: BTreeMap<String, String>,
    /// How often each was asked for.
    asked: BTreeMap<String, usize>,
}

impl Ids {
    /// The identifier to send for a call that has this one. What stands before it decides alone, so
    /// that a longer conversation begins with the same bytes, and can be cached.
    pub fn new_for(&mut self, id: &str) -> &str {
        let plain = plain(id, "call");
        let count = self.asked.entry(plain.clone()).or_insert(1);
        let mut candidate = plain.clone();
        while !self.taken.insert(candidate.clone()) {
            *count += 1;
            candidate = format!("{plain}_{count}");
        }
        self.sent.entry(id.to_string()).or_insert(candidate)
    }

    /// The identifier that was sent for the call of this one.
    pub fn of<'a>(&'a self, id: &'a str) -> &'a str {
        self.sent.get(id).map_or(id, String::as_str)
    }
}
