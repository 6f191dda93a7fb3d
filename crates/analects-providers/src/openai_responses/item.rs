//! An item of the output while it arrives: a message with its parts, thinking, a call, or an item
//! of another type, which is kept unchanged. Whatever the pieces said, the finished item has the
//! last word.

mod call;
mod message;
mod thinking;

use analects_core::{self as core, BlockStart, Json, Raw, RawMap, StopReason, StreamEvent, Text};

use self::call::CallItem;
use self::message::MessageItem;
use self::thinking::ThinkingItem;
use super::block_writer::TextUpdate;
use crate::decoding::{
    UnknownFields, push_extra, push_start, push_stop, read_fields, string_member,
};

pub(super) use self::thinking::ThinkingSource;

/// What items need to know about the answer, and what they tell it.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswerState {
    /// The provider's id for the answer.
    pub id: Option<String>,
    /// The index of the next block.
    pub next_index: usize,
    /// Whether the model refused.
    pub has_refusal: bool,
    /// Whether the model waits for the results of calls.
    pub has_call: bool,
}

impl AnswerState {
    /// Begins a block and returns its index.
    fn begin_block(&mut self, block: BlockStart, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.next_index;
        self.next_index += 1;
        push_start(index, block, out);
        index
    }

    /// The API reports a normal end in spite of refusals and calls; this corrects its reason.
    pub fn final_stop_reason(&self, reason: StopReason) -> StopReason {
        if self.has_refusal {
            return StopReason::Refusal;
        }
        match reason {
            StopReason::EndTurn if self.has_call => StopReason::ToolUse,
            reason => reason,
        }
    }
}

/// An item of the output.
#[derive(Debug, Clone)]
pub(super) struct OutputItem {
    kind: OutputItemKind,
    /// Fields that fit into no block. They are kept with the item's first block.
    rest: RawMap,
    /// Events about the item that were not understood. The finished item makes them superfluous.
    pub unread_events: Vec<Raw>,
    /// Texts of the finished item that contradict what was passed on.
    pub differing_texts: Vec<Raw>,
    pub is_done: bool,
}

/// The type of an item, with what its blocks need.
#[derive(Debug, Clone)]
enum OutputItemKind {
    Message(MessageItem),
    Thinking(ThinkingItem),
    Call(CallItem),
    /// An item that is kept unchanged, as the block of this index.
    Other(usize),
}

impl OutputItemKind {
    /// Begins an item of the type that `raw` names.
    fn start(
        raw: &Raw,
        map: &RawMap,
        answer: &mut AnswerState,
        out: &mut Vec<StreamEvent>,
    ) -> OutputItemKind {
        match string_member(map, "type").as_deref() {
            Some("message") => OutputItemKind::Message(MessageItem::default()),
            Some("reasoning") => OutputItemKind::Thinking(ThinkingItem::start(answer, out)),
            Some("function_call") => OutputItemKind::Call(CallItem::start(map, answer, out)),
            _ => OutputItemKind::Other(answer.begin_block(verbatim_block(raw), out)),
        }
    }

    /// Whether a field of the item has its place in a block.
    fn reads_field(&self, key: &str, value: &Raw) -> bool {
        match self {
            OutputItemKind::Message(_) => MessageItem::reads_field(key, value),
            OutputItemKind::Thinking(_) => ThinkingItem::reads_field(key, value),
            OutputItemKind::Call(call) => call.reads_field(key, value),
            OutputItemKind::Other(_) => true,
        }
    }
}

impl OutputItem {
    /// Begins an item. `raw` may be all of it, or only its type and its id.
    pub fn start(raw: &Raw, answer: &mut AnswerState, out: &mut Vec<StreamEvent>) -> OutputItem {
        let map = raw.as_object().unwrap_or_default();
        let mut item = OutputItem {
            kind: OutputItemKind::start(raw, &map, answer, out),
            rest: RawMap::new(),
            unread_events: Vec::new(),
            differing_texts: Vec::new(),
            is_done: false,
        };
        item.keep_rest(&map);
        item
    }

    /// Whether another object is of the same type of item.
    pub fn has_type_of(&self, raw: &Raw) -> bool {
        match raw.kind().as_deref() {
            Some("message") => matches!(self.kind, OutputItemKind::Message(_)),
            Some("reasoning") => matches!(self.kind, OutputItemKind::Thinking(_)),
            Some("function_call") => matches!(self.kind, OutputItemKind::Call(_)),
            _ => matches!(self.kind, OutputItemKind::Other(_)),
        }
    }

    /// Adds to a text, or to a refusal. Returns `false` if this is no message.
    pub fn add_text(
        &mut self,
        part: Option<u64>,
        is_refusal: bool,
        text: &TextUpdate,
        answer: &mut AnswerState,
        out: &mut Vec<StreamEvent>,
    ) -> bool {
        match &mut self.kind {
            OutputItemKind::Message(message) => {
                message.add_text(part, is_refusal, text, answer, out)
            }
            _ => false,
        }
    }

    /// Adds to thinking. Returns `false` if this is none, or if it shows text from the other
    /// source.
    pub fn add_thinking(
        &mut self,
        source: ThinkingSource,
        part: Option<u64>,
        text: &Text,
        out: &mut Vec<StreamEvent>,
    ) -> bool {
        match &mut self.kind {
            OutputItemKind::Thinking(thinking) => thinking.add(source, part, text, out),
            _ => false,
        }
    }

    /// Adds to the arguments of a call. Returns `false` if this is none.
    pub fn add_arguments(&mut self, text: &TextUpdate, out: &mut Vec<StreamEvent>) -> bool {
        match &mut self.kind {
            OutputItemKind::Call(call) => {
                call.writer.update(text, out);
                true
            }
            _ => false,
        }
    }

    /// Begins a part of a message. Returns `false` if the part is of an unknown type, or if this is
    /// no message.
    pub fn begin_part(
        &mut self,
        part: Option<u64>,
        raw: &Raw,
        answer: &mut AnswerState,
        out: &mut Vec<StreamEvent>,
    ) -> bool {
        match &mut self.kind {
            OutputItemKind::Message(message) => message.begin_part(part, raw, answer, out),
            // The parts of thinking come with their own deltas.
            OutputItemKind::Thinking(_) => true,
            OutputItemKind::Call(_) | OutputItemKind::Other(_) => false,
        }
    }

    /// Takes the finished item and ends it.
    pub fn finish(&mut self, raw: &Raw, answer: &mut AnswerState, out: &mut Vec<StreamEvent>) {
        let map = raw.as_object().unwrap_or_default();
        self.keep_rest(&map);
        self.unread_events.clear();
        match &mut self.kind {
            OutputItemKind::Message(message) => {
                let differing = message.finish(&map, answer, out);
                self.differing_texts.extend(differing);
            }
            OutputItemKind::Thinking(thinking) => {
                let differing = thinking.finish(&map, out);
                self.differing_texts.extend(differing);
            }
            OutputItemKind::Call(call) => call.finish(&map, out),
            OutputItemKind::Other(index) => push_start(*index, verbatim_block(raw), out),
        }
        let status = string_member(&map, "status");
        let is_whole = status.is_none_or(|status| status == "completed");
        self.close(is_whole, answer, out);
    }

    /// Ends the item without its finished form. A call that may be cut off (`whole` is false) stays
    /// open, because half of its arguments are missing.
    pub fn close(&mut self, whole: bool, answer: &mut AnswerState, out: &mut Vec<StreamEvent>) {
        self.flush(out);
        self.is_done = true;
        match &self.kind {
            OutputItemKind::Message(message) => message.close(answer, out),
            OutputItemKind::Thinking(thinking) => push_stop(thinking.index(), out),
            OutputItemKind::Call(call) if whole => call.close(answer, out),
            OutputItemKind::Call(_) => {}
            OutputItemKind::Other(index) => push_stop(*index, out),
        }
    }

    /// Appends everything that is held back. Blocks stay open.
    pub fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        if self.is_done {
            return;
        }
        match &mut self.kind {
            OutputItemKind::Message(message) => message.flush(out),
            OutputItemKind::Thinking(thinking) => thinking.flush(out),
            OutputItemKind::Call(call) => call.writer.flush(out),
            OutputItemKind::Other(_) => {}
        }
        let rest = std::mem::take(&mut self.rest);
        if let Some(index) = self.first_block()
            && !rest.is_empty()
        {
            push_extra(index, "item", rest.to_raw(), out);
        }
    }

    /// The index of the first block that can have other fields.
    fn first_block(&self) -> Option<usize> {
        match &self.kind {
            OutputItemKind::Message(message) => message.first_block(),
            OutputItemKind::Thinking(thinking) => Some(thinking.index()),
            OutputItemKind::Call(call) => Some(call.writer.index),
            OutputItemKind::Other(_) => None,
        }
    }

    /// Keeps the fields that have no other place. Those of the finished item replace earlier ones.
    fn keep_rest(&mut self, map: &RawMap) {
        let mut rest: UnknownFields = read_fields(map, |key, value| {
            key == "type" || self.kind.reads_field(key, value)
        });
        if let OutputItemKind::Thinking(_) = self.kind {
            rest.extend(thinking::hidden_fields(map));
        }
        self.rest = rest.into_iter().collect();
    }
}

/// A block that keeps an object unchanged. An object that looks like one of the core's blocks is
/// wrapped; otherwise it would be read as that block later.
fn verbatim_block(raw: &Raw) -> BlockStart {
    let read = core::Block::read(raw, &mut Vec::new());
    if matches!(read, Ok(core::Block::Other(_))) {
        return BlockStart::Other(raw.clone());
    }
    let wrapped = RawMap::from([("type", Raw::string("openai_item")), ("item", raw.clone())]);
    BlockStart::Other(wrapped.to_raw())
}
