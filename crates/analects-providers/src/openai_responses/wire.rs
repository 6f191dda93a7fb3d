//! The shapes of the Responses API: what goes out, for serde to write, and what comes back, read
//! leniently, since other servers speak it too.

use std::borrow::Cow;

use analects_core::{Raw, RawMap};
use serde::Serialize;

use crate::reading::{Rest, filled, put, take, word};

/// The body of a request.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Cow<'a, str>>,
    pub input: Vec<Raw>,
    pub stream: bool,
    pub store: bool,
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    pub include: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<RawMap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Raw>,
}

#[derive(Serialize)]
pub(super) struct Reasoning {
    pub summary: &'static str,
}

/// An item of the input, but for those that go back as they came.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Message {
        role: &'static str,
        content: Content<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<Raw>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        /// JSON inside a JSON string, as the API has it.
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Content<'a>,
    },
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

/// One event of an answer.
#[derive(Default)]
pub(super) struct Event {
    pub kind: String,
    /// The number of the item that it is about, and its name.
    pub output_index: Option<u64>,
    pub item_id: Option<String>,
    /// The part of that item, be it of its content or of its summary.
    pub part_index: Option<u64>,
    pub item: Option<Raw>,
    pub part: Option<Raw>,
    pub response: Option<Raw>,
    pub error: Option<Raw>,
    /// What is added, or in a `done` event the whole.
    pub delta: Option<Raw>,
    pub rest: Rest,
}

impl Event {
    /// `None` for an object without a type, which is no event.
    pub fn read(map: &RawMap) -> Option<Event> {
        let mut event = Event {
            kind: word(map, "type")?,
            ..Event::default()
        };
        event.rest = take(map, |key, value| match key {
            // Numbers of events and padding against eavesdroppers say nothing about the answer.
            "type" | "sequence_number" | "obfuscation" => true,
            "output_index" => put(&mut event.output_index, value.to()),
            "item_id" => put(&mut event.item_id, filled(value)),
            "content_index" | "summary_index" => put(&mut event.part_index, value.to()),
            "item" => put(&mut event.item, Some(value.clone())),
            "part" => put(&mut event.part, Some(value.clone())),
            "response" => put(&mut event.response, Some(value.clone())),
            "error" => put(&mut event.error, Some(value.clone())),
            "delta" | "text" | "refusal" | "arguments" => {
                put(&mut event.delta, Some(value.clone()))
            }
            // Some servers repeat the tool's name with the arguments.
            "name" => true,
            _ => false,
        });
        Some(event)
    }
}

/// The answer as an object: whole in a plain answer and in the last event, empty in the first.
#[derive(Default)]
pub(super) struct Response {
    pub id: Option<String>,
    pub model: Option<String>,
    pub status: Option<String>,
    pub error: Option<Raw>,
    /// Why it is not complete.
    pub reason: Option<String>,
    pub output: Vec<Raw>,
    pub usage: Option<RawMap>,
    pub rest: Rest,
}

impl Response {
    pub fn read(map: &RawMap) -> Response {
        let mut response = Response::default();
        response.rest = take(map, |key, value| match key {
            "id" => put(&mut response.id, filled(value)),
            "model" => put(&mut response.model, filled(value)),
            "status" => put(&mut response.status, filled(value)),
            "error" => put(&mut response.error, Some(value.clone())),
            "incomplete_details" => put(&mut response.reason, reason(value)),
            "output" => value
                .as_array()
                .map(|output| response.output = output)
                .is_some(),
            "usage" => put(&mut response.usage, value.as_object()),
            // The request over again, which may be long, and what every answer says.
            "object" | "instructions" | "tools" => true,
            _ => false,
        });
        response
    }
}

fn reason(details: &Raw) -> Option<String> {
    let details = details.as_object()?;
    word(&details, "reason").filter(|_| details.len() == 1)
}
