//! A summary in the place of what came before, and the way back from it.

use super::hide::hide_message;
use super::{Change, VerbError};
use crate::{Body, LinkKind, Message, Tree};

/// Appends a compaction: a summary, the boundary that names it, and what belongs to them. Each follows the one before.
pub fn compact(made: Vec<Message>) -> Result<Vec<Change>, VerbError> {
    let names_a_summary = made.iter().enumerate().any(|(at, message)| {
        let Body::CompactBoundary(boundary) = &message.body else {
            return false;
        };
        let is_named = |other: &Message| {
            matches!(other.body, Body::Summary(_))
                && Some(&other.id) == boundary.summary_id.as_ref()
        };
        made[..at].iter().any(is_named)
    });
    if !names_a_summary {
        return Err(VerbError::IncompleteCompaction);
    }
    Ok(made.into_iter().map(Box::new).map(Change::Append).collect())
}

/// Hides the compaction that counts, so that everything that its summary stands for is seen again. The copies of
/// instructions and the files that came with it go, too; a copy that says something else by now is somebody's own
/// words, and stays.
pub fn undo_compaction(messages: &[Message]) -> Result<Vec<Change>, VerbError> {
    let tree = Tree::of(messages);
    let effective = tree
        .leaf(None)
        .map(|leaf| tree.effective(leaf))
        .unwrap_or_default();
    let boundary = effective.boundary.ok_or(VerbError::NoCompaction)?;
    match tree.summary_of(boundary) {
        Some(summary) => Ok(undo(messages, &tree, boundary, summary)),
        // A separator of another program cuts without a summary.
        None => Err(VerbError::NoCompaction),
    }
}

/// What takes a compaction back.
pub(super) fn undo(
    messages: &[Message],
    tree: &Tree,
    boundary: usize,
    summary: usize,
) -> Vec<Change> {
    let mut changes = vec![hide_message(&messages[summary])];
    for copy in came_with(messages, tree, boundary) {
        if !is_edited_copy(messages, boundary, copy) {
            changes.push(hide_message(&messages[copy]));
        }
    }
    changes
}

/// The boundary and the summary of the compaction that a message is the summary or the boundary of. Of several with
/// one summary, the last.
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

/// What came with a compaction: the copies of instructions and the files directly behind its boundary.
pub(super) fn came_with(messages: &[Message], tree: &Tree, boundary: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut last = boundary;
    loop {
        let children = tree.children(last);
        let next = children
            .iter()
            .find(|at| messages[**at].came_with(&messages[boundary]));
        let Some(next) = next else { return found };
        found.push(*next);
        last = *next;
    }
}

/// Whether the copy of an instruction was edited since: then no original says the same.
fn is_edited_copy(messages: &[Message], boundary: usize, copy: usize) -> bool {
    let Body::System(copy) = &messages[copy].body else {
        return false;
    };
    let is_original =
        |message: &Message| matches!(&message.body, Body::System(body) if body == copy);
    !messages[..boundary].iter().any(is_original)
}
