//! One entry of a file of models: for which names it holds, and what it says.

use analects_core::{ModelFacts, Prices, Rates, Raw};
use serde::Deserialize;

/// One entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub provider: String,
    pub patterns: Vec<String>,
    pub facts: ModelFacts,
}

/// An entry as it is written. Its fields are listed again, because serde can only refuse unknown
/// ones of a flat object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Written {
    provider: String,
    patterns: Vec<String>,
    context_window: Option<u64>,
    max_output_tokens: Option<u64>,
    tools: Option<bool>,
    images: Option<bool>,
    thinking: Option<bool>,
    cache: Option<bool>,
    temperature: Option<bool>,
    prices: Option<Prices>,
}

impl Entry {
    pub fn read(raw: &Raw) -> Result<Entry, String> {
        let written: Written = serde_json::from_str(raw.as_str()).map_err(|error| {
            // The place is one within the entry, which nobody can find.
            let text = error.to_string();
            text.split(" at line ").next().unwrap_or_default().to_string()
        })?;
        check(&written)?;
        let Written { provider, patterns, prices, .. } = written;
        let facts = ModelFacts {
            context_window: written.context_window,
            max_output_tokens: written.max_output_tokens,
            tools: written.tools,
            images: written.images,
            thinking: written.thinking,
            cache: written.cache,
            temperature: written.temperature,
            prices,
        };
        Ok(Entry { provider, patterns, facts })
    }

    /// How well it fits: by the length of the longest pattern that does; a whole name fits better
    /// than the beginning of one.
    pub fn fit(&self, name: &str) -> Option<(usize, bool)> {
        self.patterns.iter().filter_map(|pattern| fit(pattern, name)).max()
    }
}

/// What to call an entry in an error, as far as it can be read.
pub(super) fn name(raw: &Raw) -> String {
    let field = |key| raw.as_object()?.get(key).cloned();
    let provider = field("provider").and_then(|raw| raw.as_string()).unwrap_or_default();
    let patterns: Option<Vec<String>> = field("patterns").and_then(|raw| raw.to());
    let pattern = patterns.and_then(|patterns| patterns.into_iter().next()).unwrap_or_default();
    match format!("{provider} {pattern}").trim() {
        "" => String::new(),
        name => format!(" ({name})"),
    }
}

fn check(written: &Written) -> Result<(), String> {
    if written.provider.trim().is_empty() {
        return Err("\"provider\" is empty".to_string());
    }
    if written.patterns.is_empty() {
        return Err("\"patterns\" is empty; give the names that it holds for".to_string());
    }
    let is_bad = |pattern: &&String| match pattern.strip_suffix('*') {
        Some(start) => start.contains('*'),
        None => pattern.is_empty() || pattern.contains('*'),
    };
    if let Some(pattern) = written.patterns.iter().find(is_bad) {
        return Err(format!("pattern \"{pattern}\" is empty, or has a * before its end"));
    }
    written.prices.as_ref().map_or(Ok(()), check_prices)
}

fn check_prices(prices: &Prices) -> Result<(), String> {
    if !prices.date.is_empty() && !is_date(&prices.date) {
        return Err(format!("date \"{}\" is not like 2025-11-01", prices.date));
    }
    let above = prices.above.as_ref().map(|above| &above.rates);
    for rates in [Some(&prices.rates), above].into_iter().flatten() {
        let Rates { input, output, cache_read, cache_write_5m, cache_write_1h } = *rates;
        let all = [input, output, cache_read, cache_write_5m, cache_write_1h];
        if let Some(rate) = all.into_iter().flatten().find(|rate| *rate < 0.0) {
            return Err(format!("a price of {rate} is below zero"));
        }
    }
    Ok(())
}

fn fit(pattern: &str, name: &str) -> Option<(usize, bool)> {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start).then_some((start.len(), false)),
        None => {
            let rest = name.strip_prefix(pattern)?;
            (rest.is_empty() || is_snapshot(rest)).then_some((pattern.len(), true))
        }
    }
}

/// Whether this is what makes a model's name that of a version of it: a date, as Anthropic, OpenAI
/// and Google's cloud write it, a number of three digits, or the word for the latest. Anything else,
/// such as `-mini`, is another model.
fn is_snapshot(rest: &str) -> bool {
    let digits = |text: &str, count| text.len() == count && is_digits(text);
    let version = rest.strip_prefix('-').or_else(|| rest.strip_prefix('@')).unwrap_or_default();
    version == "latest" || digits(version, 8) || digits(version, 3) || is_date(version)
}

fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    let lengths: Vec<_> = parts.iter().map(|part| part.len()).collect();
    lengths == [4, 2, 2] && parts.iter().all(|part| is_digits(part))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
