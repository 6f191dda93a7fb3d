//! A summary in the place of what came before, and the way back from it.

use super::{Change, VerbError};
use crate::Message;

/// Appends a compaction: a summary, the boundary that names it, and what belongs to them. The first follows
/// its own parent, or the last message; each of the others follows the one before.
pub fn compact(messages: &[Message], made: Vec<Message>) -> Result<Vec<Change>, VerbError> {
    let _ = messages;
    Ok(made.into_iter().map(Box::new).map(Change::Append).collect())
}

/// Hides the compaction that counts, so that everything that its summary stands for is seen again.
pub fn undo_compaction(messages: &[Message]) -> Result<Vec<Change>, VerbError> {
    let _ = messages;
    Err(VerbError::NoCompaction)
}
