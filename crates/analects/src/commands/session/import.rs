//! `session import`: a conversation in any format into the store.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use analects_core::{Ids, Message, Problem, Raw, StateChange};
use analects_formats::frame::{self, HEAD, Read, ReadOptions};
use analects_formats::msgfile;
use analects_store::{ChainName, OsIds, TranscriptStore, read_message_file};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::commands::reading;
use crate::failure::{Failure, words};
use crate::piped::open_regular;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ui;

/// Record a conversation from a file as a session of this folder
///
/// The file is a message file, a transcript, a session of Claude Code, or of any other format that convert reads; its
/// content tells which. The messages keep their ids, branches and times; the session gets an id of its own, which is
/// printed. Progress and snapshots of other programs are left out, and so is a line of more than 64 MB, whose place in the
/// conversation is kept. The session is there as a whole, with its side chains, or not at all, even if the command is
/// killed. The file is only read, and stays what it is: what is
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
    let (found, source) = read(&args.file)?;
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

/// The size up to which a file is held in memory, so that its lines can be shown.
const MOST_SHOWN: u64 = 32 << 20;
/// How much is read at once.
const PIECE: usize = 256 << 10;

/// What a file holds, whatever its format, and its text, unless that is large. It is read piece by piece: a line, or
/// a file that has to be read as a whole, has a limit.
fn read(file: &Path) -> Result<(Read, Vec<u8>), Failure> {
    let path = file.to_string_lossy();
    let unreadable =
        |error: io::Error| Failure::input(format!("{path}: cannot be read: {}", words(&error)));
    let mut opened = open_regular(file)?;
    let is_shown = opened.metadata().is_ok_and(|facts| facts.len() <= MOST_SHOWN);
    let mut piece = Vec::new();
    opened.by_ref().take(HEAD as u64).read_to_end(&mut piece).map_err(unreadable)?;
    let format = frame::detect(&piece, &path).ok_or_else(|| unknown(&path))?;
    if format.id() == "msgfile" {
        let document = read_message_file(file)?;
        let decoded = msgfile::messages(&document, &msgfile::session_of(&path));
        let problems = document.problems().into_iter().chain(decoded.problems).collect();
        let found = Read { messages: decoded.messages, problems, ..Read::default() };
        return Ok((found, document.into_source()));
    }
    // A transcript is taken over with everything in it.
    let full = format.id() == "transcript";
    let options = ReadOptions { full, zone: TimeZone::system(), ..ReadOptions::named(&*path) };
    let Some(mut reader) = format.reader(&options) else { return Ok(Default::default()) };
    let mut found = Read::default();
    let mut source = Vec::new();
    while !piece.is_empty() {
        reader.feed(&piece, &mut found);
        if is_shown {
            source.extend_from_slice(&piece);
        }
        piece.clear();
        opened.by_ref().take(PIECE as u64).read_to_end(&mut piece).map_err(unreadable)?;
    }
    reader.finish(&mut found);
    Ok((one_conversation(found, format.id(), &path)?, source))
}

fn unknown(path: &str) -> Failure {
    let text = format!("{path}: this is no conversation in a format that is known here");
    let hint = "if you know its format, convert it first: analects convert --from";
    Failure::input(text).or_hint(hint)
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
    let chains = chains(name, messages);
    let mut session = sessions.store.begin(name)?;
    for (agent, records) in &chains {
        session.append(agent.as_deref(), records)?;
    }
    Ok(session.finish()?)
}

/// The messages of each chain of a session, the main chain first. It must not be empty, or there is no session.
fn chains(name: &ChainName, messages: Vec<Message>) -> Vec<(Option<String>, Vec<Message>)> {
    let mut chains: Vec<(Option<String>, Vec<Message>)> = vec![(None, Vec::new())];
    let mut places: HashMap<Option<String>, usize> = HashMap::from([(None, 0)]);
    for mut message in messages {
        if message.id.is_empty() {
            message.id = OsIds.uuid(Timestamp::now()).into();
        }
        message.session_id = name.session.clone();
        let agent = message.agent_id.clone();
        let place = *places.entry(agent.clone()).or_insert(chains.len());
        if place == chains.len() {
            chains.push((agent, Vec::new()));
        }
        chains[place].1.push(message);
    }
    if chains[0].1.is_empty() {
        let change = StateChange { changes: Raw::empty_object(), is_snapshot: false };
        let session_id = name.session.clone();
        let id = OsIds.uuid(Timestamp::now());
        chains[0].1.push(Message { session_id, ..Message::new(id, change.into()) });
    }
    chains
}
