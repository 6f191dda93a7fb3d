//! `session import`: a conversation in any format into the store.

use std::collections::HashSet;
use std::path::PathBuf;

use analects_core::{Ids, Message, Problem, Raw, StateChange};
use analects_formats::frame::{self, HEAD, Read, ReadOptions};
use analects_formats::{decode, transcript};
use analects_store::{ChainName, OsIds, TranscriptStore};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::commands::reading;
use crate::failure::{Failure, words};
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ui;

/// Record a conversation from a file as a session of this folder
///
/// The file is a message file, a transcript, a session of Claude Code, or of any other format that convert reads; its
/// content tells which. The messages keep their ids, branches and times; the session gets an id of its own, which is
/// printed. Progress and snapshots of other programs are left out. The session is there as a whole, with its side chains,
/// or not at all, even if the command is killed. The file is only read, and stays what it is: what is
/// said in one of the two later does not appear in the other.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects session import talk.msg.md
  analects session import old-transcript.jsonl
  analects session import ~/.claude/projects/-home-me-work/0b6f5c1e.jsonl")]
pub struct Args {
    /// The file
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
    left_out: usize,
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
    let found = read(&source, &path)?;
    tell(&found, &path, &source, args.json);
    if found.messages.is_empty() {
        return Err(Failure::input(format!("{path}: there is no message in it")));
    }
    let name = sessions.new_name();
    let (messages, left_out) = (found.messages.len(), found.left_out);
    record(&sessions, &name, found.messages).map_err(|failure| surroundings.explain(failure))?;
    match args.json {
        true => ui::print_json(&Imported { session_id: &name.session, messages, left_out }),
        false => ui::print_line(&name.session),
    }
}

/// What a file holds, whatever its format.
fn read(source: &[u8], path: &str) -> Result<Read, Failure> {
    let options = ReadOptions { zone: TimeZone::system(), ..ReadOptions::named(path) };
    let Some(format) = frame::detect(&source[..source.len().min(HEAD)], path) else {
        let text = format!("{path}: this is no conversation in a format that is known here");
        let hint = "if you know its format, convert it first: analects convert --from";
        return Err(Failure::input(text).or_hint(hint));
    };
    let decoded = match format.id() {
        "transcript" => transcript::decode(source),
        "msgfile" => decode(source, path),
        id => {
            let Some(mut reader) = format.reader(&options) else { return Ok(Read::default()) };
            let mut found = Read::default();
            reader.feed(source, &mut found);
            reader.finish(&mut found);
            return one_conversation(found, id, path);
        }
    };
    Ok(Read { messages: decoded.messages, problems: decoded.problems, ..Read::default() })
}

/// A session is one conversation. Files of requests may hold many; one of Claude Code goes on with another.
fn one_conversation(found: Read, format: &str, path: &str) -> Result<Read, Failure> {
    let sessions: HashSet<&str> =
        found.messages.iter().map(|message| &*message.session_id).collect();
    if sessions.len() > 1 && format != "claude-code" {
        let text = format!("{path}: there are {} conversations in it", sessions.len());
        return Err(Failure::input(text).or_hint("import files of one conversation each"));
    }
    Ok(found)
}

/// Says what is odd about a file, and what is not taken over.
fn tell(found: &Read, path: &str, source: &[u8], as_json: bool) {
    let serious = |problem: &&Problem| reading::is_serious(problem);
    let serious: Vec<Problem> = found.problems.iter().filter(serious).cloned().collect();
    ui::report_problems(path, source, &serious);
    for loss in &found.losses {
        ui::remark(&format!("{path}: {} is not taken over: {}", loss.what, loss.why));
    }
    if found.left_out > 0 && !as_json {
        let records = match found.left_out {
            1 => "1 record that is no conversation is".to_string(),
            count => format!("{count} records that are no conversation are"),
        };
        ui::remark(&format!("{path}: {records} left out"));
    }
}

/// Records each chain as it is, and all of them in one step.
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
    let mut session = sessions.store.begin(name)?;
    for (chain, records) in &chains {
        session.append(chain.agent.as_deref(), records)?;
    }
    Ok(session.finish()?)
}
