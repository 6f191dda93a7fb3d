//! What the attributes of a cell say about its message.

use analects_core::{Body, History, Message, Raw, StopReason, TokenUsage};

use super::cell::Read;
use super::describe::read_tokens;
use crate::msgfile::agents::names_author;

/// Reads what any cell may say about its message.
pub(super) fn read_shared(read: &Read<'_>, message: &mut Message) {
    let string = |key: &str| read.get(key).map(str::to_string);
    let number = |key: &str| read.get(key).and_then(|value| value.parse().ok());
    let tokens = read.get("tokens").and_then(read_tokens);
    let usage = TokenUsage {
        input_tokens: number("input_tokens").or(tokens.map(|(input, _)| input)),
        output_tokens: number("output_tokens").or(tokens.map(|(_, output)| output)),
        cache_read_input_tokens: number("cache_read_tokens"),
        cache_creation_input_tokens: number("cache_creation_tokens"),
        reasoning_tokens: number("reasoning_tokens"),
        ..TokenUsage::default()
    };
    message.history = read.get("history").and_then(History::parse).unwrap_or_default();
    message.created_at = read.get("time").and_then(|time| time.parse().ok());
    message.agent_id = string("agent_id");
    message.author = string("author").or_else(|| default_author(read));
    message.author = message.author.take().filter(|author| !author.is_empty());
    message.model = string("model");
    message.response_id = string("response_id");
    message.cost_usd = read.get("cost").and_then(|value| value.parse().ok());
    message.duration_ms = read.get("duration").and_then(milliseconds);
    message.usage = (!usage.is_empty()).then(|| Box::new(usage));
    message.is_api_error_message = read.get("error") == Some("1");
    if let Some(summary) = read.get("summary").filter(|_| message.history != History::Include) {
        message.extra.push("summary", Raw::string(summary));
    }
    if let Body::Assistant(body) = &mut message.body {
        body.stop_reason = string("stop_reason").map(StopReason::from);
    }
}

/// The author of a reply is its type word.
fn default_author(read: &Read<'_>) -> Option<String> {
    let is_reply = read.is_output() && names_author(&read.word);
    (is_reply && read.cell.is_sealed()).then(|| read.word.to_string())
}

fn milliseconds(duration: &str) -> Option<u64> {
    let seconds: f64 = duration.strip_suffix('s')?.parse().ok()?;
    (0.0..1e12).contains(&seconds).then(|| (seconds * 1000.0).round() as u64)
}
