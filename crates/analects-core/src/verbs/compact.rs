//! Compaction: a summary replaces earlier messages in the model's view. Also the way to undo it.

use super::hide::hide_message;
use super::{Change, VerbError};
use crate::{Body, LinkKind, Message, Tree};

/// Returns the changes that append a compaction: a summary, the boundary that names it, and further messages of the
/// compaction, each following the one before. Fails if no boundary names a summary before it.
pub fn compact(made: Vec<Message>) -> Result<Vec<Change>, VerbError> {
    if !has_named_summary(&made) {
        return Err(VerbError::IncompleteCompaction);
    }
    Ok(made.into_iter().map(Box::new).map(Change::Append).collect())
}

/// Returns whether a boundary names a summary before it.
fn has_named_summary(messages: &[Message]) -> bool {
    let mut summaries = Vec::new();
    for message in messages {
        if let Body::Summary(_) = &message.body {
            summaries.push(&message.id);
        }
        if let Body::CompactBoundary(boundary) = &message.body
            && let Some(id) = &boundary.summary_id
            && summaries.contains(&id)
        {
            return true;
        }
    }
    false
}

/// Returns the changes that hide the compaction in effect, so that the model reads the replaced messages again.
///
/// The instructions and files that belong to the compaction are hidden too. A copy of an instruction stays if it was
/// edited since: it then holds words of its own.
pub fn undo_compaction(messages: &[Message]) -> Result<Vec<Change>, VerbError> {
    let tree = Tree::of(messages);
    let effective = tree
        .leaf(None)
        .map(|leaf| tree.effective(leaf))
        .unwrap_or_default();
    let boundary = effective.boundary.ok_or(VerbError::NoCompaction)?;
    // A separator of another program cuts without a summary.
    let summary = tree.summary_of(boundary).ok_or(VerbError::NoCompaction)?;
    Ok(undo_changes(messages, &tree, boundary, summary))
}

/// Returns the changes that undo a compaction.
pub(super) fn undo_changes(
    messages: &[Message],
    tree: &Tree,
    boundary: usize,
    summary: usize,
) -> Vec<Change> {
    let mut changes = vec![hide_message(&messages[summary])];
    for copy in compaction_extras(messages, tree, boundary) {
        if !is_edited_copy(messages, boundary, copy) {
            changes.push(hide_message(&messages[copy]));
        }
    }
    changes
}

/// Returns the boundary and the summary of the compaction that a message is part of, as its boundary or its summary. If
/// several boundaries name one summary, the last one counts.
pub(super) fn compaction_of(tree: &Tree, at: usize) -> Option<(usize, usize)> {
    match tree.link(at).kind {
        LinkKind::Boundary { .. } => Some((at, tree.summary_of(at)?)),
        LinkKind::Summary => {
            let mut boundaries = (at..tree.len()).rev();
            let boundary = boundaries.find(|place| tree.summary_of(*place) == Some(at))?;
            Some((boundary, at))
        }
        LinkKind::Speech
        | LinkKind::Tombstone { .. }
        | LinkKind::Revision { .. }
        | LinkKind::State
        | LinkKind::Progress
        | LinkKind::Unknown => None,
    }
}

/// Returns the messages of a compaction behind its boundary: copies of instructions, and files.
pub(super) fn compaction_extras(messages: &[Message], tree: &Tree, boundary: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut last = boundary;
    loop {
        let children = tree.children(last);
        let next = children
            .iter()
            .find(|at| messages[**at].is_part_of_compaction(&messages[boundary]));
        let Some(next) = next else { return found };
        found.push(*next);
        last = *next;
    }
}

/// Returns whether the copy of an instruction was edited since, so that no original has its text.
fn is_edited_copy(messages: &[Message], boundary: usize, copy: usize) -> bool {
    let Body::System(copy) = &messages[copy].body else {
        return false;
    };
    let is_original =
        |message: &Message| matches!(&message.body, Body::System(body) if body == copy);
    !messages[..boundary].iter().any(is_original)
}
