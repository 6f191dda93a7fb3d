//! Token counts of OpenAI's two APIs, under the names of the core.

use analects_core::{Raw, RawMap, TokenUsage};

use crate::decoding::{fill, object_member, read_fields};

/// Reads token counts. The prompt's count includes cached tokens here, and does not in the core.
/// The two APIs have two names for each count; counts without a name in the core are kept
/// unchanged.
pub(crate) fn token_usage(map: &RawMap) -> TokenUsage {
    let mut usage = TokenUsage::default();
    let mut prompt = None;
    let unknown = read_fields(map, |key, value| match key {
        "prompt_tokens" | "input_tokens" => fill(&mut prompt, value.to()),
        "completion_tokens" | "output_tokens" => fill(&mut usage.output_tokens, value.to()),
        "total_tokens" => fill(&mut usage.total_tokens, value.to()),
        _ => false,
    });
    usage.cache_read_input_tokens = cached_tokens(map);
    usage.reasoning_tokens = reasoning_tokens(map);
    let cached = usage.cache_read_input_tokens.unwrap_or(0);
    usage.input_tokens = prompt.map(|prompt: u64| prompt.saturating_sub(cached));
    include_reasoning(&mut usage, prompt);
    // A total that only repeats the sum is not kept.
    if usage.total_tokens == sum(prompt, usage.output_tokens) {
        usage.total_tokens = None;
    }
    usage.extra = unknown.into_iter().collect();
    usage
}

/// The part of the prompt that was read from a cache.
fn cached_tokens(map: &RawMap) -> Option<u64> {
    detail(map, "prompt_tokens_details", "cached_tokens")
        .or_else(|| detail(map, "input_tokens_details", "cached_tokens"))
        .or_else(|| map.get("prompt_cache_hit_tokens").and_then(Raw::to))
}

/// The part of the answer that is thinking.
fn reasoning_tokens(map: &RawMap) -> Option<u64> {
    detail(map, "completion_tokens_details", "reasoning_tokens")
        .or_else(|| detail(map, "output_tokens_details", "reasoning_tokens"))
}

/// Adds the thinking to the output if its vendor counts the two apart, which shows in the total.
fn include_reasoning(usage: &mut TokenUsage, prompt: Option<u64>) {
    let total = usage.total_tokens;
    let with_reasoning = sum(usage.output_tokens, usage.reasoning_tokens);
    let is_apart = total.is_some()
        && total != sum(prompt, usage.output_tokens)
        && total == sum(prompt, with_reasoning);
    if is_apart {
        usage.output_tokens = with_reasoning;
    }
}

/// The sum of two counts; `None` if one is missing, or if the sum is too large.
fn sum(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    left?.checked_add(right?)
}

/// A count in one of the groups of details.
fn detail(usage: &RawMap, group: &str, name: &str) -> Option<u64> {
    object_member(usage, group)?.get(name)?.to()
}
