//! Turns as the API orders them: the roles alternate, beginning with the user. Results come first in a turn of the user,
//! and a turn of the model does not end with a thought.

use std::collections::HashSet;

use analects_core::{Raw, RawMap};

use super::encode::{is_server_call, is_server_result};
use crate::requests::{NO_RESULT, OrderChange, Piece, PlacedItem, parts_of, plain_word};

/// What the user says before a conversation that the model began.
const OPENING: &str = "(The conversation begins with your words.)";

/// Takes a message apart: results of calls are pieces of their own.
pub(super) fn pieces(mut item: RawMap) -> Vec<Piece> {
    let is_answer = role(&item) == "assistant";
    if !is_answer {
        // The API has no other roles. A prompt in the middle is said by the user.
        item.set("role", Raw::string("user"));
    }
    let Some(blocks) = item.get("content").and_then(Raw::as_array) else {
        let calls = Vec::new();
        return vec![Piece::Said {
            fields: item,
            calls,
        }];
    };
    let mut pieces = Vec::new();
    let mut said = Vec::new();
    let mut calls = Vec::new();
    for block in blocks {
        let word = |key| block_word(&block, key);
        match block.kind().unwrap_or_default().as_str() {
            "tool_result" if !is_answer => pieces.push(Piece::Result {
                call: word("tool_use_id"),
                fields: block.as_object().unwrap_or_default(),
            }),
            kind => {
                if kind == "tool_use" {
                    calls.push(word("id"));
                }
                said.push(block);
            }
        }
    }
    if !said.is_empty() {
        item.set("content", Raw::array(&said));
        pieces.push(Piece::Said {
            fields: item,
            calls,
        });
    }
    pieces
}

/// Returns the role of a message.
fn role(item: &RawMap) -> String {
    item.string("role").unwrap_or_default()
}

/// Returns a string of a block; empty if there is none.
fn block_word(block: &Raw, key: &str) -> String {
    let fields = block.as_object().unwrap_or_default();
    fields.string(key).unwrap_or_default()
}

/// Returns whether two messages are of one role.
pub(super) fn are_one(left: &RawMap, right: &RawMap) -> bool {
    role(left) == role(right)
}

/// Adds what is said in `more` to a message of the same role.
pub(super) fn join(fields: &mut RawMap, more: RawMap) {
    let mut blocks = parts_of(fields.get("content"));
    blocks.extend(parts_of(more.get("content")));
    fields.set("content", Raw::array(&blocks));
}

/// Returns the nearest id of a call that the API accepts.
pub(super) fn fit_call_id(id: &str) -> String {
    match plain_word(id, usize::MAX) {
        id if id.is_empty() => "call".to_string(),
        id => id,
    }
}

/// Replaces the id of a call.
pub(super) fn set_call_id(fields: &mut RawMap, position: usize, id: &str) {
    let mut blocks = parts_of(fields.get("content"));
    let mut calls = blocks
        .iter_mut()
        .filter(|block| block.kind().as_deref() == Some("tool_use"));
    let Some(call) = calls.nth(position) else {
        return;
    };
    let mut changed = call.as_object().unwrap_or_default();
    changed.set("id", Raw::string(id));
    *call = changed.to_raw();
    fields.set("content", Raw::array(&blocks));
}

/// Returns the result of a call that has none.
pub(super) fn missing_result(id: &str) -> RawMap {
    RawMap::from([
        ("type", Raw::string("tool_result")),
        ("tool_use_id", Raw::string(id)),
        ("content", Raw::string(NO_RESULT)),
        ("is_error", true.into()),
    ])
}

/// Puts pieces together as turns.
pub(super) fn assemble(
    pieces: Vec<(usize, Piece)>,
    changes: &mut Vec<OrderChange>,
) -> Vec<PlacedItem> {
    let mut turns: Vec<PlacedItem> = Vec::new();
    let mut pieces = pieces.into_iter().peekable();
    while let Some((at, piece)) = pieces.next() {
        let known_changes = changes.len();
        let fields = match piece {
            Piece::Said { mut fields, .. } => {
                if role(&fields) == "assistant" {
                    let is_last = pieces.peek().is_none();
                    fix_answer(at, &mut fields, is_last, changes);
                }
                fields
            }
            Piece::Result { fields, .. } => user_turn(Raw::array(&[fields.to_raw()])),
        };
        let is_said = push_turn(at, fields, &mut turns, changes);
        if !is_said && changes.len() == known_changes {
            changes.push(OrderChange {
                at: Some(at),
                what: "message",
                why: "there is no place for what it says; it is left out",
            });
        }
    }
    if turns
        .first()
        .is_some_and(|(_, first)| role(first) == "assistant")
    {
        turns.insert(0, (turns[0].0, user_turn(Raw::string(OPENING))));
        changes.push(OrderChange {
            at: None,
            what: "grouping",
            why: "the model spoke first, so a line of the user is added before it",
        });
    }
    turns
}

/// Returns a turn of the user.
fn user_turn(content: Raw) -> RawMap {
    RawMap::from([("role", Raw::string("user")), ("content", content)])
}

/// Adds a message to the last turn if it is of the same role, else as a new one. False for a message without content,
/// which is left out.
fn push_turn(
    at: usize,
    fields: RawMap,
    turns: &mut Vec<PlacedItem>,
    changes: &mut Vec<OrderChange>,
) -> bool {
    let content = fields.get("content");
    if content.is_none_or(|content| content.as_str() == "[]") {
        return false;
    }
    match turns.last_mut() {
        Some((first, last)) if are_one(last, &fields) => {
            join(last, fields);
            if *first != at {
                changes.push(OrderChange {
                    at: Some(at),
                    what: "grouping",
                    why: "roles take turns, so messages of one role become one",
                });
            }
        }
        _ => turns.push((at, fields)),
    }
    true
}

/// Removes from a turn of the model what the API refuses: halves of calls that the provider runs, thoughts at the end,
/// and white space behind the last words of the conversation.
fn fix_answer(at: usize, fields: &mut RawMap, is_last: bool, changes: &mut Vec<OrderChange>) {
    let mut change = |what, why| {
        let at = Some(at);
        changes.push(OrderChange { at, what, why });
    };
    if let Some(mut blocks) = fields.get("content").and_then(Raw::as_array) {
        let count = blocks.len();
        remove_half_calls(&mut blocks, is_last);
        if blocks.len() < count {
            change("block server_tool_use", "a call or its result is missing");
        }
        while let Some(thought) = blocks.pop_if(|block| is_thought(block)) {
            let is_readable = thought.kind().as_deref() == Some("thinking");
            let what = if is_readable {
                "thinking"
            } else {
                "redacted_thinking"
            };
            change(what, "nothing follows it");
        }
        if blocks.len() < count {
            fields.set("content", Raw::array(&blocks));
        }
    }
    if is_last && trim_end(fields) {
        change("spacing", "white space at the end of the last answer");
    }
}

/// Returns whether a block is a thought.
fn is_thought(block: &Raw) -> bool {
    let kind = block.kind().unwrap_or_default();
    matches!(kind.as_str(), "thinking" | "redacted_thinking")
}

/// Removes calls of the provider's tools without a result, and results without a call. The last turn may have been
/// paused at a call; and a tool that called one of ours waits for it.
fn remove_half_calls(blocks: &mut Vec<Raw>, is_last: bool) {
    let is_call = |block: &Raw| is_server_call(&block.kind().unwrap_or_default());
    let is_result = |block: &Raw| is_server_result(&block.kind().unwrap_or_default());
    let answered: HashSet<String> = blocks
        .iter()
        .filter(|block| is_result(block))
        .map(|block| block_word(block, "tool_use_id"))
        .collect();
    let mut open: HashSet<String> = HashSet::new();
    let mut made: HashSet<String> = HashSet::new();
    blocks.retain(|block| {
        if is_call(block) {
            let id = block_word(block, "id");
            let is_kept = is_last || answered.contains(&id);
            let is_new = made.insert(id.clone());
            return is_kept && is_new && open.insert(id);
        }
        !is_result(block) || open.remove(&block_word(block, "tool_use_id"))
    });
}

/// Removes white space at the end of a message. Returns whether there was any.
fn trim_end(fields: &mut RawMap) -> bool {
    let trimmed = |text: String| {
        let end = text.trim_end();
        (end.len() < text.len()).then(|| Raw::string(end))
    };
    if let Some(text) = fields.string("content") {
        return trimmed(text)
            .map(|text| fields.set("content", text))
            .is_some();
    }
    let mut blocks = parts_of(fields.get("content"));
    let Some(last) = blocks.last_mut() else {
        return false;
    };
    let mut block = last.as_object().unwrap_or_default();
    let Some(text) = block.string("text").and_then(trimmed) else {
        return false;
    };
    block.set("text", text);
    *last = block.to_raw();
    fields.set("content", Raw::array(&blocks));
    true
}
