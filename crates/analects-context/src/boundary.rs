//! The position of the last compaction in a chain, and the instructions directly behind it: copies of those that it
//! hides, which lead the conversation as the originals did.

use std::collections::HashSet;
use std::ops::Range;

use analects_core::{Body, Chain, Content, Message};

/// Returns the position of the first message after the last compaction. Usage reported before it counted messages that
/// are no longer visible.
pub(crate) fn after_boundary(chain: &Chain<'_>) -> usize {
    let Some(boundary) = chain.boundary else {
        return 0;
    };
    let messages = &chain.messages;
    let child = messages
        .iter()
        .position(|message| message.parent_id.as_ref() == Some(&boundary.id));
    child.unwrap_or_else(|| after_kept(messages, boundary))
}

/// Returns the position behind the messages that a compaction kept, if nothing follows its boundary.
fn after_kept(messages: &[&Message], boundary: &Message) -> usize {
    let Body::CompactBoundary(body) = &boundary.body else {
        return messages.len();
    };
    let summary = messages
        .first()
        .filter(|first| Some(&first.id) == body.summary_id.as_ref());
    // The boundary follows the last message that was kept, or the summary, which in turn follows that message.
    let parent = match summary {
        Some(summary) if boundary.parent_id.as_ref() == Some(&summary.id) => &summary.parent_id,
        _ => &boundary.parent_id,
    };
    let last_kept = messages
        .iter()
        .rposition(|message| Some(&message.id) == parent.as_ref());
    match (last_kept, &body.kept_from) {
        (Some(at), _) => at + 1,
        (None, None) => usize::from(summary.is_some()),
        (None, Some(_)) => messages.len(),
    }
}

/// Returns the positions of the instructions that the last compaction copied.
pub(crate) fn copied_instructions(chain: &Chain<'_>) -> Range<usize> {
    let start = after_boundary(chain);
    if chain.boundary.is_none() {
        return start..start;
    }
    let behind = chain.messages.iter().skip(start);
    start..start + behind.take_while(|message| is_instruction(message)).count()
}

/// Returns whether a message is an instruction.
pub(crate) fn is_instruction(message: &Message) -> bool {
    matches!(message.body, Body::System(_))
}

/// Returns the positions of copies that an earlier compaction left among the kept messages. The last compaction made
/// the same copies again, so these are redundant.
pub(crate) fn redundant_copies(chain: &Chain<'_>) -> HashSet<usize> {
    let copied = copied_instructions(chain);
    let mut copies: Vec<Content> = chain.messages[copied.clone()]
        .iter()
        .map(|message| message.content_to_send())
        .collect();
    let earlier = &chain.messages[..copied.start];
    let mut redundant = HashSet::new();
    if copies.is_empty() || !earlier.iter().any(|message| is_instruction(message)) {
        return redundant;
    }
    let mut present: HashSet<&str> = chain.messages.iter().map(|message| &*message.id).collect();
    for (at, message) in earlier.iter().enumerate() {
        // A copy follows its boundary, which is not in the chain, or another copy. Instructions that a person repeats
        // later follow a message of the chain.
        let parent = message.parent_id.as_deref();
        let is_copy = parent.is_some_and(|parent| !present.contains(parent));
        if !is_instruction(message) || !is_copy {
            continue;
        }
        let content = message.content_to_send();
        if let Some(same) = copies.iter().position(|copy| *copy == content) {
            copies.swap_remove(same);
            redundant.insert(at);
            present.remove(&*message.id);
        }
    }
    redundant
}
