//! How an answer ended, in words for whoever asked.

use analects_core::{Body, Message, StopReason};

/// Why a complete answer may not be what the person expects.
pub fn what_is_odd(answer: &Message) -> Option<String> {
    let Body::Assistant(body) = &answer.body else { return None };
    let silent = answer.text().trim().is_empty();
    let text = match &body.stop_reason {
        Some(StopReason::MaxTokens) if silent => {
            "the answer was cut at the token limit before any text came"
        }
        Some(StopReason::MaxTokens) => "the answer was cut at the token limit",
        Some(StopReason::Refusal) => "the model or its provider refused to answer",
        Some(StopReason::ToolUse) => "the model asks for a tool, and tools are not run",
        Some(reason @ (StopReason::PauseTurn | StopReason::Other(_))) => {
            return Some(format!("the answer ended for an unusual reason: {}", reason.as_str()));
        }
        _ if silent => "the answer holds no text",
        _ => return None,
    };
    Some(text.to_string())
}
