//! `restore`: shows a message again that was hidden.

use super::drop::print;
use super::verbs::{Place, Verb};
use crate::failure::Failure;
use crate::surroundings::Surroundings;

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

pub fn run(args: &Args) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    let place = Place::named(&args.target, &surroundings)?;
    let outcome = place.perform(Verb::Restore(&args.message), &surroundings)?;
    print(&place, &outcome, false, args.json)
}
