//! Encodes messages as lines of a transcript.

use std::borrow::Cow;
use std::fmt::Write;

use analects_core::{Json, Message};

use super::crc::crc32c;

/// The text before the checksum. The checksum covers everything before this text.
pub(super) const SEAL: &str = ",\"crc\":\"";
/// The length of the checksum with this text and the closing `"}`.
pub(super) const SEAL_LENGTH: usize = SEAL.len() + 8 + 2;

/// Encodes a message as a line, with its checksum and its line end.
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

/// Appends the line of a message to a buffer, like [`encode`].
pub fn encode_to(out: &mut String, message: &Message) {
    let start = out.len();
    without_seal(message).write(out);
    // Remove the closing brace. There is at least one field before it.
    out.pop();
    let crc = crc32c(&out.as_bytes()[start..]);
    let _ = writeln!(out, "{SEAL}{crc:08x}\"}}");
}

/// Returns the message without a `crc` field of its own, such as one from another program.
fn without_seal(message: &Message) -> Cow<'_, Message> {
    if message.unknown.get("crc").is_none() {
        return Cow::Borrowed(message);
    }
    let mut message = message.clone();
    message.unknown.remove("crc");
    Cow::Owned(message)
}
