//! An object whose members come and change one by one, however many there are.

use std::collections::HashMap;

use analects_core::{Raw, RawMap};

/// The members of an object, in the order in which they came first.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields {
    entries: Vec<(Raw, Raw)>,
    /// Where a member is; of a repeated one, the last.
    places: HashMap<String, usize>,
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
        let mut map = RawMap::new();
        for (key, value) in &self.entries {
            map.push_raw(key.clone(), value.clone());
        }
        map
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
