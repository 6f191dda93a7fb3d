//! Who answers: an agent as a message file defines it, and what is known about a model: what fits into it, what it can
//! do, and what it costs. Data only. Unknown is unknown: an absent fact is neither "no" nor zero.

use serde::{Deserialize, Serialize};

/// A named way of answering: models to try, limits, and a system prompt.
#[doc(alias = "AgentProtocol")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    /// Its name, which is also the type word of its replies.
    pub name: String,
    /// Models by name; the first usable one answers.
    pub models: Vec<String>,
    /// Tokens that fit into the model's context; `None` is as many as the model takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Tokens that an answer may take.
    pub max_output_tokens: u64,
    /// Whether the model is asked to think first.
    pub reasoning: bool,
    /// Whether a temperature is sent at all.
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
    /// What an agent may say about itself beside its name, wherever it is written: in frontmatter, or in
    /// a configuration.
    pub const PROPERTIES: [&str; 7] = [
        "models",
        "context_window",
        "max_output_tokens",
        "reasoning",
        "use_temperature",
        "temperature",
        "system_prompt",
    ];

    /// Tokens that fit into the context of a model of which nothing is known.
    pub const USUAL_WINDOW: u64 = 200_000;

    /// An agent of that name that asks one model.
    pub fn of_model(name: impl Into<String>, model: impl Into<String>) -> Agent {
        Agent {
            name: name.into(),
            models: vec![model.into()],
            ..Agent::default()
        }
    }
}

/// What is known about a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelFacts {
    /// Tokens that fit into its context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Tokens that an answer may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Whether it calls tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether it sees images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Whether it can think first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// Whether prompts can be cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    /// Whether it takes a temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<bool>,
    /// What it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

/// What a model costs, and how that is known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Prices {
    /// The day of which this is known, as `2025-11-01`; empty where nobody said.
    #[serde(default)]
    pub date: String,
    /// Where it is known from, such as `list-price` or `user`.
    #[serde(default)]
    pub source: String,
    /// The prices.
    pub rates: Rates,
    /// Other prices for long prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<PricesAbove>,
}

/// Prices of requests whose prompt is longer than a limit: they hold for the whole request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct PricesAbove {
    /// The prompt, cached tokens included, has more tokens than this.
    pub prompt_tokens: u64,
    /// The prices then.
    pub rates: Rates,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct Rates {
    /// Tokens read that no cache held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<f64>,
    /// Tokens written, thinking included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
    /// Tokens read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Tokens written to a cache for five minutes, or for as long as the provider likes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_5m: Option<f64>,
    /// Tokens written to a cache for an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
}

impl ModelFacts {
    /// Takes over every fact that `other` knows. Prices are taken over as a whole, since those of
    /// two dates do not mix.
    pub fn update(&mut self, other: &ModelFacts) {
        fn take<T: Clone>(mine: &mut Option<T>, theirs: &Option<T>) {
            if theirs.is_some() {
                mine.clone_from(theirs);
            }
        }
        take(&mut self.context_window, &other.context_window);
        take(&mut self.max_output_tokens, &other.max_output_tokens);
        take(&mut self.tools, &other.tools);
        take(&mut self.images, &other.images);
        take(&mut self.thinking, &other.thinking);
        take(&mut self.cache, &other.cache);
        take(&mut self.temperature, &other.temperature);
        take(&mut self.prices, &other.prices);
    }
}
