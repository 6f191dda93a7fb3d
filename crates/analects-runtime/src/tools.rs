//! What a turn needs to run the tools that a model calls. The caller brings the tools and decides which calls run.

use std::fmt;

use analects_core::{Block, Body, Content, Message, RawMap, ToolResult, ToolSpec, ToolUse, User};

/// The tools that a model is offered, and what runs them.
pub trait ToolRunner: fmt::Debug + Send + Sync {
    /// The tools that the model is offered.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Runs the calls of one answer and returns a result for each, in their order. Blocks until all are done. A call that
    /// may not run, or that no tool understands, gets a result that says so.
    fn run(&self, calls: &[&ToolUse]) -> Vec<CallResult>;
}

/// The result of one call, as the model gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// What the tool returned, or why it did not run.
    pub content: Content,
    /// Whether the call failed.
    pub is_error: bool,
}

impl CallResult {
    /// Creates the result of a call that failed, or that was not run.
    pub fn failed(text: impl Into<String>) -> CallResult {
        CallResult {
            content: Content::from(text.into()),
            is_error: true,
        }
    }
}

/// The message with the results of these calls. A call without a result gets one that says so, because providers refuse
/// a conversation that leaves a call open.
pub(crate) fn results_message(calls: &[&ToolUse], results: Vec<CallResult>) -> Message {
    let mut results = results.into_iter();
    let blocks = calls.iter().map(|call| {
        let result = results.next();
        block_of(
            call,
            result.unwrap_or_else(|| CallResult::failed("there is no result")),
        )
    });
    let user = User {
        content: Content::Blocks(blocks.collect()),
        ..User::default()
    };
    Message::new("", Body::User(user))
}

/// The results of calls in a conversation without tools.
pub(crate) fn unrun_results(calls: &[&ToolUse]) -> Vec<CallResult> {
    calls
        .iter()
        .map(|call| {
            let name = &call.name;
            CallResult::failed(format!(
                "{name} was not run: there is no tool of that name here"
            ))
        })
        .collect()
}

fn block_of(call: &ToolUse, result: CallResult) -> Block {
    Block::ToolResult(ToolResult {
        tool_use_id: call.id.clone(),
        content: result.content,
        is_error: result.is_error.then_some(true),
        extra: RawMap::new(),
    })
}

/// Notices a model that makes the same calls over and over and gets the same results.
#[derive(Debug, Default)]
pub(crate) struct RepeatedCalls {
    last: Vec<(String, String, CallResult)>,
    count: u32,
}

/// How often a model may make the same calls with the same results, one after the other.
const MOST_REPEATS: u32 = 3;

impl RepeatedCalls {
    /// Notes the calls of an answer with their results. True if the model is stuck.
    pub fn note(&mut self, calls: &[&ToolUse], results: &[CallResult]) -> bool {
        let named = calls.iter().map(|call| {
            let input = call.input.as_str().to_string();
            (call.name.clone(), input)
        });
        let now: Vec<(String, String, CallResult)> = named
            .zip(results)
            .map(|((name, input), result)| (name, input, result.clone()))
            .collect();
        if now == self.last {
            self.count += 1;
        } else {
            self.last = now;
            self.count = 1;
        }
        self.count >= MOST_REPEATS
    }
}
