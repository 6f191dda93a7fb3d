//! `rewind`: goes back to an earlier message of a conversation.

use analects_store::{OsIds, Session};
use jiff::Timestamp;

use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ui;

/// Go back to an earlier message of a session
///
/// What is said next follows that message. What came after it stays in the record as a branch: to go back there, rewind
/// to its last message. A call whose result comes after the message counts as interrupted when the conversation is sent.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects session tail last
  analects rewind last 0197a3c2-77f1")]
pub struct Args {
    /// The session: its id, the beginning of it, its title, or last
    session: String,

    /// The message to go back to: its id, or the beginning of it
    message: String,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let sessions = Sessions::of(&Surroundings::of_process()?);
    let name = sessions.find(Some(&args.session))?;
    let message = sessions.message(&name, &args.message)?;
    let mut session = Session::open(&*sessions.store, name)?;
    let before = session.leaf().cloned();
    session.rewind(&message, &mut OsIds, Timestamp::now())?;
    let back = before.map(|leaf| format!("; to undo this, rewind to {}", &*leaf));
    ui::remark(&format!("the session goes on from {}{}", &*message, back.unwrap_or_default()));
    Ok(())
}
