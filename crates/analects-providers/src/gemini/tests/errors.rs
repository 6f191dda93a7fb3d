//! Errors of the API, and the answers to a count and to a list.

use analects_core::{ApiError, ApiErrorKind, ModelFacts};

use super::fixture;
use crate::{
    Api, Auth, Method, decode_count, decode_models, encode_list_models, error_from_response,
    is_retryable,
};

fn error(status: u16, body: &[u8]) -> ApiError {
    error_from_response(Api::Gemini, status, |_| None, body)
}

#[test]
fn a_rate_limit_says_how_long_to_wait() {
    let limited = error(429, &fixture("error-rate-limit.json"));
    assert_eq!(limited.kind, ApiErrorKind::RateLimit);
    assert_eq!(limited.message, "You exceeded your current quota.");
    assert_eq!(limited.status, Some(429));
    assert_eq!(limited.error_type.as_deref(), Some("RESOURCE_EXHAUSTED"));
    assert_eq!(limited.retry_after_ms, Some(36_500));
    assert!(is_retryable(&limited));
    let header = |name: &str| (name == "retry-after").then(|| "2".to_string());
    let body = fixture("error-rate-limit.json");
    let limited = error_from_response(Api::Gemini, 429, header, &body);
    assert_eq!(
        limited.retry_after_ms,
        Some(2000),
        "the header is the server's last word"
    );
    for delay in ["", "s", "-1s", "soon", "1"] {
        let body = format!(
            r#"{{"error":{{"details":[{{"@type":"x.RetryInfo","retryDelay":"{delay}"}}]}}}}"#
        );
        assert_eq!(error(429, body.as_bytes()).retry_after_ms, None, "{delay}");
    }
}

/// The advised wait is that of the minute's limit; the day's would still be used up after it.
#[test]
fn a_quota_of_the_day_is_not_waited_for() {
    let body = String::from_utf8(fixture("error-rate-limit.json")).unwrap();
    let daily = body.replace("PerMinute", "PerDay");
    let limited = error(429, daily.as_bytes());
    assert_eq!(limited.kind, ApiErrorKind::RateLimit);
    let name = limited.error_type.as_deref();
    assert_eq!(
        name,
        Some("GenerateRequestsPerDayPerProjectPerModel-FreeTier")
    );
    assert!(!is_retryable(&limited));
}

#[test]
fn a_wrong_key_is_not_a_bad_request() {
    let wrong = error(400, &fixture("error-key.json"));
    assert_eq!(wrong.kind, ApiErrorKind::Auth);
    assert_eq!(wrong.status, Some(400));
    assert_eq!(wrong.request_id.as_deref(), Some("req-9"));
    assert!(!is_retryable(&wrong));
}

#[test]
fn an_overlong_conversation_has_its_own_error_kind() {
    let too_long = error(400, &fixture("error-too-long-array.json"));
    assert!(too_long.is_context_overflow());
    assert!(too_long.message.contains("1048576"));
}

#[test]
fn names_and_statuses_have_kinds() {
    let cases = [
        (400, "INVALID_ARGUMENT", ApiErrorKind::BadRequest),
        (400, "FAILED_PRECONDITION", ApiErrorKind::BadRequest),
        (401, "UNAUTHENTICATED", ApiErrorKind::Auth),
        (403, "PERMISSION_DENIED", ApiErrorKind::Auth),
        (404, "NOT_FOUND", ApiErrorKind::NotFound),
        (429, "RESOURCE_EXHAUSTED", ApiErrorKind::RateLimit),
        (499, "CANCELLED", ApiErrorKind::Cancelled),
        (500, "INTERNAL", ApiErrorKind::Server),
        (503, "UNAVAILABLE", ApiErrorKind::Overloaded),
        (504, "DEADLINE_EXCEEDED", ApiErrorKind::Timeout),
        (418, "TEAPOT", ApiErrorKind::BadRequest),
        (502, "TEAPOT", ApiErrorKind::Server),
    ];
    for (status, name, kind) in cases {
        let body = format!(r#"{{"error":{{"code":{status},"message":"m","status":"{name}"}}}}"#);
        let error = error(status, body.as_bytes());
        assert_eq!((error.kind, error.message.as_str()), (kind, "m"), "{name}");
        assert_eq!(error.error_type.as_deref(), Some(name));
    }
}

#[test]
fn error_bodies_of_other_shapes_still_have_messages() {
    assert_eq!(
        error(502, b"<html></html>").message,
        "the answer is a web page"
    );
    assert_eq!(error(500, b"").message, "no reason given");
    assert_eq!(error(400, br#"{"error":"plain"}"#).message, "plain");
    assert_eq!(error(413, b"x").kind, ApiErrorKind::ContextOverflow);
    assert_eq!(error(429, b"[]").message, "[]");
}

#[test]
fn a_count_is_read() {
    assert_eq!(
        decode_count(
            Api::Gemini,
            br#"{"totalTokens":31,"promptTokensDetails":[]}"#
        ),
        Some(31)
    );
    assert_eq!(decode_count(Api::Gemini, b"{}"), None);
    assert_eq!(decode_count(Api::Gemini, b"\xff"), None);
}

#[test]
fn listed_models_have_their_facts() {
    let page = decode_models(Api::Gemini, &fixture("models.json")).unwrap();
    let pro = ModelFacts {
        context_window: Some(1_048_576),
        max_output_tokens: Some(65_536),
        thinking: Some(true),
        temperature: Some(true),
        ..ModelFacts::default()
    };
    let gemma = ModelFacts {
        context_window: Some(32_768),
        ..ModelFacts::default()
    };
    let expected = [
        ("gemini-2.5-pro".to_string(), pro),
        ("gemma-3-4b-it".to_string(), gemma),
    ];
    let found: Vec<_> = page
        .models
        .into_iter()
        .map(|model| (model.name, model.facts))
        .collect();
    assert_eq!(found, expected);
    let next = encode_list_models(Api::Gemini, page.next.as_deref());
    assert_eq!(next.path, "/models?pageSize=1000&pageToken=a%2Fb%3Dc");
    assert_eq!((next.method, next.auth), (Method::Get, Auth::GoogleKey));
    assert_eq!(
        encode_list_models(Api::Gemini, None).path,
        "/models?pageSize=1000"
    );
    assert_eq!(decode_models(Api::Gemini, b"{}").unwrap().models, []);
    for body in [&b"[]"[..], b"{\"models\":1}", b"{\"error\":{}}", b""] {
        assert_eq!(
            decode_models(Api::Gemini, body).unwrap_err().kind,
            ApiErrorKind::Malformed
        );
    }
}
