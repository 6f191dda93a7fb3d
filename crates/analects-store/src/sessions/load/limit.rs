//! Limits for loading the end of a conversation.
//!
//! The first loaded message must not change with every new one: otherwise every request would begin differently, and no
//! provider could use its cache. So loading begins at an offset that stays the same for a while: the first suitable one
//! after a multiple of a stride.

use analects_core::{Block, Body, Content, Message};

/// The number of text bytes that a picture counts as. Its price does not depend on its size.
const PICTURE: u64 = 4096;
/// The divisor for the bytes of a document, most of which are not text.
const DOCUMENT: u64 = 8;
/// The maximum number of bytes of records in memory. No API accepts more in one request.
const MAX_BYTES: u64 = 32 << 20;
/// The number of strides in the text of a loaded conversation.
const STRIDES: u64 = 4;

/// A limit for loading the end of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadLimit {
    /// The number of bytes of text to load at least.
    text: u64,
    /// The number of bytes of records to load at most.
    bytes: u64,
}

impl LoadLimit {
    /// Loads everything.
    pub const UNLIMITED: LoadLimit = LoadLimit {
        text: u64::MAX,
        bytes: u64::MAX,
    };

    /// Loads this many bytes of text, or a few more: loading begins with a turn, at a place that stays the same while the
    /// conversation grows by a quarter of `bytes`.
    pub const fn of_text(bytes: u64) -> LoadLimit {
        LoadLimit {
            text: bytes,
            bytes: MAX_BYTES,
        }
    }

    /// The distance in bytes between the places at which loading may begin.
    fn stride(self) -> u64 {
        (self.text / STRIDES).max(1)
    }
}

/// The remaining budget while records are loaded from the end of a chain.
#[derive(Debug)]
pub(super) struct LoadBudget {
    limit: LoadLimit,
    /// The number of loaded bytes of text.
    text: u64,
    /// The number of loaded bytes of records.
    bytes: u64,
    /// The offset of the first loaded record.
    start: u64,
    /// The number of multiples of the stride that were passed since there was enough text.
    passed: u64,
    /// Whether the first loaded record begins a turn.
    begins_turn: bool,
    /// Whether no more records fit. This never changes back.
    is_exhausted: bool,
}

impl LoadBudget {
    /// Creates a budget of which nothing is used.
    pub(super) fn new(limit: LoadLimit) -> LoadBudget {
        LoadBudget {
            limit,
            text: 0,
            bytes: 0,
            start: u64::MAX,
            passed: 0,
            begins_turn: false,
            is_exhausted: false,
        }
    }

    /// Returns whether no more records fit.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// Returns the offset of the first loaded record.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Returns whether a record at this offset fits.
    pub(super) fn fits(&mut self, at: u64) -> bool {
        if self.is_exhausted || self.start == u64::MAX {
            return !self.is_exhausted;
        }
        if self.text >= self.limit.text {
            let stride = self.limit.stride();
            self.passed += (self.start / stride).saturating_sub(at / stride);
        }
        // A turn that is longer than a stride is cut.
        let is_enough = self.passed > 1 || (self.passed == 1 && self.begins_turn);
        self.is_exhausted = is_enough || self.bytes >= self.limit.bytes;
        !self.is_exhausted
    }

    /// Adds a loaded record.
    pub(super) fn add(&mut self, at: u64, bytes: u64, message: Option<&Message>) {
        self.start = at;
        self.bytes = self.bytes.saturating_add(bytes);
        self.text = self.text.saturating_add(message.map_or(0, text_of));
        self.begins_turn = message.is_some_and(begins_turn);
    }
}

/// Returns whether a message begins a turn: it holds text of a person, and not only results of tool calls.
pub(super) fn begins_turn(message: &Message) -> bool {
    let Body::User(body) = &message.body else {
        return false;
    };
    match &body.content {
        Content::Empty => false,
        Content::Text(text) => !text.is_empty(),
        Content::Blocks(blocks) => {
            let has_result = blocks
                .iter()
                .any(|block| matches!(block, Block::ToolResult(_)));
            !blocks.is_empty() && !has_result
        }
    }
}

/// Returns roughly the number of text bytes that a message has for a model.
fn text_of(message: &Message) -> u64 {
    match &message.body {
        Body::ToolUse(call) => call.input.as_str().len() as u64,
        body => body.content().map_or(0, text_in),
    }
}

/// Returns the number of text bytes of a content.
fn text_in(content: &Content) -> u64 {
    match content {
        Content::Empty => 0,
        Content::Text(text) => text.as_str().len() as u64,
        Content::Blocks(blocks) => blocks.iter().map(text_in_block).sum(),
    }
}

/// Returns the number of text bytes of a block, or an estimate for a picture or a document.
fn text_in_block(block: &Block) -> u64 {
    match block {
        Block::Text(block) => block.text.as_str().len() as u64,
        Block::Thinking(block) => block.thinking.as_str().len() as u64,
        Block::ToolUse(call) => call.input.as_str().len() as u64,
        // A result within a result is stored verbatim as another block, so the recursion ends.
        Block::ToolResult(result) => text_in(&result.content),
        Block::Image(_) | Block::RedactedThinking(_) => PICTURE,
        Block::Document(document) => document.source.as_str().len() as u64 / DOCUMENT,
        Block::Other(raw) => raw.as_str().len() as u64,
    }
}
