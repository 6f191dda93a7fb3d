//! Lists of models and counts of tokens, in and out.
#![allow(clippy::unwrap_used)]

use analects_core::ApiErrorKind;

use super::*;
use crate::Method;

const PAGE: &str = concat!(
    r#"{"data":[{"type":"model","id":"claude-opus-4-6","display_name":"Claude Opus 4.6","#,
    r#""created_at":"2026-02-04T00:00:00Z","max_input_tokens":200000,"max_tokens":128000,"#,
    r#""capabilities":{"image_input":{"supported":true},"thinking":{"supported":false}}},"#,
    r#"{"type":"model","id":"claude-3-haiku-20240307"},{"type":"model"},7],"#,
    r#""has_more":true,"first_id":"claude-opus-4-6","last_id":"claude-3-haiku-20240307"}"#,
);

#[test]
fn anthropic_lists_models_in_pages() {
    let page = decode_models(Api::AnthropicMessages, PAGE.as_bytes()).unwrap();
    let names: Vec<_> = page
        .models
        .iter()
        .map(|model| model.name.as_str())
        .collect();
    assert_eq!(names, ["claude-opus-4-6", "claude-3-haiku-20240307"]);
    let first = &page.models[0];
    assert_eq!(first.title.as_deref(), Some("Claude Opus 4.6"));
    assert_eq!(
        first.facts,
        ModelFacts {
            context_window: Some(200_000),
            max_output_tokens: Some(128_000),
            images: Some(true),
            thinking: Some(false),
            ..ModelFacts::default()
        }
    );
    assert!(first.extra.get("created_at").is_some() && first.extra.get("capabilities").is_some());
    assert_eq!(page.models[1].facts, ModelFacts::default());
    assert_eq!(page.next.as_deref(), Some("claude-3-haiku-20240307"));
    let last = PAGE.replace("\"has_more\":true", "\"has_more\":false");
    assert_eq!(
        decode_models(Api::AnthropicMessages, last.as_bytes())
            .unwrap()
            .next,
        None
    );
}

#[test]
fn pages_are_asked_for_one_by_one() {
    let first = encode_list_models(Api::AnthropicMessages, None);
    assert_eq!((first.method, first.auth), (Method::Get, Auth::XApiKey));
    assert_eq!(first.path, "/models?limit=1000");
    assert_eq!(first.body, b"");
    assert!(
        first
            .headers
            .contains(&("anthropic-version".into(), "2023-06-01".into()))
    );
    let next = encode_list_models(Api::AnthropicMessages, Some("a&b/ü"));
    assert_eq!(next.path, "/models?limit=1000&after_id=a%26b%2F%C3%BC");
}

#[test]
fn openai_lists_all_models_at_once() {
    let request = encode_list_models(Api::OpenAiChat, None);
    assert_eq!(
        (request.method, request.path.as_str()),
        (Method::Get, "/models")
    );
    assert_eq!(request.auth, Auth::Bearer);
    let body = br#"{"object":"list","data":[{"id":"tiny","owned_by":"me"}]}"#;
    let page = decode_models(Api::OpenAiChat, body).unwrap();
    assert_eq!(page.models[0].name, "tiny");
    assert_eq!(
        page.models[0].extra.to_raw().as_str(),
        r#"{"owned_by":"me"}"#
    );
    assert_eq!(page.next, None);
}

#[test]
fn an_answer_without_a_list_is_malformed() {
    for api in [Api::AnthropicMessages, Api::OpenAiChat] {
        for body in [&b""[..], b"[]", b"{}", b"{\"data\":7}", b"<html>", b"\xff"] {
            let error = decode_models(api, body).unwrap_err();
            assert_eq!(error.kind, ApiErrorKind::Malformed);
        }
    }
}

#[test]
fn a_count_is_a_number() {
    let count = |body: &[u8]| decode_count(Api::AnthropicMessages, body);
    assert_eq!(count(br#"{"input_tokens":43,"more":1}"#), Some(43));
    for body in [&b"{}"[..], br#"{"input_tokens":-1}"#, b"43", b"\xff", b""] {
        assert_eq!(count(body), None);
    }
    let request = Request::default();
    assert_eq!(encode_count(Api::OpenAiChat, &request), None);
    assert!(encode_count(Api::AnthropicMessages, &request).is_some());
}
