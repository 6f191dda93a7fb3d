//! The conversation as the API wants it. Calls and results come in order; but what of a turn the API
//! does not take goes, and still turns alternate and begin with the user, and none is empty.

use analects_core::{Content, Raw, RawMap, Role, Turn};

use super::blocks::{Piece, Speaker, text_block};
use super::clean::Ids;
use super::server_tools::Waiting;
use crate::anthropic::wire::word;
use crate::openai::list;
use crate::outgoing::LeftOut;
use crate::outgoing::json::{with, without};

/// What a conversation begins with that the model began.
const BEGINNING: &str = "(The conversation begins with your words.)";
const MOST_CACHE_POINTS: usize = 4;

/// One message of the body.
#[derive(Debug)]
pub(super) struct Message {
    role: Role,
    /// Results, which stand first.
    results: Vec<RawMap>,
    pub said: Vec<RawMap>,
    /// The turn of the request with which it began.
    turn: usize,
}

impl Message {
    fn new(role: Role, turn: usize) -> Message {
        Message { role, results: Vec::new(), said: Vec::new(), turn }
    }

    /// Drops the thoughts at its end, of which nothing came; says how many.
    pub fn drop_last_thoughts(&mut self) -> usize {
        let kept = self.said.iter().rposition(|block| !is_thought(block)).map_or(0, |at| at + 1);
        self.said.drain(kept..).count()
    }

    /// The names of the tools of ours that it calls.
    pub fn called(&self) -> impl Iterator<Item = String> {
        let calls = self.said.iter().filter(|block| kind(block) == "tool_use");
        calls.filter_map(|call| call.get("name")?.as_string())
    }

    /// One bare text as a string, anything else as blocks.
    pub fn to_raw(&self) -> Raw {
        let blocks: Vec<_> = self.results.iter().chain(&self.said).collect();
        let content = match blocks.as_slice() {
            [only] if kind(only) == "text" && only.len() == 2 => only.get("text").cloned(),
            _ => None,
        };
        let blocks = || list(&blocks.iter().map(|block| block.to_raw()).collect::<Vec<_>>());
        let mut map = RawMap::new();
        map.push("role", Raw::string(self.role.as_str()));
        map.push("content", content.unwrap_or_else(blocks));
        map.to_raw()
    }
}

/// The type of a block.
pub(super) fn kind(block: &RawMap) -> String {
    word(block, "type").unwrap_or_default()
}

fn is_thought(block: &RawMap) -> bool {
    matches!(kind(block).as_str(), "thinking" | "redacted_thinking")
}

/// A conversation in the making.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    messages: Vec<Message>,
    /// Calls of the provider's own tools that wait for ours.
    waiting: Waiting,
    ids: Ids,
}

impl Conversation {
    /// Adds a turn of the request.
    pub fn add(&mut self, index: usize, turn: &Turn, asked: &str, left_out: &mut LeftOut) {
        let speaker = Speaker::of(index, turn, asked);
        match &turn.content {
            Content::Empty => {}
            Content::Text(text) => {
                if let Some(piece) = speaker.words(text) {
                    self.push(index, piece, left_out);
                }
            }
            Content::Blocks(blocks) => {
                for block in blocks {
                    if let Some(piece) = speaker.block(block, left_out) {
                        self.push(index, piece, left_out);
                    }
                }
            }
        }
    }

    fn push(&mut self, turn: usize, piece: Piece, left_out: &mut LeftOut) {
        match piece {
            Piece::Said(role, block) => self.begin(role, turn, left_out).said.push(block),
            Piece::Call { id, block } => {
                let block = with_id(&block, "id", self.ids.new_for(&id));
                self.begin(Role::Assistant, turn, left_out).said.push(block);
            }
            Piece::Answer { id, block } => {
                let block = with_id(&block, "tool_use_id", self.ids.of(&id));
                self.begin(Role::User, turn, left_out).results.push(block);
            }
        }
    }

    /// The message that `role` goes on with, or a new one.
    fn begin(&mut self, role: Role, turn: usize, left_out: &mut LeftOut) -> &mut Message {
        if self.messages.last().is_some_and(|last| last.role != role) {
            self.close(false, left_out);
        }
        if self.messages.last().is_none_or(|last| last.role != role) {
            self.messages.push(Message::new(role, turn));
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last]
    }

    /// Mends the last message, since nothing more comes to it; it goes if nothing of it is left.
    fn close(&mut self, is_last: bool, left_out: &mut LeftOut) {
        let Some(mut message) = self.messages.pop() else { return };
        if message.role == Role::Assistant {
            if self.waiting.pair(&mut self.messages, &mut message, is_last) {
                let what = "a call of a server's tool";
                left_out.content(message.turn, what, "its other half is missing");
            }
            for _ in 0..message.drop_last_thoughts() {
                left_out.thought(message.turn, "nothing came of it");
            }
        }
        if !message.results.is_empty() || !message.said.is_empty() {
            self.messages.push(message);
        }
    }

    /// The messages, complete.
    pub fn finish(mut self, left_out: &mut LeftOut) -> Vec<Message> {
        self.close(true, left_out);
        if self.messages.first().is_some_and(|first| first.role == Role::Assistant) {
            left_out.otherwise("the model spoke first, so a line of the user is sent before it");
            let mut first = Message::new(Role::User, 0);
            first.said.extend(text_block(BEGINNING));
            self.messages.insert(0, first);
        }
        if self.messages.is_empty() {
            left_out.everything();
        }
        self.trim_end();
        self.messages
    }

    /// What the model is to go on with must not end in a blank.
    fn trim_end(&mut self) {
        let last = self.messages.last_mut().filter(|last| last.role == Role::Assistant);
        let Some(block) = last.and_then(|last| last.said.last_mut()) else { return };
        if kind(block) == "text"
            && let Some(text) = word(block, "text")
        {
            *block = with(block, "text", Raw::string(text.trim_end()));
        }
    }
}

/// A block with an identifier behind its type.
fn with_id(block: &RawMap, key: &str, id: &str) -> RawMap {
    let mut out = RawMap::new();
    for (at, (name, value)) in block.iter().enumerate() {
        if at == 1 {
            out.push(key, Raw::string(id));
        }
        out.push_raw(name.clone(), value.clone());
    }
    if block.len() == 1 {
        out.push(key, Raw::string(id));
    }
    out
}

/// Whether the model's turn that is still going on began without a thought: with calls that were just
/// answered, or with words to go on with.
pub(super) fn begins_without_thinking(messages: &[Message]) -> bool {
    let going_on =
        |message: &&Message| message.role == Role::Assistant || !message.results.is_empty();
    let turn = messages.iter().rev().take_while(going_on);
    let first = turn.filter(|message| message.role == Role::Assistant).last();
    first.is_some_and(|message| !message.said.first().is_some_and(is_thought))
}

/// Keeps the last marks for the cache, as many as the API allows.
pub(super) fn limit_cache_points(
    system: &mut [RawMap],
    messages: &mut [Message],
    metadata: &RawMap,
    left_out: &mut LeftOut,
) {
    const KEY: &str = "cache_control";
    let tools = metadata.get("tools").and_then(Raw::as_array).unwrap_or_default();
    let tools = tools.iter().filter_map(Raw::as_object).filter(|tool| tool.get(KEY).is_some());
    let fixed = tools.count() + usize::from(metadata.get(KEY).is_some());
    let said =
        messages.iter_mut().flat_map(|message| message.results.iter_mut().chain(&mut message.said));
    let marked = system.iter_mut().chain(said).filter(|block| block.get(KEY).is_some());
    let marked: Vec<&mut RawMap> = marked.collect();
    let too_many = (marked.len() + fixed).saturating_sub(MOST_CACHE_POINTS);
    for block in marked.into_iter().take(too_many) {
        *block = without(block, KEY);
    }
    if too_many > 0 {
        left_out.setting(KEY, "the API takes four marks, and the last are kept");
    }
}
