//! What an agent hears of a message. Another agent's reply is something that the user passes on: its text with
//! its name, a line for each call and result, its thinking not at all.

use std::borrow::Cow;
use std::collections::HashSet;

use analects_core::{Agent, Block, Body, Chain, Content, Message, Role};

use crate::tokens::Family;

/// An agent that is to go on with a conversation.
#[derive(Debug)]
pub(super) struct Listener<'a> {
    name: &'a str,
    model: &'a str,
    /// The calls that other agents made: their results are passed on as text, too.
    foreign: HashSet<&'a str>,
}

impl<'a> Listener<'a> {
    pub fn new(chain: &Chain<'a>, agent: &'a Agent) -> Listener<'a> {
        let model = agent.models.first().map_or("", String::as_str);
        let mut listener = Listener {
            name: &agent.name,
            model,
            foreign: HashSet::new(),
        };
        for message in &chain.messages {
            if listener.is_foreign(message) {
                listener.foreign.extend(calls(&message.body));
            }
        }
        listener
    }

    fn is_foreign(&self, message: &Message) -> bool {
        let is_other = |author: &String| author != self.name;
        message.role() == Role::Assistant
            && !self.name.is_empty()
            && message.author.as_ref().is_some_and(is_other)
    }

    /// Who speaks, and what is heard.
    pub fn hear(&self, message: &Message) -> (Role, Content) {
        let content = message.content_seen();
        if self.is_foreign(message) {
            let name = message.author.as_deref().unwrap_or_default();
            let text = match &*content {
                Content::Blocks(blocks) => joined(blocks),
                content => content.text().into(),
            };
            let said = if text.trim().is_empty() {
                Content::Empty
            } else {
                // Without a format that would begin small and grow.
                ["[", name, "]: ", &text].concat().into()
            };
            return (Role::User, said);
        }
        let content = content.into_owned();
        let Content::Blocks(blocks) = content else {
            return (message.role(), content);
        };
        let own_thoughts = same_maker(message.model.as_deref(), self.model);
        let heard = blocks.into_iter().filter_map(|block| match &block {
            Block::Thinking(_) | Block::RedactedThinking(_) => own_thoughts.then_some(block),
            Block::ToolResult(result) if self.foreign.contains(result.tool_use_id.as_str()) => {
                passed_on(&block).map(|text| Block::from_text(text.into_owned()))
            }
            Block::Text(_)
            | Block::Image(_)
            | Block::ToolUse(_)
            | Block::ToolResult(_)
            | Block::Document(_)
            | Block::Other(_) => Some(block),
        });
        (message.role(), Content::Blocks(heard.collect()))
    }
}

/// The ids of the calls in a message.
fn calls(body: &Body) -> Vec<&str> {
    if let Body::ToolUse(call) = body {
        return vec![call.id.as_str()];
    }
    let Some(Content::Blocks(blocks)) = body.content() else {
        return Vec::new();
    };
    let calls = blocks.iter().filter_map(Block::as_tool_use);
    calls.map(|call| call.id.as_str()).collect()
}

/// What is passed on of some blocks.
fn joined(blocks: &[Block]) -> Cow<'_, str> {
    match blocks {
        [block] => passed_on(block).unwrap_or_default(),
        blocks => blocks
            .iter()
            .filter_map(passed_on)
            .collect::<Vec<_>>()
            .join("\n")
            .into(),
    }
}

fn passed_on(block: &Block) -> Option<Cow<'_, str>> {
    match block {
        Block::Text(block) => Some(block.text.as_str()),
        Block::ToolUse(call) => Some(format!("(called {} with {})", call.name, call.input).into()),
        Block::ToolResult(result) => Some(format!("(result: {})", result.content.text()).into()),
        Block::Image(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::Document(_)
        | Block::Other(_) => None,
    }
}

/// Whether what `by` thought may go back to `model`: not if two makers are known, and differ. Whether it really
/// goes is up to the encoder, which knows more.
fn same_maker(by: Option<&str>, model: &str) -> bool {
    let maker = |model: &str| match Family::of(model) {
        Family::OpenAi | Family::OpenAiOld => Some(Family::OpenAi),
        known @ (Family::Claude | Family::Gemini) => Some(known),
        Family::Small | Family::Other => None,
    };
    match (by.and_then(maker), maker(model)) {
        (Some(by), Some(asked)) => by == asked,
        _ => true,
    }
}
