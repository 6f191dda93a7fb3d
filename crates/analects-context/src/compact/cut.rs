//! Cuts a conversation in two: the part to summarise, and the part to keep.

use analects_core::{Agent, Chain, Content, Message, MessageId};

use super::NotNow;
use super::prompt::TranscriptEntry;
use crate::boundary::{copied_instructions, is_instruction};
use crate::normalize::{ItemKind, OutgoingItem, draft_items};
use crate::tokens::{Count, Counter};

/// A conversation cut in two.
#[derive(Debug)]
pub(super) struct ConversationCut<'a> {
    /// The messages to summarise.
    pub messages: Vec<&'a Message>,
    /// Their text, for the model that summarises.
    pub transcript: Vec<TranscriptEntry>,
    /// Their tokens.
    pub tokens: Count,
    /// The tokens of all messages.
    pub all: Count,
    /// The instructions among the messages that become hidden.
    pub instructions: Vec<Content>,
    /// The first message to keep.
    pub kept_from: Option<MessageId>,
}

/// Cuts before the most recent whole turns that take at most `room` tokens. Fails if the last prompt alone is too large
/// for a summary to help.
pub(super) fn cut_conversation<'a>(
    chain: &Chain<'a>,
    agent: &Agent,
    window: u64,
    room: u64,
    counter: &mut Counter<'_>,
) -> Result<ConversationCut<'a>, NotNow> {
    let items = draft_items(chain, agent).items;
    let counts: Vec<Count> = items
        .iter()
        .map(|item| counter.content(&item.content) + counter.per_turn())
        .collect();
    let kept = first_kept(&items, &counts, room);
    let tokens: u64 = counts[kept..].iter().map(|count| count.tokens).sum();
    if tokens > room.max(window / 2) {
        return Err(NotNow::LastTooLarge { tokens, window });
    }
    let first_kept = items.get(kept).map(|item| item.at);
    let end = first_kept.unwrap_or(usize::MAX);
    let mut cut = ConversationCut {
        messages: Vec::new(),
        transcript: Vec::new(),
        tokens: counts[..kept].iter().copied().sum(),
        all: counts.iter().copied().sum(),
        instructions: hidden_instructions(chain, end),
        kept_from: first_kept
            .and_then(|at| chain.messages.get(at))
            .map(|message| message.id.clone()),
    };
    for item in &items[..kept] {
        if item.at < end && item.kind != ItemKind::Instructions {
            cut.messages.extend(chain.messages.get(item.at).copied());
            cut.transcript.push(TranscriptEntry::of(item));
        }
    }
    Ok(cut)
}

/// Returns the instructions that are hidden if messages stay visible from position `end` on. Those that the last
/// compaction copied come first, so that the next one copies them again: they are older than what it kept.
fn hidden_instructions(chain: &Chain<'_>, end: usize) -> Vec<Content> {
    let copied = copied_instructions(chain);
    let before = (0..end.min(chain.messages.len())).filter(|at| !copied.contains(at));
    copied
        .clone()
        .chain(before)
        .map(|at| chain.messages[at])
        .filter(|message| is_instruction(message) && message.why_not_sent().is_none())
        .map(Message::content_to_send)
        .collect()
}

/// Returns the index of the first item to keep.
fn first_kept(items: &[OutgoingItem], counts: &[Count], room: u64) -> usize {
    let mut kept = first_unanswered_prompt(items);
    let mut tokens: u64 = counts[kept..].iter().map(|count| count.tokens).sum();
    for at in (0..kept).rev() {
        tokens = tokens.saturating_add(counts[at].tokens);
        if tokens > room {
            break;
        }
        if items[at].kind == ItemKind::Prompt {
            kept = at;
        }
    }
    kept
}

/// Returns the index of the first prompt without an answer, which a summary must not include; the number of items if
/// all are answered.
fn first_unanswered_prompt(items: &[OutgoingItem]) -> usize {
    let last_answer = items.iter().rposition(|item| item.kind == ItemKind::Answer);
    let after_answer = last_answer.map_or(0, |at| at + 1);
    (after_answer..items.len())
        .find(|at| items[*at].kind == ItemKind::Prompt)
        .unwrap_or(items.len())
}
