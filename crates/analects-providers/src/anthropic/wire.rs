//! The shapes of Anthropic's Messages: the events that come back, which are read leniently, and
//! constants of both directions. Blocks go out in the core's own shapes, which are this API's.

use std::collections::BTreeMap;

use analects_core::{Raw, RawMap, TokenUsage};

use crate::decoding::{fill, object_member, read_fields, string_member};

/// The version of the API that this module speaks.
pub(crate) const VERSION: &str = "2023-06-01";

/// The beta feature that uploaded files require.
pub(super) const FILES_BETA: &str = "files-api-2025-04-14";

/// An event of a stream, or a whole answer, which has the type `message`.
pub(super) struct AnthropicEvent {
    /// The type of the event; empty if it has none.
    pub kind: String,
    /// All members, with the type.
    pub map: RawMap,
}

impl AnthropicEvent {
    /// Returns `None` for anything but a JSON object.
    pub fn read(data: &str) -> Option<AnthropicEvent> {
        let map = RawMap::parse(data).ok()?;
        Some(AnthropicEvent {
            kind: string_member(&map, "type").unwrap_or_default(),
            map,
        })
    }

    /// The number of the block that it is about.
    pub fn index(&self) -> u64 {
        self.map.get("index").and_then(Raw::to).unwrap_or_default()
    }

    /// A member that is an object.
    pub fn object(&self, key: &str) -> Option<RawMap> {
        object_member(&self.map, key)
    }
}

/// The token counts of an answer. They arrive in several events, each with the counts so far; a
/// count that an event does not mention stays.
#[derive(Debug, Clone, Default)]
pub(super) struct AnthropicUsage {
    counts: TokenUsage,
    /// Counts without a name in the core.
    unknown: FieldList,
}

impl AnthropicUsage {
    /// Takes the counts of an event and returns all counts so far.
    pub fn update(&mut self, map: &RawMap) -> TokenUsage {
        let counts = &mut self.counts;
        let unknown = read_fields(map, |key, value| match key {
            "input_tokens" => fill(&mut counts.input_tokens, value.to()),
            "output_tokens" => fill(&mut counts.output_tokens, value.to()),
            "cache_creation_input_tokens" => {
                fill(&mut counts.cache_creation_input_tokens, value.to())
            }
            "cache_read_input_tokens" => fill(&mut counts.cache_read_input_tokens, value.to()),
            "cache_creation" => read_cache_durations(counts, value),
            _ => false,
        });
        let mut usage = self.counts.clone();
        // Without new fields, those of earlier events still hold for the reader.
        if !unknown.is_empty() {
            for (key, value) in unknown {
                self.unknown.set(&key, value);
            }
            usage.extra = self.unknown.to_map();
        }
        usage
    }
}

/// Reads how many tokens were written to the cache for how long. Returns `false` if the value says
/// more than the core has names for.
fn read_cache_durations(counts: &mut TokenUsage, value: &Raw) -> bool {
    let Some(map) = value.as_object() else {
        return false;
    };
    let unknown = read_fields(&map, |key, value| match key {
        "ephemeral_5m_input_tokens" => fill(&mut counts.cache_creation_5m_tokens, value.to()),
        "ephemeral_1h_input_tokens" => fill(&mut counts.cache_creation_1h_tokens, value.to()),
        _ => false,
    });
    unknown.is_empty()
}

/// The members of an object that are set and replaced one by one. Unlike [`RawMap`], it stays fast
/// with many members. They keep the order of their first appearance.
#[derive(Debug, Clone, Default)]
pub(super) struct FieldList {
    entries: Vec<(Raw, Raw)>,
    /// The index in `entries` by name; for a repeated member, of the last one.
    positions: BTreeMap<String, usize>,
}

impl FieldList {
    /// Adds a member, or replaces its value.
    pub fn set(&mut self, key: &str, value: Raw) {
        match self.positions.get(key) {
            Some(position) => self.entries[*position].1 = value,
            None => self.push(Raw::string(key), value),
        }
    }

    /// The value of a member.
    pub fn get(&self, key: &str) -> Option<&Raw> {
        let position = self.positions.get(key)?;
        Some(&self.entries[*position].1)
    }

    /// Returns the object.
    pub fn to_map(&self) -> RawMap {
        let mut map = RawMap::new();
        for (key, value) in &self.entries {
            map.push_raw(key.clone(), value.clone());
        }
        map
    }

    /// Appends a member, even if there is one with this name.
    fn push(&mut self, key: Raw, value: Raw) {
        // A key with half a surrogate pair is kept, but cannot be asked for.
        if let Some(name) = key.as_string() {
            self.positions.insert(name, self.entries.len());
        }
        self.entries.push((key, value));
    }
}

impl From<&RawMap> for FieldList {
    fn from(map: &RawMap) -> FieldList {
        let mut fields = FieldList::default();
        for (key, value) in map.iter() {
            fields.push(key.clone(), value.clone());
        }
        fields
    }
}
