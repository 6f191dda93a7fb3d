//! Which result belongs to which call. Results of no call are left out here, so that whoever trims sees
//! only what can be sent.

use std::collections::{HashMap, VecDeque};

use analects_core::{Block, Content, Role};

use super::draft::{Draft, Kind};

/// Calls of one id that wait for their results, by the places of their items.
#[derive(Debug, Default)]
struct Waiting {
    calls: VecDeque<usize>,
    /// Whether a result came since the last of them.
    answered: bool,
}

/// Fills in who answers whom, and takes out what answers nobody.
pub(super) fn pair(draft: &mut Draft) {
    let mut waiting: HashMap<String, Waiting> = HashMap::new();
    for at in 0..draft.items.len() {
        let item = &mut draft.items[at];
        let Content::Blocks(blocks) = &mut item.content else { continue };
        let mut answers = Vec::new();
        let role = item.role;
        blocks.retain(|block| match block {
            Block::ToolUse(_) if role != Role::Assistant => false,
            Block::ToolUse(call) => {
                let waiting = waiting.entry(call.id.clone()).or_default();
                if waiting.answered {
                    *waiting = Waiting::default();
                }
                waiting.calls.push_back(at);
                true
            }
            Block::ToolResult(result) => {
                let found = waiting.get_mut(&result.tool_use_id).and_then(|waiting| {
                    waiting.answered = true;
                    waiting.calls.pop_front()
                });
                answers.extend(found);
                found.is_some()
            }
            Block::Text(_)
            | Block::Image(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::Document(_)
            | Block::Other(_) => true,
        });
        item.answers = answers;
    }
    leave_out_empty(draft);
}

/// Items of which nothing is left go, and the places of the others move.
fn leave_out_empty(draft: &mut Draft) {
    if !draft.items.iter().any(|item| item.content.is_empty()) {
        return;
    }
    let mut places = Vec::with_capacity(draft.items.len());
    let mut kept = Vec::with_capacity(draft.items.len());
    for item in std::mem::take(&mut draft.items) {
        places.push(kept.len());
        if item.content.is_empty() {
            draft.left_out[item.at] = Some(match item.kind {
                Kind::Answer => "empty",
                _ => "a result without its call",
            });
        } else {
            kept.push(item);
        }
    }
    for item in &mut kept {
        for place in &mut item.answers {
            *place = places[*place];
        }
    }
    draft.items = kept;
}
