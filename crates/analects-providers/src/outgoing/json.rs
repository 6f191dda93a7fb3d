//! JSON that is changed in one place: an object with another member, text that is all Unicode.

use analects_core::{Raw, RawMap};
use serde_json::Value;

/// The length of `\ud83d`.
const ESCAPE: usize = 6;

/// The same JSON with U+FFFD in the place of every half of a surrogate pair, which the APIs refuse.
pub(crate) fn mended(raw: &Raw) -> Raw {
    let json = raw.as_str();
    if !json.contains("\\u") {
        return raw.clone();
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = match (surrogate(rest), surrogate(rest.get(ESCAPE..).unwrap_or_default())) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * ESCAPE,
            (Some(_), _) => {
                out.push_str("\\ufffd");
                rest = &rest[ESCAPE..];
                continue;
            }
            _ => 2,
        };
        let (kept, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
        out.push_str(kept);
        rest = after;
    }
    out.push_str(rest);
    Raw::parse(&out).unwrap_or_else(|_| raw.clone())
}

/// The code unit of an escape at the start of `text`, if it is a surrogate.
fn surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xD800..=0xDFFF).contains(unit))
}

/// Whether a string anywhere in this JSON is an address of a file, however it is spelled.
pub(crate) fn names_a_file(raw: &Raw) -> bool {
    let json = raw.as_str();
    // An escape may hide a letter, or stand between two.
    let may_name_one = json.contains('\\') || json.to_ascii_lowercase().contains("file:");
    if !may_name_one {
        return false;
    }
    // What cannot be read is nested too deeply to be sent on trust.
    let Ok(value) = serde_json::from_str(mended(raw).as_str()) else { return true };
    let mut open: Vec<&Value> = vec![&value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if is_file_address(text) => return true,
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    false
}

/// Whether a reader of addresses may take a text for one of a file: many skip blanks and control characters.
fn is_file_address(text: &str) -> bool {
    let letters = text.chars().filter(|c| !c.is_control() && !c.is_whitespace());
    letters.take(5).collect::<String>().eq_ignore_ascii_case("file:")
}

/// The same object with one value in the place of another, or at its end.
pub(crate) fn with(map: &RawMap, key: &str, value: Raw) -> RawMap {
    let mut out = RawMap::new();
    let mut value = Some(value);
    for (name, old) in map.iter() {
        let same = name.as_string().as_deref() == Some(key);
        match value.take_if(|_| same) {
            Some(value) => out.push(key, value),
            None if same => {}
            None => out.push_raw(name.clone(), old.clone()),
        }
    }
    if let Some(value) = value {
        out.push(key, value);
    }
    out
}

/// The same object without a member.
pub(crate) fn without(map: &RawMap, key: &str) -> RawMap {
    let mut out = RawMap::new();
    for (name, value) in map.iter().filter(|(name, _)| name.as_string().as_deref() != Some(key)) {
        out.push_raw(name.clone(), value.clone());
    }
    out
}
