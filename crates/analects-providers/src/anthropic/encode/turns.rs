//! The conversation as the API wants it. Calls and results come in order; but what of a turn the API
//! does not take goes, and still turns alternate and begin with the user, and none is empty.

use std::collections::{BTreeMap, BTreeSet};

use analects_core::{Content, Raw, RawMap, Role, Turn};

use super::blocks::{Piece, Speaker, text_block};
use crate::outgoing::{LeftOut, is_plain_char};
use crate::reading::word;

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
        Message {
            role,
            results: Vec::new(),
            said: Vec::new(),
            turn,
        }
    }

    /// Drops the thoughts at its end, of which nothing came; says how many.
    pub fn drop_last_thoughts(&mut self) -> usize {
        let kept = self
            .said
            .iter()
            .rposition(|block| !is_thought(block))
            .map_or(0, |at| at + 1);
        self.said.drain(kept..).count()
    }

    /// The names of the tools of ours that it calls.
    pub fn called(&self) -> impl Iterator<Item = String> {
        let calls = self.said.iter().filter(|block| kind(block) == "tool_use");
        calls.filter_map(|call| call.string("name"))
    }

    /// One bare text as a string, anything else as blocks.
    pub fn to_raw(&self) -> Raw {
        let blocks: Vec<_> = self.results.iter().chain(&self.said).collect();
        let content = match blocks.as_slice() {
            [only] if kind(only) == "text" && only.len() == 2 => only.get("text").cloned(),
            _ => None,
        };
        let blocks = || {
            Raw::array(
                &blocks
                    .iter()
                    .map(|block| block.to_raw())
                    .collect::<Vec<_>>(),
            )
        };
        let role = Raw::string(self.role.as_str());
        let content = content.unwrap_or_else(blocks);
        RawMap::from([("role", role), ("content", content)]).to_raw()
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
            Piece::Call { id, mut block } => {
                block.set("id", Raw::string(self.ids.new_for(&id)));
                self.begin(Role::Assistant, turn, left_out).said.push(block);
            }
            Piece::Answer { id, mut block } => {
                block.set("tool_use_id", Raw::string(self.ids.of(&id)));
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
        let Some(mut message) = self.messages.pop() else {
            return;
        };
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
        if self
            .messages
            .first()
            .is_some_and(|first| first.role == Role::Assistant)
        {
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
        let last = self
            .messages
            .last_mut()
            .filter(|last| last.role == Role::Assistant);
        let Some(block) = last.and_then(|last| last.said.last_mut()) else {
            return;
        };
        if kind(block) == "text"
            && let Some(text) = word(block, "text")
        {
            block.set("text", Raw::string(text.trim_end()));
        }
    }
}

/// Calls of the provider's own tools, which it answers itself: in the same turn, or later, where its tool
/// called one of ours and waits for that. These wait; their results come in a later turn.
#[derive(Debug, Default)]
struct Waiting(BTreeSet<String>);

fn is_server_call(block: &RawMap) -> bool {
    matches!(kind(block).as_str(), "server_tool_use" | "mcp_tool_use")
}

fn is_server_result(block: &RawMap) -> bool {
    kind(block).ends_with("_tool_result")
}

/// The call of a server's tool that made this call.
fn caller(block: &RawMap) -> Option<String> {
    word(&block.get("caller")?.as_object()?, "tool_id")
}

fn id(block: &RawMap, key: &str) -> String {
    word(block, key).unwrap_or_default()
}

impl Waiting {
    /// Drops calls without their results from the model's `last` message, and results without their
    /// calls; only a turn that was `paused` may end in a call. Calls of those `before` that will never
    /// be answered go, too. Says whether anything went.
    fn pair(&mut self, before: &mut [Message], last: &mut Message, paused: bool) -> bool {
        let earlier = std::mem::take(&mut self.0);
        let (mut made, mut answered) = (earlier.clone(), BTreeSet::new());
        let count = last.said.len();
        last.said.retain(|block| {
            if is_server_result(block) {
                let call = id(block, "tool_use_id");
                return made.contains(&call) && answered.insert(call);
            }
            !is_server_call(block) || made.insert(id(block, "id"))
        });
        let callers = last.said.iter().filter_map(caller);
        self.0 = callers
            .filter(|id| made.contains(id) && !answered.contains(id))
            .collect();
        let mut lost = BTreeSet::new();
        if !paused {
            let open = made
                .iter()
                .filter(|id| !answered.contains(*id) && !self.0.contains(*id));
            lost.extend(open.cloned());
        }
        let mut went = last.said.len() < count;
        for message in before.iter_mut().filter(|_| !earlier.is_disjoint(&lost)) {
            went |= forget(message, |id| lost.contains(id));
            message.drop_last_thoughts();
        }
        went | forget(last, |id| lost.contains(id) || !made.contains(id))
    }
}

/// Drops the calls that are `gone`, and from calls of ours that they were made by these.
fn forget(message: &mut Message, gone: impl Fn(&str) -> bool) -> bool {
    let count = message.said.len();
    message
        .said
        .retain(|block| !is_server_call(block) || !gone(&id(block, "id")));
    for block in &mut message.said {
        if caller(block).is_some_and(|id| gone(&id)) {
            block.remove("caller");
        }
    }
    message.said.len() < count
}

/// The identifiers that calls go out with: what the API accepts, and different ones for different calls.
#[derive(Debug, Default)]
struct Ids {
    taken: BTreeSet<String>,
    /// What is sent for each.
    sent: BTreeMap<String, String>,
    /// How often each was asked for.
    asked: BTreeMap<String, usize>,
}

impl Ids {
    /// The identifier to send for a call that has this one. What stands before it decides alone, so
    /// that a longer conversation begins with the same bytes, and can be cached.
    fn new_for(&mut self, id: &str) -> &str {
        let plain = plain_id(id);
        let count = self.asked.entry(plain.clone()).or_insert(1);
        let mut candidate = plain.clone();
        while !self.taken.insert(candidate.clone()) {
            *count += 1;
            candidate = format!("{plain}_{count}");
        }
        self.sent.entry(id.to_string()).or_insert(candidate)
    }

    /// The identifier that was sent for the call of this one.
    fn of<'a>(&'a self, id: &'a str) -> &'a str {
        self.sent.get(id).map_or(id, String::as_str)
    }
}

/// The nearest identifier that the API accepts.
fn plain_id(id: &str) -> String {
    if id.is_empty() {
        return "call".to_string();
    }
    id.chars()
        .map(|c| if is_plain_char(c) { c } else { '_' })
        .collect()
}

/// Whether the model's turn that is still going on began without a thought: with calls that were just
/// answered, or with words to go on with.
pub(super) fn begins_without_thinking(messages: &[Message]) -> bool {
    let going_on =
        |message: &&Message| message.role == Role::Assistant || !message.results.is_empty();
    let turn = messages.iter().rev().take_while(going_on);
    let first = turn
        .filter(|message| message.role == Role::Assistant)
        .last();
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
    let tools = metadata
        .get("tools")
        .and_then(Raw::as_array)
        .unwrap_or_default();
    let tools = tools
        .iter()
        .filter_map(Raw::as_object)
        .filter(|tool| tool.get(KEY).is_some());
    let fixed = tools.count() + usize::from(metadata.get(KEY).is_some());
    let said = messages
        .iter_mut()
        .flat_map(|message| message.results.iter_mut().chain(&mut message.said));
    let marked = system
        .iter_mut()
        .chain(said)
        .filter(|block| block.get(KEY).is_some());
    let marked: Vec<&mut RawMap> = marked.collect();
    let too_many = (marked.len() + fixed).saturating_sub(MOST_CACHE_POINTS);
    for block in marked.into_iter().take(too_many) {
        block.remove(KEY);
    }
    if too_many > 0 {
        left_out.setting(KEY, "the API takes four marks, and the last are kept");
    }
}
