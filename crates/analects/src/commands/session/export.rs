//! `session export`: writes a session as a transcript or a message file.
//!
//! A session may be larger than memory, so it is read record by record. A message file needs two passes: the first
//! finds out which branches and summaries there are. Both stop at the same record, even if the session grows meanwhile.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use analects_client::ProviderSettings;
use analects_core::verbs::Survey;
use analects_core::{Agent, Body, Message, Problem};
use analects_formats::convert::ProblemList;
use analects_formats::msgfile::{ExactWriter, ReadableWriter, frontmatter};
use analects_formats::transcript::{TranscriptLine, encode, placeholder, read_line, read_links};
use analects_runtime::{AskOptions, next_agent};
use analects_store::{ChainName, OsIds, TranscriptStore};

use crate::commands::chat;
use crate::commands::convert::destination::{Destination, OnExisting};
use crate::commands::convert::spool::Spool;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::{local_time, shell, ui};

/// Print a session as a transcript, or write it to a file
///
/// Without -o, export prints the records as they are stored, byte for byte, one on each line. With -o, it
/// writes a new file: if the name ends in .md, a message file in which chat continues the conversation, or
/// else a transcript. With -o -, it prints the message file.
///
/// A message file is written for people: it holds all text, including other branches, and export reports what
/// it leaves out. Its frontmatter defines the agent that answered last and its model. --full keeps everything
/// except progress, with the details in one cell at the end. Lines that cannot be read, such as a line cut
/// off by a kill, are counted on stderr; a transcript holds them as they are stored. A line of more than 64
/// MB is left out, and an empty record takes its place.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects session export last > talk.jsonl
  analects session export 0197a3c2 -o talk.msg.md
  analects session export last -o - | less")]
pub struct ExportArgs {
    /// The session [default: last]
    session: Option<String>,

    /// The new file: a message file if its name ends in .md, else a transcript; - prints a message file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Keep all details in a message file
    #[arg(long, requires = "output")]
    full: bool,

    /// Export the side chain of this agent instead of the main chain
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
}

/// Sessions up to this size are read again to show the lines of problems.
const MAX_SOURCE_IN_MEMORY: u64 = 32 << 20;

/// Never overwrites a file: there is no `--force`.
pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let sessions = Sessions::of(&environment);
    let name = sessions.chain(args.session.as_deref(), args.agent.as_deref())?;
    let Some(path) = &args.output else {
        for_each_row(&sessions, &name, &mut ui::print_text)?;
        return report_damage(&sessions, &name);
    };
    let prints = path == Path::new("-");
    let mut output = if prints {
        Destination::stdout(true)
    } else {
        Destination::file(path, OnExisting::Refuse).map_err(suggest_other_name)?
    };
    let is_message_file = prints || path.extension().is_some_and(|end| end == "md");
    if is_message_file {
        let agent = agent_for_file(&sessions, &name, &environment)?;
        let agent = match agent {
            Some(agent) => write_frontmatter(agent, &mut output)?,
            None => None,
        };
        if args.full {
            write_exact_file(&sessions, &name, &mut output)?;
        } else {
            write_readable_file(&sessions, &name, agent.as_ref(), &mut output)?;
        }
    } else {
        for_each_row(&sessions, &name, &mut |row| output.write(row))?;
    }
    output.finish().map_err(suggest_other_name)?;
    if !prints {
        ui::remark(&format!("written to {}", path.display()));
    }
    if is_message_file {
        return Ok(());
    }
    report_damage(&sessions, &name)
}

/// The agent that answers next in the session, for the frontmatter, so that `chat` can continue the file. `None` if
/// nobody can answer.
fn agent_for_file(
    sessions: &Sessions,
    name: &ChainName,
    environment: &Environment,
) -> Result<Option<Agent>, Failure> {
    let conversation = chat::open(sessions, name.clone())?;
    let config = Config::read_for(None, None, environment)?;
    let agent_with = |models: &ProviderSettings| {
        let options = AskOptions {
            agents: &config,
            ..AskOptions::new(models)
        };
        next_agent(&conversation, &options)
    };
    // The file can name a model whose key is not set now.
    let mut without_keys = environment.models.clone();
    without_keys.allow_no_key = true;
    Ok(agent_with(&environment.models).or_else(|| agent_with(&without_keys)))
}

/// Writes frontmatter that defines the agent, and returns the agent. `None` if frontmatter cannot hold it.
fn write_frontmatter(agent: Agent, output: &mut Destination) -> Result<Option<Agent>, Failure> {
    let Ok(splice) = frontmatter::add_agent(b"", None, &agent) else {
        return Ok(None);
    };
    output.write(&splice.bytes)?;
    output.write(b"\n")?;
    Ok(Some(agent))
}

/// Replaces the hint, because `export` never overwrites a file.
fn suggest_other_name(failure: Failure) -> Failure {
    failure
        .without_hint()
        .or_hint("choose another name; nothing was written")
}

/// Visits the records as they are stored.
fn for_each_row(
    sessions: &Sessions,
    name: &ChainName,
    each: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for_each_row_up_to(sessions, name, None, false, &mut |row, _| each(row))
}

/// Called with each record and the position of the next one.
type RowVisitor<'e> = dyn FnMut(&[u8], u64) -> Result<(), Failure> + 'e;

/// Visits the records as they are stored, up to the position `end` if given.
/// Warns about oversized lines, unless `is_reported`. The visitor gets each record with its line end.
fn for_each_row_up_to(
    sessions: &Sessions,
    name: &ChainName,
    end: Option<u64>,
    is_reported: bool,
    each: &mut RowVisitor<'_>,
) -> Result<(), Failure> {
    let mut done = Ok(());
    sessions.store.scan(name, 0, &mut |row| {
        if end.is_some_and(|end| row.next > end) {
            return ControlFlow::Break(());
        }
        match row.bytes {
            Some(bytes) => done = each(bytes, row.next),
            None => {
                let at = row.at;
                let length = row.next - row.at;
                if !is_reported {
                    ui::remark(&format!(
                        "warning: the line at byte {at} has {length} bytes and is left out; the session's file has it"
                    ));
                }
                // A placeholder keeps later messages linked to earlier ones.
                if let Some(message) = placeholder(row.beginning, length) {
                    done = each(encode(&message).as_bytes(), row.next);
                }
            }
        }
        if done.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    done
}

/// Reports how many lines cannot be read, and where to see them.
/// Printed last, where it is seen.
fn report_damage(sessions: &Sessions, name: &ChainName) -> Result<(), Failure> {
    let damaged = sessions.store.overview(name)?.damaged;
    if damaged > 0 {
        let lines = if damaged == 1 {
            "1 line"
        } else {
            &format!("{damaged} lines")
        };
        let path = shell::path(&sessions.store.path(name)?);
        ui::remark(&format!(
            "warning: {lines} cannot be read; see analects check {path}"
        ));
    }
    Ok(())
}

/// Writes a message file for people. The first pass surveys the session, the second writes.
/// Says what it leaves out.
fn write_readable_file(
    sessions: &Sessions,
    name: &ChainName,
    agent: Option<&Agent>,
    output: &mut Destination,
) -> Result<(), Failure> {
    let mut survey = Survey::default();
    let mut seen = SessionPass::default();
    for_each_message(sessions, name, &mut seen, read_outline, &mut |message| {
        survey.meet(&message);
        Ok(())
    })?;
    let mut writer = ReadableWriter::new(survey.finish(), OsIds).in_zone(local_time::zone());
    if let Some(agent) = agent {
        writer = writer.with_agent(agent);
    }
    let mut text = Vec::new();
    let mut again = SessionPass {
        end: seen.end,
        is_reported: true,
        ..SessionPass::default()
    };
    let mut ends_with_answer = false;
    for_each_message(sessions, name, &mut again, read_line, &mut |message| {
        let length = text.len();
        writer.push(&message, &mut text);
        if text.len() > length {
            ends_with_answer = matches!(message.body, Body::Assistant(_));
        }
        flush_if_large(&mut text, output)
    })?;
    report_problems(sessions, name, &again)?;
    let length = text.len();
    let left_behind = writer.finish(&mut text);
    // An empty cell to type into, unless the writer had to end with one that names its branch.
    if ends_with_answer && text.len() == length {
        text.extend_from_slice(b"\n# %%\n");
    }
    output.write(&text)?;
    if !left_behind.is_empty() {
        ui::remark(&format!("{left_behind}; --full keeps them"));
    }
    Ok(())
}

/// Writes a message file for `--full`, with the details at the end.
/// One pass is enough, because nothing is left out or moved.
fn write_exact_file(
    sessions: &Sessions,
    name: &ChainName,
    output: &mut Destination,
) -> Result<(), Failure> {
    let mut writer = None;
    let mut text = Vec::new();
    let mut details = Vec::new();
    let mut tail = Spool::default();
    let mut seen = SessionPass::default();
    for_each_message(sessions, name, &mut seen, read_line, &mut |message| {
        let writer = writer.get_or_insert_with(|| {
            ExactWriter::new(&message.session_id, OsIds).in_zone(local_time::zone())
        });
        writer.push(&message, &mut text, &mut details);
        tail.write(&details)?;
        details.clear();
        flush_if_large(&mut text, output)
    })?;
    report_problems(sessions, name, &seen)?;
    if let Some(writer) = writer {
        writer.finish(&mut text, &mut details);
    }
    output.write(&text)?;
    tail.write(&details)?;
    tail.for_each(&mut |bytes| output.write(bytes))
}

/// The size of one write.
const CHUNK_SIZE: usize = 256 << 10;

/// Passes the text on once it is large enough.
fn flush_if_large(text: &mut Vec<u8>, output: &mut Destination) -> Result<(), Failure> {
    if text.len() >= CHUNK_SIZE {
        output.write(text)?;
        text.clear();
    }
    Ok(())
}

/// One pass over a session: how far it goes, and what it found.
/// Its `end` makes a second pass stop where the first did.
#[derive(Default)]
struct SessionPass {
    /// Where to stop; `None` means at the current end, which is then filled in.
    end: Option<u64>,
    /// Whether an earlier pass has already reported oversized lines.
    is_reported: bool,
    lines: usize,
    problems: ProblemList,
}

/// Visits the messages of a session, except progress.
fn for_each_message(
    sessions: &Sessions,
    name: &ChainName,
    seen: &mut SessionPass,
    read: fn(&[u8]) -> TranscriptLine,
    each: &mut dyn FnMut(Message) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let end = seen.end;
    let is_reported = seen.is_reported;
    for_each_row_up_to(sessions, name, end, is_reported, &mut |row, next| {
        seen.lines += 1;
        seen.end = Some(next);
        let read = read(row);
        for problem in read.problems {
            seen.problems.add(Problem {
                line: seen.lines,
                column: 1,
                ..problem
            });
        }
        let said = |message: &Message| !matches!(message.body, Body::Progress(_));
        read.messages
            .into_iter()
            .filter(said)
            .try_for_each(&mut *each)
    })
}

/// Reads a line without its content, if the survey does not need it.
/// Saves most of the time of the first pass.
fn read_outline(line: &[u8]) -> TranscriptLine {
    match read_links(line) {
        Some(message) => TranscriptLine {
            messages: vec![message],
            ..TranscriptLine::default()
        },
        None => read_line(line),
    }
}

/// Reports problems of the stored transcript.
/// Shows the lines too, if the session is small enough to be read again.
fn report_problems(
    sessions: &Sessions,
    name: &ChainName,
    seen: &SessionPass,
) -> Result<(), Failure> {
    let problems = seen.problems.list();
    if problems.is_empty() {
        return Ok(());
    }
    let mut source = Vec::new();
    if seen.end.is_some_and(|end| end <= MAX_SOURCE_IN_MEMORY) {
        for_each_row_up_to(sessions, name, seen.end, true, &mut |row, _| {
            source.extend_from_slice(row);
            Ok(())
        })?;
    }
    ui::report_problems(
        &sessions.store.path(name)?.to_string_lossy(),
        &source,
        &problems,
    );
    Ok(())
}
