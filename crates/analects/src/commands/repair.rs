//! `repair`: repairs a damaged transcript or session into a new file.

use std::io::Read;
use std::path::{Path, PathBuf};

use analects_formats::convert::{self, Format, JsonOverLines};
use analects_formats::msgfile::ShowProblem;
use analects_store::vfs::Disk;
use analects_store::{LINE_LIMIT, LineChange, OsIds, RepairReport, repair_file};
use jiff::Timestamp;
use serde::Serialize;

use crate::failure::{Failure, io_error_text};
use crate::input::open_regular;
use crate::{hints, ui};

/// How many changes are printed.
const SHOWN_CHANGES: usize = 20;

/// Repair a damaged transcript or session into a new file
///
/// The old file does not change. Everything that can be read goes to the new file, in order and with valid
/// links; a tool call without a result gets a result that says so. Lines that are missing from the new
/// file, or changed in it, are kept byte for byte in a file beside it whose name ends in .rest. Repairing a
/// repaired file changes nothing.
///
/// repair reads transcripts, sessions of Claude Code, and requests with one on each line. In sessions and
/// requests of other programs, all bytes stay that need not change. Fix other formats in an editor: check
/// shows what is wrong with them.
///
/// You can continue a damaged conversation without repairing it: the damage is skipped, and check reports
/// it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects check talk.jsonl
  analects repair talk.jsonl -o repaired.jsonl")]
pub struct RepairArgs {
    /// The transcript or session (*.jsonl)
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
    changes: Vec<ShownChange<'a>>,
    problems: Vec<ShowProblem>,
}

/// A change as `--json` prints it.
#[derive(Debug, Serialize)]
struct ShownChange<'a> {
    line: usize,
    change: &'a str,
}

/// Fails if the new file exists. Writes it even if nothing was wrong.
pub fn run(args: &RepairArgs) -> Result<(), Failure> {
    let check = format_of(&args.path)?.repair(&args.path.to_string_lossy());
    let check = check.ok_or_else(|| refusal(&args.path, HINT_FOR_TEXT))?;
    let new = args
        .output
        .clone()
        .unwrap_or_else(|| default_output(&args.path));
    let repaired = repair_file(
        &Disk,
        &args.path,
        &new,
        LINE_LIMIT,
        check,
        &mut OsIds,
        Timestamp::now(),
    )?;
    if args.json {
        return print_json(args, &new, &repaired);
    }
    report(&args.path, &new, &repaired);
    Ok(())
}

/// What to do with a damaged message file.
const HINT_FOR_TEXT: &str =
    "a message file is text: fix it in an editor; analects check shows what is wrong";
/// What to do with a damaged request.
const HINT_FOR_JSON: &str = "this is JSON: fix it in an editor; analects check shows what is wrong";

/// What to do with a file of another program.
const HINT_FOR_OTHERS: &str = "repair reads transcripts, sessions of Claude Code, and requests with one on each line (*.jsonl)";

/// Returns the format whose records are repaired.
fn format_of(path: &Path) -> Result<&'static dyn Format, Failure> {
    let name = path.to_string_lossy();
    if name.ends_with(".md") {
        return Err(refusal(path, HINT_FOR_TEXT));
    }
    let head = head(path)?;
    let format = convert::detect(&head, &name);
    if let Some(json) = JsonOverLines::find(&head) {
        let hint = match format {
            Some(_) => HINT_FOR_JSON.to_string(),
            None => hints::json_over_lines(&json),
        };
        return Err(refusal(path, &hint));
    }
    // The first lines of a transcript may be damaged.
    const RECORD_START: &[u8] = b"{\"v\":";
    let has_record = head
        .windows(RECORD_START.len())
        .any(|at| at == RECORD_START);
    let transcript = convert::format_by_id("transcript").filter(|_| has_record);
    let Some(format) = format.or(transcript) else {
        return Err(refusal(path, HINT_FOR_OTHERS));
    };
    match format.id() {
        "msgfile" | "chatmd" => Err(refusal(path, HINT_FOR_TEXT)),
        "chat-session" => Err(refusal(path, HINT_FOR_JSON)),
        "openai" | "anthropic" if !name.ends_with(".jsonl") => Err(refusal(path, HINT_FOR_JSON)),
        _ => Ok(format),
    }
}

/// The failure for a file of a format that has no records to repair.
fn refusal(path: &Path, hint: &str) -> Failure {
    let message = format!("{}: this has no records to repair", path.display());
    Failure::usage(message, hint.to_string())
}

impl<'a> ShownChange<'a> {
    /// Borrows a change.
    fn of(change: &'a LineChange) -> ShownChange<'a> {
        ShownChange {
            line: change.line,
            change: &change.text,
        }
    }
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
        changes: repaired.changes.iter().map(ShownChange::of).collect(),
        problems: hints::problems_with_hints(&repaired.problems, &args.path),
    })
}

/// Prints what was repaired and where it was written.
/// All of it goes to stderr.
fn report(path: &Path, new: &Path, repaired: &RepairReport) {
    for change in repaired.changes.iter().take(SHOWN_CHANGES) {
        let LineChange { line, text } = change;
        ui::remark(&format!("{}:{line}: {text}", path.display()));
    }
    let count = repaired.changes.len() + repaired.more_changes;
    if count > SHOWN_CHANGES {
        let more = count - SHOWN_CHANGES;
        ui::remark(&format!(
            "{more} more changes are not shown; --json lists them"
        ));
    }
    let done = match count {
        0 => "nothing had to be repaired".to_string(),
        1 => "made 1 change".to_string(),
        _ => format!("made {count} changes"),
    };
    ui::remark(&format!("{done}; written to {}", new.display()));
    if let Some(rest) = &repaired.rest {
        let lines = match repaired.aside {
            1 => "1 old line is".to_string(),
            count => format!("{count} old lines are"),
        };
        ui::remark(&format!("{lines} kept in {}", rest.display()));
    }
}
