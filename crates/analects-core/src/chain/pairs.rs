//! Calls and their results: which of them belong together, and what is left over. Nothing is mended
//! here; [`Chain::sendable`](super::Chain) does that on the way out.

use std::collections::HashMap;

use super::resolve::{Finding, name};
use crate::{Block, Body, Content, Message, Problem};

/// What a message holds as far as pairing and emptiness go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said {
    /// The calls that it makes, by their ids.
    pub calls: Vec<String>,
    /// The calls whose results it brings.
    pub results: Vec<String>,
    /// Whether it should say something, and does not.
    pub is_empty: bool,
}

impl Said {
    /// What a message holds.
    pub fn of(message: &Message) -> Said {
        let mut said = Said::default();
        match &message.body {
            Body::ToolUse(call) => said.calls.push(call.id.clone()),
            Body::ToolResult(result) => said.results.push(result.tool_use_id.clone()),
            Body::User(_) | Body::Assistant(_) | Body::System(_) => {
                let content = message.body.content();
                said.is_empty =
                    !message.is_api_error_message && content.is_none_or(Content::is_empty);
                said.read(content);
            }
            _ => {}
        }
        said
    }

    fn read(&mut self, content: Option<&Content>) {
        let Some(Content::Blocks(blocks)) = content else { return };
        for block in blocks {
            match block {
                Block::ToolUse(call) => self.calls.push(call.id.clone()),
                Block::ToolResult(result) => self.results.push(result.tool_use_id.clone()),
                _ => {}
            }
        }
    }
}

/// Goes over what messages hold, in their order, and says what has no counterpart.
#[derive(Debug, Default)]
pub struct Pairs {
    /// The calls so far: where each was made, and whether its result came.
    calls: HashMap<String, (usize, bool)>,
    findings: Vec<Finding>,
}

impl Pairs {
    /// The next message, which stands at a position.
    pub fn push(&mut self, at: usize, said: &Said) {
        for id in &said.calls {
            if let Some((at, false)) = self.calls.insert(id.clone(), (at, false)) {
                self.report_call(at, id);
            }
        }
        for id in &said.results {
            let problem = match self.calls.get_mut(id.as_str()) {
                Some((_, answered @ false)) => {
                    *answered = true;
                    continue;
                }
                Some(_) => format!("call {} has its result already", name(id)),
                None => format!("there is no call {} before its result", name(id)),
            };
            let hint = "it is kept, and not sent";
            let problem = Problem::warning("result-without-call", problem).hint(hint);
            self.findings.push(Finding { at, problem });
        }
        if said.is_empty {
            let text = "this message says nothing";
            let problem = Problem::warning("empty-content", text).hint("it is not sent");
            self.findings.push(Finding { at, problem });
        }
    }

    fn report_call(&mut self, at: usize, id: &str) {
        let text = format!("call {} has no result", name(id));
        let hint = "when the conversation is sent, a result that says so is added";
        let problem = Problem::warning("call-without-result", text).hint(hint);
        self.findings.push(Finding { at, problem });
    }

    /// What was found, in the order of the messages.
    pub fn finish(mut self) -> Vec<Finding> {
        let open = std::mem::take(&mut self.calls).into_iter();
        let mut open: Vec<(usize, String)> =
            open.filter(|(_, (_, answered))| !answered).map(|(id, (at, _))| (at, id)).collect();
        open.sort();
        for (at, id) in open {
            self.report_call(at, &id);
        }
        self.findings.sort_by_key(|finding| finding.at);
        self.findings
    }
}
