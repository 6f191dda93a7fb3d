//! `session`: the conversations of the transcript store.

mod append;
mod export;
mod import;
mod list;
mod prune;
mod resume;
mod show;
mod tail;

use clap::Subcommand;

use super::{drop, fork, restore, rewind};
use crate::failure::Failure;

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
    Prune(prune::Args),
    Fork(fork::Args),
    Rewind(rewind::Args),
    Drop(drop::Args),
    Restore(restore::Args),
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
        What::Prune(args) => prune::run(&args),
        What::Fork(args) => fork::run(&args),
        What::Rewind(args) => rewind::run(&args),
        What::Drop(args) => drop::run(&args),
        What::Restore(args) => restore::run(&args),
    }
}

impl Args {
    pub fn wants_json(&self) -> bool {
        match &self.what {
            What::List(args) => args.json,
            What::Show(args) => args.json,
            What::Tail(args) => args.json,
            // What it prints is JSON.
            What::Append(_) => true,
            What::Import(args) => args.json,
            What::Fork(args) => args.json,
            What::Drop(args) => args.json,
            What::Restore(args) => args.json,
            What::Resume(_) | What::Export(_) | What::Prune(_) | What::Rewind(_) => false,
        }
    }
}
