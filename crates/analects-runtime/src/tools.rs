//! Calls of tools and their results. Nobody runs tools yet: every call gets a result that says so, since a
//! conversation with an open call cannot be gone on with.

use analects_core::{Block, Body, Content, Message, RawMap, ToolResult, ToolUse, User};

/// The calls of an answer.
pub(crate) fn calls(answer: &Message) -> impl Iterator<Item = &ToolUse> {
    let blocks = match answer.body.content() {
        Some(Content::Blocks(blocks)) => blocks.as_slice(),
        _ => &[],
    };
    blocks.iter().filter_map(Block::as_tool_use)
}

/// The results of calls that nobody runs; `None` if the answer has no calls.
pub(crate) fn nobody_runs(answer: &Message) -> Option<Message> {
    let results: Vec<Block> = calls(answer).map(failed).collect();
    let content = Content::Blocks(results);
    let said = User { content: content.clone(), ..User::default() };
    (!content.is_empty()).then(|| Message::new("", Body::User(said)))
}

fn failed(call: &ToolUse) -> Block {
    Block::ToolResult(ToolResult {
        tool_use_id: call.id.clone(),
        content: format!("{} was not run: there is no tool of that name here", call.name).into(),
        is_error: Some(true),
        extra: RawMap::new(),
    })
}
