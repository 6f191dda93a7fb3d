//! Selects the messages that one request sends. Nothing is modified. A call and its result go together, and so do code
//! and its output. The questions to answer are always sent.

use std::collections::HashSet;

use super::groups::MessageGroups;
use super::hide::{hide_changes, hide_message, visible_history};
use super::{Change, Target};
use crate::{Body, History, Message, MessageId};

/// Selects messages: the included ones, or all, minus the excluded ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// If not empty, only these messages and the questions are sent.
    pub include: Vec<Target>,
    /// These messages are not sent.
    pub exclude: Vec<Target>,
}

impl Choice {
    /// Returns whether all messages are selected.
    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }
}

/// Returns the changes of history with which a model reads just the selected messages.
///
/// `asked` are the messages that wait for an answer. They and everything after the first of them are sent unless they
/// are excluded. A hidden message is shown only if it is included by name.
///
/// ```
/// use analects_core::Message;
/// use analects_core::verbs::{Choice, Target, choose, with_history};
///
/// let messages = ["one", "two", "three"].map(|text| Message::user(text, text));
/// let choice = Choice { include: vec![Target::message("one")], ..Choice::default() };
/// let seen = with_history(messages.to_vec(), &choose(&messages, &choice, &["three".into()]));
/// let sent = seen.iter().filter(|message| message.why_not_sent().is_none());
/// assert_eq!(sent.map(|message| message.text()).collect::<Vec<_>>(), ["one", "three"]);
/// ```
pub fn choose(messages: &[Message], choice: &Choice, asked: &[MessageId]) -> Vec<Change> {
    let groups = MessageGroups::of(messages);
    let mut changes = Vec::new();
    if !choice.include.is_empty() {
        changes = include_only(messages, &groups, &choice.include, asked);
    }
    for target in &choice.exclude {
        if let Some(at) = groups.positions_of(&target.message).last() {
            changes.extend(hide_changes(messages, &groups, *at, target));
        }
    }
    changes
}

/// Returns the changes that leave only the included messages and the questions visible.
fn include_only(
    messages: &[Message],
    groups: &MessageGroups,
    include: &[Target],
    asked: &[MessageId],
) -> Vec<Change> {
    let included = groups_of(groups, include.iter().map(|target| &target.message));
    let asked = groups_of(groups, starting_at_first(messages, groups, asked));
    let mut changes = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if !can_be_chosen(message) {
            continue;
        }
        let group = groups.group[at];
        let is_hidden = message.history == History::Exclude;
        if included.contains(&group) {
            if is_hidden {
                let target = Target::message(message.id.clone());
                changes.push(Change::set_history(target, visible_history(message)));
            }
        } else if !asked.contains(&group) && !is_hidden {
            changes.push(hide_message(message));
        }
    }
    changes
}

/// Returns whether a selection applies to a message. Instructions, summaries and bookkeeping records always stay.
fn can_be_chosen(message: &Message) -> bool {
    match &message.body {
        Body::User(_)
        | Body::Assistant(_)
        | Body::Attachment(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_) => true,
        Body::System(_)
        | Body::Summary(_)
        | Body::CompactBoundary(_)
        | Body::Notification(_)
        | Body::Progress(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_) => false,
    }
}

/// Returns the groups of some messages.
fn groups_of<'a>(
    groups: &MessageGroups,
    ids: impl IntoIterator<Item = &'a MessageId>,
) -> HashSet<usize> {
    ids.into_iter()
        .flat_map(|id| groups.positions_of(id))
        .map(|at| groups.group[*at])
        .collect()
}

/// Iterates over the ids of all messages from the first of `ids` on.
fn starting_at_first<'a>(
    messages: &'a [Message],
    groups: &MessageGroups,
    ids: &[MessageId],
) -> impl Iterator<Item = &'a MessageId> {
    let first = ids
        .iter()
        .filter_map(|id| groups.positions_of(id).last())
        .min();
    let from = first.copied().unwrap_or(messages.len());
    messages[from..].iter().map(|message| &message.id)
}

#[cfg(test)]
mod tests {
    //! What is sent of a conversation with calls and code.

    use super::*;
    use crate::Json;
    use crate::verbs::with_history;

    fn conversation() -> Vec<Message> {
        [
            r#"{"type":"user","id":"1","content":"weather?"}"#,
            r#"{"type":"assistant","id":"2","content":[{"type":"text","text":"let me see"},{"type":"tool_use","id":"a","name":"w","input":{}},{"type":"tool_use","id":"b","name":"w","input":{}}]}"#,
            r#"{"type":"user","id":"3","content":[{"type":"tool_result","tool_use_id":"a","content":"sun"},{"type":"tool_result","tool_use_id":"b","content":"rain"}]}"#,
            r#"{"type":"user","id":"4","source":"code","content":"print(1)"}"#,
            r#"{"type":"attachment","id":"5","kind":"code_output","content":"stdout> 1"}"#,
            r#"{"type":"user","id":"6","content":"and now?"}"#,
            r#"{"type":"user","id":"7","history":"exclude","content":"PRIVATE"}"#,
            r#"{"type":"user","id":"8","content":"and then?"}"#,
        ]
        .iter()
        .map(|json| Message::from_json(json).unwrap())
        .collect()
    }

    fn sent(choice: &Choice) -> String {
        let messages = conversation();
        let changes = choose(&messages, choice, &["6".into(), "8".into()]);
        let seen = with_history(messages, &changes);
        let seen = seen
            .iter()
            .filter(|message| message.history != History::Exclude);
        seen.map(Message::to_json).collect::<Vec<_>>().join("\n")
    }

    fn without(target: Target) -> String {
        sent(&Choice {
            exclude: vec![target],
            ..Choice::default()
        })
    }

    fn with(target: Target) -> String {
        sent(&Choice {
            include: vec![target],
            ..Choice::default()
        })
    }

    #[test]
    fn a_call_and_its_result_go_together() {
        let seen = without(Target::call("2", "a"));
        assert!(
            !seen.contains("sun") && seen.contains("rain") && seen.contains("see"),
            "{seen}"
        );
        assert_eq!(seen.matches("\"type\":\"tool_use\"").count(), 1, "{seen}");
        let seen = without(Target::message("2"));
        assert!(
            !seen.contains("sun") && !seen.contains("rain") && !seen.contains("see"),
            "{seen}"
        );
        let seen = without(Target::message("3"));
        assert!(!seen.contains("rain") && !seen.contains("tool_use") && seen.contains("see"));
    }

    #[test]
    fn code_goes_with_what_it_printed() {
        assert!(!without(Target::message("4")).contains("stdout"));
        assert!(without(Target::message("5")).contains("print"));
    }

    #[test]
    fn only_what_is_named_and_what_is_asked_is_sent() {
        let seen = with(Target::call("2", "a"));
        assert!(seen.contains("sun") && seen.contains("see"), "{seen}");
        for text in ["and now?", "and then?"] {
            assert!(seen.contains(text), "{seen}");
        }
        for text in ["weather?", "print", "PRIVATE"] {
            assert!(!seen.contains(text), "{seen}");
        }
        assert!(with(Target::message("7")).contains("PRIVATE"));
        let both = Choice {
            include: vec![Target::message("1"), Target::message("2")],
            exclude: vec![Target::message("2")],
        };
        assert!(!sent(&both).contains("see") && sent(&both).contains("weather?"));
    }
}
