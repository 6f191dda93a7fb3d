//! What the encoders share: reports about changes, tool calls and settings in the form that the
//! APIs accept, attachments, and fields that go to the provider unchanged.

mod attachments;
mod problems;
pub(crate) mod settings;
mod tool_calls;

use analects_core::RawMap;

pub(crate) use attachments::{
    UNSENDABLE_URL, data_url, file_name, is_sendable_url, is_valid_data, mentions_local_file,
    plain_text_document,
};
pub(crate) use problems::EncodeProblems;
pub(crate) use tool_calls::{ToolIdMap, ToolNameRule, fit_call, fnv1a, is_plain_char};

/// Adds the request's metadata to a body. Its fields replace ours, except for the `fixed` ones:
/// with another value, the answer could not be read, or would answer something else than the
/// conversation.
pub(crate) fn merge_metadata(
    json: String,
    metadata: &RawMap,
    fixed: &[&str],
    problems: &mut EncodeProblems,
) -> String {
    // A body is as long as its conversation, so it is parsed only if there is something to add.
    if metadata.is_empty() {
        return json;
    }
    let body = RawMap::parse(&json).unwrap_or_default();
    if body.is_empty() {
        return json;
    }
    let mut merged = fields_that_stay(&body, metadata, fixed);
    for (key, value) in metadata.iter() {
        let name = key.as_string().unwrap_or_default();
        if fixed.contains(&name.as_str()) {
            problems.omit_setting(&name, "this field is not up to the metadata");
        } else {
            merged.push_raw(key.clone(), value.clone());
        }
    }
    merged.to_raw().to_string()
}

/// The fields of `body` that are fixed, or that `metadata` does not replace.
fn fields_that_stay(body: &RawMap, metadata: &RawMap, fixed: &[&str]) -> RawMap {
    let mut kept = RawMap::new();
    for (key, value) in body.iter() {
        let name = key.as_string().unwrap_or_default();
        if fixed.contains(&name.as_str()) || metadata.get(&name).is_none() {
            kept.push_raw(key.clone(), value.clone());
        }
    }
    kept
}

/// Whether this is one of OpenAI's models that think before every answer. They refuse a temperature
/// and `max_tokens`, which is the only name of the limit that most other servers know.
pub(crate) fn always_thinks(model: &str) -> bool {
    let series = digit_after("o", model);
    let generation = digit_after("gpt-", model);
    series.is_some() || generation.is_some_and(|digit| digit >= '5')
}

/// The digit directly behind the prefix of a model's name.
fn digit_after(prefix: &str, model: &str) -> Option<char> {
    let rest = model.strip_prefix(prefix)?;
    rest.chars().next().filter(char::is_ascii_digit)
}

/// Whether the thinking of the model `by` may go back to `model`. Encrypted thinking can only be
/// read by its vendor: OpenAI's models read each other's, any other model only its own. If `by` is
/// unknown, the caller has to judge by the shape of the thinking.
pub(crate) fn can_read_thinking(by: Option<&str>, model: &str) -> bool {
    let Some(by) = by else {
        return true;
    };
    by == model || (is_openai(by) && is_openai(model))
}

/// Whether this is the name of one of OpenAI's models, with or without the name of a provider
/// before it.
fn is_openai(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let families = ["gpt-", "chatgpt-", "codex-", "computer-use-"];
    always_thinks(name) || families.iter().any(|family| name.starts_with(family))
}

/// The text of a tool result, for APIs without a field for failed calls: the text of a failure
/// begins with "error".
pub(crate) fn result_text(text: String, is_error: Option<bool>) -> String {
    if is_error != Some(true) || says_error(&text) {
        return text;
    }
    if text.trim().is_empty() {
        return "error".to_string();
    }
    format!("error: {text}")
}

/// Whether a text begins with "error" in any case, so that it need not be said again.
fn says_error(text: &str) -> bool {
    let start = text.trim_start().get(..5);
    start.is_some_and(|start| start.eq_ignore_ascii_case("error"))
}
