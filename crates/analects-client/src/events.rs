//! The events of an answer, as they come.

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
    /// What ended the bytes too early; it is told after the events that came.
    failure: Option<ClientError>,
    /// Whether the provider said that this is all, or that it gives up.
    settled: bool,
    ended: bool,
    key: Option<Key>,
    /// What of the request did not go out.
    left_out: Vec<Problem>,
    /// How many bytes of content may come, and how many still.
    most: usize,
    left: usize,
}

impl EventStream {
    /// The events in these bytes, as long as they hold no more than `most` bytes of content.
    pub(crate) fn new(
        bytes: ByteStream,
        model: &Model,
        left_out: Vec<Problem>,
        most: usize,
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
            settled: false,
            ended: false,
            key,
            left_out,
            most,
            left: most,
        }
    }

    /// What of the request did not go out, because the provider's API has no place for it.
    pub fn left_out(&self) -> &[Problem] {
        &self.left_out
    }

    /// Reads until there is something of the answer, or its end. An error that came before anything
    /// else is given, so that the request can be sent once more: nobody has seen anything of it yet.
    pub(crate) async fn prime(&mut self) -> Option<ClientError> {
        let mut seen = 0;
        loop {
            let settled = self.ready.range(seen..).find_map(|event| match event {
                event if is_content(event) => Some(None),
                StreamEvent::Error(error) => Some(Some(ClientError::BrokeOff(error.clone()))),
                StreamEvent::MessageStop { .. } => Some(None),
                _ => None,
            });
            if let Some(settled) = settled {
                return settled;
            }
            seen = self.ready.len();
            if self.ended {
                let silent = "the provider ended the answer before it began";
                let silent = ApiError::new(ApiErrorKind::Network, silent);
                return Some(
                    self.failure
                        .clone()
                        .unwrap_or(ClientError::BrokeOff(silent)),
                );
            }
            self.read().await;
        }
    }

    /// The next event; `None` at the end, and after an error, be it the provider's (an event) or the
    /// connection's: of the two, only the one that came first is given. A call that is dropped while it waits
    /// loses nothing.
    pub async fn next(&mut self) -> Option<Result<StreamEvent, ClientError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.ended {
                return self.failure.take().map(Err);
            }
            self.read().await;
        }
    }

    async fn read(&mut self) {
        match self.bytes.next().await {
            Some(Ok(bytes)) => {
                let events = self.decoder.push(&bytes);
                self.take(events);
            }
            end => self.end(end.and_then(Result::err)),
        }
    }

    fn take(&mut self, events: Vec<StreamEvent>) {
        for event in events {
            // One sign of life is as good as a million of them, which would have to be kept.
            if event == StreamEvent::Ping && self.ready.back() == Some(&StreamEvent::Ping) {
                continue;
            }
            // Some servers keep the connection open after the last event: do not wait for them.
            let last = matches!(
                event,
                StreamEvent::MessageStop { .. } | StreamEvent::Error(_)
            );
            self.settled |= last;
            self.ended |= last;
            match self.left.checked_sub(size(&event)) {
                Some(left) => self.left = left,
                None => return self.give_up(),
            }
            self.ready.push_back(self.without_key(event));
        }
    }

    /// Takes no more of an answer that holds too much; what came of it is given.
    fn give_up(&mut self) {
        (self.settled, self.ended) = (true, true);
        let text = format!(
            "it holds more than {} bytes, the most that is taken",
            self.most
        );
        let error = ApiError::new(ApiErrorKind::Malformed, text);
        self.failure = Some(ClientError::BrokeOff(error));
    }

    fn end(&mut self, failure: Option<ClientError>) {
        self.ended = true;
        let mut events = self.decoder.finish();
        if failure.is_some() {
            // An answer of which only a part came cannot be blamed for its shape.
            events.retain(|event| !is_malformed(event));
        }
        self.take(events);
        // A connection that breaks after the end of the answer took nothing away, and after an
        // error of the provider it is the provider's words that matter.
        if !self.settled {
            self.failure = failure;
        }
    }

    fn without_key(&self, event: StreamEvent) -> StreamEvent {
        match (event, &self.key) {
            (StreamEvent::Error(mut error), Some(key)) => {
                key.hide_in(&mut error);
                StreamEvent::Error(error)
            }
            (event, _) => event,
        }
    }
}

/// How many bytes of content an event holds.
fn size(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::BlockDelta { delta, .. } => match delta {
            Delta::Text(text) | Delta::Thinking(text) => text.as_str().len(),
            Delta::Signature(text) | Delta::PartialJson(text) => text.len(),
        },
        StreamEvent::BlockStart { block, .. } => match block {
            BlockStart::RedactedThinking { data } => data.len(),
            BlockStart::Other(raw) => raw.as_str().len(),
            BlockStart::Text | BlockStart::Thinking | BlockStart::ToolUse { .. } => 0,
        },
        StreamEvent::ToolUse { input, .. } => input.as_str().len(),
        StreamEvent::BlockExtra { value, .. } | StreamEvent::Extra { value, .. } => {
            value.as_str().len()
        }
        _ => 0,
    }
}

fn is_malformed(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Error(error) if error.kind == ApiErrorKind::Malformed)
}
