//! Events of Anthropic's stream in, the core's events out. A block of a type that the core does not
//! know is held back until it is whole, so that no call ever shows with half its input.

use std::collections::BTreeMap;

use analects_core::{
    ApiError, BlockStart, Delta, Json, Raw, RawMap, StopReason, StreamEvent, Text,
};

use super::wire::{Event, Fields, Usage, without};
use crate::error::error_in_stream;
use crate::reading::{Extras, join, word};

/// Reads the events of one answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decoder {
    /// The provider's name for the answer.
    response_id: String,
    /// The blocks that are being written, by their index on the wire.
    open: BTreeMap<u64, Open>,
    next_index: usize,
    /// Complete calls whose arguments are not JSON.
    broken_calls: Vec<usize>,
    stop_reason: Option<StopReason>,
    /// Whether the answer ended, well or badly: what comes after is not part of it.
    done: bool,
    usage: Usage,
    extras: Extras,
}

/// A block in the making.
#[derive(Debug, Clone)]
struct Open {
    index: usize,
    kind: Kind,
    /// Half a character at the end, which waits for its other half.
    held: Text,
}

#[derive(Debug, Clone)]
enum Kind {
    Text {
        citations: Vec<Raw>,
    },
    Thinking,
    Redacted,
    Call {
        id: String,
        name: String,
        input: Raw,
        json: Text,
    },
    Other(Unknown),
}

/// A block of a type that the core does not know, in the making.
#[derive(Debug, Clone, Default)]
struct Unknown {
    block: Fields,
    /// Its input so far.
    json: Text,
    /// Members that came in pieces.
    texts: BTreeMap<String, Text>,
}

impl Decoder {
    /// Takes the data of one event.
    pub fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        if self.done {
            return;
        }
        match Event::read(data) {
            Some(event) => self.take(&event, data, out),
            None => self.keep_malformed(data),
        }
    }

    /// Keeps data that is not a JSON object with the message; what follows it is read on.
    pub fn keep_malformed(&mut self, data: &str) {
        self.extras.add("malformed_chunk", Raw::string(data));
    }

    /// Ends the answer with an error: nothing comes after it.
    pub fn fail(&mut self, error: ApiError, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.done, true) {
            self.flush(out);
            out.push(StreamEvent::Error(error));
        }
    }

    /// Ends the answer. Without its last event it was cut off: blocks stay open and there is no stop.
    pub fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.done, true) {
            self.flush(out);
        }
    }

    fn take(&mut self, event: &Event, data: &str, out: &mut Vec<StreamEvent>) {
        match event.kind.as_str() {
            "message_start" => {
                if let Some(message) = event.object("message") {
                    self.message(&message, out);
                }
                self.set(without(&event.map, &["type", "message"]));
            }
            "content_block_start" => match event.object("content_block") {
                Some(block) => self.start(event.index(), &block, out),
                None => self.keep_malformed(data),
            },
            "content_block_delta" => self.delta(event, data, out),
            "content_block_stop" => self.stop_block(event.index(), out),
            "message_delta" => self.message_delta(event, out),
            "message_stop" => {
                self.set(without(&event.map, &["type"]));
                self.end(out);
            }
            "ping" => out.push(StreamEvent::Ping),
            // A whole answer, from a server that does not stream.
            "message" => {
                self.message(&event.map, out);
                self.end(out);
            }
            _ => match event.map.get("error") {
                Some(error) => {
                    let mut error = error_in_stream(error);
                    error.request_id = word(&event.map, "request_id");
                    self.fail(error, out);
                }
                None => self.keep("unknown_event", data),
            },
        }
    }

    /// What a message says about itself; and, where it is whole, what it says.
    fn message(&mut self, message: &RawMap, out: &mut Vec<StreamEvent>) {
        let (model, response_id) = (word(message, "model"), word(message, "id"));
        self.response_id = response_id.clone().unwrap_or_default();
        out.push(StreamEvent::MessageStart { model, response_id });
        self.usage(message, out);
        let blocks = message
            .get("content")
            .and_then(Raw::as_array)
            .unwrap_or_default();
        for (at, block) in (0..).zip(blocks) {
            match block.as_object() {
                Some(block) => self.start(at, &block, out),
                None => self.extras.add("content", block),
            }
            self.stop_block(at, out);
        }
        self.ending(message);
        let known = [
            "type",
            "id",
            "role",
            "model",
            "content",
            "usage",
            "stop_reason",
        ];
        self.set(without(message, &known));
    }

    fn message_delta(&mut self, event: &Event, out: &mut Vec<StreamEvent>) {
        self.usage(&event.map, out);
        if let Some(delta) = event.object("delta") {
            self.ending(&delta);
            self.set(without(&delta, &["stop_reason"]));
        }
        self.set(without(&event.map, &["type", "delta", "usage"]));
    }

    fn usage(&mut self, map: &RawMap, out: &mut Vec<StreamEvent>) {
        if let Some(usage) = map.get("usage").and_then(Raw::as_object) {
            out.push(StreamEvent::Usage(self.usage.add(&usage)));
        }
    }

    fn ending(&mut self, map: &RawMap) {
        if let Some(reason) = word(map, "stop_reason") {
            self.stop_reason = Some(reason.into());
        }
    }

    fn set(&mut self, rest: Vec<(String, Raw)>) {
        for (key, value) in rest {
            self.extras.set(&key, value);
        }
    }

    /// Keeps an event that has no place of its own.
    fn keep(&mut self, key: &str, data: &str) {
        self.extras
            .add(key, Raw::parse(data).unwrap_or_else(|_| Raw::string(data)));
    }

    fn start(&mut self, at: u64, block: &RawMap, out: &mut Vec<StreamEvent>) {
        // A block that nobody ended is ended by the next of its place.
        self.stop_block(at, out);
        let index = self.next_index;
        self.next_index += 1;
        let (kind, start) = self.kind(index, block);
        let mut open = Open {
            index,
            kind,
            held: Text::default(),
        };
        if let Some(start) = start {
            out.push(StreamEvent::BlockStart {
                index,
                block: start,
            });
            open.begin(block, out);
        }
        self.open.insert(at, open);
    }

    /// What kind of block begins, and how the core says so; blocks that it does not know begin when
    /// they are whole.
    fn kind(&self, index: usize, block: &RawMap) -> (Kind, Option<BlockStart>) {
        match word(block, "type").unwrap_or_default().as_str() {
            "text" => (
                Kind::Text {
                    citations: Vec::new(),
                },
                Some(BlockStart::Text),
            ),
            "thinking" => (Kind::Thinking, Some(BlockStart::Thinking)),
            "redacted_thinking" => {
                let data = word(block, "data").unwrap_or_default();
                (Kind::Redacted, Some(BlockStart::RedactedThinking { data }))
            }
            "tool_use" => {
                let name = word(block, "name").unwrap_or_default();
                let made = || format!("call_{}_{index}", self.response_id);
                let id = word(block, "id").unwrap_or_else(made);
                let input = block
                    .get("input")
                    .cloned()
                    .unwrap_or_else(Raw::empty_object);
                let start = BlockStart::ToolUse {
                    id: id.clone(),
                    name: name.clone(),
                };
                (
                    Kind::Call {
                        id,
                        name,
                        input,
                        json: Text::default(),
                    },
                    Some(start),
                )
            }
            _ => (
                Kind::Other(Unknown {
                    block: block.into(),
                    ..Unknown::default()
                }),
                None,
            ),
        }
    }

    fn delta(&mut self, event: &Event, data: &str, out: &mut Vec<StreamEvent>) {
        let Some(delta) = event.object("delta") else {
            return self.keep_malformed(data);
        };
        let kind = word(&delta, "type").unwrap_or_default();
        if kind == "text_delta" && !self.open.contains_key(&event.index()) {
            // Text that nobody announced is still text.
            let text = RawMap::from([("type", Raw::string("text"))]);
            self.start(event.index(), &text, out);
        }
        let open = self.open.get_mut(&event.index());
        if !open.is_some_and(|open| open.delta(&kind, &delta, out)) {
            self.keep("unknown_delta", data);
        }
    }

    fn stop_block(&mut self, at: u64, out: &mut Vec<StreamEvent>) {
        let Some(open) = self.open.remove(&at) else {
            return;
        };
        let index = open.index;
        if open.close(out) {
            out.push(StreamEvent::BlockStop { index });
        } else {
            self.broken_calls.push(index);
        }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        self.done = true;
        for at in self.open.keys().copied().collect::<Vec<_>>() {
            self.stop_block(at, out);
        }
        // A limit cuts a call in the middle, and what is left is no call. But a model that meant to
        // call and wrote no JSON has to be told so.
        if self.stop_reason == Some(StopReason::ToolUse) {
            let broken = self.broken_calls.drain(..);
            out.extend(broken.map(|index| StreamEvent::BlockStop { index }));
        }
        out.extend(self.extras.drain());
        out.push(StreamEvent::MessageStop {
            stop_reason: self.stop_reason.take(),
        });
    }

    /// Gives everything that was held back.
    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        for (_, mut open) in std::mem::take(&mut self.open) {
            open.flush(out);
            if let Kind::Other(block) = open.kind {
                self.extras.add("partial_block", block.partial());
            }
        }
        out.extend(self.extras.drain());
    }
}

impl Open {
    /// Takes what the start of a block says already.
    fn begin(&mut self, block: &RawMap, out: &mut Vec<StreamEvent>) {
        let index = self.index;
        let text = |key| block.get(key).and_then(Text::from_raw).unwrap_or_default();
        let mut known = vec!["type"];
        match &mut self.kind {
            Kind::Text { citations } => {
                *citations = block
                    .get("citations")
                    .and_then(Raw::as_array)
                    .unwrap_or_default();
                known.extend(["text", "citations"]);
                self.write(&text("text"), out);
            }
            Kind::Thinking => {
                known.extend(["thinking", "signature"]);
                self.write(&text("thinking"), out);
                if let Some(seal) = word(block, "signature") {
                    out.push(StreamEvent::BlockDelta {
                        index,
                        delta: Delta::Signature(seal),
                    });
                }
            }
            Kind::Redacted => known.push("data"),
            _ => known.extend(["id", "name", "input"]),
        }
        for (key, value) in without(block, &known) {
            out.push(StreamEvent::BlockExtra { index, key, value });
        }
    }

    /// Adds a piece; `false` if this block has no place for it.
    fn delta(&mut self, kind: &str, delta: &RawMap, out: &mut Vec<StreamEvent>) -> bool {
        let text = |key| delta.get(key).and_then(Text::from_raw);
        match (&mut self.kind, kind) {
            (Kind::Text { .. }, "text_delta") => self.add(text("text"), out),
            (Kind::Thinking, "thinking_delta") => self.add(text("thinking"), out),
            (Kind::Call { .. }, "input_json_delta") => self.add(text("partial_json"), out),
            (Kind::Thinking, "signature_delta") => {
                let seal = word(delta, "signature");
                let index = self.index;
                let event = |seal| StreamEvent::BlockDelta {
                    index,
                    delta: Delta::Signature(seal),
                };
                out.extend(seal.map(event));
                delta.string("signature").is_some()
            }
            (Kind::Text { citations }, "citations_delta") => {
                let citation = delta.get("citation").cloned();
                let came = citation.is_some();
                citations.extend(citation);
                came
            }
            (Kind::Other(block), "input_json_delta") => {
                let piece = text("partial_json");
                block.json.push(piece.as_ref().unwrap_or(&Text::default()));
                piece.is_some()
            }
            (Kind::Other(block), _) => {
                block.grow(delta);
                true
            }
            _ => false,
        }
    }

    fn add(&mut self, text: Option<Text>, out: &mut Vec<StreamEvent>) -> bool {
        if let Some(text) = &text {
            self.write(text, out);
        }
        text.is_some()
    }

    fn write(&mut self, text: &Text, out: &mut Vec<StreamEvent>) {
        let text = join(&mut self.held, text);
        self.tell(text, out);
    }

    fn tell(&mut self, text: Text, out: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let delta = match &mut self.kind {
            Kind::Thinking => Delta::Thinking(text),
            Kind::Call { json, .. } => {
                json.push(&text);
                Delta::PartialJson(text.as_str().into_owned())
            }
            _ => Delta::Text(text),
        };
        out.push(StreamEvent::BlockDelta {
            index: self.index,
            delta,
        });
    }

    /// Gives what was held back of it.
    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        let held = std::mem::take(&mut self.held);
        self.tell(held, out);
        if let Kind::Text { citations } = &self.kind
            && !citations.is_empty()
        {
            let (index, key, value) = (self.index, "citations".to_string(), Raw::array(citations));
            out.push(StreamEvent::BlockExtra { index, key, value });
        }
    }

    /// Completes the block; `false` for a call whose arguments are not JSON.
    fn close(mut self, out: &mut Vec<StreamEvent>) -> bool {
        self.flush(out);
        let index = self.index;
        match self.kind {
            Kind::Call {
                id,
                name,
                input,
                json,
            } => {
                let input = match json.as_str().trim() {
                    "" => Ok(input),
                    json => Raw::parse(json),
                };
                let Ok(input) = input else { return false };
                out.push(StreamEvent::ToolUse {
                    index,
                    id,
                    name,
                    input,
                });
            }
            Kind::Other(block) => {
                let block = BlockStart::Other(block.whole());
                out.push(StreamEvent::BlockStart { index, block });
            }
            _ => {}
        }
        true
    }
}

impl Unknown {
    /// Takes a delta of an unknown type: texts grow, other members are replaced.
    fn grow(&mut self, delta: &RawMap) {
        for (key, value) in without(delta, &["type"]) {
            match Text::from_raw(&value) {
                Some(more) => {
                    let begun = || self.block.get(&key).and_then(Text::from_raw);
                    let text = self.texts.entry(key.clone());
                    text.or_insert_with(|| begun().unwrap_or_default())
                        .push(&more);
                }
                None => self.block.set(&key, value),
            }
        }
    }

    /// All that came, with its input as text.
    fn partial(mut self) -> Raw {
        let json = std::mem::take(&mut self.json);
        let mut block = self.grown();
        block.set("partial_json", Raw::string(&json.as_str()));
        block.to_map().to_raw()
    }

    /// The block, complete. Input that is not JSON stays as text, under a name of its own.
    fn whole(mut self) -> Raw {
        let json = std::mem::take(&mut self.json);
        let mut block = self.grown();
        match json.as_str().trim() {
            "" => {}
            json => match Raw::parse(json) {
                Ok(input) => block.set("input", input),
                Err(_) => block.set("partial_json", Raw::string(json)),
            },
        }
        block.to_map().to_raw()
    }

    fn grown(self) -> Fields {
        let mut block = self.block;
        for (key, text) in self.texts {
            let text = Raw::parse(&text.to_json());
            block.set(&key, text.unwrap_or_else(|_| Raw::string("")));
        }
        block
    }
}
