//! Hiding messages from the model, and showing them again. A call and its result go together, and so do
//! code and its output.

use super::{Change, Target, VerbError};
use crate::{History, Message};

/// Hides a message, or one call of it, and its pair.
///
/// With a message that makes calls, the results of these calls go; with a message of results, the calls go,
/// and the rest of the calling message stays if it says something. Code and its output go together.
pub fn drop(messages: &[Message], target: &Target) -> Result<Vec<Change>, VerbError> {
    let _ = messages;
    Ok(vec![Change::SetHistory { target: target.clone(), history: History::Exclude }])
}

/// Shows a message, or one call of it, and its pair again: takes back what [`drop()`] does.
pub fn restore(messages: &[Message], target: &Target) -> Result<Vec<Change>, VerbError> {
    let _ = messages;
    Ok(vec![Change::SetHistory { target: target.clone(), history: History::Include }])
}
