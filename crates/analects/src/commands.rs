//! The verbs, one file each.

mod chat;
mod show;

use clap::Subcommand;

use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub enum Command {
    Chat(chat::Args),
    Show(show::Args),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Chat(args) => chat::run(args),
            Command::Show(args) => show::run(&args),
        }
    }

    /// Whether errors too are to be JSON.
    pub fn wants_json(&self) -> bool {
        match self {
            Command::Chat(_) => false,
            Command::Show(args) => args.json,
        }
    }
}
