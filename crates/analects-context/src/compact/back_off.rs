//! What keeps a failing compaction from being tried at every turn. No clock: the conversation's own growth is
//! the time.

use analects_core::{Body, Chain, Message, Notification};

use crate::plan::after_boundary;

/// The kind of the notification that records a failed compaction.
pub(crate) const FAILED: &str = "compaction_failed";

/// How compactions of a conversation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackOff {
    /// Failures in a row.
    failures: u32,
    /// Messages of the chain when the last try failed.
    at: usize,
}

impl BackOff {
    /// How they went since the last one that succeeded, as the conversation itself records it.
    pub fn of(chain: &Chain<'_>) -> BackOff {
        let mut back_off = BackOff::default();
        let since = after_boundary(chain);
        for (at, message) in chain.messages.iter().enumerate().skip(since) {
            if is_failure(message) {
                back_off.failed(at + 1);
            }
        }
        back_off
    }

    /// Whether a conversation of so many messages may be tried: after each failure twice as many have to come
    /// as before.
    pub fn allows(&self, messages: usize) -> bool {
        // A chain that has become shorter is another one: somebody went back, or compacted it by hand.
        self.failures == 0 || messages < self.at || messages >= self.at + self.wait()
    }

    fn wait(&self) -> usize {
        1 << self.failures.min(6)
    }

    /// A try failed. True if people should be told: once, not at every try.
    pub fn failed(&mut self, messages: usize) -> bool {
        self.at = messages;
        self.failures = self.failures.saturating_add(1);
        self.failures == 1
    }

    /// A try succeeded.
    pub fn succeeded(&mut self) {
        *self = BackOff::default();
    }
}

/// The record that a compaction failed. It goes into the conversation, and to nobody's model.
pub fn compaction_failed(why: &str) -> Message {
    let notification =
        Notification { kind: FAILED.to_string(), content: why.into(), ..Notification::default() };
    Message::new("", Body::Notification(notification))
}

fn is_failure(message: &Message) -> bool {
    matches!(&message.body, Body::Notification(body) if body.kind == FAILED)
}
