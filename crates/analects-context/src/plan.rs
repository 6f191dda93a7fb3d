//! The plan: which messages go out, merged into turns, and why the others stay.

use analects_core::{
    Agent, Block, Body, Chain, Content, History, Message, MessageId, Request, Role, Text, Turn,
};

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
    for message in &chain.messages {
        let left_out = why_left_out(message);
        plan.rows.push(Row { id: message.id.clone(), role: message.role(), left_out });
        match left_out {
            Some(_) => {}
            None if message.role() == Role::System => system.push(message.text()),
            None => add_turn(&mut plan.request.turns, message),
        }
    }
    plan.request.model = agent.models.first().cloned().unwrap_or_default();
    plan.request.system = (!system.is_empty()).then(|| Text::from(system.join("\n\n")));
    plan.request.temperature = agent.use_temperature.then_some(agent.temperature);
    plan.request.max_output_tokens = Some(agent.max_output_tokens);
    plan.request.reasoning = agent.reasoning;
    plan
}

fn why_left_out(message: &Message) -> Option<&'static str> {
    let speaks = matches!(
        message.body,
        Body::System(_)
            | Body::User(_)
            | Body::Assistant(_)
            | Body::ToolUse(_)
            | Body::ToolResult(_)
    );
    match message.history {
        History::Exclude => Some("history=exclude"),
        History::Summary => Some("history=summary, and summaries are not made yet"),
        History::Include if !speaks => Some("not part of what a model reads"),
        History::Include if message.is_api_error_message => Some("reports an error"),
        History::Include if content(message).is_empty() => Some("empty"),
        History::Include => None,
    }
}

fn content(message: &Message) -> Content {
    match &message.body {
        Body::ToolUse(call) => Content::Blocks(vec![Block::ToolUse(call.clone())]),
        Body::ToolResult(result) => Content::Blocks(vec![Block::ToolResult(result.clone())]),
        body => body.content().cloned().unwrap_or_default(),
    }
}

/// Adds a message to the turns; what one side says in several messages is one turn.
fn add_turn(turns: &mut Vec<Turn>, message: &Message) {
    let (role, content) = (message.role(), content(message));
    match turns.last_mut() {
        Some(last) if last.role == role => {
            let mut blocks = into_blocks(std::mem::take(&mut last.content));
            blocks.extend(into_blocks(content));
            last.content = Content::Blocks(blocks);
        }
        _ => turns.push(Turn { role, content, model: message.model.clone() }),
    }
}

fn into_blocks(content: Content) -> Vec<Block> {
    match content {
        Content::Empty => Vec::new(),
        Content::Text(text) => vec![Block::from_text(text)],
        Content::Blocks(blocks) => blocks,
    }
}
