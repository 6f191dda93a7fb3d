//! Decides whether two JSON texts have the same value.

use analects_core::{Raw, RawMap};

/// The nesting depth down to which the order of keys and the escapes of strings are ignored. Deeper values are the same
/// only if their texts are.
const DEPTH: usize = 12;

/// Returns whether two JSON texts have the same value.
pub(crate) fn same(left: &Raw, right: &Raw) -> bool {
    same_to(left, right, DEPTH)
}

/// Compares two values down to a depth.
fn same_to(left: &Raw, right: &Raw, depth: usize) -> bool {
    if left == right {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let first = left.as_str().as_bytes().first();
    if first != right.as_str().as_bytes().first() {
        return false;
    }
    match first {
        Some(b'{') => same_objects(left, right, depth),
        Some(b'[') => same_arrays(left, right, depth),
        Some(b'"') => left.as_string().is_some() && left.as_string() == right.as_string(),
        _ => false,
    }
}

/// Compares lists element by element.
fn same_arrays(left: &Raw, right: &Raw, depth: usize) -> bool {
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else {
        return false;
    };
    let mut pairs = left.iter().zip(&right);
    left.len() == right.len() && pairs.all(|(left, right)| same_to(left, right, depth))
}

/// Compares objects in any order of their keys. Repeated keys must be in the same order.
fn same_objects(left: &Raw, right: &Raw, depth: usize) -> bool {
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else {
        return false;
    };
    let left = sorted_entries(&left);
    let right = sorted_entries(&right);
    let mut pairs = left.iter().zip(&right);
    left.len() == right.len()
        && pairs.all(|(left, right)| left.0 == right.0 && same_to(&left.1, &right.1, depth))
}

/// Returns the entries sorted by key. Repeated keys keep their order.
fn sorted_entries(map: &RawMap) -> Vec<(String, Raw)> {
    let mut entries: Vec<(String, Raw)> = map
        .iter()
        .map(|(key, value)| (key_name(key), value.clone()))
        .collect();
    entries.sort_by(|left, right| left.0.cmp(&right.0));
    entries
}

/// Returns a key as text. A key that is not Unicode stays JSON.
fn key_name(key: &Raw) -> String {
    key.as_string().unwrap_or_else(|| key.as_str().to_string())
}
