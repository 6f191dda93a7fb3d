//! `repair`: repairs a damaged transcript into a new file.

use std::io::Read;
use std::path::{Path, PathBuf};

use analects_formats::convert;
use analects_formats::msgfile::ShowProblem;
use analects_store::vfs::Disk;
use analects_store::{LINE_LIMIT, OsIds, RepairReport, repair_transcript};
use jiff::Timestamp;
use serde::Serialize;

use crate::failure::{Failure, io_error_text};
use crate::input::open_regular;
use crate::{hints, shell, ui};

/// Repair a damaged transcript into a new file
///
/// The old file does not change. Everything that can be read goes to the new file, in order and with valid
/// links; a tool call without a result gets a result that says so. Lines that are missing from the new
/// file, or changed in it, are kept byte for byte in a file beside it whose name ends in .rest. Repairing a
/// repaired file changes nothing.
///
/// repair is only for transcripts. Other formats are text that you can fix in an editor, or belong to other
/// programs: check shows what is wrong with them, and convert turns them into transcripts.
///
/// You can continue a damaged conversation without repairing it: the damage is skipped, and check reports
/// it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects check talk.jsonl
  analects repair talk.jsonl -o repaired.jsonl")]
pub struct RepairArgs {
    /// The transcript (*.jsonl)
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// The new file, which must not exist yet [default: PATH with ~repaired before its extension]
    #[arg(short, long, value_name = "NEW")]
    output: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// The result as `--json` prints it.
#[derive(Debug, Serialize)]
struct RepairSummary<'a> {
    path: &'a str,
    output: &'a str,
    rest: Option<String>,
    problems: Vec<ShowProblem>,
}

/// Fails if the new file exists. Writes it even if nothing was wrong.
pub fn run(args: &RepairArgs) -> Result<(), Failure> {
    refuse_other_formats(&args.path)?;
    let new = args
        .output
        .clone()
        .unwrap_or_else(|| default_output(&args.path));
    let repaired = repair_transcript(
        &Disk,
        &args.path,
        &new,
        LINE_LIMIT,
        &mut OsIds,
        Timestamp::now(),
    )?;
    if args.json {
        return print_json(args, &new, &repaired);
    }
    report(&new, &repaired);
    Ok(())
}

/// Refuses other formats: they are text that you can fix in an editor, or belong to other programs.
/// Each hint says what to do with that format instead.
fn refuse_other_formats(path: &Path) -> Result<(), Failure> {
    let name = path.to_string_lossy();
    let format = if name.ends_with(".md") {
        Some("msgfile")
    } else {
        convert::detect(&head(path)?, &name).map(|format| format.id())
    };
    let hint = match format {
        None | Some("transcript") => return Ok(()),
        Some("msgfile" | "chatmd") => {
            "a message file is text: fix it in an editor; analects check shows what is wrong"
                .to_string()
        }
        Some("openai" | "anthropic" | "chat-session") => {
            "this is JSON: fix it in an editor; analects check shows what is wrong".to_string()
        }
        Some(other) => format!(
            "{other} sessions are only read: convert it with analects convert {} -o new.jsonl --lossy, \
             and repair that",
            shell::target(&name)
        ),
    };
    let message = format!("{}: this is not a transcript", path.display());
    Err(Failure::usage(message, hint))
}

/// The start of a file, to recognise its format.
/// As many bytes as recognising a format takes.
fn head(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut head = Vec::new();
    let read = open_regular(path)?
        .take(convert::HEAD_SIZE as u64)
        .read_to_end(&mut head);
    read.map_err(|error| Failure::input(format!("{}: {}", path.display(), io_error_text(&error))))?;
    Ok(head)
}

/// `talk.jsonl` becomes `talk~repaired.jsonl`.
fn default_output(path: &Path) -> PathBuf {
    // With `~` in its name, the file is not mistaken for a session if it lies in the store.
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push("~repaired.jsonl");
    path.with_file_name(name)
}

fn print_json(args: &RepairArgs, new: &Path, repaired: &RepairReport) -> Result<(), Failure> {
    ui::print_json(&RepairSummary {
        path: &args.path.to_string_lossy(),
        output: &new.to_string_lossy(),
        rest: repaired
            .rest
            .as_ref()
            .map(|rest| rest.to_string_lossy().into_owned()),
        problems: hints::problems_with_hints(&repaired.problems, &args.path),
    })
}

/// Prints what was repaired and where it was written.
/// All of it goes to stderr.
fn report(new: &Path, repaired: &RepairReport) {
    let found = match repaired.problems.len() {
        0 => "nothing was wrong".to_string(),
        _ => format!("repaired {}", ui::count(&repaired.problems)),
    };
    ui::remark(&format!("{found}; written to {}", new.display()));
    if let Some(rest) = &repaired.rest {
        let lines = match repaired.aside {
            1 => "1 line is".to_string(),
            count => format!("{count} lines are"),
        };
        ui::remark(&format!("{lines} kept unchanged in {}", rest.display()));
    }
}
