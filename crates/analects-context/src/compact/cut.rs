//! Where a conversation is cut: what is summarised, and from where on it is kept.

use analects_core::{Agent, Chain, Content, Message, MessageId};

use super::NotNow;
use super::prompt::Said;
use crate::boundary::{is_instruction, leading};
use crate::normalize::{Item, Kind, draft};
use crate::tokens::{Count, Counter};

/// A conversation cut in two.
#[derive(Debug)]
pub(super) struct Cut<'a> {
    /// The messages that are summarised.
    pub messages: Vec<&'a Message>,
    /// What they say, for the one who summarises.
    pub said: Vec<Said>,
    /// What they take.
    pub tokens: Count,
    /// What all messages take.
    pub all: Count,
    /// Instructions among what is no longer seen.
    pub instructions: Vec<Content>,
    /// The first message that is kept.
    pub kept_from: Option<MessageId>,
}

/// Cuts before the most recent whole turns that take no more than `room`.
pub(super) fn cut<'a>(
    chain: &Chain<'a>,
    agent: &Agent,
    window: u64,
    room: u64,
    counter: &mut Counter<'_>,
) -> Result<Cut<'a>, NotNow> {
    let items = draft(chain, agent).items;
    let counts: Vec<Count> = items
        .iter()
        .map(|item| counter.content(&item.content) + counter.per_turn())
        .collect();
    let kept = kept(&items, &counts, room);
    let tokens: u64 = counts[kept..].iter().map(|count| count.tokens).sum();
    if tokens > room.max(window / 2) {
        return Err(NotNow::LastTooLarge { tokens, window });
    }
    let ends = items.get(kept).map_or(usize::MAX, |item| item.at);
    let gone = items[..kept]
        .iter()
        .filter(|item| item.at < ends && item.kind != Kind::Instructions);
    Ok(Cut {
        messages: gone
            .clone()
            .filter_map(|item| chain.messages.get(item.at).copied())
            .collect(),
        said: gone.map(Said::of).collect(),
        tokens: counts[..kept].iter().copied().sum(),
        all: counts.iter().copied().sum(),
        instructions: instructions(chain, ends),
        kept_from: items
            .get(kept)
            .and_then(|item| chain.messages.get(item.at))
            .map(|message| message.id.clone()),
    })
}

/// The instructions that would be gone if messages were seen from a position on. Those that came with the last
/// compaction go with the next one, too, so that they lead again; they are older than what it kept.
fn instructions(chain: &Chain<'_>, ends: usize) -> Vec<Content> {
    let is_sent = |message: &&Message| is_instruction(message) && message.why_not_sent().is_none();
    let led = leading(chain);
    let messages = &chain.messages;
    let before = messages
        .iter()
        .enumerate()
        .take(ends)
        .filter(|(at, _)| !led.contains(at));
    let hidden = messages[led.clone()]
        .iter()
        .chain(before.map(|(_, message)| message));
    hidden
        .copied()
        .filter(is_sent)
        .map(Message::content_to_send)
        .collect()
}

/// The place of the first item that is kept.
fn kept(items: &[Item], counts: &[Count], room: u64) -> usize {
    let starts = |at: usize| items[at].kind == Kind::Said;
    // What the user said last, and nobody answered, cannot be a part of the summary.
    let answered = items.iter().rposition(|item| item.kind == Kind::Answer);
    let open = (answered.map_or(0, |at| at + 1)..items.len()).find(|at| starts(*at));
    let mut kept = open.unwrap_or(items.len());
    let mut taken: u64 = counts[kept..].iter().map(|count| count.tokens).sum();
    for at in (0..kept).rev() {
        taken = taken.saturating_add(counts[at].tokens);
        if taken > room {
            break;
        }
        if starts(at) {
            kept = at;
        }
    }
    kept
}
