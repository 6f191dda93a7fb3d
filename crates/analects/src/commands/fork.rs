//! `fork`: a copy of a conversation up to some message, which goes on by itself.

use std::path::PathBuf;

use analects_store::{ChainName, OsIds, Session};
use jiff::Timestamp;
use serde::Serialize;

use super::{cells, rewind};
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ui;

/// Copy a conversation up to some message into one of its own
///
/// The copy is gone on with independently; the original stays as it is.
///
/// A FILE is copied into a new one, byte for byte up to the cell, with the calls, results and outputs that belong to
/// that cell, and what takes one of these back later. The path of the new file is printed. No file is written over
/// without --force.
///
/// Of a session, the id of the new one is printed. A call whose result comes after the message counts as interrupted
/// when the conversation is sent.
///
/// Before a compaction, its summary does not count, and what it stands for is sent again; that is said.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects fork talk.msg.md --at 3 -o other.msg.md
  analects fork last
  analects fork 0197a3c2 --at 0197a3c2-77f1")]
pub struct Args {
    /// The message file, or the session: its id, the beginning of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    session: String,

    /// The last cell or message to copy: its id, or the beginning of a message's [default: the last one]
    #[arg(long, value_name = "CELL|MESSAGE")]
    at: Option<String>,

    /// The new file [default: FILE with fork-1 before its ending]
    #[arg(short, long, value_name = "NEW")]
    output: Option<PathBuf>,

    /// Write over a file that is there
    #[arg(long)]
    force: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// The new session, as JSON.
#[derive(Debug, Serialize)]
struct Forked<'a> {
    session_id: &'a str,
    forked_from: &'a str,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    if let Some(path) = cells::file(&args.session) {
        let (at, output) = (args.at.as_deref(), args.output.as_deref());
        let copy = cells::fork(path, at, output, args.force, &surroundings);
        let copy = copy.map_err(|failure| surroundings.explain(failure))?;
        return match args.json {
            true => ui::print_json(&serde_json::json!({
                "path": copy.to_string_lossy(), "forked_from": args.session, "at": args.at,
            })),
            false => ui::print_path(&copy),
        };
    }
    if args.output.is_some() || args.force {
        let message =
            format!("{}: a session is copied into the store, not into a file", args.session);
        return Err(Failure::usage(message, "leave out -o and --force"));
    }
    let sessions = Sessions::of(&surroundings);
    let name = sessions.find(Some(&args.session))?;
    let at = args.at.as_deref().map(|word| sessions.message(&name, word)).transpose()?;
    let copy = copy(&sessions, &name, at.as_deref())?;
    match args.json {
        true => ui::print_json(&Forked { session_id: &copy.session, forked_from: &name.session }),
        false => ui::print_line(&copy.session),
    }
}

/// Copies a session up to a message, or all of it.
pub fn copy(sessions: &Sessions, name: &ChainName, at: Option<&str>) -> Result<ChainName, Failure> {
    // A copy belongs where the original does.
    let copy = ChainName { project: name.project.clone(), ..sessions.new_name() };
    let session = Session::open(&*sessions.store, name.clone())?;
    session.fork(at, copy.clone(), &mut OsIds, Timestamp::now())?;
    let counted = if at.is_some() { sessions.compaction(name)? } else { Vec::new() };
    rewind::remark_uncounted(sessions, &copy, &counted)?;
    Ok(copy)
}
