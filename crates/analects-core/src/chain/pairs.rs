//! Matches tool calls with their results and reports leftovers. Nothing is repaired here;
//! [`Chain::sendable`](super::Chain::sendable) does that before sending.

use std::collections::{HashMap, HashSet};

use super::resolve::display_name;
use crate::{Block, Body, Content, Message, Problem, Role};

/// The calls and results in a message, and whether it is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said {
    /// The ids of its calls.
    pub calls: Vec<String>,
    /// The ids of the calls that its results answer.
    pub results: Vec<String>,
    /// Whether it should have content and does not.
    pub is_empty: bool,
    /// Whether it holds results and nothing else.
    pub is_only_results: bool,
    /// Whether the user says it. Only until somebody else speaks, a call can have further results.
    pub is_of_user: bool,
}

impl Said {
    /// Collects the calls and results of a message.
    pub fn of(message: &Message) -> Said {
        let mut said = Said {
            is_of_user: message.role() == Role::User,
            ..Said::default()
        };
        match &message.body {
            Body::ToolUse(call) => said.calls.push(call.id.clone()),
            Body::ToolResult(result) => {
                said.results.push(result.tool_use_id.clone());
                said.is_only_results = true;
            }
            Body::User(_) | Body::Assistant(_) | Body::System(_) => {
                let content = message.body.content();
                said.is_empty =
                    !message.is_api_error_message && content.is_none_or(Content::is_empty);
                said.add_content(content);
            }
            Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::Summary(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => {}
        }
        said
    }

    fn add_content(&mut self, content: Option<&Content>) {
        let Some(Content::Blocks(blocks)) = content else {
            return;
        };
        self.is_only_results = !blocks.is_empty();
        for block in blocks {
            if let Block::ToolResult(result) = block {
                self.results.push(result.tool_use_id.clone());
                continue;
            }
            self.is_only_results = false;
            if let Block::ToolUse(call) = block {
                self.calls.push(call.id.clone());
            }
        }
    }
}

/// A call or a result without its counterpart, or an empty message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unpaired {
    /// The position of the message.
    pub at: usize,
    /// What the message lacks.
    pub what: Lack,
}

/// What a message lacks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// A call of this id has no result.
    Result(String),
    /// A result has no call of this id that waits for it.
    Call(String),
    /// The message has no content.
    Content,
}

impl Unpaired {
    /// Describes the leftover as a problem.
    pub fn problem(&self) -> Problem {
        match &self.what {
            Lack::Result(id) => {
                let text = format!("call {} has no result", display_name(id));
                let hint = "when the conversation is sent, a result that says so is added";
                Problem::warning("call-without-result", text).hint(hint)
            }
            Lack::Call(id) => {
                let text = format!(
                    "no call {} before this result waits for one",
                    display_name(id)
                );
                Problem::warning("result-without-call", text).hint("it is kept, and not sent")
            }
            Lack::Content => Problem::warning("empty-content", "this message says nothing")
                .hint("it is not sent"),
        }
    }
}

/// Matches the calls and results of messages in order.
#[derive(Debug, Default)]
pub struct Pairs {
    /// The positions of calls without a result so far, by call id.
    open_calls: HashMap<String, usize>,
    /// The calls that got a result since somebody other than the user spoke.
    answered: HashSet<String>,
    unpaired: Vec<Unpaired>,
}

impl Pairs {
    /// Adds the message at a position.
    pub fn push(&mut self, at: usize, said: &Said) {
        if !said.is_of_user && !self.answered.is_empty() {
            self.answered = HashSet::new();
        }
        for id in &said.calls {
            // A repeated id is another call.
            if let Some(earlier) = self.open_calls.insert(id.clone(), at) {
                self.add(earlier, Lack::Result(id.clone()));
            }
        }
        for id in &said.results {
            if self.open_calls.remove(id).is_some() {
                self.answered.insert(id.clone());
            } else if !self.answered.contains(id) {
                self.add(at, Lack::Call(id.clone()));
            }
        }
        if said.is_empty {
            self.add(at, Lack::Content);
        }
    }

    fn add(&mut self, at: usize, what: Lack) {
        self.unpaired.push(Unpaired { at, what });
    }

    /// Returns the leftovers in the order of the messages.
    pub fn finish(mut self) -> Vec<Unpaired> {
        for (id, at) in std::mem::take(&mut self.open_calls) {
            self.add(at, Lack::Result(id));
        }
        self.unpaired.sort();
        self.unpaired
    }
}
