//! Conversations on disk. Of all the crates, this one alone touches a person's files.
//!
//! # Types, in reading order
//!
//! 1. [`LockedFile`] is a message file that this process alone may write to: it adds cells, and streams a reply into the file as
//!    it comes ([`Reply`]).
//! 2. [`Transcript`] is a conversation in the store, one message a line; [`Places`] says where the
//!    store is.
//! 3. [`OsIds`] gives out real identifiers; [`StoreError`] is what can go wrong.
//!
//! A write is reported as done only when it would survive a power cut: files are replaced by
//! write, sync, rename and a sync of the folder; transcripts grow by one write and a sync. While a
//! file is being written, a lock in the state folder keeps a second writer out.
//!
//! # Limitations
//!
//! - Every change of a message file, other than the growth of a streaming reply, writes the whole
//!   file anew.
//! - A kill between writing and renaming leaves a temporary file beside the original.
//! - The lock holds among processes that share a state folder; others are noticed by what they
//!   change in the file.
//! - Extended attributes of a message file do not survive a write.
//! - An editor that saves in the microseconds between our last look at a file and the rename loses
//!   that save. A hard link to a message file is split by a write.

mod error;
mod ids;
mod lock;
mod locked_file;
mod picture;
mod places;
mod replace;
mod reply;
mod seen;
mod transcript;

pub use error::StoreError;
pub use ids::OsIds;
pub use locked_file::{LockedFile, read_message_file};
pub use picture::read_picture;
pub use places::Places;
pub use reply::Reply;
pub use transcript::Transcript;

#[cfg(test)]
mod tests;
