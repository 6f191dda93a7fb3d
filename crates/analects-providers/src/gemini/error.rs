//! Errors of the Gemini API: `{"error":{"code","status","message","details"}}`, sometimes as the
//! only element of an array.

use analects_core::{ApiError, ApiErrorKind, Raw, RawMap};

use super::wire::array_elements;
use crate::decoding::list_member;
use crate::error::{NO_MESSAGE, kind_of_status, message_of_body};

/// Reads the body of an answer whose status is an error.
pub(crate) fn error_in_body(status: u16, body: &str) -> ApiError {
    let body = body.trim();
    let map = RawMap::parse(first_object(body)).unwrap_or_default();
    let mut error = match map.get("error") {
        Some(error) => read_error(error, Some(status)),
        None => {
            let mut error = ApiError::new(kind_of_status(status), "");
            error.status = Some(status);
            error
        }
    };
    if error.message.is_empty() {
        error.message = message_of_body(body);
    }
    error
}

/// The first element of an array, or the body itself.
fn first_object(body: &str) -> &str {
    if !body.starts_with('[') {
        return body;
    }
    array_elements(body).first().copied().unwrap_or(body)
}

/// Reads the `error` member of a chunk.
pub(super) fn error_in_stream(error: &Raw) -> ApiError {
    let mut error = read_error(error, None);
    if error.message.is_empty() {
        error.message = NO_MESSAGE.to_string();
    }
    error
}

/// Reads an `error` member, which is an object or the message itself. `status` is that of the
/// answer, if there is one.
fn read_error(error: &Raw, status: Option<u16>) -> ApiError {
    let map = error.as_object().unwrap_or_default();
    let message = map.string("message").or_else(|| error.as_string());
    let message = message.unwrap_or_default();
    let name = map.string("status");
    let status = status.or_else(|| error_code(&map));
    let details = GeminiErrorDetails::read(&map);
    let kind = special_kind(&message, &details)
        .or_else(|| kind_of_name(name.as_deref()?))
        .or_else(|| status.map(kind_of_status));
    ApiError {
        status,
        error_type: details.daily_quota.or(name),
        request_id: details.request_id,
        retry_after_ms: details.retry_after_ms,
        ..ApiError::new(kind.unwrap_or(ApiErrorKind::Server), message)
    }
}

/// The status in an error's `code`.
fn error_code(error: &RawMap) -> Option<u16> {
    let code: u16 = error.get("code")?.to()?;
    (400..600).contains(&code).then_some(code)
}

/// The details of an error, in the shapes that all of Google's services use.
#[derive(Default)]
struct GeminiErrorDetails {
    /// Google's name for the cause.
    reason: Option<String>,
    /// The advised wait.
    retry_after_ms: Option<u64>,
    /// The id of the request, for Google's support.
    request_id: Option<String>,
    /// The name of a quota that is used up for the day. The advised wait is that of the quota for
    /// the minute, so it does not help.
    daily_quota: Option<String>,
}

impl GeminiErrorDetails {
    /// Reads the `details` of an error; all of them are optional.
    fn read(error: &RawMap) -> GeminiErrorDetails {
        let mut details = GeminiErrorDetails::default();
        for detail in list_member(error, "details") {
            details.add(&detail.as_object().unwrap_or_default());
        }
        details
    }

    /// Reads one detail by the last part of its type's name.
    fn add(&mut self, detail: &RawMap) {
        let kind = detail.string("@type").unwrap_or_default();
        match kind.rsplit('.').next() {
            Some("ErrorInfo") => self.reason = detail.string("reason"),
            Some("RetryInfo") => {
                let delay = detail.string("retryDelay");
                self.retry_after_ms = delay.and_then(|delay| milliseconds(&delay));
            }
            Some("QuotaFailure") => self.daily_quota = daily_quota(detail),
            Some("RequestInfo") => self.request_id = detail.string("requestId"),
            _ => {}
        }
    }
}

/// The name of the first exceeded quota that is for a whole day.
fn daily_quota(failure: &RawMap) -> Option<String> {
    let violations = list_member(failure, "violations");
    let mut ids = violations
        .iter()
        .filter_map(|violation| violation.as_object()?.string("quotaId"));
    ids.find(|id| id.contains("PerDay"))
}

/// Reads a duration as Google writes it: seconds, with or without a fraction, and `s`.
fn milliseconds(duration: &str) -> Option<u64> {
    let seconds: f64 = duration.trim().strip_suffix('s')?.parse().ok()?;
    // A float becomes the nearest integer that exists, so no value overflows.
    (seconds >= 0.0).then(|| (seconds * 1000.0).round() as u64)
}

/// Kinds that share their name and their status with other errors about the request.
fn special_kind(message: &str, details: &GeminiErrorDetails) -> Option<ApiErrorKind> {
    let message = message.to_lowercase();
    let reason = details.reason.as_deref().unwrap_or_default();
    let key_phrases = ["api key not valid", "api key expired"];
    if reason.starts_with("API_KEY_") || contains_any(&message, &key_phrases) {
        return Some(ApiErrorKind::Auth);
    }
    let overflow_phrases = [
        "exceeds the maximum number of tokens",
        "context is too long",
    ];
    contains_any(&message, &overflow_phrases).then_some(ApiErrorKind::ContextOverflow)
}

/// Whether a text contains one of these phrases.
fn contains_any(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| text.contains(phrase))
}

/// The kind of an error by Google's name for it.
fn kind_of_name(name: &str) -> Option<ApiErrorKind> {
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
