//! What is asked of a model, before any provider's wire format.

use serde::{Deserialize, Serialize};

use crate::{Content, Raw, RawMap, Role, Text};

/// One question to a model: everything that goes out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Request {
    /// The model's name as its provider knows it.
    pub model: String,
    /// Instructions, sent before the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Text>,
    /// The conversation, in turns.
    pub turns: Vec<Turn>,
    /// The tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Whether it may, must or must not call them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The temperature; `None` sends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Tokens that the answer may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Whether the model is asked to think first.
    #[serde(default)]
    pub reasoning: bool,
    /// Fields for the provider, sent as they are.
    #[serde(default)]
    pub metadata: RawMap,
}

impl Request {
    /// A request that says one thing to the model and nothing else.
    ///
    /// ```
    /// use analects_core::Request;
    ///
    /// let request = Request::from_prompt("Six times seven?");
    /// assert_eq!(request.turns[0].content.text(), "Six times seven?");
    /// ```
    pub fn from_prompt(prompt: impl Into<Content>) -> Request {
        Request {
            turns: vec![Turn::user(prompt)],
            ..Request::default()
        }
    }
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// The model that said it, so that signed thinking goes back only to its own provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Turn {
    /// A turn of the person.
    pub fn user(content: impl Into<Content>) -> Turn {
        Turn {
            role: Role::User,
            content: content.into(),
            model: None,
        }
    }
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, for the model to read.
    pub description: String,
    /// Its arguments, as a JSON schema.
    pub input_schema: Raw,
}

/// Whether the model may call tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// At least one.
    Any,
    /// None.
    None,
    /// This one.
    Tool(String),
}
