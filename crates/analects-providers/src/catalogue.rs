//! What is known about models: a dated data file, and a person's own file over it. Looked up by
//! provider and name; what is not listed is unknown, and so is what an entry does not say.

use std::sync::LazyLock;

use analects_core::{ModelFacts, Prices, Rates, Raw, RawMap, TokenUsage};
use serde::Deserialize;

use crate::vendor;

const BUILT_IN: &str = include_str!("../data/models.json");

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue {
    // A test reads the file, so there is nothing here that could be wrong with it.
    entries: read(BUILT_IN).unwrap_or_default(),
    overrides: Vec::new(),
});

/// The models that are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    entries: Vec<Entry>,
    overrides: Vec<Entry>,
}

/// What is wrong with a file of models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", prefix(.entry))]
pub struct CatalogueError {
    /// Which entry, counted from 1, and its name, if it has one; empty for the file as a whole.
    pub entry: String,
    /// What is wrong.
    pub message: String,
}

fn prefix(entry: &str) -> String {
    if entry.is_empty() {
        String::new()
    } else {
        format!("{entry}: ")
    }
}

/// What is known about a model of a provider, by what comes with the program.
pub fn facts(provider: &str, name: &str) -> Option<ModelFacts> {
    Catalogue::built_in().facts(provider, name)
}

impl Catalogue {
    /// What comes with the program.
    pub fn built_in() -> &'static Catalogue {
        &CATALOGUE
    }

    /// What comes with the program, and a person's own file over it: JSON of the same shape. Every
    /// fact that an entry of theirs gives wins over ours; prices win as a whole. A file with an error
    /// is not used at all, since half of a price list is a wrong one; all errors are told.
    pub fn with_overrides(json: &str) -> Result<Catalogue, Vec<CatalogueError>> {
        let mut overrides = read(json)?;
        for entry in &mut overrides {
            if let Some(prices) = entry
                .facts
                .prices
                .as_mut()
                .filter(|own| own.source.is_empty())
            {
                prices.source = "user".to_string();
            }
        }
        Ok(Catalogue {
            entries: CATALOGUE.entries.clone(),
            overrides,
        })
    }

    /// What is known about a model of a provider, who may be named by an alias.
    pub fn facts(&self, provider: &str, name: &str) -> Option<ModelFacts> {
        let provider = provider_name(provider);
        let name = name.strip_prefix("models/").unwrap_or(name);
        let ours = best(&self.entries, &provider, name);
        let theirs = best(&self.overrides, &provider, name);
        let mut facts = ours.or(theirs)?.facts.clone();
        if let Some(theirs) = theirs {
            facts.update(&theirs.facts);
        }
        Some(facts)
    }
}

fn provider_name(name: &str) -> String {
    match vendor(name) {
        Some(vendor) => vendor.models_of.unwrap_or(vendor.name).to_string(),
        None => name.to_lowercase(),
    }
}

/// The entry with the longest pattern that fits; of equal ones the last.
fn best<'a>(entries: &'a [Entry], provider: &str, name: &str) -> Option<&'a Entry> {
    let of_provider = entries.iter().filter(|entry| entry.provider == provider);
    let fitting = of_provider.filter_map(|entry| Some((entry.fit(name)?, entry)));
    fitting.max_by_key(|(fit, _)| *fit).map(|(_, entry)| entry)
}

fn read(json: &str) -> Result<Vec<Entry>, Vec<CatalogueError>> {
    let whole = |message: String| {
        vec![CatalogueError {
            entry: String::new(),
            message,
        }]
    };
    let map = RawMap::parse(json).map_err(|error| whole(error.to_string()))?;
    let known = |key: &Raw| ["\"note\"", "\"models\""].contains(&key.as_str());
    if let Some((key, _)) = map.iter().find(|(key, _)| !known(key)) {
        return Err(whole(format!(
            "unknown field {key}; expected \"models\" or \"note\""
        )));
    }
    let list = map.get("models").and_then(Raw::as_array);
    let list = list.ok_or_else(|| whole("there is no list \"models\"".to_string()))?;
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    for (raw, number) in list.iter().zip(1..) {
        match Entry::read(raw) {
            Ok(entry) => {
                entries.push(Entry {
                    provider: provider_name(&entry.provider),
                    ..entry
                });
            }
            Err(message) => {
                let entry = format!("model {number}{}", entry_name(raw));
                errors.push(CatalogueError { entry, message });
            }
        }
    }
    if errors.is_empty() {
        Ok(entries)
    } else {
        Err(errors)
    }
}

/// One entry.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    provider: String,
    patterns: Vec<String>,
    facts: ModelFacts,
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
    fn read(raw: &Raw) -> Result<Entry, String> {
        let written: Written = serde_json::from_str(raw.as_str()).map_err(|error| {
            // The place is one within the entry, which nobody can find.
            let text = error.to_string();
            text.split(" at line ")
                .next()
                .unwrap_or_default()
                .to_string()
        })?;
        check(&written)?;
        let Written {
            provider,
            patterns,
            prices,
            ..
        } = written;
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
        Ok(Entry {
            provider,
            patterns,
            facts,
        })
    }

    /// How well it fits: by the length of the longest pattern that does; a whole name fits better
    /// than the beginning of one.
    fn fit(&self, name: &str) -> Option<(usize, bool)> {
        self.patterns
            .iter()
            .filter_map(|pattern| fit(pattern, name))
            .max()
    }
}

/// What to call an entry in an error, as far as it can be read.
fn entry_name(raw: &Raw) -> String {
    let fields = raw.as_object().unwrap_or_default();
    let provider = fields.string("provider").unwrap_or_default();
    let patterns: Vec<String> = fields.get("patterns").and_then(Raw::to).unwrap_or_default();
    let pattern = patterns.first().map_or("", String::as_str);
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
        return Err(format!(
            "pattern \"{pattern}\" is empty, or has a * before its end"
        ));
    }
    written.prices.as_ref().map_or(Ok(()), check_prices)
}

fn check_prices(prices: &Prices) -> Result<(), String> {
    if !prices.date.is_empty() && !is_date(&prices.date) {
        return Err(format!("date \"{}\" is not like 2025-11-01", prices.date));
    }
    let above = prices.above.as_ref().map(|above| &above.rates);
    for rates in [Some(&prices.rates), above].into_iter().flatten() {
        let Rates {
            input,
            output,
            cache_read,
            cache_write_5m,
            cache_write_1h,
        } = *rates;
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
    let version = rest
        .strip_prefix('-')
        .or_else(|| rest.strip_prefix('@'))
        .unwrap_or_default();
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

/// What an answer cost in US dollars, by list prices; `None` if a price or a count is missing.
///
/// The counts are the core's: `input_tokens` has neither the tokens read from a cache nor those
/// written to one. Anthropic counts that way; for the others, whose prompt includes the cached
/// tokens, the decoders have taken them out.
pub fn cost(usage: &TokenUsage, facts: &ModelFacts) -> Option<f64> {
    let (input, output) = (usage.input_tokens?, usage.output_tokens?);
    let read = usage.cache_read_input_tokens.unwrap_or(0);
    let (short, long) = written(usage);
    let prompt = [input, read, short, long]
        .into_iter()
        .fold(0, u64::saturating_add);
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
    let above = prices
        .above
        .as_ref()
        .filter(|above| prompt > above.prompt_tokens);
    above.map_or(prices.rates, |above| above.rates)
}

#[cfg(test)]
mod tests;
