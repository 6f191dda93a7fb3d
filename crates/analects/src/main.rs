//! The command `analects`: terminal, environment, exit codes. What it does is in the other crates.
//!
//! Each verb is a file under `commands/`, and its `Args` doc comment is its help. Printing happens
//! in [`ui`] only; [`failure`] turns every error into one line, a hint and an exit code.
//!
//! # Limitations
//!
//! - The verbs are `chat` and `show`; there is no configuration file yet.

mod commands;
mod failure;
mod surroundings;
mod ui;

use std::process::ExitCode;

use clap::Parser;

/// Keep AI conversations as plain Markdown files that you own, and continue them with any model.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let as_json = cli.command.wants_json();
    match cli.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            ui::report(&failure, as_json);
            ExitCode::from(failure.exit_code())
        }
    }
}
