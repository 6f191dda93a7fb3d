//! Saying something else in the place of a message.

use super::{Change, VerbError};
use crate::{Content, Message};

/// The message says `text` from now on, and what followed it still follows. Its tool calls stay.
pub fn edit(messages: &[Message], target: &str, text: &str) -> Result<Vec<Change>, VerbError> {
    let _ = messages;
    Ok(vec![Change::Revise { target: target.into(), content: Content::from(text) }])
}
