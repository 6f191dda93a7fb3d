//! When to compact a conversation automatically: how full the context may become, and how long to wait after a failure.
//! There is no clock; the growth of the conversation measures the time.

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

/// The error for a text that is not a share of the window.
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

    /// Accepts a fraction (`0.85`) or a percentage (`85`, `85%`) above 0 and up to 100 %.
    fn from_str(text: &str) -> Result<Threshold, ThresholdError> {
        parse_share(text)
            .map(Threshold)
            .ok_or_else(|| ThresholdError(text.to_string()))
    }
}

fn parse_share(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.strip_suffix('%').map_or(text, str::trim_end);
    let has_percent_sign = text.ends_with('%');
    let is_plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = digits.parse().ok().filter(|_| is_plain)?;
    // A bare 1 means all of it, not one percent.
    let share = if has_percent_sign || number > 1.0 {
        number / 100.0
    } else {
        number
    };
    (share > 0.0 && share <= 1.0).then_some(share)
}

/// The kind of the notification that records a failed compaction.
const FAILURE_KIND: &str = "compaction_failed";

/// How many compactions of a conversation failed in a row, and how long to wait before the next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackOff {
    /// The number of failures in a row.
    failures: u32,
    /// The number of messages at the last failure.
    at: usize,
}

impl BackOff {
    /// Reads the failures since the last successful compaction from the conversation's own records.
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

    /// Returns whether to try again with so many messages. Each failure doubles the number of new messages to wait for.
    pub fn allows(&self, messages: usize) -> bool {
        // A shorter chain is a different one: the user rewound it or compacted it manually.
        self.failures == 0 || messages < self.at || messages >= self.at + self.wait()
    }

    /// The number of messages to wait for.
    fn wait(&self) -> usize {
        1 << self.failures.min(6)
    }

    /// Notes a failed attempt. Returns whether to tell the user: once, not at every attempt.
    pub fn failed(&mut self, messages: usize) -> bool {
        self.at = messages;
        self.failures = self.failures.saturating_add(1);
        self.failures == 1
    }

    /// Notes a successful attempt.
    pub fn succeeded(&mut self) {
        *self = BackOff::default();
    }
}

/// Creates the record of a failed compaction. It becomes part of the conversation, but no model reads it.
pub fn compaction_failed(why: &str) -> Message {
    let notification = Notification {
        kind: FAILURE_KIND.to_string(),
        content: why.into(),
        ..Notification::default()
    };
    Message::new("", Body::Notification(notification))
}

fn is_failure(message: &Message) -> bool {
    matches!(&message.body, Body::Notification(body) if body.kind == FAILURE_KIND)
}
