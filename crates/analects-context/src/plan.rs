//! The plan: which messages go out, merged into turns, and why the others stay.

use std::collections::HashSet;

use analects_core::{Agent, Block, Chain, Content, Message, MessageId, Request, Role, Text, Turn};

/// A request, and what became of every message on the way to it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// What is sent.
    pub request: Request,
    /// One row for each message of the chain, in order.
    pub rows: Vec<Row>,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The message.
    pub id: MessageId,
    /// Who speaks in it.
    pub role: Role,
    /// Why it is not sent; `None` if it is.
    pub left_out: Option<&'static str>,
}

/// Plans the request with which `agent` is asked to go on with the conversation. The model is the
/// first of the agent's.
pub fn plan(chain: &Chain<'_>, agent: &Agent) -> Plan {
    let mut plan = Plan::default();
    let mut system: Vec<String> = agent.system_prompt.iter().cloned().collect();
    let foreign = foreign_calls(chain, agent);
    let mut calls = HashSet::new();
    for message in &chain.messages {
        let left_out = message.why_not_sent();
        plan.rows.push(Row { id: message.id.clone(), role: message.role(), left_out });
        match left_out {
            Some(_) => {}
            None if message.role() == Role::System => system.push(message.text()),
            None => {
                let (role, content) = heard(message, agent);
                let content = own_results(content, &foreign, &calls);
                calls.extend(calls_in(&content));
                if !content.is_empty() {
                    add_turn(&mut plan.request.turns, role, content, message.model.as_ref());
                }
            }
        }
    }
    plan.request.model = agent.models.first().cloned().unwrap_or_default();
    plan.request.system = (!system.is_empty()).then(|| Text::from(system.join("\n\n")));
    plan.request.temperature = agent.use_temperature.then_some(agent.temperature);
    plan.request.max_output_tokens = Some(agent.max_output_tokens);
    plan.request.reasoning = agent.reasoning;
    plan
}

/// Who speaks to `agent`, and what it hears. Another agent's reply is something that the user
/// passes on: its text with its name, a line for each call and result, its thinking not at all.
fn heard(message: &Message, agent: &Agent) -> (Role, Content) {
    let content = message.content_to_send();
    let other = message.author.as_ref().filter(|author| {
        message.role() == Role::Assistant && !agent.name.is_empty() && **author != agent.name
    });
    let (Some(name), Content::Blocks(blocks)) = (other, &content) else {
        return match other {
            Some(name) => (Role::User, format!("[{name}]: {}", content.text()).into()),
            None => (message.role(), content),
        };
    };
    let lines: Vec<String> = blocks.iter().filter_map(passed_on).collect();
    (Role::User, format!("[{name}]: {}", lines.join("\n")).into())
}

fn passed_on(block: &Block) -> Option<String> {
    match block {
        Block::Text(block) => Some(block.text.as_str().into_owned()),
        Block::ToolUse(call) => Some(format!("(called {} with {})", call.name, call.input)),
        Block::ToolResult(result) => Some(format!("(result: {})", result.content.text())),
        _ => None,
    }
}

/// The calls that other agents made: their results are passed on as text, too.
fn foreign_calls<'a>(chain: &Chain<'a>, agent: &Agent) -> HashSet<&'a str> {
    let foreign = chain.messages.iter().filter(|message| {
        message.role() == Role::Assistant
            && message.author.as_ref().is_some_and(|author| *author != agent.name)
            && !agent.name.is_empty()
    });
    let blocks = foreign.filter_map(|message| match message.body.content() {
        Some(Content::Blocks(blocks)) => Some(blocks.as_slice()),
        _ => None,
    });
    let calls = blocks.flatten().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call.id.as_str()),
        _ => None,
    });
    calls.collect()
}

/// Results of calls that this agent did not make, as text; results of no call at all are left out,
/// since every provider refuses them.
fn own_results(content: Content, foreign: &HashSet<&str>, calls: &HashSet<String>) -> Content {
    let Content::Blocks(blocks) = content else { return content };
    let own = |block: Block| match &block {
        Block::ToolResult(result) if foreign.contains(result.tool_use_id.as_str()) => {
            passed_on(&block).map(Block::from_text)
        }
        Block::ToolResult(result) if !calls.contains(&result.tool_use_id) => None,
        _ => Some(block),
    };
    Content::Blocks(blocks.into_iter().filter_map(own).collect())
}

/// The calls in what is said.
fn calls_in(content: &Content) -> impl Iterator<Item = String> {
    let blocks = if let Content::Blocks(blocks) = content { blocks.as_slice() } else { &[] };
    blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call.id.clone()),
        _ => None,
    })
}

/// Adds a message to the turns; what one side says in several messages is one turn. Two models are two
/// sides: the thoughts of one must not pass for the other's.
fn add_turn(turns: &mut Vec<Turn>, role: Role, content: Content, model: Option<&String>) {
    match turns.last_mut() {
        Some(last) if last.role == role && (role == Role::User || last.model.as_ref() == model) => {
            let mut blocks = into_blocks(std::mem::take(&mut last.content));
            blocks.extend(into_blocks(content));
            last.content = Content::Blocks(blocks);
        }
        _ => turns.push(Turn { role, content, model: model.cloned() }),
    }
}

fn into_blocks(content: Content) -> Vec<Block> {
    match content {
        Content::Empty => Vec::new(),
        Content::Text(text) => vec![Block::from_text(text)],
        Content::Blocks(blocks) => blocks,
    }
}
