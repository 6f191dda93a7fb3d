//! Tool calls that arrive in pieces: finds the call that a piece belongs to, and joins its
//! arguments.

use std::collections::BTreeMap;

use analects_core::{Delta, Raw, StreamEvent, Text};

use super::wire::OpenAiToolCallDelta;
use crate::decoding::{HalfCharacter, push_delta, push_stop};

/// The calls of an answer that is not complete yet.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenToolCalls {
    calls: Vec<OpenToolCall>,
    // For each number, id, or both: the index in `calls` of the last call with it.
    by_number: BTreeMap<u64, usize>,
    by_id: BTreeMap<String, usize>,
    by_number_and_id: BTreeMap<(u64, String), usize>,
}

/// A tool call whose arguments may still grow.
#[derive(Debug, Clone)]
pub(super) struct OpenToolCall {
    /// The index of its block in the message.
    pub index: usize,
    /// The id of the call, or one that we made up.
    pub id: String,
    /// The name of the tool, which may come in a later piece.
    pub name: String,
    /// Its arguments so far.
    json: Text,
    half: HalfCharacter,
}

impl OpenToolCalls {
    /// Finds the call that a piece continues; `None` if it begins a new one. The piece's number
    /// should tell. But some vendors give every call the number 0, or none: then a new id, or
    /// without ids a name, begins a new call.
    pub fn find(&self, delta: &OpenAiToolCallDelta) -> Option<usize> {
        let has_name = delta.name.is_some();
        let call = match (delta.index, &delta.id) {
            (Some(number), Some(id)) if has_name => {
                self.by_number_and_id.get(&(number, id.clone()))
            }
            (Some(number), _) => self.by_number.get(&number),
            (None, Some(id)) => self.by_id.get(id),
            (None, None) if has_name => None,
            (None, None) => return self.calls.len().checked_sub(1),
        };
        call.copied()
    }

    /// Begins a call and returns its position. `number` is its number on the wire.
    pub fn push(&mut self, number: Option<u64>, call: OpenToolCall) -> usize {
        let position = self.calls.len();
        let id = call.id.clone();
        if let Some(number) = number {
            self.by_number.insert(number, position);
            self.by_number_and_id.insert((number, id.clone()), position);
        }
        self.by_id.insert(id, position);
        self.calls.push(call);
        position
    }

    /// Adds a piece to the call at this position.
    pub fn add(&mut self, at: usize, delta: OpenAiToolCallDelta, out: &mut Vec<StreamEvent>) {
        let Some(call) = self.calls.get_mut(at) else {
            return;
        };
        let json = call.half.join(&delta.arguments);
        call.write(&json, out);
        if call.name.is_empty() {
            call.name = delta.name.unwrap_or_default();
        }
    }

    /// Appends what is held back of the calls.
    pub fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        for call in &mut self.calls {
            call.flush(out);
        }
    }

    /// Completes all calls. If the answer may be cut short (`whole` is false), a call whose
    /// arguments are not JSON stays open, because half of its arguments are missing.
    pub fn close(&mut self, whole: bool, out: &mut Vec<StreamEvent>) {
        for call in std::mem::take(self).calls {
            call.close(whole, out);
        }
    }
}

impl OpenToolCall {
    /// A call without arguments so far.
    pub fn new(index: usize, id: String, name: String) -> OpenToolCall {
        OpenToolCall {
            index,
            id,
            name,
            json: Text::default(),
            half: HalfCharacter::default(),
        }
    }

    /// Passes on a piece of the arguments, and keeps it for the whole.
    fn write(&mut self, json: &Text, out: &mut Vec<StreamEvent>) {
        if json.is_empty() {
            return;
        }
        self.json.push(json);
        let delta = Delta::PartialJson(json.as_str().into_owned());
        push_delta(self.index, delta, out);
    }

    /// Passes on what is held back.
    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        let held = self.half.take();
        self.write(&held, out);
    }

    /// Completes the call, or leaves its block open if its arguments are cut off.
    fn close(mut self, whole: bool, out: &mut Vec<StreamEvent>) {
        self.flush(out);
        let input = self.input(whole);
        let is_complete = whole || input.is_some();
        let index = self.index;
        // Arguments that are not JSON remain as the text of the deltas; folding marks them.
        if let Some(input) = input {
            out.push(StreamEvent::ToolUse {
                index,
                id: self.id,
                name: self.name,
                input,
            });
        }
        if is_complete {
            push_stop(index, out);
        }
    }

    /// The arguments, if they are JSON. A complete call without any has none.
    fn input(&self, whole: bool) -> Option<Raw> {
        let json = self.json.as_str();
        if whole && json.trim().is_empty() {
            return Some(Raw::empty_object());
        }
        Raw::parse(&json).ok()
    }
}
