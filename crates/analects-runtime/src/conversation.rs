//! A place where a conversation is kept, whatever the place, what a turn has to know of it, and the messages that a turn
//! itself makes for it.

use std::path::PathBuf;

use analects_context::{Calibration, FileFreshness};
use analects_core::verbs::Change;
use analects_core::{
    Agent, Block, Body, Chain, Content, Message, MessageId, Problem, RawMap, Summary, ToolResult,
    ToolUse, User, chain,
};
use analects_store::{AnswerDelta, StoreError};
use jiff::Timestamp;

use crate::ResolvedAgent;

/// A conversation that can be continued. What a method reports as done is on disk, but for the text of an answer that
/// is still coming. All methods may wait for the disk: none is for a thread that must not.
pub trait Conversation {
    /// What was said so far, and what waits for an answer.
    fn snapshot(&self) -> Snapshot;

    /// Who may answer in it.
    fn responders(&self) -> Responders;

    /// Sees to it that all is there that a model with a window of so many tokens can be sent. A place that holds
    /// everything has nothing to do.
    fn load_for(&mut self, _window: u64) -> Result<(), StoreError> {
        Ok(())
    }

    /// Sets who answers from now on. A place that defines agents keeps one that it does not know yet.
    fn set_responder(&mut self, agent: &ResolvedAgent) -> Result<(), StoreError>;

    /// Gets ready for an answer to these questions, whose author, model and time `base` has: from now on others see
    /// that the questions are being answered.
    fn begin_answer(&mut self, asked: &[Question], base: &Message) -> Result<(), StoreError>;

    /// Keeps a piece of the answer, so that a kill does not cost it.
    fn push(&mut self, piece: AnswerDelta<'_>);

    /// Adds the answer in its final form.
    fn finish(&mut self, answer: Message) -> Result<(), StoreError>;

    /// Makes changes, all of them or none. Each message that is added follows the one before. If the `expected` messages
    /// do not say any more what they said, nothing is changed: [`StoreError::Refused`]. For a compaction, nothing may
    /// have come between them either.
    fn apply(
        &mut self,
        changes: Vec<Change>,
        expected: &[Message],
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// What a person would call a message: its cell, or its id.
    fn name_of(&self, message: &MessageId) -> String;

    /// What is known beside what was said.
    fn notes(&self) -> Notes;

    /// Keeps that, with the next thing that is written; what stands in messages is not kept twice.
    fn set_notes(&mut self, notes: &Notes);
}

/// What a conversation holds at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Everything said so far, or what the model sees of it.
    pub messages: Vec<Message>,
    /// What is odd about it.
    pub problems: Vec<Problem>,
    /// What waits for an answer, in order.
    pub questions: Vec<Question>,
    /// The boundary of the last compaction, for a place that keeps what the model sees apart from the rest; then the
    /// messages are what it sees.
    pub view: Option<Option<Message>>,
    /// How many bytes of the place come before what is here and could be sent if there was more room; 0 if nothing
    /// does.
    pub earlier_bytes: u64,
}

impl Snapshot {
    /// What the model sees.
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

    /// What the model sees, and nothing else.
    pub(crate) fn into_visible_messages(self) -> Vec<Message> {
        if self.view.is_some() {
            return self.messages;
        }
        self.chain().messages.into_iter().cloned().collect()
    }
}

/// A message that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its id.
    pub message: MessageId,
    /// What a person would call it.
    pub name: String,
    /// A name of its own, which it keeps when others are added above it.
    pub key: Option<String>,
    /// What it says.
    pub text: String,
    /// The agent that it is meant for.
    pub agent: Option<String>,
    /// Where it stands in its place.
    pub(crate) place: usize,
}

/// Who may answer in a conversation.
#[derive(Debug, Clone, Default)]
pub struct Responders {
    /// The agents that it defines.
    pub agents: Vec<Agent>,
    /// Whether it can define more.
    pub defines_agents: bool,
    /// The one of these that answers unless another is named.
    pub default: Option<String>,
    /// The agent of the configuration that gave the last answer, if one did.
    pub last_configured: Option<String>,
    /// The names under which models were asked, the last first.
    pub models: Vec<String>,
    /// The names that models have in answers from elsewhere, the last first.
    pub foreign_models: Vec<String>,
}

/// What is known about a conversation beside what was said in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notes {
    /// Which files the model has seen.
    pub files: FileFreshness,
    /// What was learnt about counting its tokens.
    pub calibration: Calibration,
    /// The folder that relative paths in it start from. The place knows it: it cannot be set.
    pub folder: PathBuf,
}

/// A conversation that somebody else keeps.
impl<C: Conversation + ?Sized> Conversation for &mut C {
    fn snapshot(&self) -> Snapshot {
        (**self).snapshot()
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

    fn begin_answer(&mut self, asked: &[Question], base: &Message) -> Result<(), StoreError> {
        (**self).begin_answer(asked, base)
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

/// Messages as changes that add them.
pub(crate) fn additions(messages: impl IntoIterator<Item = Message>) -> Vec<Change> {
    messages
        .into_iter()
        .map(|message| Change::Append(Box::new(message)))
        .collect()
}

/// The summary of a single message, of which nothing else may be sent: not a compaction, which stands for many.
pub(crate) fn single_summary(message: &MessageId, text: &str) -> Message {
    let from = Some(message.clone());
    let to = Some(message.clone());
    Message::new(
        "",
        Body::Summary(Summary {
            text: text.into(),
            from,
            to,
            count: Some(1),
        }),
    )
}

/// The message that a summary stands for, if that is one alone, and what it says of it.
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
pub(crate) fn calls_of(answer: &Message) -> impl Iterator<Item = &ToolUse> {
    let blocks = match answer.body.content() {
        Some(Content::Blocks(blocks)) => blocks.as_slice(),
        _ => &[],
    };
    blocks.iter().filter_map(Block::as_tool_use)
}

/// The results of calls that nobody runs; `None` if the answer has no calls. Nobody runs tools yet: every call gets a
/// result that says so, since a conversation with an open call cannot be gone on with.
pub(crate) fn results_of_unrun(answer: &Message) -> Option<Message> {
    let results: Vec<Block> = calls_of(answer).map(failed).collect();
    let content = Content::Blocks(results);
    let said = User {
        content: content.clone(),
        ..User::default()
    };
    (!content.is_empty()).then(|| Message::new("", Body::User(said)))
}

fn failed(call: &ToolUse) -> Block {
    Block::ToolResult(ToolResult {
        tool_use_id: call.id.clone(),
        content: format!(
            "{} was not run: there is no tool of that name here",
            call.name
        )
        .into(),
        is_error: Some(true),
        extra: RawMap::new(),
    })
}
