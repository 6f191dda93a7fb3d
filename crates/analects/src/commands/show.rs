//! `show`: what a message file holds, for people or for programs.

use std::path::PathBuf;

use analects_core::LineIndex;
use analects_formats::msgfile::{self, Cell};
use analects_store::MessageFile;

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
    let document = MessageFile::read(&args.file)?;
    let path = args.file.to_string_lossy();
    if args.json {
        let shown = msgfile::show(&document, &path);
        return ui::print_json(&shown);
    }
    let lines = document.lines();
    for cell in document.cells() {
        ui::print_line(&describe(&lines, cell));
    }
    ui::report_problems(&path, &document.problems());
    Ok(())
}

fn describe(lines: &LineIndex<'_>, cell: Cell<'_>) -> String {
    let content = cell.content();
    let first: String = content.lines().next().unwrap_or_default().chars().take(SHOWN).collect();
    let line = lines.position(cell.span().start).0;
    let title = cell.title();
    let title = if title.is_empty() { String::new() } else { format!(" {title}:") };
    format!("{:<6} {:<16} line {line:<5}{title} {first}", cell.name(), msgfile::role(cell))
}
