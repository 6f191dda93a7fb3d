//! `session append`: messages from stdin into the store, each acknowledged once it is safe.

use std::collections::HashMap;
use std::io::Read;

use analects_core::{Body, Json, Message};
use analects_store::{ChainName, JsonlStore, OsIds, Session};
use jiff::Timestamp;
use serde::Serialize;

use crate::failure::{Failure, words};
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ui;

/// How much is read at once.
const CHUNK: usize = 1 << 20;

/// Add messages to a session: JSON lines from stdin, acknowledged on stdout
///
/// A line is a message in the shape of a transcript; its type and content suffice, as in
/// {\"type\":\"user\",\"content\":\"Hello\"}. Id, parent and time are filled in where they are missing. A message with
/// an agent_id goes to the side chain of that agent.
///
/// When a message would survive a power cut, its line {\"id\":…,\"session_id\":…} is printed. A line that is no message
/// ends the command with its number; what came before it is kept. Without SESSION, a new session begins.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  echo '{\"type\":\"user\",\"content\":\"Hello\"}' | analects session append
  analects session append last < messages.jsonl
  analects session append --batch 0197a3c2 < many-messages.jsonl")]
pub struct Args {
    /// The session [default: a new one]
    session: Option<String>,

    /// Make all messages safe together that come in one read, which is faster
    #[arg(long)]
    batch: bool,
}

/// What is printed for a message.
#[derive(Debug, Serialize)]
struct Ack<'a> {
    id: &'a str,
    session_id: &'a str,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    let sessions = Sessions::of(&surroundings);
    let name = match &args.session {
        Some(word) => sessions.find(Some(word))?,
        None => sessions.new_name(),
    };
    let mut writer = Writer { store: &sessions.store, name, chains: HashMap::new() };
    let mut lines = Lines::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = match std::io::stdin().read(&mut chunk) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            read => read
                .map_err(|error| Failure::input(format!("cannot read stdin: {}", words(&error))))?,
        };
        let done = match read {
            0 => lines.finish(),
            _ => lines.push(&chunk[..read]),
        };
        let (messages, wrong) = done;
        let at_once = if args.batch { messages.len().max(1) } else { 1 };
        let written = messages.chunks(at_once).try_for_each(|part| writer.append(part.to_vec()));
        written.map_err(|failure| surroundings.explain(failure))?;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        if read == 0 {
            return Ok(());
        }
    }
}

/// Adds messages, each to its chain.
struct Writer<'s> {
    store: &'s JsonlStore,
    name: ChainName,
    chains: HashMap<Option<String>, Session<'s>>,
}

impl Writer<'_> {
    /// Adds messages in their order; those of one chain that follow each other in one.
    fn append(&mut self, messages: Vec<Message>) -> Result<(), Failure> {
        let same = |one: &Message, other: &Message| one.agent_id == other.agent_id;
        for part in messages.chunk_by(same) {
            let agent = part.first().and_then(|message| message.agent_id.clone());
            let agent = agent.map(|agent| agent.to_string());
            let session = match self.chains.entry(agent.clone()) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(free) => {
                    let name = ChainName { agent, ..self.name.clone() };
                    free.insert(Session::open(self.store, name)?)
                }
            };
            for message in session.append(part.to_vec(), &mut OsIds, Timestamp::now())? {
                ui::print_json_line(&Ack { id: &message.id, session_id: &message.session_id })?;
            }
        }
        Ok(())
    }
}

/// Messages, and what is wrong with the line after them.
type Messages = (Vec<Message>, Option<Failure>);

/// Lines that come in pieces.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
    number: usize,
}

impl Lines {
    /// The messages whose lines end in these bytes.
    fn push(&mut self, bytes: &[u8]) -> Messages {
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            self.rest.extend_from_slice(bytes);
            return (Vec::new(), None);
        };
        self.rest.extend_from_slice(&bytes[..end]);
        let whole = std::mem::replace(&mut self.rest, bytes[end + 1..].to_vec());
        self.read(&whole)
    }

    /// The message of a last line without an end.
    fn finish(&mut self) -> Messages {
        let rest = std::mem::take(&mut self.rest);
        self.read(&rest)
    }

    fn read(&mut self, whole: &[u8]) -> Messages {
        let mut messages = Vec::new();
        for line in whole.split(|byte| *byte == b'\n') {
            self.number += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            match message(line) {
                Ok(message) => messages.push(message),
                Err(why) => {
                    let text = format!("line {}: {why}", self.number);
                    let hint =
                        "a line is a message, such as {\"type\":\"user\",\"content\":\"Hello\"}";
                    return (messages, Some(Failure::input(text).or_hint(hint)));
                }
            }
        }
        (messages, None)
    }
}

fn message(line: &[u8]) -> Result<Message, String> {
    let text = std::str::from_utf8(line).map_err(|_| "these bytes are not UTF-8".to_string())?;
    let message = Message::from_json(text).map_err(|error| error.to_string())?;
    match &message.body {
        Body::Other(other) if other.type_name.is_none() => Err("it has no type".to_string()),
        _ => Ok(message),
    }
}
