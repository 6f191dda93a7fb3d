//! `session export`: a conversation out of the store.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use analects_core::Message;
use analects_formats::msgfile;
use analects_formats::transcript::{encode, stand_in};
use analects_store::{ChainName, OsIds, TranscriptStore, create_file};

use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::{shell, ui};

/// Print the transcript of a session, or write it to a file
///
/// Without -o, the records are printed as they are stored, byte by byte, one line each. With -o, a new file is written:
/// a message file if its name ends in .md, in which you can go on with the conversation, else a transcript.
///
/// A message file is written for people: it holds all words, other branches included, and says what stays behind. --full
/// keeps everything but progress, the details in one cell at the end. Lines that cannot be read, such as one
/// that was cut off by a kill, are counted on stderr; a transcript has them as they are stored. A line of more than 64 MB
/// is left out, and a record that says nothing takes its place.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects session export last > talk.jsonl
  analects session export 0197a3c2 -o talk.msg.md")]
pub struct Args {
    /// The session [default: last]
    session: Option<String>,

    /// The new file: a message file if its name ends in .md, else a transcript
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Keep all details in a message file
    #[arg(long, requires = "output")]
    full: bool,

    /// The side chain of this agent, instead of the main chain
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let sessions = Sessions::of(&Surroundings::of_process()?);
    let name = sessions.chain(args.session.as_deref(), args.agent.as_deref())?;
    let Some(path) = &args.output else {
        each_row(&sessions, &name, &mut ui::print_text)?;
        return tell_of_damage(&sessions, &name);
    };
    let mut bytes = Vec::new();
    each_row(&sessions, &name, &mut |row| {
        bytes.extend_from_slice(row);
        Ok(())
    })?;
    let is_message_file = path.extension().is_some_and(|end| end == "md");
    let text = if is_message_file {
        as_message_file(&bytes, &sessions.store.path(&name)?, args.full)
    } else {
        bytes
    };
    if !create_file(path, &text)? {
        let failure = Failure::input(format!("{}: there is a file of this name", path.display()));
        return Err(failure.or_hint("name another one; nothing was written"));
    }
    ui::remark(&format!("written to {}", path.display()));
    if is_message_file { Ok(()) } else { tell_of_damage(&sessions, &name) }
}

/// Goes over the records as they are stored.
fn each_row(
    sessions: &Sessions,
    name: &ChainName,
    each: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut done = Ok(());
    sessions.store.scan(name, 0, &mut |row| {
        match row.bytes {
            Some(bytes) => done = each(bytes),
            None => {
                let (at, length) = (row.at, row.next - row.at);
                ui::remark(&format!(
                    "warning: the line at byte {at} has {length} bytes and is left out; the session's file has it"
                ));
                // What follows it stays linked to what came before.
                if let Some(message) = stand_in(row.beginning, length) {
                    done = each(encode(&message).as_bytes());
                }
            }
        }
        if done.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    done
}

/// Says how many lines of a session cannot be read, and where they are named one by one.
fn tell_of_damage(sessions: &Sessions, name: &ChainName) -> Result<(), Failure> {
    let damaged = sessions.store.overview(name)?.damaged;
    if damaged > 0 {
        let lines = if damaged == 1 { "1 line" } else { &format!("{damaged} lines") };
        let path = shell::path(&sessions.store.path(name)?);
        ui::remark(&format!("warning: {lines} cannot be read; see analects check {path}"));
    }
    Ok(())
}

/// The message file of a transcript; what is wrong with that is told by the place where it is stored.
fn as_message_file(bytes: &[u8], stored_in: &Path, full: bool) -> Vec<u8> {
    let decoded = analects_formats::transcript::decode(bytes);
    ui::report_problems(&stored_in.to_string_lossy(), bytes, &decoded.problems);
    let is_said = |message: &Message| message.body.type_name() != "progress";
    let messages: Vec<Message> = decoded.messages.into_iter().filter(is_said).collect();
    if full {
        return msgfile::encode(&messages, &mut OsIds);
    }
    let (file, left_behind) = msgfile::encode_readable(&messages, &mut OsIds);
    if !left_behind.is_empty() {
        ui::remark(&format!("{left_behind}; --full keeps them"));
    }
    file
}
