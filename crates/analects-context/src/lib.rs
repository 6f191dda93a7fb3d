//! Decides what is sent to a model, before it is sent.
//!
//! This crate is pure: conversations, file facts and the time come in, decisions come out. Nothing here calls a model
//! or touches a file.
//!
//! # Types, in reading order
//!
//! 1. [`normalize_messages_for_api`] converts a conversation to the form that every provider accepts.
//! 2. A [`Count`] is a number of tokens with its accuracy. A [`Counter`] counts anything that is sent, by estimates per
//!    [`ModelFamily`] or with a [`Tokenizer`]. [`count_tokens_from_usage`] returns the count that the provider reported, and
//!    a [`Calibration`] learns from such counts.
//! 3. A [`Planner`] makes a [`Plan`]: the request itself, trimmed to a [`Budget`], and a [`Row`] per message with its
//!    fate, the reason, and its tokens. What a plan shows is what is sent. [`TooLarge`] says by how much a request
//!    exceeds the budget.
//! 4. A [`Compaction`] returns the requests for a summary, takes the answers, and ends with messages to append.
//!    [`should_compact`] says when to start one.
//! 5. [`format_system_prompt_with_context`] and [`reminders`] build the rest of what the model reads.
//! 6. [`FileFreshness`] tracks which files an agent has seen in their current state.
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
//! # Where to find things
//!
//! | topic | module |
//! |---|---|
//! | which messages are for the model, and in which order | `normalize` |
//! | what an agent reads of other agents' answers | `normalize::viewpoint` |
//! | plans; what is trimmed when a request is too large | `plan`, `plan::trim` |
//! | long tool results in short | `plan::shorten` |
//! | when to compact, and what stays | `compact`, `compact::threshold`, `compact::cut` |
//! | prompts for summaries, and summaries without a model | `compact::prompt`, `compact::fallback` |
//! | instructions that outlive a compaction | `boundary` |
//! | system prompts and reminders | `prompt` |
//! | token counts: estimates, calibration, images | `tokens` and its submodules |
//! | OpenAI's vocabulary `o200k` | `tokens::openai` |
//! | files that an agent has seen | `freshness` |
//!
//! # Limitations
//!
//! - How a provider encodes turns and tools for its model is not public, so the count of a whole request is an estimate
//!   even where its texts are counted exactly. With [`TemplateTokens`], it is within [`TemplateTokens::ERROR_BOUND`].
//! - The vocabularies of Claude and Gemini are not public. Their estimates have a wider error bound until a real answer
//!   calibrates them.
//! - The number of pages in a binary document is guessed from its size.
//! - The usage of the last answer counts as the size of everything before it. After an edit of an earlier message, it
//!   is off until the next answer.
//! - Dropping calls visits a message with many results once for each call.
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
pub use freshness::{FileFacts, FileFreshness, Freshness, StaleFile};
pub use normalize::{NormalizedConversation, normalize_messages_for_api};
pub use plan::{Budget, Fate, Plan, Planner, Precision, Row, TooLarge, plan};
pub use prompt::{
    DOCUMENT_ID, ProjectDocument, REMINDERS, document_message, format_system_prompt_with_context,
    reminders,
};
pub use tokens::{
    Calibration, Count, Counter, ImageSize, Method, ModelFamily, ReportedUsage, TemplateTokens,
    Tokenizer, count_tokens_from_usage, estimate, image_size,
};

#[cfg(test)]
mod tests;
