//! Answers that broke off: what to do to get another in their place.

use std::path::Path;

use analects_runtime::{Conversation, FileConversation, Prepared, broken_answer};

use crate::failure::Failure;
use crate::piped::is_terminal;
use crate::shell;
use crate::ways::HIDE_TO_ASK;

/// The last answer of a file, by its cell, if it broke off.
pub fn broken_cell(conversation: &FileConversation) -> Option<String> {
    conversation.cell_of(&broken_answer(&conversation.snapshot())?)
}

/// What to do to get another answer in the place of one that broke off.
pub fn to_ask_again(path: &Path, cell: &str) -> String {
    format!("{HIDE_TO_ASK}analects drop {} {}", shell::path(path), shell::word(cell))
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

/// Says how to ask again if this failure left an answer that broke off, other than one that had before. Whoever ended
/// it knows why there is no more of it.
pub fn if_it_broke_off<C: Conversation>(
    failure: Failure,
    prepared: &Prepared<C>,
    how: impl Fn(&C, &str) -> Option<String>,
) -> Failure {
    if failure.is_interrupted() {
        return failure;
    }
    let broken = broken_answer(&prepared.conversation().snapshot());
    let broken = broken.filter(|broken| Some(broken) != prepared.broken());
    match broken.and_then(|broken| how(prepared.conversation(), &broken)) {
        Some(again) => failure.and_hint(&again),
        None => failure,
    }
}
