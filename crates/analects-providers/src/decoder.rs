//! Bytes of an answer in, events out: the part of decoding that is the same for every provider.

use analects_core::{ApiError, Raw, StreamEvent};
use memchr::memmem;

use crate::anthropic::AnthropicDecoder;
use crate::decoding::EventDecoder;
use crate::gemini::{GeminiDecoder, array_elements};
use crate::openai::OpenAiDecoder;
use crate::openai_responses::ResponsesDecoder;
use crate::sse::{DEFAULT_LIMIT, SseEvent, SseSplitter, TooLong};
use crate::{Api, error};

/// Reads one answer from its bytes, which may arrive in pieces of any size. See [`decoder`] for how
/// to make one.
#[derive(Debug, Clone)]
pub struct Decoder {
    splitter: SseSplitter,
    /// The bytes before the first event, in case the answer is no stream: see
    /// [`Decoder::read_plain_answer`].
    head: Vec<u8>,
    has_event: bool,
    events: ApiDecoder,
}

/// Returns a decoder for one answer of this API.
///
/// ```
/// use analects_core::StreamEvent;
/// use analects_providers::{Api, decoder};
///
/// let mut decoder = decoder(Api::Gemini);
/// let chunk = br#"data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}"#;
/// assert!(decoder.push(chunk).is_empty(), "the event may go on");
/// assert!(!decoder.push(b"\n\n").is_empty());
/// // No finish reason came, so the answer is cut off, and nothing says that it is complete.
/// let is_stop = |event: &StreamEvent| matches!(event, StreamEvent::MessageStop { .. });
/// assert!(!decoder.finish().iter().any(is_stop));
/// ```
pub fn decoder(api: Api) -> Decoder {
    let events = match api {
        Api::AnthropicMessages => ApiDecoder::Anthropic(Box::default()),
        Api::Gemini => ApiDecoder::Gemini(Box::default()),
        Api::OpenAiChat => ApiDecoder::OpenAiChat(Box::default()),
        Api::OpenAiResponses => ApiDecoder::OpenAiResponses(Box::default()),
    };
    Decoder {
        splitter: SseSplitter::default(),
        head: Vec::new(),
        has_event: false,
        events,
    }
}

/// The decoder of events, by wire format. An enum, because a decoder can be cloned.
#[derive(Debug, Clone)]
enum ApiDecoder {
    Anthropic(Box<AnthropicDecoder>),
    Gemini(Box<GeminiDecoder>),
    OpenAiChat(Box<OpenAiDecoder>),
    OpenAiResponses(Box<ResponsesDecoder>),
}

impl ApiDecoder {
    /// The decoder behind its common interface.
    fn get(&mut self) -> &mut dyn EventDecoder {
        match self {
            ApiDecoder::Anthropic(decoder) => decoder.as_mut(),
            ApiDecoder::Gemini(decoder) => decoder.as_mut(),
            ApiDecoder::OpenAiChat(decoder) => decoder.as_mut(),
            ApiDecoder::OpenAiResponses(decoder) => decoder.as_mut(),
        }
    }
}

impl Decoder {
    /// Takes the next bytes and returns the events that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<StreamEvent> {
        let events = self.splitter.push(bytes);
        self.keep_head(bytes);
        self.decode(events)
    }

    /// Ends the answer and returns its last events. If none of all events is a
    /// [`StreamEvent::MessageStop`] or a [`StreamEvent::Error`], the answer was cut off.
    pub fn finish(&mut self) -> Vec<StreamEvent> {
        let events = self.splitter.finish();
        let mut out = self.decode(events);
        if !self.has_event {
            self.read_plain_answer(&mut out);
        }
        self.events.get().finish(&mut out);
        out
    }

    /// Keeps the bytes before the first event, unless they look like a stream, whose events may be
    /// large. Leading blanks, which some servers send to keep a connection alive, are dropped.
    fn keep_head(&mut self, bytes: &[u8]) {
        if self.has_event || self.head.len() > DEFAULT_LIMIT || self.head_is_stream() {
            return;
        }
        let bytes = if self.head.is_empty() {
            bytes.trim_ascii_start()
        } else {
            bytes
        };
        self.head.extend_from_slice(bytes);
    }

    /// Whether enough bytes came to know that the answer begins as a stream does.
    fn head_is_stream(&self) -> bool {
        const ENOUGH_TO_TELL: usize = 64;
        let start = &self.head[..self.head.len().min(ENOUGH_TO_TELL)];
        let start = String::from_utf8_lossy(start);
        start.len() >= ENOUGH_TO_TELL && is_stream_start(&start)
    }

    /// Decodes complete events. An event over the size limit ends the answer, because nobody knows
    /// what it said.
    fn decode(&mut self, events: Vec<Result<SseEvent, TooLong>>) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        for event in events {
            self.has_event = true;
            self.head = Vec::new();
            match event {
                Ok(event) => self.events.get().event(&event.data, &mut out),
                Err(too_long) => self.events.get().fail(too_long.into(), &mut out),
            }
        }
        out
    }

    /// Reads an answer without any event: some servers send plain JSON instead, with the whole
    /// answer, or with an error under status 200.
    fn read_plain_answer(&mut self, out: &mut Vec<StreamEvent>) {
        let head = std::mem::take(&mut self.head);
        let body = String::from_utf8_lossy(&head);
        let body = body.trim();
        let is_gemini = matches!(self.events, ApiDecoder::Gemini(_));
        let events = self.events.get();
        if body.starts_with('{') && Raw::parse(body).is_ok() {
            events.event(body, out);
        } else if is_gemini && is_chunk_list(body) {
            for chunk in array_elements(body) {
                events.event(chunk, out);
            }
        } else if !is_stream_start(body) {
            events.keep_malformed(body);
            let text = "the answer is neither a stream of events nor JSON";
            events.fail(error::malformed(text), out);
        }
    }
}

impl From<TooLong> for ApiError {
    fn from(too_long: TooLong) -> ApiError {
        let limit = too_long.limit;
        error::malformed(format!(
            "an event of more than {limit} bytes cannot be read"
        ))
    }
}

/// Whether this is a list of Gemini's chunks, or the start of one that was cut off.
fn is_chunk_list(body: &str) -> bool {
    body.starts_with('[') && (Raw::parse(body).is_err() || !array_elements(body).is_empty())
}

/// Whether this may be the start of a stream, however short (`dat`), or a stream of comments alone.
fn is_stream_start(body: &str) -> bool {
    let text = body.trim_start_matches('\u{feff}');
    let line = text.lines().next().unwrap_or_default();
    let fields = [":", "data", "event", "id", "retry"];
    fields
        .iter()
        .any(|field| line.starts_with(field) || field.starts_with(line))
}

/// Words that occur in the answers of only one API.
const API_MARKS: [(Api, &[&str]); 4] = [
    (
        Api::OpenAiResponses,
        &[
            "\"response.created\"",
            "\"object\":\"response\"",
            "\"object\": \"response\"",
        ],
    ),
    (Api::OpenAiChat, &["\"choices\""]),
    (
        Api::Gemini,
        &["\"candidates\"", "\"promptFeedback\"", "\"usageMetadata\""],
    ),
    (
        Api::AnthropicMessages,
        &["\"message_start\"", "\"stop_reason\""],
    ),
];

/// Detects the wire format of a recorded answer by the first word that only one of them has.
/// Returns `None` if the bytes contain no such word.
///
/// ```
/// use analects_providers::{Api, detect_api};
///
/// let answer = br#"data: {"id":"r1","choices":[]}"#;
/// assert_eq!(detect_api(answer), Some(Api::OpenAiChat));
/// assert_eq!(detect_api(b"hello"), None);
/// ```
pub fn detect_api(answer: &[u8]) -> Option<Api> {
    let mut first: Option<(usize, Api)> = None;
    for (api, marks) in API_MARKS {
        let Some(at) = first_of(marks, answer) else {
            continue;
        };
        if first.is_none_or(|(before, _)| at < before) {
            first = Some((at, api));
        }
    }
    first.map(|(_, api)| api)
}

/// The position of the first of these words.
fn first_of(words: &[&str], bytes: &[u8]) -> Option<usize> {
    let found = words
        .iter()
        .filter_map(|word| memmem::find(bytes, word.as_bytes()));
    found.min()
}

#[cfg(test)]
mod tests {
    //! Recordings of every wire format.

    use super::*;

    #[test]
    fn the_api_of_a_recording_is_detected() {
        let cases = [
            (
                "event: message_start\ndata: {\"type\":\"message_start\"}\n\n",
                Some(Api::AnthropicMessages),
            ),
            (
                "{\"id\":\"msg\",\"type\":\"message\",\"stop_reason\":\"end_turn\"}",
                Some(Api::AnthropicMessages),
            ),
            (
                "data: {\"id\":\"r\",\"choices\":[]}\n\n",
                Some(Api::OpenAiChat),
            ),
            (
                "event: response.created\ndata: {\"type\":\"response.created\"}\n\n",
                Some(Api::OpenAiResponses),
            ),
            ("data: {\"candidates\":[{}]}\n\n", Some(Api::Gemini)),
            (
                "data: {\"choices\":[{\"delta\":{\"content\":\"\\\"candidates\\\"\"}}]}",
                Some(Api::OpenAiChat),
            ),
            ("hello", None),
        ];
        for (answer, api) in cases {
            assert_eq!(detect_api(answer.as_bytes()), api, "{answer}");
        }
    }
}
