//! Answers that few servers send: large, broken, or in shapes of their own.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use analects_core::{ApiErrorKind, Body, Folded, Message, StopReason, StreamEvent, fold};

use crate::{Api, decoder};

fn events(stream: &str) -> Vec<StreamEvent> {
    let mut decoder = decoder(Api::OpenAiChat);
    let mut events = decoder.push(stream.as_bytes());
    events.extend(decoder.finish());
    events
}

fn folded(events: &[StreamEvent]) -> Folded {
    fold(events, Message::assistant("a", ""))
}

/// A chunk whose delta is given.
fn chunk(delta: &str) -> String {
    format!("data: {{\"id\":\"r\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n")
}

const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn within(limit: Duration, work: impl FnOnce()) {
    let begin = Instant::now();
    work();
    assert!(begin.elapsed() < limit, "{:?}", begin.elapsed());
}

/// Far more than it takes on a busy machine, and far less than it would take if it grew with the square.
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn many_unknown_fields_take_time_in_proportion() {
    const FIELDS: usize = 100_000;
    let fields: Vec<_> = (0..FIELDS).map(|n| format!("\"k{n}\":{n}")).collect();
    let fields = fields.join(",");
    let outer = format!("data: {{{fields},\"id\":\"r\",\"choices\":[]}}\n\n");
    let inner = chunk(&format!("{{{fields}}}"));
    let single: String = (0..FIELDS)
        .map(|n| format!("data: {{\"k{n}\":{n}}}\n\n"))
        .collect();
    for stream in [outer, inner, single] {
        within(LIMIT, || {
            let extras = events(&(stream + STOP));
            let extras = extras
                .iter()
                .filter(|event| matches!(event, StreamEvent::Extra { .. }));
            assert_eq!(extras.count(), FIELDS);
        });
    }
}

#[test]
fn an_answer_that_calls_a_tool_ends_with_that_whatever_the_server_says() {
    let function = "{\"name\":\"f\",\"arguments\":\"{}\"}";
    let call = chunk(&format!(
        "{{\"tool_calls\":[{{\"index\":0,\"id\":\"c\",\"function\":{function}}}]}}"
    ));
    let stop_of = |stream: String| match folded(&events(&stream)).message.body {
        Body::Assistant(body) => body.stop_reason,
        _ => None,
    };
    assert_eq!(stop_of(call.clone() + STOP), Some(StopReason::ToolUse));
    assert_eq!(
        stop_of(chunk("{\"content\":\"Hello\"}") + STOP),
        Some(StopReason::EndTurn)
    );
    let cut = STOP.replace("\"stop\"", "\"length\"");
    assert_eq!(stop_of(call + &cut), Some(StopReason::MaxTokens));
}

#[test]
fn many_calls_take_time_in_proportion() {
    const CALLS: usize = 30_000;
    let call = |n| {
        let function = "{\"name\":\"f\",\"arguments\":\"{}\"}";
        chunk(&format!(
            "{{\"tool_calls\":[{{\"index\":{n},\"id\":\"c{n}\",\"function\":{function}}}]}}"
        ))
    };
    let stream: String = (0..CALLS).map(call).collect();
    within(LIMIT, || {
        let calls = events(&(stream + STOP));
        let calls = calls
            .iter()
            .filter(|event| matches!(event, StreamEvent::ToolUse { .. }));
        assert_eq!(calls.count(), CALLS);
    });
}

/// Every piece as somebody would show it.
fn shown(events: &[StreamEvent]) -> Vec<String> {
    let delta = |event: &StreamEvent| match event {
        StreamEvent::BlockDelta { delta, .. } => Some(match delta {
            analects_core::Delta::Text(text) => text.as_str().into_owned(),
            analects_core::Delta::Thinking(text) => format!("({})", text.as_str()),
            analects_core::Delta::PartialJson(json) => format!("<{json}>"),
            analects_core::Delta::Signature(seal) => seal.clone(),
        }),
        _ => None,
    };
    events.iter().filter_map(delta).collect()
}

#[test]
fn halves_of_a_character_are_shown_together() {
    let content = |left: &str, right: &str| chunk(left) + &chunk(right);
    let cases = [
        (
            r#"{"content":"a\ud83d"}"#,
            r#"{"content":"\ude00b"}"#,
            vec!["a", "😀b"],
        ),
        (
            r#"{"content":"\ud83d"}"#,
            r#"{"content":"\ude00"}"#,
            vec!["😀"],
        ),
        (
            r#"{"reasoning":"\ud83d"}"#,
            r#"{"reasoning":"\ude00"}"#,
            vec!["(😀)"],
        ),
        // Where the other half does not come, the half is told when its block ends.
        (
            r#"{"content":"a\ud83d"}"#,
            r#"{"reasoning":"\ude00"}"#,
            vec!["a", "\u{fffd}", "(\u{fffd})"],
        ),
        (
            r#"{"content":"a\ud83d"}"#,
            r#"{"content":"b"}"#,
            vec!["a", "\u{fffd}b"],
        ),
        (
            r#"{"content":"a"}"#,
            r#"{"content":"b\ud83d"}"#,
            vec!["a", "b", "\u{fffd}"],
        ),
    ];
    for (left, right, expected) in cases {
        for end in [STOP, "", "data: {\"error\":\"busy\"}\n\n"] {
            assert_eq!(
                shown(&events(&(content(left, right) + end))),
                expected,
                "{left} {right}"
            );
        }
    }
    let call = |json: &str| {
        let function = format!("{{\"name\":\"f\",\"arguments\":\"{json}\"}}");
        chunk(&format!(
            "{{\"tool_calls\":[{{\"index\":0,\"id\":\"c\",\"function\":{function}}}]}}"
        ))
    };
    let halves = content_of(&[call(r#"[\"\ud83d"#), call(r#"\ude00\"]"#)]);
    assert_eq!(shown(&events(&halves)), ["<[\">", "<😀\"]>"]);
}

fn content_of(chunks: &[String]) -> String {
    chunks.concat() + STOP
}

#[test]
fn text_in_parts_is_text() {
    let parts = concat!(
        r#"{"content":[{"type":"text","text":"Hel"},{"type":"image_url","image_url":{"url":"u"}},"#,
        r#"{"type":"text","text":"lo","annotations":[1]},{"type":"text"},7]}"#,
    );
    let plain = format!(
        "{{\"id\":\"r\",\"choices\":[{{\"index\":0,\"message\":{parts},\"finish_reason\":\"stop\"}}]}}"
    );
    for stream in [chunk(parts) + STOP, plain] {
        let folded = folded(&events(&stream));
        assert!(folded.complete);
        assert_eq!(folded.message.text(), "Hello");
        assert_eq!(
            folded.message.extra.to_raw().as_str(),
            r#"{"content":[{"type":"image_url","image_url":{"url":"u"}},{"annotations":[1]},7]}"#
        );
    }
    assert_eq!(
        folded(&events(&(chunk(r#"{"content":[]}"#) + STOP)))
            .message
            .extra
            .len(),
        0
    );
}

#[test]
fn an_error_is_the_last_event_and_loses_nothing_that_came_before() {
    let error = r#"data: {"error":{"message":"busy"},"id":"r","note":1,"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"error"}]}"#;
    let stream = format!(
        "{}{error}\n\n{}{STOP}",
        chunk(r#"{"content":"a"}"#),
        chunk("{}")
    );
    let events = events(&stream);
    assert!(matches!(events.last(), Some(StreamEvent::Error(error)) if error.message == "busy"));
    let folded = folded(&events);
    assert!(!folded.complete);
    assert_eq!(folded.message.text(), "ab");
    assert_eq!(folded.message.extra.to_raw().as_str(), r#"{"note":1}"#);
}

#[test]
fn an_event_that_is_too_long_ends_the_answer() {
    let mut decoder = decoder(Api::OpenAiChat);
    let mut events = decoder.push(chunk(r#"{"content":"a"}"#).as_bytes());
    let piece = vec![b'x'; 1024 * 1024];
    events.extend(decoder.push(b"data: "));
    for _ in 0..65 {
        events.extend(decoder.push(&piece));
    }
    events.extend(decoder.push(format!("\n\n{STOP}").as_bytes()));
    events.extend(decoder.finish());
    let folded = folded(&events);
    assert!(!folded.complete);
    assert_eq!(folded.message.text(), "a");
    assert_eq!(folded.error.unwrap().kind, ApiErrorKind::Malformed);
    assert!(matches!(events.last(), Some(StreamEvent::Error(_))));
}

#[test]
fn every_malformed_chunk_is_kept_under_one_name() {
    let stream = format!(
        "data: {{oops\n\n{}data: [1]\n\n{STOP}",
        chunk(r#"{"content":"a"}"#)
    );
    let folded = folded(&events(&stream));
    assert!(folded.complete);
    assert_eq!(folded.message.text(), "a");
    assert_eq!(
        folded.message.extra.to_raw().as_str(),
        r#"{"malformed_chunk":["{oops","[1]"]}"#
    );
}

#[test]
fn other_fields_of_an_error_are_kept() {
    let error = r#"{"message":"busy","code":502,"metadata":{"provider_name":"p","raw":"x"}}"#;
    let stream = format!(
        "{}data: {{\"error\":{error}}}\n\n",
        chunk(r#"{"content":"a"}"#)
    );
    let folded = folded(&events(&stream));
    assert_eq!(folded.error.unwrap().status, Some(502));
    assert_eq!(folded.message.extra.get("error").unwrap().as_str(), error);
}

/// Some servers send blanks while they think, then the whole answer.
#[test]
fn blanks_before_a_plain_answer_mean_nothing_in_pieces_of_any_size() {
    let answer = r#"{"id":"r","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}"#;
    let body = format!("{}{answer}", " \n".repeat(200));
    for size in [1, 7, 64, 399, 400, 401, 4096] {
        let mut decoder = decoder(Api::OpenAiChat);
        let mut events: Vec<_> = body
            .as_bytes()
            .chunks(size)
            .flat_map(|piece| decoder.push(piece))
            .collect();
        events.extend(decoder.finish());
        assert_eq!(folded(&events).message.text(), "Hello", "pieces of {size}");
    }
}

#[test]
fn a_large_event_that_is_cut_off_is_no_plain_answer() {
    let text = chunk(&format!("{{\"content\":\"{}\"}}", "x".repeat(100_000)));
    let mut decoder = decoder(Api::OpenAiChat);
    let mut events: Vec<_> = text.as_bytes()[..90_000]
        .chunks(1400)
        .flat_map(|piece| decoder.push(piece))
        .collect();
    events.extend(decoder.finish());
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, StreamEvent::Error(_))),
        "{events:?}"
    );
    assert!(!folded(&events).complete);
}

#[test]
fn more_choices_than_any_server_gives_are_kept_and_not_read() {
    const CHOICES: usize = 2000;
    let choice = |n| format!("{{\"index\":{n},\"delta\":{{\"content\":\"a{n}\"}}}}");
    let choices: Vec<_> = (0..CHOICES).map(choice).collect();
    let stream = format!(
        "data: {{\"id\":\"r\",\"choices\":[{}]}}\n\n{STOP}",
        choices.join(",")
    );
    let message = folded(&events(&stream)).message;
    assert_eq!(message.text(), "a0");
    let count = |key| message.extra.get(key).unwrap().as_array().unwrap().len();
    assert_eq!(
        (count("other_choices"), count("choices")),
        (128, CHOICES - 129)
    );
}

#[test]
fn thinking_counted_apart_is_added_to_the_output() {
    let usage = |completion: u64, total: u64| {
        let usage = format!(
            "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":32,\"completion_tokens\":{completion},\
             \"total_tokens\":{total},\"completion_tokens_details\":{{\"reasoning_tokens\":94}}}}}}\n\n"
        );
        folded(&events(&(usage + STOP))).message.usage.unwrap()
    };
    // As xAI counts, and as OpenAI does.
    for (completion, total, output) in [(9, 135, 103), (103, 135, 103)] {
        let usage = usage(completion, total);
        assert_eq!(
            (usage.output_tokens, usage.reasoning_tokens),
            (Some(output), Some(94))
        );
        assert_eq!(usage.total_tokens, None, "it is the sum");
    }
    let odd = usage(9, 500);
    assert_eq!((odd.output_tokens, odd.total_tokens), (Some(9), Some(500)));
}
