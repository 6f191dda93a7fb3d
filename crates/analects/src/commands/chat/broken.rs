//! Answers that broke off: which one it is, so that another can be asked for in its place.

use analects_runtime::{Conversation, FileConversation, Prepared, broken_answer};

use crate::failure::Failure;
use crate::hints::{Advice, BrokenAnswer};

/// The last answer of a file, by its cell, if it broke off.
pub fn broken_cell(conversation: &FileConversation) -> Option<String> {
    conversation.cell_of(&broken_answer(&conversation.snapshot())?)
}

/// Says how to ask again if this failure left an answer that broke off, other than one that had before. Whoever ended
/// it knows why there is no more of it.
pub fn if_it_broke_off<C: Conversation>(
    failure: Failure,
    prepared: &Prepared<C>,
    find: impl Fn(&C, &str) -> Option<BrokenAnswer>,
) -> Failure {
    if failure.is_interrupted() {
        return failure;
    }
    let broken = broken_answer(&prepared.conversation().snapshot());
    let broken = broken.filter(|broken| Some(broken) != prepared.broken());
    match broken.and_then(|broken| find(prepared.conversation(), &broken)) {
        Some(broken) => failure.and_hint(Advice::HideBroken(broken)),
        None => failure,
    }
}
