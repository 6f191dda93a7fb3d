//! Token counts and their accuracy. A [`Count`] always says how it was found; an estimate never poses as exact.

mod calibration;
mod counter;
mod family;
mod features;
mod images;
mod openai;
#[cfg(test)]
mod tests;

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use analects_core::{Message, TokenUsage};
use serde::{Deserialize, Serialize};

pub use calibration::Calibration;
pub use counter::{Counter, TemplateTokens, Tokenizer};
pub use family::{ModelFamily, estimate};
pub use images::{ImageSize, image_size};

/// How a count was found, the most reliable method first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The provider reported it with an answer.
    #[default]
    Usage,
    /// Counted with the model's own vocabulary.
    Tokenizer,
    /// The provider's counting endpoint returned it.
    Endpoint,
    /// Estimated from the characters and the model's family.
    Estimate,
}

impl Method {
    /// The name of the method, such as `estimate`.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Usage => "usage",
            Method::Tokenizer => "tokenizer",
            Method::Endpoint => "endpoint",
            Method::Estimate => "estimate",
        }
    }

    /// Returns whether such a count is exact.
    pub fn is_exact(self) -> bool {
        self != Method::Estimate
    }
}

/// A number of tokens and its accuracy. A sum is as accurate as its least accurate part.
///
/// ```
/// use analects_context::{Count, Method};
///
/// let sum = Count::exact(100, Method::Usage) + Count::estimate(50, 10);
/// assert_eq!(sum.to_string(), "~150 ±5");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Count {
    /// The number of tokens.
    pub tokens: u64,
    /// How they were counted.
    pub method: Method,
    /// The largest expected error for ordinary text, in tokens; 0 for an exact count.
    pub error_bound: u64,
}

impl Count {
    /// Creates an exact count.
    pub fn exact(tokens: u64, method: Method) -> Count {
        Count {
            tokens,
            method,
            error_bound: 0,
        }
    }

    /// Creates an estimate that may be off by so many percent.
    pub fn estimate(tokens: u64, percent: u64) -> Count {
        Count {
            tokens,
            method: Method::Estimate,
            error_bound: tokens.saturating_mul(percent).div_ceil(100),
        }
    }

    /// Multiplies an estimate by a learned factor. An exact count stays as it is.
    pub(crate) fn scaled(self, factor: f64) -> Count {
        if self.method.is_exact() || factor == 1.0 {
            return self;
        }
        let scale = |tokens: u64| (tokens as f64 * factor).ceil() as u64;
        Count {
            tokens: scale(self.tokens),
            error_bound: scale(self.error_bound),
            method: self.method,
        }
    }
}

impl Add for Count {
    type Output = Count;

    fn add(self, other: Count) -> Count {
        Count {
            tokens: self.tokens.saturating_add(other.tokens),
            method: self.method.max(other.method),
            error_bound: self.error_bound.saturating_add(other.error_bound),
        }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        *self = *self + other;
    }
}

impl Sum for Count {
    fn sum<I: Iterator<Item = Count>>(counts: I) -> Count {
        counts.fold(Count::default(), Add::add)
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.method.is_exact() {
            write!(f, "{}", self.tokens)
        } else {
            write!(f, "~{} ±{}", self.tokens, self.error_bound)
        }
    }
}

/// The size of the context as the provider reported it with its last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedUsage {
    /// The position of that answer.
    pub at: usize,
    /// The tokens up to and including it.
    pub count: Count,
    /// Of these, the tokens that a cache held.
    pub cached: u64,
}

/// Returns the size of the context as the provider last reported it: all tokens read, including cached ones, and all
/// tokens written. Errors and answers without a usage are skipped.
pub fn count_tokens_from_usage(messages: &[&Message]) -> Option<ReportedUsage> {
    for (at, message) in messages.iter().enumerate().rev() {
        let Some(usage) = message.usage.as_ref().filter(|_| is_real(message)) else {
            continue;
        };
        let tokens = total_tokens(usage);
        if tokens > 0 {
            return Some(ReportedUsage {
                at,
                count: Count::exact(tokens, Method::Usage),
                cached: usage.cache_read_input_tokens.unwrap_or(0),
            });
        }
    }
    None
}

/// Returns whether a model wrote this, rather than a program in its place.
pub(crate) fn is_real(message: &Message) -> bool {
    !message.is_api_error_message && message.model.as_deref() != Some(Message::SYNTHETIC)
}

/// The tokens read and written.
fn total_tokens(usage: &TokenUsage) -> u64 {
    prompt_tokens(usage).saturating_add(usage.output_tokens.unwrap_or(0))
}

/// The tokens read, from a cache or not.
pub(crate) fn prompt_tokens(usage: &TokenUsage) -> u64 {
    let parts = [
        usage.input_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens,
    ];
    parts.into_iter().flatten().fold(0, u64::saturating_add)
}
