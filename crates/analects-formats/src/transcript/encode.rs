//! Messages in, lines out.

use std::borrow::Cow;
use std::fmt::Write;

use analects_core::{Json, Message};

use super::crc::crc32c;

/// What stands before the checksum, which is that of everything before this.
pub(super) const SEAL: &str = ",\"crc\":\"";
/// The length of the checksum and of all around it.
pub(super) const SEAL_LENGTH: usize = SEAL.len() + 8 + 2;

/// The line of a message, with its checksum and its line end.
///
/// ```
/// use analects_core::Message;
/// use analects_formats::transcript::encode;
///
/// let line = encode(&Message::user("m1", "Hello"));
/// assert_eq!(line, "{\"v\":1,\"type\":\"user\",\"id\":\"m1\",\"content\":\"Hello\",\"crc\":\"b455b36b\"}\n");
/// ```
pub fn encode(message: &Message) -> String {
    let mut line = String::new();
    encode_to(&mut line, message);
    line
}

/// Appends the line of a message to a buffer.
pub fn encode_to(out: &mut String, message: &Message) {
    let start = out.len();
    without_seal(message).write(out);
    // An object ends with a brace, and a message has at least one field before it.
    out.pop();
    let crc = crc32c(&out.as_bytes()[start..]);
    let _ = writeln!(out, "{SEAL}{crc:08x}\"}}");
}

/// The message without a checksum that it brought from elsewhere.
fn without_seal(message: &Message) -> Cow<'_, Message> {
    if message.unknown.get("crc").is_none() {
        return Cow::Borrowed(message);
    }
    let mut message = message.clone();
    message.unknown.remove("crc");
    Cow::Owned(message)
}
