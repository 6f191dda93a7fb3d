//! The shapes of the Responses API: what goes out, for serde to write, and what comes back, which
//! is read leniently, since other servers speak this API too.

use std::borrow::Cow;

use analects_core::{Raw, RawMap};
use serde::Serialize;

use crate::decoding::{
    UnknownFields, fill, fill_list, non_empty_string, read_fields, string_member,
};

/// The body of a request.
#[derive(Serialize)]
pub(super) struct ResponsesRequest<'a> {
    /// The name of the model at the provider.
    pub model: &'a str,
    /// The request's own instructions. Later ones are messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Cow<'a, str>>,
    /// The conversation, as items.
    pub input: Vec<Raw>,
    /// Always true; see [`without_streaming`](crate::without_streaming).
    pub stream: bool,
    /// Whether the server keeps the answer for later requests.
    pub store: bool,
    /// Fields of the answer that the server sends only on request.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    pub include: &'a [&'static str],
    /// Present if the request wants thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ResponsesReasoning>,
    /// From 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The limit of output tokens, with thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// The definitions of tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<RawMap>,
    /// Which tools the model may or must call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Raw>,
}

/// Asks for a summary of the model's thinking.
#[derive(Serialize)]
pub(super) struct ResponsesReasoning {
    /// How detailed the summary is; always `auto`.
    pub summary: &'static str,
}

/// An item of the input. Items of earlier answers go back as they came, without this type.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponsesItem<'a> {
    Message {
        role: &'static str,
        content: ResponsesContent<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<Raw>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        /// JSON inside a JSON string, as the API requires.
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: ResponsesContent<'a>,
    },
}

/// The content of a message, or the output of a call.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ResponsesContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ResponsesPart<'a>>),
}

/// A part of a content. The names of its fields are the API's.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponsesPart<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    OutputText {
        text: Cow<'a, str>,
    },
    Refusal {
        refusal: Cow<'a, str>,
    },
    InputImage {
        image_url: String,
    },
    InputFile {
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_data: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_url: Option<String>,
    },
}

/// An event of an answer.
#[derive(Default)]
pub(super) struct ResponsesEvent {
    /// The type, such as `response.output_text.delta`.
    pub kind: String,
    /// The number of the item that the event is about.
    pub output_index: Option<u64>,
    /// The id of that item.
    pub item_id: Option<String>,
    /// The number of a part of that item, in its content or its summary.
    pub part_index: Option<u64>,
    /// The item that begins or is finished.
    pub item: Option<Raw>,
    /// The part of a message that begins or is finished.
    pub part: Option<Raw>,
    /// The answer as an object, in the first and the last event.
    pub response: Option<Raw>,
    /// The error of an `error` event, if it is an object of its own.
    pub error: Option<Raw>,
    /// The added text, or in a `done` event the whole text.
    pub text: Option<Raw>,
    /// All other fields.
    pub unknown: UnknownFields,
}

impl ResponsesEvent {
    /// Returns `None` for an object without a type, which is no event.
    pub fn read(map: &RawMap) -> Option<ResponsesEvent> {
        let mut event = ResponsesEvent {
            kind: string_member(map, "type")?,
            ..ResponsesEvent::default()
        };
        event.unknown = read_fields(map, |key, value| match key {
            // Event numbers, and padding against eavesdroppers, say nothing about the answer.
            "type" | "sequence_number" | "obfuscation" => true,
            "output_index" => fill(&mut event.output_index, value.to()),
            "item_id" => fill(&mut event.item_id, non_empty_string(value)),
            "content_index" | "summary_index" => fill(&mut event.part_index, value.to()),
            "item" => fill(&mut event.item, Some(value.clone())),
            "part" => fill(&mut event.part, Some(value.clone())),
            "response" => fill(&mut event.response, Some(value.clone())),
            "error" => fill(&mut event.error, Some(value.clone())),
            "delta" | "text" | "refusal" | "arguments" => {
                fill(&mut event.text, Some(value.clone()))
            }
            // Some servers repeat the tool's name with the arguments.
            "name" => true,
            _ => false,
        });
        Some(event)
    }

    /// Whether the event says which item it is about.
    pub fn names_item(&self) -> bool {
        self.output_index.is_some() || self.item_id.is_some()
    }
}

/// The answer as an object: complete in the last event and in a plain answer, without output in the
/// first event.
#[derive(Default)]
pub(super) struct ResponseObject {
    /// The id of the answer.
    pub id: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// Whether the answer is complete, incomplete, failed, cancelled or still running.
    pub status: Option<String>,
    /// The error of a failed answer.
    pub error: Option<Raw>,
    /// Why the answer is incomplete.
    pub reason: Option<String>,
    /// The items of the answer.
    pub output: Vec<Raw>,
    /// Token counts.
    pub usage: Option<RawMap>,
    /// All other fields.
    pub unknown: UnknownFields,
}

impl ResponseObject {
    /// Reads the object. All of its members are optional.
    pub fn read(map: &RawMap) -> ResponseObject {
        let mut response = ResponseObject::default();
        response.unknown = read_fields(map, |key, value| match key {
            "id" => fill(&mut response.id, non_empty_string(value)),
            "model" => fill(&mut response.model, non_empty_string(value)),
            "status" => fill(&mut response.status, non_empty_string(value)),
            "error" => fill(&mut response.error, Some(value.clone())),
            "incomplete_details" => fill(&mut response.reason, incomplete_reason(value)),
            "output" => fill_list(&mut response.output, value),
            "usage" => fill(&mut response.usage, value.as_object()),
            // These repeat the request, and may be long.
            "object" | "instructions" | "tools" => true,
            _ => false,
        });
        response
    }
}

/// The reason in `incomplete_details`; `None` if they contain anything else.
fn incomplete_reason(details: &Raw) -> Option<String> {
    let details = details.as_object()?;
    if details.len() != 1 {
        return None;
    }
    string_member(&details, "reason")
}
