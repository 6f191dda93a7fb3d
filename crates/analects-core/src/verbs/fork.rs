//! Copying a conversation up to a message.

use std::collections::HashSet;

use super::{VerbError, position, step_end};
use crate::{LinkKind, Message, MessageId, Tree};

/// The positions of what a copy up to a message needs, in the order of the record: the way to the message and to what
/// completes it, and whatever hides or revises something on that way. `None` copies up to the last message.
pub fn fork(messages: &[Message], at: Option<&str>) -> Result<Vec<usize>, VerbError> {
    let tree = Tree::of(messages);
    let end = match at {
        Some(id) => Some(step_end(messages, position(&tree, &MessageId::from(id))?)),
        None => tree.leaf(None),
    };
    let mut copied: HashSet<usize> = end.into_iter().flat_map(|end| tree.ancestors(end)).collect();
    // The summary of a compaction may stand beside the way.
    let summaries: Vec<usize> = copied.iter().filter_map(|at| tree.summary_of(*at)).collect();
    copied.extend(summaries);
    let mut names: HashSet<&str> = copied.iter().map(|at| tree.link(*at).id).collect();
    for at in 0..tree.len() {
        let link = tree.link(at);
        let (LinkKind::Tombstone { target, .. } | LinkKind::Revision { target, .. }) = link.kind
        else {
            continue;
        };
        if names.contains(target) {
            copied.insert(at);
            names.insert(link.id);
        }
    }
    let mut copied: Vec<usize> = copied.into_iter().collect();
    copied.sort_unstable();
    Ok(copied)
}
