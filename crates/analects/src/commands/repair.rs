//! `repair`: mends what happened to a transcript, into a new file.

use std::path::{Path, PathBuf};

use analects_formats::msgfile::ShowProblem;
use analects_store::vfs::Disk;
use analects_store::{LINE_LIMIT, OsIds, Repaired, repair_transcript};
use jiff::Timestamp;
use serde::Serialize;

use crate::failure::Failure;
use crate::ui;

/// Mend a damaged transcript into a new file
///
/// The old file is only read. What can be read goes to the new file, in order, with links that lead somewhere; calls
/// without results get one that says so. Lines that are not in the new file as they were are kept, byte by byte, in a file
/// beside it whose name ends in .rest. Repairing what was repaired changes nothing.
///
/// A conversation need not be repaired to go on: damage is skipped, and reported by check.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects check talk.jsonl
  analects repair talk.jsonl -o mended.jsonl")]
pub struct Args {
    /// The transcript (*.jsonl)
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// The new file, which must not be there yet [default: PATH with ~repaired before its end]
    #[arg(short, long, value_name = "NEW")]
    output: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Done<'a> {
    path: &'a str,
    output: &'a str,
    rest: Option<String>,
    problems: Vec<ShowProblem>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    if args.path.extension().is_some_and(|end| end == "md") {
        let text = format!("{}: this is no transcript", args.path.display());
        let hint =
            "a message file is text, and nothing in it is beyond an editor: see analects check";
        return Err(Failure::usage(text, hint));
    }
    let new = args.output.clone().unwrap_or_else(|| beside(&args.path));
    let repaired =
        repair_transcript(&Disk, &args.path, &new, LINE_LIMIT, &mut OsIds, Timestamp::now())?;
    match args.json {
        true => print_json(args, &new, &repaired),
        false => {
            tell(&new, &repaired);
            Ok(())
        }
    }
}

fn beside(path: &Path) -> PathBuf {
    // The sign keeps it from being taken for a session of its own, should it lie in the store.
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push("~repaired.jsonl");
    path.with_file_name(name)
}

fn print_json(args: &Args, new: &Path, repaired: &Repaired) -> Result<(), Failure> {
    ui::print_json(&Done {
        path: &args.path.to_string_lossy(),
        output: &new.to_string_lossy(),
        rest: repaired.rest.as_ref().map(|rest| rest.to_string_lossy().into_owned()),
        problems: repaired.problems.iter().map(ShowProblem::from).collect(),
    })
}

fn tell(new: &Path, repaired: &Repaired) {
    let found = match repaired.problems.len() {
        0 => "nothing was wrong".to_string(),
        _ => format!("mended {}", ui::count(&repaired.problems)),
    };
    ui::remark(&format!("{found}; written to {}", new.display()));
    if let Some(rest) = &repaired.rest {
        let lines = match repaired.aside {
            1 => "1 line is".to_string(),
            count => format!("{count} lines are"),
        };
        ui::remark(&format!("{lines} kept as before in {}", rest.display()));
    }
}
