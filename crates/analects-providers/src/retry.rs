//! Whether a request that failed is sent again, and when. Only the decision: who asks waits, counts
//! and keeps the time.

use analects_core::{ApiError, ApiErrorKind};
use jiff::Timestamp;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::Offset;

/// How often and how patiently a request is sent again.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// Tries after the first.
    pub retries: u32,
    /// The wait before the first of them, in milliseconds; every further one doubles it.
    pub first_ms: u64,
    /// The longest wait that is chosen without the server's advice.
    pub longest_ms: u64,
    /// The part of such a wait, from 0 to 1, that is left to chance, so that many clients who failed
    /// together do not come back together.
    pub jitter: f64,
    /// What all waits of a request may take together, also those that the server asks for.
    pub budget_ms: u64,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            retries: 2,
            first_ms: 500,
            longest_ms: 8000,
            jitter: 0.25,
            budget_ms: 60_000,
        }
    }
}

/// Where a request stands after it failed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Situation {
    /// How often it was sent again so far: 0 after the first failure.
    pub retries_made: u32,
    /// What was waited for it so far, in milliseconds.
    pub waited_ms: u64,
    /// Whether a part of the answer was passed on: then it is never sent again, since the two
    /// answers would be mixed, and paid twice.
    pub delivered: bool,
    /// What the headers of the answer say about another try.
    pub headers: RetryHeaders,
    /// A random number from 0 to 1.
    pub random: f64,
}

/// What the headers of an answer say about another try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetryHeaders {
    /// How long to wait, in milliseconds.
    pub after_ms: Option<u64>,
    /// Whether to try at all.
    pub should_retry: Option<bool>,
}

impl RetryHeaders {
    /// Reads `retry-after-ms`, `retry-after` (seconds, or a date, for which the time is needed) and
    /// `x-should-retry`. `header` looks a header up by its lower-case name.
    pub fn read(header: impl Fn(&str) -> Option<String>, now: Timestamp) -> RetryHeaders {
        let should_retry = match header("x-should-retry").as_deref().map(str::trim) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        let after_ms = after_ms(&header).or_else(|| until(&header("retry-after")?, now));
        RetryHeaders {
            after_ms,
            should_retry,
        }
    }
}

/// The wait that headers name as a number, in milliseconds.
pub(crate) fn after_ms(header: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |name| {
        header(name)?
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|n| *n >= 0.0)
    };
    let seconds = || number("retry-after").map(|seconds| seconds * 1000.0);
    // A float turns into the nearest integer that exists, so no value overflows.
    number("retry-after-ms")
        .or_else(seconds)
        .map(|ms| ms as u64)
}

/// Milliseconds until an HTTP date, none if it is over; the three forms of RFC 9110.
fn until(date: &str, now: Timestamp) -> Option<u64> {
    let forms = [
        "%a, %d %b %Y %H:%M:%S GMT",
        "%A, %d-%b-%y %H:%M:%S GMT",
        "%a %b %e %H:%M:%S %Y",
    ];
    let read = |form: &&str| {
        BrokenDownTime::parse(form, date.trim())
            .ok()?
            .to_datetime()
            .ok()
    };
    let then = Offset::UTC
        .to_timestamp(forms.iter().find_map(read)?)
        .ok()?;
    Some(u64::try_from(then.as_millisecond() - now.as_millisecond()).unwrap_or(0))
}

/// What to do with a request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retry {
    /// Send it again after this many milliseconds.
    After(u64),
    /// Give up.
    Not(WhyNot),
}

/// Why a request is not sent again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhyNot {
    /// A part of the answer was passed on.
    #[error("a part of the answer has come already")]
    Delivered,
    /// The same request would fail again.
    #[error("the same request would fail again")]
    Permanent,
    /// There is no credit left, or a limit of spending or of the day is reached.
    #[error("the account has no credit left, or has reached a limit")]
    Spent,
    /// The server says so.
    #[error("the server says that another try is of no use")]
    ServerSaysNo,
    /// It was sent as often as the policy allows.
    #[error("{} tries failed", .tries)]
    TooOften {
        /// How often it was sent in all.
        tries: u32,
    },
    /// The wait would be longer than what is left of the budget.
    #[error("the server asks to wait {}, which is more than the {} that are left for waiting; \
        try again later", Span(*.wait_ms), Span(*.left_ms))]
    TooLong {
        /// How long it would be.
        wait_ms: u64,
        /// What is left of the budget.
        left_ms: u64,
    },
    /// The waits so far have used the budget up.
    #[error("{} were spent on waiting already", Span(*.waited_ms))]
    BudgetSpent {
        /// What was waited so far.
        waited_ms: u64,
    },
}

/// A length of time, for people.
struct Span(u64);

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0.div_ceil(1000);
        match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
            (0, 0, _) if self.0 < 1000 => write!(f, "{} ms", self.0),
            (0, 0, seconds) => write!(f, "{seconds} s"),
            (0, minutes, 0) => write!(f, "{minutes} min"),
            (0, minutes, seconds) => write!(f, "{minutes} min {seconds} s"),
            (hours, 0, _) => write!(f, "{hours} h"),
            (hours, minutes, _) => write!(f, "{hours} h {minutes} min"),
        }
    }
}

/// Decides whether a request that failed with `error` is sent again.
pub fn retry(policy: &RetryPolicy, error: &ApiError, at: &Situation) -> Retry {
    if at.delivered {
        return Retry::Not(WhyNot::Delivered);
    }
    match (why_never(error), at.headers.should_retry) {
        (_, Some(false)) => return Retry::Not(WhyNot::ServerSaysNo),
        // The server knows better about the odd cases, but not about the plain ones.
        (Some(WhyNot::Permanent), Some(true)) if may_overrule(error) => {}
        (Some(why), _) => return Retry::Not(why),
        (None, _) => {}
    }
    if at.retries_made >= policy.retries {
        return Retry::Not(WhyNot::TooOften {
            tries: at.retries_made.saturating_add(1),
        });
    }
    let advice = at
        .headers
        .after_ms
        .or(error.retry_after_ms)
        .filter(|ms| *ms > 0);
    let wait_ms = advice.unwrap_or_else(|| backoff(policy, at));
    let left_ms = policy.budget_ms.saturating_sub(at.waited_ms);
    match (wait_ms <= left_ms, advice) {
        (true, _) => Retry::After(wait_ms),
        (false, Some(_)) => Retry::Not(WhyNot::TooLong { wait_ms, left_ms }),
        (false, None) => Retry::Not(WhyNot::BudgetSpent {
            waited_ms: at.waited_ms,
        }),
    }
}

fn backoff(policy: &RetryPolicy, at: &Situation) -> u64 {
    let doubled = policy
        .first_ms
        .saturating_mul(1_u64.checked_shl(at.retries_made).unwrap_or(u64::MAX));
    let wait = doubled.min(policy.longest_ms) as f64;
    // A number that is none counts as no chance at all.
    let chance = |part: f64| {
        if part.is_nan() {
            0.0
        } else {
            part.clamp(0.0, 1.0)
        }
    };
    (wait * (1.0 - chance(policy.jitter) * chance(at.random))) as u64
}

/// Why the same request can never succeed later, if it cannot.
pub(crate) fn why_never(error: &ApiError) -> Option<WhyNot> {
    if is_spent(error) {
        return Some(WhyNot::Spent);
    }
    let may_help = match (error.kind, error.status) {
        // No waiting mends these, whatever the status.
        (ApiErrorKind::ContextOverflow | ApiErrorKind::ContentRefused, _) => false,
        (ApiErrorKind::Cancelled, _) => false,
        (_, Some(status)) => matches!(status, 408 | 409 | 429 | 500..),
        (kind, None) => matches!(
            kind,
            ApiErrorKind::RateLimit
                | ApiErrorKind::Overloaded
                | ApiErrorKind::Server
                | ApiErrorKind::Network
                | ApiErrorKind::Timeout
        ),
    };
    (!may_help).then_some(WhyNot::Permanent)
}

/// No credit comes as a rate limit too, and no waiting helps.
fn is_spent(error: &ApiError) -> bool {
    let names = [
        "insufficient_quota",
        "spend_limit",
        "billing",
        "insufficient_credit",
        "PerDay",
    ];
    let words = [
        "enforced_spend_limit_reached",
        "spend limit",
        "usage limit",
        "credit balance",
    ];
    let name = error.error_type.as_deref().unwrap_or_default();
    let message = error.message.to_lowercase();
    // A limit of which the server says when it ends is worth the wait.
    let in_words = error.retry_after_ms.is_none() && words.iter().any(|it| message.contains(it));
    error.status == Some(402)
        || names.iter().any(|it| name.contains(it))
        || (error.kind == ApiErrorKind::RateLimit && in_words)
}

fn may_overrule(error: &ApiError) -> bool {
    let plain = [400, 401, 403, 404, 413];
    let kinds = [
        ApiErrorKind::ContextOverflow,
        ApiErrorKind::ContentRefused,
        ApiErrorKind::Cancelled,
    ];
    error.status.is_some_and(|status| !plain.contains(&status)) && !kinds.contains(&error.kind)
}

#[cfg(test)]
mod tests;
