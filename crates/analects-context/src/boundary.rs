//! Where the last compaction of a chain lies, and the instructions that follow it directly: copies of those that it
//! hides, which lead as they did.

use std::collections::HashSet;
use std::ops::Range;

use analects_core::{Body, Chain, Content, Message};

/// The first message of the chain that came after its last compaction. What was used before it was used for
/// messages that are no longer seen.
pub(crate) fn after_boundary(chain: &Chain<'_>) -> usize {
    let Some(boundary) = chain.boundary else {
        return 0;
    };
    let messages = &chain.messages;
    let follows = |message: &&Message| message.parent_id.as_ref() == Some(&boundary.id);
    if let Some(at) = messages.iter().position(follows) {
        return at;
    }
    let Body::CompactBoundary(body) = &boundary.body else {
        return messages.len();
    };
    // The boundary follows the last message that was kept, or the summary, which does.
    let summary = messages
        .first()
        .filter(|first| Some(&first.id) == body.summary_id.as_ref());
    let parent = match summary {
        Some(summary) if boundary.parent_id.as_ref() == Some(&summary.id) => &summary.parent_id,
        _ => &boundary.parent_id,
    };
    let kept = messages
        .iter()
        .rposition(|message| Some(&message.id) == parent.as_ref());
    match (kept, &body.kept_from) {
        (Some(at), _) => at + 1,
        (None, None) => usize::from(summary.is_some()),
        (None, Some(_)) => messages.len(),
    }
}

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
pub(crate) fn repeated(chain: &Chain<'_>) -> HashSet<usize> {
    let led = leading(chain);
    let mut lead: Vec<Content> = chain.messages[led.clone()]
        .iter()
        .map(|message| message.content_to_send())
        .collect();
    let mut repeated = HashSet::new();
    if lead.is_empty()
        || !chain.messages[..led.start]
            .iter()
            .any(|it| is_instruction(it))
    {
        return repeated;
    }
    let mut seen: HashSet<&str> = chain.messages.iter().map(|message| &*message.id).collect();
    for (at, message) in chain.messages[..led.start].iter().enumerate() {
        // A copy follows its boundary, which is not among the messages, or another copy. What a person said
        // again later follows something that is seen.
        let follows = message
            .parent_id
            .as_deref()
            .is_some_and(|parent| !seen.contains(parent));
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
