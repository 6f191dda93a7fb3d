//! Agents, as message files and configurations define them, and models: their limits, capabilities and prices. Data
//! only. An absent fact is unknown; it is neither "no" nor zero.

use serde::{Deserialize, Serialize};

/// An agent: a name for a list of models, limits, and a system prompt.
#[doc(alias = "AgentProtocol")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    /// Its name, which is also the type word of its replies in a message file.
    pub name: String,
    /// Model names; the first usable one answers.
    pub models: Vec<String>,
    /// The context window in tokens; `None` uses the model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The maximum length of an answer, in tokens.
    pub max_output_tokens: u64,
    /// Whether to ask the model to think first.
    pub reasoning: bool,
    /// Whether to send a temperature.
    pub use_temperature: bool,
    /// The temperature.
    pub temperature: f64,
    /// Instructions, sent before the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
}

impl Default for Agent {
    fn default() -> Agent {
        Agent {
            name: String::new(),
            models: Vec::new(),
            context_window: None,
            max_output_tokens: 8192,
            reasoning: false,
            use_temperature: true,
            temperature: 0.7,
            system_prompt: None,
        }
    }
}

impl Agent {
    /// The properties of an agent besides its name, in frontmatter and in a configuration.
    pub const PROPERTIES: [&str; 7] = [
        "models",
        "context_window",
        "max_output_tokens",
        "reasoning",
        "use_temperature",
        "temperature",
        "system_prompt",
    ];

    /// The context window that is assumed for an unknown model, in tokens.
    pub const USUAL_WINDOW: u64 = 200_000;

    /// Creates an agent that uses one model.
    pub fn of_model(name: impl Into<String>, model: impl Into<String>) -> Agent {
        Agent {
            name: name.into(),
            models: vec![model.into()],
            ..Agent::default()
        }
    }
}

/// Known facts about a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelFacts {
    /// The context window in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The maximum length of an answer, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Whether the model calls tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether the model reads images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Whether the model can think before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// Whether prompts can be cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    /// Whether the model accepts a temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<bool>,
    /// The prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

/// The prices of a model, and their origin.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Prices {
    /// The date of the prices, such as `2025-11-01`; empty if unknown.
    #[serde(default)]
    pub date: String,
    /// The origin of the prices, such as `list-price` or `user`.
    #[serde(default)]
    pub source: String,
    /// The prices.
    pub rates: Rates,
    /// Different prices for long prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<PricesAbove>,
}

/// Prices for requests with a prompt above a limit. They apply to the whole request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct PricesAbove {
    /// The limit in tokens, cached ones included: these prices apply above it.
    pub prompt_tokens: u64,
    /// The prices above the limit.
    pub rates: Rates,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct Rates {
    /// Input tokens that no cache held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<f64>,
    /// Output tokens, including thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
    /// Input tokens read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Tokens written to a cache for five minutes, or for the provider's default lifetime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_5m: Option<f64>,
    /// Tokens written to a cache for an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
}

impl ModelFacts {
    /// Overwrites every fact that `other` knows. Prices are replaced as a whole, since prices of two dates do not mix.
    pub fn update(&mut self, other: &ModelFacts) {
        fn overwrite<T: Clone>(mine: &mut Option<T>, theirs: &Option<T>) {
            if theirs.is_some() {
                mine.clone_from(theirs);
            }
        }
        overwrite(&mut self.context_window, &other.context_window);
        overwrite(&mut self.max_output_tokens, &other.max_output_tokens);
        overwrite(&mut self.tools, &other.tools);
        overwrite(&mut self.images, &other.images);
        overwrite(&mut self.thinking, &other.thinking);
        overwrite(&mut self.cache, &other.cache);
        overwrite(&mut self.temperature, &other.temperature);
        overwrite(&mut self.prices, &other.prices);
    }
}
