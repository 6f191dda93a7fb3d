//! Merge patches (RFC 7396) over JSON as text: objects are merged key by key, `null` removes, anything
//! else replaces.

use std::collections::BTreeMap;

use crate::{Raw, RawMap};

/// Objects that are nested deeper are replaced as a whole, so that no input makes us recurse.
const DEEPEST: usize = 32;

/// A value that patches were merged into.
#[derive(Debug, Default)]
struct Node {
    /// Anything but an object that was merged; `None` is such an object.
    value: Option<Raw>,
    object: Patched,
}

/// An object that patches were merged into.
#[derive(Debug, Default)]
pub(super) struct Patched {
    /// By their keys, which are JSON strings in their raw form.
    entries: BTreeMap<String, Node>,
}

impl Patched {
    /// Merges a patch; one that is no object changes nothing.
    pub(super) fn merge(&mut self, patch: &Raw) {
        self.merge_below(patch, DEEPEST);
    }

    fn merge_below(&mut self, patch: &Raw, depth: usize) {
        let Some(patch) = patch.as_object() else { return };
        for (key, value) in patch.iter() {
            let key = normal(key);
            if value.as_str() == "null" {
                self.entries.remove(&key);
            } else if depth > 0 && value.as_str().starts_with('{') {
                self.object_at(key, depth).merge_below(value, depth - 1);
            } else {
                let value = Some(value.clone());
                self.entries.insert(key, Node { value, object: Patched::default() });
            }
        }
    }

    /// The object at a key, made of whatever is there.
    fn object_at(&mut self, key: String, depth: usize) -> &mut Patched {
        let node = self.entries.entry(key).or_default();
        if let Some(value) = node.value.take() {
            node.object.merge_below(&value, depth - 1);
        }
        &mut node.object
    }

    pub(super) fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        out.push('{');
        for (at, (key, node)) in self.entries.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(key);
            out.push(':');
            match &node.value {
                Some(value) => out.push_str(value.as_str()),
                None => node.object.write(out),
            }
        }
        out.push('}');
    }
}

/// A key in its usual spelling, so that `"a"` and `"\u0061"` are one.
fn normal(key: &Raw) -> String {
    match key.as_string() {
        Some(text) => Raw::string(&text).as_str().to_string(),
        None => key.as_str().to_string(),
    }
}

/// The patch that makes one object of another; `None` if they are equal. Values are compared as text.
pub(super) fn difference(before: &Raw, after: &Raw) -> Option<Raw> {
    difference_below(before, after, DEEPEST)
}

fn difference_below(before: &Raw, after: &Raw, depth: usize) -> Option<Raw> {
    let (before, after) = (entries(before), entries(after));
    let mut patch = RawMap::new();
    let mut push = |key: &str, value: Raw| patch.push_raw(Raw::trusted(key.to_string()), value);
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        push(key, Raw::trusted("null".to_string()));
    }
    let is_object = |raw: &Raw| raw.as_str().starts_with('{');
    for (key, value) in &after {
        match before.get(key) {
            Some(old) if old == value => {}
            // What is merged into an object stays in it, so what is gone has to be named.
            Some(old) if depth > 0 && is_object(old) && is_object(value) => {
                if let Some(below) = difference_below(old, value, depth - 1) {
                    push(key, below);
                }
            }
            _ => push(key, value.clone()),
        }
    }
    (!patch.is_empty()).then(|| patch.to_raw())
}

fn entries(raw: &Raw) -> BTreeMap<String, Raw> {
    let map = raw.as_object().unwrap_or_default();
    map.iter().map(|(key, value)| (normal(key), value.clone())).collect()
}
