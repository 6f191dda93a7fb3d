//! The shapes of the Gemini API: what goes out, for serde to write, and the chunks that come back,
//! read leniently.

use analects_core::{Raw, RawMap};
use serde::Serialize;

use crate::reading::put;

/// The body of a request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    pub contents: Vec<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_instruction: Option<Content>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<RawMap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<RawMap>,
    #[serde(skip_serializing_if = "GenerationConfig::is_empty")]
    pub generation_config: GenerationConfig<'a>,
}

/// What one side says.
#[derive(Serialize)]
pub(super) struct Content {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    pub parts: Vec<RawMap>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_config: Option<RawMap>,
}

impl GenerationConfig<'_> {
    fn is_empty(&self) -> bool {
        self.temperature.is_none()
            && self.max_output_tokens.is_none()
            && self.stop_sequences.is_empty()
            && self.thinking_config.is_none()
    }
}

/// One chunk of a stream, or a whole plain answer, which has the same shape.
#[derive(Default)]
pub(super) struct Chunk {
    pub response_id: Option<String>,
    pub model: Option<String>,
    pub candidates: Vec<Raw>,
    pub feedback: Option<Raw>,
    pub usage: Option<RawMap>,
    pub error: Option<Raw>,
    pub rest: RawMap,
}

impl Chunk {
    pub fn read(data: &str) -> Option<Chunk> {
        let mut chunk = Chunk::default();
        chunk.rest = take(&RawMap::parse(data).ok()?, |key, value| match key {
            "responseId" => put(&mut chunk.response_id, value.as_string()),
            "modelVersion" => put(&mut chunk.model, value.as_string()),
            "candidates" => value
                .as_array()
                .map(|list| chunk.candidates = list)
                .is_some(),
            "promptFeedback" => put(&mut chunk.feedback, Some(value.clone())),
            "usageMetadata" => put(&mut chunk.usage, value.as_object()),
            "error" => put(&mut chunk.error, Some(value.clone())),
            _ => false,
        });
        Some(chunk)
    }
}

/// One candidate of a chunk.
#[derive(Default)]
pub(super) struct Candidate {
    pub index: u64,
    pub parts: Vec<Raw>,
    pub finish_reason: Option<String>,
    pub rest: RawMap,
}

impl Candidate {
    pub fn read(raw: &Raw) -> Option<Candidate> {
        let mut candidate = Candidate::default();
        candidate.rest = take(&raw.as_object()?, |key, value| match key {
            "index" => value.to().map(|index| candidate.index = index).is_some(),
            "content" => candidate.read_content(value),
            "finishReason" => put(&mut candidate.finish_reason, value.as_string()),
            _ => false,
        });
        Some(candidate)
    }

    /// Whether the content is one that holds parts and nothing else that matters.
    fn read_content(&mut self, value: &Raw) -> bool {
        let Some(content) = value.as_object() else {
            return false;
        };
        let rest = take(&content, |key, value| match key {
            "parts" => value.as_array().map(|parts| self.parts = parts).is_some(),
            "role" => value.as_str() == "\"model\"",
            _ => false,
        });
        rest.is_empty()
    }
}

/// Hands the entries to `known` one by one and returns those that it does not take. Null says
/// nothing.
pub(super) fn take(map: &RawMap, mut known: impl FnMut(&str, &Raw) -> bool) -> RawMap {
    let mut is_rest = |key: &Raw, value: &Raw| {
        value.as_str() != "null" && !known(&key.as_string().unwrap_or_default(), value)
    };
    map.iter()
        .filter(|(key, value)| is_rest(key, value))
        .collect()
}

/// The complete elements of a JSON array that may have been cut off: without `alt=sse` a stream is
/// one array of chunks. Whether they are JSON is for the reader to see.
pub(crate) fn elements(array: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in array.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                if depth == 2 {
                    start = at;
                }
            }
            b']' | b'}' => {
                if depth == 2 {
                    found.push(&array[start..=at]);
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    found
}
