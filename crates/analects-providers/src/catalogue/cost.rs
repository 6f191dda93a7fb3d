//! What an answer cost. Unknown is not zero: where a price is missing for tokens that were used,
//! there is no sum.

use analects_core::{ModelFacts, Prices, Rates, TokenUsage};

/// What an answer cost in US dollars, by list prices; `None` if a price or a count is missing.
///
/// The counts are the core's: `input_tokens` has neither the tokens read from a cache nor those
/// written to one. Anthropic counts that way; for the others, whose prompt includes the cached
/// tokens, the decoders have taken them out.
pub fn cost(usage: &TokenUsage, facts: &ModelFacts) -> Option<f64> {
    let (input, output) = (usage.input_tokens?, usage.output_tokens?);
    let read = usage.cache_read_input_tokens.unwrap_or(0);
    let (short, long) = written(usage);
    let prompt = [input, read, short, long].into_iter().fold(0, u64::saturating_add);
    let rates = rates(facts.prices.as_ref()?, prompt);
    let parts = [
        (input, rates.input),
        (output, rates.output),
        (read, rates.cache_read),
        (short, rates.cache_write_5m),
        (long, rates.cache_write_1h),
    ];
    let price = |(tokens, rate): (u64, Option<f64>)| match tokens {
        0 => Some(0.0),
        tokens => Some(tokens as f64 * rate? / 1e6),
    };
    let sum: Option<f64> = parts.into_iter().map(price).sum();
    sum.map(rounded)
}

/// An amount without the noise of binary fractions: prices have few digits, and so have their sums.
fn rounded(amount: f64) -> f64 {
    const PLACES: f64 = 1e12;
    (amount * PLACES).round() / PLACES
}

/// Tokens written to a cache for a short and for a long time. Those of which nobody said for how
/// long were kept for the usual, short time.
fn written(usage: &TokenUsage) -> (u64, u64) {
    let short = usage.cache_creation_5m_tokens.unwrap_or(0);
    let long = usage.cache_creation_1h_tokens.unwrap_or(0);
    let all = usage.cache_creation_input_tokens.unwrap_or(0);
    (short.max(all.saturating_sub(long)), long)
}

fn rates(prices: &Prices, prompt: u64) -> Rates {
    let above = prices.above.as_ref().filter(|above| prompt > above.prompt_tokens);
    above.map_or(prices.rates, |above| above.rates)
}
