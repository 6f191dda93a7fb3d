//! Which messages the model is to see, in order: the way from the newest message back to the first.

use std::collections::{HashMap, HashSet};

use crate::{Body, Message, Problem};

/// The effective chain of a conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chain<'a> {
    /// The messages, oldest first.
    pub messages: Vec<&'a Message>,
    /// Broken links and what else was found on the way.
    pub problems: Vec<Problem>,
}

/// Follows the parents from the last message of the main chain to its root.
///
/// Progress is nobody's parent and no leaf. An unknown parent, a repeated id and a circle are
/// problems, and what can be read is read: the chain then starts where the link broke.
pub fn chain(messages: &[Message]) -> Chain<'_> {
    let mut chain = Chain::default();
    let by_id = index(messages, &mut chain.problems);
    let mut seen = HashSet::new();
    let mut next = messages.iter().rev().find(|message| is_leaf(message));
    while let Some(message) = next {
        if !seen.insert(&*message.id) {
            let text = format!("message {} is its own ancestor", &*message.id);
            chain.problems.push(Problem::error("parent-cycle", text));
            break;
        }
        report_unsupported(message, &mut chain.problems);
        chain.messages.push(message);
        next = message.parent_id.as_ref().and_then(|parent| {
            let found = by_id.get(&**parent).copied();
            if found.is_none() {
                let text = format!("the parent of message {} is not there", &*message.id);
                chain.problems.push(Problem::error("unknown-parent", text));
            }
            found
        });
    }
    chain.messages.reverse();
    chain
}

fn is_leaf(message: &Message) -> bool {
    message.agent_id.is_none() && !matches!(message.body, Body::Progress(_))
}

/// Messages by name. Of a repeated id the first counts, as nothing is said twice on purpose.
fn index<'a>(
    messages: &'a [Message],
    problems: &mut Vec<Problem>,
) -> HashMap<&'a str, &'a Message> {
    let mut by_id = HashMap::with_capacity(messages.len());
    for message in messages {
        if by_id.contains_key(&*message.id) {
            let text = format!("message id {} is used twice; the first one counts", &*message.id);
            problems.push(Problem::error("duplicate-message-id", text));
        } else {
            by_id.insert(&*message.id, message);
        }
    }
    by_id
}

fn report_unsupported(message: &Message, problems: &mut Vec<Problem>) {
    if matches!(message.body, Body::CompactBoundary(_) | Body::Tombstone(_)) {
        let kind = message.body.type_name();
        let text = format!("a {kind} is in this conversation and is not honoured yet");
        problems.push(Problem::warning("unsupported-message", text));
    }
}
