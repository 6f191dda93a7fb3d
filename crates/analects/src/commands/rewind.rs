//! `rewind`: goes back to an earlier message of a conversation.

use super::verbs::{Verb, VerbTarget};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hints::Interface;
use crate::{shell, ui};

/// Go back to an earlier message of a conversation
///
/// Your next message follows the message that you name. Everything after that message stays as a branch that
/// is not sent; to return to that branch, rewind to its last message. A tool call keeps its result, code
/// keeps its output, and a summary still replaces the messages before it.
///
/// In a FILE, the empty cell at the end gets parent="3", and your next message goes into it. If you go back
/// past a summary, it no longer counts, and the messages that it replaced are sent again.
///
/// If you rewind to a question, chat without a prompt asks it again.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects rewind talk.msg.md 3
  analects session tail last
  analects rewind last 0197a3c2-77f1")]
pub struct RewindArgs {
    /// The message file, or the session: its id, a prefix of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// The cell or message to go back to: a cell id, a message id, or a prefix of a message id
    #[arg(value_name = "CELL|MESSAGE")]
    message: String,
}

pub fn run(args: &RewindArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let place = VerbTarget::named(&args.target, &environment)?;
    let undo = rewind_to(&place, Some(&args.message), &environment)?;
    print_rewind(&undo, Interface::Call);
    Ok(())
}

/// What a rewind did, and the way back.
#[derive(Debug)]
pub struct RewindReport {
    /// What continues, and from where.
    text: String,
    /// The name of the conversation, as a command needs it.
    conversation: String,
    /// The last cell or message of the branch that was left.
    pub last: Option<String>,
}

/// Prints what a rewind did, and how to undo it.
pub fn print_rewind(report: &RewindReport, interface: Interface) {
    let text = &report.text;
    match &report.last {
        Some(last) => {
            let back = back_to(&report.conversation, last, interface);
            ui::remark(&format!("{text}; to undo this: {back}"));
        }
        None => ui::remark(text),
    }
}

/// The command that goes back to this cell or message.
pub fn back_to(conversation: &str, name: &str, interface: Interface) -> String {
    let name = shell::word(name);
    match interface {
        Interface::Call => format!("analects rewind {conversation} {name}"),
        Interface::Session => format!("/rewind {name}"),
    }
}

/// Goes back to a message, or for `None` to before the first one.
/// Going back twice is fine: both branches stay in the record.
pub fn rewind_to(
    place: &VerbTarget,
    to: Option<&str>,
    environment: &Environment,
) -> Result<RewindReport, Failure> {
    let outcome = place.perform(Verb::Rewind(to), environment)?;
    let from = match (place, to) {
        (_, None) => "its beginning".to_string(),
        (VerbTarget::File(_), Some(_)) => format!("cell {}", outcome.target),
        (VerbTarget::Session { .. }, Some(_)) => outcome.target,
    };
    let what = match place {
        VerbTarget::File(path) => path.display().to_string(),
        VerbTarget::Session { .. } => "the session".to_string(),
    };
    Ok(RewindReport {
        text: format!("{what} continues from {from}"),
        conversation: place.word(),
        last: outcome.last,
    })
}
