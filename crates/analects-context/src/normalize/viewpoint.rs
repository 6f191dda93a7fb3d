//! What an agent reads of a message. The user passes on the answers of other agents: their text with the agent's name,
//! one line per call and result, and no thinking.

use std::borrow::Cow;
use std::collections::HashSet;

use analects_core::{Agent, Block, Body, Chain, Content, Message, Role};

use crate::tokens::ModelFamily;

/// The agent that continues a conversation.
#[derive(Debug)]
pub(super) struct AgentViewpoint<'a> {
    name: &'a str,
    model: &'a str,
    /// The calls of other agents, whose results are passed on as text, too.
    foreign: HashSet<&'a str>,
}

impl<'a> AgentViewpoint<'a> {
    pub fn new(chain: &Chain<'a>, agent: &'a Agent) -> AgentViewpoint<'a> {
        let model = agent.models.first().map_or("", String::as_str);
        let mut viewpoint = AgentViewpoint {
            name: &agent.name,
            model,
            foreign: HashSet::new(),
        };
        for message in &chain.messages {
            if viewpoint.is_foreign(message) {
                viewpoint.foreign.extend(call_ids(&message.body));
            }
        }
        viewpoint
    }

    /// Returns whether another agent wrote a message.
    fn is_foreign(&self, message: &Message) -> bool {
        let is_other = |author: &String| author != self.name;
        message.role() == Role::Assistant
            && !self.name.is_empty()
            && message.author.as_ref().is_some_and(is_other)
    }

    /// Returns the role and the content in which the agent reads a message.
    pub fn see(&self, message: &Message) -> (Role, Content) {
        let content = message.content_seen();
        if self.is_foreign(message) {
            let author = message.author.as_deref().unwrap_or_default();
            return (Role::User, passed_on_content(author, &content));
        }
        let content = match content.into_owned() {
            Content::Blocks(blocks) => {
                Content::Blocks(self.see_blocks(blocks, message.model.as_deref()))
            }
            content => content,
        };
        (message.role(), content)
    }

    /// Removes the thinking of another vendor's model, and turns the results of other agents into text, with their
    /// pictures and documents behind it.
    fn see_blocks(&self, blocks: Vec<Block>, model: Option<&str>) -> Vec<Block> {
        let keeps_thinking = may_share_thinking(model, self.model);
        let mut seen = Vec::with_capacity(blocks.len());
        for block in blocks {
            match &block {
                Block::Thinking(_) | Block::RedactedThinking(_) => {
                    seen.extend(keeps_thinking.then_some(block));
                }
                Block::ToolResult(result) if self.foreign.contains(result.tool_use_id.as_str()) => {
                    seen.extend(passed_on(&block).map(|text| Block::from_text(text.into_owned())));
                    seen.extend(attached(&result.content).cloned());
                }
                Block::Text(_)
                | Block::Image(_)
                | Block::ToolUse(_)
                | Block::ToolResult(_)
                | Block::Document(_)
                | Block::Other(_) => seen.push(block),
            }
        }
        seen
    }
}

/// The pictures and documents in a result.
fn attached(content: &Content) -> impl Iterator<Item = &Block> {
    let blocks = match content {
        Content::Blocks(blocks) => blocks.as_slice(),
        Content::Empty | Content::Text(_) => &[],
    };
    blocks
        .iter()
        .filter(|block| matches!(block, Block::Image(_) | Block::Document(_)))
}

/// The text of another agent's answer, with the agent's name.
fn passed_on_content(author: &str, content: &Content) -> Content {
    let text = match content {
        Content::Blocks(blocks) => join_passed_on(blocks),
        content => content.text().into(),
    };
    if text.trim().is_empty() {
        return Content::Empty;
    }
    // Concatenation allocates once; a format would start small and grow.
    ["[", author, "]: ", &text].concat().into()
}

/// The ids of the calls in a message.
fn call_ids(body: &Body) -> Vec<&str> {
    if let Body::ToolUse(call) = body {
        return vec![call.id.as_str()];
    }
    let Some(Content::Blocks(blocks)) = body.content() else {
        return Vec::new();
    };
    let calls = blocks.iter().filter_map(Block::as_tool_use);
    calls.map(|call| call.id.as_str()).collect()
}

/// Joins the texts of blocks that are passed on.
fn join_passed_on(blocks: &[Block]) -> Cow<'_, str> {
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

/// The text in which the user passes on a block, if any.
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

/// Returns whether the thinking of the model `by` may be sent to `model`: not if both vendors are known and differ. The
/// encoder, which knows more, has the last word.
fn may_share_thinking(by: Option<&str>, model: &str) -> bool {
    let vendors = by.and_then(vendor_family).zip(vendor_family(model));
    vendors.is_none_or(|(by, to)| by == to)
}

/// Returns a family that stands for the vendor of a model; `None` if the vendor is unknown.
fn vendor_family(model: &str) -> Option<ModelFamily> {
    match ModelFamily::of(model) {
        ModelFamily::OpenAi | ModelFamily::OpenAiOld => Some(ModelFamily::OpenAi),
        family @ (ModelFamily::Claude | ModelFamily::Gemini) => Some(family),
        ModelFamily::Small | ModelFamily::Other => None,
    }
}
