//! The command `analects`: terminal, environment, exit codes. What it does is in the other crates.
//!
//! Each verb is a file under `commands/`, and its `Args` doc comment is its help, of which the
//! reference is generated; [`help`] puts the verbs in groups. Printing happens in [`ui`] only;
//! [`failure`] turns every error into one line, a hint and an exit code. What is configured is in [`config`], what the environment says in [`surroundings`].

mod commands;
mod config;
mod connection;
mod failure;
mod help;
mod hints;
mod interrupt;
mod local;
mod outgoing;
mod pictures;
mod piped;
#[cfg(test)]
mod reference;
mod sessions;
mod shell;
mod surroundings;
mod ui;
mod ways;
mod writing;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{FromArgMatches, Parser};

use failure::Failure;

/// Reading and planning a long conversation takes millions of small pieces of memory, which the system's allocator
/// is slow to give and slower to take back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keep AI conversations as plain Markdown files that you own, and continue them with any model.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = analects_local::hidden(&args) {
        return ExitCode::from(code);
    }
    let (as_json, done) = match parse(&args) {
        Ok(cli) => (
            cli.command.speaks_json(),
            cli.command.run().map(|()| ExitCode::SUCCESS),
        ),
        Err(error) => (false, explain(&error, &args)),
    };
    #[cfg(debug_assertions)]
    note_decodes();
    done.unwrap_or_else(|failure| {
        ui::report(&failure, as_json || help::asks_for_json(&args));
        ExitCode::from(failure.exit_code())
    })
}

/// Notes for a test how often message files were read as a whole, in the file that it names. Not in a release.
#[cfg(debug_assertions)]
fn note_decodes() {
    let Some(path) = std::env::var_os("ANALECTS_NOTE_DECODES") else {
        return;
    };
    let count = analects_formats::msgfile::DECODES.load(std::sync::atomic::Ordering::Relaxed);
    // A test that finds no file fails.
    let _ = std::fs::write(path, count.to_string());
}

fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = help::command().try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut help::command()))
}

/// Help where the person asked for it or gave no arguments; else what is wrong with them.
fn explain(error: &clap::Error, args: &[OsString]) -> Result<ExitCode, Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            ui::print_help(error).map(|()| ExitCode::SUCCESS)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            ui::print_help(error).map(|()| ExitCode::from(2))
        }
        _ => Err(help::wrong_use(error, args)),
    }
}
