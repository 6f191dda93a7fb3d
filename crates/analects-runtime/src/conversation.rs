//! A place where a conversation is kept, whatever the place.

use std::path::PathBuf;

use analects_context::{Calibration, FileFreshness};
use analects_core::{Chain, Message, MessageId, chain};
use analects_formats::Decoded;
use analects_store::{AnswerPiece, StoreError};
use jiff::Timestamp;

/// A conversation that can be continued. What a method reports as done is on disk, but for the
/// text of an answer that is still coming.
pub trait Conversation {
    /// Everything said so far.
    fn messages(&self) -> Decoded;

    /// Which of these the model is to see. A place that keeps more than that knows it already.
    fn chain<'m>(&'m self, decoded: &'m Decoded) -> Chain<'m> {
        chain(&decoded.messages)
    }

    /// Everything said so far that a summary may stand for: whatever is sent this time, and with the same ids as what
    /// [`Conversation::compact`] compares it with.
    fn whole(&self) -> Decoded {
        self.messages()
    }

    /// Whether something is sent or kept back this time alone. A summary of it would stand for the whole in every
    /// later call, and one of the whole would send what is kept back, so none is made.
    fn is_chosen(&self) -> bool {
        false
    }

    /// Whether what was chosen cannot be told any more from what was not, since it moved meanwhile. Then nothing is sent.
    fn is_choice_lost(&self) -> bool {
        false
    }

    /// Whether somebody's words wait for an answer, where they may be taken away while others are at work.
    fn has_question(&self) -> bool {
        true
    }

    /// Adds what the person says.
    fn say(&mut self, prompt: &str, now: Timestamp) -> Result<(), StoreError>;

    /// Gets ready for an answer, whose author, model and time `base` has: from now on others see that the question is
    /// being answered.
    fn begin_answer(&mut self, base: &Message) -> Result<(), StoreError> {
        let _ = base;
        Ok(())
    }

    /// Keeps a piece of the answer, so that a kill does not cost it.
    fn push(&mut self, piece: AnswerPiece<'_>) {
        let _ = piece;
    }

    /// Adds the answer in its final form.
    fn finish(&mut self, answer: Message) -> Result<(), StoreError>;

    /// Adds what nobody says just now: results of calls, a summary and its boundary, reminders. All of it or
    /// nothing, each following the one before.
    fn add(&mut self, messages: Vec<Message>, now: Timestamp) -> Result<(), StoreError>;

    /// Adds a summary, its boundary and what belongs to them, made for what was `seen`. If that is no longer what
    /// the model would see first, nothing is changed: [`StoreError::Refused`]. What was said since is kept.
    fn compact(
        &mut self,
        made: Vec<Message>,
        seen: &[Message],
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// What a person would call a message: its cell, or its id.
    fn name_of(&self, message: &MessageId) -> String {
        message.to_string()
    }

    /// Keeps the summary of a message of which nothing else may be sent. If it says something else by now, nothing is
    /// changed: [`StoreError::Refused`].
    fn summarise(
        &mut self,
        message: &Message,
        summary: &str,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The folder that relative paths in it start from.
    fn folder(&self) -> PathBuf;

    /// What is known beside what was said.
    fn notes(&self) -> Notes;

    /// Keeps that, with the next thing that is written; what stands in messages is not kept twice.
    fn set_notes(&mut self, notes: &Notes);
}

/// What is known about a conversation beside what was said in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notes {
    /// Which files the model has seen.
    pub files: FileFreshness,
    /// What was learnt about counting its tokens.
    pub calibration: Calibration,
}
