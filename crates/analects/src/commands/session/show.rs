//! `session show`: shows the details of a session.

use analects_runtime::dollars;
use analects_store::TranscriptStore;
use serde::Serialize;

use super::list::SessionEntry;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::{local_time, ui};

/// Show the details of a session
///
/// show prints the session's title, folder, file and times, how many messages and branches it has, the known
/// tokens and costs, and the side chains of its agents. Tokens and costs include answers on other branches
/// and dropped answers, because you paid for them. To read the messages, use analects session tail.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects session show
  analects session show 0197a3c2 --json")]
pub struct SessionShowArgs {
    /// The session [default: last]
    session: Option<String>,

    /// Print the details as JSON
    #[arg(long)]
    pub json: bool,
}

/// A session with its side chains, as `--json` prints it.
/// The fields of the list come first in the JSON.
#[derive(Debug, Serialize)]
struct SessionDetails {
    #[serde(flatten)]
    entry: SessionEntry,
    side_chains: Vec<String>,
}

/// The totals are those of the whole session, so this may have to read all of it.
pub fn run(args: &SessionShowArgs) -> Result<(), Failure> {
    let sessions = Sessions::of(&Environment::read()?);
    let name = sessions.find(args.session.as_deref())?;
    let summary = sessions.store.overview(&name)?.summary();
    let details = SessionDetails {
        entry: SessionEntry::of(&sessions, &name, summary)?,
        side_chains: sessions.store.side_chains(&name)?,
    };
    if args.json {
        return ui::print_json(&details);
    }
    ui::print_whole_rows(rows(details))
}

/// The details with their labels, without those that are unknown or zero.
fn rows(details: SessionDetails) -> Vec<[String; 2]> {
    let entry = details.entry;
    let side_chains = details.side_chains.join(", ");
    let rows = [
        ("session", Some(entry.id)),
        ("title", entry.title),
        ("folder", entry.cwd),
        ("file", Some(entry.path)),
        (
            "begun",
            entry.created_at.map(|time| local_time::seconds_of(&time)),
        ),
        (
            "last written",
            entry.updated_at.map(|time| local_time::seconds_of(&time)),
        ),
        ("messages", Some(entry.messages.to_string())),
        ("branches", branches(entry.branches)),
        ("damaged lines", damaged(entry.damaged)),
        ("compactions", positive(entry.compactions)),
        ("tokens read", positive(entry.input_tokens)),
        ("tokens written", positive(entry.output_tokens)),
        ("known costs", cost(entry.cost_usd)),
        (
            "side chains",
            Some(side_chains).filter(|names| !names.is_empty()),
        ),
    ];
    rows.into_iter()
        .filter_map(|(label, value)| Some([label.to_string(), value?]))
        .collect()
}

/// A single branch is not worth a line.
fn branches(count: u64) -> Option<String> {
    let hint = "analects session tail marks messages on another branch";
    (count > 1).then(|| format!("{count}; {hint}"))
}

/// `None` for a session without damage.
fn damaged(lines: u64) -> Option<String> {
    (lines > 0).then(|| format!("{lines}; see analects check"))
}

/// With four digits, since single answers cost less than a cent.
fn cost(usd: f64) -> Option<String> {
    (usd > 0.0).then(|| dollars(usd))
}

/// A number as text; `None` for zero.
fn positive(number: u64) -> Option<String> {
    (number > 0).then(|| number.to_string())
}
