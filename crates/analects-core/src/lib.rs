//! The conversation model: messages, and everything that happens to them on the way to a model and back.
//!
//! This crate is pure: it reads no file, clock, environment variable or random number, and it knows
//! neither a file format nor a provider. Every other crate of the workspace builds on it.
//!
//! # Types, in reading order
//!
//! 1. [`Message`] and its [`Body`] are the unit of every record. [`Content`] is a string or a list of
//!    [`Block`]s, as in the Anthropic Messages API.
//! 2. [`Raw`] is foreign JSON that is written back unchanged. [`Text`] is a string that may hold a lone
//!    surrogate.
//! 3. [`chain`](chain()) returns the messages that a model reads, in order. A [`Tree`] holds all branches
//!    of a conversation. [`SessionState`] holds what a session knows beyond its messages.
//! 4. [`Request`] is what you send to a model. [`StreamEvent`]s are what comes back, and
//!    [`fold`](fold()) combines them into a message. [`ModelFacts`] describe a model.
//! 5. [`sendable`](sendable()) repairs turns that every API would refuse.
//! 6. [`verbs`] are the operations on a conversation: rewind, drop, restore, edit, fork, compact.
//! 7. A [`Problem`] says what is wrong, its [`Span`] where, and its [`Hint`] how to fix it. [`Ids`]
//!    generates identifiers.
//!
//! ```
//! use analects_core::{Body, Json, Message};
//!
//! let line = r#"{"type":"user","id":"m1","content":"Hello","client":{"build":12345678901234567890123}}"#;
//! let message = Message::from_json(line)?;
//! assert!(matches!(message.body, Body::User(_)));
//! assert_eq!(message.text(), "Hello");
//! // Unknown fields survive, digit by digit.
//! assert!(message.to_json().contains("12345678901234567890123"));
//! # Ok::<(), analects_core::JsonError>(())
//! ```
//!
//! # Where to find things
//!
//! | topic | module |
//! |---|---|
//! | messages, their bodies and blocks | `message`, `body`, `block` |
//! | JSON without loss: raw values, ordered objects, lone surrogates | `json`, `raw`, `text` |
//! | parents, branches, compactions, tombstones; which messages the model reads | `chain` and its submodules |
//! | why a message is hidden from the model | `chain::effective` |
//! | tool calls without a result, and the reverse | `chain::pairs` |
//! | operations on a conversation, and the view after them | [`verbs`] |
//! | which messages one request includes | `verbs::choose` |
//! | requests, stream events, token usage | `request`, `fold`, `usage` |
//! | turns that every API accepts | `sendable` |
//! | agents, model capabilities and prices | `agent` |
//! | halves of surrogate pairs, which APIs refuse | `surrogates` |
//! | session state as merge patches | `state` |
//! | problems, hints, line numbers; API errors | `problem`, `error` |
//! | fixed words such as roles and stop reasons; spelling suggestions | `keywords` |
//!
//! # Limitations
//!
//! - JSON keeps its values, not its layout: known fields are written in a fixed order, and line breaks
//!   between the tokens of a [`Raw`] become spaces, so that every message fits on one line.
//! - The serde implementations work with `serde_json` only. They do not work below `#[serde(flatten)]`,
//!   `tag` or `untagged`, which cannot carry raw JSON.
//! - In a merge patch `null` removes a key, so a state cannot hold `null` outside of arrays.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod agent;
mod block;
mod body;
mod chain;
mod error;
mod fold;
mod json;
mod keywords;
mod message;
mod problem;
mod raw;
mod request;
mod sendable;
mod spelling;
mod state;
mod surrogates;
mod text;
mod usage;
pub mod verbs;

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
    Branch, Chain, EffectiveChain, Finding, Lack, Link, LinkKind, NameId, NameTable, Pairs, Said,
    Tree, TreeBuilder, Unpaired, Unseen, chain, chain_to, unseen,
};
pub use error::{ApiError, ApiErrorKind};
pub use fold::{BlockStart, Delta, Fold, Folded, StreamEvent, fold};
pub use json::{Json, JsonError};
pub use keywords::{
    AttachmentKind, CompactTrigger, History, Role, StopReason, UserSource, nearest, nearest_names,
};
pub use message::{CountingIds, Ids, Message, MessageId, SessionId};
pub use problem::{Hint, LineIndex, Problem, Severity, Span};
pub use raw::{Raw, RawMap};
pub use request::{Request, ToolChoice, ToolSpec, Turn};
pub use sendable::{Sendable, sendable};
pub use spelling::is_respelled;
pub use state::{Rebuilding, SessionState};
pub use surrogates::replace_lone_surrogates;
pub use text::Text;
pub use usage::TokenUsage;
