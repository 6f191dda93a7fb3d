//! What the attributes of a cell say about its message.

use analects_core::{Body, History, Message, Raw, StopReason, TokenUsage};

use super::cell::Read;
use super::describe::read_tokens;
use crate::msgfile::MetaKey;
use crate::msgfile::role::names_author;

/// Reads what any cell may say about its message.
pub(super) fn read_shared(read: &Read<'_>, message: &mut Message) {
    let string = |key| read.get(key).map(str::to_string);
    let number = |key| read.get(key).and_then(|value| value.parse().ok());
    let tokens = read.get(MetaKey::Tokens).and_then(read_tokens);
    let usage = TokenUsage {
        input_tokens: number(MetaKey::InputTokens).or(tokens.map(|(input, _)| input)),
        output_tokens: number(MetaKey::OutputTokens).or(tokens.map(|(_, output)| output)),
        cache_read_input_tokens: number(MetaKey::CacheReadTokens),
        cache_creation_input_tokens: number(MetaKey::CacheCreationTokens),
        reasoning_tokens: number(MetaKey::ReasoningTokens),
        ..TokenUsage::default()
    };
    message.history = read.cell.history().unwrap_or_default();
    message.created_at = read.get(MetaKey::Time).and_then(|time| time.parse().ok());
    message.agent_id = string(MetaKey::AgentId);
    message.author = string(MetaKey::Author).or_else(|| default_author(read));
    message.author = message.author.take().filter(|author| !author.is_empty());
    message.model = string(MetaKey::Model);
    message.response_id = string(MetaKey::ResponseId);
    message.cost_usd = read.get(MetaKey::Cost).and_then(|value| value.parse().ok());
    message.duration_ms = read.get(MetaKey::Duration).and_then(milliseconds);
    message.usage = (!usage.is_empty()).then(|| Box::new(usage));
    message.is_api_error_message = read.cell.is_failed();
    let summary = read.get(MetaKey::Summary);
    if let Some(summary) = summary.filter(|_| message.history != History::Include) {
        message.extra.push("summary", Raw::string(summary));
    }
    if let Body::Assistant(body) = &mut message.body {
        body.stop_reason = read.cell.stop_reason().map(StopReason::from);
    }
}

/// The author of a reply is its type word.
fn default_author(read: &Read<'_>) -> Option<String> {
    let word = read.cell.written_type()?;
    (read.is_output() && names_author(word)).then(|| word.to_string())
}

fn milliseconds(duration: &str) -> Option<u64> {
    let seconds: f64 = duration.strip_suffix('s')?.parse().ok()?;
    (0.0..1e12).contains(&seconds).then(|| (seconds * 1000.0).round() as u64)
}
