//! `session import`: imports a conversation of any format as a session.
//!
//! The session is written under its name only at the end. A kill before that leaves nothing that is listed or found.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use analects_core::{Ids, Message, Raw, SessionId, StateChange};
use analects_formats::FormatReader;
use analects_formats::convert::{
    self, HEAD_SIZE, JsonOverLines, ProblemList, ReadOptions, ReadOutput,
};
use analects_formats::msgfile;
use analects_store::{ChainName, NewSession, OsIds, TranscriptStore, read_message_file};
use jiff::Timestamp;
use serde::Serialize;

use crate::commands::reading;
use crate::environment::Environment;
use crate::failure::{Failure, io_error_text};
use crate::input::open_regular;
use crate::sessions::Sessions;
use crate::{hints, ui};

/// Import a conversation from a file as a session of this folder
///
/// The file can be a message file, a transcript, a Claude Code session, or any other format that convert
/// reads; import recognises it by its content. The messages keep their ids, branches and times. The session
/// gets a new id, which import prints. Progress and snapshots of other programs are left out. A line of
/// more than 64 MB is left out as well, but its place in the conversation is kept. The session is imported
/// as a whole, side chains included, or not at all, even if the command is killed. The file does not
/// change; messages that you later add to the file or to the session do not appear in the other.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects session import talk.msg.md
  analects session import old-transcript.jsonl
  analects session import ~/.claude/projects/-home-me-work/0b6f5c1e.jsonl")]
pub struct ImportArgs {
    /// The file to import
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// The result as `--json` prints it.
#[derive(Debug, Serialize)]
struct ImportReport<'a> {
    session_id: &'a str,
    messages: usize,
    left_out: usize,
}

/// Fails if the file has no messages or several conversations.
pub fn run(args: &ImportArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let sessions = Sessions::of(&environment);
    let path = args.file.to_string_lossy();
    let name = sessions.new_name();
    let mut import = Importer::new(&sessions, &name, &environment);
    let source = import.read(&args.file)?;
    import.check(&path)?;
    report(&import, &path, &source, args.json);
    let messages = import.messages;
    let left_out = import.left_out;
    if messages == 0 {
        return Err(Failure::input(format!("{path}: it contains no messages")));
    }
    import.finish()?;
    if !args.json {
        return ui::print_line(&name.session);
    }
    ui::print_json(&ImportReport {
        session_id: &name.session,
        messages,
        left_out,
    })
}

/// Files up to this size stay in memory, so that problems can show the line.
const MAX_SOURCE_IN_MEMORY: u64 = 32 << 20;
/// The size of one read.
const CHUNK_SIZE: u64 = 256 << 10;
/// Messages are stored after each so many bytes of the file.
/// So memory does not grow with the file.
const BATCH: u64 = 4 << 20;

/// An import in progress. The session becomes visible only when it is complete.
struct Importer<'a> {
    sessions: &'a Sessions,
    name: &'a ChainName,
    environment: &'a Environment,
    /// The new session, created with the first message.
    session: Option<Box<dyn NewSession + 'a>>,
    /// Whether the main chain has a message.
    has_main: bool,
    /// The ids of the conversations in the file.
    conversations: HashSet<SessionId>,
    /// Whether the file must hold a single conversation.
    is_one: bool,
    messages: usize,
    left_out: usize,
    problems: ProblemList,
}

/// A file that is read in pieces.
/// Keeps a copy of what it has read if the file is small, to show lines in problems.
struct FilePieces<'p> {
    path: &'p str,
    file: File,
    /// Whether `source` collects the text.
    is_kept: bool,
    source: Vec<u8>,
}

impl FilePieces<'_> {
    /// Reads the next piece of at most `size` bytes; it is empty at the end.
    fn next(&mut self, size: u64) -> Result<Vec<u8>, Failure> {
        let mut piece = Vec::new();
        let read = self.file.by_ref().take(size).read_to_end(&mut piece);
        read.map_err(|error| {
            let text = format!("{}: cannot be read: {}", self.path, io_error_text(&error));
            Failure::input(text)
        })?;
        if self.is_kept {
            self.source.extend_from_slice(&piece);
        }
        Ok(piece)
    }
}

impl<'a> Importer<'a> {
    fn new(
        sessions: &'a Sessions,
        name: &'a ChainName,
        environment: &'a Environment,
    ) -> Importer<'a> {
        Importer {
            sessions,
            name,
            environment,
            session: None,
            has_main: false,
            conversations: HashSet::new(),
            is_one: false,
            messages: 0,
            left_out: 0,
            problems: ProblemList::default(),
        }
    }

    /// Reads a file in pieces and stores its messages. Returns the text of the file, or nothing if
    /// it is large.
    /// Fails if the format is not known.
    fn read(&mut self, file: &Path) -> Result<Vec<u8>, Failure> {
        let path = file.to_string_lossy();
        let opened = open_regular(file)?;
        let size = opened.metadata().map(|facts| facts.len());
        let mut pieces = FilePieces {
            path: &path,
            file: opened,
            is_kept: size.is_ok_and(|size| size <= MAX_SOURCE_IN_MEMORY),
            source: Vec::new(),
        };
        let head = pieces.next(HEAD_SIZE as u64)?;
        let format = convert::detect(&head, &path).ok_or_else(|| unknown(&path, &head))?;
        // A Claude Code session may continue another one; a file of requests may hold many
        // conversations.
        self.is_one = format.id() != "claude-code";
        if format.id() == "msgfile" {
            return self.read_message_file(file);
        }
        let options = ReadOptions {
            // A transcript is imported with all details.
            full: format.id() == "transcript",
            zone: crate::local_time::zone(),
            ..ReadOptions::named(&*path)
        };
        let Some(reader) = format.reader(&options) else {
            return Ok(Vec::new());
        };
        self.read_pieces(head, &mut pieces, reader)?;
        Ok(pieces.source)
    }

    /// Passes the pieces of a file to a reader, and stores the messages batch by batch.
    /// `head` is the piece that was read to recognise the format.
    fn read_pieces(
        &mut self,
        head: Vec<u8>,
        pieces: &mut FilePieces<'_>,
        mut reader: Box<dyn FormatReader>,
    ) -> Result<(), Failure> {
        let mut found = ReadOutput::default();
        let mut waiting = 0;
        let mut piece = head;
        while !piece.is_empty() {
            reader.feed(&piece, &mut found);
            waiting += piece.len() as u64;
            if waiting >= BATCH {
                waiting = 0;
                self.take(std::mem::take(&mut found))?;
            }
            piece = pieces.next(CHUNK_SIZE)?;
        }
        reader.finish(&mut found);
        self.take(found)
    }

    /// Reads a message file, which has to be read as a whole.
    /// Message files are small, so this costs little.
    fn read_message_file(&mut self, file: &Path) -> Result<Vec<u8>, Failure> {
        let document = read_message_file(file)?;
        let session = msgfile::session_of(&file.to_string_lossy());
        let decoded = msgfile::messages(&document, &session);
        let problems = document
            .problems()
            .into_iter()
            .chain(decoded.problems)
            .collect();
        self.take(ReadOutput {
            messages: decoded.messages,
            problems,
            ..ReadOutput::default()
        })?;
        Ok(document.into_source())
    }

    /// Collects problems, and stores messages.
    /// Goes on counting after a second conversation has turned up, so that the failure can say how many there are.
    fn take(&mut self, read: ReadOutput) -> Result<(), Failure> {
        read.problems
            .into_iter()
            .for_each(|problem| self.problems.add(problem));
        self.left_out += read.left_out;
        self.messages += read.messages.len();
        for message in &read.messages {
            if !self.conversations.contains(&message.session_id) {
                self.conversations.insert(message.session_id.clone());
            }
        }
        if self.is_one && self.conversations.len() > 1 {
            // Discard the session; the rest is only read to count the conversations.
            self.session = None;
            return Ok(());
        }
        self.record(read.messages)
            .map_err(|failure| self.environment.explain(failure))
    }

    /// Stores messages in their chains, unchanged except for missing ids.
    /// Keeps the ids of messages, and gives one to those without.
    fn record(&mut self, messages: Vec<Message>) -> Result<(), Failure> {
        if messages.is_empty() {
            return Ok(());
        }
        let session = match &mut self.session {
            Some(session) => session,
            None => self.session.insert(self.sessions.store.begin(self.name)?),
        };
        let mut chains: BTreeMap<Option<String>, Vec<Message>> = BTreeMap::new();
        for mut message in messages {
            if message.id.is_empty() {
                message.id = OsIds.uuid(Timestamp::now()).into();
            }
            message.session_id = self.name.session.clone();
            chains
                .entry(message.agent_id.clone())
                .or_default()
                .push(message);
        }
        self.has_main |= chains.contains_key(&None);
        for (agent, records) in &chains {
            session.append(agent.as_deref(), records)?;
        }
        Ok(())
    }

    /// Fails if the file holds several conversations.
    /// A session of another program that continues an earlier one counts as one conversation.
    fn check(&self, path: &str) -> Result<(), Failure> {
        let count = self.conversations.len();
        if !self.is_one || count <= 1 {
            return Ok(());
        }
        let text = format!("{path}: there are {count} conversations in it");
        Err(Failure::input(text).or_hint("import files of one conversation each"))
    }

    /// Makes the session visible. The main chain gets an empty record if it has none, because
    /// sessions are found by it.
    fn finish(mut self) -> Result<(), Failure> {
        if !self.has_main {
            let change = StateChange {
                changes: Raw::empty_object(),
                is_snapshot: false,
            };
            let id = OsIds.uuid(Timestamp::now());
            self.record(vec![Message::new(id, change.into())])?;
        }
        let finished = self.session.map_or(Ok(()), |session| session.finish());
        finished.map_err(|error| self.environment.explain(error.into()))
    }
}

/// The failure for a file of unknown format.
fn unknown(path: &str, head: &[u8]) -> Failure {
    let text = format!("{path}: this is not a conversation in a known format");
    let hint = match JsonOverLines::find(head) {
        Some(json) => hints::json_over_lines(&json),
        None => "if you know its format, convert it first: analects convert --from".to_string(),
    };
    Failure::input(text).or_hint(hint)
}

/// Reports problems of the file, and what was not imported.
/// Printed before the session becomes visible.
fn report(found: &Importer<'_>, path: &str, source: &[u8], as_json: bool) {
    let mut problems = found.problems.list();
    problems.retain(reading::is_serious);
    ui::report_problems(path, source, &problems);
    if found.left_out > 0 && !as_json {
        let records = match found.left_out {
            1 => "1 record that is not part of the conversation is".to_string(),
            count => format!("{count} records that are not part of the conversation are"),
        };
        ui::remark(&format!("{path}: {records} left out"));
    }
}
