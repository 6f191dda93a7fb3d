//! What is sent to a model, decided before it is sent.
//!
//! [`plan`] takes the effective chain of a conversation and the agent that is to answer, and gives a
//! [`Plan`]: the request itself, and a [`Row`] for every message that says whether it goes out and,
//! if not, why. What a person can print is what is sent.
//!
//! ```
//! use analects_core::{Agent, Message, chain};
//!
//! let messages = [Message::user("a", "What is six times seven?")];
//! let plan = analects_context::plan(&chain(&messages), &Agent::of_model("quick", "gpt-5-mini"));
//! assert_eq!(plan.request.turns.len(), 1);
//! assert_eq!(plan.rows[0].left_out, None);
//! ```
//!
//! # Limitations
//!
//! - Everything is taken to fit: tokens are not counted, nothing is trimmed or compacted.
//! - A result without its call is left out. A call without its result is in the plan as it is; whoever
//!   writes the request for a provider adds one, and says so.
//! - A message of which only a summary may be sent, and that has none, is left out.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod plan;

pub use plan::{Plan, Row, plan};

#[cfg(test)]
mod tests;
