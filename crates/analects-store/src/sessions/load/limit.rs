//! How far back a conversation is loaded, and where that begins.
//!
//! The beginning must not move with every message, or no request would begin as the one before did, and no provider
//! could answer from its cache. So it is a place in the store: the first one behind a multiple of the stride.

use analects_core::{Block, Body, Content, Message};

/// How many bytes a picture counts for: its price does not depend on its bytes.
const PICTURE: u64 = 4096;
/// The part of its bytes that a document counts for: most of them are no words.
const DOCUMENT: u64 = 8;
/// The most bytes of records that are held, whatever they count for: no API takes more in one request.
const MOST: u64 = 32 << 20;
/// How many strides the text of a conversation has that is loaded.
const STRIDES: u64 = 4;

/// How far back a conversation is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadLimit {
    /// How many bytes of text are wanted at least.
    text: u64,
    /// How many bytes of records are held at most.
    bytes: u64,
}

impl LoadLimit {
    /// To its beginning.
    pub const UNLIMITED: LoadLimit = LoadLimit {
        text: u64::MAX,
        bytes: u64::MAX,
    };

    /// So many bytes of text, or a few more: it begins with a turn, at a place that stays the same while the
    /// conversation grows by a quarter of that.
    pub const fn of_text(bytes: u64) -> LoadLimit {
        LoadLimit {
            text: bytes,
            bytes: MOST,
        }
    }

    fn stride(self) -> u64 {
        (self.text / STRIDES).max(1)
    }
}

/// The room for what is loaded, filled from the end.
#[derive(Debug)]
pub(super) struct LoadBudget {
    reach: LoadLimit,
    text: u64,
    bytes: u64,
    /// Where the first record is that has a place in it.
    start: u64,
    /// How many multiples of the stride were passed since there was enough.
    passed: u64,
    begins_turn: bool,
    is_full: bool,
}

impl LoadBudget {
    pub(super) fn new(reach: LoadLimit) -> LoadBudget {
        let (text, bytes, start, passed) = (0, 0, u64::MAX, 0);
        LoadBudget {
            reach,
            text,
            bytes,
            start,
            passed,
            begins_turn: false,
            is_full: false,
        }
    }

    /// Whether nothing more has a place.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Where the first record is that has a place.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Whether there is still a place for a record at this position.
    pub(super) fn has_place(&mut self, at: u64) -> bool {
        if self.is_full || self.start == u64::MAX {
            return !self.is_full;
        }
        if self.text >= self.reach.text {
            let stride = self.reach.stride();
            self.passed += (self.start / stride).saturating_sub(at / stride);
        }
        // A turn that is longer than a stride is cut.
        let is_enough = self.passed > 1 || (self.passed == 1 && self.begins_turn);
        self.is_full = is_enough || self.bytes >= self.reach.bytes;
        !self.is_full
    }

    /// A record takes its place.
    pub(super) fn take(&mut self, at: u64, bytes: u64, message: Option<&Message>) {
        self.start = at;
        self.bytes = self.bytes.saturating_add(bytes);
        self.text = self.text.saturating_add(message.map_or(0, text_of));
        self.begins_turn = message.is_some_and(begins_turn);
    }
}

/// Whether a person says something in it that is more than the result of a call.
pub(super) fn begins_turn(message: &Message) -> bool {
    let Body::User(body) = &message.body else {
        return false;
    };
    match &body.content {
        Content::Empty => false,
        Content::Text(text) => !text.is_empty(),
        Content::Blocks(blocks) => {
            !blocks.is_empty() && !blocks.iter().any(|it| matches!(it, Block::ToolResult(_)))
        }
    }
}

/// About how many bytes of text a message has for a model.
fn text_of(message: &Message) -> u64 {
    match &message.body {
        Body::ToolUse(call) => call.input.as_str().len() as u64,
        body => body.content().map_or(0, text_in),
    }
}

fn text_in(content: &Content) -> u64 {
    match content {
        Content::Empty => 0,
        Content::Text(text) => text.as_str().len() as u64,
        Content::Blocks(blocks) => blocks.iter().map(text_in_block).sum(),
    }
}

fn text_in_block(block: &Block) -> u64 {
    match block {
        Block::Text(block) => block.text.as_str().len() as u64,
        Block::Thinking(block) => block.thinking.as_str().len() as u64,
        Block::ToolUse(call) => call.input.as_str().len() as u64,
        // A result within a result is kept as it came, so this ends.
        Block::ToolResult(result) => text_in(&result.content),
        Block::Image(_) | Block::RedactedThinking(_) => PICTURE,
        Block::Document(document) => document.source.as_str().len() as u64 / DOCUMENT,
        Block::Other(raw) => raw.as_str().len() as u64,
    }
}
