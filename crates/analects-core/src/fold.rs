//! What comes back from a model, piece by piece, whatever the provider; and the message that the pieces make. A stream
//! that broke off gives what came, marked interrupted; a tool call of which only a part came is never passed off as a
//! call.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{
    ApiError, Block, Body, Content, Json, Message, Problem, Raw, RawMap, RedactedThinking,
    StopReason, Text, TextBlock, Thinking, TokenUsage, ToolUse,
};

/// One piece of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamEvent {
    /// The answer begins.
    MessageStart {
        /// The model that answers, by its own account.
        model: Option<String>,
        /// The provider's name for the answer.
        response_id: Option<String>,
    },
    /// A block begins.
    BlockStart {
        /// Its place in the answer, from 0.
        index: usize,
        /// What kind of block.
        block: BlockStart,
    },
    /// A block goes on.
    BlockDelta {
        /// The block's place.
        index: usize,
        /// What is added to it.
        delta: Delta,
    },
    /// A block has a field of which the core knows nothing; kept with the block. A field that comes
    /// again replaces the earlier one.
    BlockExtra {
        /// The block's place.
        index: usize,
        /// What the field is called.
        key: String,
        /// What it holds.
        value: Raw,
    },
    /// A block is complete.
    BlockStop {
        /// The block's place.
        index: usize,
    },
    /// A tool call is complete: the block at `index` with its arguments parsed.
    ToolUse {
        /// The block's place.
        index: usize,
        /// The provider's name for the call.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments.
        input: Raw,
    },
    /// Token counts so far.
    Usage(TokenUsage),
    /// The answer is complete.
    MessageStop {
        /// Why it ended, where the provider said.
        stop_reason: Option<StopReason>,
    },
    /// A sign of life.
    Ping,
    /// The provider gave up in the middle of the answer.
    Error(ApiError),
    /// Something that came along and has no place of its own; kept with the message.
    Extra {
        /// What it is called.
        key: String,
        /// What it holds.
        value: Raw,
    },
}

/// How a block begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockStart {
    /// Text follows.
    Text,
    /// A thought follows.
    Thinking,
    /// Encrypted thinking, whole.
    RedactedThinking {
        /// The provider's data.
        data: String,
    },
    /// The arguments of a tool call follow.
    ToolUse {
        /// The provider's name for the call.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// A block that has no start of its own, whole: one that the model does not know, or an image
    /// or a document.
    Other(Raw),
}

/// What is added to a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// More text.
    Text(Text),
    /// More of a thought.
    Thinking(Text),
    /// The seal of a thought.
    Signature(String),
    /// More of the arguments' JSON text.
    PartialJson(String),
}

/// Makes one message of a whole stream; see [`Fold`] for one that is still coming.
pub fn fold<'a>(events: impl IntoIterator<Item = &'a StreamEvent>, base: Message) -> Folded {
    let mut fold = Fold::default();
    for event in events {
        fold.push(event);
    }
    fold.finish(base)
}

/// A message in the making.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    model: Option<String>,
    response_id: Option<String>,
    blocks: Vec<Part>,
    /// Where each block is, by the index that the events give it.
    places: HashMap<usize, usize>,
    usage: TokenUsage,
    stop_reason: Option<StopReason>,
    complete: bool,
    error: Option<ApiError>,
    extra: RawMap,
}

/// What a stream folded into.
#[derive(Debug, Clone, PartialEq)]
pub struct Folded {
    /// The message.
    pub message: Message,
    /// Whether the provider said that this is all of it.
    pub complete: bool,
    /// The error with which the provider gave up, if it did.
    pub error: Option<ApiError>,
    /// What was odd.
    pub problems: Vec<Problem>,
}

/// A block in the making.
#[derive(Debug, Clone)]
struct Part {
    index: usize,
    block: Block,
    /// The arguments of a tool call so far.
    json: String,
    done: bool,
}

impl Part {
    /// Whether it was announced, and the stream broke off before anything of it came.
    fn is_nothing(&self) -> bool {
        !self.done
            && match &self.block {
                Block::Text(text) => *text == TextBlock::default(),
                Block::Thinking(thought) => *thought == Thinking::default(),
                Block::Image(_)
                | Block::ToolUse(_)
                | Block::ToolResult(_)
                | Block::RedactedThinking(_)
                | Block::Document(_)
                | Block::Other(_) => false,
            }
    }
}

impl Fold {
    /// Takes the next event.
    pub fn push(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::MessageStart { model, response_id } => {
                self.model = model.clone();
                self.response_id = response_id.clone();
            }
            StreamEvent::BlockStart { index, block } => self.start(*index, block),
            StreamEvent::BlockDelta { index, delta } => self.delta(*index, delta),
            StreamEvent::BlockExtra { index, key, value } => {
                if let Some(extra) = self
                    .part(*index)
                    .and_then(|part| extra_mut(&mut part.block))
                {
                    extra.take(key, |_| Some(()));
                    extra.push(key, value.clone());
                }
            }
            StreamEvent::BlockStop { index } => {
                if let Some(part) = self.part(*index) {
                    part.done = true;
                }
            }
            StreamEvent::ToolUse {
                index,
                id,
                name,
                input,
            } => {
                let (id, name, input) = (id.clone(), name.clone(), input.clone());
                let begun = self
                    .part(*index)
                    .and_then(|part| extra_mut(&mut part.block));
                let extra = begun.map(std::mem::take).unwrap_or_default();
                let call = Block::ToolUse(ToolUse {
                    id,
                    name,
                    input,
                    extra,
                });
                let part = Part {
                    index: *index,
                    block: call,
                    json: String::new(),
                    done: true,
                };
                self.put(part);
            }
            StreamEvent::Usage(usage) => self.usage.update(usage),
            StreamEvent::MessageStop { stop_reason } => {
                self.stop_reason = stop_reason.clone();
                self.complete = true;
            }
            StreamEvent::Error(error) => self.error = Some(error.clone()),
            StreamEvent::Extra { key, value } => self.extra.push(key, value.clone()),
            StreamEvent::Ping => {}
        }
    }

    /// Makes the message: `base` gives its names and times, the stream everything else.
    pub fn finish(mut self, mut base: Message) -> Folded {
        let mut problems = Vec::new();
        let complete = self.complete && self.error.is_none();
        if !complete {
            let text = "the answer broke off before its end; what came is kept";
            problems.push(Problem::warning("interrupted-answer", text));
            self.stop_reason = Some(StopReason::Interrupted);
            self.blocks.retain(|part| !part.is_nothing());
        }
        let content = self.take_content(&mut problems);
        base.model = self.model.or(base.model);
        base.response_id = self.response_id;
        base.usage = (!self.usage.is_empty()).then(|| Box::new(self.usage));
        base.extra = self.extra;
        base.body = Body::Assistant(crate::Assistant {
            content,
            stop_reason: self.stop_reason,
        });
        Folded {
            message: base,
            complete,
            error: self.error,
            problems,
        }
    }

    fn take_content(&mut self, problems: &mut Vec<Problem>) -> Content {
        let mut blocks = Vec::new();
        for part in std::mem::take(&mut self.blocks) {
            match part.block {
                Block::ToolUse(call) if !part.done => {
                    let text = format!("the call of {} broke off; it is not a call", call.name);
                    problems.push(Problem::warning("partial-tool-call", text));
                    self.extra
                        .push("partial_tool_use", partial(&call, &part.json));
                }
                Block::ToolUse(mut call) => {
                    call.input = input(&part.json, call.input, &mut call.extra);
                    blocks.push(Block::ToolUse(call));
                }
                block @ (Block::Text(_)
                | Block::Image(_)
                | Block::ToolResult(_)
                | Block::Thinking(_)
                | Block::RedactedThinking(_)
                | Block::Document(_)
                | Block::Other(_)) => blocks.push(block),
            }
        }
        Content::Blocks(blocks)
    }

    fn part(&mut self, index: usize) -> Option<&mut Part> {
        self.blocks.get_mut(*self.places.get(&index)?)
    }

    fn put(&mut self, part: Part) {
        match self.part(part.index) {
            Some(place) => *place = part,
            None => {
                self.places.insert(part.index, self.blocks.len());
                self.blocks.push(part);
            }
        }
    }

    fn start(&mut self, index: usize, start: &BlockStart) {
        let block = match start {
            BlockStart::Text => Block::Text(TextBlock::default()),
            BlockStart::Thinking => Block::Thinking(Thinking::default()),
            BlockStart::RedactedThinking { data } => Block::RedactedThinking(RedactedThinking {
                data: data.clone(),
                extra: RawMap::new(),
            }),
            BlockStart::ToolUse { id, name } => Block::ToolUse(ToolUse {
                id: id.clone(),
                name: name.clone(),
                input: Raw::empty_object(),
                extra: RawMap::new(),
            }),
            BlockStart::Other(raw) => whole(raw),
        };
        self.put(Part {
            index,
            block,
            json: String::new(),
            done: false,
        });
    }

    fn delta(&mut self, index: usize, delta: &Delta) {
        let Some(part) = self.part(index) else {
            // A provider that forgets to announce a block still gets its text recorded.
            if let Delta::Text(_) = delta {
                self.start(index, &BlockStart::Text);
                self.delta(index, delta);
            }
            return;
        };
        match (&mut part.block, delta) {
            (Block::Text(block), Delta::Text(text)) => block.text.push(text),
            (Block::Thinking(block), Delta::Thinking(text)) => block.thinking.push(text),
            (Block::Thinking(block), Delta::Signature(seal)) => {
                block.signature.get_or_insert_default().push_str(seal);
            }
            (_, Delta::PartialJson(json)) => part.json.push_str(json),
            _ => {}
        }
    }
}

/// A block that came whole. Only what needs no end is typed: a call is complete when its events say
/// so, not when it looks like one.
fn whole(raw: &Raw) -> Block {
    match Block::read(raw, &mut Vec::new()) {
        Ok(block @ (Block::Image(_) | Block::Document(_))) => block,
        Ok(
            Block::Text(_)
            | Block::ToolUse(_)
            | Block::ToolResult(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::Other(_),
        )
        | Err(_) => Block::Other(raw.clone()),
    }
}

/// Where a block keeps what the core does not name; a block that is kept verbatim has no such place.
fn extra_mut(block: &mut Block) -> Option<&mut RawMap> {
    match block {
        Block::Text(block) => Some(&mut block.extra),
        Block::Image(block) => Some(&mut block.extra),
        Block::ToolUse(block) => Some(&mut block.extra),
        Block::ToolResult(block) => Some(&mut block.extra),
        Block::Thinking(block) => Some(&mut block.extra),
        Block::RedactedThinking(block) => Some(&mut block.extra),
        Block::Document(block) => Some(&mut block.extra),
        Block::Other(_) => None,
    }
}

/// The arguments of a complete call. No text at all means none; text that is not JSON is kept as a
/// string and says so.
fn input(json: &str, given: Raw, extra: &mut RawMap) -> Raw {
    if json.trim().is_empty() {
        return given;
    }
    Raw::parse(json).unwrap_or_else(|_| {
        extra.push("malformed_input", Raw::trusted("true".to_string()));
        Raw::string(json)
    })
}

fn partial(call: &ToolUse, json: &str) -> Raw {
    let mut map = RawMap::new();
    map.push("id", Raw::string(&call.id));
    map.push("name", Raw::string(&call.name));
    map.push("partial_input", Raw::string(json));
    map.to_raw()
}
