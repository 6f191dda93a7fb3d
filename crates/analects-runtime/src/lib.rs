//! One turn of a conversation: plan, ask, stream, record.
//!
//! This crate ties the others together and holds the only loop that waits. It knows neither the
//! terminal nor the environment: what a person sees is the business of a callback.
//!
//! # Types, in reading order
//!
//! 1. [`Conversation`] is a place where a conversation is kept: [`FileConversation`] in a message
//!    file, [`StoredConversation`] in the transcript store, which tells of [`Branches`]. [`attach_file`] shows a file to the model,
//!    and [`due_reminders`] are what it is told when one changes. [`WaitingCells`] are whom the cells of a file wait for.
//! 2. [`turn`] is a turn as a pure state machine: what happened in, what to do next out.
//! 3. [`Asked`] says who is asked, and with what limits; [`Asked::plan`] is what would be sent.
//! 4. [`drive`] does what the machine says: it reminds of files that changed, asks for the summaries that are
//!    missing, compacts, asks the model, and records what comes. [`Seen`] is what a person may watch, and
//!    [`Outcome`] what came of it.
//! 5. [`compact`] and [`undo_compaction`] do by hand what a turn does by itself when the context is full.
//!
//! # Limitations
//!
//! - Tools are not run: a call gets a result that says so, and the turn ends there.
//! - Of a stored conversation, an answer reaches the disk when it is complete or interrupted, not
//!   while it comes.
//! - What real answers taught about counting tokens is kept with a session of the store, not with a message
//!   file.

mod asked;
mod compaction;
mod conversation;
mod drive;
mod file;
mod files;
mod purse;
mod stored;
mod tools;
pub mod turn;

pub use asked::{Asked, Starter, budget};
pub use compaction::{Compacted, NotCompacted, compact, undo_compaction};
pub use conversation::{Conversation, Notes};
pub use drive::{Outcome, Seen, drive};
pub use file::{
    FileConversation, NamedPicture, WaitingCells, agent_name, file_messages, named_pictures,
};
pub use files::{NotAttached, attach_file, attached, due_reminders};
pub use stored::{Branches, RECORDED, StoredConversation};
