//! Continues from an earlier message, in the conversation itself or in a copy.

use std::collections::HashSet;

use super::compact::{compaction_extras, compaction_of};
use super::groups::MessageGroups;
use super::{Change, VerbError, position};
use crate::{LinkKind, Message, MessageId, Tree};

/// Returns the change that makes the next message follow `to`; the messages after `to` stay as a branch. `None` goes
/// back before the first message. A message keeps what completes it (see [`step_end`]).
pub fn rewind(messages: &[Message], to: Option<&str>) -> Result<Vec<Change>, VerbError> {
    let tree = Tree::of(messages);
    let last = last_message(&tree);
    let Some(to) = to else {
        last.ok_or(VerbError::NothingSaid)?;
        return Ok(continue_from(None));
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

/// Returns the last message of the current branch.
fn last_message(tree: &Tree) -> Option<usize> {
    tree.ancestors(tree.leaf(None)?)
        .find(|at| is_message(tree, *at))
}

/// Returns whether a record is a message, which others can follow.
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

/// Returns the position of the last message that completes the one at `at`: of calls, their results; of code, its
/// output; of a summary, its boundary and the other messages of the compaction. APIs refuse calls without results, so
/// no branch starts between them.
pub fn step_end(messages: &[Message], at: usize) -> usize {
    let tree = Tree::of(messages);
    if let Some((boundary, _)) = compaction_of(&tree, at) {
        return compaction_extras(messages, &tree, boundary)
            .pop()
            .unwrap_or(boundary);
    }
    let groups = MessageGroups::of(messages);
    let mut end = at;
    loop {
        let mut children = tree.children(end).iter();
        match children.rfind(|child| groups.completes(**child, at)) {
            Some(next) => end = *next,
            None => return end,
        }
    }
}

/// Returns the positions of the messages that a copy up to `at` needs, in the order of the records: the path to the
/// message and to what completes it, and everything that hides or revises a message on that path. `None` copies up to
/// the last message.
pub fn fork(messages: &[Message], at: Option<&str>) -> Result<Vec<usize>, VerbError> {
    let tree = Tree::of(messages);
    let end = match at {
        Some(id) => Some(step_end(messages, position(&tree, &MessageId::from(id))?)),
        None => tree.leaf(None),
    };
    Ok(fork_to(&tree, end))
}

/// Like [`fork`], for a conversation that is not in memory, up to the message at position `end`.
pub fn fork_to(tree: &Tree, end: Option<usize>) -> Vec<usize> {
    let mut copied = vec![false; tree.len()];
    let mut named = HashSet::new();
    for at in end.into_iter().flat_map(|end| tree.ancestors(end)) {
        copied[at] = true;
        named.extend(tree.name_number(tree.link(at).id));
        // The summary of a compaction may be off the path.
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
