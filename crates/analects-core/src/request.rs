//! A request to a model, independent of any provider's wire format.

use serde::{Deserialize, Serialize};

use crate::{Content, Raw, RawMap, Role, Text};

/// A request to a model: everything that is sent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Request {
    /// The model's name, as its provider knows it.
    pub model: String,
    /// The instructions before the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Text>,
    /// The turns of the conversation, in order.
    pub turns: Vec<Turn>,
    /// The tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Whether the model may, must or must not call tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The temperature; `None` omits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The maximum length of the answer, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Texts that stop the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Whether to ask the model to think first.
    #[serde(default)]
    pub reasoning: bool,
    /// Fields for the provider, sent unchanged.
    #[serde(default)]
    pub metadata: RawMap,
}

impl Request {
    /// Creates a request with a single user turn.
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
    /// The role of the speaker.
    pub role: Role,
    /// The content.
    pub content: Content,
    /// The model that wrote it, so that signed thinking goes back only to its own provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Turn {
    /// Creates a user turn.
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
    /// A description for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Raw,
}

/// Whether the model may call tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// The model must call at least one tool.
    Any,
    /// The model must not call a tool.
    None,
    /// The model must call this tool.
    Tool(String),
}
