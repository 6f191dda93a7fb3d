//! Whether two JSON texts have the same value: blanks, the order of keys and the spelling of strings make
//! no difference.

use analects_core::Raw;

/// How deep the order of keys and the spelling of strings are looked through. What lies deeper came from the
/// same text, or is taken for different.
const DEPTH: usize = 12;

/// Whether both are the same value.
pub(crate) fn same(left: &Raw, right: &Raw) -> bool {
    same_to(left, right, DEPTH)
}

fn same_to(left: &Raw, right: &Raw, depth: usize) -> bool {
    if left == right {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    match (left.as_str().as_bytes().first(), right.as_str().as_bytes().first()) {
        (Some(b'{'), Some(b'{')) => same_objects(left, right, depth),
        (Some(b'['), Some(b'[')) => same_arrays(left, right, depth),
        (Some(b'"'), Some(b'"')) => {
            left.as_string().is_some_and(|left| Some(left) == right.as_string())
        }
        _ => false,
    }
}

fn same_arrays(left: &Raw, right: &Raw, depth: usize) -> bool {
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else { return false };
    let mut pairs = left.iter().zip(&right);
    left.len() == right.len() && pairs.all(|(left, right)| same_to(left, right, depth))
}

/// Repeated keys count each; what has some must have them in the same order.
fn same_objects(left: &Raw, right: &Raw, depth: usize) -> bool {
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else { return false };
    let sorted = |map: &analects_core::RawMap| {
        let entry = |(key, value): (&Raw, &Raw)| {
            (key.as_string().unwrap_or_else(|| key.as_str().to_string()), value.clone())
        };
        let mut entries: Vec<(String, Raw)> = map.iter().map(entry).collect();
        entries.sort_by(|left, right| left.0.cmp(&right.0));
        entries
    };
    let (left, right) = (sorted(&left), sorted(&right));
    let mut pairs = left.iter().zip(&right);
    left.len() == right.len()
        && pairs.all(|(left, right)| left.0 == right.0 && same_to(&left.1, &right.1, depth))
}
