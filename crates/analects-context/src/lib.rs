//! What is sent to a model, decided before it is sent.
//!
//! This crate is pure: conversations, file facts and the time come in, decisions come out. Nothing here
//! asks a model or touches a file.
//!
//! # Types, in reading order
//!
//! 1. [`normalize_messages_for_api`] brings a conversation into the form that every provider takes.
//! 2. A [`Count`] is a number of tokens and how sure it is; a [`Counter`] counts anything that goes out, by
//!    estimates per [`Family`] or with a [`Tokenizer`]. [`count_tokens_from_usage`] is what the provider
//!    said; a [`Calibration`] learns from it.
//! 3. A [`Planner`] makes a [`Plan`]: the request itself within a [`Budget`], and a [`Row`] for every
//!    message that says what happens to it, why, and its tokens. What a person can print is what is sent;
//!    what cannot fit is [`TooLarge`], with numbers.
//! 4. A [`Compaction`] gives the requests for a summary, takes the answers, and ends in messages to append;
//!    [`should_compact`] says when.
//! 5. [`format_system_prompt_with_context`] and [`reminders`] make the rest of what the model reads.
//! 6. [`FileFreshness`] knows which files an agent has seen as they are now.
//!
//! ```
//! use analects_context::{Fate, plan};
//! use analects_core::{Agent, Message, chain};
//!
//! let messages = [Message::user("a", "What is six times seven?")];
//! let plan = plan(&chain(&messages), &Agent::of_model("quick", "gpt-5-mini"));
//! assert_eq!(plan.ready().map(|request| request.turns.len()), Ok(1));
//! assert_eq!(plan.rows[0].fate, Fate::Sent);
//! println!("{} of {} tokens", plan.count, plan.budget.limit());
//! ```
//!
//! # Limitations
//!
//! - How a provider spells out turns and tools for its model is not public, so the count of a whole request is
//!   an estimate even where its texts are counted exactly.
//! - Claude's and Gemini's vocabularies are not public: estimates for them have a wider bound until a real
//!   answer has taught better.
//! - The pages of a document that is not text are guessed from its size.
//! - The usage of the last answer counts as the size of all that came before it. If somebody edits an earlier
//!   message of a file, it is wrong until the next answer.
//! - A message with results of many different calls is looked at once for each of them when they are
//!   dropped.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod boundary;
mod compact;
mod freshness;
mod normalize;
mod plan;
mod prompt;
mod tokens;

pub use compact::{
    BackOff, Compaction, FileText, MESSAGES, NotNow, SECTIONS, Threshold, ThresholdError, Useless,
    attach, attachments, compaction_failed, should_compact, summary_request,
};
pub use freshness::{FileFacts, FileFreshness, Freshness, Stale};
pub use normalize::{Normalized, normalize_messages_for_api};
pub use plan::{Budget, Fate, Plan, Planner, Precision, Row, TooLarge, plan};
pub use prompt::{ProjectDocument, REMINDERS, format_system_prompt_with_context, reminders};
pub use tokens::{
    Calibration, Count, Counter, Family, Method, Pixels, Tokenizer, Used, count_tokens_from_usage,
    estimate, pixels,
};

#[cfg(test)]
mod tests;
