//! Calls and their results: which of them belong together, and what is left over. Nothing is mended
//! here; [`Chain::sendable`](super::Chain::sendable) does that on the way out.

use std::collections::HashMap;

use super::resolve::name;
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
    /// Whether it brings results and nothing else.
    pub is_only_results: bool,
}

impl Said {
    /// What a message holds.
    pub fn of(message: &Message) -> Said {
        let mut said = Said::default();
        match &message.body {
            Body::ToolUse(call) => said.calls.push(call.id.clone()),
            Body::ToolResult(result) => {
                said.results.push(result.tool_use_id.clone());
                said.is_only_results = true;
            }
            Body::User(_) | Body::Assistant(_) | Body::System(_) => {
                let content = message.body.content();
                said.is_empty =
                    !message.is_api_error_message && content.is_none_or(Content::is_empty);
                said.read(content);
            }
            Body::Progress(_)
            | Body::Attachment(_)
            | Body::Notification(_)
            | Body::Summary(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => {}
        }
        said
    }

    fn read(&mut self, content: Option<&Content>) {
        let Some(Content::Blocks(blocks)) = content else {
            return;
        };
        let is_result = |block: &Block| matches!(block, Block::ToolResult(_));
        self.is_only_results = !blocks.is_empty() && blocks.iter().all(is_result);
        for block in blocks {
            match block {
                Block::ToolUse(call) => self.calls.push(call.id.clone()),
                Block::ToolResult(result) => self.results.push(result.tool_use_id.clone()),
                Block::Text(_)
                | Block::Image(_)
                | Block::Thinking(_)
                | Block::RedactedThinking(_)
                | Block::Document(_)
                | Block::Other(_) => {}
            }
        }
    }
}

/// Something that has no counterpart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unpaired {
    /// The position of the message that holds it.
    pub at: usize,
    /// What it is.
    pub what: Lack,
}

/// What a message lacks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// A call of this id has no result.
    Result(String),
    /// A result has no call of this id that waits for it.
    Call(String),
    /// The message says nothing.
    Content,
}

impl Unpaired {
    /// The same as a problem.
    pub fn problem(&self) -> Problem {
        match &self.what {
            Lack::Result(id) => {
                let text = format!("call {} has no result", name(id));
                let hint = "when the conversation is sent, a result that says so is added";
                Problem::warning("call-without-result", text).hint(hint)
            }
            Lack::Call(id) => {
                let text = format!("no call {} before this result waits for one", name(id));
                Problem::warning("result-without-call", text).hint("it is kept, and not sent")
            }
            Lack::Content => Problem::warning("empty-content", "this message says nothing")
                .hint("it is not sent"),
        }
    }
}

/// Goes over what messages hold, in their order, and says what has no counterpart.
#[derive(Debug, Default)]
pub struct Pairs {
    /// Calls that wait for their results, and where each was made.
    waiting: HashMap<String, usize>,
    found: Vec<Unpaired>,
}

impl Pairs {
    /// The next message, which stands at a position.
    pub fn push(&mut self, at: usize, said: &Said) {
        for id in &said.calls {
            // The same id again is another call.
            if let Some(at) = self.waiting.insert(id.clone(), at) {
                self.found.push(Unpaired {
                    at,
                    what: Lack::Result(id.clone()),
                });
            }
        }
        for id in &said.results {
            if self.waiting.remove(id).is_none() {
                self.found.push(Unpaired {
                    at,
                    what: Lack::Call(id.clone()),
                });
            }
        }
        if said.is_empty {
            self.found.push(Unpaired {
                at,
                what: Lack::Content,
            });
        }
    }

    /// What was found, in the order of the messages.
    pub fn finish(self) -> Vec<Unpaired> {
        let Pairs { waiting, mut found } = self;
        let open = waiting.into_iter();
        found.extend(open.map(|(id, at)| Unpaired {
            at,
            what: Lack::Result(id),
        }));
        found.sort();
        found
    }
}
