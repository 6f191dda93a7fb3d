//! `edit`: says something else in the place of a message, and keeps the original.

use std::path::Path;

use analects_core::{Block, Body, Content, Ids, Message, MessageId, Text};
use analects_formats::msgfile::{self, Cell, CellRole};
use analects_store::{OsIds, Session};
use jiff::Timestamp;
use serde::Serialize;

use super::chat::{self, to_ask_in_session};
use super::rewind::check_counts;
use super::{cells, reading};
use crate::failure::Failure;
use crate::piped::piped;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::{shell, ui};

/// Say something else in the place of a message, and keep the original
///
/// In a FILE, the new cell stands above the old one, which stays where it is with history=none, and with it the
/// calls, results and outputs that belong to it; what comes after goes on from the new one. In a session, the new
/// message starts a branch beside the old one, and what came after the old one stays on its branch. The name of the
/// new cell or message is printed. A cell that was edited before is hidden already, and its edit is replaced; what is
/// hidden otherwise stays so. drop --undo of the old cell shows it again in the place of the new one.
///
/// The TEXT is the arguments, or with - what comes on stdin. Calls of tools cannot be edited; their results can.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects edit talk.msg.md 3 \"What I meant was this\"
  analects edit last 0197a3c2-77f1 - < better.txt")]
pub struct Args {
    /// The message file, or the session: its id, the beginning of it, its title, or last
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// The cell or message: its id, or the beginning of a message's
    #[arg(value_name = "CELL|MESSAGE")]
    message: String,

    /// What it is to say; - for what comes on stdin
    #[arg(required = true)]
    text: Vec<String>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Done<'a> {
    /// The new cell or message.
    new: &'a str,
    /// The cells that the model does not see any more; of a session, the message on the other branch.
    hidden: &'a [String],
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let surroundings = Surroundings::of_process()?;
    let text = match &args.text[..] {
        [dash] if dash == "-" => piped()?,
        words => words.join(" "),
    };
    if text.trim().is_empty() {
        let hint = "drop hides a message without putting another one in its place";
        return Err(Failure::usage("there is no text", hint));
    }
    let (new, hidden) = match cells::file(&args.target) {
        Some(path) => {
            let edited = cells::edit(path, &args.message, &text, &surroundings)?;
            if let Some(advice) = advice(path, &edited.new) {
                ui::remark(&advice);
            }
            let (file, old) = (shell::path(path), shell::word(&edited.old));
            // What was hidden before is hidden in either case.
            if !edited.is_hidden {
                ui::remark(&format!("to undo this: analects drop {file} {old} --undo"));
            }
            (edited.new, edited.hidden)
        }
        None => in_session(args, text, &surroundings)?,
    };
    match args.json {
        true => ui::print_json(&Done { new: &new, hidden: &hidden }),
        false => ui::print_line(&new),
    }
}

/// How to go on in a file from a cell that says something else now, if that is of use: a question can be asked
/// again, behind an answer something else can be said.
fn advice(path: &Path, new: &str) -> Option<String> {
    let document = reading::read(path).ok()?;
    let cell = document.cell(new)?;
    let is_it = |other: &Cell<'_>| other.ordinal() == cell.ordinal();
    let (file, new) = (shell::path(path), shell::word(new));
    if document.unanswered().iter().any(is_it) {
        return Some(format!("to ask it: analects chat {file}"));
    }
    let is_last = msgfile::current_branch(&document).first().is_some_and(|step| is_it(&step.cell));
    let is_side = cell.agent_id().is_some();
    let back = format!("analects rewind {file} {new}, then analects chat {file}");
    let role = cell.role();
    if is_side {
        return None;
    }
    if role.is_user() {
        return Some(format!("to ask again from there: {back}"));
    }
    let is_answer = role.is_reply() || role == CellRole::ToolResult;
    (is_answer && !is_last).then(|| format!("to say something else from there: {back} PROMPT"))
}

fn in_session(
    args: &Args,
    text: String,
    surroundings: &Surroundings,
) -> Result<(String, Vec<String>), Failure> {
    let sessions = Sessions::of(surroundings);
    let name = sessions.find(Some(&args.target))?;
    let id = sessions.message(&name, &args.message)?;
    // By its id: the last session may be another one when this is undone.
    let session_id = name.session.to_string();
    let mut session = Session::open(&*sessions.store, name)?;
    let before = session.leaf().cloned();
    check_counts(&session, &id)?;
    let old = session.message(&id)?;
    let new = Message { parent_id: old.parent_id.clone(), ..said_instead(&old, text)? };
    let is_said = matches!(old.body, Body::User(_));
    let rest = match old.body {
        Body::Summary(_) if old.parent_id.is_some() => session.compaction(&id)?,
        _ => Vec::new(),
    };
    let new = match rest.is_empty() {
        true => session.branch(new, &mut OsIds, Timestamp::now())?,
        false => compact_again(&mut session, new, rest)?,
    };
    if is_said && chat::open(&sessions, session.name().clone())?.is_unanswered() {
        ui::remark(&format!("to ask it: {}", to_ask_in_session(&session_id)));
    }
    if let Some(leaf) = before {
        let leaf = shell::word(&leaf);
        ui::remark(&format!("to undo this: analects rewind {session_id} {leaf}"));
    }
    Ok((new.to_string(), vec![id.to_string()]))
}

/// Puts another summary beside one, with all that belongs to the compaction: alone, it would stand for nothing.
fn compact_again(
    session: &mut Session<'_>,
    mut summary: Message,
    rest: Vec<Message>,
) -> Result<MessageId, Failure> {
    let now = Timestamp::now();
    summary.id = OsIds.uuid(now).into();
    let id = summary.id.clone();
    let copies = rest.into_iter().map(|message| Message { id: "".into(), ..message });
    let mut made: Vec<Message> = std::iter::once(summary).chain(copies).collect();
    for message in &mut made {
        if let Body::CompactBoundary(boundary) = &mut message.body {
            boundary.summary_id = Some(id.clone());
        }
    }
    session.compact(made, &mut OsIds, now)?;
    Ok(id)
}

/// A message of the same kind that says something else.
fn said_instead(old: &Message, text: String) -> Result<Message, Failure> {
    let mut new = Message { author: old.author.clone(), ..Message::new("", old.body.clone()) };
    let said = Content::Text(Text::from(text));
    let refuse = |what: &str| {
        let failure = Failure::input(format!("{} cannot be edited: {what}", &*old.id));
        Err(failure.or_hint("drop hides it; rewind goes back before it"))
    };
    match &mut new.body {
        Body::User(user) => match &mut user.content {
            Content::Blocks(blocks) if has_results(blocks) => match &mut blocks[..] {
                [Block::ToolResult(result)] => result.content = said,
                _ => return refuse("it holds several results of tools"),
            },
            content => *content = said,
        },
        Body::Assistant(answer) => {
            if has_calls(&answer.content) && answer.content.text().trim().is_empty() {
                return refuse("it is a call of a tool");
            }
            answer.content = said;
            answer.stop_reason = None;
        }
        Body::ToolResult(result) => result.content = said,
        Body::ToolUse(_) => return refuse("it is a call of a tool"),
        Body::System(system) => system.content = said,
        Body::Summary(summary) => {
            summary.text = said.text().into();
        }
        _ => return refuse("it is no text"),
    }
    Ok(new)
}

fn has_calls(content: &Content) -> bool {
    let is_call = |block: &Block| matches!(block, Block::ToolUse(_));
    matches!(content, Content::Blocks(blocks) if blocks.iter().any(is_call))
}

fn has_results(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::ToolResult(_)))
}
