//! The model's earlier thinking, and other items of the Responses API, in the form in which they go
//! back to the API that made them.

use analects_core::{Raw, RawMap, Thinking, replace_lone_surrogates};

use crate::decoding::non_empty_string;

/// The `reasoning_details` that some servers of Chat Completions send with their thinking.
pub(crate) fn reasoning_details(thinking: &Thinking) -> Option<Vec<Raw>> {
    thinking.extra.get("reasoning_details")?.as_array()
}

/// Restores the item of the Responses API that a block of thinking was. Returns `None` for thinking
/// of other APIs, and for thinking without encrypted content: the item's id alone means nothing to
/// a server that stores nothing.
pub(crate) fn reasoning_item(thinking: &Thinking) -> Option<RawMap> {
    let encrypted = thinking.signature.as_ref()?;
    let item = replace_lone_surrogates(thinking.extra.get("item")?).as_object()?;
    let id = item.get("id").filter(|id| non_empty_string(id).is_some())?;
    let mut out = RawMap::from([
        ("type", Raw::string("reasoning")),
        ("id", id.clone()),
        ("summary", summary(&item, thinking)),
        ("encrypted_content", Raw::string(encrypted)),
    ]);
    for (key, value) in item.iter() {
        if !is_written_first(key) {
            out.push_raw(key.clone(), value.clone());
        }
    }
    Some(out)
}

/// Whether [`reasoning_item`] writes a field before the item's other ones.
fn is_written_first(key: &Raw) -> bool {
    matches!(
        key.as_string().as_deref(),
        Some("type" | "id" | "summary" | "encrypted_content")
    )
}

/// The item's own summary, or one that is made from the text of the thinking.
fn summary(item: &RawMap, thinking: &Thinking) -> Raw {
    let own = item.get("summary");
    match own.filter(|summary| summary.as_str().starts_with('[')) {
        Some(summary) => summary.clone(),
        None => summary_of_text(thinking),
    }
}

/// A summary with one part; without any for thinking without text.
fn summary_of_text(thinking: &Thinking) -> Raw {
    if thinking.thinking.is_empty() {
        return Raw::array(&[]);
    }
    let text = Raw::string(&thinking.thinking.as_str());
    let part = RawMap::from([("type", Raw::string("summary_text")), ("text", text)]);
    Raw::array(&[part.to_raw()])
}

/// Calls that the client would have to answer. They are never sent back, because they have no
/// results.
const CLIENT_CALLS: [&str; 4] = [
    "function_call",
    "custom_tool_call",
    "computer_call",
    "local_shell_call",
];

/// Whether a block of this type is an item that goes back to the Responses API: the call of a tool
/// that the provider runs, the result of one, or one of a few others.
pub(crate) fn is_returnable_item(kind: &str) -> bool {
    if matches!(
        kind,
        "mcp_list_tools" | "mcp_approval_request" | "compaction"
    ) {
        return true;
    }
    let call = kind.strip_suffix("_output").unwrap_or(kind);
    call.ends_with("_call") && !CLIENT_CALLS.contains(&call)
}

/// Whether an item is the result of a tool. Thinking does not lead to one.
pub(crate) fn is_tool_output(item: &Raw) -> bool {
    item.kind().is_some_and(|kind| kind.ends_with("_output"))
}
