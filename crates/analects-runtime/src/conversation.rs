//! The trait for anything that stores a conversation, what a turn reads from it, and the messages that a turn itself
//! adds.
//!
//! A caller gets a [`Snapshot`], decides, and hands back [`Change`]s with the messages that it expects to find. So
//! nothing is locked while a model is asked, and a change by somebody else is noticed instead of overwritten.

use std::path::PathBuf;
use std::time::Duration;

use analects_context::{Calibration, FileFreshness};
use analects_core::verbs::Change;
use analects_core::{
    Agent, Block, Body, Chain, Content, Message, MessageId, Problem, Summary, ToolUse, chain,
};
use analects_store::{AnswerDelta, StoreError};
use jiff::Timestamp;

use crate::ResolvedAgent;

/// A conversation that can be continued, wherever it is stored.
///
/// When a method returns, its change is on disk; only the text of an unfinished answer may follow later. All methods may
/// wait for the disk, so do not call them on a thread of an asynchronous runtime.
pub trait Conversation {
    /// The messages so far and the questions that wait for an answer.
    /// It may copy the whole conversation, so keep the result instead of asking twice.
    fn snapshot(&self) -> Snapshot;

    /// Whether the last question that waits for an answer has the words of this prompt.
    fn is_waiting_last(&self, prompt: &str) -> bool {
        let questions = self.snapshot().questions;
        questions
            .last()
            .is_some_and(|question| question.says(prompt))
    }

    /// The agents and models that may answer.
    fn responders(&self) -> Responders;

    /// Loads as much as fits into a window of so many tokens. A place that always loads everything does nothing.
    fn load_for(&mut self, _window: u64) -> Result<(), StoreError> {
        Ok(())
    }

    /// Sets who answers from now on. A place that defines agents stores an agent that is new to it.
    fn set_responder(&mut self, agent: &ResolvedAgent) -> Result<(), StoreError>;

    /// Prepares for an answer to these questions. `base` holds its author, model and time. From now on other programs
    /// can see that the questions are being answered.
    /// A turn that asks several times calls it before each request.
    fn begin_answer(&mut self, questions: &[Question], base: &Message) -> Result<(), StoreError>;

    /// Stores a piece of the answer, so that it survives a kill.
    /// Returns nothing: a piece that cannot be stored must not end an answer that is paid for, and
    /// [`Conversation::finish`] stores the whole.
    fn push(&mut self, piece: AnswerDelta<'_>);

    /// Adds the finished answer.
    /// It replaces what [`Conversation::push`] stored.
    fn finish(&mut self, answer: Message) -> Result<(), StoreError>;

    /// Makes all changes or none. Each added message follows the one before.
    ///
    /// Fails with [`StoreError::Refused`] if somebody changed one of the `expected` messages, or, for a compaction, added
    /// a message between them.
    fn apply(
        &mut self,
        changes: Vec<Change>,
        expected: &[Message],
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The name that a person knows a message by: its cell, or its id.
    fn name_of(&self, message: &MessageId) -> String;

    /// What is known about the conversation besides its messages.
    fn notes(&self) -> Notes;

    /// Stores these notes with the next change. What messages say already is not stored again.
    fn set_notes(&mut self, notes: &Notes);
}

/// The content of a conversation at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// All messages so far; with `view`, only those that the model sees.
    pub messages: Vec<Message>,
    /// Problems in the conversation.
    pub problems: Vec<Problem>,
    /// The messages that wait for an answer, in order.
    pub questions: Vec<Question>,
    /// Set by a place that loads only what the model sees: the boundary of the last compaction, or `Some(None)` without
    /// one. `None` means that `messages` holds everything.
    pub view: Option<Option<Message>>,
    /// The document that the conversation is about, which the model reads before all messages. It is not part of the
    /// record: verbs and compactions do not see it, and every request has it as it is then.
    pub document: Option<Message>,
    /// How many bytes before `messages` were not loaded because there is no room for them. 0 if everything is there.
    pub earlier_bytes: u64,
}

impl Snapshot {
    /// The messages that the model sees.
    pub fn chain(&self) -> Chain<'_> {
        match &self.view {
            Some(boundary) => Chain {
                messages: self.messages.iter().collect(),
                boundary: boundary.as_ref(),
                ..Chain::default()
            },
            None => chain(&self.messages),
        }
    }

    /// The messages that the model sees, after the document.
    pub(crate) fn chain_with_document(&self) -> Chain<'_> {
        let mut chain = self.chain();
        chain.messages.splice(0..0, &self.document);
        chain
    }

    /// Takes the messages that the model sees, after the document.
    pub(crate) fn into_visible_messages(mut self) -> Vec<Message> {
        if self.view.is_some() {
            self.messages.splice(0..0, self.document);
            return self.messages;
        }
        self.chain_with_document()
            .messages
            .into_iter()
            .cloned()
            .collect()
    }
}

/// A message that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its id.
    pub message: MessageId,
    /// The name that a person knows it by.
    pub name: String,
    /// A name that does not change when cells are added above it; `None` if it has no such name.
    pub key: Option<String>,
    /// Its text.
    pub text: String,
    /// The agent that should answer; `None` for any.
    pub agent: Option<String>,
    /// How long the answer may take; `None` without a limit.
    pub timeout: Option<Duration>,
    /// The index of its cell in a message file; 0 elsewhere.
    pub(crate) cell_index: usize,
}

/// Who may answer in a conversation.
/// A place that defines no agents leaves the first three fields as they are by default.
#[derive(Debug, Clone, Default)]
pub struct Responders {
    /// The agents that the conversation defines.
    pub agents: Vec<Agent>,
    /// Whether the conversation can define new agents.
    pub defines_agents: bool,
    /// The instructions for an agent that is just a model, if the conversation has some.
    pub system_prompt: Option<String>,
    /// The name of the agent that answers unless another is named.
    pub default: Option<String>,
    /// The configured agent that gave the last answer, if a configured one did.
    pub last_configured: Option<String>,
    /// The names by which models were requested, the last first.
    pub models: Vec<String>,
    /// The model names in answers that another program recorded, the last first. Often these cannot be requested.
    pub foreign_models: Vec<String>,
}

/// What is known about a conversation besides its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notes {
    /// Which files the model has seen.
    pub files: FileFreshness,
    /// How the estimated token counts compare with those of the provider.
    pub calibration: Calibration,
    /// The folder that relative paths start from. [`Conversation::set_notes`] ignores it.
    pub folder: PathBuf,
}

/// Lets a turn borrow a conversation.
impl<C: Conversation + ?Sized> Conversation for &mut C {
    fn snapshot(&self) -> Snapshot {
        (**self).snapshot()
    }

    fn is_waiting_last(&self, prompt: &str) -> bool {
        (**self).is_waiting_last(prompt)
    }

    fn responders(&self) -> Responders {
        (**self).responders()
    }

    fn load_for(&mut self, window: u64) -> Result<(), StoreError> {
        (**self).load_for(window)
    }

    fn set_responder(&mut self, agent: &ResolvedAgent) -> Result<(), StoreError> {
        (**self).set_responder(agent)
    }

    fn begin_answer(&mut self, questions: &[Question], base: &Message) -> Result<(), StoreError> {
        (**self).begin_answer(questions, base)
    }

    fn push(&mut self, piece: AnswerDelta<'_>) {
        (**self).push(piece);
    }

    fn finish(&mut self, answer: Message) -> Result<(), StoreError> {
        (**self).finish(answer)
    }

    fn apply(
        &mut self,
        changes: Vec<Change>,
        expected: &[Message],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        (**self).apply(changes, expected, now)
    }

    fn name_of(&self, message: &MessageId) -> String {
        (**self).name_of(message)
    }

    fn notes(&self) -> Notes {
        (**self).notes()
    }

    fn set_notes(&mut self, notes: &Notes) {
        (**self).set_notes(notes);
    }
}

/// Changes that add these messages.
pub(crate) fn additions(messages: impl IntoIterator<Item = Message>) -> Vec<Change> {
    messages
        .into_iter()
        .map(|message| Change::Append(Box::new(message)))
        .collect()
}

/// The summary of one message that may only be sent as a summary. Unlike a compaction, it replaces just that message.
/// `from` and `to` are the same message, by which [`as_single_summary`] recognises it.
pub(crate) fn single_summary(message: &MessageId, text: &str) -> Message {
    let summary = Summary {
        text: text.into(),
        from: Some(message.clone()),
        to: Some(message.clone()),
        count: Some(1),
    };
    Message::new("", Body::Summary(summary))
}

/// The message that a summary replaces, and its text, if it replaces just one.
pub(crate) fn as_single_summary(message: &Message) -> Option<(&MessageId, String)> {
    let Body::Summary(Summary {
        text,
        from: Some(from),
        to,
        ..
    }) = &message.body
    else {
        return None;
    };
    (to.as_ref() == Some(from)).then(|| (from, text.as_str().into_owned()))
}

/// The calls of an answer.
/// None for a message that is no answer.
pub(crate) fn calls_of(answer: &Message) -> impl Iterator<Item = &ToolUse> {
    let blocks = match answer.body.content() {
        Some(Content::Blocks(blocks)) => blocks.as_slice(),
        _ => &[],
    };
    blocks.iter().filter_map(Block::as_tool_use)
}
