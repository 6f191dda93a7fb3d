//! How many tokens something has, and how sure that is. A [`Count`] always says how it was found; an
//! estimate never poses as exact.

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
pub use counter::{Counter, Tokenizer};
pub use family::{Family, estimate};
pub use images::{Pixels, pixels};

/// How a count was found, the surest way first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The provider said so with its answer.
    #[default]
    Usage,
    /// With the model's own vocabulary.
    Tokenizer,
    /// The provider said so when it was asked to count.
    Endpoint,
    /// From the characters, with what is known about the model's family.
    Estimate,
}

impl Method {
    /// Its word, such as `estimate`.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Usage => "usage",
            Method::Tokenizer => "tokenizer",
            Method::Endpoint => "endpoint",
            Method::Estimate => "estimate",
        }
    }

    /// Whether such a count is no guess.
    pub fn is_exact(self) -> bool {
        self != Method::Estimate
    }
}

/// A number of tokens. A sum is as sure as the least sure of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Count {
    /// How many.
    pub tokens: u64,
    /// How they were counted.
    pub method: Method,
    /// By how many tokens ordinary text may differ from this; 0 for an exact count.
    pub error_bound: u64,
}

impl Count {
    /// An exact count.
    pub fn exact(tokens: u64, method: Method) -> Count {
        let error_bound = 0;
        Count {
            tokens,
            method,
            error_bound,
        }
    }

    /// An estimate that may be off by so many percent.
    pub fn estimate(tokens: u64, percent: u64) -> Count {
        let error_bound = tokens.saturating_mul(percent).div_ceil(100);
        Count {
            tokens,
            method: Method::Estimate,
            error_bound,
        }
    }

    /// The same with an estimate multiplied by what was learnt; an exact count stays.
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
        match self.method.is_exact() {
            true => write!(f, "{}", self.tokens),
            false => write!(f, "~{} ±{}", self.tokens, self.error_bound),
        }
    }
}

/// What the provider said about the size of the context with its last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// The position of that answer among the messages.
    pub at: usize,
    /// Everything up to and including it.
    pub count: Count,
    /// Of these, tokens that a cache held.
    pub cached: u64,
}

/// The size of the context as the provider last gave it: all tokens read, cached ones included, and those
/// written. An error, a missing or a zero usage is passed over, so that the one before it counts.
pub fn count_tokens_from_usage(messages: &[&Message]) -> Option<Used> {
    let mut all = messages.iter().enumerate().rev();
    all.find_map(|(at, message)| {
        let usage = message.usage.as_ref().filter(|_| is_real(message))?;
        let tokens = total(usage);
        let cached = usage.cache_read_input_tokens.unwrap_or(0);
        (tokens > 0).then(|| Used {
            at,
            count: Count::exact(tokens, Method::Usage),
            cached,
        })
    })
}

/// Whether a model said this, and not a program in its place.
pub(crate) fn is_real(message: &Message) -> bool {
    !message.is_api_error_message && message.model.as_deref() != Some(Message::SYNTHETIC)
}

/// Tokens read and written.
fn total(usage: &TokenUsage) -> u64 {
    prompt(usage).saturating_add(usage.output_tokens.unwrap_or(0))
}

/// Tokens read, from a cache or not.
pub(crate) fn prompt(usage: &TokenUsage) -> u64 {
    let parts = [
        usage.input_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens,
    ];
    parts.into_iter().flatten().fold(0, u64::saturating_add)
}
