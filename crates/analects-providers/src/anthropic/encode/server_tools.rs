//! Calls of the provider's own tools, which it answers itself: in the same turn, or later, where its
//! tool called one of ours and waits for that.

use std::collections::BTreeSet;

use analects_core::RawMap;

use super::turns::{Message, kind};
use crate::anthropic::wire::word;
use crate::outgoing::json::without;

/// Calls that wait for tools of ours; their results come in a later turn.
#[derive(Debug, Default)]
pub(super) struct Waiting(BTreeSet<String>);

fn is_call(block: &RawMap) -> bool {
    matches!(kind(block).as_str(), "server_tool_use" | "mcp_tool_use")
}

fn is_result(block: &RawMap) -> bool {
    kind(block).ends_with("_tool_result")
}

/// The call of a server's tool that made this call.
fn caller(block: &RawMap) -> Option<String> {
    word(&block.get("caller")?.as_object()?, "tool_id")
}

fn id(block: &RawMap, key: &str) -> String {
    word(block, key).unwrap_or_default()
}

impl Waiting {
    /// Drops calls without their results from the model's `last` message, and results without their
    /// calls; only a turn that was `paused` may end in a call. Calls of those `before` that will never
    /// be answered go, too. Says whether anything went.
    pub fn pair(&mut self, before: &mut [Message], last: &mut Message, paused: bool) -> bool {
        let earlier = std::mem::take(&mut self.0);
        let (mut made, mut answered) = (earlier.clone(), BTreeSet::new());
        let count = last.said.len();
        last.said.retain(|block| {
            if is_result(block) {
                let call = id(block, "tool_use_id");
                return made.contains(&call) && answered.insert(call);
            }
            !is_call(block) || made.insert(id(block, "id"))
        });
        let callers = last.said.iter().filter_map(caller);
        self.0 = callers.filter(|id| made.contains(id) && !answered.contains(id)).collect();
        let lost: BTreeSet<String> = match paused {
            true => BTreeSet::new(),
            false => made
                .iter()
                .filter(|id| !answered.contains(*id) && !self.0.contains(*id))
                .cloned()
                .collect(),
        };
        let mut went = last.said.len() < count;
        for message in before.iter_mut().filter(|_| !earlier.is_disjoint(&lost)) {
            went |= forget(message, |id| lost.contains(id));
            message.drop_last_thoughts();
        }
        went | forget(last, |id| lost.contains(id) || !made.contains(id))
    }
}

/// Drops the calls that are `gone`, and from calls of ours that they were made by these.
fn forget(message: &mut Message, gone: impl Fn(&str) -> bool) -> bool {
    let count = message.said.len();
    message.said.retain(|block| !is_call(block) || !gone(&id(block, "id")));
    for block in &mut message.said {
        if caller(block).is_some_and(|id| gone(&id)) {
            *block = without(block, "caller");
        }
    }
    message.said.len() < count
}
