//! What comes back from a model, piece by piece, whatever the provider. Folding the pieces gives
//! the message: see [`fold`](crate::fold()).

use serde::{Deserialize, Serialize};

use crate::{ApiError, Raw, StopReason, Text, TokenUsage};

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
