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
        report.expect(
            is_name(&name),
            &tool,
            "tool-name",
            "the tool's name is not allowed",
        );
        report.expect(
            !names.contains(&name),
            &tool,
            "tool-twice",
            "the tool's name stands twice",
        );
        names.insert(name);
    }
    names
}

/// Checks that the schema of a tool's arguments, if it is there, is one of an object.
pub(super) fn object_schema(tool: &Node, key: &str, report: &mut Report) {
    if let Some(schema) = tool.get(key) {
        let kind = schema.word("type").unwrap_or_default();
        let is_object = kind.eq_ignore_ascii_case("object");
        report.expect(
            is_object,
            tool,
            "tool-schema",
            "the schema's type is not \"object\"",
        );
        let listed = schema
            .get("properties")
            .is_some_and(|properties| properties.is_object());
        report.expect(
            listed,
            tool,
            "tool-schema",
            "the schema lists no properties",
        );
    }
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
    at_least(1, body, key, report);
}

/// Checks that a limit, if it is there, is a whole number and not below the smallest.
pub(super) fn at_least(smallest: u32, body: &Node, key: &str, report: &mut Report) {
    if let Some(value) = body.get(key) {
        let whole = |number: f64| number >= f64::from(smallest) && number.fract() == 0.0;
        let fits = value.number().is_some_and(whole);
        let message = format!("not a whole number of at least {smallest}");
        report.expect(fits, &value, "limit", &message);
    }
}

/// Checks that a model is named.
pub(super) fn model(body: &Node, report: &mut Report) {
    let named = body.word("model").is_some_and(|name| !name.is_empty());
    report.expect(named, body, "model", "no model is named");
}
