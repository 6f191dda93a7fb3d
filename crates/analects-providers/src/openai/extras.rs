//! What an answer holds beyond its events: kept until the end, then told.

use std::collections::BTreeMap;

use analects_core::{Raw, StreamEvent};

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
                values => list(values),
            };
            StreamEvent::Extra { key, value }
        })
    }
}

/// The values as one JSON array.
pub(crate) fn list(values: &[Raw]) -> Raw {
    let items: Vec<_> = values.iter().map(Raw::as_str).collect();
    let list = format!("[{}]", items.join(","));
    Raw::parse(&list).unwrap_or_else(|_| Raw::string(&list))
}
