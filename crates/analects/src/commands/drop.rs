//! `drop`: hides a message of a conversation from now on.

use analects_store::{OsIds, Session};
use jiff::Timestamp;
use serde::Serialize;

use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ui;

/// Hide a message of a session from the model
///
/// The message stays in the record; a tombstone hides it, and what followed it follows the one before. The id of the
/// tombstone is printed: to show the message again, drop the tombstone. Without a call, its results are not sent either;
/// a call without its result counts as interrupted.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  analects drop last 0197a3c2-77f1")]
pub struct Args {
    /// The session: its id, the beginning of it, its title, or last
    session: String,

    /// The message: its id, or the beginning of it
    message: String,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Dropped<'a> {
    message_id: &'a str,
    tombstone_id: &'a str,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let sessions = Sessions::of(&Surroundings::of_process()?);
    let name = sessions.find(Some(&args.session))?;
    let message = sessions.message(&name, &args.message)?;
    let mut session = Session::open(&*sessions.store, name)?;
    if session.is_hidden(&message)? {
        let failure = Failure::input(format!("{} is hidden already", &*message));
        return Err(failure.or_hint("to show it again, drop the tombstone that hides it"));
    }
    let tombstone = session.drop_message(&message, &mut OsIds, Timestamp::now())?;
    match args.json {
        true => ui::print_json(&Dropped { message_id: &message, tombstone_id: &tombstone }),
        false => ui::print_line(&tombstone),
    }
}
