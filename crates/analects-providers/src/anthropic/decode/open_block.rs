//! A block of an answer while it grows. A block of a type that the core does not know is passed on
//! only when it is complete, so that no call ever shows with half its input.

use analects_core::{BlockStart, Delta, Raw, RawMap, StreamEvent, Text};

use super::unknown_block::UnknownBlock;
use crate::decoding::{
    HalfCharacter, fields_except, list_member, push_delta, push_extra, push_start, string_member,
    text_member,
};

/// A block that is growing.
#[derive(Debug, Clone)]
pub(super) struct OpenBlock {
    /// The block's index in the message.
    index: usize,
    kind: OpenBlockKind,
    /// Half a character at the end of the last piece.
    half: HalfCharacter,
}

/// The type of a block, with what came of it so far.
#[derive(Debug, Clone)]
enum OpenBlockKind {
    /// Text, with its citations so far.
    Text(Vec<Raw>),
    Thinking,
    /// Thinking with these encrypted data and no text.
    RedactedThinking(String),
    Call(OpenCall),
    Unknown(UnknownBlock),
}

/// A call whose arguments may still grow.
#[derive(Debug, Clone)]
struct OpenCall {
    /// The id of the call, or one that we made up.
    id: String,
    /// The name of the tool.
    name: String,
    /// The arguments of the block's start, which hold if no pieces follow.
    input: Raw,
    /// The pieces of the arguments so far.
    json: Text,
}

impl OpenBlock {
    /// Starts a block, and passes on what its start contains.
    pub fn start(
        index: usize,
        block: &RawMap,
        response_id: &str,
        out: &mut Vec<StreamEvent>,
    ) -> OpenBlock {
        let mut open = OpenBlock {
            index,
            kind: OpenBlockKind::of(index, block, response_id),
            half: HalfCharacter::default(),
        };
        if let Some(start) = open.kind.block_start() {
            push_start(index, start, out);
            open.read_start(block, out);
        }
        open
    }

    /// The block's index in the message.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Reads the text that the start of a block may contain, and keeps its unknown fields.
    fn read_start(&mut self, block: &RawMap, out: &mut Vec<StreamEvent>) {
        let known: &[&str] = match &self.kind {
            OpenBlockKind::Text(_) => {
                self.add_member(block, "text", out);
                &["type", "text", "citations"]
            }
            OpenBlockKind::Thinking => {
                self.add_member(block, "thinking", out);
                self.add_signature(block, out);
                &["type", "thinking", "signature"]
            }
            OpenBlockKind::RedactedThinking(_) => &["type", "data"],
            OpenBlockKind::Call(_) | OpenBlockKind::Unknown(_) => &["type", "id", "name", "input"],
        };
        for (key, value) in fields_except(block, known) {
            push_extra(self.index, &key, value, out);
        }
    }

    /// Adds a piece. Returns `false` if this block has no place for it.
    pub fn delta(&mut self, kind: &str, delta: &RawMap, out: &mut Vec<StreamEvent>) -> bool {
        match (&mut self.kind, kind) {
            (OpenBlockKind::Text(_), "text_delta") => self.add_member(delta, "text", out),
            (OpenBlockKind::Thinking, "thinking_delta") => self.add_member(delta, "thinking", out),
            (OpenBlockKind::Thinking, "signature_delta") => self.add_signature(delta, out),
            (OpenBlockKind::Call(_), "input_json_delta") => {
                self.add_member(delta, "partial_json", out)
            }
            (OpenBlockKind::Text(citations), "citations_delta") => match delta.get("citation") {
                Some(citation) => {
                    citations.push(citation.clone());
                    true
                }
                None => false,
            },
            (OpenBlockKind::Unknown(block), _) => block.delta(kind, delta),
            _ => false,
        }
    }

    /// Adds the text of a member. Returns whether the object has that member.
    fn add_member(&mut self, map: &RawMap, key: &str, out: &mut Vec<StreamEvent>) -> bool {
        let Some(text) = text_member(map, key) else {
            return false;
        };
        let text = self.half.join(&text);
        self.push_text(text, out);
        true
    }

    /// Adds a signature, unless it is empty. Returns whether the object has one.
    fn add_signature(&self, map: &RawMap, out: &mut Vec<StreamEvent>) -> bool {
        let Some(signature) = map.string("signature") else {
            return false;
        };
        if !signature.is_empty() {
            push_delta(self.index, Delta::Signature(signature), out);
        }
        true
    }

    /// Passes on text as a delta of the block's kind. For a call, it is a piece of the arguments.
    fn push_text(&mut self, text: Text, out: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let delta = match &mut self.kind {
            OpenBlockKind::Thinking => Delta::Thinking(text),
            OpenBlockKind::Call(call) => {
                call.json.push(&text);
                Delta::PartialJson(text.as_str().into_owned())
            }
            _ => Delta::Text(text),
        };
        push_delta(self.index, delta, out);
    }

    /// Passes on what is held back.
    pub fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        let held = self.half.take();
        self.push_text(held, out);
        if let OpenBlockKind::Text(citations) = &self.kind
            && !citations.is_empty()
        {
            push_extra(self.index, "citations", Raw::array(citations), out);
        }
    }

    /// Completes the block. Returns `false` for a call whose arguments are not JSON.
    pub fn complete(mut self, out: &mut Vec<StreamEvent>) -> bool {
        self.flush(out);
        match self.kind {
            OpenBlockKind::Call(call) => call.complete(self.index, out),
            OpenBlockKind::Unknown(block) => {
                push_start(self.index, BlockStart::Other(block.into_block()), out);
                true
            }
            OpenBlockKind::Text(_)
            | OpenBlockKind::Thinking
            | OpenBlockKind::RedactedThinking(_) => true,
        }
    }

    /// What came of a block of unknown type that is cut off; `None` for other blocks, which were
    /// passed on.
    pub fn into_partial_block(self) -> Option<Raw> {
        match self.kind {
            OpenBlockKind::Unknown(block) => Some(block.into_partial_block()),
            _ => None,
        }
    }
}

impl OpenBlockKind {
    /// The kind of a block by its start.
    fn of(index: usize, block: &RawMap, response_id: &str) -> OpenBlockKind {
        match string_member(block, "type").as_deref() {
            Some("text") => OpenBlockKind::Text(list_member(block, "citations")),
            Some("thinking") => OpenBlockKind::Thinking,
            Some("redacted_thinking") => {
                let data = string_member(block, "data");
                OpenBlockKind::RedactedThinking(data.unwrap_or_default())
            }
            Some("tool_use") => OpenBlockKind::Call(OpenCall::start(index, block, response_id)),
            _ => OpenBlockKind::Unknown(UnknownBlock::new(block)),
        }
    }

    /// How the core starts such a block; `None` for blocks that it does not know.
    fn block_start(&self) -> Option<BlockStart> {
        match self {
            OpenBlockKind::Text(_) => Some(BlockStart::Text),
            OpenBlockKind::Thinking => Some(BlockStart::Thinking),
            OpenBlockKind::RedactedThinking(data) => {
                Some(BlockStart::RedactedThinking { data: data.clone() })
            }
            OpenBlockKind::Call(call) => Some(BlockStart::ToolUse {
                id: call.id.clone(),
                name: call.name.clone(),
            }),
            OpenBlockKind::Unknown(_) => None,
        }
    }
}

impl OpenCall {
    /// Starts a call. One without an id gets one that no other answer uses.
    fn start(index: usize, block: &RawMap, response_id: &str) -> OpenCall {
        let id = string_member(block, "id");
        let input = block.get("input").cloned();
        OpenCall {
            id: id.unwrap_or_else(|| format!("call_{response_id}_{index}")),
            name: string_member(block, "name").unwrap_or_default(),
            input: input.unwrap_or_else(Raw::empty_object),
            json: Text::default(),
        }
    }

    /// Completes the call. Returns `false` if its arguments are not JSON.
    fn complete(self, index: usize, out: &mut Vec<StreamEvent>) -> bool {
        let json = self.json.as_str();
        let json = json.trim();
        let input = if json.is_empty() {
            self.input
        } else if let Ok(input) = Raw::parse(json) {
            input
        } else {
            return false;
        };
        out.push(StreamEvent::ToolUse {
            index,
            id: self.id,
            name: self.name,
            input,
        });
        true
    }
}
