//! Chunks in, events out. A function call comes whole, in one part, so it is complete at once. The
//! end is not said: the answer is complete if a reason to finish came and the stream then ended.

use analects_core::{
    ApiError, ApiErrorKind, BlockStart, Delta, Raw, RawMap, StopReason, StreamEvent, Text,
    TokenUsage,
};

use super::error::error_in_stream;
use super::wire::{self, Candidate, Chunk};
use super::{MADE_ID, PART_REST, PART_TYPE, SIGNATURE};
use crate::reading::{Extras, filled};

/// Reads the chunks of one answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decoder {
    /// What names of calls are made from, once the answer began.
    started: Option<String>,
    next_index: usize,
    /// The block of text or thinking that is being written.
    open: Option<(usize, Kind)>,
    calls: bool,
    finish_reason: Option<String>,
    /// Whether the answer ended, well or badly: what comes after is not part of it.
    done: bool,
    usage: TokenUsage,
    extras: Extras,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

impl Decoder {
    /// Takes the data of one event, which is one chunk.
    pub fn event(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        // Gemini has no such end, but gateways in front of it do.
        if self.done || data.trim() == "[DONE]" {
            return;
        }
        match Chunk::read(data) {
            Some(chunk) => self.chunk(chunk, data, out),
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
            out.extend(self.extras.drain());
            out.push(StreamEvent::Error(error));
        }
    }

    /// Ends the answer: whole if a reason to finish came, else cut off, with its block left open.
    pub fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        let Some(reason) = self.finish_reason.take() else {
            return out.extend(self.extras.drain());
        };
        self.close(out);
        let stop_reason = stop_reason(&reason, self.calls);
        if stop_reason == StopReason::Refusal {
            // The core has one word for all of them.
            self.extras.set("finishReason", Raw::string(&reason));
        }
        out.extend(self.extras.drain());
        out.push(StreamEvent::MessageStop {
            stop_reason: Some(stop_reason),
        });
    }

    fn chunk(&mut self, chunk: Chunk, data: &str, out: &mut Vec<StreamEvent>) {
        self.start(&chunk, data, out);
        for raw in &chunk.candidates {
            match Candidate::read(raw) {
                Some(candidate) if candidate.index == 0 => self.candidate(candidate, out),
                _ => self.extras.add("other_candidates", raw.clone()),
            }
        }
        if let Some(usage) = chunk.usage.map(|usage| token_usage(&usage, &self.usage))
            && usage != self.usage
        {
            self.usage = usage.clone();
            out.push(StreamEvent::Usage(usage));
        }
        for (key, value) in chunk.rest.iter() {
            self.extras.set(&name(key), value.clone());
        }
        if let Some(feedback) = chunk.feedback {
            let refused = refused(&feedback);
            self.extras.set("promptFeedback", feedback);
            if let Some(error) = refused {
                self.fail(error, out);
            }
        }
        if let Some(error) = &chunk.error {
            self.fail(error_in_stream(error), out);
        }
    }

    fn start(&mut self, chunk: &Chunk, data: &str, out: &mut Vec<StreamEvent>) {
        let Chunk {
            model,
            response_id,
            candidates,
            ..
        } = chunk;
        let says_nothing = model.is_none() && response_id.is_none() && candidates.is_empty();
        if self.started.is_some() || says_nothing {
            return;
        }
        // Without a name for the answer, its first chunk stands for it: the counts in it make it
        // differ from the ones before.
        let made = || format!("{:016x}", fnv1a(data.as_bytes()));
        self.started = Some(response_id.clone().unwrap_or_else(made));
        let (model, response_id) = (model.clone(), response_id.clone());
        out.push(StreamEvent::MessageStart { model, response_id });
    }

    fn candidate(&mut self, candidate: Candidate, out: &mut Vec<StreamEvent>) {
        for part in &candidate.parts {
            self.part(part, out);
        }
        // Some versions say it with every chunk, so content may still follow.
        self.finish_reason = candidate.finish_reason.or(self.finish_reason.take());
        for (key, value) in candidate.rest.iter() {
            self.extras.add_new(&name(key), value.clone());
        }
    }

    fn part(&mut self, raw: &Raw, out: &mut Vec<StreamEvent>) {
        let Some(map) = raw.as_object() else {
            return self.keep_part(raw, out);
        };
        let mut part = Part::default();
        let rest = wire::take(&map, |key, value| part.take(key, value));
        // A part has one kind of data; more than one is nothing that we know.
        match (part.text.take(), part.call.take(), part.data.take()) {
            (Some(text), None, None) => self.text(text, part, rest, out),
            (None, Some(call), None) => self.call(call, part, rest, out),
            (None, None, Some(data)) => self.data(data, part, rest, out),
            _ => self.keep_part(raw, out),
        }
    }

    /// Texts in a row are one block, unless they are sealed: a sealed part must neither grow nor
    /// lose its place.
    fn text(&mut self, text: Text, part: Part, rest: RawMap, out: &mut Vec<StreamEvent>) {
        let kind = if part.thought {
            Kind::Thinking
        } else {
            Kind::Text
        };
        let alone = part.signature.is_some() || !rest.is_empty();
        if text.is_empty() && !alone {
            return;
        }
        let index = match self.open {
            Some((index, open)) if open == kind && !alone => index,
            _ => self.open(kind, out),
        };
        if !text.is_empty() {
            let delta = match kind {
                Kind::Text => Delta::Text(text),
                Kind::Thinking => Delta::Thinking(text),
            };
            out.push(StreamEvent::BlockDelta { index, delta });
        }
        if alone {
            let seal = part.signature.as_ref().filter(|_| kind == Kind::Thinking);
            match seal.and_then(Raw::as_string) {
                Some(seal) => {
                    let delta = Delta::Signature(seal);
                    out.push(StreamEvent::BlockDelta { index, delta });
                    extra(index, None, rest, out);
                }
                None => extra(index, part.signature, rest, out),
            }
            self.close(out);
        }
    }

    fn call(&mut self, call: Call, part: Part, mut rest: RawMap, out: &mut Vec<StreamEvent>) {
        self.close(out);
        self.calls = true;
        let Call {
            id,
            name,
            input,
            more,
        } = call;
        let answer = self.started.as_deref().unwrap_or_default();
        let id = id.unwrap_or_else(|| format!("{MADE_ID}{answer}_{}", self.next_index));
        let block = BlockStart::ToolUse {
            id: id.clone(),
            name: name.clone(),
        };
        let index = self.new_block(block, out);
        let delta = Delta::PartialJson(input.to_string());
        out.push(StreamEvent::BlockDelta { index, delta });
        if !more.is_empty() {
            rest.push("functionCall", more.to_raw());
        }
        part.mark_thought(&mut rest);
        extra(index, part.signature, rest, out);
        out.push(StreamEvent::ToolUse {
            index,
            id,
            name,
            input,
        });
        out.push(StreamEvent::BlockStop { index });
    }

    /// A picture or another file, as a block of the core.
    fn data(&mut self, data: Data, part: Part, mut rest: RawMap, out: &mut Vec<StreamEvent>) {
        self.close(out);
        let kind = if data.is_image { "image" } else { "document" };
        let block = RawMap::from([
            ("type", Raw::string(kind)),
            ("source", data.source.to_raw()),
        ]);
        let index = self.new_block(BlockStart::Other(block.to_raw()), out);
        part.mark_thought(&mut rest);
        extra(index, part.signature, rest, out);
        out.push(StreamEvent::BlockStop { index });
    }

    /// Keeps a part that no block has a place for.
    fn keep_part(&mut self, raw: &Raw, out: &mut Vec<StreamEvent>) {
        self.close(out);
        let block = RawMap::from([("type", Raw::string(PART_TYPE)), ("part", raw.clone())]);
        let index = self.new_block(BlockStart::Other(block.to_raw()), out);
        out.push(StreamEvent::BlockStop { index });
    }

    fn open(&mut self, kind: Kind, out: &mut Vec<StreamEvent>) -> usize {
        self.close(out);
        let block = match kind {
            Kind::Text => BlockStart::Text,
            Kind::Thinking => BlockStart::Thinking,
        };
        let index = self.new_block(block, out);
        self.open = Some((index, kind));
        index
    }

    fn new_block(&mut self, block: BlockStart, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.next_index;
        self.next_index += 1;
        out.push(StreamEvent::BlockStart { index, block });
        index
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some((index, _)) = self.open.take() {
            out.push(StreamEvent::BlockStop { index });
        }
    }
}

/// What a part holds, as far as it is known.
#[derive(Default)]
struct Part {
    text: Option<Text>,
    thought: bool,
    signature: Option<Raw>,
    call: Option<Call>,
    data: Option<Data>,
}

struct Call {
    id: Option<String>,
    name: String,
    input: Raw,
    more: RawMap,
}

struct Data {
    is_image: bool,
    source: RawMap,
}

impl Part {
    fn take(&mut self, key: &str, value: &Raw) -> bool {
        match key {
            "text" => self.text = Text::from_raw(value),
            "thought" => {
                self.thought = value.as_str() == "true";
                return matches!(value.as_str(), "true" | "false");
            }
            SIGNATURE => self.signature = Some(value.clone()),
            "functionCall" => self.call = Call::read(value),
            "inlineData" => self.data = Data::inline(value),
            "fileData" => self.data = Data::by_address(value),
            _ => return false,
        }
        true
    }

    fn mark_thought(&self, rest: &mut RawMap) {
        if self.thought {
            rest.push("thought", true.into());
        }
    }
}

impl Call {
    /// A call that came whole; one that goes on elsewhere is not a call yet.
    fn read(value: &Raw) -> Option<Call> {
        let (mut id, mut name, mut input) = (None, None, Raw::empty_object());
        let more = wire::take(&value.as_object()?, |key, value| match key {
            "id" => {
                id = filled(value);
                true
            }
            "name" => {
                name = value.as_string();
                true
            }
            "args" => {
                input = value.clone();
                true
            }
            _ => false,
        });
        let goes_on = more.get("partialArgs").is_some()
            || more
                .get("willContinue")
                .is_some_and(|value| value.as_str() == "true");
        let name = name.filter(|name| !goes_on && !name.is_empty())?;
        Some(Call {
            id,
            name,
            input,
            more,
        })
    }
}

impl Data {
    fn inline(value: &Raw) -> Option<Data> {
        let (media_type, data) = two(value, "mimeType", "data")?;
        let media_type = media_type?;
        let source = RawMap::from([
            ("type", Raw::string("base64")),
            ("media_type", Raw::string(&media_type)),
            ("data", Raw::string(&data?)),
        ]);
        Some(Data {
            is_image: media_type.starts_with("image/"),
            source,
        })
    }

    fn by_address(value: &Raw) -> Option<Data> {
        let (media_type, url) = two(value, "mimeType", "fileUri")?;
        let mut source = RawMap::from([("type", Raw::string("url")), ("url", Raw::string(&url?))]);
        let media_type = media_type.unwrap_or_default();
        if !media_type.is_empty() {
            source.push("media_type", Raw::string(&media_type));
        }
        Some(Data {
            is_image: media_type.starts_with("image/"),
            source,
        })
    }
}

/// The strings of an object that has these two members and no other.
fn two(value: &Raw, first: &str, second: &str) -> Option<(Option<String>, Option<String>)> {
    let map = value.as_object()?;
    let rest = wire::take(&map, |key, _| key == first || key == second);
    rest.is_empty()
        .then(|| (map.string(first), map.string(second)))
}

/// Tells what a part carried beside its data.
fn extra(index: usize, signature: Option<Raw>, rest: RawMap, out: &mut Vec<StreamEvent>) {
    let rest = (!rest.is_empty()).then(|| rest.to_raw());
    for (key, value) in [(SIGNATURE, signature), (PART_REST, rest)] {
        if let Some(value) = value {
            let key = key.to_string();
            out.push(StreamEvent::BlockExtra { index, key, value });
        }
    }
}

fn name(key: &Raw) -> String {
    key.as_string().unwrap_or_else(|| key.to_string())
}

/// The error that a prompt that Gemini will not read stands for.
fn refused(feedback: &Raw) -> Option<ApiError> {
    let map = feedback.as_object()?;
    let reason = map.string("blockReason")?;
    let text = match map.string("blockReasonMessage") {
        Some(message) => format!("the prompt was refused ({reason}): {message}"),
        None => format!("the prompt was refused ({reason})"),
    };
    let error = ApiError::new(ApiErrorKind::ContentRefused, text);
    Some(ApiError {
        error_type: Some(reason),
        ..error
    })
}

fn stop_reason(word: &str, calls: bool) -> StopReason {
    match word {
        "STOP" if calls => StopReason::ToolUse,
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

/// Counts under the names of the core. The prompt's count includes the cached tokens, `input_tokens`
/// does not; thoughts are counted apart from the answer, `output_tokens` has both. What has no name
/// there is kept as it came.
fn token_usage(map: &RawMap, before: &TokenUsage) -> TokenUsage {
    let mut usage = TokenUsage::default();
    let (mut prompt, mut written, mut tools) = (None::<u64>, None::<u64>, None::<u64>);
    let rest = wire::take(map, |key, value| {
        let place = match key {
            "promptTokenCount" => &mut prompt,
            "candidatesTokenCount" => &mut written,
            "toolUsePromptTokenCount" => {
                // It is read like the prompt, but only here it is said how much of it there is.
                tools = value.to();
                return false;
            }
            "thoughtsTokenCount" => &mut usage.reasoning_tokens,
            "cachedContentTokenCount" => &mut usage.cache_read_input_tokens,
            "totalTokenCount" => &mut usage.total_tokens,
            _ => return false,
        };
        *place = value.to();
        place.is_some()
    });
    let sum = |left: Option<u64>, right: Option<u64>| match (left, right) {
        (None, None) => None,
        _ => Some(left.unwrap_or(0).saturating_add(right.unwrap_or(0))),
    };
    let read = sum(prompt, tools);
    let cached = usage.cache_read_input_tokens.unwrap_or(0);
    usage.input_tokens = read.map(|read| read.saturating_sub(cached));
    // Some gateways count the thoughts among the answer; their total gives it away.
    let inclusive = usage.total_tokens.is_some() && usage.total_tokens == sum(read, written);
    let thoughts = usage.reasoning_tokens.filter(|_| !inclusive);
    usage.output_tokens = sum(written, thoughts);
    // A total that is no more than the sum says nothing, unless it corrects one that was told.
    let total = sum(read, usage.output_tokens);
    let corrects = before.total_tokens.is_some();
    usage.total_tokens = usage
        .total_tokens
        .filter(|said| corrects || total != Some(*said));
    usage.extra = rest;
    usage
}

/// A small hash that is the same on every machine and in every version.
fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
