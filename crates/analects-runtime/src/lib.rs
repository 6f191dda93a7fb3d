//! One turn of a conversation: plan, ask, stream, record.
//!
//! This crate ties the others together and holds the only loop that waits. It knows neither the
//! terminal nor the environment: what a person sees is the business of a callback.
//!
//! # Types, in reading order
//!
//! 1. [`Conversation`] is a place where a conversation is kept: [`FileConversation`] in a message
//!    file, [`StoredConversation`] in the transcript store.
//! 2. [`drive`] asks a model to go on with a conversation and records what comes; [`Asked`] says who
//!    is asked, and [`Outcome`] what came of it.
//!
//! # Limitations
//!
//! - One question, one answer: tools are not run, and a conversation is not compacted by itself.
//! - Of a stored conversation, an answer reaches the disk when it is complete or interrupted, not
//!   while it comes.

mod conversation;
mod file;
mod stored;
mod turn;

pub use conversation::Conversation;
pub use file::{FileConversation, agent_name, file_messages};
pub use stored::StoredConversation;
pub use turn::{Asked, Outcome, budget, drive};
