//! A place where a conversation is kept, whatever the place.

use analects_core::{Chain, Message, chain};
use analects_formats::Decoded;
use analects_store::StoreError;
use jiff::Timestamp;

/// A conversation that can be continued. What a method reports as done is on disk, but for the
/// text of an answer that is still coming.
pub trait Conversation {
    /// Everything said so far.
    fn messages(&self) -> Decoded;

    /// Which of these the model is to see. A place that keeps more than that knows it already.
    fn chain<'m>(&self, decoded: &'m Decoded) -> Chain<'m> {
        chain(&decoded.messages)
    }

    /// Adds what the person says.
    fn say(&mut self, prompt: &str, now: Timestamp) -> Result<(), StoreError>;

    /// Takes more text of the answer.
    fn push(&mut self, text: &str) -> Result<(), StoreError>;

    /// Whether there is text that a call of [`Conversation::flush`] would bring to the disk.
    fn is_waiting(&self) -> bool;

    /// Brings the answer so far to the disk, as well as that can be done while it grows.
    fn flush(&mut self);

    /// Adds the answer in its final form. Its text is what was pushed before, or an error's.
    fn finish(&mut self, answer: Message) -> Result<(), StoreError>;
}
