//! Answers in the shape of Anthropic's Messages.

use analects_core::{ApiErrorKind, Folded, Json, Message, StreamEvent, TokenUsage, fold};
use analects_providers::Api;
use proptest::prelude::*;

use super::{blocks, fixtures_of, stop_reason};

fn bytes_of(name: &str) -> Vec<u8> {
    std::fs::read(fixtures_of(Api::AnthropicMessages).join(name)).unwrap()
}

fn text_of(name: &str) -> String {
    String::from_utf8(bytes_of(name)).unwrap()
}

fn events(pieces: &[&[u8]]) -> Vec<StreamEvent> {
    super::events(Api::AnthropicMessages, pieces)
}

fn folded(bytes: &[u8]) -> Folded {
    super::folded(Api::AnthropicMessages, bytes)
}

fn fixture(name: &str) -> Folded {
    folded(&bytes_of(name))
}

fn json(folded: &Folded) -> String {
    folded.message.body.content().unwrap().to_json()
}

#[test]
fn blocks_keep_their_order_and_their_signatures() {
    assert_eq!(
        json(&fixture("thinking-text-call-twice.sse")),
        concat!(
            r#"[{"type":"thinking","thinking":"Let me look.","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3h"},"#,
            r#"{"type":"text","text":"Looking."},"#,
            r#"{"type":"tool_use","id":"toolu_01A","name":"weather","input":{"city": "Paris", "n": 123456789012345678901},"caller":{"type":"direct"}},"#,
            r#"{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix"},"#,
            r#"{"type":"text","text":"And the time."},"#,
            r#"{"type":"tool_use","id":"toolu_01B","name":"time","input":{}}]"#,
        )
    );
}

#[test]
fn tokens_are_counted_by_kind() {
    let usage = fixture("thinking-text-call-twice.sse")
        .message
        .usage
        .unwrap();
    let extra = usage.extra.to_raw();
    assert_eq!(extra.as_str(), r#"{"service_tier":"standard"}"#);
    assert_eq!(
        TokenUsage {
            extra: Default::default(),
            ..*usage
        },
        TokenUsage {
            input_tokens: Some(25),
            output_tokens: Some(120),
            cache_creation_input_tokens: Some(100),
            cache_creation_5m_tokens: Some(60),
            cache_creation_1h_tokens: Some(40),
            cache_read_input_tokens: Some(2000),
            ..TokenUsage::default()
        }
    );
}

#[test]
fn server_tools_and_citations_are_kept_as_they_are() {
    let folded = fixture("server-tool-and-citations.sse");
    let json = json(&folded);
    assert!(json.starts_with(r#"[{"type":"server_tool_use","id":"srvtoolu_01","name":"web_search","input":{"query":"rain"}},{"type":"web_search_tool_result""#), "{json}");
    assert!(
        json.contains(r#""encrypted_content":"EqgfCioIARgB","page_age":null"#),
        "{json}"
    );
    assert!(
        json.contains(r#"{"type":"text","text":"It rains.","citations":[{"#),
        "{json}"
    );
    assert!(
        json.ends_with(r#"{"type":"compaction","content":"What was said."}]"#),
        "{json}"
    );
    assert_eq!(stop_reason(&folded), "pause_turn");
    assert!(folded.message.extra.get("container").is_some());
}

#[test]
fn half_of_a_server_tools_call_is_kept_beside_the_answer() {
    let stream = text_of("server-tool-and-citations.sse");
    let cut = stream
        .find("\"rain")
        .or_else(|| stream.find("rain"))
        .unwrap()
        - 40;
    let folded = folded(&stream.as_bytes()[..cut]);
    assert_eq!(blocks(&folded), []);
    let partial = folded.message.extra.get("partial_block").unwrap().as_str();
    assert!(
        partial.contains(r#""partial_json":"{\"query\":""#),
        "{partial}"
    );
}

#[test]
fn an_error_within_a_stream_keeps_the_partial_answer() {
    let folded = fixture("overloaded-in-mid-stream.sse");
    assert!(!folded.complete);
    assert_eq!(folded.message.text(), "So far");
    let error = folded.error.unwrap();
    assert_eq!(error.kind, ApiErrorKind::Overloaded);
    assert_eq!(error.message, "Overloaded");
    assert_eq!(error.error_type.as_deref(), Some("overloaded_error"));
    assert_eq!(error.request_id.as_deref(), Some("req_011"));
}

#[test]
fn a_call_that_the_limit_cut_is_no_call() {
    let folded = fixture("call-cut-by-the-limit.sse");
    assert!(folded.complete);
    assert_eq!(json(&folded), r#"[{"type":"text","text":"Writing."}]"#);
    assert_eq!(stop_reason(&folded), "max_tokens");
    assert_eq!(folded.problems[0].code, "partial-tool-call");
    let partial = folded
        .message
        .extra
        .get("partial_tool_use")
        .unwrap()
        .as_str();
    assert!(partial.contains("Once up"), "{partial}");
}

#[test]
fn a_call_that_is_not_json_is_still_a_call() {
    let stream = text_of("call-cut-by-the-limit.sse");
    let folded = folded(stream.replace("max_tokens", "tool_use").as_bytes());
    assert!(
        json(&folded).contains(r#""malformed_input":true"#),
        "{}",
        json(&folded)
    );
}

#[test]
fn unknown_fields_survive() {
    let folded = fixture("unknown-everything.sse");
    assert!(folded.complete);
    assert_eq!(stop_reason(&folded), "model_context_window_exceeded");
    assert_eq!(
        json(&folded),
        r#"[{"type":"text","text":"Hi","mood":"fine"},{"type":"hologram","shape":{"n":2}}]"#
    );
    assert_eq!(
        folded.message.extra.to_raw().as_str(),
        concat!(
            r#"{"novelty":[1],"unknown_event":{"type":"new_event","n":1},"#,
            r#""unknown_delta":{"type":"content_block_delta","index":0,"delta":{"type":"mood_delta","mood":"better"}},"#,
            r#""malformed_chunk":"{\"type\":\"content_block_delta\",\"ind","#,
            r#""stop_details":{"type":"x"},"late":true}"#,
        )
    );
    assert_eq!(
        folded.message.usage.unwrap().extra.to_raw().as_str(),
        r#"{"new_count":5}"#
    );
}

#[test]
fn every_stop_reason_is_decoded() {
    let stream = text_of("text-with-ping.sse");
    let words = [
        "end_turn",
        "max_tokens",
        "tool_use",
        "pause_turn",
        "refusal",
        "of_the_future",
    ];
    for word in words {
        let folded = folded(
            stream
                .replace("\"stop_sequence\",\"stop", &format!("\"{word}\",\"stop"))
                .as_bytes(),
        );
        assert_eq!(stop_reason(&folded), word);
    }
    let stopped = folded(stream.as_bytes());
    assert_eq!(stop_reason(&stopped), "stop_sequence");
    assert_eq!(
        stopped.message.extra.get("stop_sequence").unwrap().as_str(),
        "\"END\""
    );
    assert_eq!(
        events(&[stream.as_bytes()])
            .iter()
            .filter(|e| **e == StreamEvent::Ping)
            .count(),
        1
    );
}

#[test]
fn halves_of_a_character_meet() {
    let stream = text_of("text-with-ping.sse");
    let stream = stream
        .replace("Grüß\"", "a\\ud83d\"")
        .replace(" dich", "\\ude00b");
    assert_eq!(folded(stream.as_bytes()).message.text(), "a😀b, 世界 😀");
}

/// Pieces of streams, in any order.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let entries = std::fs::read_dir(fixtures_of(Api::AnthropicMessages)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sse"));
    paths.sort();
    assert!(!paths.is_empty());
    let mut tokens: Vec<String> = paths
        .into_iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .flat_map(|stream| {
            stream
                .split_inclusive("\n\n")
                .map(str::to_string)
                .collect::<Vec<_>>()
        })
        .collect();
    let odd = [
        "data: {\"type\":\"content_block_stop\"}\n\n",
        "data: {",
        "\r",
        "\n\n",
        "\u{0}",
        "data: null\n\n",
    ];
    tokens.extend(odd.map(str::to_string));
    proptest::collection::vec(proptest::sample::select(tokens), 0..12)
        .prop_map(|tokens| tokens.concat().into_bytes())
}

fn check_any(bytes: &[u8]) {
    let whole = events(&[bytes]);
    let (left, right) = bytes.split_at(bytes.len() / 2);
    assert_eq!(events(&[left, right]), whole);
    let message = fold(&whole, Message::assistant("a", "")).message;
    assert_eq!(Message::from_json(&message.to_json()), Ok(message));
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check_any(&bytes);
    }

    #[test]
    fn any_order_of_events_can_be_read(bytes in pieces()) {
        check_any(&bytes);
    }
}

#[test]
fn many_unknown_members_take_time_in_proportion() {
    const MEMBERS: usize = 50_000;
    let members: Vec<_> = (0..MEMBERS).map(|n| format!("\"k{n}\":{n}")).collect();
    let members = members.join(",");
    let usage =
        format!("data: {{\"type\":\"message_start\",\"message\":{{\"usage\":{{{members}}}}}}}\n\n");
    let start = "data: {\"type\":\"content_block_start\",\"index\":0,\
                 \"content_block\":{\"type\":\"new\"}}\n\n";
    let delta = format!(
        "data: {{\"type\":\"content_block_delta\",\"index\":0,\
         \"delta\":{{\"type\":\"new_delta\",{members}}}}}\n\n"
    );
    let end = "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
               data: {\"type\":\"message_stop\"}\n\n";
    let begin = std::time::Instant::now();
    let stream = format!("{usage}{start}{delta}{end}");
    let folded = fold(&events(&[stream.as_bytes()]), Message::assistant("a", ""));
    assert_eq!(folded.message.usage.unwrap().extra.len(), MEMBERS);
    assert!(
        begin.elapsed() < std::time::Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn counts_of_the_first_event_stay() {
    let stream = "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1,\
                  \"service_tier\":\"standard\"}}}\n\n\
                  data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":2}}\n\n\
                  data: {\"type\":\"message_stop\"}\n\n";
    let usage = fold(&events(&[stream.as_bytes()]), Message::assistant("a", ""))
        .message
        .usage;
    let usage = usage.unwrap();
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(1), Some(2))
    );
    assert_eq!(
        usage.extra.get("service_tier").unwrap().as_str(),
        "\"standard\""
    );
}
