//! `rewind`: goes back to an earlier message of a conversation.

use analects_core::{Body, MessageId};
use analects_store::{ChainName, OsIds, Session};
use jiff::Timestamp;

use super::cells;
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::{shell, ui};

/// Go back to an earlier message of a conversation
///
/// What is said next follows that message. What came after it stays in the record as a branch, and is not sent: to go
/// back there, rewind to its last message. Of a FILE, every cell stays as it is; one is added, which says where the
/// conversation goes on. A call whose result comes after the message counts as interrupted when the conversation is sent.
///
/// Before a compaction, its summary does not count, and what it stands for is sent again; to go back to a summary is to
/// go to the end of its compaction.
///
/// If the message is a question, chat FILE without a prompt asks it again.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects rewind talk.msg.md 3
  analects session tail last
  analects rewind last 0197a3c2-77f1")]
pub struct Args {
    /// The message file, or the session: its id, the beginning of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    session: String,

    /// The cell or message to go back to: its id, or the beginning of a message's
    #[arg(value_name = "CELL|MESSAGE")]
    message: String,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    if let Some(path) = cells::file(&args.session) {
        let rewound = cells::rewind(path, &args.message, &surroundings)?;
        ui::remark(&format!(
            "{} goes on from cell {}; to undo this: analects rewind {} {}",
            args.session,
            rewound.to,
            shell::path(path),
            shell::word(&rewound.before)
        ));
        return Ok(());
    }
    let sessions = Sessions::of(&surroundings);
    let name = sessions.find(Some(&args.session))?;
    let message = sessions.message(&name, &args.message)?;
    back_to(&sessions, name, Some(&message))
}

/// Goes back to a message, or before the first one, and says how to undo that.
pub fn back_to(sessions: &Sessions, name: ChainName, to: Option<&str>) -> Result<(), Failure> {
    let session_id = name.session.to_string();
    let counted = sessions.compaction(&name)?;
    let mut session = Session::open(&*sessions.store, name.clone())?;
    let before = session.leaf().cloned();
    match to {
        Some(message) => {
            check_counts(&session, message)?;
            session.rewind(message, &mut OsIds, Timestamp::now())?;
        }
        None => session.rewind_to_start(&mut OsIds, Timestamp::now())?,
    }
    remark_uncounted(sessions, &name, &counted)?;
    let back = before
        .map(|leaf| format!("; to undo this: analects rewind {session_id} {}", shell::word(&leaf)));
    let (to, back) = (to.unwrap_or("its beginning"), back.unwrap_or_default());
    ui::remark(&format!("the session goes on from {to}{back}"));
    Ok(())
}

/// Says so if a compaction that counted before does not count in a session.
pub fn remark_uncounted(
    sessions: &Sessions,
    name: &ChainName,
    counted: &[MessageId],
) -> Result<(), Failure> {
    if counted.is_empty() {
        return Ok(());
    }
    let counts = sessions.compaction(name)?;
    if counted != counts {
        let earlier = (!counts.is_empty()).then_some("that of an earlier one");
        cells::remark_uncounted("the summary of the last compaction", earlier);
    }
    Ok(())
}

/// The summary of a compaction that was taken back is nothing to go on from.
pub fn check_counts(session: &Session<'_>, message: &str) -> Result<(), Failure> {
    let is_summary = matches!(session.message(message)?.body, Body::Summary(_));
    if is_summary && session.is_hidden(message)? && !session.compaction(message)?.is_empty() {
        let text = format!("{message} is a summary that does not count any more");
        return Err(Failure::input(text).or_hint("name a message or an answer"));
    }
    Ok(())
}
