//! Messages in, lines out.

use analects_core::{Json, Message};

/// The line of a message, with its line end.
pub fn encode(message: &Message) -> String {
    let mut line = message.to_json();
    line.push('\n');
    line
}
