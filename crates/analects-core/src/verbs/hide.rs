//! Hiding messages from the model, and showing them again. A call and its result go together, and so do
//! code and its output.

use super::compact::{came_with, compaction_of, undo};
use super::families::Families;
use super::{Change, Target, VerbError, position};
use crate::{Body, History, Message, Tombstone, Tree};

/// Hides a message, or one call of it, and its pair.
///
/// With a message of results, the calls go, and the rest of the calling message stays. The results of a message that
/// makes calls, and what code printed, are not seen without it, and need not be hidden themselves. To hide the summary
/// of a compaction is to undo the compaction.
pub fn drop(messages: &[Message], target: &Target) -> Result<Vec<Change>, VerbError> {
    let tree = Tree::of(messages);
    let families = Families::of(messages);
    let at = said(messages, &tree, target)?;
    if let Some((boundary, summary)) = compaction_of(&tree, at) {
        if tree.is_excluded(summary) || tree.is_hidden(boundary) {
            return Err(VerbError::AlreadyHidden(target.message.clone()));
        }
        return Ok(undo(messages, &tree, boundary, summary));
    }
    if is_hidden(messages, &tree, at) || is_call_hidden(messages, at, target) {
        return Err(VerbError::AlreadyHidden(target.message.clone()));
    }
    Ok(hiding(messages, &families, at, target))
}

/// What hides a message, or a call of it, with what belongs to it.
pub(super) fn hiding(
    messages: &[Message],
    families: &Families,
    at: usize,
    target: &Target,
) -> Vec<Change> {
    let mut changes = vec![Change::set_history(target.clone(), History::Exclude)];
    if target.call.is_some() {
        return changes;
    }
    // A result cannot go without its call.
    for call in &families.said[at].results {
        if let Some(caller) = families.caller(at, call) {
            let target = Target::call(messages[caller].id.clone(), call);
            changes.push(Change::set_history(target, History::Exclude));
        }
    }
    changes
}

/// Shows a message, or one call of it, and its pair again: undoes [`drop()`]. A message with a summary of its own is
/// shown by that.
pub fn restore(messages: &[Message], target: &Target) -> Result<Vec<Change>, VerbError> {
    let tree = Tree::of(messages);
    let families = Families::of(messages);
    let at = said(messages, &tree, target)?;
    if let Some((boundary, summary)) = compaction_of(&tree, at) {
        let mut hidden = vec![summary];
        hidden.extend(came_with(messages, &tree, boundary));
        let changes = show_all(messages, &tree, &hidden);
        return some(changes, target);
    }
    let mut shown = vec![at];
    shown.extend(families.code_of(at));
    let mut changes = Vec::new();
    // A result is not seen without its call.
    for call in &families.said[at].results {
        if let Some(caller) = families.caller(at, call) {
            shown.push(caller);
            changes.extend(show_call(messages, caller, call));
        }
    }
    if let Some(call) = &target.call {
        changes.extend(show_call(messages, at, call));
        // A result that is hidden for itself is shown if its call is seen.
        if changes.is_empty() && !is_hidden(messages, &tree, at) {
            shown.extend(families.results(at, call));
        }
    }
    let mut all = show_all(messages, &tree, &shown);
    all.append(&mut changes);
    some(all, target)
}

fn some(changes: Vec<Change>, target: &Target) -> Result<Vec<Change>, VerbError> {
    if changes.is_empty() {
        return Err(VerbError::NotHidden(target.message.clone()));
    }
    Ok(changes)
}

/// The position of the message that a target is about, which must say something.
fn said(messages: &[Message], tree: &Tree, target: &Target) -> Result<usize, VerbError> {
    let at = position(tree, &target.message)?;
    match &messages[at].body {
        Body::System(_)
        | Body::User(_)
        | Body::Assistant(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::Summary(_)
        | Body::CompactBoundary(_) => Ok(at),
        Body::Progress(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => Err(VerbError::NotAMessage(target.message.clone())),
    }
}

fn is_hidden_itself(message: &Message) -> bool {
    message.history == History::Exclude
}

fn is_hidden(messages: &[Message], tree: &Tree, at: usize) -> bool {
    is_hidden_itself(&messages[at]) || tree.is_hidden(at)
}

/// Whether a call is hidden already.
fn is_call_hidden(messages: &[Message], at: usize, target: &Target) -> bool {
    let Some(call) = &target.call else {
        return false;
    };
    last_revision(messages, at, call) == Some(History::Exclude)
}

/// What the last revision of a call says of it.
fn last_revision(messages: &[Message], at: usize, call: &str) -> Option<History> {
    let id = &messages[at].id;
    messages.iter().rev().find_map(|message| {
        let Body::Revision(revision) = &message.body else {
            return None;
        };
        let is_of_call = revision.target == *id && revision.call.as_deref() == Some(call);
        revision.history.filter(|_| is_of_call)
    })
}

/// What shows a call again that a revision hides.
fn show_call(messages: &[Message], at: usize, call: &str) -> Option<Change> {
    let is_hidden = last_revision(messages, at, call) == Some(History::Exclude);
    let target = Target::call(messages[at].id.clone(), call);
    is_hidden.then(|| Change::set_history(target, History::Include))
}

/// What shows those of some messages that are hidden.
fn show_all(messages: &[Message], tree: &Tree, places: &[usize]) -> Vec<Change> {
    let mut places = places.to_vec();
    places.sort_unstable();
    places.dedup();
    let mut changes = Vec::new();
    for at in places {
        let message = &messages[at];
        if is_hidden_itself(message) {
            let target = Target::message(message.id.clone());
            changes.push(Change::set_history(target, shown(message)));
        }
        if tree.is_hidden(at) {
            changes.extend(hide_tombstones(messages, tree, at));
        }
    }
    changes
}

/// Tombstones for the tombstones that hide a message.
fn hide_tombstones(messages: &[Message], tree: &Tree, at: usize) -> Vec<Change> {
    let id = &messages[at].id;
    let mut changes = Vec::new();
    for (place, message) in messages.iter().enumerate().skip(at) {
        let Body::Tombstone(tombstone) = &message.body else {
            continue;
        };
        if tombstone.target == *id && !tree.is_hidden(place) {
            let target_parent = message.parent_id.clone();
            let body = Tombstone {
                target: message.id.clone(),
                target_parent,
            };
            changes.push(Change::Append(Box::new(Message::new(
                "",
                Body::Tombstone(body),
            ))));
        }
    }
    changes
}

/// How a message is seen that is shown again: where it has a summary, no more than that.
pub(super) fn shown(message: &Message) -> History {
    if message.extra.get("summary").is_some() {
        History::Summary
    } else {
        History::Include
    }
}

/// What hides a message.
pub(super) fn hide_message(message: &Message) -> Change {
    Change::set_history(Target::message(message.id.clone()), History::Exclude)
}
