//! The shapes of Anthropic's Messages: the events that come back, read leniently, and the words that
//! both directions use. Blocks go out in the core's own shapes, which are this API's.

use std::collections::BTreeMap;

use analects_core::{Raw, RawMap, TokenUsage};

use crate::reading::{Rest, take, word};

/// The version of the API that this module speaks.
pub(crate) const VERSION: &str = "2023-06-01";

/// The name of the feature that files by their id need.
pub(super) const FILES_BETA: &str = "files-api-2025-04-14";

/// One event of a stream, or a whole answer, which has the type `message`.
pub(super) struct Event {
    pub kind: String,
    pub map: RawMap,
}

impl Event {
    /// `None` for anything but a JSON object.
    pub fn read(data: &str) -> Option<Event> {
        let map = RawMap::parse(data).ok()?;
        Some(Event {
            kind: word(&map, "type").unwrap_or_default(),
            map,
        })
    }

    /// The place of the block that it is about.
    pub fn index(&self) -> u64 {
        self.map.get("index").and_then(Raw::to).unwrap_or_default()
    }

    /// A member that is an object.
    pub fn object(&self, key: &str) -> Option<RawMap> {
        self.map.get(key)?.as_object()
    }
}

/// What is left of an object without the entries of these names, and without those that say nothing.
pub(super) fn without(map: &RawMap, names: &[&str]) -> Rest {
    take(map, |key, _| names.contains(&key))
}

/// Token counts, in instalments: each says how many there are by now, and a count that it does not
/// name stays as it was.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    counts: TokenUsage,
    rest: Fields,
}

impl Usage {
    /// Takes an instalment and gives all counts so far.
    pub fn add(&mut self, map: &RawMap) -> TokenUsage {
        let counts = &mut self.counts;
        let rest = take(map, |key, value| match key {
            "input_tokens" => put(&mut counts.input_tokens, value),
            "output_tokens" => put(&mut counts.output_tokens, value),
            "cache_creation_input_tokens" => put(&mut counts.cache_creation_input_tokens, value),
            "cache_read_input_tokens" => put(&mut counts.cache_read_input_tokens, value),
            "cache_creation" => lifetimes(counts, value),
            _ => false,
        });
        // Where nothing was added, what was told before still holds.
        let more = !rest.is_empty();
        for (key, value) in rest {
            self.rest.set(&key, value);
        }
        let extra = if more {
            self.rest.to_map()
        } else {
            RawMap::new()
        };
        TokenUsage {
            extra,
            ..self.counts.clone()
        }
    }
}

fn put(count: &mut Option<u64>, value: &Raw) -> bool {
    let number = value.to();
    *count = number.or(*count);
    number.is_some()
}

/// Reads how long the tokens written to the cache are kept; `false` where that says more than the core
/// has names for.
fn lifetimes(counts: &mut TokenUsage, value: &Raw) -> bool {
    let Some(map) = value.as_object() else {
        return false;
    };
    let rest = take(&map, |key, value| match key {
        "ephemeral_5m_input_tokens" => put(&mut counts.cache_creation_5m_tokens, value),
        "ephemeral_1h_input_tokens" => put(&mut counts.cache_creation_1h_tokens, value),
        _ => false,
    });
    rest.is_empty()
}

/// An object whose members come and change one by one, however many there are: they stand in the order in
/// which they came first.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields {
    entries: Vec<(Raw, Raw)>,
    /// Where a member is; of a repeated one, the last.
    places: BTreeMap<String, usize>,
}

impl Fields {
    /// Adds a member, or replaces its value.
    pub fn set(&mut self, key: &str, value: Raw) {
        match self.places.get(key) {
            Some(at) => self.entries[*at].1 = value,
            None => self.push(Raw::string(key), value),
        }
    }

    /// The value of a member.
    pub fn get(&self, key: &str) -> Option<&Raw> {
        self.places.get(key).map(|at| &self.entries[*at].1)
    }

    /// The object.
    pub fn to_map(&self) -> RawMap {
        self.entries
            .iter()
            .map(|(key, value)| (key, value))
            .collect()
    }

    fn push(&mut self, key: Raw, value: Raw) {
        // A key with half a surrogate pair is kept, and is nothing that anybody asks for.
        if let Some(name) = key.as_string() {
            self.places.insert(name, self.entries.len());
        }
        self.entries.push((key, value));
    }
}

impl From<&RawMap> for Fields {
    fn from(map: &RawMap) -> Fields {
        let mut fields = Fields::default();
        for (key, value) in map.iter() {
            fields.push(key.clone(), value.clone());
        }
        fields
    }
}
