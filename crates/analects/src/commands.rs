//! The verbs, one file each; what undoes another verb is with that.

mod add;
mod ask;
mod chat;
mod check;
mod compact;
mod config;
mod context;
mod convert;
mod drop;
mod edit;
mod fmt;
mod fork;
mod list;
mod man;
mod model;
mod new;
mod reading;
mod recover;
mod repair;
mod rewind;
mod session;
mod set;
mod show;
mod tokens;
mod verbs;

use clap::Subcommand;

use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub enum Command {
    Add(add::Args),
    Ask(ask::Args),
    Chat(chat::Args),
    Compact(compact::Args),
    Completions(man::Completions),
    Config(config::Args),
    Context(context::Args),
    Convert(convert::Args),
    Drop(drop::Args),
    Edit(edit::Args),
    Fork(fork::Args),
    Man(man::Args),
    Model(model::Args),
    New(new::Args),
    Recover(recover::Args),
    Repair(repair::Args),
    Restore(drop::Restore),
    Rewind(rewind::Args),
    Session(session::Args),
    Set(set::Args),
    List(list::Args),
    // `get` is the former name of `show FILE CELL`.
    #[command(alias = "get")]
    Show(show::Args),
    Tokens(tokens::Args),
    Check(check::Args),
    Fmt(fmt::Args),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Add(args) => add::run(&args),
            Command::Ask(args) => ask::run(&args),
            Command::Chat(args) => chat::run(args),
            Command::Compact(args) => compact::run(&args),
            Command::Completions(args) => man::completions(&args),
            Command::Config(args) => config::run(&args),
            Command::Context(args) => context::run(&args),
            Command::Convert(args) => convert::run(&args),
            Command::Drop(args) => drop::run(&args),
            Command::Edit(args) => edit::run(&args),
            Command::Fork(args) => fork::run(&args),
            Command::Man(args) => man::run(&args),
            Command::Model(args) => model::run(&args),
            Command::New(args) => new::run(&args),
            Command::Recover(args) => recover::run(&args),
            Command::Repair(args) => repair::run(&args),
            Command::Restore(args) => drop::restore(&args),
            Command::Rewind(args) => rewind::run(&args),
            Command::Session(args) => session::run(args),
            Command::Set(args) => set::run(&args),
            Command::List(args) => list::run(&args),
            Command::Show(args) => show::run(&args),
            Command::Tokens(args) => tokens::run(&args),
            Command::Check(args) => check::run(&args),
            Command::Fmt(args) => fmt::run(&args),
        }
    }

    /// Whether all that it prints is JSON, errors too, though nobody asks for that.
    pub fn speaks_json(&self) -> bool {
        matches!(self, Command::Session(args) if args.speaks_json())
    }
}
