//! `session append`: appends messages from stdin, and acknowledges each when it is durable.
//!
//! Stdin is read in pieces of any size. Each message is on disk before its acknowledgement is printed, so a program
//! that sees one can forget the message.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::ops::ControlFlow;

use analects_core::{
    Assistant, Body, Content, Json, Message, Other, Raw, StateChange, System, User,
};
use analects_store::{
    ChainName, JsonlStore, LINE_LIMIT, OsIds, Session, TranscriptStore, visit_links,
};
use jiff::Timestamp;
use serde::Serialize;

use crate::environment::Environment;
use crate::failure::{Failure, io_error_text};
use crate::sessions::Sessions;
use crate::ui;

/// Types of records that need further fields.
/// Such a type with fields missing is an error, while an unknown type is kept as it is.
const KNOWN: [&str; 10] = [
    "system",
    "user",
    "assistant",
    "tool_use",
    "tool_result",
    "summary",
    "compact_boundary",
    "tombstone",
    "revision",
    "state",
];

/// The size of one read.
const CHUNK: usize = 1 << 20;

/// Append messages to a session from JSON lines on stdin
///
/// Each line is a message in the form that transcripts use. The fields type and content are enough, as in
/// {"type":"user","content":"Hello"}. Missing ids, parents and times are filled in. A message with an
/// agent_id goes to the side chain of that agent.
///
/// As soon as a message is safe on disk, even from a power cut, append prints the line
/// {"id":…,"session_id":…} for it. If a line is not a message, append stops and reports its number; earlier
/// messages are kept. Without a SESSION, append starts a new session.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  echo '{\"type\":\"user\",\"content\":\"Hello\"}' | analects session append
  analects session append last < messages.jsonl
  analects session append --batch 0197a3c2 < many-messages.jsonl")]
pub struct AppendArgs {
    /// The session [default: a new one]
    session: Option<String>,

    /// Write many messages to disk at once, which is faster
    #[arg(long)]
    batch: bool,
}

/// The acknowledgement of a message.
#[derive(Debug, Serialize)]
struct Acknowledgement<'a> {
    id: &'a str,
    session_id: &'a str,
}

/// With `--batch`, all messages of one read are written and synced together. Otherwise each is on disk before the next
/// is looked at.
pub fn run(args: &AppendArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let sessions = Sessions::of(&environment);
    let name = match &args.session {
        Some(word) => sessions.find(Some(word))?,
        None => sessions.new_name(),
    };
    let mut appender = MessageAppender {
        store: &sessions.store,
        name,
        chains: HashMap::new(),
        known: HashSet::new(),
    };
    let mut lines = LineBuffer::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = read_stdin(&mut chunk)?;
        let (messages, wrong) = if count == 0 {
            lines.finish()
        } else {
            lines.push(&chunk[..count])
        };
        let batch = if args.batch { messages.len().max(1) } else { 1 };
        for messages in messages.chunks(batch) {
            let appended = appender.append(messages);
            appended.map_err(|failure| environment.explain(failure))?;
        }
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        if count == 0 {
            return Ok(());
        }
    }
}

/// Reads what is on stdin now, or waits for it. Returns 0 at the end.
/// Returns less than fits if that is all there is, so that a slow writer gets its acknowledgements at once.
fn read_stdin(buffer: &mut [u8]) -> Result<usize, Failure> {
    loop {
        match std::io::stdin().read(buffer) {
            Ok(count) => return Ok(count),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                let text = format!("cannot read stdin: {}", io_error_text(&error));
                return Err(Failure::input(text));
            }
        }
    }
}

/// A message and its line number.
/// The number is for errors.
#[derive(Debug, Clone)]
struct NumberedMessage {
    line: usize,
    message: Message,
}

/// Appends messages to the main chain or the side chains of a session.
/// Chains are opened when their first message comes.
struct MessageAppender<'s> {
    store: &'s JsonlStore,
    name: ChainName,
    /// By agent; `None` is the main chain.
    chains: HashMap<Option<String>, Session<'s>>,
    /// Messages that are known to be in the session.
    known: HashSet<String>,
}

impl MessageAppender<'_> {
    /// Appends messages in order. Consecutive messages of the same chain are written together.
    /// Stops at the first message that is wrong; those before it are written.
    fn append(&mut self, messages: &[NumberedMessage]) -> Result<(), Failure> {
        let chains = messages.chunk_by(|one, other| one.message.agent_id == other.message.agent_id);
        for messages in chains {
            let mut valid = 0;
            let mut wrong = Ok(());
            for message in messages {
                wrong = self.check_parent(message);
                if wrong.is_err() {
                    break;
                }
                valid += 1;
            }
            self.append_to_one(&messages[..valid])?;
            wrong?;
        }
        Ok(())
    }

    /// Appends messages that belong to the same chain.
    /// Acknowledges them too.
    fn append_to_one(&mut self, part: &[NumberedMessage]) -> Result<(), Failure> {
        let Some(first) = part.first() else {
            return Ok(());
        };
        let agent = first.message.agent_id.clone();
        let messages: Vec<Message> = part.iter().map(|it| it.message.clone()).collect();
        if let Some(agent) = &agent
            && self.is_new()?
        {
            return acknowledge(&self.start_with_side_chain(agent, messages)?);
        }
        let session = match self.chains.entry(agent.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                let name = ChainName {
                    agent,
                    ..self.name.clone()
                };
                free.insert(Session::open(self.store, name)?)
            }
        };
        acknowledge(&session.append(messages, &mut OsIds, Timestamp::now())?)
    }

    /// Whether the session has no records yet.
    /// A session that was only named and never written to counts as new.
    fn is_new(&self) -> Result<bool, Failure> {
        Ok(self.chains.is_empty() && self.store.overview(&self.name)?.records == 0)
    }

    /// Starts a session whose first message is in a side chain. The main chain gets an empty
    /// record, because sessions are found by it.
    /// Both chains appear together or not at all.
    fn start_with_side_chain(
        &self,
        agent: &str,
        messages: Vec<Message>,
    ) -> Result<Vec<Message>, Failure> {
        let now = Timestamp::now();
        let main = Session::open(self.store, self.name.clone())?;
        let side = Session::open(self.store, self.name.side(agent))?;
        let change = StateChange {
            changes: Raw::empty_object(),
            is_snapshot: false,
        };
        let (first, _) = main.prepare(vec![Message::new("", change.into())], &mut OsIds, now);
        let (placed, _) = side.prepare(messages, &mut OsIds, now);
        let mut session = self.store.begin(&self.name)?;
        session.append(None, &first)?;
        session.append(Some(agent), &placed)?;
        session.finish()?;
        Ok(placed)
    }

    /// Refuses a message whose parent is missing, because it would hide all earlier messages.
    /// A parent may be a message of this same input.
    fn check_parent(&mut self, it: &NumberedMessage) -> Result<(), Failure> {
        let own = it.message.id.to_string();
        if let Some(parent) = it.message.parent_id.as_deref().filter(|id| !id.is_empty())
            && !self.known.contains(parent)
            && !self.is_stored(parent, it.message.agent_id.as_deref())?
        {
            let text = format!(
                "line {}: its parent {parent:?} is not in the session",
                it.line
            );
            let hint = "leave parent_id out, and the message follows the one before";
            return Err(Failure::input(text).or_hint(hint));
        }
        self.known.insert(own);
        Ok(())
    }

    /// Whether a message is in the given side chain or in the main chain.
    /// This may read the whole chain, so the answer is remembered.
    fn is_stored(&mut self, id: &str, agent: Option<&str>) -> Result<bool, Failure> {
        let side = agent.map(|agent| self.name.side(agent));
        let mut found = false;
        for chain in side.into_iter().chain([self.name.main()]) {
            visit_links(self.store, &chain, &mut |stored| {
                found |= stored.id == id;
                if found {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
        }
        if found {
            self.known.insert(id.to_string());
        }
        Ok(found)
    }
}

/// Prints the acknowledgements of durable messages.
fn acknowledge(messages: &[Message]) -> Result<(), Failure> {
    for message in messages {
        ui::print_json_line(&Acknowledgement {
            id: &message.id,
            session_id: &message.session_id,
        })?;
    }
    Ok(())
}

/// The messages read so far, and the error in the line after them, if any.
type ParsedLines = (Vec<NumberedMessage>, Option<Failure>);

/// Splits chunks of bytes into lines.
#[derive(Default)]
struct LineBuffer {
    rest: Vec<u8>,
    number: usize,
}

impl LineBuffer {
    /// Adds bytes, and returns the messages whose lines are now complete.
    fn push(&mut self, bytes: &[u8]) -> ParsedLines {
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            self.rest.extend_from_slice(bytes);
            let too_long = self.rest.len() > LINE_LIMIT;
            return (Vec::new(), too_long.then(|| self.too_long()));
        };
        self.rest.extend_from_slice(&bytes[..end]);
        let whole = std::mem::replace(&mut self.rest, bytes[end + 1..].to_vec());
        self.read(&whole)
    }

    /// The message of the last line, which may lack a line end.
    fn finish(&mut self) -> ParsedLines {
        let rest = std::mem::take(&mut self.rest);
        self.read(&rest)
    }

    fn too_long(&self) -> Failure {
        let text = format!(
            "line {}: it has more than {LINE_LIMIT} bytes",
            self.number + 1
        );
        Failure::input(text).or_hint("keep large content in a file, and name it in the message")
    }

    fn read(&mut self, whole: &[u8]) -> ParsedLines {
        let mut messages = Vec::new();
        for line in whole.split(|byte| *byte == b'\n') {
            self.number += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            match message(line) {
                Ok(message) => messages.push(NumberedMessage {
                    line: self.number,
                    message,
                }),
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

/// Reads a line as a message, or says why it is not one.
fn message(line: &[u8]) -> Result<Message, String> {
    let text = std::str::from_utf8(line).map_err(|_| "these bytes are not UTF-8".to_string())?;
    let message = Message::from_json(text).map_err(|error| error.to_string())?;
    match &message.body {
        Body::Other(Other { type_name: None }) => Err("it has no type".to_string()),
        // A valid record of this type would have been read as one.
        Body::Other(Other {
            type_name: Some(name),
        }) if KNOWN.contains(&name.as_str()) => Err(format!(
            "a message of type {name} lacks required fields; see the JSON reference"
        )),
        Body::User(User {
            content: Content::Empty,
            ..
        })
        | Body::Assistant(Assistant {
            content: Content::Empty,
            ..
        })
        | Body::System(System {
            content: Content::Empty,
        }) => Err("it has no content, which is a string or a list of blocks".to_string()),
        Body::System(_)
        | Body::User(_)
        | Body::Assistant(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Progress(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::Summary(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => Ok(message),
    }
}
