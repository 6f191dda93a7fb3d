//! Sets one value in the text of a configuration file. Every other byte stays: comments, order, quotes and line ends.
//! It writes no file.
//!
//! TOML can write one value in many ways: `[a]` with `b = 1`, `a.b = 1`, or `a = { b = 1 }`. So nothing here decides
//! where a value belongs by rules alone: it proposes places, applies each to a copy, and lets the parser judge.
//!
//! ```text
//! set("a = 1\n", ["models", "quick"], "\"x\"") → "a = 1\n\n[models]\nquick = \"x\"\n"
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::read::blank_byte_order_mark;

/// The values of a document by their paths, as text without positions.
/// Two documents with equal values mean the same, however they are written.
type Values = BTreeMap<Vec<String>, String>;

/// The bytes to replace, and the text to replace them with.
type Change = (Range<usize>, String);

/// The text with the value at a path set to `value`, which is TOML. `None` if no change of one place can do it, or if the
/// text is not TOML.
///
/// Each place that may fit is tried, from the value's own to a new table at the end. A change counts only if a parser
/// reads the new text as the old values with this one set.
/// `path` has the table's names and then the key. The caller must pass a `value` that is valid TOML on one line.
pub fn set(text: &str, path: &[String], value: &str) -> Option<String> {
    let wanted = wanted_values(text, path, value)?;
    let readable = blank_byte_order_mark(text);
    let document = DeTable::parse(&readable).ok()?;
    let places = places(text, document.get_ref(), path, value);
    places
        .into_iter()
        .map(|(place, new)| format!("{}{new}{}", &text[..place.start], &text[place.end..]))
        .find(|changed| values(changed).as_ref() == Some(&wanted))
}

/// The values that the text has once the value is set.
/// Everything below the path goes: a list may replace a text.
fn wanted_values(text: &str, path: &[String], value: &str) -> Option<Values> {
    let mut wanted = values(text)?;
    let alone = values(&format!("{} = {value}", dotted(path)))?;
    wanted.retain(|known, _| !known.starts_with(path));
    wanted.extend(alone);
    Some(wanted)
}

/// All values of a text; `None` if it is not TOML.
/// Arrays count as one value, and empty tables as none.
fn values(text: &str) -> Option<Values> {
    let readable = blank_byte_order_mark(text);
    let document = DeTable::parse(&readable).ok()?;
    let mut found = Values::new();
    let mut open = vec![(Vec::new(), document.get_ref())];
    while let Some((path, table)) = open.pop() {
        for (key, value) in table {
            let mut path: Vec<String> = path.clone();
            path.push(key.get_ref().to_string());
            match value.get_ref() {
                DeValue::Table(table) => open.push((path, table)),
                other => {
                    found.insert(path, plain(other));
                }
            }
        }
    }
    Some(found)
}

/// A value as text, without positions.
/// Keeps the kinds apart: the text `"1"` and the number `1` differ.
fn plain(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| plain(item.get_ref())).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(table) => {
            let entries = table
                .iter()
                .map(|(key, value)| format!("{:?} = {}", key.get_ref(), plain(value.get_ref())));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => format!("{} in base {}", number.as_str(), number.radix()),
        DeValue::Float(number) => number.as_str().to_string(),
        DeValue::Boolean(yes) => yes.to_string(),
        DeValue::Datetime(time) => time.to_string(),
    }
}

/// The changes that may set the value, the best first.
/// An existing value is replaced in its place. A new one goes into its table if there is one, or else into a new table
/// at the end of the file.
fn places(text: &str, document: &DeTable<'_>, path: &[String], value: &str) -> Vec<Change> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let Some((name, tables)) = path.split_last() else {
        return Vec::new();
    };
    if let Some(old) = find(document, path) {
        return vec![(old.span(), value.to_string())];
    }
    let line = format!("{} = {value}{newline}", bare_or_quoted(name));
    let mut places = Vec::new();
    if let Some(table) = find(document, tables) {
        places.extend(in_braces(text, table, &line));
        let last = last_value(table.get_ref());
        places.extend(last.map(|at| insert_after_line(text, at, &line, newline)));
        // Where the table's keys have their path before them, so has the new one.
        let whole = format!("{} = {value}{newline}", dotted(path));
        places.extend(last.map(|at| insert_after_line(text, at, &whole, newline)));
    }
    places.extend(header(document, tables).map(|at| insert_after_line(text, at, &line, newline)));
    let blank = if text.trim().is_empty() { "" } else { newline };
    let table = format!("{blank}[{}]{newline}{line}", dotted(tables));
    places.push(insert_after_line(text, text.len(), &table, newline));
    places
}

/// The value at a path.
/// `None` if there is no such value, or if something on the way is no table.
fn find<'d, 'i>(document: &'d DeTable<'i>, path: &[String]) -> Option<&'d Spanned<DeValue<'i>>> {
    let (name, tables) = path.split_last()?;
    let mut table = document;
    for name in tables {
        table = table.get(name.as_str())?.get_ref().as_table()?;
    }
    table.get(name.as_str())
}

/// Where the key of a table is.
/// `None` if the table is not in the file. For a table in several parts, the first.
fn header(document: &DeTable<'_>, path: &[String]) -> Option<usize> {
    let (name, tables) = path.split_last()?;
    let table = match tables {
        [] => document,
        tables => find(document, tables)?.get_ref().as_table()?,
    };
    let (key, _) = table.get_key_value(name.as_str())?;
    Some(key.span().end)
}

/// The end of the last value of a table, without those of the tables in it.
/// `None` for a table without values of its own. They may stand in several parts of the file.
fn last_value(table: &DeValue<'_>) -> Option<usize> {
    let values = table.as_table()?.values();
    let own = values.filter(|value| !value.get_ref().is_table());
    own.map(|value| value.span().end).max()
}

/// The insertion at the end of a table in braces.
/// `None` if the table is not written in braces.
fn in_braces(text: &str, table: &Spanned<DeValue<'_>>, line: &str) -> Option<Change> {
    let inside = text
        .get(table.span())?
        .strip_prefix('{')?
        .strip_suffix('}')?;
    let entry = line.trim_end();
    let end = table.span().start + 1 + inside.trim_end().len();
    let is_empty = inside.trim().is_empty();
    let new = if is_empty {
        format!(" {entry} ")
    } else {
        format!(", {entry}")
    };
    Some((end..end, new))
}

/// The insertion of a line after the one that holds this position.
/// Adds a line end before it if the last line of the file has none.
fn insert_after_line(text: &str, at: usize, line: &str, newline: &str) -> Change {
    match text[at..].find('\n') {
        Some(end) => (at + end + 1..at + end + 1, line.to_string()),
        None if text.is_empty() || text.ends_with('\n') => {
            (text.len()..text.len(), line.to_string())
        }
        None => (text.len()..text.len(), format!("{newline}{line}")),
    }
}

/// A path as TOML writes it.
fn dotted(path: &[String]) -> String {
    let names: Vec<String> = path.iter().map(|name| bare_or_quoted(name)).collect();
    names.join(".")
}

/// A key as TOML writes it.
/// Names of agents may have blanks and dots, which need quotes.
fn bare_or_quoted(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(is_bare) {
        return name.to_string();
    }
    quoted(name)
}

/// A text as a TOML string on one line.
/// JSON strings are TOML strings but for one character.
pub fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    // The one control character that JSON leaves as it is.
    json.replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    //! Which bytes change, and that no others do.

    use super::*;

    #[track_caller]
    fn check(text: &str, path: &str, value: &str, expected: &str) {
        let path: Vec<String> = path.split('.').map(str::to_string).collect();
        let changed = set(text, &path, value);
        assert_eq!(changed.as_deref(), Some(expected));
    }

    #[test]
    fn a_value_is_replaced_in_its_place() {
        check(
            "# mine\r\n[models] # all\r\n  default = 'a/b'   # why\r\nquick=\"c\"\r\n",
            "models.default",
            "\"x/y\"",
            "# mine\r\n[models] # all\r\n  default = \"x/y\"   # why\r\nquick=\"c\"\r\n",
        );
        check(
            "models.default = \"\"\"\na\n\"\"\" # end",
            "models.default",
            "\"b\"",
            "models.default = \"b\" # end",
        );
        check(
            "\u{feff}[context]\ncompact_at = 85",
            "context.compact_at",
            "0.5",
            "\u{feff}[context]\ncompact_at = 0.5",
        );
        check(
            "[agents.a]\nmodels = [\n  \"x\", # one\n]\n",
            "agents.a.models",
            "\"y\"",
            "[agents.a]\nmodels = \"y\"\n",
        );
    }

    #[test]
    fn a_new_key_goes_below_the_last_one_of_its_table() {
        check(
            "[models]\ndefault = 'a' # one\n\n# two\n[context]\npictures = true",
            "models.quick",
            "\"b\"",
            "[models]\ndefault = 'a' # one\nquick = \"b\"\n\n# two\n[context]\npictures = true",
        );
        check(
            "[context]\npictures = true",
            "context.compact_at",
            "85",
            "[context]\npictures = true\ncompact_at = 85\n",
        );
        check(
            "[models]\n# nothing yet\n[files]\ndetails = true\n",
            "models.task",
            "\"b\"",
            "[models]\ntask = \"b\"\n# nothing yet\n[files]\ndetails = true\n",
        );
    }

    #[test]
    fn other_forms_of_tables_keep_their_form() {
        check(
            "models = { default = 'a' }\n",
            "models.quick",
            "\"b\"",
            "models = { default = 'a', quick = \"b\" }\n",
        );
        check(
            "models = {}\n",
            "models.quick",
            "\"b\"",
            "models = { quick = \"b\" }\n",
        );
        check(
            "models.default = 'a'\n[files]\ndetails = true\n",
            "models.quick",
            "\"b\"",
            "models.default = 'a'\nmodels.quick = \"b\"\n[files]\ndetails = true\n",
        );
    }

    #[test]
    fn a_new_table_goes_to_the_end() {
        check("", "models.default", "\"a\"", "[models]\ndefault = \"a\"\n");
        check(
            "# mine",
            "models.default",
            "\"a\"",
            "# mine\n\n[models]\ndefault = \"a\"\n",
        );
        check(
            "[agents.a]\nreasoning = true\n",
            "agents.b c.reasoning",
            "true",
            "[agents.a]\nreasoning = true\n\n[agents.\"b c\"]\nreasoning = true\n",
        );
    }

    #[test]
    fn text_is_quoted_so_that_it_reads_back() {
        for text in ["", "a\"b\\c", "line\nline\ttab\u{7f}\u{1}", "论语 é"] {
            let document = format!("a = {}", quoted(text));
            let document = DeTable::parse(&document).unwrap();
            let value = find(document.get_ref(), &["a".to_string()]).unwrap();
            assert_eq!(value.get_ref().as_str(), Some(text));
        }
    }

    #[test]
    fn what_is_no_toml_is_not_changed() {
        let path = ["models".to_string(), "default".to_string()];
        assert!(set("[models", &path, "\"a\"").is_none());
        // A value where the table would have to be.
        assert!(set("models = 3\n", &path, "\"a\"").is_none());
    }
}
