//! Gemini's token counts, under the names of the core.

use analects_core::{RawMap, TokenUsage};

use super::wire::remaining_fields;
use crate::decoding::fill;

/// Reads token counts. Here, the prompt's count includes cached tokens, and thinking is counted
/// apart from the answer; in the core, `input_tokens` excludes the former, and `output_tokens`
/// includes the latter. Counts without a name in the core are kept unchanged. `before` are the last
/// counts of the same answer.
pub(super) fn token_usage(map: &RawMap, before: &TokenUsage) -> TokenUsage {
    let mut usage = TokenUsage::default();
    let mut prompt = None;
    let mut tool_prompt = None;
    let mut answer = None;
    let rest = remaining_fields(map, |key, value| match key {
        "promptTokenCount" => fill(&mut prompt, value.to()),
        "candidatesTokenCount" => fill(&mut answer, value.to()),
        "thoughtsTokenCount" => fill(&mut usage.reasoning_tokens, value.to()),
        "cachedContentTokenCount" => fill(&mut usage.cache_read_input_tokens, value.to()),
        "totalTokenCount" => fill(&mut usage.total_tokens, value.to()),
        "toolUsePromptTokenCount" => {
            // A part of the input that the core has no name for, so it is kept as well.
            fill(&mut tool_prompt, value.to());
            false
        }
        _ => false,
    });
    let input = sum(prompt, tool_prompt);
    let cached = usage.cache_read_input_tokens.unwrap_or(0);
    usage.input_tokens = input.map(|input| input.saturating_sub(cached));
    usage.output_tokens = output_tokens(&usage, input, answer);
    // A total that only repeats the sum is not kept, unless it corrects an earlier one.
    let is_sum = usage.total_tokens == sum(input, usage.output_tokens);
    if is_sum && before.total_tokens.is_none() {
        usage.total_tokens = None;
    }
    usage.extra = rest;
    usage
}

/// The answer's tokens with its thinking. Some gateways include the thinking already, which shows
/// in the total.
fn output_tokens(usage: &TokenUsage, input: Option<u64>, answer: Option<u64>) -> Option<u64> {
    let includes_thinking =
        usage.total_tokens.is_some() && usage.total_tokens == sum(input, answer);
    if includes_thinking {
        return answer;
    }
    sum(answer, usage.reasoning_tokens)
}

/// The sum of two counts, of which one may be missing.
fn sum(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    if left.is_none() && right.is_none() {
        return None;
    }
    Some(left.unwrap_or(0).saturating_add(right.unwrap_or(0)))
}
