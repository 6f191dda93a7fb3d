//! Answers that broke off: which one it is, and what to do to get another in its place.

use std::path::Path;

use analects_core::{Body, Message, MessageId, StopReason};
use analects_formats::msgfile::{Cell, Document, Step, current_branch};
use analects_runtime::Conversation;

use crate::failure::Failure;
use crate::piped::is_terminal;
use crate::shell;
use crate::ways::HIDE_TO_ASK;

/// The last answer on the branch that a file is on, if it broke off. What came of it stays, and counts as an answer.
pub fn broken_answer(document: &Document) -> Option<Cell<'_>> {
    // To find the branch, all messages are read; mostly there is no need for it.
    if !document.mentions("interrupted") {
        return None;
    }
    // What a summary stands for is over.
    let is_summed_up = |step: &Step<'_>| matches!(step.message.body, Body::CompactBoundary(_));
    let mut branch = current_branch(document).into_iter().take_while(|step| !is_summed_up(step));
    let last = branch.find(|step| matches!(step.message.body, Body::Assistant(_)))?.cell;
    last.broke_off().then_some(last)
}

/// What to do to get another answer in the place of one that broke off.
pub fn to_ask_again(path: &Path, broken: Cell<'_>) -> String {
    let (file, cell) = (shell::path(path), broken.name());
    format!("{HIDE_TO_ASK}analects drop {file} {}", shell::word(&cell))
}

/// Says how to ask again if this failure left an answer that broke off, other than the one that was `known`.
pub fn if_it_broke_off(
    failure: Failure,
    path: &Path,
    document: &Document,
    known: Option<&str>,
) -> Failure {
    let is_new = |cell: &Cell<'_>| known != Some(&*cell.name());
    match broken_answer(document).filter(is_new) {
        Some(cell) => or_ask_again(failure, &to_ask_again(path, cell)),
        None => failure,
    }
}

/// The last answer of a conversation that the model sees, if it broke off.
pub fn broken_message(conversation: &dyn Conversation) -> Option<MessageId> {
    let decoded = conversation.messages();
    let chain = conversation.chain(&decoded);
    let is_answer = |message: &&&Message| {
        matches!(message.body, Body::Assistant(_)) && message.why_not_sent().is_none()
    };
    let last = chain.messages.iter().rev().find(is_answer)?;
    match &last.body {
        Body::Assistant(answer) if answer.stop_reason == Some(StopReason::Interrupted) => {
            Some(last.id.clone())
        }
        _ => None,
    }
}

/// The same in a session: the question waits again once what came is hidden, and going on asks it. At a terminal,
/// that begins a session of prompts, where it is asked by a word.
pub fn to_ask_again_in_session(session: &str, broken: &str) -> String {
    let (resume, broken) = (to_ask_in_session(session), shell::word(broken));
    format!("{HIDE_TO_ASK}analects drop {session} {broken}, then {resume}")
}

/// What to do to get the answer to a question of a session that waits for one.
pub fn to_ask_in_session(session: &str) -> String {
    let retry = if is_terminal() { ", then /retry" } else { "" };
    format!("analects session resume {session}{retry}")
}

/// Adds how to ask again. Whoever ended it knows why there is no more of it.
pub fn or_ask_again(failure: Failure, again: &str) -> Failure {
    if failure.is_interrupted() { failure } else { failure.and_hint(again) }
}
