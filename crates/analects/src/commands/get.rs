//! `get`: the content of one cell, exactly.

use std::collections::HashSet;
use std::path::PathBuf;

use analects_core::Problem;
use analects_formats::msgfile::{self, Cell, Document, MetaKey};

use super::reading;
use crate::failure::Failure;
use crate::{shell, ui};

/// How many names a hint offers.
const OFFERED: usize = 3;

/// Print the content of one item of a message file
///
/// ITEM is the id of a cell; for a cell without an id, its place in the file, from 1. Outputs can be
/// had, too. `list` and `show` print the names. Of two cells with one id, the first is meant.
///
/// The content is printed byte for byte, without a line end of its own: what was stored comes out. Binary
/// content (a raw cell with a mime_type, or a picture that code made) is decoded from base64. On a
/// terminal, control characters and invisible ones are shown as <U+001B>, and binary content is refused.
///
/// With --json, the cell as `show --json` has it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects get talk.msg.md 2
  analects get talk.msg.md 2.k3f9qx7a.1
  analects get plots.msg.md 4.1 > plot.png")]
pub struct Args {
    /// The message file, such as talk.msg.md
    file: PathBuf,

    /// The id of a cell; for one without id, its place in the file
    item: String,

    /// Print the cell as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let document = reading::read(&args.file)?;
    let path = args.file.to_string_lossy();
    let cell = document
        .cell(&args.item)
        .ok_or_else(|| missing(&document, &path, &args.item))?;
    if args.json {
        let row = msgfile::show_cell(cell).ok_or_else(|| Failure::ours("the cell is not there"))?;
        return ui::print_json(&row);
    }
    let printed = match msgfile::binary_content(cell) {
        Some(_) if ui::is_terminal() => return Err(binary(&path, cell)),
        Some(bytes) => ui::print_bytes(&bytes),
        None => ui::print_text(&cell.content_bytes()),
    };
    ui::report_problems(
        &path,
        document.source(),
        &problems_of(&document, &path, cell),
    );
    printed
}

/// What is wrong with this cell, or with others of its name.
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

fn binary(path: &str, cell: Cell<'_>) -> Failure {
    let kind = cell.get(MetaKey::MimeType).unwrap_or_default();
    let name = cell.name();
    Failure::usage(
        format!("{path}: cell {name} holds {kind}, which is nothing for a terminal"),
        format!(
            "write it to a file: analects get {} {} > FILE",
            shell::target(path),
            shell::word(&name)
        ),
    )
}

fn missing(document: &Document, path: &str, item: &str) -> Failure {
    let failure = Failure::not_found(format!("{path}: there is no item {item}"));
    let (near, file) = (nearest(document, item), shell::target(path));
    if near.is_empty() {
        return failure.or_hint(format!("see analects show {file}"));
    }
    failure.or_hint(format!(
        "did you mean {}? see analects show {file}",
        near.join(" or ")
    ))
}

/// The names that begin like this one or are most like it, and not too far from it.
fn nearest(document: &Document, item: &str) -> Vec<String> {
    let letters: Vec<char> = item.chars().take(100).collect();
    let mut seen = HashSet::new();
    let near = document.cells().map(|cell| cell.name()).filter_map(|name| {
        let begins = !item.is_empty() && name.starts_with(item);
        let distance = if begins { 0 } else { distance(&letters, &name) };
        let is_near = distance <= letters.len().max(3) / 2 && seen.insert(name.clone());
        is_near.then_some((distance, name.into_owned()))
    });
    let mut near: Vec<(usize, String)> = near.collect();
    // Names of the same distance stay in the order of the file.
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter()
        .take(OFFERED)
        .map(|(_, name)| name)
        .collect()
}

/// How many letters have to be put in, taken out or changed to make one word of the other.
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
