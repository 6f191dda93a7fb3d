//! JSON that came from elsewhere and leaves as it came. Not a JSON tree: only text, split on demand.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::{JsonError, json};

/// A JSON value as text, on one line: checked, never interpreted, equal by its bytes.
///
/// `serde_json::Value` would lose what real transcripts hold: 30-digit integers, `1e400`, repeated
/// keys, lone surrogates, deep nesting. All of these pass through a `Raw` unchanged.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw(Box<str>);

impl Raw {
    /// Takes a JSON text. Blanks around it are dropped; line ends between its tokens become blanks
    /// (inside strings JSON has none), so that a record always fits on one line.
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

    /// Takes text that is known to be JSON on one line because this crate wrote it.
    pub(crate) fn trusted(text: String) -> Raw {
        Raw(text.into())
    }

    /// The JSON string that spells `text`.
    pub fn string(text: &str) -> Raw {
        let mut out = String::with_capacity(text.len() + 2);
        json::write_string(&mut out, text);
        Raw::trusted(out)
    }

    /// These values as one JSON array.
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

    /// The value as a Rust type, or `None` where it has another shape.
    pub fn to<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.0).ok()
    }

    /// The entries of an object, in order, repeated keys included; `None` for anything else.
    pub fn as_object(&self) -> Option<RawMap> {
        RawMap::parse(&self.0).ok()
    }

    /// The elements of an array; `None` for anything else.
    pub fn as_array(&self) -> Option<Vec<Raw>> {
        if !self.0.starts_with('[') {
            return None;
        }
        let mut deserializer = serde_json::Deserializer::from_str(&self.0);
        deserializer.deserialize_seq(ArrayVisitor).ok()
    }

    /// The decoded string; `None` for anything else, and for a string with a lone surrogate.
    pub fn as_string(&self) -> Option<String> {
        if self.0.starts_with('"') {
            self.to()
        } else {
            None
        }
    }

    /// The `type` of an object, which says what it is, if it has one.
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

/// A value that serde_json has checked already is not checked again.
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

/// The entries of a JSON object in their order, with repeated keys.
#[derive(Clone, Default)]
pub struct RawMap {
    /// Every message and every block has such a map, and nearly all of them are empty: so an empty one is
    /// small.
    entries: Option<Box<Entries>>,
}

/// Keys are JSON strings in their raw form, since a key too may hold a lone surrogate.
#[derive(Clone, Default)]
struct Entries(Vec<(Raw, Raw)>);

impl RawMap {
    /// An object without entries.
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

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// The number of entries, repeated keys counted each.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Adds an entry at the end, even if the key is there already.
    pub fn push(&mut self, key: &str, value: Raw) {
        self.entries_mut().push((Raw::string(key), value));
    }

    /// Adds an entry whose key is a JSON string in its raw form, as [`RawMap::iter`] gives it.
    pub fn push_raw(&mut self, key: Raw, value: Raw) {
        self.entries_mut().push((key, value));
    }

    /// The value of a key; of a repeated key, the last.
    pub fn get(&self, key: &str) -> Option<&Raw> {
        self.position(key).map(|at| &self.entries()[at].1)
    }

    /// The decoded string under a key; `None` where it is missing or something else.
    pub fn string(&self, key: &str) -> Option<String> {
        self.get(key)?.as_string()
    }

    /// Keys (raw JSON strings) and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Raw, &Raw)> {
        self.entries().iter().map(|(key, value)| (key, value))
    }

    /// Puts a value in the place of the one that the key has, or at the end. A repeated key is there once
    /// afterwards, in its first place.
    pub fn set(&mut self, key: &str, value: Raw) {
        let Some(at) = self.entries().iter().position(|(raw, _)| is_key(raw, key)) else {
            return self.push(key, value);
        };
        let later = self.entries_mut().split_off(at + 1);
        self.entries_mut()[at].1 = value;
        self.entries_mut()
            .extend(later.into_iter().filter(|(raw, _)| !is_key(raw, key)));
    }

    /// Removes all entries of a key, and gives the value of the last.
    pub fn remove(&mut self, key: &str) -> Option<Raw> {
        let last = self.get(key).cloned();
        if last.is_some() {
            self.entries_mut().retain(|(raw, _)| !is_key(raw, key));
        }
        last
    }

    /// The object as one JSON value.
    pub fn to_raw(&self) -> Raw {
        let mut out = String::new();
        let mut writer = json::ObjectWriter::new(&mut out);
        writer.entries(self);
        writer.end();
        Raw::trusted(out)
    }

    /// Removes and returns the value of a key if `read` accepts it; otherwise it stays.
    pub(crate) fn take<T>(&mut self, key: &str, read: impl FnOnce(&Raw) -> Option<T>) -> Option<T> {
        let at = self.position(key)?;
        let value = read(&self.entries()[at].1)?;
        self.entries_mut().remove(at);
        Some(value)
    }

    /// How many entries have this key.
    pub(crate) fn count(&self, key: &str) -> usize {
        self.entries()
            .iter()
            .filter(|(raw, _)| is_key(raw, key))
            .count()
    }

    /// Whether any of the keys is one of `names`.
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

/// Takes entries as [`RawMap::iter`] gives them.
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

/// Equal by what they hold, whether or not they ever held more.
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
