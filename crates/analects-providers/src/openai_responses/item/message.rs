//! A message of the output and its parts: texts, refusals, and parts of other types, which are kept
//! unchanged.

use std::collections::BTreeMap;

use analects_core::{BlockStart, Raw, RawMap, StreamEvent};

use super::super::block_writer::{BlockWriter, TextUpdate, WrittenKind};
use super::{AnswerState, verbatim_block};
use crate::decoding::{
    UnknownFields, fields_except, list_member, push_extra, push_stop, string_member, text_member,
};

/// A message, as its parts by their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageItem {
    parts: BTreeMap<u64, MessagePart>,
}

/// A part of a message.
#[derive(Debug, Clone)]
struct MessagePart {
    /// The index of its block.
    index: usize,
    /// Writes its text; `None` for a part that is kept unchanged.
    writer: Option<BlockWriter>,
    is_refusal: bool,
    /// Fields beside the text.
    rest: UnknownFields,
}

/// The type of a part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessagePartKind {
    Text,
    Refusal,
    Other,
}

impl MessagePartKind {
    /// The kind of part that a type stands for. Some servers shorten `output_text` to `text`.
    fn of(part_type: Option<&str>) -> MessagePartKind {
        match part_type {
            Some("output_text" | "text") => MessagePartKind::Text,
            Some("refusal") => MessagePartKind::Refusal,
            _ => MessagePartKind::Other,
        }
    }

    /// The field with the text of such a part.
    fn text_field(self) -> Option<&'static str> {
        match self {
            MessagePartKind::Text => Some("text"),
            MessagePartKind::Refusal => Some("refusal"),
            MessagePartKind::Other => None,
        }
    }
}

impl MessageItem {
    /// Whether a field of the item has its place in a block.
    pub fn reads_field(key: &str, value: &Raw) -> bool {
        match key {
            "role" => value.as_str() == "\"assistant\"",
            "content" => value.as_array().is_some(),
            _ => false,
        }
    }

    /// Adds to the text of a part. Returns `false` if the part is kept unchanged.
    pub fn add_text(
        &mut self,
        number: Option<u64>,
        is_refusal: bool,
        text: &TextUpdate,
        answer: &mut AnswerState,
        out: &mut Vec<StreamEvent>,
    ) -> bool {
        let kind = if is_refusal {
            MessagePartKind::Refusal
        } else {
            MessagePartKind::Text
        };
        let part = self.part(number, kind, answer, out);
        let Some(writer) = &mut part.writer else {
            return false;
        };
        writer.update(text, out);
        true
    }

    /// Begins a part. Returns `false` for a part of an unknown type: it may be incomplete, and is
    /// not read yet.
    pub fn begin_part(
        &mut self,
        number: Option<u64>,
        raw: &Raw,
        answer: &mut AnswerState,
        out: &mut Vec<StreamEvent>,
    ) -> bool {
        let kind = MessagePartKind::of(raw.kind().as_deref());
        if kind == MessagePartKind::Other {
            return false;
        }
        self.part(number, kind, answer, out);
        true
    }

    /// Reads the finished message. Returns the texts that contradict what was passed on.
    pub fn finish(
        &mut self,
        map: &RawMap,
        answer: &mut AnswerState,
        out: &mut Vec<StreamEvent>,
    ) -> Vec<Raw> {
        let mut differing = Vec::new();
        for (number, raw) in (0..).zip(list_member(map, "content")) {
            differing.extend(self.finish_part(number, &raw, answer, out));
        }
        differing
    }

    /// Reads a finished part. Returns its text if that contradicts what was passed on.
    fn finish_part(
        &mut self,
        number: u64,
        raw: &Raw,
        answer: &mut AnswerState,
        out: &mut Vec<StreamEvent>,
    ) -> Option<Raw> {
        let map = raw.as_object().unwrap_or_default();
        let kind = MessagePartKind::of(string_member(&map, "type").as_deref());
        if let Some(field) = kind.text_field()
            && let Some(text) = text_member(&map, field)
        {
            let part = self.part(Some(number), kind, answer, out);
            part.rest = fields_except(&map, &["type", field]);
            return part.writer.as_mut()?.complete(&text, out);
        }
        let part = self.part(Some(number), MessagePartKind::Other, answer, out);
        part.index = answer.begin_block(verbatim_block(raw), out);
        None
    }

    /// Ends all parts.
    pub fn close(&self, answer: &mut AnswerState, out: &mut Vec<StreamEvent>) {
        for part in self.parts.values() {
            answer.has_refusal |= part.is_refusal;
            push_stop(part.index, out);
        }
    }

    /// Appends everything that is held back.
    pub fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        for part in self.parts.values_mut() {
            part.flush(out);
        }
    }

    /// The index of the first block of text.
    pub fn first_block(&self) -> Option<usize> {
        let mut parts = self.parts.values();
        let first = parts.find(|part| part.writer.is_some())?;
        Some(first.index)
    }

    /// The part with this number, or without a number the last one. Begins a part of this kind if
    /// there is none.
    fn part(
        &mut self,
        number: Option<u64>,
        kind: MessagePartKind,
        answer: &mut AnswerState,
        out: &mut Vec<StreamEvent>,
    ) -> &mut MessagePart {
        let last = self.parts.keys().next_back().copied();
        let number = number.or(last).unwrap_or(0);
        let entry = self.parts.entry(number);
        entry.or_insert_with(|| MessagePart::start(kind, answer, out))
    }
}

impl MessagePart {
    /// Begins a part. One that is kept unchanged gets its block when it is finished.
    fn start(
        kind: MessagePartKind,
        answer: &mut AnswerState,
        out: &mut Vec<StreamEvent>,
    ) -> MessagePart {
        let mut part = MessagePart {
            index: answer.next_index,
            writer: None,
            is_refusal: kind == MessagePartKind::Refusal,
            rest: UnknownFields::new(),
        };
        if kind != MessagePartKind::Other {
            part.index = answer.begin_block(BlockStart::Text, out);
            part.writer = Some(BlockWriter::new(part.index, WrittenKind::Text));
        }
        part
    }

    /// Appends what is held back, and the part's other fields.
    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(writer) = &mut self.writer {
            writer.flush(out);
        }
        if self.is_refusal {
            push_extra(self.index, "refusal", true.into(), out);
        }
        let mut unknown = RawMap::new();
        for (key, value) in std::mem::take(&mut self.rest) {
            match key.as_str() {
                _ if value.as_str() == "[]" => {}
                "annotations" | "logprobs" => push_extra(self.index, &key, value, out),
                _ => unknown.push(&key, value),
            }
        }
        if !unknown.is_empty() {
            push_extra(self.index, "part", unknown.to_raw(), out);
        }
    }
}
