//! `drop`: hides a message of a conversation from now on.

use std::path::Path;

use analects_store::{OsIds, Session};
use jiff::Timestamp;
use serde::Serialize;

use super::cells;
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::{shell, ui};

/// Hide a message of a conversation from the model
///
/// The message stays in the record. In a FILE, its cell gets history=none; a call and its result go together, and so
/// do code and its outputs. The names of the cells that say so now are printed, and --undo shows them again.
/// A compaction is not hidden but taken back: compact --undo.
///
/// In a session, a tombstone hides the message, and what followed it follows the one before. The id of the tombstone is
/// printed. With --undo, the message is shown again, and its own id is printed. Without a call, its results are not sent
/// either; a call without its result counts as interrupted.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects drop talk.msg.md 3
  analects drop talk.msg.md 3 --undo
  analects drop last 0197a3c2-77f1
  analects drop last 0197a3c2-77f1 --undo")]
pub struct Args {
    /// The message file, or the session: its id, the beginning of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    session: String,

    /// The cell or message: its id, or the beginning of a message's
    #[arg(value_name = "CELL|MESSAGE")]
    message: String,

    /// Show a cell or message again that was hidden
    #[arg(long)]
    undo: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Dropped<'a> {
    message_id: &'a str,
    /// What hides it, or what hides the one that hid it.
    tombstone_id: &'a str,
    hidden: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    if let Some(path) = cells::file(&args.session) {
        return in_file(args, path, &surroundings);
    }
    let sessions = Sessions::of(&surroundings);
    let name = sessions.find(Some(&args.session))?;
    let message = sessions.message(&name, &args.message)?;
    if args.undo {
        return show_again(args, Session::open(&*sessions.store, name)?, &message);
    }
    if sessions.compaction(&name)?.contains(&message) {
        let failure = Failure::input(format!("{} is a part of the last compaction", &*message));
        let hint = format!("analects compact {} --undo takes that back", &*name.session);
        return Err(failure.or_hint(hint));
    }
    let undo = format!("analects drop {} {} --undo", &*name.session, shell::word(&message));
    let mut session = Session::open(&*sessions.store, name)?;
    if session.is_hidden(&message)? {
        let failure = Failure::input(format!("{} is hidden already", &*message));
        return Err(failure.or_hint(format!("{undo} shows it again")));
    }
    let tombstone = session.drop_message(&message, &mut OsIds, Timestamp::now())?;
    ui::remark(&format!("to undo this: {undo}"));
    let dropped = Dropped { message_id: &message, tombstone_id: &tombstone, hidden: true };
    if args.json { ui::print_json(&dropped) } else { ui::print_line(&tombstone) }
}

/// Shows a message of a session again.
fn show_again(args: &Args, mut session: Session<'_>, message: &str) -> Result<(), Failure> {
    if session.is_of_compaction(message)? && session.is_hidden(message)? {
        let text = format!("{message} is of a compaction that was taken back");
        return Err(Failure::input(text).or_hint("analects compact makes another one"));
    }
    let made = session.show_message(message, &mut OsIds, Timestamp::now())?;
    let Some(tombstone_id) = made.last() else {
        return Err(Failure::input(format!("{message} is not hidden")));
    };
    let shown = Dropped { message_id: message, tombstone_id, hidden: false };
    if args.json { ui::print_json(&shown) } else { ui::print_line(message) }
}

fn in_file(args: &Args, path: &Path, surroundings: &Surroundings) -> Result<(), Failure> {
    let changed = cells::hide(path, &args.message, !args.undo, surroundings)?;
    if changed.is_empty() {
        let state = if args.undo { "not hidden" } else { "hidden already" };
        let failure = Failure::input(format!("{}: cell {} is {state}", args.session, args.message));
        let hint = format!(
            "analects drop {} {} --undo shows it again",
            shell::path(path),
            shell::word(&args.message)
        );
        return Err(if args.undo { failure } else { failure.or_hint(hint) });
    }
    if !args.undo {
        let (file, cell) = (shell::path(path), shell::word(&args.message));
        ui::remark(&format!("to undo this: analects drop {file} {cell} --undo"));
    }
    match args.json {
        true => ui::print_json(&serde_json::json!({ "cells": changed, "hidden": !args.undo })),
        false => ui::print_lines(changed),
    }
}
