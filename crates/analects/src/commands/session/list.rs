//! `session list`: lists the sessions of a folder, or of all folders.

use analects_store::{ChainName, ListedSession, SessionSummary, TranscriptStore};
use serde::Serialize;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::sessions::{Sessions, short_ids};
use crate::{local_time, ui};

/// List the sessions of this folder or of all folders
///
/// Each line shows a prefix of the session's id, when it was last written, how many messages it has, and
/// its title or the start of its text. The session that was written last comes first.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects session list
  analects session list --all --json")]
pub struct SessionListArgs {
    /// List the sessions of all folders, with their folders
    #[arg(long)]
    all: bool,

    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

/// A session as `--json` prints it.
/// `session show` prints the same fields.
#[derive(Debug, Serialize)]
pub struct SessionEntry {
    pub id: String,
    pub title: Option<String>,
    /// The folder that the session works in.
    pub cwd: Option<String>,
    /// Its file in the store.
    pub path: String,
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
    /// Those on all branches.
    pub messages: u64,
    pub branches: u64,
    /// Lines of the file, of which messages are only a part.
    pub records: u64,
    /// Lines that cannot be read.
    pub damaged: u64,
    pub compactions: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// What is known; answers without a price are not in it.
    pub cost_usd: f64,
}

impl SessionEntry {
    pub fn of(
        sessions: &Sessions,
        name: &ChainName,
        summary: SessionSummary,
    ) -> Result<SessionEntry, Failure> {
        let path = sessions.store.path(name)?.to_string_lossy().into_owned();
        Ok(SessionEntry {
            id: name.session.to_string(),
            title: summary.name,
            cwd: summary.cwd,
            path,
            created_at: summary.created_at,
            updated_at: summary.updated_at,
            messages: summary.messages,
            branches: summary.branches,
            records: summary.records,
            damaged: summary.damaged,
            compactions: summary.compactions,
            input_tokens: summary.input_tokens,
            output_tokens: summary.output_tokens,
            cost_usd: summary.cost_usd,
        })
    }
}

/// The list as `--json` prints it.
#[derive(Debug, Serialize)]
struct SessionListReport {
    sessions: Vec<SessionEntry>,
}

/// Summaries of sessions are cached, so a long list is quick from the second time on.
pub fn run(args: &SessionListArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let sessions = Sessions::of(&environment);
    let project = (!args.all).then_some(sessions.project.as_str());
    let listed = sessions.store.list(project)?;
    let summaries = sessions.store.summaries(&listed)?;
    let mut entries = Vec::new();
    for (session, summary) in listed.iter().zip(summaries) {
        entries.push(SessionEntry::of(&sessions, &session.name, summary)?);
    }
    if args.json {
        return ui::print_json(&SessionListReport { sessions: entries });
    }
    if entries.is_empty() {
        let text = if args.all {
            "no session yet; analects chat \"Hello\" starts one"
        } else {
            "no session in this folder yet; --all lists those of other folders"
        };
        ui::remark(text);
    }
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let mut rows = Vec::new();
    for (id, (entry, listed)) in short_ids(&ids).into_iter().zip(entries.iter().zip(&listed)) {
        rows.push(row(id, entry, listed, args.all));
    }
    ui::print_rows(rows)
}

/// A row of the list: id, time, messages, folder, title.
/// Times are in the local time zone. The folder is empty without `--all`.
fn row(id: String, entry: &SessionEntry, listed: &ListedSession, all: bool) -> [String; 5] {
    let cwd = entry.cwd.clone().filter(|_| all).unwrap_or_default();
    let title = entry.title.clone().unwrap_or_default();
    [
        id,
        local_time::minutes(listed.modified),
        match entry.messages {
            1 => "1 message".to_string(),
            count => format!("{count} messages"),
        },
        cwd,
        title,
    ]
}
