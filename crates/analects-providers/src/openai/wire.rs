//! The shapes of Chat Completions: what goes out, for serde to write, and the chunks that come
//! back, which are read leniently, since every vendor adds fields and changes types.

use std::borrow::Cow;

use analects_core::{Raw, RawMap, Text};
use serde::Serialize;

use crate::decoding::{
    UnknownFields, fill, fill_list, fill_number, non_empty_string, object_member, read_fields,
    string_member,
};

/// The body of a request.
#[derive(Serialize)]
pub(super) struct OpenAiRequest<'a> {
    /// The name of the model at the provider.
    pub model: &'a str,
    /// The instructions and the conversation.
    pub messages: Vec<OpenAiMessage<'a>>,
    /// Always true; see [`without_streaming`](crate::without_streaming).
    pub stream: bool,
    /// Only for servers that know the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<OpenAiStreamOptions>,
    /// From 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The limit of output tokens under its older name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The limit of output tokens under its newer name. At most one of the two is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<u64>,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<&'a str>,
    /// The definitions of tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<RawMap>,
    /// Which tools the model may or must call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Raw>,
}

/// Asks for token counts, which a stream lacks otherwise.
#[derive(Serialize)]
pub(super) struct OpenAiStreamOptions {
    /// Whether the last chunk contains the counts.
    pub include_usage: bool,
}

/// A message of the conversation, or a tool result, which has the role `tool`.
#[derive(Default, Serialize)]
pub(super) struct OpenAiMessage<'a> {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// `null` in a message that contains only tool calls.
    pub content: Option<OpenAiContent<'a>>,
    /// The calls of a message of the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<OpenAiToolCall<'a>>,
    /// The id of the call that a tool result answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<&'a str>,
    /// The text of earlier thinking, for servers that expect it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// Earlier thinking as it came, for servers that expect it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<Raw>,
}

impl<'a> OpenAiMessage<'a> {
    /// A message with content and nothing else.
    pub fn new(role: &'static str, content: OpenAiContent<'a>) -> OpenAiMessage<'a> {
        OpenAiMessage {
            role,
            content: Some(content),
            ..OpenAiMessage::default()
        }
    }
}

/// The content of a message.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum OpenAiContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<OpenAiPart<'a>>),
}

/// A part of a message's content.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum OpenAiPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: OpenAiImageUrl },
    File { file: OpenAiFile },
}

/// A document with its data, as a `data:` URL.
#[derive(Serialize)]
pub(super) struct OpenAiFile {
    /// The name, which the API requires.
    pub filename: String,
    /// The `data:` URL.
    pub file_data: String,
}

/// The address of an image, which may be a `data:` URL.
#[derive(Serialize)]
pub(super) struct OpenAiImageUrl {
    /// The address.
    pub url: String,
}

/// A tool call of an earlier answer.
#[derive(Serialize)]
pub(super) struct OpenAiToolCall<'a> {
    /// The id that the result repeats.
    pub id: &'a str,
    /// Always `function`.
    pub r#type: &'static str,
    /// The name and the arguments.
    pub function: OpenAiFunctionCall<'a>,
}

/// The function of a tool call.
#[derive(Serialize)]
pub(super) struct OpenAiFunctionCall<'a> {
    /// The name of the tool.
    pub name: &'a str,
    /// JSON inside a JSON string, as the API requires.
    pub arguments: &'a str,
}

/// A chunk of an answer.
#[derive(Default)]
pub(super) struct OpenAiChunk {
    /// The id of the answer, which all chunks repeat.
    pub id: Option<String>,
    /// The model that answers, which may be a dated version of the one that was asked.
    pub model: Option<String>,
    /// Pieces of the answer; empty in the chunk with the counts.
    pub choices: Vec<Raw>,
    /// Token counts, usually in the last chunk.
    pub usage: Option<RawMap>,
    /// An error that ends the answer.
    pub error: Option<Raw>,
    /// All other fields.
    pub unknown: UnknownFields,
}

impl OpenAiChunk {
    /// Returns `None` for anything but a JSON object.
    pub fn read(data: &str) -> Option<OpenAiChunk> {
        let map = RawMap::parse(data).ok()?;
        let mut chunk = OpenAiChunk::default();
        chunk.unknown = read_fields(&map, |key, value| match key {
            "id" => fill(&mut chunk.id, non_empty_string(value)),
            "model" => fill(&mut chunk.model, non_empty_string(value)),
            "choices" => fill_list(&mut chunk.choices, value),
            "usage" => fill(&mut chunk.usage, value.as_object()),
            "error" => fill(&mut chunk.error, Some(value.clone())),
            "object" => true,
            _ => false,
        });
        Some(chunk)
    }

    /// Whether the chunk says nothing about the answer.
    pub fn is_empty(&self) -> bool {
        self.id.is_none() && self.model.is_none() && self.choices.is_empty()
    }
}

/// A choice of a chunk. A server returns several if `n` is above 1.
#[derive(Default)]
pub(super) struct OpenAiChoice {
    /// 0 for the first choice, which is the answer.
    pub index: u64,
    /// The delta, or in a plain answer the whole message, which has the same members.
    pub delta: Option<RawMap>,
    /// Why the choice ended; `None` before its last piece.
    pub finish_reason: Option<String>,
    /// All other fields.
    pub unknown: UnknownFields,
}

impl OpenAiChoice {
    /// Returns `None` for anything but an object.
    pub fn read(raw: &Raw) -> Option<OpenAiChoice> {
        let map = raw.as_object()?;
        let mut choice = OpenAiChoice::default();
        choice.unknown = read_fields(&map, |key, value| match key {
            "index" => fill_number(&mut choice.index, value),
            "delta" | "message" => fill(&mut choice.delta, value.as_object()),
            "finish_reason" => fill(&mut choice.finish_reason, non_empty_string(value)),
            _ => false,
        });
        Some(choice)
    }
}

/// A piece of a tool call. Only the first piece of a call has to have an id and a name.
#[derive(Default)]
pub(super) struct OpenAiToolCallDelta {
    /// The number of the call in the answer.
    pub index: Option<u64>,
    /// The id of the call.
    pub id: Option<String>,
    /// The name of the tool.
    pub name: Option<String>,
    /// A piece of the JSON of the arguments.
    pub arguments: Text,
}

impl OpenAiToolCallDelta {
    /// Returns `None` for anything but an object.
    pub fn read(raw: &Raw) -> Option<OpenAiToolCallDelta> {
        let map = raw.as_object()?;
        let function = object_member(&map, "function").unwrap_or_default();
        Some(OpenAiToolCallDelta {
            index: map.get("index").and_then(Raw::to),
            id: string_member(&map, "id"),
            ..OpenAiToolCallDelta::from_function(&function)
        })
    }

    /// A call without an id, as the old `function_call` has none.
    pub fn from_function(function: &RawMap) -> OpenAiToolCallDelta {
        let arguments = function.get("arguments");
        OpenAiToolCallDelta {
            name: string_member(function, "name"),
            arguments: arguments.map(arguments_text).unwrap_or_default(),
            ..OpenAiToolCallDelta::default()
        }
    }
}

/// The JSON text of arguments. Some vendors send an object instead of a string that contains it.
fn arguments_text(value: &Raw) -> Text {
    if value.as_str() == "null" {
        return Text::default();
    }
    Text::from_raw(value).unwrap_or_else(|| value.as_str().into())
}

/// A part of type `text` in an answer.
pub(super) struct OpenAiTextPart {
    /// The text, which may be empty.
    pub text: Text,
    /// All other fields.
    pub unknown: UnknownFields,
}

impl OpenAiTextPart {
    /// Returns `None` for parts of other types.
    pub fn read(raw: &Raw) -> Option<OpenAiTextPart> {
        let mut text = None;
        let mut is_text = false;
        let unknown = read_fields(&raw.as_object()?, |key, value| match key {
            "type" => {
                is_text = value.as_str() == "\"text\"";
                is_text
            }
            "text" => fill(&mut text, Text::from_raw(value)),
            _ => false,
        });
        is_text.then(|| OpenAiTextPart {
            text: text.unwrap_or_default(),
            unknown,
        })
    }
}
