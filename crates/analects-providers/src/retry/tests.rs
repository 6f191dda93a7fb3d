//! Tables of failures, and what becomes of each.

use super::*;

fn error(status: u16, name: &str) -> ApiError {
    let body = format!("{{\"error\":{{\"message\":\"m\",\"type\":\"{name}\"}}}}");
    crate::error_from_response(crate::Api::OpenAiChat, status, |_| None, body.as_bytes())
}

fn first(error: &ApiError) -> RetryDecision {
    retry(&RetryPolicy::default(), error, &RetryState::default())
}

fn headers(pairs: &[(&str, &str)]) -> RetryHeaders {
    let now = "2026-10-21T07:28:00Z".parse().unwrap();
    let look = |name: &str| {
        pairs
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.to_string())
    };
    RetryHeaders::read(look, now)
}

#[test]
fn a_status_says_whether_another_try_may_help() {
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        assert_eq!(
            first(&error(status, "x")),
            RetryDecision::After(500),
            "{status}"
        );
    }
    for status in [400, 401, 403, 404, 413, 422] {
        assert_eq!(
            first(&error(status, "x")),
            RetryDecision::Stop(NoRetryReason::Permanent),
            "{status}"
        );
    }
}

#[test]
fn without_a_status_the_kind_says_it() {
    use ApiErrorKind::*;
    for kind in [Network, Timeout, Overloaded, Server, RateLimit] {
        assert_eq!(
            first(&ApiError::new(kind, "m")),
            RetryDecision::After(500),
            "{kind:?}"
        );
    }
    let never = [
        Auth,
        NotFound,
        BadRequest,
        ContextOverflow,
        Cancelled,
        ContentRefused,
        Malformed,
    ];
    for kind in never {
        assert_eq!(
            first(&ApiError::new(kind, "m")),
            RetryDecision::Stop(NoRetryReason::Permanent),
            "{kind:?}"
        );
    }
}

#[test]
fn an_empty_account_is_not_a_matter_of_waiting() {
    let names = [
        "insufficient_quota",
        "enforced_spend_limit_reached",
        "billing_hard_limit_reached",
        "billing_error",
    ];
    for name in names {
        let mut error = error(429, name);
        assert_eq!(
            first(&error),
            RetryDecision::Stop(NoRetryReason::NoCredit),
            "{name}"
        );
        assert!(!crate::is_retryable(&error));
        error.retry_after_ms = Some(1000);
        assert_eq!(
            first(&error),
            RetryDecision::Stop(NoRetryReason::NoCredit),
            "{name}"
        );
    }
    assert_eq!(
        first(&error(402, "x")),
        RetryDecision::Stop(NoRetryReason::NoCredit)
    );
    let mut said = error(429, "rate_limit_error");
    assert_eq!(first(&said), RetryDecision::After(500));
    said.message = "Your organization has reached its spend limit".into();
    assert_eq!(first(&said), RetryDecision::Stop(NoRetryReason::NoCredit));
}

#[test]
fn waits_double_up_to_the_longest_and_leave_a_quarter_to_chance() {
    let policy = RetryPolicy {
        retries: 9,
        ..RetryPolicy::default()
    };
    let wait = |retries_made, random| {
        let at = RetryState {
            retries_made,
            random,
            ..RetryState::default()
        };
        retry(&policy, &error(503, "x"), &at)
    };
    let table = [
        (0, 0.0, 500),
        (0, 1.0, 375),
        (1, 0.0, 1000),
        (1, 0.5, 875),
        (2, 0.0, 2000),
        (3, 0.0, 4000),
        (4, 0.0, 8000),
        (5, 0.0, 8000),
        (5, 1.0, 6000),
        // Random numbers that are none.
        (0, 7.0, 375),
        (0, -1.0, 500),
        (0, f64::NAN, 500),
    ];
    for (retries, random, ms) in table {
        assert_eq!(
            wait(retries, random),
            RetryDecision::After(ms),
            "{retries} {random}"
        );
    }
    let endless = RetryPolicy {
        retries: u32::MAX,
        ..RetryPolicy::default()
    };
    let at = RetryState {
        retries_made: 4_000_000_000,
        ..RetryState::default()
    };
    assert_eq!(
        retry(&endless, &error(503, "x"), &at),
        RetryDecision::After(8000)
    );
}

#[test]
fn two_retries_are_enough() {
    let at = |retries_made| RetryState {
        retries_made,
        ..RetryState::default()
    };
    let policy = RetryPolicy::default();
    assert_eq!(
        retry(&policy, &error(500, "x"), &at(1)),
        RetryDecision::After(1000)
    );
    let enough = retry(&policy, &error(500, "x"), &at(2));
    assert_eq!(
        enough,
        RetryDecision::Stop(NoRetryReason::TooManyTries { tries: 3 })
    );
}

#[test]
fn nothing_is_sent_again_once_a_part_of_the_answer_was_seen() {
    let headers = RetryHeaders {
        after_ms: Some(1),
        should_retry: Some(true),
    };
    let at = RetryState {
        delivered: true,
        headers,
        ..RetryState::default()
    };
    for status in [400, 408, 429, 500, 529] {
        let decision = retry(&RetryPolicy::default(), &error(status, "x"), &at);
        assert_eq!(
            decision,
            RetryDecision::Stop(NoRetryReason::Delivered),
            "{status}"
        );
    }
}

#[test]
fn headers_are_read_in_all_their_forms() {
    let after = |pairs: &[(&str, &str)]| headers(pairs).after_ms;
    type Headers = &'static [(&'static str, &'static str)];
    let table: [(Headers, Option<u64>); 14] = [
        (&[], None),
        (&[("retry-after", "2")], Some(2000)),
        (&[("retry-after", " 1.5 ")], Some(1500)),
        (
            &[("retry-after", "9"), ("retry-after-ms", "150")],
            Some(150),
        ),
        (
            &[("retry-after", "9"), ("retry-after-ms", "soon")],
            Some(9000),
        ),
        (
            &[("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT")],
            Some(30_000),
        ),
        (
            &[("retry-after", "Wednesday, 21-Oct-26 07:28:30 GMT")],
            Some(30_000),
        ),
        (&[("retry-after", "Wed Oct 21 07:28:30 2026")], Some(30_000)),
        (&[("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT")], Some(0)),
        (&[("retry-after", "Wed, 99 Oct 2026 07:27:00 GMT")], None),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "NaN")], None),
        (&[("retry-after", "inf")], Some(u64::MAX)),
        (&[("retry-after", "")], None),
    ];
    for (pairs, ms) in table {
        assert_eq!(after(pairs), ms, "{pairs:?}");
    }
    let should = |value: &str| headers(&[("x-should-retry", value)]).should_retry;
    assert_eq!(
        [should("true"), should("false"), should("maybe")],
        [Some(true), Some(false), None]
    );
}

#[test]
fn the_server_may_ask_for_a_retry_but_not_force_one() {
    let decide = |status, after_ms, should_retry| {
        let headers = RetryHeaders {
            after_ms,
            should_retry,
        };
        let at = RetryState {
            headers,
            ..RetryState::default()
        };
        retry(&RetryPolicy::default(), &error(status, "x"), &at)
    };
    assert_eq!(decide(429, Some(7000), None), RetryDecision::After(7000));
    assert_eq!(
        decide(429, Some(0), None),
        RetryDecision::After(500),
        "no advice at all"
    );
    assert_eq!(
        decide(500, None, Some(false)),
        RetryDecision::Stop(NoRetryReason::ServerRefuses)
    );
    assert_eq!(decide(422, None, Some(true)), RetryDecision::After(500));
    for status in [400, 401, 403, 404, 413] {
        assert_eq!(
            decide(status, Some(1), Some(true)),
            RetryDecision::Stop(NoRetryReason::Permanent),
            "{status}"
        );
    }
    let mut known = error(429, "x");
    known.retry_after_ms = Some(3000);
    assert_eq!(
        first(&known),
        RetryDecision::After(3000),
        "also where only the error says so"
    );
}

#[test]
fn a_wait_beyond_the_budget_is_named() {
    let policy = RetryPolicy::default();
    let decide = |waited_ms, after_ms| {
        let headers = RetryHeaders {
            after_ms,
            should_retry: None,
        };
        let at = RetryState {
            waited_ms,
            headers,
            ..RetryState::default()
        };
        retry(&policy, &error(429, "x"), &at)
    };
    assert_eq!(decide(0, Some(60_000)), RetryDecision::After(60_000));
    let RetryDecision::Stop(why) = decide(20_000, Some(3_725_000)) else {
        unreachable!("the wait is too long");
    };
    assert_eq!(
        why,
        NoRetryReason::WaitTooLong {
            wait_ms: 3_725_000,
            left_ms: 40_000
        }
    );
    assert_eq!(
        why.to_string(),
        "the server asks to wait 1 h 2 min, which is more than the 40 s that are left for waiting; \
         try again later"
    );
    assert_eq!(
        decide(59_900, None),
        RetryDecision::Stop(NoRetryReason::BudgetSpent { waited_ms: 59_900 })
    );
    assert_eq!(
        NoRetryReason::TooManyTries { tries: 3 }.to_string(),
        "3 tries failed"
    );
    for (ms, words) in [
        (5, "5 ms"),
        (1001, "2 s"),
        (60_000, "1 min"),
        (61_000, "1 min 1 s"),
    ] {
        assert_eq!(ReadableDuration(ms).to_string(), words);
    }
}
