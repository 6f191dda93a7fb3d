//! `drop` and `restore`: hides a message from the model, and shows it again.
//!
//! Both verbs change only whether the model sees a message. They have the same arguments, the same report, and each
//! undoes the other.

use serde::Serialize;

use super::verbs::{Verb, VerbOutcome, VerbTarget};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{shell, ui};

/// Hide a message from the model
///
/// Nothing is deleted, and restore shows the message to the model again. A tool call is hidden with its
/// result, and code with its output. If you drop a summary, the model again sees the messages that it
/// replaced.
///
/// In a FILE, the cell gets history="none", and drop prints the names of the cells that changed. In a
/// session, a revision that hides the message is added, and drop prints the id of the message.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects drop talk.msg.md 3
  analects restore talk.msg.md 3
  analects drop last 0197a3c2-77f1")]
pub struct DropArgs {
    /// The message file, or the session: its id, a prefix of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// The cell or message: a cell id, a message id, or a prefix of a message id
    #[arg(value_name = "CELL|MESSAGE")]
    message: String,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Show a dropped message to the model again
///
/// restore also shows what was hidden with the message: the result of a tool call, or the output of code. If
/// you restore a summary, it replaces the earlier messages again.
///
/// In a FILE, the cell loses its history="none", or gets history="summary" if it has a summary of its own;
/// restore prints the names of the cells that changed. In a session, a revision that shows the message is
/// added, and restore prints the id of the message.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects restore talk.msg.md 3
  analects restore last 0197a3c2-77f1")]
pub struct RestoreArgs {
    /// The message file, or the session: its id, a prefix of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// The cell or message: a cell id, a message id, or a prefix of a message id
    #[arg(value_name = "CELL|MESSAGE")]
    message: String,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints how to undo it, with the id of the session, because `last` may mean another one by then.
pub fn run(args: &DropArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let place = VerbTarget::named(&args.target, &environment)?;
    let outcome = place.perform(Verb::Drop(&args.message), &environment)?;
    let word = place.word();
    let target = shell::word(&outcome.target);
    ui::remark(&format!("to undo this: analects restore {word} {target}"));
    print(&place, &outcome, true, args.json)
}

/// Fails if the message is not hidden.
pub fn restore(args: &RestoreArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let place = VerbTarget::named(&args.target, &environment)?;
    let outcome = place.perform(Verb::Restore(&args.message), &environment)?;
    print(&place, &outcome, false, args.json)
}

/// The result in a session, as `--json` prints it.
/// `revision_id` is the record that was written.
#[derive(Debug, Serialize)]
struct DropReport<'a> {
    message_id: &'a str,
    revision_id: Option<&'a str>,
    hidden: bool,
}

/// Prints the cells or the message that changed.
fn print(place: &VerbTarget, done: &VerbOutcome, hidden: bool, json: bool) -> Result<(), Failure> {
    match (place, json) {
        (VerbTarget::File(_), false) => ui::print_lines(done.changed.clone()),
        (VerbTarget::File(_), true) => {
            ui::print_json(&serde_json::json!({ "cells": done.changed, "hidden": hidden }))
        }
        (VerbTarget::Session { .. }, false) => ui::print_line(&done.target),
        (VerbTarget::Session { .. }, true) => ui::print_json(&DropReport {
            message_id: &done.target,
            revision_id: done.record.as_deref(),
            hidden,
        }),
    }
}
