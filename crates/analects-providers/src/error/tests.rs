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
    let error = read(
        401,
        r#"{"error":{"message":"Wrong key","type":"authentication_error","code":401}}"#,
    );
    assert_eq!(error.message, "Wrong key");
    assert_eq!(error.error_type.as_deref(), Some("authentication_error"));
    assert_eq!(error.status, Some(401));
    assert_eq!(
        read(500, r#"{"error":"out of memory"}"#).message,
        "out of memory"
    );
    assert_eq!(read(404, r#"{"detail":"Not Found"}"#).message, "Not Found");
    assert_eq!(
        read(502, "<html>nginx</html>").message,
        "the answer is a web page"
    );
    assert_eq!(read(502, "bad\u{1b} gateway").message, "bad  gateway");
    assert_eq!(read(502, "").message, "no reason given");
}

#[test]
fn an_overlong_conversation_has_its_own_error_kind() {
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
fn the_window_that_a_refusal_names_is_read() {
    let said = |message: &str| {
        context_window_in(&read(400, &format!(r#"{{"error":{{{message}}}}}"#)).message)
    };
    for (message, window) in [
        (
            r#""message":"This model's maximum context length is 8,192 tokens. However, your messages resulted in 9000 tokens.""#,
            8192,
        ),
        (
            r#""message":"prompt is too long: 208310 tokens > 200000 maximum""#,
            200_000,
        ),
        (
            r#""message":"input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000, decrease""#,
            200_000,
        ),
        (
            r#""message":"request (5012 tokens) exceeds the available context size (4096 tokens), try increasing it""#,
            4096,
        ),
        (
            r#""message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5012,"n_ctx":2048"#,
            2048,
        ),
        (
            r#""message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).""#,
            1_048_576,
        ),
    ] {
        assert_eq!(said(message), Some(window), "{message}");
    }
    let endless = format!(
        r#""message":"maximum context length is 1{}""#,
        "0".repeat(30)
    );
    let far = format!(
        r#""message":"maximum context length is{} 7""#,
        " ".repeat(100)
    );
    let none = [
        r#""message":"prompt is too long""#,
        r#""message":"prompt is too long: 208310 tokens""#,
        r#""message":"maximum context length is é tokens""#,
        r#""message":"n_ctx","n_ctx":"many""#,
        endless.as_str(),
        far.as_str(),
    ];
    for message in none {
        assert_eq!(said(message), None, "{message}");
    }
}

#[test]
fn errors_that_waiting_cannot_fix_are_not_retried() {
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
            headers
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.to_string())
        };
        error_from_response(Api::OpenAiChat, 429, header, b"")
    };
    let error = read(&[("x-request-id", "req_1"), ("retry-after", "2")]);
    assert_eq!(error.request_id.as_deref(), Some("req_1"));
    assert_eq!(error.retry_after_ms, Some(2000));
    assert_eq!(
        read(&[("retry-after", "9"), ("retry-after-ms", "150")]).retry_after_ms,
        Some(150)
    );
    assert_eq!(read(&[("retry-after", "-1")]).retry_after_ms, None);
    assert_eq!(
        read(&[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")]).retry_after_ms,
        None
    );
}

#[test]
fn an_error_in_mid_stream_is_read_by_its_names() {
    let kind = |json: &str| Raw::parse(json).map(|raw| error_in_stream(&raw).kind);
    assert_eq!(
        kind(r#"{"message":"m","type":"server_error"}"#),
        Ok(ApiErrorKind::Server)
    );
    assert_eq!(
        kind(r#"{"message":"m","code":"rate_limit_exceeded"}"#),
        Ok(ApiErrorKind::RateLimit)
    );
    assert_eq!(
        kind(r#"{"message":"m","code":529}"#),
        Ok(ApiErrorKind::Overloaded)
    );
    assert_eq!(kind(r#""gone""#), Ok(ApiErrorKind::Server));
}

/// Anthropic's shape of an error.
fn anthropic(status: u16, kind: &str, message: &str, headers: &[(&str, &str)]) -> ApiError {
    let body = format!(
        r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_body"}}"#
    );
    let header = |name: &str| {
        headers
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.to_string())
    };
    error_from_response(Api::AnthropicMessages, status, header, body.as_bytes())
}

#[test]
fn anthropics_errors_have_kinds_and_names() {
    use ApiErrorKind::*;
    let cases = [
        (400, "invalid_request_error", BadRequest),
        (401, "authentication_error", Auth),
        (402, "billing_error", RateLimit),
        (403, "permission_error", Auth),
        (404, "not_found_error", NotFound),
        (413, "request_too_large", ContextOverflow),
        (429, "rate_limit_error", RateLimit),
        (500, "api_error", Server),
        (504, "timeout_error", Server),
        (529, "overloaded_error", Overloaded),
    ];
    for (status, kind, expected) in cases {
        let error = anthropic(status, kind, "said", &[("request-id", "req_1")]);
        assert_eq!(error.kind, expected, "{status}");
        assert_eq!(error.status, Some(status));
        assert_eq!(error.message, "said");
        assert_eq!(error.error_type.as_deref(), Some(kind));
        assert_eq!(error.request_id.as_deref(), Some("req_1"));
        let retried = matches!(status, 429 | 500..);
        assert_eq!(is_retryable(&error), retried, "{status}");
    }
    assert_eq!(
        anthropic(500, "api_error", "said", &[])
            .request_id
            .as_deref(),
        Some("req_body")
    );
    let page = error_from_response(Api::AnthropicMessages, 502, |_| None, b"<html>");
    assert_eq!((page.kind, page.request_id), (Server, None));
}

#[test]
fn anthropics_messages_for_a_long_conversation() {
    let messages = [
        "prompt is too long: 208310 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000, decrease",
    ];
    for message in messages {
        let error = anthropic(400, "invalid_request_error", message, &[]);
        assert!(error.is_context_overflow(), "{message}");
    }
}

#[test]
fn a_limit_of_money_is_not_waited_for() {
    let limits = [
        "This request would exceed your account's monthly spend limit. Please try again later.",
        "You have reached your specified API usage limits.",
    ];
    for message in limits {
        assert!(
            !is_retryable(&anthropic(429, "rate_limit_error", message, &[])),
            "{message}"
        );
        // A server that says when to come back is believed.
        let soon = anthropic(429, "rate_limit_error", message, &[("retry-after", "7")]);
        assert_eq!(soon.retry_after_ms, Some(7000));
        assert!(is_retryable(&soon));
    }
    assert!(!is_retryable(&anthropic(
        429,
        "enforced_spend_limit_reached",
        "no",
        &[]
    )));
    let haste = "This request would exceed your account's rate limit. Please try again later.";
    assert!(is_retryable(&anthropic(
        429,
        "rate_limit_error",
        haste,
        &[]
    )));
}

#[test]
fn anthropics_errors_in_mid_stream() {
    let kind = |word: &str| {
        let json = format!(r#"{{"type":"{word}","message":"m"}}"#);
        Raw::parse(&json).map(|raw| error_in_stream(&raw).kind)
    };
    assert_eq!(kind("overloaded_error"), Ok(ApiErrorKind::Overloaded));
    assert_eq!(kind("api_error"), Ok(ApiErrorKind::Server));
    assert_eq!(kind("rate_limit_error"), Ok(ApiErrorKind::RateLimit));
    assert_eq!(kind("timeout_error"), Ok(ApiErrorKind::Timeout));
    assert_eq!(kind("permission_error"), Ok(ApiErrorKind::Auth));
}
