//! A call in the output.

use analects_core::{BlockStart, Raw, RawMap, StreamEvent, Text};

use super::super::block_writer::{BlockWriter, WrittenKind};
use super::AnswerState;
use crate::decoding::{non_empty_string, push_stop, string_member, text_member};

/// A tool call of the output.
#[derive(Debug, Clone)]
pub(super) struct CallItem {
    /// Writes the arguments.
    pub writer: BlockWriter,
    id: String,
    name: String,
    /// The arguments of the finished item, if they contradict the pieces.
    whole_arguments: Option<Text>,
}

impl CallItem {
    /// Begins a call, with its id and its name as far as they are known.
    pub fn start(map: &RawMap, answer: &mut AnswerState, out: &mut Vec<StreamEvent>) -> CallItem {
        let id = string_member(map, "call_id").or_else(|| string_member(map, "id"));
        let id = id.unwrap_or_else(|| made_up_call_id(answer));
        let name = string_member(map, "name").unwrap_or_default();
        let block = BlockStart::ToolUse {
            id: id.clone(),
            name: name.clone(),
        };
        let index = answer.begin_block(block, out);
        CallItem {
            writer: BlockWriter::new(index, WrittenKind::Arguments),
            id,
            name,
            whole_arguments: None,
        }
    }

    /// Whether a field of the item has its place in a block.
    pub fn reads_field(&self, key: &str, value: &Raw) -> bool {
        match key {
            "call_id" => non_empty_string(value).as_ref() == Some(&self.id),
            "name" | "arguments" => Text::from_raw(value).is_some(),
            _ => false,
        }
    }

    /// Reads the finished item. If a piece got lost on the way, its arguments are the right ones.
    pub fn finish(&mut self, map: &RawMap, out: &mut Vec<StreamEvent>) {
        if let Some(arguments) = text_member(map, "arguments") {
            let differing = self.writer.complete(&arguments, out);
            self.whole_arguments = differing.map(|_| arguments);
        }
        if let Some(name) = string_member(map, "name") {
            self.name = name;
        }
    }

    /// Completes the call. Arguments that are not JSON remain as the text of the deltas; folding
    /// marks them.
    pub fn close(&self, answer: &mut AnswerState, out: &mut Vec<StreamEvent>) {
        answer.has_call = true;
        let index = self.writer.index;
        if let Some(input) = self.input() {
            out.push(StreamEvent::ToolUse {
                index,
                id: self.id.clone(),
                name: self.name.clone(),
                input,
            });
        }
        push_stop(index, out);
    }

    /// The arguments, if they are JSON.
    fn input(&self) -> Option<Raw> {
        let arguments = self.whole_arguments.as_ref();
        let json = arguments.unwrap_or(self.writer.written()).as_str();
        if json.trim().is_empty() {
            return Some(Raw::empty_object());
        }
        Raw::parse(&json).ok()
    }
}

/// An id for a call without one, which no other answer uses.
fn made_up_call_id(answer: &AnswerState) -> String {
    let response_id = answer.id.as_deref().unwrap_or_default();
    format!("call_{response_id}_{}", answer.next_index)
}
