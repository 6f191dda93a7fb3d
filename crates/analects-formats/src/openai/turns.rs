//! The calls of an answer, and the messages with their results, as the API orders them.

use analects_core::{Raw, RawMap};

use super::decode::function_call_id;
use crate::requests::{NO_RESULT, Piece};

/// The length of the longest id of a call.
const LONGEST_ID: usize = 40;

/// Returns what a message is: something said, or the result of a call.
pub(super) fn piece(fields: RawMap) -> Piece {
    let role = fields.string("role").unwrap_or_default();
    let word = |key| fields.string(key).unwrap_or_default();
    match role.as_str() {
        "tool" => Piece::Result {
            call: word("tool_call_id"),
            fields,
        },
        "function" => Piece::Result {
            call: function_call_id(&word("name")),
            fields,
        },
        _ => Piece::Said {
            calls: call_ids(&fields),
            fields,
        },
    }
}

/// Returns the ids of the calls of an answer.
fn call_ids(fields: &RawMap) -> Vec<String> {
    let function = fields.get("function_call").and_then(Raw::as_object);
    let function = function.map(|call| function_call_id(&call.string("name").unwrap_or_default()));
    let calls = fields.get("tool_calls").and_then(Raw::as_array);
    let ids = calls.unwrap_or_default().into_iter().map(|call| {
        let call = call.as_object().unwrap_or_default();
        call.string("id").unwrap_or_default()
    });
    ids.chain(function).collect()
}

/// Returns the nearest id that the API accepts.
pub(super) fn fit_call_id(id: &str) -> String {
    match id.chars().take(LONGEST_ID).collect::<String>() {
        id if id.is_empty() => "call".to_string(),
        id => id,
    }
}

/// Replaces the id of a call. A call without an id goes by its name.
pub(super) fn set_call_id(fields: &mut RawMap, position: usize, id: &str) {
    let Some(mut calls) = fields.get("tool_calls").and_then(Raw::as_array) else {
        return;
    };
    let Some(call) = calls.get_mut(position) else {
        return;
    };
    let mut changed = call.as_object().unwrap_or_default();
    changed.set("id", Raw::string(id));
    *call = changed.to_raw();
    fields.set("tool_calls", Raw::array(&calls));
}

/// Replaces the id of the call that a result belongs to.
pub(super) fn set_result_call(fields: &mut RawMap, id: &str) {
    if fields.get("tool_call_id").is_some() {
        fields.set("tool_call_id", Raw::string(id));
    }
}

/// Returns the result of a call that has none.
pub(super) fn missing_result(id: &str) -> RawMap {
    RawMap::from([
        ("role", Raw::string("tool")),
        ("tool_call_id", Raw::string(id)),
        ("content", Raw::string(NO_RESULT)),
    ])
}
