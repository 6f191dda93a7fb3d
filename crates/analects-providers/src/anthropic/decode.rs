//! Decodes the events of Anthropic's Messages.

mod open_block;
mod unknown_block;

use std::collections::BTreeMap;

use analects_core::{Raw, RawMap, StopReason, StreamEvent};

use self::open_block::OpenBlock;
use super::wire::{AnthropicEvent, AnthropicUsage};
use crate::decoding::{
    EventDecoder, ExtraFields, fields_except, list_member, object_member, push_stop, string_member,
};
use crate::error::error_in_stream;

/// The fields of a message that have their own place in the core.
const MESSAGE_FIELDS: [&str; 7] = [
    "type",
    "id",
    "role",
    "model",
    "content",
    "usage",
    "stop_reason",
];

/// Decodes one answer of Anthropic's Messages.
///
/// A block arrives as its start, its deltas and its end, with a number:
///
/// ```text
/// {"type":"message_start","message":{"id":"msg_1","model":"claude","content":[]}}
/// {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
/// {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}
/// {"type":"content_block_stop","index":0}
/// {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}
/// {"type":"message_stop"}
/// ```
#[derive(Debug, Clone, Default)]
pub(crate) struct AnthropicDecoder {
    /// The provider's id for the answer; empty before it is known.
    response_id: String,
    /// The blocks that are growing, by their numbers on the wire.
    open: BTreeMap<u64, OpenBlock>,
    /// The index of the next block.
    next_index: usize,
    /// The blocks of finished calls whose arguments are not JSON.
    broken_calls: Vec<usize>,
    stop_reason: Option<StopReason>,
    /// Whether the answer ended, well or badly. What comes afterwards is ignored.
    is_ended: bool,
    usage: AnthropicUsage,
    extras: ExtraFields,
}

impl EventDecoder for AnthropicDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        if self.is_ended {
            return;
        }
        match AnthropicEvent::read(data) {
            Some(event) => self.typed_event(&event, data, out),
            None => self.keep_malformed(data),
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
        for (_, mut block) in std::mem::take(&mut self.open) {
            block.flush(out);
            if let Some(partial) = block.into_partial_block() {
                self.extras.add("partial_block", partial);
            }
        }
        out.extend(self.extras.drain());
    }
}

impl AnthropicDecoder {
    /// Reads an event by its type. `data` is its JSON, to be kept if it is not understood.
    fn typed_event(&mut self, event: &AnthropicEvent, data: &str, out: &mut Vec<StreamEvent>) {
        match event.kind.as_str() {
            "message_start" => self.message_start(event, out),
            "content_block_start" => match event.object("content_block") {
                Some(block) => self.start_block(event.index(), &block, out),
                None => self.keep_malformed(data),
            },
            "content_block_delta" => match event.object("delta") {
                Some(delta) => self.block_delta(event.index(), &delta, data, out),
                None => self.keep_malformed(data),
            },
            "content_block_stop" => self.stop_block(event.index(), out),
            "message_delta" => self.message_delta(event, out),
            "message_stop" => {
                self.keep_fields(&event.map, &["type"]);
                self.end(out);
            }
            "ping" => out.push(StreamEvent::Ping),
            // A whole answer, from a server that does not stream.
            "message" => {
                self.message(&event.map, out);
                self.end(out);
            }
            _ => self.other_event(event, data, out),
        }
    }

    /// Reads an event of type `error`, or keeps one of an unknown type.
    fn other_event(&mut self, event: &AnthropicEvent, data: &str, out: &mut Vec<StreamEvent>) {
        let Some(error) = event.map.get("error") else {
            return self.keep_event("unknown_event", data);
        };
        let mut error = error_in_stream(error);
        error.request_id = string_member(&event.map, "request_id");
        self.fail(error, out);
    }

    /// Reads the first event of an answer, and keeps its unknown fields.
    fn message_start(&mut self, event: &AnthropicEvent, out: &mut Vec<StreamEvent>) {
        if let Some(message) = event.object("message") {
            self.message(&message, out);
        }
        self.keep_fields(&event.map, &["type", "message"]);
    }

    /// Reads a message. That of `message_start` has no content yet, the one of a plain answer is
    /// complete.
    fn message(&mut self, message: &RawMap, out: &mut Vec<StreamEvent>) {
        let response_id = string_member(message, "id");
        self.response_id = response_id.clone().unwrap_or_default();
        out.push(StreamEvent::MessageStart {
            model: string_member(message, "model"),
            response_id,
        });
        self.usage(message, out);
        for (number, block) in (0..).zip(list_member(message, "content")) {
            match block.as_object() {
                Some(block) => self.start_block(number, &block, out),
                None => self.extras.add("content", block),
            }
            self.stop_block(number, out);
        }
        self.read_stop_reason(message);
        self.keep_fields(message, &MESSAGE_FIELDS);
    }

    /// Reads the event before the last one, with the stop reason and the final counts.
    fn message_delta(&mut self, event: &AnthropicEvent, out: &mut Vec<StreamEvent>) {
        self.usage(&event.map, out);
        if let Some(delta) = event.object("delta") {
            self.read_stop_reason(&delta);
            self.keep_fields(&delta, &["stop_reason"]);
        }
        self.keep_fields(&event.map, &["type", "delta", "usage"]);
    }

    /// Passes on all counts so far, if the object has any.
    fn usage(&mut self, map: &RawMap, out: &mut Vec<StreamEvent>) {
        if let Some(usage) = object_member(map, "usage") {
            out.push(StreamEvent::Usage(self.usage.update(&usage)));
        }
    }

    /// Notes the stop reason. It is null until the answer ends.
    fn read_stop_reason(&mut self, map: &RawMap) {
        if let Some(reason) = string_member(map, "stop_reason") {
            self.stop_reason = Some(reason.into());
        }
    }

    /// Keeps the fields of an object, except for those with these names.
    fn keep_fields(&mut self, map: &RawMap, except: &[&str]) {
        self.extras.set_all(fields_except(map, except));
    }

    /// Keeps an event that is not understood.
    fn keep_event(&mut self, key: &str, data: &str) {
        let event = Raw::parse(data).unwrap_or_else(|_| Raw::string(data));
        self.extras.add(key, event);
    }

    /// Starts a block. A block of the same number that nobody stopped is stopped first.
    fn start_block(&mut self, number: u64, block: &RawMap, out: &mut Vec<StreamEvent>) {
        self.stop_block(number, out);
        let index = self.next_index;
        self.next_index += 1;
        let open = OpenBlock::start(index, block, &self.response_id, out);
        self.open.insert(number, open);
    }

    /// Adds a piece to a block. A piece that fits into no block is kept.
    fn block_delta(&mut self, number: u64, delta: &RawMap, data: &str, out: &mut Vec<StreamEvent>) {
        let kind = string_member(delta, "type").unwrap_or_default();
        if kind == "text_delta" && !self.open.contains_key(&number) {
            // Some servers send text without starting a block.
            let text = RawMap::from([("type", Raw::string("text"))]);
            self.start_block(number, &text, out);
        }
        let is_read = match self.open.get_mut(&number) {
            Some(block) => block.delta(&kind, delta, out),
            None => false,
        };
        if !is_read {
            self.keep_event("unknown_delta", data);
        }
    }

    /// Stops a block, if it is open. The block of a broken call stays open until the stop reason is
    /// known.
    fn stop_block(&mut self, number: u64, out: &mut Vec<StreamEvent>) {
        let Some(block) = self.open.remove(&number) else {
            return;
        };
        let index = block.index();
        if block.complete(out) {
            push_stop(index, out);
        } else {
            self.broken_calls.push(index);
        }
    }

    /// Ends a complete answer.
    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        self.is_ended = true;
        let numbers: Vec<u64> = self.open.keys().copied().collect();
        for number in numbers {
            self.stop_block(number, out);
        }
        // A call that a limit cut off is no call, so its block stays open. But a model that meant to call, and did not
        // write JSON, has to learn so.
        if self.stop_reason == Some(StopReason::ToolUse) {
            for index in self.broken_calls.drain(..) {
                push_stop(index, out);
            }
        }
        out.extend(self.extras.drain());
        let stop_reason = self.stop_reason.take();
        out.push(StreamEvent::MessageStop { stop_reason });
    }
}
