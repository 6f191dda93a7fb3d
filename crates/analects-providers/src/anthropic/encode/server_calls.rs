//! Pairs the calls of tools that the provider runs with their results.

use std::collections::BTreeSet;

use analects_core::RawMap;

use super::message::{AnthropicMessage, block_type};
use crate::decoding::{object_member, string_member};

/// Calls of the provider's tools without a result so far. A result usually follows in the same
/// message. But if a tool of the provider called one of ours, its result waits for ours, and comes
/// in a later message.
#[derive(Debug, Default)]
pub(super) struct ServerCalls {
    waiting: BTreeSet<String>,
}

impl ServerCalls {
    /// Removes calls without results from the model's last message, and results without calls. Only
    /// a message that ends the conversation (`is_final`) may end in a call, because the model may
    /// have paused there. Calls of `earlier` messages that get no result any more are removed too.
    /// Returns whether anything was removed.
    pub fn pair(
        &mut self,
        earlier: &mut [AnthropicMessage],
        last: &mut AnthropicMessage,
        is_final: bool,
    ) -> bool {
        let before = std::mem::take(&mut self.waiting);
        let mut pairing = Pairing {
            made: before.clone(),
            answered: BTreeSet::new(),
        };
        let count = last.content.len();
        last.content.retain(|block| pairing.keeps(block));
        self.waiting = pairing.waiting_calls(last);
        let lost = if is_final {
            BTreeSet::new()
        } else {
            pairing.lost_calls(&self.waiting)
        };
        let mut has_removed = last.content.len() < count;
        if !before.is_disjoint(&lost) {
            for message in earlier {
                has_removed |= remove_calls(message, |id| lost.contains(id));
                message.remove_trailing_thinking();
            }
        }
        let made = &pairing.made;
        has_removed | remove_calls(last, |id| lost.contains(id) || !made.contains(id))
    }
}

/// The calls and results up to a block of the last message.
struct Pairing {
    made: BTreeSet<String>,
    answered: BTreeSet<String>,
}

impl Pairing {
    /// Notes a call or a result. Returns `false` for a repeated call, and for a result that is
    /// repeated or has no call.
    fn keeps(&mut self, block: &RawMap) -> bool {
        if is_server_result(block) {
            let id = id_member(block, "tool_use_id");
            return self.made.contains(&id) && self.answered.insert(id);
        }
        if is_server_call(block) {
            return self.made.insert(id_member(block, "id"));
        }
        true
    }

    /// The calls without a result whose tools called ours.
    fn waiting_calls(&self, last: &AnthropicMessage) -> BTreeSet<String> {
        let callers = last.content.iter().filter_map(caller);
        callers
            .filter(|id| self.made.contains(id) && !self.answered.contains(id))
            .collect()
    }

    /// The calls without a result that do not wait for one.
    fn lost_calls(&self, waiting: &BTreeSet<String>) -> BTreeSet<String> {
        let unanswered = self.made.difference(&self.answered);
        unanswered
            .filter(|id| !waiting.contains(*id))
            .cloned()
            .collect()
    }
}

/// Removes calls of the provider's tools, and the note in our calls that these made them. Returns
/// whether a call was removed.
fn remove_calls(message: &mut AnthropicMessage, is_removed: impl Fn(&str) -> bool) -> bool {
    let count = message.content.len();
    message
        .content
        .retain(|block| !is_server_call(block) || !is_removed(&id_member(block, "id")));
    for block in &mut message.content {
        if caller(block).is_some_and(|id| is_removed(&id)) {
            block.remove("caller");
        }
    }
    message.content.len() < count
}

/// Whether a block is the call of a tool that the provider runs.
fn is_server_call(block: &RawMap) -> bool {
    matches!(
        block_type(block).as_str(),
        "server_tool_use" | "mcp_tool_use"
    )
}

/// Whether a block is the result of such a call. Each of these tools has its own type of result.
fn is_server_result(block: &RawMap) -> bool {
    block_type(block).ends_with("_tool_result")
}

/// The id of the provider's tool call that made this call.
fn caller(block: &RawMap) -> Option<String> {
    string_member(&object_member(block, "caller")?, "tool_id")
}

/// The id in a member; empty if there is none.
fn id_member(block: &RawMap, key: &str) -> String {
    string_member(block, key).unwrap_or_default()
}
