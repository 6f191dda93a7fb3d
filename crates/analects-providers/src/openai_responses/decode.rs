//! Events in, events out. Blocks are numbered in the order in which they appear. The whole items
//! that the last event repeats fill in what the pieces left out, and a plain answer is read as a
//! last event without any pieces before it.

use std::collections::BTreeMap;

use analects_core::{ApiError, ApiErrorKind, Raw, RawMap, StopReason, StreamEvent, Text};

use super::block::Piece;
use super::item::{Answer, Item, Thought};
use super::wire::{Event, Response};
use crate::error::{error_in_stream, more_in_stream};
use crate::openai::token_usage;
use crate::reading::{Extras, word};

/// Reads the events of one answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decoder {
    /// What the start of the message said.
    started: Option<(Option<String>, Option<String>)>,
    answer: Answer,
    items: Vec<Item>,
    // Where an item is, by its number and by its name.
    by_number: BTreeMap<u64, usize>,
    by_id: BTreeMap<String, usize>,
    /// Whether the answer ended, well or badly: what comes after is not part of it.
    done: bool,
    extras: Extras,
}

impl Decoder {
    /// Takes the data of one event, or a plain answer.
    pub fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        // Some servers end their stream as Chat Completions do.
        if self.done || data.trim() == "[DONE]" {
            return;
        }
        let Ok(map) = RawMap::parse(data) else {
            return self.keep_malformed(data);
        };
        match (Event::read(&map), map.get("error")) {
            (Some(event), _) => self.typed(event, &map, out),
            (None, Some(error)) if map.get("output").is_none() => {
                self.report(error, out);
            }
            (None, _) if map.get("output").is_some() || map.get("status").is_some() => {
                self.response(&map, out);
            }
            (None, _) => self.extras.add("events", map.to_raw()),
        }
    }

    /// Keeps data that is not a JSON object with the message; what follows it is read on.
    pub fn keep_malformed(&mut self, data: &str) {
        self.extras.add("malformed_chunk", Raw::string(data));
    }

    /// Ends the answer with an error: nothing comes after it. Blocks stay open, as when it is cut
    /// off.
    pub fn fail(&mut self, error: ApiError, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.done, true) {
            self.flush(out);
            out.push(StreamEvent::Error(error));
        }
    }

    /// Ends the answer with an error that the provider tells.
    fn report(&mut self, error: &Raw, out: &mut Vec<StreamEvent>) {
        if let Some(more) = more_in_stream(error) {
            self.extras.add("error", more);
        }
        self.fail(error_in_stream(error), out);
    }

    /// Ends the answer. Where no event said so, it was cut off: blocks stay open and there is no
    /// stop, so that nobody takes it for the whole.
    pub fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.done, true) {
            self.flush(out);
        }
    }

    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        for item in &mut self.items {
            item.flush(out);
        }
        self.tell_extras(out);
    }

    fn tell_extras(&mut self, out: &mut Vec<StreamEvent>) {
        for item in &mut self.items {
            for raw in item.pending.drain(..) {
                self.extras.add("events", raw);
            }
            for raw in item.differing.drain(..) {
                self.extras.add("differing_text", raw);
            }
        }
        out.extend(self.extras.drain());
    }

    fn typed(&mut self, event: Event, map: &RawMap, out: &mut Vec<StreamEvent>) {
        match event.kind.as_str() {
            "error" => return self.report(&reported(&event, map), out),
            "ping" | "keepalive" => return out.push(StreamEvent::Ping),
            _ => {}
        }
        if let Some(response) = event.response.as_ref().and_then(Raw::as_object) {
            for (key, value) in event.rest {
                self.extras.set(&key, value);
            }
            return self.response(&response, out);
        }
        let text = event.delta.as_ref().and_then(Text::from_raw);
        let known = match (event.kind.as_str(), &event.item, text) {
            ("response.output_item.added", Some(raw), _) => {
                self.added(&event, raw, out);
                true
            }
            ("response.output_item.done", Some(raw), _) => {
                let at = self
                    .find(&event, raw)
                    .unwrap_or_else(|| self.added(&event, raw, out));
                self.finish_item(at, raw, out);
                true
            }
            (kind, _, text) => self.piece(kind, &event, text, out),
        };
        if !known {
            self.keep(&event, map.to_raw());
        } else if event.rest.iter().any(|(_, value)| value.as_str() != "[]") {
            let rest: RawMap = event.rest.iter().cloned().collect();
            self.keep(&event, rest.to_raw());
        }
    }

    /// A piece of an item; `false` if it is of no known kind, or of no known item.
    fn piece(
        &mut self,
        kind: &str,
        event: &Event,
        text: Option<Text>,
        out: &mut Vec<StreamEvent>,
    ) -> bool {
        let part = event.part_index;
        let says = matches!(
            kind,
            "response.output_text.delta" | "response.refusal.delta"
        );
        if says && self.find_piece(event).is_none() {
            // A server that forgets to announce a message still gets its words recorded.
            let message = RawMap::from([("type", Raw::string("message"))]).to_raw();
            self.added(event, &message, out);
        }
        let Some(item) = self.find_piece(event).and_then(|at| self.items.get_mut(at)) else {
            return false;
        };
        let answer = &mut self.answer;
        let Some((kind, step)) = kind
            .strip_prefix("response.")
            .and_then(|kind| kind.rsplit_once('.'))
        else {
            return false;
        };
        let piece = text.map(|text| {
            if step == "done" {
                Piece::Whole(text)
            } else {
                Piece::More(text)
            }
        });
        match (kind, piece) {
            // The whole item has said everything.
            _ if item.done => true,
            ("output_text", Some(piece)) => item.add_text(part, false, &piece, answer, out),
            ("refusal", Some(piece)) => item.add_text(part, true, &piece, answer, out),
            ("function_call_arguments", Some(piece)) => item.add_arguments(&piece, out),
            ("reasoning_summary_text", Some(Piece::More(text))) => {
                item.add_thought(Thought::Summary, part, &text, out)
            }
            ("reasoning_text", Some(Piece::More(text))) => {
                item.add_thought(Thought::Content, part, &text, out)
            }
            ("content_part", _) if step == "added" => {
                let raw = event.part.as_ref();
                raw.is_some_and(|raw| item.start_part(part, raw, answer, out))
            }
            ("reasoning_summary_text" | "reasoning_text" | "reasoning_summary_part", _) => true,
            _ => false,
        }
    }

    fn added(&mut self, event: &Event, raw: &Raw, out: &mut Vec<StreamEvent>) -> usize {
        let at = self.items.len();
        self.items.push(Item::start(raw, &mut self.answer, out));
        if let Some(number) = event.output_index {
            self.by_number.insert(number, at);
        }
        let id = raw.as_object().and_then(|map| word(&map, "id"));
        if let Some(id) = id.or_else(|| event.item_id.clone()) {
            self.by_id.insert(id, at);
        }
        at
    }

    /// The item that an event is about. Numbers are more to be trusted than names, which some
    /// servers make anew for every event; an event with neither is about the last item.
    fn find_piece(&self, event: &Event) -> Option<usize> {
        let by_number = event
            .output_index
            .and_then(|number| self.by_number.get(&number));
        let by_id = || event.item_id.as_ref().and_then(|id| self.by_id.get(id));
        match (by_number.or_else(by_id), event.output_index, &event.item_id) {
            (Some(at), _, _) => Some(*at),
            (None, None, None) => self.items.len().checked_sub(1),
            _ => None,
        }
    }

    /// The item that began and of which this is the whole.
    fn find(&self, event: &Event, raw: &Raw) -> Option<usize> {
        let by_number = event
            .output_index
            .and_then(|number| self.by_number.get(&number).copied());
        let at = by_number.or_else(|| {
            let id = word(&raw.as_object()?, "id")?;
            self.by_id.get(&id).copied()
        });
        at.filter(|at| self.items.get(*at).is_some_and(|item| item.is_like(raw)))
    }

    fn finish_item(&mut self, at: usize, raw: &Raw, out: &mut Vec<StreamEvent>) {
        if let Some(item) = self.items.get_mut(at).filter(|item| !item.done) {
            item.finish(raw, &mut self.answer, out);
        }
    }

    /// Keeps an event: until its item is whole, or for good where it belongs to none.
    fn keep(&mut self, event: &Event, raw: Raw) {
        let at = self.find_piece(event).filter(|_| event.item.is_none());
        match at.and_then(|at| self.items.get_mut(at)) {
            Some(item) if event.output_index.is_some() || event.item_id.is_some() => {
                if !item.done {
                    item.pending.push(raw);
                }
            }
            _ => self.extras.add("events", raw),
        }
    }

    fn response(&mut self, map: &RawMap, out: &mut Vec<StreamEvent>) {
        let response = Response::read(map);
        self.start(&response, out);
        for (number, raw) in (0..).zip(&response.output) {
            self.whole_item(number, raw, out);
        }
        if let Some(usage) = &response.usage {
            out.push(StreamEvent::Usage(token_usage(usage)));
        }
        for (key, value) in response.rest {
            self.extras.set(&key, value);
        }
        let reason = response.reason;
        match response.status.as_deref() {
            Some("completed") => self.end(true, StopReason::EndTurn, out),
            Some("incomplete") => self.end(false, stop_reason(reason), out),
            Some("failed") => {
                self.report(&response.error.unwrap_or_else(Raw::empty_object), out);
            }
            Some("cancelled") => {
                let text = "the provider says that the answer was cancelled";
                self.fail(ApiError::new(ApiErrorKind::Cancelled, text), out);
            }
            // It has begun, or its server says nothing of the kind.
            _ => {}
        }
    }

    /// Begins the message. Some servers name the model at the end only: then it is said again.
    fn start(&mut self, response: &Response, out: &mut Vec<StreamEvent>) {
        let (model, id) = self.started.clone().unwrap_or_default();
        let now = (response.model.clone().or(model), response.id.clone().or(id));
        if self.started.as_ref() == Some(&now) {
            return;
        }
        self.answer.id = now.1.clone();
        self.started = Some(now.clone());
        let (model, response_id) = now;
        out.push(StreamEvent::MessageStart { model, response_id });
    }

    /// An item of the finished answer, of which all, a part or nothing may have come before.
    fn whole_item(&mut self, number: usize, raw: &Raw, out: &mut Vec<StreamEvent>) {
        let event = Event::default();
        let like = |at: &usize| self.items.get(*at).is_some_and(|item| item.is_like(raw));
        let at = self.find(&event, raw).or_else(|| Some(number).filter(like));
        let at = at.unwrap_or_else(|| self.added(&event, raw, out));
        self.finish_item(at, raw, out);
    }

    fn end(&mut self, whole: bool, reason: StopReason, out: &mut Vec<StreamEvent>) {
        self.done = true;
        for item in self.items.iter_mut().filter(|item| !item.done) {
            item.close(whole, &mut self.answer, out);
        }
        self.tell_extras(out);
        let reason = match reason {
            _ if self.answer.refused => StopReason::Refusal,
            StopReason::EndTurn if self.answer.called => StopReason::ToolUse,
            reason => reason,
        };
        out.push(StreamEvent::MessageStop {
            stop_reason: Some(reason),
        });
    }
}

fn stop_reason(word: Option<String>) -> StopReason {
    match word.as_deref() {
        Some("max_output_tokens" | "max_tokens") => StopReason::MaxTokens,
        Some("content_filter") => StopReason::Refusal,
        _ => StopReason::Other(word.unwrap_or_else(|| "incomplete".to_string())),
    }
}

/// The error of an `error` event, which has its members beside its type or in an object of their
/// own.
fn reported(event: &Event, map: &RawMap) -> Raw {
    if let Some(error) = &event.error {
        return error.clone();
    }
    map.iter()
        .filter(|(key, _)| key.as_str() != "\"type\"")
        .collect::<RawMap>()
        .to_raw()
}
