//! The shapes of Chat Completions: what goes out, for serde to write, and the chunks that come
//! back, read leniently, since every vendor adds fields and bends types.

use std::borrow::Cow;

use analects_core::{Raw, RawMap, Text};
use serde::Serialize;

use crate::reading::{Rest, filled, put, take, word};

/// The body of a request.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub model: &'a str,
    pub messages: Vec<Message<'a>>,
    pub stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<RawMap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Raw>,
}

#[derive(Serialize)]
pub(super) struct StreamOptions {
    pub include_usage: bool,
}

#[derive(Default, Serialize)]
pub(super) struct Message<'a> {
    pub role: &'static str,
    /// `null` for a message of tool calls alone.
    pub content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<Raw>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
    File { file: File },
}

#[derive(Serialize)]
pub(super) struct File {
    pub filename: String,
    pub file_data: String,
}

#[derive(Serialize)]
pub(super) struct ImageUrl {
    pub url: String,
}

#[derive(Serialize)]
pub(super) struct ToolCall<'a> {
    pub id: &'a str,
    pub r#type: &'static str,
    pub function: FunctionCall<'a>,
}

#[derive(Serialize)]
pub(super) struct FunctionCall<'a> {
    pub name: &'a str,
    /// JSON inside a JSON string, as the API has it.
    pub arguments: &'a str,
}

/// One chunk of an answer.
#[derive(Default)]
pub(super) struct Chunk {
    pub id: Option<String>,
    pub model: Option<String>,
    pub choices: Vec<Raw>,
    pub usage: Option<RawMap>,
    pub error: Option<Raw>,
    pub rest: Rest,
}

impl Chunk {
    /// `None` for anything but a JSON object.
    pub fn read(data: &str) -> Option<Chunk> {
        let mut chunk = Chunk::default();
        chunk.rest = take(&RawMap::parse(data).ok()?, |key, value| match key {
            "id" => put(&mut chunk.id, filled(value)),
            "model" => put(&mut chunk.model, filled(value)),
            "choices" => value
                .as_array()
                .map(|choices| chunk.choices = choices)
                .is_some(),
            "usage" => put(&mut chunk.usage, value.as_object()),
            "error" => put(&mut chunk.error, Some(value.clone())),
            "object" => true,
            _ => false,
        });
        Some(chunk)
    }
}

/// One choice of a chunk.
#[derive(Default)]
pub(super) struct Choice {
    pub index: u64,
    /// The delta, or in a plain answer the whole message, which has the same members.
    pub delta: Option<RawMap>,
    pub finish_reason: Option<String>,
    pub rest: Rest,
}

impl Choice {
    pub fn read(raw: &Raw) -> Option<Choice> {
        let mut choice = Choice::default();
        choice.rest = take(&raw.as_object()?, |key, value| match key {
            "index" => value.to().map(|index| choice.index = index).is_some(),
            "delta" | "message" => put(&mut choice.delta, value.as_object()),
            "finish_reason" => put(&mut choice.finish_reason, filled(value)),
            _ => false,
        });
        Some(choice)
    }
}

/// A piece of a tool call.
#[derive(Default)]
pub(super) struct CallDelta {
    pub index: Option<u64>,
    pub id: Option<String>,
    pub name: Option<String>,
    pub arguments: Text,
}

impl CallDelta {
    pub fn read(raw: &Raw) -> Option<CallDelta> {
        let map = raw.as_object()?;
        let function = map
            .get("function")
            .and_then(Raw::as_object)
            .unwrap_or_default();
        Some(CallDelta {
            index: map.get("index").and_then(Raw::to),
            id: word(&map, "id"),
            ..CallDelta::of_function(&function)
        })
    }

    /// A call without a name of its own, as the old `function_call` has it.
    pub fn of_function(function: &RawMap) -> CallDelta {
        CallDelta {
            name: word(function, "name"),
            arguments: function.get("arguments").map(arguments).unwrap_or_default(),
            ..CallDelta::default()
        }
    }
}

/// The text of a part, and what else the part says; `None` for parts of other types.
pub(super) fn text_part(raw: &Raw) -> Option<(Text, RawMap)> {
    let mut text = None;
    let mut is_text = false;
    let rest = take(&raw.as_object()?, |key, value| match key {
        "type" => {
            is_text = value.as_str() == "\"text\"";
            is_text
        }
        "text" => put(&mut text, Text::from_raw(value)),
        _ => false,
    });
    is_text.then(|| (text.unwrap_or_default(), rest.into_iter().collect()))
}

/// Some vendors send the arguments as an object instead of a string that spells one.
fn arguments(value: &Raw) -> Text {
    match value.as_str() {
        "null" => Text::default(),
        json => Text::from_raw(value).unwrap_or_else(|| json.into()),
    }
}
