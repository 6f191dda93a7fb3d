//! Hides messages from the model and shows them again. A call and its result go together, and so do code and its
//! output: hiding a call is enough, since [`View`](super::View) leaves the results of hidden calls out.

use super::compact::{compaction_extras, compaction_of, undo_changes};
use super::groups::MessageGroups;
use super::{Change, Target, VerbError, position};
use crate::{Body, History, Message, Tombstone, Tree};

/// Returns the changes that hide a message, or one of its calls, together with its counterpart.
///
/// Hiding a message with results also hides their calls, but not the rest of the calling message. Hiding a message with
/// calls needs no change for the results, and hiding code none for its output: the model does not read them without
/// their counterpart. Hiding the summary of a compaction undoes the compaction.
pub fn drop(messages: &[Message], target: &Target) -> Result<Vec<Change>, VerbError> {
    let tree = Tree::of(messages);
    let groups = MessageGroups::of(messages);
    let at = message_position(messages, &tree, target)?;
    if let Some((boundary, summary)) = compaction_of(&tree, at) {
        if tree.is_excluded(summary) || tree.is_hidden(boundary) {
            return Err(VerbError::AlreadyHidden(target.message.clone()));
        }
        return Ok(undo_changes(messages, &tree, boundary, summary));
    }
    if is_hidden(messages, &tree, at) || is_call_hidden(messages, at, target) {
        return Err(VerbError::AlreadyHidden(target.message.clone()));
    }
    Ok(hide_changes(messages, &groups, at, target))
}

/// Returns the changes that hide a message, or one of its calls, with everything that belongs to it.
pub(super) fn hide_changes(
    messages: &[Message],
    groups: &MessageGroups,
    at: usize,
    target: &Target,
) -> Vec<Change> {
    let mut changes = vec![Change::set_history(target.clone(), History::Exclude)];
    if target.call.is_some() {
        return changes;
    }
    // A result cannot be hidden without its call.
    for call in &groups.pairing[at].results {
        if let Some(caller) = groups.caller(at, call) {
            let target = Target::call(messages[caller].id.clone(), call);
            changes.push(Change::set_history(target, History::Exclude));
        }
    }
    changes
}

/// Returns the changes that show a message, or one of its calls, together with its counterpart: the reverse of
/// [`drop()`]. Of a message with a summary of its own, the summary is shown.
pub fn restore(messages: &[Message], target: &Target) -> Result<Vec<Change>, VerbError> {
    let tree = Tree::of(messages);
    let at = message_position(messages, &tree, target)?;
    let changes = if let Some((boundary, summary)) = compaction_of(&tree, at) {
        let mut hidden = vec![summary];
        hidden.extend(compaction_extras(messages, &tree, boundary));
        show_all(messages, &tree, &hidden)
    } else {
        restore_message(messages, &tree, at, target)
    };
    if changes.is_empty() {
        return Err(VerbError::NotHidden(target.message.clone()));
    }
    Ok(changes)
}

fn restore_message(messages: &[Message], tree: &Tree, at: usize, target: &Target) -> Vec<Change> {
    let groups = MessageGroups::of(messages);
    let mut shown = vec![at];
    shown.extend(groups.code_of(at));
    let mut call_changes = Vec::new();
    // The model does not read a result without its call.
    for call in &groups.pairing[at].results {
        if let Some(caller) = groups.caller(at, call) {
            shown.push(caller);
            call_changes.extend(show_call(messages, caller, call));
        }
    }
    if let Some(call) = &target.call {
        call_changes.extend(show_call(messages, at, call));
        // If the call is visible, its result may be hidden on its own.
        if call_changes.is_empty() && !is_hidden(messages, tree, at) {
            shown.extend(groups.results(at, call));
        }
    }
    let mut changes = show_all(messages, tree, &shown);
    changes.append(&mut call_changes);
    changes
}

/// Returns the position of a target's message. Fails for a record that is not a message.
fn message_position(
    messages: &[Message],
    tree: &Tree,
    target: &Target,
) -> Result<usize, VerbError> {
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

/// Returns whether the target is a call that a revision hides.
fn is_call_hidden(messages: &[Message], at: usize, target: &Target) -> bool {
    let Some(call) = &target.call else {
        return false;
    };
    last_revision(messages, at, call) == Some(History::Exclude)
}

/// Returns the history that the last revision of a call sets.
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

/// Returns the change that shows a call that a revision hides.
fn show_call(messages: &[Message], at: usize, call: &str) -> Option<Change> {
    let is_hidden = last_revision(messages, at, call) == Some(History::Exclude);
    let target = Target::call(messages[at].id.clone(), call);
    is_hidden.then(|| Change::set_history(target, History::Include))
}

/// Returns the changes that show the hidden ones among some messages.
fn show_all(messages: &[Message], tree: &Tree, positions: &[usize]) -> Vec<Change> {
    let mut positions = positions.to_vec();
    positions.sort_unstable();
    positions.dedup();
    let mut changes = Vec::new();
    for at in positions {
        let message = &messages[at];
        if is_hidden_itself(message) {
            let target = Target::message(message.id.clone());
            changes.push(Change::set_history(target, visible_history(message)));
        }
        if tree.is_hidden(at) {
            changes.extend(hide_tombstones(messages, tree, at));
        }
    }
    changes
}

/// Returns tombstones for the tombstones that hide a message.
fn hide_tombstones(messages: &[Message], tree: &Tree, at: usize) -> Vec<Change> {
    let id = &messages[at].id;
    let mut changes = Vec::new();
    for (later, message) in messages.iter().enumerate().skip(at) {
        let Body::Tombstone(tombstone) = &message.body else {
            continue;
        };
        if tombstone.target == *id && !tree.is_hidden(later) {
            let body = Body::Tombstone(Tombstone {
                target: message.id.clone(),
                target_parent: message.parent_id.clone(),
            });
            changes.push(Change::Append(Box::new(Message::new("", body))));
        }
    }
    changes
}

/// Returns the history of a message once it is visible: its summary if it has one, else all of it.
pub(super) fn visible_history(message: &Message) -> History {
    if message.extra.get("summary").is_some() {
        History::Summary
    } else {
        History::Include
    }
}

/// Returns the change that hides a message.
pub(super) fn hide_message(message: &Message) -> Change {
    Change::set_history(Target::message(message.id.clone()), History::Exclude)
}
