//! `show`: what a message file holds, for people or for programs.

use std::path::PathBuf;

use analects_formats::msgfile;

use super::reading;
use crate::failure::Failure;
use crate::{hints, ui};

/// Show the cells of a message file, and what is odd about it
///
/// One line a cell: its name, what it is, the line where it begins, why the model does not see it, if it does not, and
/// how it begins. On a terminal, lines are cut to its width. Problems are reported on stderr; the file is only read.
///
/// The model does not see what is hidden (history=none), edited by another cell, on another branch, in a side chain,
/// taken back, compacted (a summary stands for it), or an error.
///
/// With --json, the whole parsed file for other programs: frontmatter, agents, all cells with their
/// content, and problems. Binary content is in content_base64.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects show talk.msg.md
  analects show talk.msg.md --json | jq -r '.cells[].content'")]
pub struct Args {
    /// The message file, such as talk.msg.md
    file: PathBuf,

    /// Print the parsed file as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let document = reading::read(&args.file)?;
    let path = args.file.to_string_lossy();
    if args.json {
        let problems = hints::shown_problems(&reading::problems(&document, &path), &args.file);
        let shown = msgfile::show(&document, &path).with_problems(problems);
        let default = reading::default_agent(&document);
        return ui::print_json(&shown.with_default_agent(default));
    }
    let cells = document
        .cells()
        .zip(msgfile::overview(&document))
        .zip(reading::marks(&document));
    let rows = cells.map(|((cell, brief), mark)| {
        let (role, line) = (brief.role.to_string(), format!("line {}", brief.line));
        [
            cell.name().into_owned(),
            role,
            line,
            mark,
            reading::beginning(cell),
        ]
    });
    let printed = ui::print_rows(rows.collect());
    if document.cells().len() == 0 {
        reading::remark_without_cells(&document, &path);
    }
    ui::report_problems(
        &path,
        document.source(),
        &reading::problems(&document, &path),
    );
    printed
}
