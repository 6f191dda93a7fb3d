//! `drop` and `restore`: hides a message of a conversation from now on, and shows it again.

use serde::Serialize;

use super::verbs::{Outcome, Place, Verb};
use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::{shell, ui};

/// Hide a message of a conversation from the model
///
/// The message stays in the record, and restore shows it again. A tool call goes with its result, code goes with its
/// output, and a summary goes with its compaction, so that the model sees everything that it stood for.
///
/// In a FILE, the cell gets history="none", and the names of the cells that changed are printed. In a session, a
/// revision hides the message, and the id of the message is printed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects drop talk.msg.md 3
  analects restore talk.msg.md 3
  analects drop last 0197a3c2-77f1")]
pub struct Args {
    /// The message file, or the session: its id, the beginning of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// The cell or message: its id, or the beginning of a message's
    #[arg(value_name = "CELL|MESSAGE")]
    message: String,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Show a message again that drop has hidden
///
/// What was hidden with it is shown with it: a tool call and its result, code and its output, a summary and its
/// compaction.
///
/// In a FILE, the cell loses its history="none", or gets history="summary" if it has a summary of its own; the names
/// of the cells that changed are printed. In a session, a revision shows the message, and the id of the message is
/// printed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects restore talk.msg.md 3
  analects restore last 0197a3c2-77f1")]
pub struct Restore {
    /// The message file, or the session: its id, the beginning of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// The cell or message: its id, or the beginning of a message's
    #[arg(value_name = "CELL|MESSAGE")]
    message: String,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    let place = Place::named(&args.target, &surroundings)?;
    let outcome = place.perform(Verb::Drop(&args.message), &surroundings)?;
    let (word, target) = (place.word(), shell::word(&outcome.target));
    ui::remark(&format!("to undo this: analects restore {word} {target}"));
    print(&place, &outcome, true, args.json)
}

pub fn restore(args: &Restore) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    let place = Place::named(&args.target, &surroundings)?;
    let outcome = place.perform(Verb::Restore(&args.message), &surroundings)?;
    print(&place, &outcome, false, args.json)
}

/// What was hidden or shown in a session, as JSON.
#[derive(Debug, Serialize)]
struct InSession<'a> {
    message_id: &'a str,
    revision_id: Option<&'a str>,
    hidden: bool,
}

/// Prints what was hidden or shown.
fn print(place: &Place, done: &Outcome, hidden: bool, json: bool) -> Result<(), Failure> {
    match (place, json) {
        (Place::File(_), false) => ui::print_lines(done.changed.clone()),
        (Place::File(_), true) => {
            ui::print_json(&serde_json::json!({ "cells": done.changed, "hidden": hidden }))
        }
        (Place::Session { .. }, false) => ui::print_line(&done.target),
        (Place::Session { .. }, true) => ui::print_json(&InSession {
            message_id: &done.target,
            revision_id: done.record.as_deref(),
            hidden,
        }),
    }
}
