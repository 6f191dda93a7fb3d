//! `session`: the conversations of the transcript store.

mod append;
mod export;
mod import;
mod list;
mod resume;
mod show;
mod tail;

use analects_store::TranscriptStore;
use clap::Subcommand;

use super::{drop, fork, rewind};
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ui;

/// List, read, continue and import sessions
///
/// A session is a conversation in the transcript store instead of a file. Name a SESSION by its id, a prefix
/// of its id, its title, or last: the session of this folder with the newest message. Sessions of this folder
/// take precedence over those of other folders.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "The verbs edit, drop, restore, rewind, fork and compact also take a session."
)]
pub struct Args {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Debug, Subcommand)]
enum SessionCommand {
    List(list::Args),
    Show(show::Args),
    Tail(tail::Args),
    Append(append::Args),
    Resume(resume::Args),
    Export(export::Args),
    Import(import::Args),
    Prune(Prune),
    #[command(hide = true)]
    Fork(fork::Args),
    #[command(hide = true)]
    Rewind(rewind::Args),
    #[command(hide = true)]
    Drop(drop::Args),
    #[command(hide = true)]
    Restore(drop::Restore),
}

/// Move sessions to the trash folder of the store
///
/// They are no longer listed or found, but nothing is deleted. prune prints the new path of each session;
/// to get a session back, move that file to where it was.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  analects session prune 0197a3c2")]
struct Prune {
    /// The sessions to move
    #[arg(required = true)]
    sessions: Vec<String>,
}

pub fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        SessionCommand::List(args) => list::run(&args),
        SessionCommand::Show(args) => show::run(&args),
        SessionCommand::Tail(args) => tail::run(&args),
        SessionCommand::Append(args) => append::run(&args),
        SessionCommand::Resume(args) => resume::run(args),
        SessionCommand::Export(args) => export::run(&args),
        SessionCommand::Import(args) => import::run(&args),
        SessionCommand::Prune(args) => prune(&args),
        SessionCommand::Fork(args) => fork::run(&args),
        SessionCommand::Rewind(args) => rewind::run(&args),
        SessionCommand::Drop(args) => drop::run(&args),
        SessionCommand::Restore(args) => drop::restore(&args),
    }
}

impl Args {
    /// Whether all that it prints is JSON.
    pub fn speaks_json(&self) -> bool {
        matches!(self.command, SessionCommand::Append(_))
    }
}

fn prune(args: &Prune) -> Result<(), Failure> {
    let sessions = Sessions::of(&Surroundings::of_process()?);
    // All of them are looked up before anything is moved.
    let names: Result<Vec<_>, Failure> = args
        .sessions
        .iter()
        .map(|word| sessions.find(Some(word)))
        .collect();
    for name in names? {
        ui::print_line(&sessions.store.prune(&name)?)?;
    }
    Ok(())
}
