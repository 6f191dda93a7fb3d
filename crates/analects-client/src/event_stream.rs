//! The events of an answer, as they arrive.

use std::collections::VecDeque;

use analects_core::{ApiError, ApiErrorKind, BlockStart, Delta, Problem, StreamEvent};
use analects_providers::{Decoder, decoder};

use crate::adapter::is_content;
use crate::{ByteStream, ClientError, Key, Model, Transport};

/// The events of an answer. Dropping it cancels the request.
#[derive(Debug)]
pub struct EventStream {
    bytes: ByteStream,
    decoder: Decoder,
    ready: VecDeque<StreamEvent>,
    /// The error that ended the bytes too early. It is returned behind the events before it.
    failure: Option<ClientError>,
    /// Whether the provider ended the answer itself, well or with an error.
    has_final_event: bool,
    is_ended: bool,
    key: Option<Key>,
    /// What was changed or omitted in the request.
    left_out: Vec<Problem>,
    max_content: usize,
    /// How many bytes of content may still come.
    content_left: usize,
}

impl EventStream {
    /// Reads events from these bytes, up to `max_content` bytes of content.
    pub(crate) fn new(
        bytes: ByteStream,
        model: &Model,
        left_out: Vec<Problem>,
        max_content: usize,
    ) -> EventStream {
        let key = match &model.transport {
            Transport::Http { key, .. } => key.clone(),
            Transport::Replay(_) | Transport::Local => None,
        };
        EventStream {
            bytes,
            decoder: decoder(model.api),
            ready: VecDeque::new(),
            failure: None,
            has_final_event: false,
            is_ended: false,
            key,
            left_out,
            max_content,
            content_left: max_content,
        }
    }

    /// What was omitted from the request or changed in it, because the provider's API requires it.
    pub fn left_out(&self) -> &[Problem] {
        &self.left_out
    }

    /// Reads until some content has come, or the end. Returns an error that came before any
    /// content: nothing of the answer was passed on, so the request can be sent again.
    pub(crate) async fn wait_for_content(&mut self) -> Option<ClientError> {
        let mut checked = 0;
        loop {
            for event in self.ready.range(checked..) {
                match event {
                    StreamEvent::Error(error) => {
                        return Some(ClientError::Interrupted(error.clone()));
                    }
                    StreamEvent::MessageStop { .. } => return None,
                    event if is_content(event) => return None,
                    _ => {}
                }
            }
            checked = self.ready.len();
            if self.is_ended {
                let failure = self.failure.clone();
                return Some(failure.unwrap_or_else(ended_before_content));
            }
            self.read().await;
        }
    }

    /// Returns the next event; `None` at the end, and after an error. An error may be the
    /// provider's, which is an event, or the connection's; only the first one is returned. Dropping
    /// the call while it waits loses nothing.
    pub async fn next(&mut self) -> Option<Result<StreamEvent, ClientError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.is_ended {
                return self.failure.take().map(Err);
            }
            self.read().await;
        }
    }

    async fn read(&mut self) {
        match self.bytes.next().await {
            Some(Ok(bytes)) => {
                let events = self.decoder.push(&bytes);
                self.add(events);
            }
            Some(Err(error)) => self.end(Some(error)),
            None => self.end(None),
        }
    }

    /// Adds events until the answer contains too much.
    fn add(&mut self, events: Vec<StreamEvent>) {
        for event in events {
            // One sign of life says as much as a million of them, which would have to be kept.
            if event == StreamEvent::Ping && self.ready.back() == Some(&StreamEvent::Ping) {
                continue;
            }
            if is_final(&event) {
                // Some servers keep the connection open after the last event; there is no need to wait for them.
                self.has_final_event = true;
                self.is_ended = true;
            }
            let Some(left) = self.content_left.checked_sub(content_size(&event)) else {
                return self.stop_at_limit();
            };
            self.content_left = left;
            let event = self.without_key(event);
            self.ready.push_back(event);
        }
    }

    /// Ends an answer that contains too much. The events so far are returned.
    fn stop_at_limit(&mut self) {
        self.has_final_event = true;
        self.is_ended = true;
        let max = self.max_content;
        let text = format!("it holds more than {max} bytes, the most that is taken");
        let error = ApiError::new(ApiErrorKind::Malformed, text);
        self.failure = Some(ClientError::Interrupted(error));
    }

    /// Ends the answer when the bytes end, with the error that ended them.
    fn end(&mut self, failure: Option<ClientError>) {
        self.is_ended = true;
        let mut events = self.decoder.finish();
        if failure.is_some() {
            // The shape of half an answer tells nothing.
            events.retain(|event| !is_malformed(event));
        }
        self.add(events);
        // After the last event, a broken connection does not matter; and after an error of the provider, its words do.
        if !self.has_final_event {
            self.failure = failure;
        }
    }

    fn without_key(&self, mut event: StreamEvent) -> StreamEvent {
        if let (StreamEvent::Error(error), Some(key)) = (&mut event, &self.key) {
            key.hide_in(error);
        }
        event
    }
}

fn ended_before_content() -> ClientError {
    let text = "the provider ended the answer before it began";
    ClientError::Interrupted(ApiError::new(ApiErrorKind::Network, text))
}

/// Whether nothing comes after an event.
fn is_final(event: &StreamEvent) -> bool {
    matches!(
        event,
        StreamEvent::MessageStop { .. } | StreamEvent::Error(_)
    )
}

/// How many bytes of content an event contains.
fn content_size(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::BlockDelta { delta, .. } => delta_size(delta),
        StreamEvent::BlockStart { block, .. } => start_size(block),
        StreamEvent::ToolUse { input, .. } => input.as_str().len(),
        StreamEvent::BlockExtra { value, .. } | StreamEvent::Extra { value, .. } => {
            value.as_str().len()
        }
        _ => 0,
    }
}

fn delta_size(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Thinking(text) => text.as_str().len(),
        Delta::Signature(text) | Delta::PartialJson(text) => text.len(),
    }
}

fn start_size(block: &BlockStart) -> usize {
    match block {
        BlockStart::RedactedThinking { data } => data.len(),
        BlockStart::Other(raw) => raw.as_str().len(),
        BlockStart::Text | BlockStart::Thinking | BlockStart::ToolUse { .. } => 0,
    }
}

fn is_malformed(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Error(error) if error.kind == ApiErrorKind::Malformed)
}
