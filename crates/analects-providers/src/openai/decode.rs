//! Decodes the chunks of Chat Completions. Blocks are numbered in the order in which they appear. A
//! tool call is complete only when the answer is, because nothing before says so.

use analects_core::{BlockStart, Delta, Raw, RawMap, StopReason, StreamEvent, Text, TokenUsage};

use super::accumulate::{LogProbabilities, OtherChoices, ReasoningDetails};
use super::tool_calls::{OpenToolCall, OpenToolCalls};
use super::usage::token_usage;
use super::wire::{OpenAiChoice, OpenAiChunk, OpenAiTextPart, OpenAiToolCallDelta};
use crate::decoding::{
    EventDecoder, ExtraFields, HalfCharacter, push_delta, push_extra, push_start, push_stop,
    read_fields, text_member,
};
use crate::error::{error_in_stream, error_with_more_fields};

/// Decodes one answer of Chat Completions.
///
/// A chunk adds to text, to thinking or to calls, but nothing marks where a block begins or ends:
///
/// ```text
/// {"id":"r1","model":"gpt","choices":[{"index":0,"delta":{"role":"assistant"}}]}
/// {"id":"r1","model":"gpt","choices":[{"index":0,"delta":{"content":"Hi"}}]}
/// {"id":"r1","model":"gpt","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
/// {"id":"r1","model":"gpt","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}
/// [DONE]
/// ```
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenAiDecoder {
    /// The answer's id, once the answer began; empty if the server sends none.
    started: Option<String>,
    /// The index of the next block.
    next_index: usize,
    /// The block of text or thinking that is growing.
    current: Option<GrowingBlock>,
    calls: OpenToolCalls,
    stop_reason: Option<StopReason>,
    /// Whether the answer calls a tool.
    has_call: bool,
    has_refusal: bool,
    /// Whether the answer ended, well or badly. What comes afterwards is ignored.
    is_ended: bool,
    usage: TokenUsage,
    log_probabilities: LogProbabilities,
    reasoning_details: ReasoningDetails,
    /// The first block of thinking, which gets the reasoning details.
    thinking_index: Option<usize>,
    other_choices: OtherChoices,
    extras: ExtraFields,
}

/// A block of text or thinking to which the next delta may add.
#[derive(Debug, Clone)]
struct GrowingBlock {
    index: usize,
    kind: GrowingKind,
    half: HalfCharacter,
}

/// What a growing block contains. A refusal is text in the core, with a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GrowingKind {
    Text,
    Thinking,
    Refusal,
}

impl GrowingKind {
    /// How the core starts such a block.
    fn start(self) -> BlockStart {
        match self {
            GrowingKind::Text | GrowingKind::Refusal => BlockStart::Text,
            GrowingKind::Thinking => BlockStart::Thinking,
        }
    }

    /// The core's delta for a piece of such a block.
    fn delta(self, text: Text) -> Delta {
        match self {
            GrowingKind::Text | GrowingKind::Refusal => Delta::Text(text),
            GrowingKind::Thinking => Delta::Thinking(text),
        }
    }
}

impl GrowingBlock {
    /// Adds text, but holds back half a character at its end.
    fn write(&mut self, text: &Text, out: &mut Vec<StreamEvent>) {
        let text = self.half.join(text);
        self.push(text, out);
    }

    /// Passes on what is held back.
    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        let held = self.half.take();
        self.push(held, out);
    }

    /// Passes on text, unless there is none.
    fn push(&self, text: Text, out: &mut Vec<StreamEvent>) {
        if !text.is_empty() {
            push_delta(self.index, self.kind.delta(text), out);
        }
    }
}

impl EventDecoder for OpenAiDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        if self.is_ended {
            return;
        }
        if data.trim() == "[DONE]" {
            self.is_ended = true;
            self.end(out);
            return;
        }
        match OpenAiChunk::read(data) {
            Some(chunk) => self.chunk(chunk, out),
            None => self.keep_malformed(data),
        }
    }

    /// Ends the answer if `[DONE]` did not. With a finish reason, it is complete even without
    /// `[DONE]`.
    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if !self.mark_ended() {
            return;
        }
        if self.stop_reason.is_some() {
            self.end(out);
        } else {
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
        if let Some(block) = &mut self.current {
            block.flush(out);
        }
        self.calls.flush(out);
        self.push_accumulated(out);
    }
}

impl OpenAiDecoder {
    /// Appends what belongs to no block, or to one that may have ended.
    fn push_accumulated(&mut self, out: &mut Vec<StreamEvent>) {
        let details = self.reasoning_details.take();
        if let (Some(index), Some(details)) = (self.thinking_index, details) {
            push_extra(index, "reasoning_details", details, out);
        }
        if let Some(value) = self.log_probabilities.take() {
            self.extras.add("logprobs", value);
        }
        let others = self.other_choices.take();
        if !others.is_empty() {
            self.extras.add("other_choices", Raw::array(&others));
        }
        out.extend(self.extras.drain());
    }

    /// Ends a complete answer.
    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        self.close_all(out);
        self.push_accumulated(out);
        let stop_reason = self.final_stop_reason();
        out.push(StreamEvent::MessageStop { stop_reason });
    }

    /// Corrects the stop reason: several servers report a normal end in spite of tool calls, or of
    /// a refusal.
    fn final_stop_reason(&mut self) -> Option<StopReason> {
        let stop_reason = self.stop_reason.take();
        if self.has_refusal {
            return Some(StopReason::Refusal);
        }
        match stop_reason {
            Some(StopReason::EndTurn) if self.has_call => Some(StopReason::ToolUse),
            stop_reason => stop_reason,
        }
    }

    /// Reads a chunk: its choices first, then the counts and errors.
    fn chunk(&mut self, chunk: OpenAiChunk, out: &mut Vec<StreamEvent>) {
        self.start(&chunk, out);
        for raw in &chunk.choices {
            match OpenAiChoice::read(raw) {
                Some(choice) if choice.index == 0 => self.choice(choice, out),
                Some(choice) if self.other_choices.accepts(choice.index) => {
                    self.other_choices.add(choice);
                }
                _ => self.extras.add("choices", raw.clone()),
            }
        }
        if let Some(usage) = &chunk.usage {
            self.usage(usage, out);
        }
        self.extras.set_all(chunk.unknown);
        if let Some(error) = &chunk.error {
            if let Some(all) = error_with_more_fields(error) {
                self.extras.add("error", all);
            }
            self.fail(error_in_stream(error), out);
        }
    }

    /// Starts the message. Some vendors send an empty chunk first; the answer starts behind it.
    fn start(&mut self, chunk: &OpenAiChunk, out: &mut Vec<StreamEvent>) {
        if self.started.is_some() || chunk.is_empty() {
            return;
        }
        self.started = Some(chunk.id.clone().unwrap_or_default());
        out.push(StreamEvent::MessageStart {
            model: chunk.model.clone(),
            response_id: chunk.id.clone(),
        });
    }

    /// Passes on token counts, unless they repeat those of an earlier chunk.
    fn usage(&mut self, usage: &RawMap, out: &mut Vec<StreamEvent>) {
        let usage = token_usage(usage);
        if usage != self.usage {
            self.usage = usage.clone();
            out.push(StreamEvent::Usage(usage));
        }
    }

    /// Takes a piece of the choice that this decoder reads.
    pub(super) fn choice(&mut self, choice: OpenAiChoice, out: &mut Vec<StreamEvent>) {
        if let Some(delta) = &choice.delta {
            self.delta(delta, out);
        }
        if let Some(reason) = choice.finish_reason {
            self.stop_reason = Some(stop_reason(reason));
            self.close_all(out);
        }
        for (key, value) in choice.unknown {
            if key != "logprobs" || !self.log_probabilities.add(&value) {
                self.extras.add(&key, value);
            }
        }
    }

    /// Reads a delta, or the whole message of a plain answer. Unknown fields are kept.
    fn delta(&mut self, delta: &RawMap, out: &mut Vec<StreamEvent>) {
        self.thinking(delta, out);
        let unknown = read_fields(delta, |key, value| self.delta_field(key, value, out));
        for (key, value) in unknown {
            self.extras.add(&key, value);
        }
    }

    /// Reads the thinking in a delta. Vendors use two names for its text, and some use both at
    /// once. Details repeat the text, if there is any, and add encrypted content and ids.
    fn thinking(&mut self, delta: &RawMap, out: &mut Vec<StreamEvent>) {
        let text = text_member(delta, "reasoning_content")
            .or_else(|| text_member(delta, "reasoning"))
            .filter(|text| !text.is_empty());
        let details = delta.get("reasoning_details");
        let text_of_details = details.and_then(|details| self.reasoning_details.add(details));
        let Some(text) = text.or(text_of_details) else {
            return;
        };
        // Encrypted details need a block as well, even if it stays empty.
        if !text.is_empty() || self.thinking_index.is_none() {
            self.write(GrowingKind::Thinking, &text, out);
        }
    }

    /// Reads a field of a delta. Returns `false` if the field is to be kept as it is.
    fn delta_field(&mut self, key: &str, value: &Raw, out: &mut Vec<StreamEvent>) -> bool {
        match key {
            "role" => true,
            // `thinking` has read these.
            "reasoning_content" | "reasoning" => Text::from_raw(value).is_some(),
            "reasoning_details" => value.as_array().is_some(),
            "content" => self.content(value, out),
            "refusal" => self.refusal(value, out),
            "tool_calls" => self.tool_calls(value, out),
            "function_call" => self.function_call(value, out),
            _ => false,
        }
    }

    /// Reads the text of the answer, which some vendors send as a list of parts.
    fn content(&mut self, value: &Raw, out: &mut Vec<StreamEvent>) -> bool {
        if let Some(text) = Text::from_raw(value) {
            self.write(GrowingKind::Text, &text, out);
            return true;
        }
        let Some(parts) = value.as_array() else {
            return false;
        };
        self.content_parts(parts, out);
        true
    }

    /// Reads a list of parts. What is not text is kept.
    fn content_parts(&mut self, parts: Vec<Raw>, out: &mut Vec<StreamEvent>) {
        let mut unknown = Vec::new();
        for part in parts {
            let Some(text_part) = OpenAiTextPart::read(&part) else {
                unknown.push(part);
                continue;
            };
            if !text_part.unknown.is_empty() {
                let fields: RawMap = text_part.unknown.into_iter().collect();
                unknown.push(fields.to_raw());
            }
            if !text_part.text.is_empty() {
                self.write(GrowingKind::Text, &text_part.text, out);
            }
        }
        if !unknown.is_empty() {
            self.extras.add("content", Raw::array(&unknown));
        }
    }

    /// Reads the text of a refusal, which gets a block of its own.
    fn refusal(&mut self, value: &Raw, out: &mut Vec<StreamEvent>) -> bool {
        let Some(text) = Text::from_raw(value) else {
            return false;
        };
        self.has_refusal = true;
        self.write(GrowingKind::Refusal, &text, out);
        true
    }

    /// Reads pieces of calls. Anything else in the list is kept.
    fn tool_calls(&mut self, value: &Raw, out: &mut Vec<StreamEvent>) -> bool {
        let Some(calls) = value.as_array() else {
            return false;
        };
        for raw in calls {
            match OpenAiToolCallDelta::read(&raw) {
                Some(delta) => self.call(delta, out),
                None => self.extras.add("tool_calls", raw),
            }
        }
        true
    }

    /// Reads a call in the older form, of which an answer has only one.
    fn function_call(&mut self, value: &Raw, out: &mut Vec<StreamEvent>) -> bool {
        let Some(function) = value.as_object() else {
            return false;
        };
        self.call(OpenAiToolCallDelta::from_function(&function), out);
        true
    }

    /// Adds text to the block that is growing, or begins a block if that one is of another kind.
    fn write(&mut self, kind: GrowingKind, text: &Text, out: &mut Vec<StreamEvent>) {
        if self.current.as_ref().map(|block| block.kind) != Some(kind) {
            self.begin_block(kind, out);
        }
        if let Some(block) = &mut self.current {
            block.write(text, out);
        }
    }

    /// Begins a block, after the end of the one before.
    fn begin_block(&mut self, kind: GrowingKind, out: &mut Vec<StreamEvent>) {
        self.close_current(out);
        let index = self.new_block(kind.start(), out);
        match kind {
            GrowingKind::Text => {}
            GrowingKind::Thinking => {
                self.thinking_index.get_or_insert(index);
            }
            GrowingKind::Refusal => push_extra(index, "refusal", true.into(), out),
        }
        self.current = Some(GrowingBlock {
            index,
            kind,
            half: HalfCharacter::default(),
        });
    }

    /// Starts a block and returns its index.
    fn new_block(&mut self, block: BlockStart, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.next_index;
        self.next_index += 1;
        push_start(index, block, out);
        index
    }

    /// Ends the growing block, if there is one.
    fn close_current(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(mut block) = self.current.take() {
            block.flush(out);
            push_stop(block.index, out);
        }
    }

    /// Closes all blocks. A length limit, or whatever else ended the answer early, may have cut off
    /// the arguments of a call.
    fn close_all(&mut self, out: &mut Vec<StreamEvent>) {
        self.close_current(out);
        let is_whole = matches!(
            self.stop_reason,
            Some(StopReason::EndTurn | StopReason::ToolUse) | None
        );
        self.calls.close(is_whole, out);
    }

    /// Adds a piece to the call that it belongs to.
    fn call(&mut self, delta: OpenAiToolCallDelta, out: &mut Vec<StreamEvent>) {
        let position = match self.calls.find(&delta) {
            Some(position) => position,
            None => self.begin_call(&delta, out),
        };
        self.calls.add(position, delta, out);
    }

    /// Begins a call and returns its position among the calls.
    fn begin_call(&mut self, delta: &OpenAiToolCallDelta, out: &mut Vec<StreamEvent>) -> usize {
        self.close_current(out);
        self.has_call = true;
        let id = delta.id.clone().unwrap_or_else(|| self.made_up_call_id());
        let name = delta.name.clone().unwrap_or_default();
        let block = BlockStart::ToolUse {
            id: id.clone(),
            name: name.clone(),
        };
        let index = self.new_block(block, out);
        let call = OpenToolCall::new(index, id, name);
        self.calls.push(delta.index, call)
    }

    /// An id for a call without one, which no other answer uses.
    fn made_up_call_id(&self) -> String {
        let answer = self.started.as_deref().unwrap_or_default();
        format!("call_{answer}_{}", self.next_index)
    }
}

/// The core's stop reason for the API's. Words of other vendors are kept.
fn stop_reason(word: String) -> StopReason {
    match word.as_str() {
        "stop" => StopReason::EndTurn,
        "length" => StopReason::MaxTokens,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "content_filter" => StopReason::Refusal,
        _ => StopReason::Other(word),
    }
}

#[cfg(test)]
mod tests;
