//! What the model reads of messages after changes of what they say, or of what is hidden.

use std::collections::{HashMap, HashSet};

use super::families::Families;
use super::{Change, Target};
use crate::{Assistant, Block, Body, Content, History, Message, Revision, User};

/// The messages as the model is to see them: a target says what its last revision says, a call that is hidden goes with
/// its result, and code with what it printed. The revisions themselves stay where they are.
///
/// ```
/// use analects_core::verbs::revised;
/// use analects_core::{Body, Message, Revision};
///
/// let content = Some("Good morning".into());
/// let revision = Revision { target: "1".into(), content, ..Revision::default() };
/// let messages = vec![Message::user("1", "Hello"), Message::new("2", Body::Revision(revision))];
/// assert_eq!(revised(messages)[0].text(), "Good morning");
/// ```
pub fn revised(messages: Vec<Message>) -> Vec<Message> {
    let may_hide = |message: &Message| {
        message.history == History::Exclude || matches!(message.body, Body::Revision(_))
    };
    if !messages.iter().any(may_hide) {
        return messages;
    }
    let (messages, hidden_calls) = revise_all(messages);
    without_calls(messages, &hidden_calls)
}

/// The same for those who change a conversation: calls that are hidden, and their results, stay in their messages.
pub fn revised_in_full(messages: Vec<Message>) -> Vec<Message> {
    revise_all(messages).0
}

fn revise_all(mut messages: Vec<Message>) -> (Vec<Message>, HiddenCalls) {
    let mut hidden_calls = HashSet::new();
    let mut latest = HashMap::new();
    for at in 0..messages.len() {
        if let Body::Revision(revision) = &messages[at].body {
            let revision = revision.clone();
            if let Some(target) = latest.get(&revision.target).copied() {
                revise(&mut messages[target], target, revision, &mut hidden_calls);
            }
        }
        latest.insert(messages[at].id.clone(), at);
    }
    (messages, hidden_calls)
}

/// The calls that revisions hide.
pub fn hidden_calls(messages: &[Message]) -> HashSet<Target> {
    let mut hidden = HashSet::new();
    for message in messages {
        let Body::Revision(revision) = &message.body else { continue };
        let (Some(call), Some(history)) = (&revision.call, revision.history) else { continue };
        let target = Target::call(revision.target.clone(), call);
        if history == History::Exclude {
            hidden.insert(target);
        } else {
            hidden.remove(&target);
        }
    }
    hidden
}

/// The calls that are hidden, by the place of their message.
type HiddenCalls = HashSet<(usize, String)>;

fn revise(message: &mut Message, at: usize, revision: Revision, hidden_calls: &mut HiddenCalls) {
    if let Some(content) = revision.content {
        message.body.set_content(content);
    }
    match (revision.history, revision.call) {
        (Some(history), None) => message.history = history,
        (Some(History::Exclude), Some(call)) => _ = hidden_calls.insert((at, call)),
        (Some(_), Some(call)) => _ = hidden_calls.remove(&(at, call)),
        (None, _) => {}
    }
}

/// The messages as they are seen after changes of what is hidden. A call that is hidden goes with its result.
pub fn with_history(mut messages: Vec<Message>, changes: &[Change]) -> Vec<Message> {
    let families = Families::of(&messages);
    let mut hidden_calls = HashSet::new();
    for change in changes {
        let Change::SetHistory { target: Target { message, call }, history } = change else {
            continue;
        };
        for at in families.places_of(message) {
            match (call, history) {
                (None, history) => messages[*at].history = *history,
                (Some(call), History::Exclude) => _ = hidden_calls.insert((*at, call.clone())),
                (Some(call), History::Include | History::Summary) => {
                    hidden_calls.remove(&(*at, call.clone()));
                }
            }
        }
    }
    without_calls(messages, &hidden_calls)
}

/// The messages without what is not seen because something else is hidden: calls and their results, what code printed.
fn without_calls(mut messages: Vec<Message>, hidden_calls: &HiddenCalls) -> Vec<Message> {
    let families = Families::of(&messages);
    let is_hidden: Vec<bool> =
        messages.iter().map(|message| message.history == History::Exclude).collect();
    for (at, message) in messages.iter_mut().enumerate() {
        if families.code_of(at).is_some_and(|code| is_hidden[code]) {
            message.history = History::Exclude;
        }
        let is_call_hidden = |call: &str| hidden_calls.contains(&(at, call.to_string()));
        let is_result_hidden = |call: &str| {
            let caller = families.caller(at, call);
            caller.is_some_and(|caller| {
                is_hidden[caller] || hidden_calls.contains(&(caller, call.to_string()))
            })
        };
        match &mut message.body {
            Body::User(User { content: Content::Blocks(blocks), .. })
            | Body::Assistant(Assistant { content: Content::Blocks(blocks), .. }) => {
                let before = blocks.len();
                blocks.retain(|block| match block {
                    Block::ToolUse(call) => !is_call_hidden(&call.id),
                    Block::ToolResult(result) => !is_result_hidden(&result.tool_use_id),
                    Block::Text(_)
                    | Block::Image(_)
                    | Block::Thinking(_)
                    | Block::RedactedThinking(_)
                    | Block::Document(_)
                    | Block::Other(_) => true,
                });
                if blocks.is_empty() && before > 0 {
                    message.history = History::Exclude;
                }
            }
            Body::ToolUse(call) => {
                if is_call_hidden(&call.id) {
                    message.history = History::Exclude;
                }
            }
            Body::ToolResult(result) => {
                if is_result_hidden(&result.tool_use_id) {
                    message.history = History::Exclude;
                }
            }
            Body::System(_)
            | Body::User(_)
            | Body::Assistant(_)
            | Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::Summary(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => {}
        }
    }
    messages
}
