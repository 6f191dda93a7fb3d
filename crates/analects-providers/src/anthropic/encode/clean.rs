//! Names, identifiers and JSON as the API accepts them.

use std::collections::{BTreeMap, BTreeSet};

use analects_core::{Raw, RawMap};

/// The longest name of a tool.
pub(super) const LONGEST_NAME: usize = 128;

/// Whether the API accepts this as an identifier.
pub(super) fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(is_plain_char)
}

/// Whether the API accepts this as the name of a tool.
pub(super) fn is_name(word: &str) -> bool {
    is_plain(word) && word.len() <= LONGEST_NAME
}

fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The nearest word that the API accepts; `fallback` for one without any letter.
pub(super) fn plain(word: &str, fallback: &str) -> String {
    if word.is_empty() {
        return fallback.to_string();
    }
    word.chars().map(|c| if is_plain_char(c) { c } else { '_' }).collect()
}

/// A tool's name as near to `name` as the API accepts.
pub(super) fn name(name: &str) -> String {
    let mut name = plain(name, "tool");
    name.truncate(LONGEST_NAME);
    name
}

/// Identifiers in use. Every call needs one of its own; some vendors begin to count anew in every
/// answer.
#[derive(Debug, Default)]
pub(super) struct Ids {
    taken: BTreeSet<String>,
    /// How often each was asked for.
    asked: BTreeMap<String, usize>,
}

impl Ids {
    /// The identifier to send for a call that has this one. What stands before it decides alone, so
    /// that a longer conversation begins with the same bytes, and can be cached.
    pub fn new_for(&mut self, id: &str) -> String {
        let plain = plain(id, "call");
        let count = self.asked.entry(plain.clone()).or_insert(1);
        let mut candidate = plain.clone();
        while !self.taken.insert(candidate.clone()) {
            *count += 1;
            candidate = format!("{plain}_{count}");
        }
        candidate
    }
}

/// The length of `\ud83d`.
const ESCAPE: usize = 6;

/// The same JSON with U+FFFD in the place of every half of a surrogate pair, which the API refuses.
pub(super) fn mended(raw: &Raw) -> Raw {
    let json = raw.as_str();
    if !json.contains("\\u") {
        return raw.clone();
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = match (surrogate(rest), surrogate(rest.get(ESCAPE..).unwrap_or_default())) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * ESCAPE,
            (Some(_), _) => {
                out.push_str("\\ufffd");
                rest = &rest[ESCAPE..];
                continue;
            }
            _ => 2,
        };
        let (kept, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
        out.push_str(kept);
        rest = after;
    }
    out.push_str(rest);
    Raw::parse(&out).unwrap_or_else(|_| raw.clone())
}

/// The code unit of an escape at the start of `text`, if it is a surrogate.
fn surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xD800..=0xDFFF).contains(unit))
}

/// The same object without a member.
pub(super) fn without(map: &RawMap, key: &str) -> RawMap {
    let mut out = RawMap::new();
    for (name, value) in map.iter().filter(|(name, _)| name.as_string().as_deref() != Some(key)) {
        out.push_raw(name.clone(), value.clone());
    }
    out
}
