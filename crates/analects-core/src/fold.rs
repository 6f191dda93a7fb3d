//! Events of a model's answer, the same for every provider, and the message that they fold into. A stream that breaks
//! off yields what arrived, marked as interrupted; a tool call that is incomplete never becomes a call.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{
    ApiError, Block, Body, Content, Json, Message, Problem, Raw, RawMap, RedactedThinking,
    StopReason, Text, TextBlock, Thinking, TokenUsage, ToolUse,
};

/// One event of a streamed answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamEvent {
    /// The answer begins.
    MessageStart {
        /// The model that answers, as the provider reports it.
        model: Option<String>,
        /// The provider's id for the answer.
        response_id: Option<String>,
    },
    /// A block begins.
    BlockStart {
        /// The block's index in the answer, from 0.
        index: usize,
        /// How the block begins.
        block: BlockStart,
    },
    /// A block continues.
    BlockDelta {
        /// The block's index.
        index: usize,
        /// The addition.
        delta: Delta,
    },
    /// A provider's own field of a block, kept with the block. A repeated field replaces the earlier one.
    BlockExtra {
        /// The block's index.
        index: usize,
        /// The field's name.
        key: String,
        /// The field's value.
        value: Raw,
    },
    /// A block is complete.
    BlockStop {
        /// The block's index.
        index: usize,
    },
    /// A tool call is complete: the block at `index`, with its arguments parsed.
    ToolUse {
        /// The block's index.
        index: usize,
        /// The provider's id for the call.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments.
        input: Raw,
    },
    /// The token counts so far.
    Usage(TokenUsage),
    /// The answer is complete.
    MessageStop {
        /// Why the answer ended, if the provider says so.
        stop_reason: Option<StopReason>,
    },
    /// A keep-alive without content.
    Ping,
    /// The provider failed in the middle of the answer.
    Error(ApiError),
    /// A provider's own field of the answer, kept with the message.
    Extra {
        /// The field's name.
        key: String,
        /// The field's value.
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
    /// Encrypted thinking, complete.
    RedactedThinking {
        /// The provider's data.
        data: String,
    },
    /// The arguments of a tool call follow.
    ToolUse {
        /// The provider's id for the call.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// A complete block of any other type: an image, a document, or one that this version does not know.
    Other(Raw),
}

/// An addition to a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// More text.
    Text(Text),
    /// More of a thought.
    Thinking(Text),
    /// The signature of a thought.
    Signature(String),
    /// More of the JSON text of a call's arguments.
    PartialJson(String),
}

/// Folds a complete stream into one message. Use [`Fold`] for a stream that is still arriving.
pub fn fold<'a>(events: impl IntoIterator<Item = &'a StreamEvent>, base: Message) -> Folded {
    let mut fold = Fold::default();
    for event in events {
        fold.push(event);
    }
    fold.finish(base)
}

/// Builds a message from stream events.
///
/// [`Fold::push`] takes the events in order, and [`Fold::finish`] returns the message, also if the stream broke off.
///
/// ```
/// use analects_core::{BlockStart, Delta, Fold, Message, StreamEvent};
///
/// let mut fold = Fold::default();
/// fold.push(&StreamEvent::BlockStart { index: 0, block: BlockStart::Text });
/// fold.push(&StreamEvent::BlockDelta { index: 0, delta: Delta::Text("Hello".into()) });
/// fold.push(&StreamEvent::MessageStop { stop_reason: None });
/// let folded = fold.finish(Message::assistant("m2", ""));
/// assert!(folded.complete);
/// assert_eq!(folded.message.text(), "Hello");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Fold {
    model: Option<String>,
    response_id: Option<String>,
    blocks: Vec<PartialBlock>,
    /// Positions in `blocks` by the index that the events use.
    positions: HashMap<usize, usize>,
    usage: TokenUsage,
    stop_reason: Option<StopReason>,
    complete: bool,
    error: Option<ApiError>,
    extra: RawMap,
}

/// The result of folding a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Folded {
    /// The message.
    pub message: Message,
    /// Whether the provider marked the answer as complete.
    pub complete: bool,
    /// The error that ended the stream, if any.
    pub error: Option<ApiError>,
    /// Oddities in the stream.
    pub problems: Vec<Problem>,
}

/// A block that is still arriving.
#[derive(Debug, Clone)]
struct PartialBlock {
    index: usize,
    block: Block,
    /// The JSON text of a tool call's arguments so far.
    json: String,
    is_complete: bool,
}

impl PartialBlock {
    /// Returns whether the block was announced, and the stream broke off before any content.
    fn is_unstarted(&self) -> bool {
        if self.is_complete {
            return false;
        }
        match &self.block {
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

    fn new(index: usize, block: Block) -> PartialBlock {
        PartialBlock {
            index,
            block,
            json: String::new(),
            is_complete: false,
        }
    }
}

impl Fold {
    /// Adds the next event.
    pub fn push(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::MessageStart { model, response_id } => {
                self.model = model.clone();
                self.response_id = response_id.clone();
            }
            StreamEvent::BlockStart { index, block } => self.start_block(*index, block),
            StreamEvent::BlockDelta { index, delta } => self.apply_delta(*index, delta),
            StreamEvent::BlockExtra { index, key, value } => {
                self.set_block_extra(*index, key, value);
            }
            StreamEvent::BlockStop { index } => {
                if let Some(part) = self.block_mut(*index) {
                    part.is_complete = true;
                }
            }
            StreamEvent::ToolUse {
                index,
                id,
                name,
                input,
            } => {
                let call = ToolUse {
                    id: id.clone(),
                    name: name.clone(),
                    input: input.clone(),
                    extra: RawMap::new(),
                };
                self.complete_call(*index, call);
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

    fn set_block_extra(&mut self, index: usize, key: &str, value: &Raw) {
        let block = self.block_mut(index);
        if let Some(extra) = block.and_then(|part| extra_mut(&mut part.block)) {
            extra.take(key, |_| Some(()));
            extra.push(key, value.clone());
        }
    }

    /// Replaces the block at `index` with a complete call, which takes over the block's extra fields.
    fn complete_call(&mut self, index: usize, mut call: ToolUse) {
        let started = self.block_mut(index);
        if let Some(extra) = started.and_then(|part| extra_mut(&mut part.block)) {
            call.extra = std::mem::take(extra);
        }
        let mut block = PartialBlock::new(index, Block::ToolUse(call));
        block.is_complete = true;
        self.put_block(block);
    }

    /// Returns the message: `base` supplies its ids and times, the stream everything else.
    pub fn finish(mut self, mut base: Message) -> Folded {
        let mut problems = Vec::new();
        let complete = self.complete && self.error.is_none();
        if !complete {
            let text = "the answer broke off before its end; what came is kept";
            problems.push(Problem::warning("interrupted-answer", text));
            self.stop_reason = Some(StopReason::Interrupted);
            self.blocks.retain(|part| !part.is_unstarted());
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
                Block::ToolUse(call) if !part.is_complete => {
                    let text = format!("the call of {} broke off; it is not a call", call.name);
                    problems.push(Problem::warning("partial-tool-call", text));
                    let call = partial_call(&call, &part.json);
                    self.extra.push("partial_tool_use", call);
                }
                Block::ToolUse(mut call) => {
                    call.input = parse_arguments(&part.json, call.input, &mut call.extra);
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

    fn block_mut(&mut self, index: usize) -> Option<&mut PartialBlock> {
        self.blocks.get_mut(*self.positions.get(&index)?)
    }

    /// Adds a block, or replaces the one with the same index.
    fn put_block(&mut self, block: PartialBlock) {
        if let Some(earlier) = self.block_mut(block.index) {
            *earlier = block;
        } else {
            self.positions.insert(block.index, self.blocks.len());
            self.blocks.push(block);
        }
    }

    fn start_block(&mut self, index: usize, start: &BlockStart) {
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
            BlockStart::Other(raw) => complete_block(raw),
        };
        self.put_block(PartialBlock::new(index, block));
    }

    fn apply_delta(&mut self, index: usize, delta: &Delta) {
        let Some(part) = self.block_mut(index) else {
            // A provider that does not announce a block still gets its text recorded.
            if let Delta::Text(_) = delta {
                self.start_block(index, &BlockStart::Text);
                self.apply_delta(index, delta);
            }
            return;
        };
        match (&mut part.block, delta) {
            (Block::Text(block), Delta::Text(text)) => block.text.push(text),
            (Block::Thinking(block), Delta::Thinking(text)) => block.thinking.push(text),
            (Block::Thinking(block), Delta::Signature(more)) => {
                block.signature.get_or_insert_default().push_str(more);
            }
            (_, Delta::PartialJson(json)) => part.json.push_str(json),
            _ => {}
        }
    }
}

/// Reads a block that arrived in one event. Only images and documents are typed: a call is complete when its events say
/// so, not when it looks like one.
fn complete_block(raw: &Raw) -> Block {
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

/// The unknown fields of a block; `None` for a block that is kept verbatim.
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

/// Parses the arguments of a complete call. Empty text means that `announced` holds them. Text that is not JSON is kept
/// as a string and marked `malformed_input`.
fn parse_arguments(json: &str, announced: Raw, extra: &mut RawMap) -> Raw {
    if json.trim().is_empty() {
        return announced;
    }
    Raw::parse(json).unwrap_or_else(|_| {
        extra.push("malformed_input", Raw::trusted("true".to_string()));
        Raw::string(json)
    })
}

/// Returns a record of a call that broke off, with the JSON text of its arguments so far.
fn partial_call(call: &ToolUse, json: &str) -> Raw {
    let mut map = RawMap::new();
    map.push("id", Raw::string(&call.id));
    map.push("name", Raw::string(&call.name));
    map.push("partial_input", Raw::string(json));
    map.to_raw()
}
