//! `session import`: a message file or a transcript into the store.

use std::path::PathBuf;

use analects_core::Message;
use analects_formats::decode;
use analects_store::{ChainName, OsIds, Session};
use jiff::Timestamp;
use serde::Serialize;

use crate::commands::reading;
use crate::failure::{Failure, words};
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ui;

/// Record a message file or a transcript as a session of this folder
///
/// The messages keep their ids, branches and times; the session gets an id of its own, which is printed. The file is
/// only read, and stays what it is: what is said in one of the two later does not appear in the other.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects session import talk.msg.md
  analects session import old-transcript.jsonl")]
pub struct Args {
    /// The message file (*.md) or transcript (*.jsonl)
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What was recorded, as JSON.
#[derive(Debug, Serialize)]
struct Imported<'a> {
    session_id: &'a str,
    messages: usize,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    let sessions = Sessions::of(&surroundings);
    let path = args.file.to_string_lossy();
    let source = std::fs::read(&args.file).map_err(|error| {
        let text = format!("{path}: cannot be read: {}", words(&error));
        match error.kind() {
            std::io::ErrorKind::NotFound => Failure::not_found(text),
            _ => Failure::input(text),
        }
    })?;
    let decoded = decode(&source, &path);
    let problems: Vec<_> = decoded.problems.into_iter().filter(reading::is_serious).collect();
    ui::report_problems(&path, &source, &problems);
    if decoded.messages.is_empty() {
        return Err(Failure::input(format!("{path}: there is no message in it")));
    }
    let name = sessions.new_name();
    let count = decoded.messages.len();
    record(&sessions, &name, decoded.messages).map_err(|failure| surroundings.explain(failure))?;
    match args.json {
        true => ui::print_json(&Imported { session_id: &name.session, messages: count }),
        false => ui::print_line(&name.session),
    }
}

/// Writes each chain to its place.
fn record(sessions: &Sessions, name: &ChainName, messages: Vec<Message>) -> Result<(), Failure> {
    let now = Timestamp::now();
    let mut agents: Vec<Option<String>> = Vec::new();
    for message in &messages {
        let agent = message.agent_id.as_ref().map(ToString::to_string);
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    for agent in agents {
        let is_of = |message: &&Message| message.agent_id.as_deref() == agent.as_deref();
        let own: Vec<Message> = messages.iter().filter(is_of).cloned().collect();
        let mut session = Session::open(&*sessions.store, ChainName { agent, ..name.clone() })?;
        session.append(own, &mut OsIds, now)?;
    }
    Ok(())
}
