//! `show FILE CELL`: the content of one cell, byte for byte.

use std::collections::HashSet;

use analects_core::Problem;
use analects_formats::msgfile::{self, Cell, Document, MetaKey};

use crate::commands::reading;
use crate::failure::Failure;
use crate::{shell, ui};

/// How many similar names a hint offers for a missing cell.
/// More would be a list to read instead of a hint.
const MAX_SUGGESTIONS: usize = 3;

/// Prints the content of the cell as it was stored, and then its problems on stderr.
/// Without the line end that a terminal would need, so that `show FILE CELL > x` gives exactly the content.
pub fn print_content(document: &Document, path: &str, name: &str) -> Result<(), Failure> {
    let cell = find(document, path, name)?;
    let printed = match msgfile::binary_content(cell) {
        Some(_) if ui::stdout_is_terminal() => return Err(refuse_binary(path, cell)),
        Some(bytes) => ui::print_bytes(&bytes),
        None => ui::print_text(&cell.content_bytes()),
    };
    let problems = problems_of(document, path, cell);
    ui::report_problems(path, document.source(), &problems);
    printed
}

/// Prints the cell as an object, the same as in `show --json`.
/// Problems are not in it: `show --json` of the whole file has them.
pub fn print_json(document: &Document, path: &str, name: &str) -> Result<(), Failure> {
    let cell = find(document, path, name)?;
    let row = msgfile::show_cell(cell).ok_or_else(|| Failure::internal("the cell is not there"))?;
    ui::print_json(&row)
}

/// The first cell with this name. If there is none, the error suggests similar names.
/// With the same id twice, the first cell wins, and a problem says so.
fn find<'d>(document: &'d Document, path: &str, name: &str) -> Result<Cell<'d>, Failure> {
    document
        .cell(name)
        .ok_or_else(|| missing(document, path, name))
}

/// The errors and warnings inside this cell, and those about other cells with the same id.
/// Problems elsewhere in the file are not your question here.
fn problems_of(document: &Document, path: &str, cell: Cell<'_>) -> Vec<Problem> {
    let twins = document
        .cells()
        .filter(|other| cell.id().is_some() && other.id() == cell.id());
    let heads: Vec<usize> = twins.map(|twin| twin.span().start).collect();
    let span = cell.span();
    let is_about = |problem: &Problem| {
        let start = problem.span.map(|span| span.start);
        let is_inside = start.is_some_and(|start| (span.start..span.end).contains(&start));
        let is_twin = problem.code == "duplicate-id"
            && start.is_some_and(|start| heads.binary_search(&start).is_ok());
        is_inside || is_twin
    };
    let problems = reading::problems(document, path).into_iter();
    problems
        .filter(reading::is_serious)
        .filter(is_about)
        .collect()
}

/// Binary content would garble a terminal, so it has to go to a file.
fn refuse_binary(path: &str, cell: Cell<'_>) -> Failure {
    let kind = cell.get(MetaKey::MimeType).unwrap_or_default();
    let name = cell.name();
    Failure::usage(
        format!("{path}: cell {name} holds {kind}, which a terminal cannot show"),
        format!(
            "write it to a file: analects show {} {} > FILE",
            shell::target(path),
            shell::word(&name)
        ),
    )
}

/// Also points to the list of all cells.
fn missing(document: &Document, path: &str, name: &str) -> Failure {
    let failure = Failure::not_found(format!("{path}: there is no cell {name}"));
    let near = nearest(document, name);
    let file = shell::target(path);
    if near.is_empty() {
        return failure.or_hint(format!("see analects show {file}"));
    }
    failure.or_hint(format!(
        "did you mean {}? see analects show {file}",
        near.join(" or ")
    ))
}

/// The most similar names, the nearest first: a name that starts with `wanted` is nearest of all.
/// Names that differ in more than half of their letters are left out.
fn nearest(document: &Document, wanted: &str) -> Vec<String> {
    let letters: Vec<char> = wanted.chars().take(100).collect();
    let limit = letters.len().max(3) / 2;
    let mut seen = HashSet::new();
    let mut near: Vec<(usize, String)> = Vec::new();
    for cell in document.cells() {
        let name = cell.name();
        let is_longer = !wanted.is_empty() && name.starts_with(wanted);
        let distance = if is_longer {
            0
        } else {
            distance(&letters, &name)
        };
        if distance <= limit && seen.insert(name.clone()) {
            near.push((distance, name.into_owned()));
        }
    }
    // Names of the same distance stay in the order of the file.
    near.sort_by_key(|(distance, _)| *distance);
    near.truncate(MAX_SUGGESTIONS);
    near.into_iter().map(|(_, name)| name).collect()
}

/// The edit distance: how many letters to insert, delete or replace to turn one word into the other.
/// The Levenshtein distance, with a single row of the table in memory.
fn distance(word: &[char], other: &str) -> usize {
    let mut row: Vec<usize> = (0..=word.len()).collect();
    for (line, letter) in other.chars().enumerate() {
        let mut corner = line;
        row[0] = line + 1;
        for (at, own) in word.iter().enumerate() {
            let changed = corner + usize::from(*own != letter);
            corner = row[at + 1];
            row[at + 1] = changed.min(corner + 1).min(row[at] + 1);
        }
    }
    row[word.len()]
}

#[cfg(test)]
mod tests {
    //! How far apart two names are.

    use super::*;

    #[test]
    fn names_that_differ_little_are_near() {
        let distance = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), b);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("论语", "论"), 1);
        assert_eq!(distance("same", "same"), 0);
    }
}
