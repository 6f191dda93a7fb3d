//! The events of an answer, as they come.

use std::collections::VecDeque;

use analects_core::StreamEvent;
use analects_providers::{Decoder, decoder};

use crate::{ByteStream, ClientError, Key, Model, Transport};

/// The events of an answer. Dropping it cancels the request.
#[derive(Debug)]
pub struct EventStream {
    bytes: ByteStream,
    decoder: Decoder,
    ready: VecDeque<StreamEvent>,
    /// What ended the bytes too early; it is told after the events that came.
    failure: Option<ClientError>,
    /// Whether the provider said that this is all.
    complete: bool,
    ended: bool,
    key: Option<Key>,
}

impl EventStream {
    pub(crate) fn new(bytes: ByteStream, model: &Model) -> EventStream {
        let key = match &model.transport {
            Transport::Http { key, .. } => key.clone(),
            Transport::Replay(_) => None,
        };
        EventStream {
            bytes,
            decoder: decoder(model.api),
            ready: VecDeque::new(),
            failure: None,
            complete: false,
            ended: false,
            key,
        }
    }

    /// The next event; `None` at the end, and after an error. A call that is dropped while it waits
    /// loses nothing.
    pub async fn next(&mut self) -> Option<Result<StreamEvent, ClientError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.ended {
                return self.failure.take().map(Err);
            }
            match self.bytes.next().await {
                Some(Ok(bytes)) => {
                    let events = self.decoder.push(&bytes);
                    self.take(events);
                }
                end => self.end(end.and_then(Result::err)),
            }
        }
    }

    fn take(&mut self, events: Vec<StreamEvent>) {
        for event in events {
            // Some servers keep the connection open after the last event: do not wait for them.
            let last = matches!(event, StreamEvent::MessageStop { .. });
            self.complete |= last;
            self.ended |= last;
            self.ready.push_back(self.without_key(event));
        }
    }

    fn end(&mut self, failure: Option<ClientError>) {
        self.ended = true;
        let events = self.decoder.finish();
        self.take(events);
        // A connection that breaks after the end of the answer took nothing away.
        self.failure = failure.filter(|_| !self.complete);
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
