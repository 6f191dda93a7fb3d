//! Compaction: a summary replaces the earlier part of a conversation. Nothing here calls a model: a [`Compaction`]
//! returns the requests one by one, takes the answers, and ends with messages to append. The record keeps everything.

mod cut;
mod fallback;
mod files;
mod prompt;
mod threshold;

use analects_core::{
    Agent, Block, Body, Chain, CompactBoundary, CompactTrigger, Content, Ids, Message, MessageId,
    Request, SessionId, Summary, System,
};
use jiff::Timestamp;

use crate::boundary::after_boundary;
use crate::plan::{Budget, shorten_text};
use crate::tokens::{Count, Counter};

use cut::{ConversationCut, cut_conversation};
pub use files::{FileText, attach, attachments};
pub use prompt::{SECTIONS, summary_request};
pub use threshold::{BackOff, Threshold, ThresholdError, compaction_failed};

/// Why a conversation is not compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotNow {
    /// The context is not full enough.
    #[error("the context is not full enough")]
    RoomLeft,
    /// The conversation has too few messages.
    #[error("there are fewer than {MESSAGES} messages")]
    TooFew,
    /// An attempt failed not long ago.
    #[error("the last try failed, and not enough has happened since")]
    BackingOff,
    /// A summary would not save enough.
    #[error("what could be summarised is too little to make room")]
    NothingToGain,
    /// The user's last message alone takes more than half of the window.
    #[error(
        "the last message takes {tokens} of the {window} tokens of the window; a summary does not help"
    )]
    LastTooLarge {
        /// The tokens of that message.
        tokens: u64,
        /// The window.
        window: u64,
    },
}

/// Why an answer is not a usable summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Useless {
    /// The answer reports an error.
    #[error("the model's side reported an error instead of a summary")]
    Error,
    /// The answer has no text.
    #[error("the answer holds no text")]
    NoText,
    /// The answer repeats the instructions, without a word about the conversation.
    #[error("the summary only repeats what it was asked for")]
    Echo,
    /// The answer is not shorter than the messages that it replaces.
    #[error("the summary is not shorter than what it stands for")]
    NotShorter,
}

/// The minimum number of messages for an automatic compaction.
pub const MESSAGES: usize = 3;
/// The share of the window that recent messages may keep.
const KEPT_SHARE: f64 = 0.2;
/// The share of the window that an automatic compaction must save.
const SAVED_SHARE: f64 = 0.1;

/// Returns whether to compact a conversation automatically. `count` is the size of its context, and `messages` the
/// number of its messages. The error is the reason not to.
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

/// A compaction in progress.
///
/// Send [`Compaction::next_request`] and pass the answer to [`Compaction::answer`], until there is no further request.
/// Then append the messages of [`Compaction::finish`].
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    trigger: CompactTrigger,
    /// The text to summarise, in parts that fit into a request.
    parts: Vec<String>,
    /// The number of summarised parts.
    done: usize,
    /// Whether to ask in simple words, after a small model repeated the list of sections.
    is_simple: bool,
    /// The summary so far.
    summary: String,
    /// The first and last message that the summary replaces, and their number.
    stands_for: (MessageId, MessageId, u64),
    kept_from: Option<MessageId>,
    leaf: Option<MessageId>,
    session: SessionId,
    agent_id: Option<String>,
    /// Instructions that the boundary hides, and that still apply.
    instructions: Vec<Content>,
    /// The tokens of the replaced messages, and of all messages, as counted here.
    replaced: Count,
    all: Count,
    /// The tokens of the whole context, from the best available count.
    before: Count,
    writer: SummaryWriter,
}

/// The model that writes the summary.
#[derive(Debug, Clone, PartialEq)]
struct SummaryWriter {
    model: String,
    max_output_tokens: u64,
}

impl Compaction {
    /// Plans the compaction of a chain that takes `before` tokens. `writer` is the agent that writes the summary,
    /// within its own window. `window` is that of the agent that continues the conversation.
    ///
    /// The most recent turns that fit into a fifth of the window are kept, and so is an unanswered prompt of any
    /// length. A manual compaction keeps at most a fifth of the conversation, so that it always has something to do.
    pub fn plan(
        chain: &Chain<'_>,
        agent: &Agent,
        window: u64,
        writer: &Agent,
        trigger: CompactTrigger,
        before: Count,
        counter: &mut Counter<'_>,
    ) -> Result<Compaction, NotNow> {
        let whole = if trigger == CompactTrigger::Manual {
            window.min(before.tokens)
        } else {
            window
        };
        let room = (whole as f64 * KEPT_SHARE) as u64;
        let cut = cut_conversation(chain, agent, window, room, counter)?;
        let (Some(first), Some(last)) = (cut.messages.first(), cut.messages.last()) else {
            return Err(NotNow::NothingToGain);
        };
        if !is_worthwhile(chain, &cut, window, &trigger) {
            return Err(NotNow::NothingToGain);
        }
        let budget = Budget::of(writer);
        let room = prompt::room_for_part(budget, counter);
        Ok(Compaction {
            trigger,
            parts: prompt::split_transcript(&cut.transcript, room, counter),
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
            writer: SummaryWriter {
                model: writer.models.first().cloned().unwrap_or_default(),
                max_output_tokens: budget.reserved.max(1),
            },
        })
    }

    /// Returns the next request; `None` when the summary is complete.
    pub fn next_request(&self) -> Option<Request> {
        let part = self.parts.get(self.done)?;
        let instructions = if self.is_simple {
            prompt::simple_instructions()
        } else {
            let has_summary = !self.summary.is_empty();
            prompt::instructions(has_summary, self.done + 1, self.parts.len())
        };
        Some(prompt::request(
            &self.writer.model,
            self.writer.max_output_tokens,
            part,
            &self.summary,
            &instructions,
        ))
    }

    /// The number of requests in total.
    pub fn requests(&self) -> usize {
        self.parts.len()
    }

    /// Takes the answer to the last request. After an error, nothing has changed, and the request can be sent again. A
    /// model that repeats its instructions is asked once more, in simple words.
    pub fn answer(&mut self, answer: &Message, counter: &mut Counter<'_>) -> Result<(), Useless> {
        if answer.is_api_error_message {
            return Err(Useless::Error);
        }
        let text = first_text(answer).ok_or(Useless::NoText)?;
        if prompt::is_echo(&text) {
            let was_simple = std::mem::replace(&mut self.is_simple, true);
            return if was_simple {
                Err(Useless::Echo)
            } else {
                Ok(())
            };
        }
        let is_last = self.done + 1 >= self.parts.len();
        if is_last && counter.text(&text).tokens >= self.replaced.tokens {
            return Err(Useless::NotShorter);
        }
        self.summary = text;
        self.done += 1;
        Ok(())
    }

    /// Writes the summary without a model, as a last resort: excerpts of the user's words, the last answer, the calls
    /// and the errors.
    pub fn without_model(mut self, chain: &Chain<'_>, counter: &mut Counter<'_>) -> Compaction {
        let most = (self.replaced.tokens / 2).clamp(64, 4000);
        let (first, last, _) = &self.stands_for;
        let text = fallback::summary(chain, first, last);
        let tokens = counter.text(&text).tokens;
        self.summary = if tokens > most {
            shorten_text(&text, tokens, most)
        } else {
            text
        };
        self.done = self.parts.len();
        self
    }

    /// The tokens of what stays. The known size of the context need not agree with the count of its parts, so the
    /// replaced share is what counts.
    fn remaining_tokens(&self) -> u64 {
        let share = self.replaced.tokens as f64 / self.all.tokens.max(1) as f64;
        (self.before.tokens as f64 * (1.0 - share.min(1.0))) as u64
    }

    /// Returns the messages to append together, in this order: the summary, the boundary, and a copy of each
    /// instruction that the boundary hides and that still applies. Returns `None` while requests are left.
    pub fn finish(
        &self,
        counter: &mut Counter<'_>,
        ids: &mut dyn Ids,
        now: Timestamp,
    ) -> Option<Vec<Message>> {
        if self.done < self.parts.len() || self.summary.is_empty() {
            return None;
        }
        let (from, to, count) = self.stands_for.clone();
        let text = prompt::summary_for_model(&self.summary);
        let summary_tokens = counter.text(&text).tokens;
        let summary = Summary {
            text: text.into(),
            from: Some(from),
            to: Some(to),
            count: Some(count),
        };
        let summary = self.message(Body::Summary(summary), ids, now);
        let boundary = CompactBoundary {
            trigger: Some(self.trigger.clone()),
            tokens_before: Some(self.before.tokens),
            tokens_after: Some(self.remaining_tokens() + summary_tokens),
            summary_id: Some(summary.id.clone()),
            kept_from: self.kept_from.clone(),
        };
        let boundary = self.message(Body::CompactBoundary(boundary), ids, now);
        let mut parent = boundary.id.clone();
        let mut made = vec![summary, boundary];
        for content in &self.instructions {
            let content = content.clone();
            let mut copy = self.message(Body::System(System { content }), ids, now);
            copy.parent_id = Some(std::mem::replace(&mut parent, copy.id.clone()));
            made.push(copy);
        }
        Some(made)
    }

    /// Creates a message that follows the last one of the conversation.
    fn message(&self, body: Body, ids: &mut dyn Ids, now: Timestamp) -> Message {
        Message {
            parent_id: self.leaf.clone(),
            session_id: self.session.clone(),
            agent_id: self.agent_id.clone(),
            created_at: Some(now),
            ..Message::new(ids.uuid(now), body)
        }
    }
}

/// Returns whether the compaction would do enough. An automatic one must cover new messages and save room.
fn is_worthwhile(
    chain: &Chain<'_>,
    cut: &ConversationCut<'_>,
    window: u64,
    trigger: &CompactTrigger,
) -> bool {
    let has_new_words = cut
        .messages
        .iter()
        .any(|message| !matches!(message.body, Body::Summary(_)));
    match trigger {
        CompactTrigger::Auto => {
            let new_messages = chain.messages.len() - after_boundary(chain);
            let saves_room = cut.tokens.tokens as f64 >= SAVED_SHARE * window as f64;
            has_new_words && saves_room && new_messages >= MESSAGES
        }
        // A request that does not fit must become shorter, even if that shortens the summary.
        CompactTrigger::Reactive => true,
        _ => has_new_words,
    }
}

/// Returns the first text that is not blank, wherever it is: thinking may come before it.
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
