//! The verbs, one file each. A verb that undoes another is in the same file, such as `restore` in
//! `drop`.
//!
//! A verb's file has its `Args` struct, its report for `--json`, a function `run`, and below it what only this verb
//! needs. What several verbs need is in [`reading`] (for files that are only read) and [`verbs`] (for changes to one
//! message). A verb prints data through `ui`, and returns a failure instead of printing it.

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
mod tool;
mod verbs;

use clap::Subcommand;

use crate::failure::Failure;

/// A verb with its arguments. The doc comment of each `Args` struct is the help of that verb.
#[derive(Debug, Subcommand)]
pub enum Command {
    Add(add::AddArgs),
    Ask(ask::AskArgs),
    Chat(Box<chat::ChatArgs>),
    Compact(compact::CompactArgs),
    Completions(man::CompletionsArgs),
    Config(config::ConfigArgs),
    Context(context::ContextArgs),
    Convert(convert::ConvertArgs),
    Drop(drop::DropArgs),
    Edit(edit::EditArgs),
    Fork(fork::ForkArgs),
    Man(man::ManArgs),
    Model(model::ModelArgs),
    New(new::NewArgs),
    Recover(recover::RecoverArgs),
    Repair(repair::RepairArgs),
    Restore(drop::RestoreArgs),
    Rewind(rewind::RewindArgs),
    Session(session::SessionArgs),
    Set(set::SetArgs),
    List(list::ListArgs),
    // `get` is the former name of `show FILE CELL`.
    #[command(alias = "get")]
    Show(show::ShowArgs),
    Tokens(tokens::TokensArgs),
    Tool(tool::ToolArgs),
    Check(check::CheckArgs),
    Fmt(fmt::FmtArgs),
}

impl Command {
    /// Runs the verb. The caller prints the failure and turns it into an exit code.
    /// What a verb printed before it failed stays printed.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Add(args) => add::run(&args),
            Command::Ask(args) => ask::run(&args),
            Command::Chat(args) => chat::run(*args),
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
            Command::Tool(args) => tool::run(&args),
            Command::Check(args) => check::run(&args),
            Command::Fmt(args) => fmt::run(&args),
        }
    }

    /// Whether everything the command prints is JSON, errors included, even without `--json`.
    /// Only `session append` is like that: a program reads every line of it.
    pub fn speaks_json(&self) -> bool {
        matches!(self, Command::Session(args) if args.speaks_json())
    }
}
