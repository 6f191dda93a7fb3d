//! `fork`: copies a conversation, or its beginning.

use std::path::PathBuf;

use serde::Serialize;

use super::verbs::{VerbTarget, fork_file, fork_session};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::ui;

/// Copy a conversation, or only its beginning
///
/// You can continue the copy; the original does not change. Tool calls are copied with their results, and
/// code with its output.
///
/// A FILE is copied to a new file, byte for byte up to the cell, and fork prints the path of the new file.
/// Existing files are only overwritten with --force. For a session, fork prints the id of the new session.
///
/// If the copy ends before a summary, the messages that the summary replaced are sent again.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects fork talk.msg.md --at 3 -o other.msg.md
  analects fork last
  analects fork 0197a3c2 --at 0197a3c2-77f1")]
pub struct ForkArgs {
    /// The message file, or the session: its id, a prefix of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    session: String,

    /// The last cell or message to copy: a cell id, a message id, or a prefix of a message id [default: the
    /// last one]
    #[arg(long, value_name = "CELL|MESSAGE")]
    at: Option<String>,

    /// The new file [default: FILE with fork-1 before its extension]
    #[arg(short, long, value_name = "NEW")]
    output: Option<PathBuf>,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// The new session, as `--json` prints it.
#[derive(Debug, Serialize)]
struct ForkReport<'a> {
    session_id: &'a str,
    forked_from: &'a str,
}

/// `-o` and `--force` concern files; for a session they are an error rather than ignored.
pub fn run(args: &ForkArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let at = args.at.as_deref();
    match VerbTarget::named(&args.session, &environment)? {
        VerbTarget::File(path) => {
            let copy = fork_file(&path, at, args.output.as_deref(), args.force, &environment);
            let copy = copy.map_err(|failure| environment.explain(failure))?;
            if !args.json {
                return ui::print_path(&copy);
            }
            ui::print_json(&serde_json::json!({
                "path": copy.to_string_lossy(), "forked_from": args.session, "at": args.at,
            }))
        }
        VerbTarget::Session { sessions, name } => {
            if args.output.is_some() || args.force {
                let session = &args.session;
                let message =
                    format!("{session}: a session is copied into the store, not into a file");
                return Err(Failure::usage(message, "leave out -o and --force"));
            }
            let at = at.map(|word| sessions.message(&name, word)).transpose()?;
            let copy = fork_session(&sessions, &name, at.as_deref())?;
            if !args.json {
                return ui::print_line(&copy.session);
            }
            ui::print_json(&ForkReport {
                session_id: &copy.session,
                forked_from: &name.session,
            })
        }
    }
}
