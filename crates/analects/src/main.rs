//! The `analects` command: arguments, terminal, environment and exit codes. The other crates do the work.
//!
//! Each verb is a file under `commands/`; the doc comment of its arguments is its help and its section of the
//! reference. [`help`] groups the verbs. Only [`ui`] prints. [`failure`] turns every error into one line, a hint and
//! an exit code. [`config`] reads configuration files, and [`environment`] reads environment variables.

mod commands;
mod config;
mod connection;
mod environment;
mod failure;
mod help;
mod hints;
mod input;
mod interrupt;
mod local;
mod local_time;
mod message_file;
mod no_model_help;
mod pictures;
#[cfg(test)]
mod reference;
mod request_preview;
mod sessions;
mod shell;
mod tools;
mod ui;
mod usage;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{FromArgMatches, Parser};

use failure::Failure;

/// Reading and planning a long conversation makes millions of small allocations, which the system allocator serves
/// slowly and returns even more slowly.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keep AI conversations as plain Markdown files that you own, and continue them with any model.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

/// Nothing is printed after the failure, so it is the last thing that you see.
fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    // The process that looks after a local model's server is this program, too.
    if let Some(code) = analects_local::run_if_hidden(&args) {
        return ExitCode::from(code);
    }
    let (as_json, result) = match parse(&args) {
        Ok(cli) => run(cli),
        Err(error) => (false, explain_arguments(&error, &args)),
    };
    #[cfg(debug_assertions)]
    write_decode_count();
    match result {
        Ok(code) => code,
        Err(failure) => {
            ui::report(&failure, as_json || help::asks_for_json(&args));
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Runs a verb. The first value is whether its errors are printed as JSON.
fn run(cli: Cli) -> (bool, Result<ExitCode, Failure>) {
    let as_json = cli.command.speaks_json();
    let result = cli.command.run();
    (as_json, result.map(|()| ExitCode::SUCCESS))
}

/// Writes how many whole message files this process decoded into the file that `ANALECTS_NOTE_DECODES` names. Only
/// tests use it, so release builds do not have it.
#[cfg(debug_assertions)]
fn write_decode_count() {
    let Some(path) = std::env::var_os("ANALECTS_NOTE_DECODES") else {
        return;
    };
    let count = analects_formats::msgfile::DECODES.load(std::sync::atomic::Ordering::Relaxed);
    // A test that finds no file fails, so an error needs no report.
    let _ = std::fs::write(path, count.to_string());
}

/// Parses the arguments with the grouped help, so that errors show it, too.
/// clap's own messages would lack the groups.
fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = help::command().try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut help::command()))
}

/// Prints help if you asked for it or gave no arguments. Otherwise says what is wrong with the arguments.
fn explain_arguments(error: &clap::Error, args: &[OsString]) -> Result<ExitCode, Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            ui::print_help(error)?;
            Ok(ExitCode::SUCCESS)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            ui::print_help(error)?;
            Ok(ExitCode::from(2))
        }
        _ => Err(hints::usage_failure(error, args)),
    }
}
