//! Going on from an earlier message, in the conversation itself or in a copy of it up to there.

use std::collections::HashSet;

use super::compact::{came_with, compaction_of};
use super::families::Families;
use super::{Change, VerbError, position};
use crate::{LinkKind, Message, MessageId, Tree};

/// The next message follows `to`, and what came after it stays as a branch. `None` goes back before the first
/// message. A message keeps what completes it ([`step_end`]).
pub fn rewind(messages: &[Message], to: Option<&str>) -> Result<Vec<Change>, VerbError> {
    let tree = Tree::of(messages);
    let last = last_message(&tree);
    let Some(to) = to else {
        let is_at_start = last.is_none();
        return if is_at_start {
            Err(VerbError::NothingSaid)
        } else {
            Ok(continue_from(None))
        };
    };
    let at = position(&tree, &MessageId::from(to))?;
    if !is_message(&tree, at) {
        return Err(VerbError::NotAMessage(to.into()));
    }
    if messages[at].agent_id.is_some() {
        return Err(VerbError::SideChain(to.into()));
    }
    let end = step_end(messages, at);
    if last == Some(end) {
        return Err(VerbError::NothingAfter(to.into()));
    }
    Ok(continue_from(Some(messages[end].id.clone())))
}

fn continue_from(parent: Option<MessageId>) -> Vec<Change> {
    vec![Change::ContinueFrom { parent }]
}

/// The last message of the branch that a conversation is on.
fn last_message(tree: &Tree) -> Option<usize> {
    tree.ancestors(tree.leaf(None)?)
        .find(|at| is_message(tree, *at))
}

/// Whether something can follow a record, so that a person may name it.
fn is_message(tree: &Tree, at: usize) -> bool {
    match tree.link(at).kind {
        LinkKind::Speech | LinkKind::Summary | LinkKind::Boundary { .. } | LinkKind::Unknown => {
            true
        }
        LinkKind::Tombstone { .. }
        | LinkKind::Revision { .. }
        | LinkKind::State
        | LinkKind::Progress => false,
    }
}

/// The position of the last message that completes the one at `at`: of calls, their results; of code, what it printed;
/// of a summary, its boundary and what came with it. An API refuses calls without results, so nobody stops between
/// them.
pub fn step_end(messages: &[Message], at: usize) -> usize {
    let tree = Tree::of(messages);
    if let Some((boundary, _)) = compaction_of(&tree, at) {
        return came_with(messages, &tree, boundary)
            .pop()
            .unwrap_or(boundary);
    }
    let families = Families::of(messages);
    let mut end = at;
    loop {
        let mut children = tree.children(end).iter();
        match children.rfind(|child| families.completes(**child, at)) {
            Some(next) => end = *next,
            None => return end,
        }
    }
}

/// The positions of what a copy up to a message needs, in the order of the record: the way to the message and to what
/// completes it, and whatever hides or revises something on that way. `None` copies up to the last message.
pub fn fork(messages: &[Message], at: Option<&str>) -> Result<Vec<usize>, VerbError> {
    let tree = Tree::of(messages);
    let end = match at {
        Some(id) => Some(step_end(messages, position(&tree, &MessageId::from(id))?)),
        None => tree.leaf(None),
    };
    Ok(fork_to(&tree, end))
}

/// The same for a conversation that nobody holds, up to the message at a position.
pub fn fork_to(tree: &Tree, end: Option<usize>) -> Vec<usize> {
    let mut copied = vec![false; tree.len()];
    let mut named = HashSet::new();
    for at in end.into_iter().flat_map(|end| tree.ancestors(end)) {
        copied[at] = true;
        named.extend(tree.name_number(tree.link(at).id));
        // The summary of a compaction may stand beside the way.
        if let Some(summary) = tree.summary_of(at) {
            copied[summary] = true;
            named.extend(tree.name_number(tree.link(summary).id));
        }
    }
    for (at, is_copied) in copied.iter_mut().enumerate() {
        let link = tree.link(at);
        let (LinkKind::Tombstone { target, .. } | LinkKind::Revision { target, .. }) = link.kind
        else {
            continue;
        };
        if tree
            .name_number(target)
            .is_some_and(|target| named.contains(&target))
        {
            *is_copied = true;
            named.extend(tree.name_number(link.id));
        }
    }
    (0..tree.len()).filter(|at| copied[*at]).collect()
}
