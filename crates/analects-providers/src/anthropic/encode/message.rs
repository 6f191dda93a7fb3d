//! One message of the body.

use analects_core::{Raw, RawMap, Role};

use crate::decoding::string_member;

/// A message of the body, as its blocks in the form of the API.
#[derive(Debug)]
pub(super) struct AnthropicMessage {
    pub role: Role,
    /// Tool results. The API requires them before all other blocks.
    pub results: Vec<RawMap>,
    /// All other blocks.
    pub content: Vec<RawMap>,
    /// The number of the turn with which it began, for reports.
    pub turn: usize,
}

impl AnthropicMessage {
    /// A message without blocks.
    pub fn new(role: Role, turn: usize) -> AnthropicMessage {
        AnthropicMessage {
            role,
            results: Vec::new(),
            content: Vec::new(),
            turn,
        }
    }

    /// Whether nothing is left to send.
    pub fn is_empty(&self) -> bool {
        self.results.is_empty() && self.content.is_empty()
    }

    /// Removes thinking at the end, which led to nothing. Returns how many blocks were removed.
    pub fn remove_trailing_thinking(&mut self) -> usize {
        let last = self.content.iter().rposition(|block| !is_thinking(block));
        let kept = last.map_or(0, |last| last + 1);
        self.content.drain(kept..).count()
    }

    /// The names of the tools that it calls, without those that the provider runs.
    pub fn called_tools(&self) -> impl Iterator<Item = String> {
        let blocks = self.content.iter();
        let calls = blocks.filter(|block| block_type(block) == "tool_use");
        calls.filter_map(|call| call.string("name"))
    }

    /// Writes the message; a single text without other fields as a string, anything else as blocks.
    pub fn to_raw(&self) -> Raw {
        let content = match self.only_text() {
            Some(text) => text,
            None => self.block_list(),
        };
        let role = Raw::string(self.role.as_str());
        RawMap::from([("role", role), ("content", content)]).to_raw()
    }

    /// The text of a message that is a single text without a cache point or citations.
    fn only_text(&self) -> Option<Raw> {
        let [only] = self.content.as_slice() else {
            return None;
        };
        let is_bare = block_type(only) == "text" && only.len() == 2;
        if !is_bare || !self.results.is_empty() {
            return None;
        }
        only.get("text").cloned()
    }

    /// All blocks, with the results first.
    fn block_list(&self) -> Raw {
        let blocks = self.results.iter().chain(&self.content);
        let blocks: Vec<Raw> = blocks.map(RawMap::to_raw).collect();
        Raw::array(&blocks)
    }
}

/// The type of a block; empty if it has none.
pub(super) fn block_type(block: &RawMap) -> String {
    string_member(block, "type").unwrap_or_default()
}

/// Whether a block is thinking, readable or encrypted.
pub(super) fn is_thinking(block: &RawMap) -> bool {
    matches!(block_type(block).as_str(), "thinking" | "redacted_thinking")
}
