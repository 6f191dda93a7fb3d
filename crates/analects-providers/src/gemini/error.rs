//! Errors of the Gemini API: `{"error":{"code","status","message","details"}}`, at times as the
//! only element of an array.

use analects_core::{ApiError, ApiErrorKind, Raw, RawMap};

use super::wire::elements;
use crate::error::{kind_of_status, plain_message};

/// Reads the body of an answer whose status says that it is an error.
pub(crate) fn error_of_body(status: u16, body: &str) -> ApiError {
    let body = body.trim();
    let first = if body.starts_with('[') {
        elements(body).first().copied()
    } else {
        None
    };
    let map = RawMap::parse(first.unwrap_or(body)).unwrap_or_default();
    let mut error = match map.get("error") {
        Some(error) => error_of(error, Some(status)),
        None => ApiError {
            status: Some(status),
            ..ApiError::new(kind_of_status(status), "")
        },
    };
    if error.message.is_empty() {
        error.message = plain_message(body);
    }
    error
}

/// Reads the `error` member of a chunk.
pub(super) fn error_in_stream(error: &Raw) -> ApiError {
    let mut error = error_of(error, None);
    if error.message.is_empty() {
        error.message = "the provider gave up without saying why".to_string();
    }
    error
}

fn error_of(error: &Raw, status: Option<u16>) -> ApiError {
    let map = error.as_object().unwrap_or_default();
    let message = map
        .string("message")
        .or_else(|| error.as_string())
        .unwrap_or_default();
    let name = map.string("status");
    let code = map
        .get("code")
        .and_then(Raw::to::<u16>)
        .filter(|code| (400..600).contains(code));
    let status = status.or(code);
    let details = Details::read(map.get("details"));
    let kind = special_kind(&message, &details)
        .or_else(|| named_kind(name.as_deref()?))
        .or_else(|| status.map(kind_of_status));
    ApiError {
        status,
        error_type: details.daily_quota.or(name),
        request_id: details.request_id,
        retry_after_ms: details.retry_after_ms,
        ..ApiError::new(kind.unwrap_or(ApiErrorKind::Server), message)
    }
}

/// What the details of an error say, in the shapes that all of Google's services use.
#[derive(Default)]
struct Details {
    reason: Option<String>,
    retry_after_ms: Option<u64>,
    request_id: Option<String>,
    /// The name of a quota that is used up for the day. The wait that is advised with it is that of
    /// the minute, after which the same happens again.
    daily_quota: Option<String>,
}

impl Details {
    fn read(details: Option<&Raw>) -> Details {
        let mut read = Details::default();
        for detail in details.and_then(Raw::as_array).unwrap_or_default() {
            let map = detail.as_object().unwrap_or_default();
            let kind = map.string("@type").unwrap_or_default();
            match kind.rsplit('.').next() {
                Some("ErrorInfo") => read.reason = map.string("reason"),
                Some("RetryInfo") => {
                    read.retry_after_ms = map.string("retryDelay").and_then(|delay| millis(&delay));
                }
                Some("QuotaFailure") => read.daily_quota = daily_quota(map.get("violations")),
                Some("RequestInfo") => read.request_id = map.string("requestId"),
                _ => {}
            }
        }
        read
    }
}

fn daily_quota(violations: Option<&Raw>) -> Option<String> {
    let violations = violations.and_then(Raw::as_array).unwrap_or_default();
    let ids = violations
        .iter()
        .filter_map(|it| it.as_object()?.string("quotaId"));
    ids.into_iter().find(|id| id.contains("PerDay"))
}

/// A duration as Google writes it: seconds, with or without a fraction, and an `s`.
fn millis(delay: &str) -> Option<u64> {
    let seconds: f64 = delay.trim().strip_suffix('s')?.parse().ok()?;
    // A float turns into the nearest integer that exists, so no value overflows.
    (seconds >= 0.0).then(|| (seconds * 1000.0).round() as u64)
}

/// Kinds that neither name nor status tell apart: both are said of any request that is not liked.
fn special_kind(message: &str, details: &Details) -> Option<ApiErrorKind> {
    let message = message.to_lowercase();
    let says = |words: &str| message.contains(words);
    let reason = details.reason.as_deref().unwrap_or_default();
    if reason.starts_with("API_KEY_") || says("api key not valid") || says("api key expired") {
        return Some(ApiErrorKind::Auth);
    }
    let overflow = says("exceeds the maximum number of tokens") || says("context is too long");
    overflow.then_some(ApiErrorKind::ContextOverflow)
}

fn named_kind(name: &str) -> Option<ApiErrorKind> {
    Some(match name {
        "UNAUTHENTICATED" | "PERMISSION_DENIED" => ApiErrorKind::Auth,
        "NOT_FOUND" => ApiErrorKind::NotFound,
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" | "UNIMPLEMENTED" => {
            ApiErrorKind::BadRequest
        }
        "RESOURCE_EXHAUSTED" => ApiErrorKind::RateLimit,
        "UNAVAILABLE" => ApiErrorKind::Overloaded,
        "DEADLINE_EXCEEDED" => ApiErrorKind::Timeout,
        "CANCELLED" => ApiErrorKind::Cancelled,
        "INTERNAL" | "UNKNOWN" | "DATA_LOSS" | "ABORTED" => ApiErrorKind::Server,
        _ => return None,
    })
}
