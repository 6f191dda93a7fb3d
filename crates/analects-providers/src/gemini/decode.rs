//! Decodes the chunks of Gemini. A function call arrives as a whole, in one part, so it is complete
//! at once. Nothing marks the end of an answer: it is complete if a finish reason came before the
//! stream ended.

mod wire_part;

use analects_core::{
    ApiError, ApiErrorKind, BlockStart, Delta, Raw, RawMap, StopReason, StreamEvent, Text,
    TokenUsage,
};

use self::wire_part::{GeminiData, GeminiFunctionCall, GeminiPart, PartContent, PartFields};
use super::error::error_in_stream;
use super::usage::token_usage;
use super::wire::{GeminiCandidate, GeminiChunk};
use super::{MADE_UP_ID_PREFIX, PART_TYPE};
use crate::decoding::{EventDecoder, ExtraFields, push_delta, push_start, push_stop};
use crate::encoding::fnv1a;

/// Decodes one answer of Gemini.
///
/// Every chunk is an answer of its own, with some more parts:
///
/// ```text
/// {"candidates":[{"content":{"role":"model","parts":[{"text":"H"}]}}],"modelVersion":"gemini"}
/// {"candidates":[{"content":{"parts":[{"text":"i"}]},"finishReason":"STOP"}],"usageMetadata":{…}}
/// ```
#[derive(Debug, Clone, Default)]
pub(crate) struct GeminiDecoder {
    /// The answer's id, or a stand-in for it, once the answer began. The ids of calls are made from
    /// it.
    started: Option<String>,
    /// The index of the next block.
    next_index: usize,
    /// The block of text or thinking that the next part may continue.
    current: Option<CurrentBlock>,
    has_call: bool,
    finish_reason: Option<String>,
    /// Whether the answer ended, well or badly. What comes afterwards is ignored.
    is_ended: bool,
    usage: TokenUsage,
    extras: ExtraFields,
}

/// A block of text or thinking that is still open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CurrentBlock {
    index: usize,
    is_thinking: bool,
}

impl EventDecoder for GeminiDecoder {
    /// Takes the data of one event, which is one chunk.
    fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        // Gateways in front of Gemini end their streams with `[DONE]`.
        if self.is_ended || data.trim() == "[DONE]" {
            return;
        }
        match GeminiChunk::read(data) {
            Some(chunk) => self.chunk(chunk, data, out),
            None => self.keep_malformed(data),
        }
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if !self.mark_ended() {
            return;
        }
        let Some(reason) = self.finish_reason.take() else {
            return self.flush(out);
        };
        self.close_current(out);
        let stop_reason = stop_reason(&reason, self.has_call);
        if stop_reason == StopReason::Refusal {
            // The core has one word for all kinds of refusal.
            self.extras.set("finishReason", Raw::string(&reason));
        }
        self.flush(out);
        out.push(StreamEvent::MessageStop {
            stop_reason: Some(stop_reason),
        });
    }

    fn extras(&mut self) -> &mut ExtraFields {
        &mut self.extras
    }

    fn mark_ended(&mut self) -> bool {
        !std::mem::replace(&mut self.is_ended, true)
    }

    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        out.extend(self.extras.drain());
    }
}

impl GeminiDecoder {
    /// Reads a chunk: the parts of its candidate first, then the counts and errors.
    fn chunk(&mut self, chunk: GeminiChunk, data: &str, out: &mut Vec<StreamEvent>) {
        self.start(&chunk, data, out);
        for raw in &chunk.candidates {
            match GeminiCandidate::read(raw) {
                Some(candidate) if candidate.index == 0 => self.candidate(candidate, out),
                _ => self.extras.add("other_candidates", raw.clone()),
            }
        }
        if let Some(usage) = &chunk.usage {
            self.usage(usage, out);
        }
        for (key, value) in chunk.rest.iter() {
            self.extras.set(&field_name(key), value.clone());
        }
        if let Some(feedback) = chunk.feedback {
            let error = refusal_of_prompt(&feedback);
            self.extras.set("promptFeedback", feedback);
            if let Some(error) = error {
                self.fail(error, out);
            }
        }
        if let Some(error) = &chunk.error {
            self.fail(error_in_stream(error), out);
        }
    }

    /// Starts the message at the first chunk that says something about it.
    fn start(&mut self, chunk: &GeminiChunk, data: &str, out: &mut Vec<StreamEvent>) {
        if self.started.is_some() || chunk.is_empty() {
            return;
        }
        // Without an id, a hash of the first chunk stands for the answer. Its token counts differ from those of earlier
        // answers.
        let id = chunk.response_id.clone();
        let id = id.unwrap_or_else(|| format!("{:016x}", fnv1a(data.as_bytes(), 0)));
        self.started = Some(id);
        out.push(StreamEvent::MessageStart {
            model: chunk.model.clone(),
            response_id: chunk.response_id.clone(),
        });
    }

    /// Passes on token counts, unless they repeat those of the chunk before.
    fn usage(&mut self, usage: &RawMap, out: &mut Vec<StreamEvent>) {
        let usage = token_usage(usage, &self.usage);
        if usage != self.usage {
            self.usage = usage.clone();
            out.push(StreamEvent::Usage(usage));
        }
    }

    /// Reads the parts of the answer, and why it ended.
    fn candidate(&mut self, candidate: GeminiCandidate, out: &mut Vec<StreamEvent>) {
        for part in &candidate.parts {
            self.part(part, out);
        }
        // Some versions repeat the reason in every chunk, so content may still follow.
        if candidate.finish_reason.is_some() {
            self.finish_reason = candidate.finish_reason;
        }
        for (key, value) in candidate.rest.iter() {
            self.extras.add_changed(&field_name(key), value.clone());
        }
    }

    /// Reads a part. One with unknown or several contents is kept unchanged.
    fn part(&mut self, raw: &Raw, out: &mut Vec<StreamEvent>) {
        let Some(part) = GeminiPart::read(raw) else {
            return self.keep_part(raw, out);
        };
        match part.content {
            PartContent::Text(text) => self.text(text, part.fields, out),
            PartContent::Call(call) => self.call(call, part.fields, out),
            PartContent::Data(data) => self.data(&data, part.fields, out),
        }
    }

    /// Adds text. Consecutive texts become one block, except for a part with other fields, such as
    /// a signature: it must go back with exactly this text.
    fn text(&mut self, text: Text, fields: PartFields, out: &mut Vec<StreamEvent>) {
        let stands_alone = !fields.is_empty();
        if text.is_empty() && !stands_alone {
            return;
        }
        let is_thinking = fields.is_thought;
        let index = match self.current {
            Some(block) if block.is_thinking == is_thinking && !stands_alone => block.index,
            _ => self.begin_block(is_thinking, out),
        };
        if !text.is_empty() {
            push_delta(index, text_delta(is_thinking, text), out);
        }
        if stands_alone {
            fields.push_to_text(index, out);
            self.close_current(out);
        }
    }

    /// Passes on a call. It is complete, but readers expect its arguments as a delta as well.
    fn call(
        &mut self,
        call: GeminiFunctionCall,
        mut fields: PartFields,
        out: &mut Vec<StreamEvent>,
    ) {
        self.close_current(out);
        self.has_call = true;
        let id = call.id.unwrap_or_else(|| self.made_up_call_id());
        let block = BlockStart::ToolUse {
            id: id.clone(),
            name: call.name.clone(),
        };
        let index = self.new_block(block, out);
        push_delta(index, Delta::PartialJson(call.input.to_string()), out);
        if !call.rest.is_empty() {
            fields.rest.push("functionCall", call.rest.to_raw());
        }
        fields.push(index, out);
        out.push(StreamEvent::ToolUse {
            index,
            id,
            name: call.name,
            input: call.input,
        });
        push_stop(index, out);
    }

    /// An id for a call without one, which no other answer uses.
    fn made_up_call_id(&self) -> String {
        let answer = self.started.as_deref().unwrap_or_default();
        format!("{MADE_UP_ID_PREFIX}{answer}_{}", self.next_index)
    }

    /// Passes on an image or another file, as a block of the core.
    fn data(&mut self, data: &GeminiData, fields: PartFields, out: &mut Vec<StreamEvent>) {
        self.close_current(out);
        let index = self.new_block(BlockStart::Other(data.to_block()), out);
        fields.push(index, out);
        push_stop(index, out);
    }

    /// Keeps a part that fits into no block.
    fn keep_part(&mut self, raw: &Raw, out: &mut Vec<StreamEvent>) {
        self.close_current(out);
        let block = RawMap::from([("type", Raw::string(PART_TYPE)), ("part", raw.clone())]);
        let index = self.new_block(BlockStart::Other(block.to_raw()), out);
        push_stop(index, out);
    }

    /// Begins a block of text or thinking and returns its index.
    fn begin_block(&mut self, is_thinking: bool, out: &mut Vec<StreamEvent>) -> usize {
        self.close_current(out);
        let block = if is_thinking {
            BlockStart::Thinking
        } else {
            BlockStart::Text
        };
        let index = self.new_block(block, out);
        self.current = Some(CurrentBlock { index, is_thinking });
        index
    }

    /// Starts a block and returns its index.
    fn new_block(&mut self, block: BlockStart, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.next_index;
        self.next_index += 1;
        push_start(index, block, out);
        index
    }

    /// Ends the open block of text or thinking, if there is one.
    fn close_current(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(block) = self.current.take() {
            push_stop(block.index, out);
        }
    }
}

/// The core's delta for text or thinking.
fn text_delta(is_thinking: bool, text: Text) -> Delta {
    if is_thinking {
        Delta::Thinking(text)
    } else {
        Delta::Text(text)
    }
}

/// The name of a field. A key with half a surrogate pair keeps its JSON spelling.
fn field_name(key: &Raw) -> String {
    key.as_string().unwrap_or_else(|| key.to_string())
}

/// The error for a prompt that Gemini refuses to read; `None` if the feedback says no such thing.
fn refusal_of_prompt(feedback: &Raw) -> Option<ApiError> {
    let map = feedback.as_object()?;
    let reason = map.string("blockReason")?;
    let text = match map.string("blockReasonMessage") {
        Some(message) => format!("the prompt was refused ({reason}): {message}"),
        None => format!("the prompt was refused ({reason})"),
    };
    let mut error = ApiError::new(ApiErrorKind::ContentRefused, text);
    error.error_type = Some(reason);
    Some(error)
}

/// The core's stop reason for Gemini's. Gemini has no reason for tool calls, and many for refusals.
fn stop_reason(word: &str, has_call: bool) -> StopReason {
    match word {
        "STOP" if has_call => StopReason::ToolUse,
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR" => StopReason::Refusal,
        _ => StopReason::Other(word.to_string()),
    }
}
