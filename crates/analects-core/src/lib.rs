//! What a conversation is: its messages, and what is made of them on the way to a model and back.
//!
//! This crate is pure: it reads no file, clock, environment or random number, and knows neither a
//! file format nor a provider. Every other crate of the workspace builds on it.
//!
//! # Types, in reading order
//!
//! 1. [`Message`] with its [`Body`] is the unit of every record; [`Content`] is a string or
//!    [`Block`]s, as in the Anthropic Messages API.
//! 2. [`Raw`] is JSON that came from elsewhere and leaves as it came; [`Text`] is a string that may
//!    hold half a surrogate pair.
//! 3. [`chain`](chain()) gives the messages that a model is to see, in order; a [`Tree`] holds all
//!    branches of a conversation. [`SessionState`] is what else is known about it.
//! 4. [`Request`] is what is asked of a model; [`StreamEvent`]s are what comes back, and
//!    [`fold`](fold()) makes a message of them. [`ModelFacts`] are what is known about a model.
//! 5. [`sendable`](sendable()) mends the turns of a request that every API would refuse.
//! 6. [`verbs`] are what a person does to a conversation: rewind, drop, restore, edit, fork, compact.
//! 7. [`Problem`] and [`Span`] say what is wrong and where, a [`Hint`] what to do about it; [`Ids`] gives names to new things.
//!
//! ```
//! use analects_core::{Body, Json, Message};
//!
//! let line = r#"{"type":"user","id":"m1","content":"Hello","client":{"build":12345678901234567890123}}"#;
//! let message = Message::from_json(line)?;
//! assert!(matches!(message.body, Body::User(_)));
//! assert_eq!(message.text(), "Hello");
//! // What the model does not name survives, digit by digit.
//! assert!(message.to_json().contains("12345678901234567890123"));
//! # Ok::<(), analects_core::JsonError>(())
//! ```
//!
//! # Limitations
//!
//! - JSON keeps its values, not its layout: known fields come out in a fixed order, and line ends
//!   between tokens of a [`Raw`] become blanks, so that every message fits on one line.
//! - The serde implementations work with `serde_json` only, and not below `#[serde(flatten)]`,
//!   `tag` or `untagged`, which cannot carry raw JSON.
//! - In a merge patch `null` removes, so a state cannot hold a `null` outside of arrays.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod agent;
mod block;
mod body;
mod chain;
mod error;
mod fold;
mod json;
mod message;
mod problem;
mod raw;
mod request;
mod sendable;
mod state;
mod text;
mod usage;
pub mod verbs;
mod words;

pub use agent::{Agent, ModelFacts, Prices, PricesAbove, Rates};
pub use block::{
    Block, Content, Document, Image, RedactedThinking, Source, TextBlock, Thinking, ToolResult,
    ToolUse,
};
pub use body::{
    Assistant, Attachment, Body, CompactBoundary, Notification, Other, Progress, Revision,
    StateChange, Summary, System, Tombstone, User,
};
pub use chain::{
    Branch, Chain, Effective, Finding, Lack, Link, LinkKind, NameId, NameTable, Pairs, Said, Tree,
    TreeBuilder, Unpaired, Unseen, chain, chain_to, unseen,
};
pub use error::{ApiError, ApiErrorKind};
pub use fold::{BlockStart, Delta, Fold, Folded, StreamEvent, fold};
pub use json::{Json, JsonError};
pub use message::{CountingIds, Ids, Message, MessageId, SessionId};
pub use problem::{Hint, LineIndex, Problem, Severity, Span};
pub use raw::{Raw, RawMap};
pub use request::{Request, ToolChoice, ToolSpec, Turn};
pub use sendable::{Sendable, sendable};
pub use state::{Rebuilding, SessionState};
pub use text::Text;
pub use usage::TokenUsage;
pub use words::{AttachmentKind, CompactTrigger, History, Role, StopReason, UserSource, nearest};
