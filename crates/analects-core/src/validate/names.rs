//! Rules that several APIs share: names, identifiers, numbers, and sets of things that may stand once.

use std::collections::BTreeSet;

use super::{Node, Report};

/// Whether `name` has one to `longest` letters, digits, `_` or `-`.
pub(super) fn is_plain(name: &str, longest: usize) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=longest).contains(&name.len()) && name.chars().all(plain)
}

/// Checks that the names of tools are well formed and that none stands twice.
pub(super) fn tool_names(
    tools: impl IntoIterator<Item = (Node, Option<String>)>,
    is_name: impl Fn(&str) -> bool,
    report: &mut Report,
) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (tool, name) in tools {
        let name = name.unwrap_or_default();
        report.expect(is_name(&name), &tool, "tool-name", "the tool's name is not allowed");
        report.expect(!names.contains(&name), &tool, "tool-twice", "the tool's name stands twice");
        names.insert(name);
    }
    names
}

/// Checks that a member, if it is there, is a number in a range.
pub(super) fn in_range(
    body: &Node,
    key: &str,
    range: std::ops::RangeInclusive<f64>,
    report: &mut Report,
) {
    if let Some(value) = body.get(key) {
        let fits = value.number().is_some_and(|number| range.contains(&number));
        let message = format!("not a number from {} to {}", range.start(), range.end());
        report.expect(fits, &value, "range", &message);
    }
}

/// Checks that a limit, if it is there, is a whole number above 0.
pub(super) fn positive(body: &Node, key: &str, report: &mut Report) {
    if let Some(value) = body.get(key) {
        let fits = value.number().is_some_and(|number| number >= 1.0 && number.fract() == 0.0);
        report.expect(fits, &value, "limit", "not a whole number above 0");
    }
}

/// Checks that a model is named.
pub(super) fn model(body: &Node, report: &mut Report) {
    let named = body.word("model").is_some_and(|name| !name.is_empty());
    report.expect(named, body, "model", "no model is named");
}
