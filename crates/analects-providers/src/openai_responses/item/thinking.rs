//! Thinking in the output: its summary or its text, whichever the server shows, and its encrypted
//! content.

use analects_core::{BlockStart, Delta, Raw, RawMap, StreamEvent, Text};

use super::super::block_writer::{BlockWriter, WrittenKind};
use super::AnswerState;
use crate::decoding::{
    UnknownFields, list_member, non_empty_string, push_delta, string_member, text_member,
};

/// What stands between the parts of a thinking block.
const PART_SEPARATOR: &str = "\n\n";

/// Where the text of thinking comes from. Of an item with both, the source that comes first is
/// shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ThinkingSource {
    Summary,
    Content,
}

/// A thinking block of the output.
#[derive(Debug, Clone)]
pub(super) struct ThinkingItem {
    writer: BlockWriter,
    /// The source that is shown, and the number of its last part; `None` without text so far.
    part: Option<(ThinkingSource, u64)>,
}

impl ThinkingItem {
    /// Begins the thinking block, although there may never be text for it.
    pub fn start(answer: &mut AnswerState, out: &mut Vec<StreamEvent>) -> ThinkingItem {
        let index = answer.begin_block(BlockStart::Thinking, out);
        ThinkingItem {
            writer: BlockWriter::new(index, WrittenKind::Thinking),
            part: None,
        }
    }

    /// The index of its block.
    pub fn index(&self) -> usize {
        self.writer.index
    }

    /// Whether a field of the item has its place in a block. See also [`hidden_fields`].
    pub fn reads_field(key: &str, value: &Raw) -> bool {
        match key {
            "summary" | "content" => true,
            "encrypted_content" => non_empty_string(value).is_some(),
            _ => false,
        }
    }

    /// Adds text. Returns `false` if text from the other source is shown.
    pub fn add(
        &mut self,
        source: ThinkingSource,
        number: Option<u64>,
        text: &Text,
        out: &mut Vec<StreamEvent>,
    ) -> bool {
        let last = self.part.unwrap_or((source, 0));
        if last.0 != source {
            return false;
        }
        let next = (source, number.unwrap_or(last.1));
        if self.part.is_some() && last != next {
            self.writer.append(&PART_SEPARATOR.into(), out);
        }
        self.part = Some(next);
        self.writer.append(text, out);
        true
    }

    /// Reads the finished item. Returns its text if that contradicts what was passed on.
    pub fn finish(&mut self, map: &RawMap, out: &mut Vec<StreamEvent>) -> Option<Raw> {
        let text = match self.part {
            Some((ThinkingSource::Summary, _)) => joined_parts(map, "summary"),
            Some((ThinkingSource::Content, _)) => joined_parts(map, "content"),
            None => joined_parts(map, "summary").or_else(|| joined_parts(map, "content")),
        };
        let differing = text.and_then(|text| self.writer.complete(&text, out));
        if let Some(encrypted) = string_member(map, "encrypted_content") {
            push_delta(self.index(), Delta::Signature(encrypted), out);
        }
        differing
    }

    /// Appends what is held back.
    pub fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        self.writer.flush(out);
    }
}

/// The text of a list of parts; `None` if no part has text.
fn joined_parts(map: &RawMap, key: &str) -> Option<Text> {
    let mut joined: Option<Text> = None;
    for part in list_member(map, key) {
        let part = part.as_object().unwrap_or_default();
        let Some(text) = text_member(&part, "text") else {
            continue;
        };
        match &mut joined {
            Some(joined) => {
                joined.push(&PART_SEPARATOR.into());
                joined.push(&text);
            }
            None => joined = Some(text),
        }
    }
    joined
}

/// The fields of thinking that its block does not show, so that it can go back unchanged. The
/// encoder makes a summary of one part from the block's text, so such a summary is not kept.
pub(super) fn hidden_fields(map: &RawMap) -> UnknownFields {
    let mut hidden = UnknownFields::new();
    let content = map.get("content");
    let content = content.filter(|raw| !matches!(raw.as_str(), "null" | "[]"));
    let summary = map.get("summary").filter(|raw| raw.as_str() != "null");
    match summary {
        Some(summary) if content.is_some() || !is_plain_summary(summary) => {
            hidden.push(("summary".to_string(), summary.clone()));
        }
        // Without this, the encoder would make a summary from the content.
        None if content.is_some() => hidden.push(("summary".to_string(), Raw::array(&[]))),
        _ => {}
    }
    if let Some(content) = content {
        hidden.push(("content".to_string(), content.clone()));
    }
    hidden
}

/// Whether a summary is empty, or one part with text and nothing else.
fn is_plain_summary(summary: &Raw) -> bool {
    let Some(parts) = summary.as_array() else {
        return false;
    };
    match parts.as_slice() {
        [] => true,
        [part] => is_plain_part(&part.as_object().unwrap_or_default()),
        _ => false,
    }
}

/// Whether a part of a summary has text and nothing else.
fn is_plain_part(part: &RawMap) -> bool {
    let kind = string_member(part, "type");
    let text = text_member(part, "text").unwrap_or_default();
    part.len() == 2 && kind.as_deref() == Some("summary_text") && !text.is_empty()
}
