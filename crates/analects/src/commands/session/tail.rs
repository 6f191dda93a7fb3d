//! `session tail`: shows the last messages of a session.

use analects_core::{Json, Message, Raw, RawMap, Unseen};
use analects_store::tail;

use crate::commands::reading::{content_in_words, unseen_in_words};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::{local_time, request_preview, ui};

/// Show the last messages of a session
///
/// Each message has a line with its id, its author and its time, followed by its text. Tool calls and
/// results show only their first line. tail reads only the end of the session, however long it is. With
/// --json, each message is a line of JSON.
///
/// tail shows the messages of all branches. If the model does not see a message, its line ends with the
/// reason: it is hidden (dropped), on another branch, compacted (a summary replaces it), taken back (by a
/// tombstone record), or an error. With --json, the field unseen holds the reason.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects session tail
  analects session tail 0197a3c2 -n 5
  analects session tail last --json | jq -r .content")]
pub struct TailArgs {
    /// The session [default: last]
    session: Option<String>,

    /// How many messages to show
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 20)]
    count: usize,

    /// Show the side chain of this agent instead of the main chain
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Print each message as a line of JSON
    #[arg(long)]
    pub json: bool,
}

/// The oldest of these messages comes first.
pub fn run(args: &TailArgs) -> Result<(), Failure> {
    let sessions = Sessions::of(&Environment::read()?);
    let name = sessions.chain(args.session.as_deref(), args.agent.as_deref())?;
    let tail = tail(&*sessions.store, &name, args.count)?;
    for (nth, (message, unseen)) in tail.messages.iter().zip(&tail.unseen).enumerate() {
        if args.json {
            ui::print_json_line(&request_preview::raw_json(marked_json(message, *unseen))?)?;
            continue;
        }
        let gap = if nth > 0 { "\n" } else { "" };
        let mark = unseen
            .map(|why| format!("  {}", unseen_in_words(why)))
            .unwrap_or_default();
        let text = format!(
            "{gap}{}{mark}\n{}\n",
            heading(message),
            text_of(message).trim_end()
        );
        ui::print_text(text.as_bytes())?;
    }
    Ok(())
}

/// A message as JSON, with the field `unseen` if the model does not see it.
/// A message whose JSON cannot be parsed again is printed without the mark.
fn marked_json(message: &Message, unseen: Option<Unseen>) -> String {
    let json = message.to_json();
    let Some(why) = unseen else { return json };
    match RawMap::parse(&json) {
        Ok(mut map) => {
            map.push("unseen", Raw::string(why.as_str()));
            map.to_raw().as_str().to_string()
        }
        Err(_) => json,
    }
}

/// The first line: id, type, time and model.
fn heading(message: &Message) -> String {
    let when = message.created_at.map(local_time::seconds);
    let when = when.map(|when| format!("  {when}")).unwrap_or_default();
    let model = message
        .model
        .as_ref()
        .map(|model| format!("  {model}"))
        .unwrap_or_default();
    format!(
        "[{}] {}{when}{model}",
        &*message.id,
        message.body.type_name()
    )
}

/// The text of a message, with tool calls and other blocks in one line each.
fn text_of(message: &Message) -> String {
    match message.body.content() {
        Some(content) => content_in_words(content),
        None => message.text(),
    }
}
