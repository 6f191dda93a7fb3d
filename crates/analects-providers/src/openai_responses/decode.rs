//! Decodes the events of the Responses API. Blocks are numbered in the order in which they appear.
//! The last event repeats all items, which fills in what the pieces lack; a plain answer is read as
//! a last event without pieces before it.

use std::collections::BTreeMap;

use analects_core::{ApiError, ApiErrorKind, Raw, RawMap, StopReason, StreamEvent, Text};

use super::block_writer::TextUpdate;
use super::item::{AnswerState, OutputItem, ThinkingSource};
use super::wire::{ResponseObject, ResponsesEvent};
use crate::decoding::{EventDecoder, ExtraFields, string_member};
use crate::error::{error_in_stream, error_with_more_fields};
use crate::openai::token_usage;

/// Decodes one answer of the Responses API.
///
/// The text of an item arrives in pieces, then as a whole, then in the finished item, and at last in
/// the answer as an object. Servers omit some of these; whichever comes first is passed on:
///
/// ```text
/// {"type":"response.created","response":{"id":"resp_1","model":"gpt","output":[]}}
/// {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1"}}
/// {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hi"}
/// {"type":"response.output_text.done","output_index":0,"content_index":0,"text":"Hi"}
/// {"type":"response.output_item.done","output_index":0,"item":{"type":"message", …}}
/// {"type":"response.completed","response":{"status":"completed","output":[…],"usage":{…}}}
/// ```
#[derive(Debug, Clone, Default)]
pub(crate) struct ResponsesDecoder {
    /// What the start of the message said; `None` before it.
    started: Option<MessageOrigin>,
    answer: AnswerState,
    items: Vec<OutputItem>,
    // The position in `items`, by an item's number and by its id.
    by_number: BTreeMap<u64, usize>,
    by_id: BTreeMap<String, usize>,
    /// Whether the answer ended, well or badly. What comes afterwards is ignored.
    is_ended: bool,
    extras: ExtraFields,
}

/// The model and the id of an answer, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq)]
struct MessageOrigin {
    model: Option<String>,
    response_id: Option<String>,
}

impl EventDecoder for ResponsesDecoder {
    /// Takes the data of one event, or a plain answer.
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        // Some servers end their stream as Chat Completions do.
        if self.is_ended || data.trim() == "[DONE]" {
            return;
        }
        let Ok(map) = RawMap::parse(data) else {
            return self.keep_malformed(data);
        };
        match ResponsesEvent::read(&map) {
            Some(event) => self.typed_event(event, &map, out),
            None => self.untyped_event(&map, out),
        }
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if self.mark_ended() {
            self.flush(out);
        }
    }

    fn extras(&mut self) -> &mut ExtraFields {
        &mut self.extras
    }

    fn mark_ended(&mut self) -> bool {
        !std::mem::replace(&mut self.is_ended, true)
    }

    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        for item in &mut self.items {
            item.flush(out);
        }
        self.push_extras(out);
    }
}

impl ResponsesDecoder {
    /// Ends the answer with an error that the provider reports.
    fn report(&mut self, error: &Raw, out: &mut Vec<StreamEvent>) {
        if let Some(all) = error_with_more_fields(error) {
            self.extras.add("error", all);
        }
        self.fail(error_in_stream(error), out);
    }

    /// Appends what belongs to no block.
    fn push_extras(&mut self, out: &mut Vec<StreamEvent>) {
        for item in &mut self.items {
            for event in item.unread_events.drain(..) {
                self.extras.add("events", event);
            }
            for text in item.differing_texts.drain(..) {
                self.extras.add("differing_text", text);
            }
        }
        out.extend(self.extras.drain());
    }

    /// Reads an object without a type: an error, or a plain answer.
    fn untyped_event(&mut self, map: &RawMap, out: &mut Vec<StreamEvent>) {
        let has_output = map.get("output").is_some();
        if let Some(error) = map.get("error")
            && !has_output
        {
            self.report(error, out);
        } else if has_output || map.get("status").is_some() {
            self.response(map, out);
        } else {
            self.extras.add("events", map.to_raw());
        }
    }

    /// Reads an event: an error, a sign of life, the answer as an object, or something about an
    /// item.
    fn typed_event(&mut self, event: ResponsesEvent, map: &RawMap, out: &mut Vec<StreamEvent>) {
        match event.kind.as_str() {
            "error" => return self.report(&error_of_event(&event, map), out),
            "ping" | "keepalive" => return out.push(StreamEvent::Ping),
            _ => {}
        }
        if let Some(response) = event.response.as_ref().and_then(Raw::as_object) {
            self.extras.set_all(event.unknown);
            self.response(&response, out);
        } else {
            self.item_event(&event, map, out);
        }
    }

    /// Reads an event about an item, and keeps what is unknown in it.
    fn item_event(&mut self, event: &ResponsesEvent, map: &RawMap, out: &mut Vec<StreamEvent>) {
        let is_known = match (event.kind.as_str(), &event.item) {
            ("response.output_item.added", Some(item)) => {
                self.begin_item(event, item, out);
                true
            }
            ("response.output_item.done", Some(item)) => {
                let position = match self.find_begun(event, item) {
                    Some(position) => position,
                    None => self.begin_item(event, item, out),
                };
                self.finish_item(position, item, out);
                true
            }
            _ => self.piece(event, out),
        };
        if !is_known {
            self.keep(event, map.to_raw());
        } else if event
            .unknown
            .iter()
            .any(|(_, value)| value.as_str() != "[]")
        {
            let unknown: RawMap = event.unknown.iter().cloned().collect();
            self.keep(event, unknown.to_raw());
        }
    }

    /// Reads a piece of an item. Returns `false` for a piece of an unknown kind, or of an unknown
    /// item.
    fn piece(&mut self, event: &ResponsesEvent, out: &mut Vec<StreamEvent>) -> bool {
        if is_answer_text(&event.kind) && self.find_item(event).is_none() {
            // Some servers send text without announcing a message.
            let message = RawMap::from([("type", Raw::string("message"))]).to_raw();
            self.begin_item(event, &message, out);
        }
        let Some(position) = self.find_item(event) else {
            return false;
        };
        let Some(piece) = ItemPiece::of(event) else {
            return false;
        };
        let item = &mut self.items[position];
        // The finished item has said everything.
        item.is_done || piece.apply(item, &mut self.answer, out)
    }

    /// Begins an item and returns its position.
    fn begin_item(
        &mut self,
        event: &ResponsesEvent,
        item: &Raw,
        out: &mut Vec<StreamEvent>,
    ) -> usize {
        let position = self.items.len();
        let started = OutputItem::start(item, &mut self.answer, out);
        self.items.push(started);
        if let Some(number) = event.output_index {
            self.by_number.insert(number, position);
        }
        if let Some(id) = id_of(item).or_else(|| event.item_id.clone()) {
            self.by_id.insert(id, position);
        }
        position
    }

    /// The position of the item that an event is about. Numbers are more reliable than ids, which
    /// some servers make up anew for every event. An event with neither is about the last item.
    fn find_item(&self, event: &ResponsesEvent) -> Option<usize> {
        if !event.names_item() {
            return self.items.len().checked_sub(1);
        }
        self.position_of_number(event.output_index)
            .or_else(|| self.position_of_id(event.item_id.as_deref()))
    }

    /// The position of the item that a finished item belongs to; `None` if it did not begin before.
    fn find_begun(&self, event: &ResponsesEvent, item: &Raw) -> Option<usize> {
        let position = self
            .position_of_number(event.output_index)
            .or_else(|| self.position_of_id(id_of(item).as_deref()))?;
        self.has_same_type(position, item).then_some(position)
    }

    /// The position of the item with this number.
    fn position_of_number(&self, number: Option<u64>) -> Option<usize> {
        self.by_number.get(&number?).copied()
    }

    /// The position of the item with this id.
    fn position_of_id(&self, id: Option<&str>) -> Option<usize> {
        self.by_id.get(id?).copied()
    }

    /// Whether the item at a position is of the same type as another. If not, they are two items.
    fn has_same_type(&self, position: usize, item: &Raw) -> bool {
        let begun = self.items.get(position);
        begun.is_some_and(|begun| begun.has_type_of(item))
    }

    /// Finishes an item, unless an earlier event did.
    fn finish_item(&mut self, position: usize, item: &Raw, out: &mut Vec<StreamEvent>) {
        let begun = self.items.get_mut(position);
        if let Some(begun) = begun.filter(|begun| !begun.is_done) {
            begun.finish(item, &mut self.answer, out);
        }
    }

    /// Keeps an event that is not understood: with its item, until that is finished, or else beside
    /// the message.
    fn keep(&mut self, event: &ResponsesEvent, raw: Raw) {
        let position = self.find_item(event);
        let is_about_item = event.item.is_none() && event.names_item();
        match position.and_then(|position| self.items.get_mut(position)) {
            Some(item) if is_about_item => {
                if !item.is_done {
                    item.unread_events.push(raw);
                }
            }
            _ => self.extras.add("events", raw),
        }
    }

    /// Reads the answer as an object, as the first and the last event have it.
    fn response(&mut self, map: &RawMap, out: &mut Vec<StreamEvent>) {
        let response = ResponseObject::read(map);
        self.start(&response, out);
        for (number, item) in (0..).zip(&response.output) {
            self.output_item(number, item, out);
        }
        if let Some(usage) = &response.usage {
            out.push(StreamEvent::Usage(token_usage(usage)));
        }
        self.extras.set_all(response.unknown);
        match response.status.as_deref() {
            Some("completed") => self.end(true, StopReason::EndTurn, out),
            Some("incomplete") => self.end(false, stop_reason(response.reason), out),
            Some("failed") => {
                let error = response.error.unwrap_or_else(Raw::empty_object);
                self.report(&error, out);
            }
            Some("cancelled") => {
                let text = "the provider says that the answer was cancelled";
                self.fail(ApiError::new(ApiErrorKind::Cancelled, text), out);
            }
            // The answer has only begun, or its server sends no status.
            _ => {}
        }
    }

    /// Starts the message. Some servers name the model only at the end; then it is started again.
    fn start(&mut self, response: &ResponseObject, out: &mut Vec<StreamEvent>) {
        let before = self.started.clone().unwrap_or_default();
        let now = MessageOrigin {
            model: response.model.clone().or(before.model),
            response_id: response.id.clone().or(before.response_id),
        };
        if self.started.as_ref() == Some(&now) {
            return;
        }
        self.answer.id = now.response_id.clone();
        self.started = Some(now.clone());
        out.push(StreamEvent::MessageStart {
            model: now.model,
            response_id: now.response_id,
        });
    }

    /// Reads an item of the finished answer. All of it, a part or nothing may have come before.
    fn output_item(&mut self, number: usize, item: &Raw, out: &mut Vec<StreamEvent>) {
        let event = ResponsesEvent::default();
        let position = match self.find_begun(&event, item) {
            Some(position) => position,
            None if self.has_same_type(number, item) => number,
            None => self.begin_item(&event, item, out),
        };
        self.finish_item(position, item, out);
    }

    /// Ends the answer. If it is not `whole`, a call may be cut off.
    fn end(&mut self, whole: bool, reason: StopReason, out: &mut Vec<StreamEvent>) {
        self.is_ended = true;
        for item in self.items.iter_mut().filter(|item| !item.is_done) {
            item.close(whole, &mut self.answer, out);
        }
        self.push_extras(out);
        let stop_reason = Some(self.answer.final_stop_reason(reason));
        out.push(StreamEvent::MessageStop { stop_reason });
    }
}

/// A piece of an item: `output_text` and `delta` of `response.output_text.delta`, and what it says.
struct ItemPiece<'a> {
    field: &'a str,
    step: &'a str,
    text: Option<TextUpdate>,
    event: &'a ResponsesEvent,
}

impl<'a> ItemPiece<'a> {
    /// Returns `None` for an event with another kind of name.
    fn of(event: &'a ResponsesEvent) -> Option<ItemPiece<'a>> {
        let name = event.kind.strip_prefix("response.")?;
        let (field, step) = name.rsplit_once('.')?;
        let text = event.text.as_ref().and_then(Text::from_raw);
        let text = text.map(|text| {
            if step == "done" {
                TextUpdate::Whole(text)
            } else {
                TextUpdate::Delta(text)
            }
        });
        Some(ItemPiece {
            field,
            step,
            text,
            event,
        })
    }

    /// Adds the piece to its item. Returns `false` if the item has no place for it.
    fn apply(
        self,
        item: &mut OutputItem,
        answer: &mut AnswerState,
        out: &mut Vec<StreamEvent>,
    ) -> bool {
        let part = self.event.part_index;
        match (self.field, self.text) {
            ("output_text", Some(text)) => item.add_text(part, false, &text, answer, out),
            ("refusal", Some(text)) => item.add_text(part, true, &text, answer, out),
            ("function_call_arguments", Some(text)) => item.add_arguments(&text, out),
            ("reasoning_summary_text", Some(TextUpdate::Delta(text))) => {
                item.add_thinking(ThinkingSource::Summary, part, &text, out)
            }
            ("reasoning_text", Some(TextUpdate::Delta(text))) => {
                item.add_thinking(ThinkingSource::Content, part, &text, out)
            }
            ("content_part", _) if self.step == "added" => match &self.event.part {
                Some(raw) => item.begin_part(part, raw, answer, out),
                None => false,
            },
            // The finished item repeats these.
            ("reasoning_summary_text" | "reasoning_text" | "reasoning_summary_part", _) => true,
            _ => false,
        }
    }
}

/// The id of an item, if it has one.
fn id_of(item: &Raw) -> Option<String> {
    string_member(&item.as_object()?, "id")
}

/// Whether an event contains words of the answer, which must never get lost.
fn is_answer_text(kind: &str) -> bool {
    matches!(
        kind,
        "response.output_text.delta" | "response.refusal.delta"
    )
}

/// The stop reason of an incomplete answer.
fn stop_reason(reason: Option<String>) -> StopReason {
    match reason.as_deref() {
        Some("max_output_tokens" | "max_tokens") => StopReason::MaxTokens,
        Some("content_filter") => StopReason::Refusal,
        _ => StopReason::Other(reason.unwrap_or_else(|| "incomplete".to_string())),
    }
}

/// The error of an `error` event, whose fields stand beside its type or in an object of their own.
fn error_of_event(event: &ResponsesEvent, map: &RawMap) -> Raw {
    if let Some(error) = &event.error {
        return error.clone();
    }
    let mut error = map.clone();
    error.remove("type");
    error.to_raw()
}
