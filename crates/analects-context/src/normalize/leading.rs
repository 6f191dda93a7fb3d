//! Instructions that follow a compaction directly: copies of those that it hides, which lead as they did.

use std::collections::HashSet;
use std::ops::Range;

use analects_core::{Body, Chain, Content, Message};

use crate::plan::after_boundary;

/// The instructions that came with the last compaction of a chain, by their positions.
pub(crate) fn leading(chain: &Chain<'_>) -> Range<usize> {
    let start = after_boundary(chain);
    if chain.boundary.is_none() {
        return start..start;
    }
    let behind = chain.messages.iter().skip(start);
    start..start + behind.take_while(|message| is_instruction(message)).count()
}

/// Whether a message instructs the model.
pub(crate) fn is_instruction(message: &Message) -> bool {
    matches!(message.body, Body::System(_))
}

/// Copies that came with an earlier compaction, and stand in the middle of what the last one keeps. The last one
/// brought the same ones again, and nobody needs them twice.
pub(super) fn repeated(chain: &Chain<'_>) -> HashSet<usize> {
    let led = leading(chain);
    let mut lead: Vec<Content> =
        chain.messages[led.clone()].iter().map(|message| message.content_to_send()).collect();
    let mut repeated = HashSet::new();
    if lead.is_empty() || !chain.messages[..led.start].iter().any(|it| is_instruction(it)) {
        return repeated;
    }
    let mut seen: HashSet<&str> = chain.messages.iter().map(|message| &*message.id).collect();
    for (at, message) in chain.messages[..led.start].iter().enumerate() {
        // A copy follows its boundary, which is not among the messages, or another copy. What a person said
        // again later follows something that is seen.
        let follows = message.parent_id.as_deref().is_some_and(|parent| !seen.contains(parent));
        if !is_instruction(message) || !follows {
            continue;
        }
        let content = message.content_to_send();
        if let Some(same) = lead.iter().position(|copy| *copy == content) {
            lead.swap_remove(same);
            repeated.insert(at);
            seen.remove(&*message.id);
        }
    }
    repeated
}
