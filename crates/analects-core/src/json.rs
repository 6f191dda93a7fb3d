//! Handwritten JSON reading and writing: objects are split into raw entries, known keys are taken out, and the rest is
//! kept. Also connects [`Json`] types to serde.

use std::sync::Arc;

use thiserror::Error;

use crate::{Problem, Raw, RawMap, Text};

/// Why a text does not have the expected JSON shape.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JsonError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    Syntax(String),
    /// The text is JSON, but not an object.
    #[error("not a JSON object: {0}")]
    NotAnObject(String),
    /// A required field is missing or has the wrong type.
    #[error("field \"{field}\" is missing or is not {expected}")]
    Field {
        /// The field's name.
        field: &'static str,
        /// The expected type, in words.
        expected: &'static str,
    },
}

impl JsonError {
    pub(crate) fn syntax(error: serde_json::Error) -> JsonError {
        JsonError::Syntax(error.to_string())
    }

    pub(crate) fn not_an_object(error: serde_json::Error) -> JsonError {
        match error.classify() {
            serde_json::error::Category::Data => JsonError::NotAnObject(error.to_string()),
            _ => JsonError::syntax(error),
        }
    }
}

/// A type with a JSON representation that is read without losing unknown data.
pub trait Json: Sized {
    /// Reads a value and appends oddities to `problems`. Fails if `raw` has no usable content.
    fn read(raw: &Raw, problems: &mut Vec<Problem>) -> Result<Self, JsonError>;

    /// Appends the value's JSON to `out`, on one line.
    fn write(&self, out: &mut String);

    /// Reads a value from JSON text and discards the problems.
    fn from_json(text: &str) -> Result<Self, JsonError> {
        Self::read(&Raw::parse(text)?, &mut Vec::new())
    }

    /// The value as JSON text on one line.
    fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }
}

impl Json for Raw {
    fn read(raw: &Raw, _: &mut Vec<Problem>) -> Result<Raw, JsonError> {
        Ok(raw.clone())
    }

    fn write(&self, out: &mut String) {
        out.push_str(self.as_str());
    }
}

impl Json for RawMap {
    fn read(raw: &Raw, _: &mut Vec<Problem>) -> Result<RawMap, JsonError> {
        RawMap::parse(raw.as_str())
    }

    fn write(&self, out: &mut String) {
        out.push_str(self.to_raw().as_str());
    }
}

/// Implements serde for [`Json`] types, by way of `serde_json`'s raw values.
macro_rules! serde_by_json {
    ($($name:ty),+ $(,)?) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let text = $crate::Json::to_json(self);
                let raw = serde_json::value::RawValue::from_string(text);
                raw.map_err(serde::ser::Error::custom)?.serialize(serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
                let raw = $crate::Raw::from_raw_value(&value);
                $crate::Json::read(&raw, &mut Vec::new()).map_err(serde::de::Error::custom)
            }
        }
    )+};
}

serde_by_json!(
    Raw,
    RawMap,
    crate::Text,
    crate::Content,
    crate::Block,
    crate::Message,
    crate::TokenUsage,
);

/// Writes a JSON string. U+2028 and U+2029 are escaped, since some readers split lines at them.
pub(crate) fn write_string(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    // Runs of characters that need no escape are copied as a whole.
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if !MAY_NEED_ESCAPE[*byte as usize] {
            continue;
        }
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0xe2 if !is_line_separator(&bytes[at..]) => continue,
            _ => "",
        };
        out.push_str(&text[copied..at]);
        out.push_str(short);
        copied = at + 1;
        if short.is_empty() {
            copied += write_unicode_escape(out, &text[at..]);
        }
    }
    out.push_str(&text[copied..]);
    out.push('"');
}

/// Returns whether the bytes begin with U+2028 or U+2029.
fn is_line_separator(bytes: &[u8]) -> bool {
    matches!(bytes, [0xe2, 0x80, 0xa8 | 0xa9, ..])
}

/// Writes the first character of `text` as `\uXXXX` and returns how many bytes it has beyond one.
fn write_unicode_escape(out: &mut String, text: &str) -> usize {
    let c = text.chars().next().unwrap_or_default();
    out.push_str(&format!("\\u{:04x}", u32::from(c)));
    c.len_utf8() - 1
}

/// The first bytes of characters that may need an escape. None of these bytes occurs inside a character.
static MAY_NEED_ESCAPE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table[0x7f] = true;
    // The first byte of U+2028, of U+2029 and of many other characters.
    table[0xe2] = true;
    table
};

/// Writes one JSON object, field by field; absent values write nothing.
pub(crate) struct ObjectWriter<'a> {
    out: &'a mut String,
    first: bool,
}

impl<'a> ObjectWriter<'a> {
    pub(crate) fn new(out: &'a mut String) -> ObjectWriter<'a> {
        out.push('{');
        ObjectWriter { out, first: true }
    }

    fn key(&mut self, key: &str) -> &mut String {
        self.comma();
        write_string(self.out, key);
        self.out.push(':');
        self.out
    }

    fn comma(&mut self) {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
    }

    pub(crate) fn string(&mut self, key: &str, value: &str) {
        write_string(self.key(key), value);
    }

    pub(crate) fn opt_string(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.string(key, value);
        }
    }

    /// Writes a string field unless it is empty.
    pub(crate) fn some_string(&mut self, key: &str, value: &str) {
        self.opt_string(key, (!value.is_empty()).then_some(value));
    }

    pub(crate) fn json<T: Json>(&mut self, key: &str, value: &T) {
        value.write(self.key(key));
    }

    pub(crate) fn opt_json<T: Json>(&mut self, key: &str, value: Option<&T>) {
        if let Some(value) = value {
            self.json(key, value);
        }
    }

    pub(crate) fn opt_text(&mut self, key: &str, value: Option<&Text>) {
        self.opt_json(key, value);
    }

    pub(crate) fn opt_u64(&mut self, key: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.key(key).push_str(&value.to_string());
        }
    }

    pub(crate) fn opt_bool(&mut self, key: &str, value: Option<bool>) {
        if let Some(value) = value {
            self.key(key).push_str(if value { "true" } else { "false" });
        }
    }

    /// Writes `true`; writes nothing for `false`.
    pub(crate) fn flag(&mut self, key: &str, value: bool) {
        self.opt_bool(key, value.then_some(true));
    }

    pub(crate) fn strings(&mut self, key: &str, values: &[String]) {
        if values.is_empty() {
            return;
        }
        let out = self.key(key);
        out.push('[');
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write_string(out, value);
        }
        out.push(']');
    }

    pub(crate) fn entries(&mut self, map: &RawMap) {
        for (key, value) in map.iter() {
            self.comma();
            self.out.push_str(key.as_str());
            self.out.push(':');
            self.out.push_str(value.as_str());
        }
    }

    pub(crate) fn end(self) {
        self.out.push('}');
    }
}

/// Writes an object: the known fields, which `fields` writes, and the unknown ones.
///
/// Unknown fields come last, for readability. If one of them has the name of a known field (a repeated key, or a value
/// of the wrong type), they come first, because readers use the last occurrence of a key.
pub(crate) fn write_object(
    out: &mut String,
    known: &[&str],
    unknown: &RawMap,
    fields: impl FnOnce(&mut ObjectWriter<'_>),
) {
    let mut writer = ObjectWriter::new(out);
    let first = unknown.has_any(known);
    if first {
        writer.entries(unknown);
    }
    fields(&mut writer);
    if !first {
        writer.entries(unknown);
    }
    writer.end();
}

/// Reads a finite number that fits into an `f64`.
pub(crate) fn number(raw: &Raw) -> Option<f64> {
    raw.to::<f64>().filter(|value| value.is_finite())
}

/// Reads a string that many values share. Most strings have no escapes and need no decoding.
pub(crate) fn shared_string(raw: &Raw) -> Option<Arc<str>> {
    let plain = raw
        .as_str()
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match plain {
        Some(plain) if !plain.contains('\\') => Some(plain.into()),
        _ => raw.as_string().map(Arc::from),
    }
}

/// Reads a list of strings. An explicit empty list is left in place, since it means the same as an absent field.
pub(crate) fn nonempty_strings(raw: &Raw) -> Option<Vec<String>> {
    raw.to().filter(|strings: &Vec<_>| !strings.is_empty())
}

/// Reads `true`. An explicit `false` is left in place, since it means the same as an absent field.
pub(crate) fn flag(raw: &Raw) -> Option<()> {
    (raw.as_str() == "true").then_some(())
}
