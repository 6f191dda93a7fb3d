//! Who answers: an agent as a message file defines it. Data only.

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
        Agent { name: name.into(), models: vec![model.into()], ..Agent::default() }
    }
}
