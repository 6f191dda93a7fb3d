//! Bytes of an answer in, events out, whatever the provider: the part that all of them share.

use analects_core::{ApiError, ApiErrorKind, Raw, StreamEvent};
use memchr::memmem;

use crate::sse::{DEFAULT_LIMIT, Splitter, SseEvent, TooLong};
use crate::{Api, anthropic, gemini, openai, openai_responses};

/// Reads one answer, piece by piece.
#[derive(Debug, Clone)]
pub struct Decoder {
    splitter: Splitter,
    /// What came before the first event, in case none comes: see [`Decoder::not_a_stream`].
    head: Vec<u8>,
    seen_event: bool,
    answer: Answer,
}

/// Starts reading an answer.
pub fn decoder(api: Api) -> Decoder {
    let answer = match api {
        Api::AnthropicMessages => Answer::AnthropicMessages(Box::default()),
        Api::Gemini => Answer::Gemini(Box::default()),
        Api::OpenAiChat => Answer::OpenAiChat(Box::default()),
        Api::OpenAiResponses => Answer::OpenAiResponses(Box::default()),
    };
    Decoder {
        splitter: Splitter::default(),
        head: Vec::new(),
        seen_event: false,
        answer,
    }
}

/// What reads the events, by wire format.
#[derive(Debug, Clone)]
enum Answer {
    AnthropicMessages(Box<anthropic::Decoder>),
    Gemini(Box<gemini::Decoder>),
    OpenAiChat(Box<openai::Decoder>),
    OpenAiResponses(Box<openai_responses::Decoder>),
}

impl Answer {
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        match self {
            Answer::AnthropicMessages(answer) => answer.event(data, out),
            Answer::Gemini(answer) => answer.event(data, out),
            Answer::OpenAiChat(answer) => answer.event(data, out),
            Answer::OpenAiResponses(answer) => answer.event(data, out),
        }
    }

    fn keep_malformed(&mut self, data: &str) {
        match self {
            Answer::AnthropicMessages(answer) => answer.keep_malformed(data),
            Answer::Gemini(answer) => answer.keep_malformed(data),
            Answer::OpenAiChat(answer) => answer.keep_malformed(data),
            Answer::OpenAiResponses(answer) => answer.keep_malformed(data),
        }
    }

    fn fail(&mut self, error: ApiError, out: &mut Vec<StreamEvent>) {
        match self {
            Answer::AnthropicMessages(answer) => answer.fail(error, out),
            Answer::Gemini(answer) => answer.fail(error, out),
            Answer::OpenAiChat(answer) => answer.fail(error, out),
            Answer::OpenAiResponses(answer) => answer.fail(error, out),
        }
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        match self {
            Answer::AnthropicMessages(answer) => answer.finish(out),
            Answer::Gemini(answer) => answer.finish(out),
            Answer::OpenAiChat(answer) => answer.finish(out),
            Answer::OpenAiResponses(answer) => answer.finish(out),
        }
    }
}

impl Decoder {
    /// Takes the next bytes and gives what they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<StreamEvent> {
        let events = self.splitter.push(bytes);
        self.keep_head(bytes);
        self.take(events)
    }

    /// Ends the answer. Without a `MessageStop` among all events, it was cut off. After that, and
    /// after an `Error`, which is the last of its events, nothing more comes.
    pub fn finish(&mut self) -> Vec<StreamEvent> {
        let events = self.splitter.finish();
        let mut out = self.take(events);
        if !self.seen_event {
            self.not_a_stream(&mut out);
        }
        self.answer.finish(&mut out);
        out
    }

    /// Keeps what came before the first event, unless it looks like a stream, whose events may be
    /// large. Blanks before it, with which some servers keep a connection alive, say nothing.
    fn keep_head(&mut self, bytes: &[u8]) {
        const ENOUGH_TO_TELL: usize = 64;
        if self.seen_event || self.head.len() > DEFAULT_LIMIT {
            return;
        }
        let start = String::from_utf8_lossy(&self.head[..self.head.len().min(ENOUGH_TO_TELL)]);
        if start.len() < ENOUGH_TO_TELL || !is_stream_start(&start) {
            let blank = if self.head.is_empty() {
                bytes.trim_ascii_start()
            } else {
                bytes
            };
            self.head.extend_from_slice(blank);
        }
    }

    fn take(&mut self, events: Vec<Result<SseEvent, TooLong>>) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        for event in events {
            self.seen_event = true;
            self.head = Vec::new();
            match event {
                Ok(event) => self.answer.event(&event.data, &mut out),
                Err(TooLong { limit }) => {
                    let text = format!("an event of more than {limit} bytes cannot be read");
                    self.answer
                        .fail(ApiError::new(ApiErrorKind::Malformed, text), &mut out);
                }
            }
        }
        out
    }

    /// Some servers answer with plain JSON, be it the whole answer or an error under status 200.
    fn not_a_stream(&mut self, out: &mut Vec<StreamEvent>) {
        let head = std::mem::take(&mut self.head);
        let body = String::from_utf8_lossy(&head);
        let body = body.trim();
        if body.starts_with('{') && Raw::parse(body).is_ok() {
            self.answer.event(body, out);
        } else if matches!(self.answer, Answer::Gemini(_)) && is_chunks(body) {
            gemini::elements(body)
                .iter()
                .for_each(|chunk| self.answer.event(chunk, out));
        } else if !is_stream_start(body) {
            self.answer.keep_malformed(body);
            let text = "the answer is neither a stream of events nor JSON";
            self.answer
                .fail(ApiError::new(ApiErrorKind::Malformed, text), out);
        }
    }
}

/// Whether this is a list of chunks, or the cut-off start of one.
fn is_chunks(body: &str) -> bool {
    body.starts_with('[') && (Raw::parse(body).is_err() || !gemini::elements(body).is_empty())
}

/// Whether this may be the cut-off start of a stream, such as `dat`, or one of comments alone.
fn is_stream_start(body: &str) -> bool {
    let line = body
        .trim_start_matches('\u{feff}')
        .lines()
        .next()
        .unwrap_or_default();
    let names = [":", "data", "event", "id", "retry"];
    names
        .iter()
        .any(|name| line.starts_with(name) || name.starts_with(line))
}

/// The wire format of a recorded answer, by the words that only one of them has; `None` where the
/// beginning of the answer does not tell.
pub fn recognise(answer: &[u8]) -> Option<Api> {
    let marks: [(&[&str], Api); 4] = [
        (
            &[
                "\"response.created\"",
                "\"object\":\"response\"",
                "\"object\": \"response\"",
            ],
            Api::OpenAiResponses,
        ),
        (&["\"choices\""], Api::OpenAiChat),
        (
            &["\"candidates\"", "\"promptFeedback\"", "\"usageMetadata\""],
            Api::Gemini,
        ),
        (
            &["\"message_start\"", "\"stop_reason\""],
            Api::AnthropicMessages,
        ),
    ];
    let place = |mark: &&str| memmem::find(answer, mark.as_bytes());
    let first =
        |(words, api): &(&[&str], Api)| Some((words.iter().filter_map(&place).min()?, *api));
    marks
        .iter()
        .filter_map(first)
        .min_by_key(|(at, _)| *at)
        .map(|(_, api)| api)
}

#[cfg(test)]
mod tests {
    //! Recordings of every wire format.

    use super::*;

    #[test]
    fn recordings_tell_who_gave_them() {
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
            assert_eq!(recognise(answer.as_bytes()), api, "{answer}");
        }
    }
}
