//! `show`: the cells of a message file, or the content of one cell, for people or for programs.

mod cell;

use std::path::{Path, PathBuf};

use analects_formats::msgfile::{self, Document};

use super::reading;
use crate::failure::Failure;
use crate::{hints, ui};

/// Show the cells of a message file and its problems
///
/// Each line shows a cell's name, its role with the agent of a reply, its line number, the reason if the
/// model does not see it, partial if an answer broke off, and the start of its text. On a terminal, lines
/// are cut to its width. Problems go to stderr. show never changes the file.
///
/// The model does not see a cell that is hidden (history=none), on another branch, in a side chain, taken
/// back (by a tombstone), compacted (a summary replaces it), or an error.
///
/// With a CELL, show prints the content of that cell byte for byte, without adding a line end. CELL is a cell
/// id or, for a cell without an id, its number, as list shows it. If two cells have the same id,
/// show prints the first. Base64 content (a raw cell with a mime_type, or a picture that code made) is
/// decoded, and an output that is in a file (output_file) is read from there. On a terminal, control characters and invisible characters appear as <U+001B>, and binary content
/// is refused.
///
/// With --json, show prints the whole parsed file for other programs: frontmatter, agents, all cells with
/// their content, and problems. With a CELL, it prints only that cell. Binary content is in content_base64.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects show talk.msg.md
  analects show talk.msg.md 2 > answer.md
  analects show plots.msg.md 4.1 > plot.png
  analects show talk.msg.md --json | jq -r '.cells[].content'")]
pub struct ShowArgs {
    /// The message file, such as talk.msg.md
    file: PathBuf,

    /// Print only the content of this cell: its name, as list shows it
    cell: Option<String>,

    /// Print the parsed file, or the cell, as JSON
    #[arg(long)]
    pub json: bool,
}

/// Works for plain Markdown files too, which have no cells.
pub fn run(args: &ShowArgs) -> Result<(), Failure> {
    let mut document = reading::read(&args.file)?;
    analects_store::attach_outputs(&args.file, &mut document);
    let path = args.file.to_string_lossy();
    match (&args.cell, args.json) {
        (Some(name), true) => cell::print_json(&document, &path, name),
        (Some(name), false) => cell::print_content(&document, &path, name),
        (None, true) => print_json(&document, &args.file),
        (None, false) => print_cells(&document, &path),
    }
}

/// Prints the whole parsed file.
/// Problems are part of the JSON, so stderr stays empty.
fn print_json(document: &Document, file: &Path) -> Result<(), Failure> {
    let path = file.to_string_lossy();
    let problems = hints::problems_with_hints(&reading::problems(document, &path), file);
    let shown = msgfile::show(document, &path)
        .with_problems(problems)
        .with_default_agent(reading::default_agent(document));
    ui::print_json(&shown)
}

/// Prints a row for each cell, and problems on stderr.
/// Problems come last, so you see them even if the list is long.
fn print_cells(document: &Document, path: &str) -> Result<(), Failure> {
    let cells = document.cells().zip(msgfile::overview(document));
    let mut rows = Vec::new();
    for ((cell, brief), mark) in cells.zip(reading::marks(document)) {
        rows.push([
            cell.name().into_owned(),
            reading::role_in_words(cell),
            format!("line {}", brief.line),
            mark,
            reading::first_line(cell),
        ]);
    }
    let printed = ui::print_rows(rows);
    if document.cells().len() == 0 {
        reading::report_no_cells(document, path);
    }
    let problems = reading::problems(document, path);
    ui::report_problems(path, document.source(), &problems);
    printed
}
