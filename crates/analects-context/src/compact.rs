//! Compaction: a summary stands for the earlier part of a conversation. Nothing here asks a model; a
//! [`Compaction`] gives the requests one by one, takes the answers, and ends in the messages to append.
//! What was said stays in the record.

mod cut;
mod fallback;
mod files;
mod prompt;
mod when;

use analects_core::{
    Agent, Block, Body, Chain, CompactBoundary, CompactTrigger, Content, Ids, Message, MessageId,
    Request, Summary, System,
};
use jiff::Timestamp;

use crate::boundary::after_boundary;
use crate::plan::{Budget, shortened};
use crate::tokens::{Count, Counter};

pub use files::{FileText, attach, attachments};
pub use prompt::{SECTIONS, summary_request};
pub use when::{BackOff, Threshold, ThresholdError, compaction_failed};

/// Why nothing is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotNow {
    /// The context is not that full.
    #[error("the context is not full enough")]
    RoomLeft,
    /// There are too few messages.
    #[error("there are fewer than {MESSAGES} messages")]
    TooFew,
    /// A try failed not long ago.
    #[error("the last try failed, and not enough has happened since")]
    BackingOff,
    /// What could be summarised would not make room.
    #[error("what could be summarised is too little to make room")]
    NothingToGain,
    /// The last message of the user alone takes more than half of the window.
    #[error(
        "the last message takes {tokens} of the {window} tokens of the window; a summary does not help"
    )]
    LastTooLarge {
        /// What it takes.
        tokens: u64,
        /// What fits.
        window: u64,
    },
}

/// Why an answer cannot be the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Useless {
    /// It reports an error.
    #[error("the model's side reported an error instead of a summary")]
    Error,
    /// It holds no text.
    #[error("the answer holds no text")]
    NoText,
    /// It gives back what was asked for, and says nothing of the conversation.
    #[error("the summary only repeats what it was asked for")]
    Echo,
    /// It is as long as what it should stand for.
    #[error("the summary is not shorter than what it stands for")]
    NotShorter,
}

/// The fewest messages of a conversation that is compacted by itself.
pub const MESSAGES: usize = 3;
/// The share of the window that recent messages may keep.
const KEPT: f64 = 0.2;
/// The share of the window that must be won for a compaction to start by itself.
const WON: f64 = 0.1;

/// Whether a conversation should be compacted now without anybody asking: its context takes so many tokens.
pub fn should_compact(
    count: Count,
    window: u64,
    messages: usize,
    threshold: Threshold,
    back_off: &BackOff,
) -> Result<(), NotNow> {
    if (count.tokens as f64) < threshold.share() * window as f64 {
        Err(NotNow::RoomLeft)
    } else if messages < MESSAGES {
        Err(NotNow::TooFew)
    } else if !back_off.allows(messages) {
        Err(NotNow::BackingOff)
    } else {
        Ok(())
    }
}

/// A compaction under way.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    trigger: CompactTrigger,
    /// What is summarised, as text, in pieces that fit into a request.
    pieces: Vec<String>,
    /// How many of them are summarised.
    done: usize,
    /// Whether it is asked for in simple words: a small model has given the list of sections back.
    is_simple: bool,
    /// The summary so far.
    summary: String,
    /// What the summary stands for.
    stands_for: (MessageId, MessageId, u64),
    kept_from: Option<MessageId>,
    leaf: Option<MessageId>,
    session: analects_core::SessionId,
    agent_id: Option<String>,
    /// Instructions that would be gone, and still hold.
    instructions: Vec<Content>,
    /// Tokens of what the summary stands for, and of all messages, as they are counted here.
    replaced: Count,
    all: Count,
    /// Tokens of the whole context, as well as that is known.
    before: Count,
    asked: Asked,
}

/// Who is asked for the summary.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    model: String,
    max_output_tokens: u64,
}

impl Compaction {
    /// Plans the compaction of a chain that takes `before` tokens. `writer` is the agent that writes the summary,
    /// with its window; `window` is that of the agent that goes on with the conversation.
    ///
    /// Kept are the most recent turns that fit into a fifth of the window, and what the user said last
    /// without an answer, however long. Whoever asks for it by hand wants it to happen: then it is a fifth of
    /// the conversation, if that is less.
    pub fn plan(
        chain: &Chain<'_>,
        agent: &Agent,
        window: u64,
        writer: &Agent,
        trigger: CompactTrigger,
        before: Count,
        counter: &mut Counter<'_>,
    ) -> Result<Compaction, NotNow> {
        let of = if trigger == CompactTrigger::Manual {
            window.min(before.tokens)
        } else {
            window
        };
        let cut = cut::cut(chain, agent, window, (of as f64 * KEPT) as u64, counter)?;
        // Something must have happened since the last compaction, and something must be won.
        let new = chain.messages.len() - after_boundary(chain);
        let is_too_little = new < MESSAGES || (cut.tokens.tokens as f64) < WON * window as f64;
        let (Some(first), Some(last)) = (cut.messages.first(), cut.messages.last()) else {
            return Err(NotNow::NothingToGain);
        };
        let is_only_summary = cut
            .messages
            .iter()
            .all(|it| matches!(it.body, Body::Summary(_)));
        let is_idle = match trigger {
            CompactTrigger::Auto => is_too_little || is_only_summary,
            // What does not fit has to become shorter, and be it the summary.
            CompactTrigger::Reactive => false,
            _ => is_only_summary,
        };
        if is_idle {
            return Err(NotNow::NothingToGain);
        }
        let budget = Budget::of(writer);
        let room = prompt::room(budget, counter);
        Ok(Compaction {
            trigger,
            pieces: prompt::pieces(&cut.said, room, counter),
            done: 0,
            is_simple: false,
            summary: String::new(),
            stands_for: (first.id.clone(), last.id.clone(), cut.messages.len() as u64),
            kept_from: cut.kept_from,
            leaf: chain.leaf.map(|leaf| leaf.id.clone()),
            session: last.session_id.clone(),
            agent_id: last.agent_id.clone(),
            instructions: cut.instructions,
            replaced: cut.tokens,
            all: cut.all,
            before,
            asked: Asked {
                model: writer.models.first().cloned().unwrap_or_default(),
                max_output_tokens: budget.reserved.max(1),
            },
        })
    }

    /// The next request; `None` when the summary is complete.
    pub fn next_request(&self) -> Option<Request> {
        let piece = self.pieces.get(self.done)?;
        let of = (self.done + 1, self.pieces.len());
        let Asked {
            model,
            max_output_tokens,
        } = &self.asked;
        let instructions = match self.is_simple {
            true => prompt::simple_instructions(),
            false => prompt::instructions(!self.summary.is_empty(), of),
        };
        Some(prompt::request(
            model,
            *max_output_tokens,
            piece,
            &self.summary,
            &instructions,
        ))
    }

    /// How many requests there are in all.
    pub fn requests(&self) -> usize {
        self.pieces.len()
    }

    /// Takes the answer to the last request. If it is no use, nothing changes, and the request can be made
    /// again. A model that only repeats what it was asked for is asked once more, in simple words.
    pub fn answer(&mut self, answer: &Message, counter: &mut Counter<'_>) -> Result<(), Useless> {
        if answer.is_api_error_message {
            return Err(Useless::Error);
        }
        let text = first_text(answer).ok_or(Useless::NoText)?;
        if prompt::is_echo(&text) {
            let is_new = !std::mem::replace(&mut self.is_simple, true);
            return if is_new { Ok(()) } else { Err(Useless::Echo) };
        }
        let is_last = self.done + 1 >= self.pieces.len();
        if is_last && counter.text(&text).tokens >= self.replaced.tokens {
            return Err(Useless::NotShorter);
        }
        self.summary = text;
        self.done += 1;
        Ok(())
    }

    /// Makes the summary without a model, as the last resort: the user's words, the last answer, the calls and
    /// the errors, each in short.
    pub fn without_model(mut self, chain: &Chain<'_>, counter: &mut Counter<'_>) -> Compaction {
        let most = (self.replaced.tokens / 2).clamp(64, 4000);
        let (first, last, _) = &self.stands_for;
        let text = fallback::summary(chain, first, last);
        let tokens = counter.text(&text).tokens;
        self.summary = if tokens > most {
            shortened(&text, tokens, most)
        } else {
            text
        };
        self.done = self.pieces.len();
        self
    }

    /// Tokens of what is not replaced. What is known of the whole context, and what is counted of its parts,
    /// need not agree, so it is the share that counts.
    fn left(&self) -> u64 {
        let share = self.replaced.tokens as f64 / self.all.tokens.max(1) as f64;
        (self.before.tokens as f64 * (1.0 - share.min(1.0))) as u64
    }

    /// The messages to append, in this order and in one go: the summary, then the boundary, then a copy of each
    /// instruction that the boundary hides and that still holds. `None` while requests are left.
    pub fn finish(
        &self,
        counter: &mut Counter<'_>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Option<Vec<Message>> {
        if self.done < self.pieces.len() || self.summary.is_empty() {
            return None;
        }
        let (from, to, count) = self.stands_for.clone();
        let stamped = |body: Body, ids: &mut dyn Ids| Message {
            parent_id: self.leaf.clone(),
            session_id: self.session.clone(),
            agent_id: self.agent_id.clone(),
            created_at: Some(now),
            ..Message::new(ids.uuid(now), body)
        };
        let text = prompt::as_summary(&self.summary);
        let after = counter.text(&text);
        let body = Summary {
            text: text.into(),
            from: Some(from),
            to: Some(to),
            count: Some(count),
        };
        let summary = stamped(Body::Summary(body), ids);
        let tokens_after = self.left() + after.tokens;
        let boundary = CompactBoundary {
            trigger: Some(self.trigger.clone()),
            tokens_before: Some(self.before.tokens),
            tokens_after: Some(tokens_after),
            summary_id: Some(summary.id.clone()),
            kept_from: self.kept_from.clone(),
        };
        let boundary = stamped(Body::CompactBoundary(boundary), ids);
        let mut made = vec![summary, boundary];
        for content in &self.instructions {
            let parent_id = made.last().map(|message| message.id.clone());
            let copy = stamped(
                Body::System(System {
                    content: content.clone(),
                }),
                ids,
            );
            made.push(Message { parent_id, ..copy });
        }
        Some(made)
    }
}

/// The first text that is not blank, wherever it stands: a thought may come before it.
fn first_text(answer: &Message) -> Option<String> {
    let text = match answer.body.content()? {
        Content::Empty => None,
        Content::Text(text) => Some(text.as_str().into_owned()),
        Content::Blocks(blocks) => blocks
            .iter()
            .filter_map(Block::text)
            .find(|text| !text.trim().is_empty()),
    };
    text.map(|text| text.trim().to_string())
        .filter(|text| !text.is_empty())
}
