//! Foreign JSON that is written back unchanged. This is no JSON tree: values stay text and are split on demand.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::{JsonError, json};

/// A JSON value as text on one line. It is checked but never interpreted, and compares by its bytes.
///
/// `serde_json::Value` would lose what real transcripts hold: 30-digit integers, `1e400`, repeated keys, lone
/// surrogates, deep nesting. All of these pass through a `Raw` unchanged.
///
/// ```
/// use analects_core::Raw;
///
/// let raw = Raw::parse("{\"n\": 12345678901234567890123, \"n\": 2}")?;
/// assert_eq!(raw.as_str(), "{\"n\": 12345678901234567890123, \"n\": 2}");
/// assert_eq!(raw.as_object().map(|map| map.len()), Some(2));
/// # Ok::<(), analects_core::JsonError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw(Box<str>);

impl Raw {
    /// Parses a JSON text. Surrounding white space is dropped, and line breaks between tokens become spaces, so that a
    /// record always fits on one line. Strings in JSON hold no line breaks.
    pub fn parse(text: &str) -> Result<Raw, JsonError> {
        let value: &RawValue = serde_json::from_str(text).map_err(JsonError::syntax)?;
        Ok(Raw::from_raw_value(value))
    }

    pub(crate) fn from_raw_value(value: &RawValue) -> Raw {
        let text = value.get();
        if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
            Raw(text.replace(['\n', '\r'], " ").into())
        } else {
            Raw(text.into())
        }
    }

    /// Wraps text that this crate wrote, and that therefore is JSON on one line.
    pub(crate) fn trusted(text: String) -> Raw {
        Raw(text.into())
    }

    /// Returns `text` as a JSON string.
    pub fn string(text: &str) -> Raw {
        let mut out = String::with_capacity(text.len() + 2);
        json::write_string(&mut out, text);
        Raw::trusted(out)
    }

    /// Returns the values as a JSON array.
    pub fn array(values: &[Raw]) -> Raw {
        let values: Vec<_> = values.iter().map(Raw::as_str).collect();
        Raw::trusted(format!("[{}]", values.join(",")))
    }

    /// The empty object, `{}`.
    pub fn empty_object() -> Raw {
        Raw("{}".into())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Deserializes the value; `None` if it has another shape.
    pub fn to<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.0).ok()
    }

    /// The entries of an object, in order and with repeated keys; `None` for any other value.
    pub fn as_object(&self) -> Option<RawMap> {
        RawMap::parse(&self.0).ok()
    }

    /// The elements of an array; `None` for any other value.
    pub fn as_array(&self) -> Option<Vec<Raw>> {
        if !self.0.starts_with('[') {
            return None;
        }
        let mut deserializer = serde_json::Deserializer::from_str(&self.0);
        deserializer.deserialize_seq(ArrayVisitor).ok()
    }

    /// The decoded string; `None` for any other value, and for a string with a lone surrogate.
    pub fn as_string(&self) -> Option<String> {
        if self.0.starts_with('"') {
            self.to()
        } else {
            None
        }
    }

    /// The `type` field of an object, if that is a string.
    pub fn kind(&self) -> Option<String> {
        self.as_object()?.string("type")
    }
}

impl From<bool> for Raw {
    fn from(value: bool) -> Raw {
        Raw::trusted(value.to_string())
    }
}

impl From<i64> for Raw {
    fn from(value: i64) -> Raw {
        Raw::trusted(value.to_string())
    }
}

impl From<u64> for Raw {
    fn from(value: u64) -> Raw {
        Raw::trusted(value.to_string())
    }
}

/// Skips the check, since serde_json has checked the value already.
impl From<&RawValue> for Raw {
    fn from(value: &RawValue) -> Raw {
        Raw::from_raw_value(value)
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The entries of a JSON object, in order and with repeated keys.
#[derive(Clone, Default)]
pub struct RawMap {
    /// Boxed, because every message and block has a map, and nearly all maps are empty.
    entries: Option<Box<Entries>>,
}

/// Entries by key. A key is a raw JSON string, since it too may hold a lone surrogate.
#[derive(Clone, Default)]
struct Entries(Vec<(Raw, Raw)>);

impl RawMap {
    /// Creates an empty object.
    pub fn new() -> RawMap {
        RawMap::default()
    }

    /// Splits the text of a JSON object into its entries.
    pub fn parse(text: &str) -> Result<RawMap, JsonError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let map = deserializer
            .deserialize_map(ObjectVisitor)
            .map_err(JsonError::not_an_object)?;
        deserializer.end().map_err(JsonError::syntax)?;
        Ok(map)
    }

    fn entries(&self) -> &[(Raw, Raw)] {
        self.entries.as_ref().map_or(&[], |entries| &entries.0)
    }

    fn entries_mut(&mut self) -> &mut Vec<(Raw, Raw)> {
        &mut self.entries.get_or_insert_default().0
    }

    /// Returns whether the object has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// The number of entries, counting repeated keys.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Appends an entry, even if the key exists.
    pub fn push(&mut self, key: &str, value: Raw) {
        self.entries_mut().push((Raw::string(key), value));
    }

    /// Appends an entry with a key in the raw form of [`RawMap::iter`].
    pub fn push_raw(&mut self, key: Raw, value: Raw) {
        self.entries_mut().push((key, value));
    }

    /// The value of a key; the last one if the key is repeated.
    pub fn get(&self, key: &str) -> Option<&Raw> {
        self.position(key).map(|at| &self.entries()[at].1)
    }

    /// The decoded string of a key; `None` if the key is missing or has another type.
    pub fn string(&self, key: &str) -> Option<String> {
        self.get(key)?.as_string()
    }

    /// Iterates over keys, as raw JSON strings, and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Raw, &Raw)> {
        self.entries().iter().map(|(key, value)| (key, value))
    }

    /// Replaces the value of a key, or appends the entry. A repeated key keeps only its first position.
    pub fn set(&mut self, key: &str, value: Raw) {
        let Some(at) = self.entries().iter().position(|(raw, _)| is_key(raw, key)) else {
            return self.push(key, value);
        };
        let later = self.entries_mut().split_off(at + 1);
        self.entries_mut()[at].1 = value;
        self.entries_mut()
            .extend(later.into_iter().filter(|(raw, _)| !is_key(raw, key)));
    }

    /// Removes all entries of a key and returns the last value.
    pub fn remove(&mut self, key: &str) -> Option<Raw> {
        let last = self.get(key).cloned();
        if last.is_some() {
            self.entries_mut().retain(|(raw, _)| !is_key(raw, key));
        }
        last
    }

    /// Returns the object as a JSON value.
    pub fn to_raw(&self) -> Raw {
        let mut out = String::new();
        let mut writer = json::ObjectWriter::new(&mut out);
        writer.entries(self);
        writer.end();
        Raw::trusted(out)
    }

    /// Removes the last entry of a key and returns what `read` makes of its value. If `read` returns `None`, the entry
    /// stays.
    pub(crate) fn take<T>(&mut self, key: &str, read: impl FnOnce(&Raw) -> Option<T>) -> Option<T> {
        let at = self.position(key)?;
        let value = read(&self.entries()[at].1)?;
        self.entries_mut().remove(at);
        Some(value)
    }

    /// The number of entries with this key.
    pub(crate) fn count(&self, key: &str) -> usize {
        self.entries()
            .iter()
            .filter(|(raw, _)| is_key(raw, key))
            .count()
    }

    /// Returns whether any key is one of `names`.
    pub(crate) fn has_any(&self, names: &[&str]) -> bool {
        self.entries()
            .iter()
            .any(|(key, _)| names.iter().any(|name| is_key(key, name)))
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.entries().iter().rposition(|(raw, _)| is_key(raw, key))
    }
}

impl<const N: usize> From<[(&str, Raw); N]> for RawMap {
    fn from(entries: [(&str, Raw); N]) -> RawMap {
        entries.into_iter().collect()
    }
}

impl<K: AsRef<str>> FromIterator<(K, Raw)> for RawMap {
    fn from_iter<I: IntoIterator<Item = (K, Raw)>>(entries: I) -> RawMap {
        let mut map = RawMap::new();
        for (key, value) in entries {
            map.push(key.as_ref(), value);
        }
        map
    }
}

/// Collects entries in the form of [`RawMap::iter`].
impl<'a> FromIterator<(&'a Raw, &'a Raw)> for RawMap {
    fn from_iter<I: IntoIterator<Item = (&'a Raw, &'a Raw)>>(entries: I) -> RawMap {
        let mut map = RawMap::new();
        map.extend(entries);
        map
    }
}

impl<'a> Extend<(&'a Raw, &'a Raw)> for RawMap {
    fn extend<I: IntoIterator<Item = (&'a Raw, &'a Raw)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.push_raw(key.clone(), value.clone());
        }
    }
}

/// Compares the entries, whether or not a map was ever filled.
impl PartialEq for RawMap {
    fn eq(&self, other: &RawMap) -> bool {
        self.entries() == other.entries()
    }
}

impl Eq for RawMap {}

impl Hash for RawMap {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.entries().hash(state);
    }
}

impl fmt::Debug for RawMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Returns whether a raw JSON string spells `key`. Most keys have no escapes and need no decoding.
fn is_key(raw: &Raw, key: &str) -> bool {
    let literal = raw.as_str();
    match literal.len().checked_sub(2) {
        Some(len) if !literal.contains('\\') => len == key.len() && &literal[1..=len] == key,
        _ => raw.as_string().is_some_and(|decoded| decoded == key),
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = RawMap;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<RawMap, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = access.next_entry::<&RawValue, &RawValue>()? {
            entries.push((Raw::from_raw_value(key), Raw::from_raw_value(value)));
        }
        let entries = (!entries.is_empty()).then(|| Box::new(Entries(entries)));
        Ok(RawMap { entries })
    }
}

struct ArrayVisitor;

impl<'de> Visitor<'de> for ArrayVisitor {
    type Value = Vec<Raw>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Vec<Raw>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element::<&RawValue>()? {
            items.push(Raw::from_raw_value(item));
        }
        Ok(items)
    }
}
