//! `show`: what a message file holds, for people or for programs.

use std::path::PathBuf;

use analects_formats::msgfile::{self, Cell, Document};
use analects_store::MessageFile;

use crate::failure::Failure;
use crate::ui;

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
    let document = MessageFile::read(&args.file)?;
    let path = args.file.to_string_lossy();
    if args.json {
        let shown = msgfile::show(&document, &path);
        return ui::print_json(&shown);
    }
    for cell in &document.cells {
        ui::print_line(&describe(&document, cell));
    }
    ui::report_problems(&path, &document.problems);
    Ok(())
}

fn describe(document: &Document, cell: &Cell) -> String {
    let content = document.content(cell);
    let first = content.lines().next().unwrap_or_default();
    let line = document.lines().position(cell.span.start).0;
    let title = if cell.title.is_empty() { String::new() } else { format!(" {}:", cell.title) };
    format!("{:<6} {:<16} line {line:<5}{title} {first}", cell.name(), msgfile::role(cell))
}
