//! Chunks in, events out. Blocks are numbered in the order in which they appear; a tool call is
//! complete only when the answer is, because nothing before that says so.

use analects_core::{
    ApiError, BlockStart, Delta, Raw, RawMap, StopReason, StreamEvent, Text, TokenUsage,
};

use super::calls::Calls;
use super::details::{Details, Logprobs, Others};
use super::wire::{self, CallDelta, Choice, Chunk};
use crate::error::{error_in_stream, more_in_stream};
use crate::reading::{Extras, join, take};

/// Reads the events of one answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decoder {
    /// The provider's name for the answer, once it began.
    started: Option<String>,
    next_index: usize,
    /// The block of text or thinking that is being written.
    open: Option<(usize, Kind)>,
    /// Half a character at the end of that block, which waits for its other half.
    held: Text,
    calls: Calls,
    stop_reason: Option<StopReason>,
    /// Whether the answer calls a tool.
    called: bool,
    refused: bool,
    /// Whether the answer ended, well or badly: what comes after is not part of it.
    done: bool,
    usage: TokenUsage,
    logprobs: Logprobs,
    details: Details,
    /// The first block of thinking, with which the details are kept.
    thought: Option<usize>,
    others: Others,
    extras: Extras,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Refusal,
}

impl Kind {
    fn delta(self, text: Text) -> Delta {
        match self {
            Kind::Text | Kind::Refusal => Delta::Text(text),
            Kind::Thinking => Delta::Thinking(text),
        }
    }
}

impl Decoder {
    /// Takes the data of one event.
    pub fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        if self.done {
            return;
        }
        if data.trim() == "[DONE]" {
            self.done = true;
            return self.end(out);
        }
        match Chunk::read(data) {
            Some(chunk) => self.chunk(chunk, out),
            None => self.keep_malformed(data),
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

    /// Ends the answer if `[DONE]` did not.
    pub fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        if self.stop_reason.is_some() {
            return self.end(out);
        }
        // Cut off: blocks stay open and there is no stop, so that nobody takes it for the whole.
        self.flush(out);
    }

    /// Gives everything that was held back.
    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        self.flush_open(out);
        self.calls.flush(out);
        self.tell_rest(out);
    }

    /// Gives what belongs to no block, or to one that may be over.
    fn tell_rest(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some((index, value)) = self.thought.zip(self.details.take()) {
            let key = "reasoning_details".to_string();
            out.push(StreamEvent::BlockExtra { index, key, value });
        }
        if let Some(value) = self.logprobs.take() {
            self.extras.add("logprobs", value);
        }
        let others = self.others.take();
        if !others.is_empty() {
            self.extras.add("other_choices", Raw::array(&others));
        }
        out.extend(self.extras.drain());
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        self.close_all(out);
        self.tell_rest(out);
        let refused = self.refused.then_some(StopReason::Refusal);
        // Several servers say that they are done, and leave it to the reader to find the calls.
        let stop_reason = match self.stop_reason.take() {
            Some(StopReason::EndTurn) if self.called => Some(StopReason::ToolUse),
            stop_reason => stop_reason,
        };
        let stop_reason = refused.or(stop_reason);
        out.push(StreamEvent::MessageStop { stop_reason });
    }

    fn chunk(&mut self, chunk: Chunk, out: &mut Vec<StreamEvent>) {
        self.start(&chunk, out);
        for raw in &chunk.choices {
            match Choice::read(raw) {
                Some(choice) if choice.index == 0 => self.choice(choice, out),
                Some(choice) if self.others.takes(choice.index) => self.others.add(choice),
                _ => self.extras.add("choices", raw.clone()),
            }
        }
        if let Some(usage) = chunk.usage.map(|usage| token_usage(&usage))
            && usage != self.usage
        {
            self.usage = usage.clone();
            out.push(StreamEvent::Usage(usage));
        }
        for (key, value) in chunk.rest {
            self.extras.set(&key, value);
        }
        if let Some(error) = &chunk.error {
            if let Some(more) = more_in_stream(error) {
                self.extras.add("error", more);
            }
            self.fail(error_in_stream(error), out);
        }
    }

    /// Some vendors begin with a chunk that says nothing at all; the answer starts after it.
    fn start(&mut self, chunk: &Chunk, out: &mut Vec<StreamEvent>) {
        let says_nothing = chunk.id.is_none() && chunk.model.is_none() && chunk.choices.is_empty();
        if self.started.is_some() || says_nothing {
            return;
        }
        self.started = Some(chunk.id.clone().unwrap_or_default());
        let (model, response_id) = (chunk.model.clone(), chunk.id.clone());
        out.push(StreamEvent::MessageStart { model, response_id });
    }

    pub(super) fn choice(&mut self, choice: Choice, out: &mut Vec<StreamEvent>) {
        if let Some(delta) = &choice.delta {
            self.delta(delta, out);
        }
        if let Some(reason) = choice.finish_reason {
            self.stop_reason = Some(stop_reason(reason));
            self.close_all(out);
        }
        for (key, value) in choice.rest {
            if key != "logprobs" || !self.logprobs.add(&value) {
                self.extras.add(&key, value);
            }
        }
    }

    fn delta(&mut self, delta: &RawMap, out: &mut Vec<StreamEvent>) {
        // Vendors spell it one way or the other, and some both ways at once.
        let spelling = ["reasoning_content", "reasoning"];
        let thought = spelling
            .iter()
            .find_map(|key| Text::from_raw(delta.get(key)?));
        // Details repeat the words, where there are any, and add seals and names.
        let details = delta
            .get("reasoning_details")
            .and_then(|details| self.details.add(details));
        let thought = thought.filter(|thought| !thought.is_empty()).or(details);
        if let Some(thought) = thought
            && (!thought.is_empty() || self.thought.is_none())
        {
            self.write(Kind::Thinking, thought, out);
        }
        let rest = take(delta, |key, value| match key {
            "role" => true,
            "reasoning_content" | "reasoning" => Text::from_raw(value).is_some(),
            "reasoning_details" => value.as_array().is_some(),
            "content" | "refusal" => match Text::from_raw(value) {
                Some(text) => {
                    let refused = key == "refusal";
                    self.refused |= refused;
                    self.write(if refused { Kind::Refusal } else { Kind::Text }, text, out);
                    true
                }
                None => key == "content" && self.parts(value, out),
            },
            "tool_calls" => self.calls(value, out),
            "function_call" => value.as_object().is_some_and(|function| {
                self.call(CallDelta::of_function(&function), out);
                true
            }),
            _ => false,
        });
        for (key, value) in rest {
            self.extras.add(&key, value);
        }
    }

    /// Some vendors send text as a list of parts; `false` if `value` is none. What is not text in
    /// them is kept.
    fn parts(&mut self, value: &Raw, out: &mut Vec<StreamEvent>) -> bool {
        let Some(parts) = value.as_array() else {
            return false;
        };
        let mut rest = Vec::new();
        for part in parts {
            match wire::text_part(&part) {
                Some((text, more)) => {
                    rest.extend((!more.is_empty()).then(|| more.to_raw()));
                    if !text.is_empty() {
                        self.write(Kind::Text, text, out);
                    }
                }
                None => rest.push(part),
            }
        }
        if !rest.is_empty() {
            self.extras.add("content", Raw::array(&rest));
        }
        true
    }

    fn write(&mut self, kind: Kind, text: Text, out: &mut Vec<StreamEvent>) {
        let index = match self.open {
            Some((index, open)) if open == kind => index,
            _ => self.open(kind, out),
        };
        let text = join(&mut self.held, &text);
        if !text.is_empty() {
            out.push(StreamEvent::BlockDelta {
                index,
                delta: kind.delta(text),
            });
        }
    }

    fn flush_open(&mut self, out: &mut Vec<StreamEvent>) {
        let held = std::mem::take(&mut self.held);
        if let Some((index, kind)) = self.open.filter(|_| !held.is_empty()) {
            out.push(StreamEvent::BlockDelta {
                index,
                delta: kind.delta(held),
            });
        }
    }

    fn open(&mut self, kind: Kind, out: &mut Vec<StreamEvent>) -> usize {
        self.close_open(out);
        let block = match kind {
            Kind::Text | Kind::Refusal => BlockStart::Text,
            Kind::Thinking => BlockStart::Thinking,
        };
        let index = self.new_block(block, out);
        if kind == Kind::Thinking {
            self.thought.get_or_insert(index);
        }
        if kind == Kind::Refusal {
            let (key, value) = ("refusal".to_string(), true.into());
            out.push(StreamEvent::BlockExtra { index, key, value });
        }
        self.open = Some((index, kind));
        index
    }

    fn new_block(&mut self, block: BlockStart, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.next_index;
        self.next_index += 1;
        out.push(StreamEvent::BlockStart { index, block });
        index
    }

    fn close_open(&mut self, out: &mut Vec<StreamEvent>) {
        self.flush_open(out);
        if let Some((index, _)) = self.open.take() {
            out.push(StreamEvent::BlockStop { index });
        }
    }

    fn close_all(&mut self, out: &mut Vec<StreamEvent>) {
        self.close_open(out);
        // The limit, and whatever else stopped it, may have cut the arguments of a call short.
        let whole = matches!(
            self.stop_reason,
            Some(StopReason::EndTurn | StopReason::ToolUse) | None
        );
        self.calls.close(whole, out);
    }

    /// Whether `value` was a list of calls.
    fn calls(&mut self, value: &Raw, out: &mut Vec<StreamEvent>) -> bool {
        let Some(calls) = value.as_array() else {
            return false;
        };
        for raw in calls {
            match CallDelta::read(&raw) {
                Some(delta) => self.call(delta, out),
                None => self.extras.add("tool_calls", raw),
            }
        }
        true
    }

    fn call(&mut self, delta: CallDelta, out: &mut Vec<StreamEvent>) {
        let at = self
            .calls
            .find(&delta)
            .unwrap_or_else(|| self.open_call(&delta, out));
        self.calls.add(at, delta, out);
    }

    fn open_call(&mut self, delta: &CallDelta, out: &mut Vec<StreamEvent>) -> usize {
        self.close_open(out);
        self.called = true;
        let name = delta.name.clone().unwrap_or_default();
        // A call that its vendor did not name gets a name that no other answer uses.
        let given = delta.id.clone();
        let answer = self.started.as_deref().unwrap_or_default();
        let id = given.unwrap_or_else(|| format!("call_{answer}_{}", self.next_index));
        let block = BlockStart::ToolUse {
            id: id.clone(),
            name: name.clone(),
        };
        let index = self.new_block(block, out);
        self.calls.push(index, delta.index, id, name)
    }
}

fn stop_reason(word: String) -> StopReason {
    match word.as_str() {
        "stop" => StopReason::EndTurn,
        "length" => StopReason::MaxTokens,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "content_filter" => StopReason::Refusal,
        _ => StopReason::Other(word),
    }
}

/// Counts under the names of the core. What is read includes the cached tokens here, and does not
/// there; what has no name there is kept as it came. The two APIs of OpenAI have two names for each.
pub(crate) fn token_usage(map: &RawMap) -> TokenUsage {
    let mut usage = TokenUsage::default();
    let mut prompt = None;
    let rest = take(map, |key, value| {
        let count = value.to::<u64>();
        match key {
            "prompt_tokens" | "input_tokens" => prompt = count,
            "completion_tokens" | "output_tokens" => usage.output_tokens = count,
            "total_tokens" => usage.total_tokens = count,
            _ => return false,
        }
        count.is_some()
    });
    usage.cache_read_input_tokens = detail(map, "prompt_tokens_details", "cached_tokens")
        .or_else(|| detail(map, "input_tokens_details", "cached_tokens"))
        .or_else(|| map.get("prompt_cache_hit_tokens").and_then(Raw::to));
    usage.reasoning_tokens = detail(map, "completion_tokens_details", "reasoning_tokens")
        .or_else(|| detail(map, "output_tokens_details", "reasoning_tokens"));
    let cached = usage.cache_read_input_tokens.unwrap_or(0);
    usage.input_tokens = prompt.map(|prompt: u64| prompt.saturating_sub(cached));
    let sum = |written: Option<u64>| prompt?.checked_add(written?);
    // Some vendors count the thoughts apart from the answer; their total gives it away.
    let with_thoughts = usage.output_tokens.zip(usage.reasoning_tokens);
    let with_thoughts = with_thoughts.and_then(|(written, thought)| written.checked_add(thought));
    if usage.total_tokens.is_some()
        && usage.total_tokens != sum(usage.output_tokens)
        && usage.total_tokens == sum(with_thoughts)
    {
        usage.output_tokens = with_thoughts;
    }
    // A total that is no more than the sum says nothing.
    usage.total_tokens = usage
        .total_tokens
        .filter(|total| sum(usage.output_tokens) != Some(*total));
    usage.extra = rest.into_iter().collect();
    usage
}

fn detail(usage: &RawMap, group: &str, name: &str) -> Option<u64> {
    usage.get(group)?.as_object()?.get(name)?.to()
}

#[cfg(test)]
mod tests;
