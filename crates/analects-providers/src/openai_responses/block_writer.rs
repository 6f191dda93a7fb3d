//! Writes a block whose text arrives twice: first in pieces, then as a whole.

use analects_core::{Delta, Raw, StreamEvent, Text};

use crate::decoding::{HalfCharacter, push_delta};

/// What the text of a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WrittenKind {
    Text,
    Thinking,
    /// The JSON of a call's arguments.
    Arguments,
}

impl WrittenKind {
    /// The core's delta for a piece of such a text.
    fn delta(self, text: Text) -> Delta {
        match self {
            WrittenKind::Text => Delta::Text(text),
            WrittenKind::Thinking => Delta::Thinking(text),
            WrittenKind::Arguments => Delta::PartialJson(text.as_str().into_owned()),
        }
    }
}

/// What an event says about the text of a block.
pub(super) enum TextUpdate {
    /// More text, which follows what came before.
    Delta(Text),
    /// The whole text.
    Whole(Text),
}

/// A block of an answer, and the part of its text that was passed on.
#[derive(Debug, Clone)]
pub(super) struct BlockWriter {
    /// The block's index in the message.
    pub index: usize,
    kind: WrittenKind,
    /// The text that was passed on.
    written: Text,
    half: HalfCharacter,
}

impl BlockWriter {
    /// A block that has begun, without text so far.
    pub fn new(index: usize, kind: WrittenKind) -> BlockWriter {
        BlockWriter {
            index,
            kind,
            written: Text::default(),
            half: HalfCharacter::default(),
        }
    }

    /// The text that was passed on.
    pub fn written(&self) -> &Text {
        &self.written
    }

    /// Takes what an event says. A whole text that differs is ignored here: the finished item
    /// repeats it.
    pub fn update(&mut self, update: &TextUpdate, out: &mut Vec<StreamEvent>) {
        match update {
            TextUpdate::Delta(text) => self.append(text, out),
            TextUpdate::Whole(text) => {
                self.complete(text, out);
            }
        }
    }

    /// Appends text.
    pub fn append(&mut self, text: &Text, out: &mut Vec<StreamEvent>) {
        let text = self.half.join(text);
        self.push(text, out);
    }

    /// Takes the whole text and passes on what is missing. Returns it if it contradicts what was
    /// passed on, so that it can be kept elsewhere.
    pub fn complete(&mut self, whole: &Text, out: &mut Vec<StreamEvent>) -> Option<Raw> {
        if self.is_complete(whole) {
            return None;
        }
        let text = whole.as_str();
        let missing = if self.written.is_empty() {
            whole.clone()
        } else if let Some(missing) = text.strip_prefix(&*self.written.as_str()) {
            missing.into()
        } else {
            return Some(Raw::string(&text));
        };
        self.half = HalfCharacter::default();
        self.append(&missing, out);
        None
    }

    /// Whether nothing is missing. This is cheap for plain text, since a server may repeat the
    /// whole many times.
    fn is_complete(&self, whole: &Text) -> bool {
        let half = self.half.as_text();
        if let (Text::Plain(written), Text::Plain(whole)) = (&self.written, whole) {
            return written == whole && half.is_empty();
        }
        let mut so_far = self.written.clone();
        so_far.push(half);
        so_far == *whole
    }

    /// Appends what is held back.
    pub fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        let held = self.half.take();
        self.push(held, out);
    }

    /// Passes on text, and remembers it for the comparison with the whole.
    fn push(&mut self, text: Text, out: &mut Vec<StreamEvent>) {
        if !text.is_empty() {
            self.written.push(&text);
            push_delta(self.index, self.kind.delta(text), out);
        }
    }
}
