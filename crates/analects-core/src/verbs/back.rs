//! Going on from an earlier message.

use super::{Change, VerbError};
use crate::Message;

/// The next message follows `to`; what came after it stays as a branch. `None` goes back before the first
/// message. A compaction is gone back to as a whole: its summary or boundary stands for the end of it.
pub fn rewind(messages: &[Message], to: Option<&str>) -> Result<Vec<Change>, VerbError> {
    let _ = messages;
    Ok(vec![Change::ContinueFrom { parent: to.map(Into::into) }])
}
