//! Which answer is which kind of error, and what of it is kept.

use super::*;

fn read(status: u16, body: &str) -> ApiError {
    error_from_response(Api::OpenAiChat, status, |_| None, body.as_bytes())
}

#[test]
fn the_status_gives_the_kind() {
    use ApiErrorKind::*;
    let kinds = [
        (400, BadRequest),
        (401, Auth),
        (402, RateLimit),
        (403, Auth),
        (404, NotFound),
        (408, Timeout),
        (413, ContextOverflow),
        (422, BadRequest),
        (429, RateLimit),
        (500, Server),
        (502, Server),
        (503, Overloaded),
        (529, Overloaded),
    ];
    for (status, kind) in kinds {
        assert_eq!(read(status, "").kind, kind, "{status}");
    }
}

#[test]
fn the_provider_is_quoted() {
    let error =
        read(401, r#"{"error":{"message":"Wrong key","type":"authentication_error","code":401}}"#);
    assert_eq!(error.message, "Wrong key");
    assert_eq!(error.error_type.as_deref(), Some("authentication_error"));
    assert_eq!(error.status, Some(401));
    assert_eq!(read(500, r#"{"error":"out of memory"}"#).message, "out of memory");
    assert_eq!(read(404, r#"{"detail":"Not Found"}"#).message, "Not Found");
    assert_eq!(read(502, "<html>nginx</html>").message, "the answer is a web page");
    assert_eq!(read(502, "bad\u{1b} gateway").message, "bad  gateway");
    assert_eq!(read(502, "").message, "no reason given");
}

#[test]
fn a_conversation_that_is_too_long_is_told_apart() {
    let bodies = [
        r#"{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        r#"{"error":{"code":400,"message":"request exceeds","type":"exceed_context_size_error"}}"#,
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens."}}"#,
        r#"{"message":"Maximum context length exceeded"}"#,
    ];
    for body in bodies {
        assert!(read(400, body).is_context_overflow(), "{body}");
    }
}

#[test]
fn what_no_waiting_mends_is_not_retried() {
    for status in [408, 409, 429, 500, 502, 503, 529] {
        assert!(is_retryable(&read(status, "")), "{status}");
    }
    for status in [400, 401, 402, 403, 404, 413, 422] {
        assert!(!is_retryable(&read(status, "")), "{status}");
    }
    let broke = r#"{"error":{"message":"no credit","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    assert!(!is_retryable(&read(429, broke)));
}

#[test]
fn headers_name_the_request_and_the_wait() {
    let read = |headers: &[(&str, &str)]| {
        let header = |name: &str| {
            headers.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
        };
        error_from_response(Api::OpenAiChat, 429, header, b"")
    };
    let error = read(&[("x-request-id", "req_1"), ("retry-after", "2")]);
    assert_eq!(error.request_id.as_deref(), Some("req_1"));
    assert_eq!(error.retry_after_ms, Some(2000));
    assert_eq!(read(&[("retry-after", "9"), ("retry-after-ms", "150")]).retry_after_ms, Some(150));
    assert_eq!(read(&[("retry-after", "-1")]).retry_after_ms, None);
    assert_eq!(read(&[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")]).retry_after_ms, None);
}

#[test]
fn an_error_in_mid_stream_is_read_by_its_names() {
    let kind = |json: &str| Raw::parse(json).map(|raw| error_in_stream(&raw).kind);
    assert_eq!(kind(r#"{"message":"m","type":"server_error"}"#), Ok(ApiErrorKind::Server));
    assert_eq!(
        kind(r#"{"message":"m","code":"rate_limit_exceeded"}"#),
        Ok(ApiErrorKind::RateLimit)
    );
    assert_eq!(kind(r#"{"message":"m","code":529}"#), Ok(ApiErrorKind::Overloaded));
    assert_eq!(kind(r#""gone""#), Ok(ApiErrorKind::Server));
}
