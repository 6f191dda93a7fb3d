//! `edit`: changes the text of a message.

use std::path::Path;

use analects_formats::msgfile::{Cell, CellRole, Document};

use super::chat::{self, ask_in_session_command};
use super::verbs::{Verb, VerbOutcome, VerbTarget};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::input::{GivenText, MAX_SIZE};
use crate::{shell, ui};

/// Change the text of a message
///
/// Later messages stay, and now follow the new text. To ask an edited question again, rewind to it first. An
/// answer keeps its tool calls. You cannot edit a tool call, but you can edit its result.
///
/// In a FILE, the cell gets the new text, as if you had typed it in an editor; recover brings the old text
/// back. In a session, the new text is added as a revision, and the original text stays in the session. edit
/// prints the name of the cell or message.
///
/// The new text is the arguments, followed by stdin.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects edit talk.msg.md 3 \"What I meant was this\"
  analects edit last 0197a3c2-77f1 < better.txt")]
pub struct EditArgs {
    /// The message file, or the session: its id, a prefix of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// The cell or message: a cell id, a message id, or a prefix of a message id
    #[arg(value_name = "CELL|MESSAGE")]
    message: String,

    /// The new text; stdin is added to it
    text: Vec<String>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// An empty text is refused, since nearly always an empty pipe is the reason.
pub fn run(args: &EditArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let text = GivenText::read(&args.text, MAX_SIZE)?.into_text()?;
    if text.trim().is_empty() {
        let hint = "drop hides a message without putting another text in its place";
        return Err(Failure::usage("there is no text", hint));
    }
    let place = VerbTarget::named(&args.target, &environment)?;
    let verb = Verb::Edit {
        message: &args.message,
        text: &text,
    };
    let outcome = place.perform(verb, &environment)?;
    report_next_steps(&place, &outcome)?;
    if !args.json {
        return ui::print_line(&outcome.target);
    }
    match place {
        VerbTarget::File(_) => ui::print_json(&serde_json::json!({ "cell": outcome.target })),
        VerbTarget::Session { .. } => ui::print_json(&serde_json::json!({
            "message_id": outcome.target,
            "revision_id": outcome.record.as_deref(),
        })),
    }
}

/// Prints what you may want to do next: ask again, or bring back the old text.
/// All of it goes to stderr.
fn report_next_steps(place: &VerbTarget, outcome: &VerbOutcome) -> Result<(), Failure> {
    match place {
        VerbTarget::File(path) => {
            // A hidden question cannot be asked.
            let file = outcome.file.as_ref().filter(|_| !outcome.is_hidden());
            if let Some(advice) = file.and_then(|file| advice(path, file, &outcome.target)) {
                ui::remark(&advice);
            }
            ui::remark(&format!(
                "to see the old text: analects recover {}",
                place.word()
            ));
        }
        VerbTarget::Session { sessions, name } => {
            let conversation = chat::open(sessions, name.clone())?;
            let last = conversation.last_prompt()?;
            let is_last = last.is_some_and(|last| *last.id == *outcome.target);
            if is_last && conversation.is_unanswered() {
                ui::remark(&format!(
                    "to ask it: {}",
                    ask_in_session_command(&name.session)
                ));
            }
        }
    }
    Ok(())
}

/// What to do after an edit, if anything: ask the question again, or continue from the edited
/// answer.
/// `None` if the next step is obvious or there is none, such as for a cell of an agent's side chain.
fn advice(path: &Path, document: &Document, edited: &str) -> Option<String> {
    let cell = document.cell(edited)?;
    let is_it = |other: &Cell<'_>| other.ordinal() == cell.ordinal();
    let file = shell::path(path);
    if document.unanswered().iter().any(is_it) {
        return Some(format!("to ask it: analects chat {file}"));
    }
    if cell.agent_id().is_some() {
        return None;
    }
    let back = format!(
        "analects rewind {file} {}, then analects chat {file}",
        shell::word(edited)
    );
    let role = cell.role();
    if role.is_user() {
        return Some(format!("to ask it again: {back}"));
    }
    let is_answer = role.is_reply() || role == CellRole::ToolResult;
    (is_answer && !document.is_last_message(cell))
        .then(|| format!("to continue from there: {back} PROMPT"))
}
