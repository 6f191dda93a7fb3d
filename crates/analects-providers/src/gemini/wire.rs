//! The shapes of the Gemini API: what goes out, for serde to write, and the chunks that come back,
//! which are read leniently.

use analects_core::{Raw, RawMap};
use serde::Serialize;

use crate::decoding::{fill, fill_list, fill_number};

/// The body of a request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiRequest<'a> {
    /// The conversation.
    pub contents: Vec<GeminiContent>,
    /// The request's own instructions. Later ones are contents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_instruction: Option<GeminiContent>,
    /// One tool with all functions; empty without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<RawMap>,
    /// Which functions the model may or must call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<RawMap>,
    /// Limits, temperature, stop sequences and thinking.
    #[serde(skip_serializing_if = "GenerationConfig::is_empty")]
    pub generation_config: GenerationConfig<'a>,
}

/// The API's word for a turn. Instructions have no role.
#[derive(Serialize)]
pub(super) struct GeminiContent {
    /// `user` or `model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// The parts, in the form of the API.
    pub parts: Vec<RawMap>,
}

/// The settings of a request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerationConfig<'a> {
    /// From 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The limit of output tokens, with thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<&'a str>,
    /// Present if the request wants thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_config: Option<RawMap>,
}

impl GenerationConfig<'_> {
    /// Whether there are no settings, so that the object is omitted.
    fn is_empty(&self) -> bool {
        self.temperature.is_none()
            && self.max_output_tokens.is_none()
            && self.stop_sequences.is_empty()
            && self.thinking_config.is_none()
    }
}

/// A chunk of a stream, or a whole plain answer, which has the same shape.
#[derive(Default)]
pub(super) struct GeminiChunk {
    /// The id of the answer, which all chunks repeat.
    pub response_id: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// Pieces of the answer.
    pub candidates: Vec<Raw>,
    /// Why the prompt was refused.
    pub feedback: Option<Raw>,
    /// Token counts so far, in every chunk.
    pub usage: Option<RawMap>,
    /// An error that ends the answer.
    pub error: Option<Raw>,
    /// All other fields.
    pub rest: RawMap,
}

impl GeminiChunk {
    /// Returns `None` for anything but a JSON object.
    pub fn read(data: &str) -> Option<GeminiChunk> {
        let map = RawMap::parse(data).ok()?;
        let mut chunk = GeminiChunk::default();
        chunk.rest = remaining_fields(&map, |key, value| match key {
            "responseId" => fill(&mut chunk.response_id, value.as_string()),
            "modelVersion" => fill(&mut chunk.model, value.as_string()),
            "candidates" => fill_list(&mut chunk.candidates, value),
            "promptFeedback" => fill(&mut chunk.feedback, Some(value.clone())),
            "usageMetadata" => fill(&mut chunk.usage, value.as_object()),
            "error" => fill(&mut chunk.error, Some(value.clone())),
            _ => false,
        });
        Some(chunk)
    }

    /// Whether the chunk says nothing about the answer.
    pub fn is_empty(&self) -> bool {
        self.model.is_none() && self.response_id.is_none() && self.candidates.is_empty()
    }
}

/// A candidate of a chunk: the API's word for one of several answers.
#[derive(Default)]
pub(super) struct GeminiCandidate {
    /// 0 for the first candidate, which is the answer.
    pub index: u64,
    /// The parts of this chunk.
    pub parts: Vec<Raw>,
    /// Why the answer ended.
    pub finish_reason: Option<String>,
    /// All other fields.
    pub rest: RawMap,
}

impl GeminiCandidate {
    /// Returns `None` for anything but an object.
    pub fn read(raw: &Raw) -> Option<GeminiCandidate> {
        let map = raw.as_object()?;
        let mut candidate = GeminiCandidate::default();
        candidate.rest = remaining_fields(&map, |key, value| match key {
            "index" => fill_number(&mut candidate.index, value),
            "content" => candidate.read_content(value),
            "finishReason" => fill(&mut candidate.finish_reason, value.as_string()),
            _ => false,
        });
        Some(candidate)
    }

    /// Reads the parts. Returns whether the content has no other fields, so that it need not be
    /// kept.
    fn read_content(&mut self, value: &Raw) -> bool {
        let Some(content) = value.as_object() else {
            return false;
        };
        let rest = remaining_fields(&content, |key, value| match key {
            "parts" => fill_list(&mut self.parts, value),
            "role" => value.as_str() == "\"model\"",
            _ => false,
        });
        rest.is_empty()
    }
}

/// Passes the fields of an object to `read` one by one, and returns those for which it returns
/// `false`. Null means the same as no field. Unlike [`read_fields`](crate::decoding::read_fields),
/// this keeps empty strings and the spelling of keys, since parts go back unchanged.
pub(super) fn remaining_fields(map: &RawMap, mut read: impl FnMut(&str, &Raw) -> bool) -> RawMap {
    let mut rest = RawMap::new();
    for (key, value) in map.iter() {
        let name = key.as_string().unwrap_or_default();
        if value.as_str() != "null" && !read(&name, value) {
            rest.push_raw(key.clone(), value.clone());
        }
    }
    rest
}

/// The complete elements of a JSON array that may be cut off. Without `alt=sse`, a stream is an
/// array of chunks. The caller has to check whether they are JSON.
pub(crate) fn array_elements(array: &str) -> Vec<&str> {
    let mut elements = Vec::new();
    let mut scanner = BracketScanner::default();
    let mut start = 0;
    for (at, byte) in array.bytes().enumerate() {
        match scanner.next(byte) {
            Bracket::Opens(2) => start = at,
            Bracket::Closes(2) => elements.push(&array[start..=at]),
            _ => {}
        }
    }
    elements
}

/// Counts brackets outside of strings.
#[derive(Default)]
struct BracketScanner {
    depth: usize,
    in_string: bool,
    /// Whether the next byte belongs to an escape.
    is_escaped: bool,
}

/// What a byte does, with the depth inside the bracket.
enum Bracket {
    Opens(usize),
    Closes(usize),
    None,
}

impl BracketScanner {
    /// Takes the next byte. Brackets inside of strings do not count.
    fn next(&mut self, byte: u8) -> Bracket {
        if self.in_string {
            self.next_in_string(byte);
            return Bracket::None;
        }
        match byte {
            b'"' => self.in_string = true,
            b'[' | b'{' => {
                self.depth += 1;
                return Bracket::Opens(self.depth);
            }
            b']' | b'}' => {
                let depth = self.depth;
                self.depth = depth.saturating_sub(1);
                return Bracket::Closes(depth);
            }
            _ => {}
        }
        Bracket::None
    }

    /// Takes a byte of a string, which may be escaped.
    fn next_in_string(&mut self, byte: u8) {
        if self.is_escaped {
            self.is_escaped = false;
        } else if byte == b'\\' {
            self.is_escaped = true;
        } else if byte == b'"' {
            self.in_string = false;
        }
    }
}
