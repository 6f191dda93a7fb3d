//! Changes of a record's JSON in place: only the values that change get other bytes.

use std::ops::Range;

use analects_core::Raw;
use serde_json::value::RawValue;

use super::facts::result_in;
use super::{AddedResult, RecordChange};
use crate::claude_code::record::RecordFields;

/// The fields of a call's record that the record of its result repeats.
const REPEATED_FIELDS: [&str; 9] = [
    "isSidechain",
    "userType",
    "entrypoint",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "slug",
    "agentId",
];

/// What a result says that a repair adds.
const INTERRUPTED: &str = "The call was interrupted; there is no result.";

/// Another value in a text.
struct Edit {
    range: Range<usize>,
    value: String,
}

/// Returns a record with its changes; `None` if it is left out.
pub(super) fn change_record(json: &str, change: &RecordChange) -> Option<String> {
    if change.is_left_out {
        return None;
    }
    let Some(fields) = RecordFields::parse(json) else {
        return Some(json.to_string());
    };
    let mut edits = Vec::new();
    if let (Some(id), Some(old)) = (&change.id, fields.get("uuid")) {
        let value = Raw::string(id).to_string();
        edits.push(Edit::of(json, old, value));
    }
    if let (Some(parent), Some(old)) = (&change.parent, fields.get("parentUuid")) {
        let value = parent
            .as_ref()
            .map_or("null".to_string(), |id| Raw::string(id).to_string());
        edits.push(Edit::of(json, old, value));
    }
    if !change.orphans.is_empty() {
        edits.extend(without_results(json, &fields, &change.orphans));
    }
    edits.sort_by_key(|edit| edit.range.start);
    let mut changed = json.to_string();
    for edit in edits.into_iter().rev() {
        changed.replace_range(edit.range, &edit.value);
    }
    Some(changed)
}

impl Edit {
    /// Replaces a value of a text by another one.
    fn of(text: &str, old: &RawValue, value: String) -> Edit {
        let start = old.get().as_ptr().addr() - text.as_ptr().addr();
        Edit {
            range: start..start + old.get().len(),
            value,
        }
    }
}

/// Leaves the results of these calls out of the content of a record.
fn without_results(json: &str, fields: &RecordFields<'_>, calls: &[String]) -> Option<Edit> {
    let message = fields.object("message")?;
    let content = message.get("content")?;
    let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
    let mut kept = Vec::new();
    for block in blocks {
        let is_orphan = result_in(block).is_some_and(|call| calls.contains(&call));
        if !is_orphan {
            kept.push(block.get());
        }
    }
    let value = format!("[{}]", kept.join(","));
    Some(Edit::of(json, content, value))
}

/// Returns the record of a result that says that its call was interrupted. `json` is the record with the call.
pub(super) fn result_record(json: &str, result: &AddedResult) -> String {
    let fields = RecordFields::parse(json).unwrap_or_default();
    let mut record = format!("{{\"parentUuid\":{}", Raw::string(&result.parent));
    for key in REPEATED_FIELDS {
        if let Some(value) = fields.get(key) {
            record += &format!(",\"{key}\":{}", value.get());
        }
    }
    let text = Raw::string(INTERRUPTED);
    let call = Raw::string(&result.call);
    record += &format!(
        ",\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\
         \"content\":{text},\"is_error\":true,\"tool_use_id\":{call}}}]}},\"uuid\":{}",
        Raw::string(&result.id)
    );
    // It was interrupted at some time after the call, and nobody knows when.
    if let Some(time) = fields.get("timestamp") {
        record += &format!(",\"timestamp\":{}", time.get());
    }
    record + "}"
}
