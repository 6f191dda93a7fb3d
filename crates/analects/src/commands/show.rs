//! `show`: what a message file holds, for people or for programs.

use std::path::PathBuf;

use analects_core::LineIndex;
use analects_formats::msgfile::{self, Cell, Document, Kind};
use analects_store::read_message_file;

use crate::failure::Failure;
use crate::ui;

/// How many characters of a cell's first line are shown.
const SHOWN: usize = 100;

/// Show the cells of a message file, and what is odd about it
///
/// One line a cell: its name, what it is, where it stands, and how it begins. With --json, the whole
/// parsed file for other programs. Problems are reported on stderr; the file is only read.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  analects show talk.msg.md --json")]
pub struct Args {
    /// The message file, such as talk.msg.md
    file: PathBuf,

    /// Print the parsed file as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let document = read_message_file(&args.file)
        .map_err(|error| Failure::from(error).or_hint("check the name; chat makes a new file"))?;
    let path = args.file.to_string_lossy();
    // What is odd about the cells as messages; what is odd about the file's text comes below.
    let more = msgfile::messages(&document, &msgfile::session_of(&path)).problems;
    if args.json {
        return ui::print_json(&msgfile::show(&document, &path).with_problems(&more));
    }
    let lines = document.lines();
    let rows = document.cells().zip(msgfile::roles(&document));
    let printed = ui::print_lines(rows.map(|(cell, role)| describe(&lines, cell, role)));
    if document.cells().len() == 0 {
        ui::remark(&format!("{path}: {}", why_no_cells(&document)));
    }
    let mut problems = document.problems();
    problems.extend(more);
    problems.sort_by_key(|problem| (problem.line, problem.column));
    ui::report_problems(&path, &problems);
    printed
}

fn why_no_cells(document: &Document) -> &'static str {
    match document.kind() {
        Kind::Plain => "no cells, because this is not a message file",
        _ if document.preamble().of(document.source()).trim_ascii().is_empty() => "no cells",
        _ => "no cells; a line # %% starts one, and text before it is not sent",
    }
}

fn describe(lines: &LineIndex<'_>, cell: Cell<'_>, role: &str) -> String {
    let content = cell.content();
    let first: String = content.lines().next().unwrap_or_default().chars().take(SHOWN).collect();
    let line = lines.position(cell.span().start).0;
    let title = cell.title();
    let title = if title.is_empty() { String::new() } else { format!(" {title}:") };
    format!("{:<6} {:<16} line {line:<5}{title} {first}", cell.name(), role)
}
