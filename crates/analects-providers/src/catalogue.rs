//! What is known about models: a dated data file, and a user's own file over it. Models are looked
//! up by provider and name. A model that is not listed is unknown, and so is what its entry does
//! not say.

use std::sync::LazyLock;

use analects_core::{ModelFacts, Prices, Rates, Raw, RawMap, TokenUsage};
use serde::Deserialize;

use crate::vendor;

/// The data file, compiled into the program.
const BUILT_IN: &str = include_str!("../data/models.json");

/// The built-in catalogue, read at first use.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue {
    // A test reads the file, so reading it cannot fail here.
    entries: read_entries(BUILT_IN).unwrap_or_default(),
    overrides: Vec::new(),
});

/// The known models.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    entries: Vec<CatalogueEntry>,
    /// The entries of the user's own file.
    overrides: Vec<CatalogueEntry>,
}

/// An error in a file of models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", prefix(.entry))]
pub struct CatalogueError {
    /// The number of the entry, from 1, and its name, if it has one; empty for the file as a whole.
    pub entry: String,
    /// What is wrong.
    pub message: String,
}

impl CatalogueError {
    /// An error of the file as a whole.
    fn in_file(message: impl Into<String>) -> CatalogueError {
        CatalogueError {
            entry: String::new(),
            message: message.into(),
        }
    }
}

/// The name of the entry, as the start of an error message.
fn prefix(entry: &str) -> String {
    if entry.is_empty() {
        return String::new();
    }
    format!("{entry}: ")
}

/// Returns what the built-in catalogue says about a model of a provider.
pub fn facts(provider: &str, name: &str) -> Option<ModelFacts> {
    Catalogue::built_in().facts(provider, name)
}

impl Catalogue {
    /// The catalogue that comes with the program.
    pub fn built_in() -> &'static Catalogue {
        &CATALOGUE
    }

    /// The built-in catalogue with a user's own file over it, which is JSON of the same shape. Each
    /// fact of the file replaces ours; prices are replaced as a whole. A file with an error is not
    /// used at all, since half a price list is a wrong one; all its errors are returned.
    ///
    /// ```
    /// use analects_providers::Catalogue;
    ///
    /// let json = r#"{"models": [
    ///     {"provider": "ollama", "patterns": ["mine*"], "context_window": 4096}
    /// ]}"#;
    /// let catalogue = Catalogue::with_overrides(json).unwrap();
    /// let facts = catalogue.facts("ollama", "mine:7b").unwrap();
    /// assert_eq!(facts.context_window, Some(4096));
    ///
    /// let errors = Catalogue::with_overrides(r#"{"models": [{"provider": ""}]}"#).unwrap_err();
    /// assert!(errors[0].to_string().starts_with("model 1: "));
    /// ```
    pub fn with_overrides(json: &str) -> Result<Catalogue, Vec<CatalogueError>> {
        let mut overrides = read_entries(json)?;
        let prices = overrides
            .iter_mut()
            .filter_map(|entry| entry.facts.prices.as_mut());
        for prices in prices.filter(|prices| prices.source.is_empty()) {
            prices.source = "user".to_string();
        }
        Ok(Catalogue {
            entries: CATALOGUE.entries.clone(),
            overrides,
        })
    }

    /// The models that are known by their full names, each with its provider; a user's own come first.
    ///
    /// ```
    /// use analects_providers::Catalogue;
    ///
    /// let mut names = Catalogue::built_in().names();
    /// assert!(names.any(|name| name == ("openai", "gpt-5-mini")));
    /// ```
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let entries = self.overrides.iter().chain(&self.entries);
        entries.flat_map(|entry| {
            let names = entry.patterns.iter().filter(is_whole_name);
            names.map(|name| (entry.provider.as_str(), name.as_str()))
        })
    }

    /// Returns what is known about a model of a provider, which may be named by an alias.
    pub fn facts(&self, provider: &str, name: &str) -> Option<ModelFacts> {
        let provider = catalogue_provider(provider);
        let name = name.strip_prefix("models/").unwrap_or(name);
        let ours = best_entry(&self.entries, &provider, name);
        let theirs = best_entry(&self.overrides, &provider, name);
        let mut facts = ours.or(theirs)?.facts.clone();
        if let Some(theirs) = theirs {
            facts.update(&theirs.facts);
        }
        Some(facts)
    }
}

/// Whether an entry names a model in full.
fn is_whole_name(pattern: &&String) -> bool {
    !pattern.ends_with('*')
}

/// The provider under which the catalogue lists the models of this one.
fn catalogue_provider(name: &str) -> String {
    match vendor(name) {
        Some(vendor) => vendor.models_of.unwrap_or(vendor.name).to_string(),
        None => name.to_lowercase(),
    }
}

/// The entry with the longest pattern that matches; the last of equally long ones.
fn best_entry<'a>(
    entries: &'a [CatalogueEntry],
    provider: &str,
    name: &str,
) -> Option<&'a CatalogueEntry> {
    let mut best: Option<(PatternMatch, &CatalogueEntry)> = None;
    for entry in entries.iter().filter(|entry| entry.provider == provider) {
        let Some(found) = entry.best_match(name) else {
            continue;
        };
        if best.is_none_or(|(before, _)| found >= before) {
            best = Some((found, entry));
        }
    }
    best.map(|(_, entry)| entry)
}

/// Reads the entries of a file, or all its errors.
fn read_entries(json: &str) -> Result<Vec<CatalogueEntry>, Vec<CatalogueError>> {
    let list = entry_list(json).map_err(|error| vec![error])?;
    let mut entries = Vec::new();
    let mut errors = Vec::new();
    for (raw, number) in list.iter().zip(1..) {
        match CatalogueEntry::read(raw) {
            Ok(entry) => entries.push(entry),
            Err(message) => errors.push(CatalogueError {
                entry: format!("model {number}{}", entry_name(raw)),
                message,
            }),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(entries)
}

/// The list of entries in a file.
fn entry_list(json: &str) -> Result<Vec<Raw>, CatalogueError> {
    let map = RawMap::parse(json).map_err(|error| CatalogueError::in_file(error.to_string()))?;
    if let Some((key, _)) = map.iter().find(|(key, _)| !is_known_field(key)) {
        return Err(CatalogueError::in_file(format!(
            "unknown field {key}; expected \"models\" or \"note\""
        )));
    }
    let list = map.get("models").and_then(Raw::as_array);
    list.ok_or_else(|| CatalogueError::in_file("there is no list \"models\""))
}

/// Whether a file of models may have this field beside its list.
fn is_known_field(key: &Raw) -> bool {
    matches!(key.as_str(), "\"note\"" | "\"models\"")
}

/// The facts about one or more models of a provider.
#[derive(Debug, Clone, PartialEq)]
struct CatalogueEntry {
    /// The name of the vendor.
    provider: String,
    /// Names of models, or with `*` at the end their beginnings.
    patterns: Vec<String>,
    /// What is known about these models.
    facts: ModelFacts,
}

/// An entry as the file has it. It repeats the fields of [`ModelFacts`], because serde can refuse
/// unknown fields only in a flat object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct RawCatalogueEntry {
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

impl CatalogueEntry {
    /// Reads and checks an entry. The error is a message for people.
    fn read(raw: &Raw) -> Result<CatalogueEntry, String> {
        let entry: RawCatalogueEntry =
            serde_json::from_str(raw.as_str()).map_err(without_position)?;
        check(&entry)?;
        Ok(entry.into())
    }

    /// How well the best of its patterns matches a name; `None` if none does.
    fn best_match(&self, name: &str) -> Option<PatternMatch> {
        let matches = self.patterns.iter();
        matches
            .filter_map(|pattern| pattern_match(pattern, name))
            .max()
    }
}

impl From<RawCatalogueEntry> for CatalogueEntry {
    fn from(raw: RawCatalogueEntry) -> CatalogueEntry {
        CatalogueEntry {
            provider: catalogue_provider(&raw.provider),
            patterns: raw.patterns,
            facts: ModelFacts {
                context_window: raw.context_window,
                max_output_tokens: raw.max_output_tokens,
                tools: raw.tools,
                images: raw.images,
                thinking: raw.thinking,
                cache: raw.cache,
                temperature: raw.temperature,
                prices: raw.prices,
            },
        }
    }
}

/// The message of a JSON error, without its position: it counts within the entry, where nobody can
/// find it.
fn without_position(error: serde_json::Error) -> String {
    let text = error.to_string();
    let message = text.split(" at line ").next();
    message.unwrap_or_default().to_string()
}

/// The provider and the first pattern of an entry, as far as they can be read, for an error
/// message.
fn entry_name(raw: &Raw) -> String {
    let fields = raw.as_object().unwrap_or_default();
    let provider = fields.string("provider").unwrap_or_default();
    let patterns: Option<Vec<String>> = fields.get("patterns").and_then(Raw::to);
    let pattern = patterns.unwrap_or_default().into_iter().next();
    let name = format!("{provider} {}", pattern.unwrap_or_default());
    match name.trim() {
        "" => String::new(),
        name => format!(" ({name})"),
    }
}

/// Checks what serde does not. The error is a message for people.
fn check(entry: &RawCatalogueEntry) -> Result<(), String> {
    if entry.provider.trim().is_empty() {
        return Err("\"provider\" is empty".to_string());
    }
    if entry.patterns.is_empty() {
        return Err("\"patterns\" is empty; give the names that it holds for".to_string());
    }
    if let Some(pattern) = entry
        .patterns
        .iter()
        .find(|pattern| is_bad_pattern(pattern))
    {
        return Err(format!(
            "pattern \"{pattern}\" is empty, or has a * before its end"
        ));
    }
    match &entry.prices {
        Some(prices) => check_prices(prices),
        None => Ok(()),
    }
}

/// A lone `*` is no bad pattern: it matches every model.
fn is_bad_pattern(pattern: &str) -> bool {
    let name = pattern.strip_suffix('*').unwrap_or(pattern);
    pattern.is_empty() || name.contains('*')
}

/// Checks the date, the rates, and the rates for long prompts. The error is a message for people.
fn check_prices(prices: &Prices) -> Result<(), String> {
    if !prices.date.is_empty() && !is_date(&prices.date) {
        return Err(format!("date \"{}\" is not like 2025-11-01", prices.date));
    }
    check_rates(&prices.rates)?;
    match &prices.above {
        Some(above) => check_rates(&above.rates),
        None => Ok(()),
    }
}

/// Checks that no rate is negative: an answer never earns money.
fn check_rates(rates: &Rates) -> Result<(), String> {
    let all = [
        rates.input,
        rates.output,
        rates.cache_read,
        rates.cache_write_5m,
        rates.cache_write_1h,
    ];
    match all.into_iter().flatten().find(|rate| *rate < 0.0) {
        Some(rate) => Err(format!("a price of {rate} is below zero")),
        None => Ok(()),
    }
}

/// How well a pattern matches. A longer pattern is better; of equally long ones, a whole name is
/// better than the beginning of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PatternMatch {
    /// The length of the pattern without `*`, in bytes.
    len: usize,
    /// Whether the pattern is a whole name, and not a beginning.
    is_whole_name: bool,
}

/// How well a pattern matches a name. A pattern without `*` also matches the name's dated versions.
fn pattern_match(pattern: &str, name: &str) -> Option<PatternMatch> {
    if let Some(start) = pattern.strip_suffix('*') {
        return name.starts_with(start).then_some(PatternMatch {
            len: start.len(),
            is_whole_name: false,
        });
    }
    let rest = name.strip_prefix(pattern)?;
    (rest.is_empty() || is_snapshot(rest)).then_some(PatternMatch {
        len: pattern.len(),
        is_whole_name: true,
    })
}

/// Whether this is the end of a model's name that stands for one of its versions: a date, as
/// Anthropic, OpenAI or Google's cloud write it, a number of three digits, or `latest`. Any other
/// end, such as `-mini`, names another model.
fn is_snapshot(rest: &str) -> bool {
    let version = rest.strip_prefix('-').or_else(|| rest.strip_prefix('@'));
    let version = version.unwrap_or_default();
    let is_number = is_digits(version) && matches!(version.len(), 3 | 8);
    version == "latest" || is_number || is_date(version)
}

/// Whether this has the form of `2025-11-01`.
fn is_date(text: &str) -> bool {
    let mut lengths = Vec::new();
    for part in text.split('-') {
        if !is_digits(part) {
            return false;
        }
        lengths.push(part.len());
    }
    lengths == [4, 2, 2]
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The cost of an answer in US dollars, by list prices; `None` if a price or a count is missing.
///
/// The counts are the core's: `input_tokens` contains neither the tokens read from a cache nor
/// those written to one. Anthropic counts in this way. The other APIs count cached tokens as part
/// of the prompt; their decoders subtract them.
///
/// ```
/// use analects_core::{ModelFacts, Prices, Rates, TokenUsage};
/// use analects_providers::cost;
///
/// let rates = Rates { input: Some(2.0), output: Some(10.0), ..Rates::default() };
/// let facts = ModelFacts {
///     prices: Some(Prices { rates, ..Prices::default() }),
///     ..ModelFacts::default()
/// };
/// let usage = TokenUsage {
///     input_tokens: Some(1_000_000),
///     output_tokens: Some(100_000),
///     ..TokenUsage::default()
/// };
/// assert_eq!(cost(&usage, &facts), Some(3.0));
/// ```
pub fn cost(usage: &TokenUsage, facts: &ModelFacts) -> Option<f64> {
    let input = usage.input_tokens?;
    let output = usage.output_tokens?;
    let cache_read = usage.cache_read_input_tokens.unwrap_or(0);
    let long_write = usage.cache_creation_1h_tokens.unwrap_or(0);
    let short_write = short_cache_write(usage, long_write);
    let prompt = input
        .saturating_add(cache_read)
        .saturating_add(short_write)
        .saturating_add(long_write);
    let rates = rates_for(facts.prices.as_ref()?, prompt);
    let sum = price(input, rates.input)?
        + price(output, rates.output)?
        + price(cache_read, rates.cache_read)?
        + price(short_write, rates.cache_write_5m)?
        + price(long_write, rates.cache_write_1h)?;
    Some(without_float_noise(sum))
}

/// The price of some tokens at a rate per million. Without tokens, the rate need not be known.
fn price(tokens: u64, rate: Option<f64>) -> Option<f64> {
    if tokens == 0 {
        return Some(0.0);
    }
    Some(tokens as f64 * rate? / 1e6)
}

/// Rounds an amount to 12 places: prices have few digits, and so have their sums.
fn without_float_noise(amount: f64) -> f64 {
    const PLACES: f64 = 1e12;
    (amount * PLACES).round() / PLACES
}

/// The tokens written to a cache for five minutes, which is the default for those without a known
/// duration.
fn short_cache_write(usage: &TokenUsage, long_write: u64) -> u64 {
    let short = usage.cache_creation_5m_tokens.unwrap_or(0);
    let all = usage.cache_creation_input_tokens.unwrap_or(0);
    short.max(all.saturating_sub(long_write))
}

/// The rates for a prompt of this length. Some providers take more for long prompts.
fn rates_for(prices: &Prices, prompt_tokens: u64) -> Rates {
    match &prices.above {
        Some(above) if prompt_tokens > above.prompt_tokens => above.rates,
        _ => prices.rates,
    }
}

#[cfg(test)]
mod tests;
