//! Tokens that the provider counts, over a real connection.
#![allow(clippy::unwrap_used, clippy::panic)]

use analects_client::{ClientError, Model, Options, ProviderSettings, blocking, resolve};
use analects_core::{Request, Role, Turn};
use analects_providers::RetryPolicy;
use analects_testkit::server::{Server, error};

const KEY: &str = "sk-not-to-be-seen";

/// A server that gives these answers, one for each request.
fn serve(answers: &[(&str, &str)]) -> (String, Server) {
    let server = Server::new(
        answers
            .iter()
            .map(|(status, body)| error(status, body))
            .collect(),
    );
    (format!("http://{}", server.address), server)
}

fn model(name: &str, url: &str) -> Model {
    let settings = ProviderSettings::read(|variable| {
        let is = |end: &str| variable.ends_with(end);
        (is("_BASE_URL"))
            .then(|| url.to_string())
            .or(is("_API_KEY").then(|| KEY.to_string()))
    });
    resolve(name, &settings).unwrap()
}

fn request() -> Request {
    let turn = Turn {
        role: Role::User,
        content: "How long am I?".into(),
        model: None,
    };
    Request {
        system: Some("Be brief".into()),
        turns: vec![turn],
        ..Request::default()
    }
}

fn count(name: &str, url: &str) -> Result<u64, Box<ClientError>> {
    let retries = RetryPolicy {
        retries: 1,
        first_ms: 1,
        ..RetryPolicy::default()
    };
    let options = Options {
        retries,
        ..Options::default()
    };
    blocking::ModelAdapter::new(model(name, url), options)
        .count_tokens(&request())
        .map_err(Box::new)
}

#[test]
fn anthropic_counts_what_would_be_sent() {
    let (url, requests) = serve(&[("200 OK", r#"{"input_tokens":17}"#)]);
    assert_eq!(count("anthropic/claude-sonnet-4-5", &url).unwrap(), 17);
    let request = requests.received().to_string();
    assert!(
        request.starts_with("POST /v1/messages/count_tokens HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("How long am I?") && request.contains("Be brief"),
        "{request}"
    );
    // What the answer may take is not part of what is counted, and refused here.
    assert!(
        !request.contains("max_tokens") && !request.contains("\"stream\""),
        "{request}"
    );
}

#[test]
fn gemini_counts_what_would_be_sent() {
    let (url, requests) = serve(&[("200 OK", r#"{"totalTokens":31}"#)]);
    assert_eq!(count("gemini/gemini-2.5-flash", &url).unwrap(), 31);
    let request = requests.received().to_string();
    assert!(
        request
            .lines()
            .next()
            .unwrap()
            .contains("/models/gemini-2.5-flash:countTokens")
    );
    assert!(
        request.contains("How long am I?") && request.contains("Be brief"),
        "{request}"
    );
}

#[test]
fn counting_is_tried_again_like_asking() {
    let busy = (
        "429 Too Many Requests\r\nretry-after-ms: 1",
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}"#,
    );
    let (url, requests) = serve(&[busy, ("200 OK", r#"{"input_tokens":3}"#)]);
    assert_eq!(count("anthropic/claude-sonnet-4-5", &url).unwrap(), 3);
    assert_eq!(requests.all_received().len(), 2);
}

#[test]
fn an_answer_without_a_count_is_an_error() {
    for answer in [
        "{}",
        "[]",
        "<html>",
        r#"{"input_tokens":"many"}"#,
        r#"{"input_tokens":-1}"#,
        "",
    ] {
        let (url, _) = serve(&[("200 OK", answer)]);
        let error = count("anthropic/claude-sonnet-4-5", &url).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the server answered no token count",
            "{answer}"
        );
    }
}

#[test]
fn a_refusal_keeps_its_message_without_the_key() {
    let (url, _) = serve(&[(
        "401 Unauthorized",
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key sk-not-to-be-seen"}}"#,
    )]);
    let error = count("anthropic/claude-sonnet-4-5", &url).unwrap_err();
    assert!(error.to_string().contains("invalid x-api-key"), "{error}");
    assert!(!format!("{error} {error:?}").contains(KEY));
}

/// Nobody listens at that address: an API that cannot count is not asked.
#[test]
fn an_api_that_counts_nothing_is_not_asked() {
    let error = count("openai/gpt-4o", "http://127.0.0.1:9/v1").unwrap_err();
    assert_eq!(error.to_string(), "this API counts no tokens");
}
