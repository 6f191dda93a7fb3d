//! The decision whether a failed request is sent again, and when. Waiting, counting and reading the
//! clock are up to the client.

use analects_core::{ApiError, ApiErrorKind};
use jiff::Timestamp;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::Offset;

/// How often, and after which waits, a request is sent again.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// The number of tries after the first.
    pub retries: u32,
    /// The wait before the first retry, in milliseconds. It doubles with each further one.
    pub first_ms: u64,
    /// The longest wait that is chosen without the server's advice.
    pub longest_ms: u64,
    /// The part of such a wait, from 0 to 1, that is random, so that clients that failed together
    /// do not return together.
    pub jitter: f64,
    /// The limit for all waits of a request together, including those that the server asks for.
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

/// The state of a request after it failed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RetryState {
    /// How often it was sent again so far: 0 after the first failure.
    pub retries_made: u32,
    /// The sum of its waits so far, in milliseconds.
    pub waited_ms: u64,
    /// Whether a part of the answer was passed on. It is not sent again then: the two answers would
    /// be mixed, and paid for twice.
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
    /// Whether to try again at all.
    pub should_retry: Option<bool>,
}

impl RetryHeaders {
    /// Reads `retry-after-ms`, `retry-after` (seconds, or a date, which is compared to `now`) and
    /// `x-should-retry`. `header` returns the value of a header by its lower-case name.
    pub fn read(header: impl Fn(&str) -> Option<String>, now: Timestamp) -> RetryHeaders {
        let should_retry = match header("x-should-retry").as_deref().map(str::trim) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        let wait = wait_in_headers(&header);
        RetryHeaders {
            after_ms: wait.or_else(|| ms_until(&header("retry-after")?, now)),
            should_retry,
        }
    }
}

/// The wait that headers state as a number, in milliseconds.
pub(crate) fn wait_in_headers(header: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let milliseconds = header("retry-after-ms").and_then(|text| non_negative(&text));
    let seconds = || header("retry-after").and_then(|text| non_negative(&text));
    let wait = milliseconds.or_else(|| Some(seconds()? * 1000.0))?;
    // A float becomes the nearest integer that exists, so no value overflows.
    Some(wait as u64)
}

/// Reads a number; `None` if it is negative or not a number.
fn non_negative(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (number >= 0.0).then_some(number)
}

/// Milliseconds until an HTTP date in any of the three formats of RFC 9110; 0 if it is past.
fn ms_until(date: &str, now: Timestamp) -> Option<u64> {
    const FORMATS: [&str; 3] = [
        "%a, %d %b %Y %H:%M:%S GMT",
        "%A, %d-%b-%y %H:%M:%S GMT",
        "%a %b %e %H:%M:%S %Y",
    ];
    let date = date.trim();
    let then = FORMATS.iter().find_map(|format| parse_date(format, date))?;
    let ms = then.as_millisecond() - now.as_millisecond();
    Some(u64::try_from(ms).unwrap_or(0))
}

/// Reads a date in one format. All HTTP dates are in UTC.
fn parse_date(format: &str, date: &str) -> Option<Timestamp> {
    let time = BrokenDownTime::parse(format, date).ok()?;
    Offset::UTC.to_timestamp(time.to_datetime().ok()?).ok()
}

/// What to do with a request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryDecision {
    /// Send it again after this many milliseconds.
    After(u64),
    /// Give up.
    Stop(NoRetryReason),
}

/// Why a request is not sent again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRetryReason {
    /// A part of the answer was passed on.
    #[error("a part of the answer has come already")]
    Delivered,
    /// The same request would fail again.
    #[error("the same request would fail again")]
    Permanent,
    /// The account has no credit left, or has reached a spending limit or the limit of the day.
    #[error("the account has no credit left, or has reached a limit")]
    NoCredit,
    /// The server says that another try is of no use.
    #[error("the server says that another try is of no use")]
    ServerRefuses,
    /// The policy allows no more tries.
    #[error("{} tries failed", .tries)]
    TooManyTries {
        /// How often the request was sent, including the first time.
        tries: u32,
    },
    /// The server asks for a longer wait than the rest of the budget.
    #[error("the server asks to wait {}, which is more than the {} that are left for waiting; \
        try again later", ReadableDuration(*.wait_ms), ReadableDuration(*.left_ms))]
    WaitTooLong {
        /// The wait that the server asks for.
        wait_ms: u64,
        /// The rest of the budget.
        left_ms: u64,
    },
    /// Earlier waits have used up the budget.
    #[error("{} were spent on waiting already", ReadableDuration(*.waited_ms))]
    BudgetSpent {
        /// The sum of the waits so far.
        waited_ms: u64,
    },
}

/// A duration in milliseconds that prints for people: `800 ms`, `5 s`, `1 min 30 s`, `2 h`.
struct ReadableDuration(u64);

impl std::fmt::Display for ReadableDuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 < 1000 {
            return write!(f, "{} ms", self.0);
        }
        let seconds = self.0.div_ceil(1000);
        match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
            (0, 0, seconds) => write!(f, "{seconds} s"),
            (0, minutes, 0) => write!(f, "{minutes} min"),
            (0, minutes, seconds) => write!(f, "{minutes} min {seconds} s"),
            (hours, 0, _) => write!(f, "{hours} h"),
            (hours, minutes, _) => write!(f, "{hours} h {minutes} min"),
        }
    }
}

/// Decides whether a request that failed with `error` is sent again.
///
/// ```
/// use analects_core::{ApiError, ApiErrorKind};
/// use analects_providers::{NoRetryReason, RetryDecision, RetryPolicy, RetryState, retry};
///
/// let policy = RetryPolicy::default();
/// let error = ApiError::new(ApiErrorKind::Overloaded, "try later");
/// let mut state = RetryState::default();
/// assert_eq!(retry(&policy, &error, &state), RetryDecision::After(500));
///
/// state.delivered = true;
/// let stop = RetryDecision::Stop(NoRetryReason::Delivered);
/// assert_eq!(retry(&policy, &error, &state), stop);
/// ```
pub fn retry(policy: &RetryPolicy, error: &ApiError, state: &RetryState) -> RetryDecision {
    if let Some(reason) = reason_to_stop(policy, error, state) {
        return RetryDecision::Stop(reason);
    }
    let advice = state.headers.after_ms.or(error.retry_after_ms);
    let advice = advice.filter(|ms| *ms > 0);
    let wait_ms = advice.unwrap_or_else(|| backoff_ms(policy, state));
    let left_ms = policy.budget_ms.saturating_sub(state.waited_ms);
    if wait_ms <= left_ms {
        return RetryDecision::After(wait_ms);
    }
    RetryDecision::Stop(if advice.is_some() {
        NoRetryReason::WaitTooLong { wait_ms, left_ms }
    } else {
        NoRetryReason::BudgetSpent {
            waited_ms: state.waited_ms,
        }
    })
}

/// Why another try makes no sense, whatever the wait.
fn reason_to_stop(
    policy: &RetryPolicy,
    error: &ApiError,
    state: &RetryState,
) -> Option<NoRetryReason> {
    if state.delivered {
        return Some(NoRetryReason::Delivered);
    }
    if state.headers.should_retry == Some(false) {
        return Some(NoRetryReason::ServerRefuses);
    }
    let server_wants_retry = state.headers.should_retry == Some(true);
    match permanent_reason(error) {
        // The server knows better about unusual errors, but not about the usual ones.
        Some(NoRetryReason::Permanent) if server_wants_retry && is_unusual(error) => {}
        Some(reason) => return Some(reason),
        None => {}
    }
    if state.retries_made < policy.retries {
        return None;
    }
    let tries = state.retries_made.saturating_add(1);
    Some(NoRetryReason::TooManyTries { tries })
}

/// The wait without the server's advice: it doubles with each retry, up to a limit, and is partly
/// random.
fn backoff_ms(policy: &RetryPolicy, state: &RetryState) -> u64 {
    let factor = 1_u64.checked_shl(state.retries_made).unwrap_or(u64::MAX);
    let doubled = policy.first_ms.saturating_mul(factor);
    let wait = doubled.min(policy.longest_ms) as f64;
    let cut = as_fraction(policy.jitter) * as_fraction(state.random);
    (wait * (1.0 - cut)) as u64
}

/// Moves a number into the range from 0 to 1; NaN becomes 0.
fn as_fraction(number: f64) -> f64 {
    if number.is_nan() {
        return 0.0;
    }
    number.clamp(0.0, 1.0)
}

/// Why the same request can never succeed later; `None` if it can.
pub(crate) fn permanent_reason(error: &ApiError) -> Option<NoRetryReason> {
    if is_out_of_credit(error) {
        return Some(NoRetryReason::NoCredit);
    }
    let is_temporary = match error.status {
        _ if is_final(error.kind) => false,
        Some(status) => matches!(status, 408 | 409 | 429 | 500..),
        None => is_temporary(error.kind),
    };
    (!is_temporary).then_some(NoRetryReason::Permanent)
}

/// Kinds that no wait changes, whatever the status.
fn is_final(kind: ApiErrorKind) -> bool {
    matches!(
        kind,
        ApiErrorKind::ContextOverflow | ApiErrorKind::ContentRefused | ApiErrorKind::Cancelled
    )
}

/// Kinds that may pass, for errors without a status.
fn is_temporary(kind: ApiErrorKind) -> bool {
    matches!(
        kind,
        ApiErrorKind::RateLimit
            | ApiErrorKind::Overloaded
            | ApiErrorKind::Server
            | ApiErrorKind::Network
            | ApiErrorKind::Timeout
    )
}

/// Error types of accounts without credit.
const NO_CREDIT_TYPES: [&str; 5] = [
    "insufficient_quota",
    "spend_limit",
    "billing",
    "insufficient_credit",
    "PerDay",
];

/// Words in messages about accounts without credit.
const NO_CREDIT_PHRASES: [&str; 4] = [
    "enforced_spend_limit_reached",
    "spend limit",
    "usage limit",
    "credit balance",
];

/// Whether the account has no credit. Servers report this as a rate limit too, but waiting does not
/// help.
fn is_out_of_credit(error: &ApiError) -> bool {
    let name = error.error_type.as_deref().unwrap_or_default();
    error.status == Some(402)
        || NO_CREDIT_TYPES.iter().any(|part| name.contains(part))
        || (error.kind == ApiErrorKind::RateLimit && says_no_credit(error))
}

/// Whether the message is about missing credit. A limit with a known end is worth the wait.
fn says_no_credit(error: &ApiError) -> bool {
    let message = error.message.to_lowercase();
    error.retry_after_ms.is_none()
        && NO_CREDIT_PHRASES
            .iter()
            .any(|phrase| message.contains(phrase))
}

/// Whether the server may overrule us about an error: one whose status and kind leave some doubt.
fn is_unusual(error: &ApiError) -> bool {
    let is_usual_status = matches!(error.status, None | Some(400 | 401 | 403 | 404 | 413));
    !is_usual_status && !is_final(error.kind)
}

#[cfg(test)]
mod tests;
