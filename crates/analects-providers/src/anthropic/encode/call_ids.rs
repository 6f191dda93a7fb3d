//! The ids of calls, in the form that the API accepts.

use std::collections::{BTreeMap, BTreeSet};

use crate::encoding::is_plain_char;

/// The ids with which calls are sent: accepted by the API, and different for different calls.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    used: BTreeSet<String>,
    /// The id that is sent, for each id of the conversation.
    sent: BTreeMap<String, String>,
    /// How many ids were made from each plain one. Saves trying them all again.
    counts: BTreeMap<String, usize>,
}

impl CallIds {
    /// Assigns an id to a call. It depends on nothing behind the call: a longer conversation then
    /// begins with the same bytes, and the provider can cache it.
    pub fn assign(&mut self, id: &str) -> &str {
        let plain = plain_id(id);
        let count = self.counts.entry(plain.clone()).or_insert(1);
        let mut candidate = plain.clone();
        while !self.used.insert(candidate.clone()) {
            *count += 1;
            candidate = format!("{plain}_{count}");
        }
        self.sent.entry(id.to_string()).or_insert(candidate)
    }

    /// The id that was assigned to the call of this one.
    pub fn get<'a>(&'a self, id: &'a str) -> &'a str {
        self.sent.get(id).map_or(id, String::as_str)
    }
}

/// The nearest id that the API accepts.
fn plain_id(id: &str) -> String {
    if id.is_empty() {
        return "call".to_string();
    }
    let plain = id.chars().map(|c| if is_plain_char(c) { c } else { '_' });
    plain.collect()
}
