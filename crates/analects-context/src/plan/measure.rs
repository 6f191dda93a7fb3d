//! How large the context of a conversation is, whether or not it fits: what the provider last said, and what
//! came since.

use analects_core::{Body, Chain, Message};

use super::{Planner, trim};
use crate::normalize::{Draft, draft, joined};
use crate::tokens::{Count, Counter, count_tokens_from_usage};

impl Planner<'_> {
    /// The size of the context: the real usage up to the last answer, and the best count of what came
    /// after it; without a usage that still holds, the best count of everything.
    pub fn count(&self, chain: &Chain<'_>, counter: &mut Counter<'_>) -> Count {
        let Draft { mut system, items, .. } = draft(chain, self.agent);
        let since = after_boundary(chain);
        let used = count_tokens_from_usage(&chain.messages[since..]);
        if let Some(used) = used {
            let later = items.iter().filter(|item| item.at > since + used.at);
            let later = later.map(|item| counter.content(&item.content) + counter.per_turn());
            return later.fold(used.count, |sum, count| sum + count);
        }
        system.splice(0..0, self.system.clone());
        let request = self.request(joined(&system));
        trim::Work::new(&request, items, self.budget, counter).upper()
    }
}

/// The first message of the chain that came after its last compaction. What was used before it was used for
/// messages that are no longer seen.
pub(crate) fn after_boundary(chain: &Chain<'_>) -> usize {
    let Some(boundary) = chain.boundary else { return 0 };
    let messages = &chain.messages;
    let follows = |message: &&Message| message.parent_id.as_ref() == Some(&boundary.id);
    if let Some(at) = messages.iter().position(follows) {
        return at;
    }
    let Body::CompactBoundary(body) = &boundary.body else { return messages.len() };
    // The boundary follows the last message that was kept, or the summary, which does.
    let summary = messages.first().filter(|first| Some(&first.id) == body.summary_id.as_ref());
    let parent = match summary {
        Some(summary) if boundary.parent_id.as_ref() == Some(&summary.id) => &summary.parent_id,
        _ => &boundary.parent_id,
    };
    let kept = messages.iter().rposition(|message| Some(&message.id) == parent.as_ref());
    match (kept, &body.kept_from) {
        (Some(at), _) => at + 1,
        (None, None) => usize::from(summary.is_some()),
        (None, Some(_)) => messages.len(),
    }
}
