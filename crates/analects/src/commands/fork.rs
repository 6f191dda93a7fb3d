//! `fork`: a copy of a conversation up to some message, which goes on by itself.

use analects_store::{ChainName, OsIds, Session};
use jiff::Timestamp;
use serde::Serialize;

use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ui;

/// Copy a session up to some message into one of its own
///
/// The new session is gone on with independently; the old one stays as it is. The id of the new one is printed. A call
/// whose result comes after the message counts as interrupted when the conversation is sent.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects fork last
  analects fork 0197a3c2 --at 0197a3c2-77f1")]
pub struct Args {
    /// The session: its id, the beginning of it, its title, or last
    session: String,

    /// The last message to copy: its id, or the beginning of it [default: the last one]
    #[arg(long, value_name = "MESSAGE")]
    at: Option<String>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// The new session, as JSON.
#[derive(Debug, Serialize)]
struct Forked<'a> {
    session_id: &'a str,
    forked_from: &'a str,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    let sessions = Sessions::of(&surroundings);
    let name = sessions.find(Some(&args.session))?;
    let at = args.at.as_deref().map(|word| sessions.message(&name, word)).transpose()?;
    // A copy belongs where the original does.
    let copy = ChainName { project: name.project.clone(), ..sessions.new_name() };
    let session = Session::open(&*sessions.store, name.clone())?;
    session.fork(at.as_deref(), copy.clone(), &mut OsIds, Timestamp::now())?;
    match args.json {
        true => ui::print_json(&Forked { session_id: &copy.session, forked_from: &name.session }),
        false => ui::print_line(&copy.session),
    }
}
