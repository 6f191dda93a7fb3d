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

/// Look at, go on with and bring in conversations of the transcript store
///
/// Wherever a SESSION is asked for, it can be named by its id, the beginning of its id, its title, or the word last
/// for the one of this folder that was written to last. Sessions of this folder count before those of others.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    List(list::Args),
    Show(show::Args),
    Tail(tail::Args),
    Append(append::Args),
    Resume(resume::Args),
    Export(export::Args),
    Import(import::Args),
    Prune(Prune),
    Fork(fork::Args),
    Rewind(rewind::Args),
    Drop(drop::Args),
    Restore(drop::Restore),
}

/// Put sessions into the trash folder of the store
///
/// They are no longer listed or found, but nothing is deleted: what is printed is where each of them is now. To get one
/// back, move its file to where it was.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  analects session prune 0197a3c2")]
struct Prune {
    /// The sessions
    #[arg(required = true)]
    sessions: Vec<String>,
}

pub fn run(args: Args) -> Result<(), Failure> {
    match args.what {
        What::List(args) => list::run(&args),
        What::Show(args) => show::run(&args),
        What::Tail(args) => tail::run(&args),
        What::Append(args) => append::run(&args),
        What::Resume(args) => resume::run(args),
        What::Export(args) => export::run(&args),
        What::Import(args) => import::run(&args),
        What::Prune(args) => prune(&args),
        What::Fork(args) => fork::run(&args),
        What::Rewind(args) => rewind::run(&args),
        What::Drop(args) => drop::run(&args),
        What::Restore(args) => drop::restore(&args),
    }
}

impl Args {
    /// Whether all that it prints is JSON.
    pub fn speaks_json(&self) -> bool {
        matches!(self.what, What::Append(_))
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
