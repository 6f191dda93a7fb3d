//! When a conversation is compacted without anybody asking: how full the context may be, and what keeps a failing
//! compaction from being tried at every turn. No clock: the conversation's own growth is the time.

use std::str::FromStr;

use analects_core::{Body, Chain, Message, Notification};

use crate::boundary::after_boundary;

/// The share of the window at which a conversation is compacted.
///
/// ```
/// use analects_context::Threshold;
///
/// let same: Vec<Threshold> = ["0.85", "85", "85%"].iter().filter_map(|text| text.parse().ok()).collect();
/// assert!(same.len() == 3 && same.iter().all(|threshold| threshold.share() == 0.85));
/// assert_eq!(Threshold::default().share(), 0.92);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold(f64);

/// A text that is no such share.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a share of the window; expected 0.85, 85 or 85%")]
pub struct ThresholdError(String);

impl Threshold {
    /// The share, between 0 and 1.
    pub fn share(self) -> f64 {
        self.0
    }
}

impl Default for Threshold {
    fn default() -> Threshold {
        Threshold(0.92)
    }
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Threshold, ThresholdError> {
        let error = || ThresholdError(text.to_string());
        let trimmed = text.trim();
        let (digits, percent) = match trimmed.strip_suffix('%') {
            Some(digits) => (digits.trim_end(), true),
            None => (trimmed, false),
        };
        let plain = digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number: f64 = digits.parse().ok().filter(|_| plain).ok_or_else(error)?;
        // 1 alone would be one percent or all of it: all of it is meant.
        let share = if percent || number > 1.0 {
            number / 100.0
        } else {
            number
        };
        if share > 0.0 && share <= 1.0 {
            Ok(Threshold(share))
        } else {
            Err(error())
        }
    }
}

/// The kind of the notification that records a failed compaction.
const FAILED: &str = "compaction_failed";

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
    let notification = Notification {
        kind: FAILED.to_string(),
        content: why.into(),
        ..Notification::default()
    };
    Message::new("", Body::Notification(notification))
}

fn is_failure(message: &Message) -> bool {
    matches!(&message.body, Body::Notification(body) if body.kind == FAILED)
}
