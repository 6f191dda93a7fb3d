//! `session import`: a message file or a transcript into the store.

use std::path::PathBuf;

use analects_core::{Ids, Message, Raw, StateChange};
use analects_formats::decode;
use analects_store::{ChainName, OsIds, TranscriptStore};
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

/// Writes each chain to its place, its records as they are.
fn record(sessions: &Sessions, name: &ChainName, messages: Vec<Message>) -> Result<(), Failure> {
    let mut chains: Vec<(ChainName, Vec<Message>)> = vec![(name.clone(), Vec::new())];
    for mut message in messages {
        if message.id.is_empty() {
            message.id = OsIds.uuid(Timestamp::now()).into();
        }
        message.session_id = name.session.clone();
        let chain = ChainName { agent: message.agent_id.clone(), ..name.clone() };
        match chains.iter_mut().find(|(known, _)| *known == chain) {
            Some((_, records)) => records.push(message),
            None => chains.push((chain, vec![message])),
        }
    }
    if chains[0].1.is_empty() {
        let change = StateChange { changes: Raw::empty_object(), is_snapshot: false };
        let session_id = name.session.clone();
        let id = OsIds.uuid(Timestamp::now());
        chains[0].1.push(Message { session_id, ..Message::new(id, change.into()) });
    }
    // A name that cannot be used must not leave half a session behind.
    for (chain, _) in &chains {
        sessions.store.path(chain)?;
    }
    // The main chain last: by it the session is found.
    for (chain, records) in chains.iter().rev() {
        sessions.store.append(chain, records)?;
    }
    Ok(())
}
