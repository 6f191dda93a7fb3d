//! What keeps a failing compaction from being tried at every turn. No clock: the conversation's own growth is
//! the time.

use serde::{Deserialize, Serialize};

/// How compactions of a session went; a value that can be kept with its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BackOff {
    /// Failures in a row.
    failures: u32,
    /// Messages of the chain when the last try failed.
    at: usize,
}

impl BackOff {
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
