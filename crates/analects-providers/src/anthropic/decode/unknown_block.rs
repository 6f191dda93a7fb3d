//! A block of a type that the core does not know, put together from its start and its deltas.

use std::collections::BTreeMap;

use analects_core::{Json, Raw, RawMap, Text};

use super::super::wire::FieldList;
use crate::decoding::{fields_except, text_member};

/// A block of unknown type while it grows.
#[derive(Debug, Clone, Default)]
pub(super) struct UnknownBlock {
    /// Its members as the start and the deltas set them.
    fields: FieldList,
    /// The pieces of its input so far.
    json: Text,
    /// Members that grow by deltas.
    texts: BTreeMap<String, Text>,
}

impl UnknownBlock {
    /// A block with the members of its start.
    pub fn new(block: &RawMap) -> UnknownBlock {
        UnknownBlock {
            fields: block.into(),
            ..UnknownBlock::default()
        }
    }

    /// Adds a piece. Returns `false` for a piece of the input without any text.
    pub fn delta(&mut self, kind: &str, delta: &RawMap) -> bool {
        if kind != "input_json_delta" {
            self.add_members(delta);
            return true;
        }
        let Some(json) = text_member(delta, "partial_json") else {
            return false;
        };
        self.json.push(&json);
        true
    }

    /// Adds a delta of unknown type: texts grow, other members are replaced.
    fn add_members(&mut self, delta: &RawMap) {
        for (key, value) in fields_except(delta, &["type"]) {
            match Text::from_raw(&value) {
                Some(text) => self.add_text(key, &text),
                None => self.fields.set(&key, value),
            }
        }
    }

    /// Appends text to a member. Its value at the start of the block comes first.
    fn add_text(&mut self, key: String, text: &Text) {
        if !self.texts.contains_key(&key) {
            let start = self.fields.get(&key).and_then(Text::from_raw);
            self.texts.insert(key.clone(), start.unwrap_or_default());
        }
        self.texts.entry(key).or_default().push(text);
    }

    /// The block as far as it came, with its input as text.
    pub fn into_partial_block(mut self) -> Raw {
        let json = std::mem::take(&mut self.json);
        let mut fields = self.into_fields();
        fields.set("partial_json", Raw::string(&json.as_str()));
        fields.to_map().to_raw()
    }

    /// The complete block. Input that is not JSON stays text, as `partial_json`.
    pub fn into_block(mut self) -> Raw {
        let json = std::mem::take(&mut self.json);
        let mut fields = self.into_fields();
        let json = json.as_str();
        let json = json.trim();
        if !json.is_empty() {
            match Raw::parse(json) {
                Ok(input) => fields.set("input", input),
                Err(_) => fields.set("partial_json", Raw::string(json)),
            }
        }
        fields.to_map().to_raw()
    }

    /// The members, with their grown texts.
    fn into_fields(self) -> FieldList {
        let mut fields = self.fields;
        for (key, text) in self.texts {
            let text = Raw::parse(&text.to_json());
            fields.set(&key, text.unwrap_or_else(|_| Raw::string("")));
        }
        fields
    }
}
