//! `session`: the verbs for sessions of the transcript store.

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
use crate::environment::Environment;
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::ui;

/// List, read, continue and import sessions
///
/// A session is a conversation that Analects keeps in your data folder instead of in a message file. Name a
/// SESSION by its id, a prefix of its id, its title, or last: the session of this folder with the newest
/// message. Sessions of this folder take precedence over those of other folders.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "The verbs edit, drop, restore, rewind, fork and compact also take a session."
)]
pub struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
}

/// The verbs of `session`. The hidden ones are older names of the top-level verbs.
#[derive(Debug, Subcommand)]
enum SessionCommand {
    List(list::SessionListArgs),
    Show(show::SessionShowArgs),
    Tail(tail::TailArgs),
    Append(append::AppendArgs),
    Resume(Box<resume::ResumeArgs>),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    #[command(visible_alias = "rm", aliases = ["remove", "delete"])]
    Prune(PruneArgs),
    #[command(hide = true)]
    Fork(fork::ForkArgs),
    #[command(hide = true)]
    Rewind(rewind::RewindArgs),
    #[command(hide = true)]
    Drop(drop::DropArgs),
    #[command(hide = true)]
    Restore(drop::RestoreArgs),
}

/// Move sessions to the trash folder of the store
///
/// The sessions are no longer listed or found, but nothing is deleted. prune prints the new path of each
/// session; to get a session back, move that file to where it was.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  analects session prune 0197a3c2")]
struct PruneArgs {
    /// The sessions to move
    #[arg(required = true)]
    sessions: Vec<String>,
}

pub fn run(args: SessionArgs) -> Result<(), Failure> {
    match args.command {
        SessionCommand::List(args) => list::run(&args),
        SessionCommand::Show(args) => show::run(&args),
        SessionCommand::Tail(args) => tail::run(&args),
        SessionCommand::Append(args) => append::run(&args),
        SessionCommand::Resume(args) => resume::run(*args),
        SessionCommand::Export(args) => export::run(&args),
        SessionCommand::Import(args) => import::run(&args),
        SessionCommand::Prune(args) => prune(&args),
        SessionCommand::Fork(args) => fork::run(&args),
        SessionCommand::Rewind(args) => rewind::run(&args),
        SessionCommand::Drop(args) => drop::run(&args),
        SessionCommand::Restore(args) => drop::restore(&args),
    }
}

impl SessionArgs {
    /// Whether the command always prints JSON.
    pub fn speaks_json(&self) -> bool {
        matches!(self.command, SessionCommand::Append(_))
    }
}

/// Moves sessions to the trash folder, and prints where they are.
/// All or none of the names must be known; a failure while moving leaves the earlier ones moved.
fn prune(args: &PruneArgs) -> Result<(), Failure> {
    let sessions = Sessions::of(&Environment::read()?);
    // Look up all sessions before moving any.
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
