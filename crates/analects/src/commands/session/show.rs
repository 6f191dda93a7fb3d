//! `session show`: shows the details of a session.

use analects_store::TranscriptStore;
use serde::Serialize;

use super::list::SessionEntry;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::ui;

/// Show the details of a session
///
/// This shows the session's title, folder, file and times, how many messages and branches it has, the known
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
#[derive(Debug, Serialize)]
struct SessionDetails {
    #[serde(flatten)]
    entry: SessionEntry,
    side_chains: Vec<String>,
}

pub fn run(args: &SessionShowArgs) -> Result<(), Failure> {
    let sessions = Sessions::of(&Environment::read()?);
    let name = sessions.find(args.session.as_deref())?;
    let digest = sessions.store.overview(&name)?.summary();
    let entry = SessionEntry::of(&sessions, &name, digest)?;
    let shown = SessionDetails {
        entry,
        side_chains: sessions.store.side_chains(&name)?,
    };
    if args.json {
        return ui::print_json(&shown);
    }
    let entry = shown.entry;
    let damaged = (entry.damaged > 0).then(|| format!("{}; see analects check", entry.damaged));
    let branches = (entry.branches > 1).then(|| {
        format!(
            "{}; analects session tail marks what is on another one",
            entry.branches
        )
    });
    let some = |number: u64| (number > 0).then(|| number.to_string());
    let rows = [
        ("session", Some(entry.id)),
        ("title", entry.title),
        ("folder", entry.cwd),
        ("file", Some(entry.path)),
        ("begun", entry.created_at),
        ("last written", entry.updated_at),
        ("messages", Some(entry.messages.to_string())),
        ("branches", branches),
        ("damaged lines", damaged),
        ("compactions", some(entry.compactions)),
        ("tokens read", some(entry.input_tokens)),
        ("tokens written", some(entry.output_tokens)),
        (
            "known costs",
            (entry.cost_usd > 0.0).then(|| format!("${:.4}", entry.cost_usd)),
        ),
        (
            "side chains",
            Some(shown.side_chains.join(", ")).filter(|names| !names.is_empty()),
        ),
    ];
    let rows = rows
        .into_iter()
        .filter_map(|(label, value)| Some([label.to_string(), value?]));
    ui::print_rows(rows.collect())
}
