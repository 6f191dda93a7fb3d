//! What decoders share: objects that are read leniently, since every vendor adds fields and bends types;
//! texts that come in pieces; and what an answer holds beyond its events.

use std::collections::BTreeMap;

use analects_core::{Raw, RawMap, StreamEvent, Text};

/// Unknown entries of an object.
pub(crate) type Rest = Vec<(String, Raw)>;

/// A string that says something.
pub(crate) fn filled(value: &Raw) -> Option<String> {
    value.as_string().filter(|text| !text.is_empty())
}

/// The string of a member, if it says something.
pub(crate) fn word(map: &RawMap, key: &str) -> Option<String> {
    map.get(key).and_then(filled)
}

/// Fills the place, if there is something to fill it with; says whether there was.
pub(crate) fn put<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    let known = value.is_some();
    *place = value.or(place.take());
    known
}

/// Hands the entries to `known` one by one and returns those that it does not take. Null says
/// nothing, and neither does an empty string.
pub(crate) fn take(map: &RawMap, mut known: impl FnMut(&str, &Raw) -> bool) -> Rest {
    let mut rest = Rest::new();
    for (key, value) in map.iter() {
        // A key with half a surrogate pair keeps its JSON spelling.
        let key = key.as_string().unwrap_or_else(|| key.to_string());
        let empty = matches!(value.as_str(), "null" | "\"\"");
        if !empty && !known(&key, value) {
            rest.push((key, value.clone()));
        }
    }
    rest
}

/// What was held back and what came, but for half a character at its end, which is held back now:
/// whoever shows every piece as it comes would show the halves as two characters that are neither.
pub(crate) fn join(held: &mut Text, text: &Text) -> Text {
    let mut joined = std::mem::take(held);
    joined.push(text);
    *held = joined.take_high_end();
    joined
}

/// Fields that no event has a place for, in the order of their first appearance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extras {
    entries: Vec<(String, Vec<Raw>)>,
    /// Where in `entries` a field is.
    places: BTreeMap<String, usize>,
}

impl Extras {
    /// Keeps the last value: chunks repeat their outer fields.
    pub fn set(&mut self, key: &str, value: Raw) {
        *self.values(key) = vec![value];
    }

    /// Keeps every value: inner fields go on from chunk to chunk.
    pub fn add(&mut self, key: &str, value: Raw) {
        self.values(key).push(value);
    }

    /// Keeps every value that differs from the one before: some chunks repeat what they said.
    pub fn add_new(&mut self, key: &str, value: Raw) {
        let values = self.values(key);
        if values.last() != Some(&value) {
            values.push(value);
        }
    }

    fn values(&mut self, key: &str) -> &mut Vec<Raw> {
        let at = self.places.get(key).copied().unwrap_or_else(|| {
            self.places.insert(key.to_string(), self.entries.len());
            self.entries.push((key.to_string(), Vec::new()));
            self.entries.len() - 1
        });
        &mut self.entries[at].1
    }

    /// Gives all of them and keeps none.
    pub fn drain(&mut self) -> impl Iterator<Item = StreamEvent> {
        let Extras { entries, .. } = std::mem::take(self);
        entries.into_iter().map(|(key, values)| {
            let value = match values.as_slice() {
                [value] => value.clone(),
                values => Raw::array(values),
            };
            StreamEvent::Extra { key, value }
        })
    }
}
