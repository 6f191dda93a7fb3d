//! Streams of servers that take liberties.

use super::*;

#[test]
fn names_that_change_from_event_to_event_do_not_matter_where_there_are_numbers() {
    let stream = stream(&[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"x1"}}"#,
        r#"{"type":"response.output_text.delta","output_index":0,"item_id":"x2","content_index":0,"delta":"Hel"}"#,
        r#"{"type":"response.output_text.delta","output_index":0,"item_id":"x3","content_index":0,"delta":"lo"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"x4","content":[{"type":"output_text","text":"Hello"}]}}"#,
        r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","id":"x5","content":[{"type":"output_text","text":"Hello"}]}]}}"#,
    ]);
    assert_eq!(
        content(&stream),
        r#"[{"type":"text","text":"Hello","item":{"id":"x4"}}]"#
    );
}

#[test]
fn the_finished_item_adds_what_the_pieces_lacked() {
    let last_only = stream(&[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"a\":1}"}"#,
        DONE,
    ]);
    assert_eq!(
        content(&last_only),
        r#"[{"type":"tool_use","id":"c","name":"f","input":{"a":1}}]"#
    );
    let lost = stream(&[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":""}}"#,
        "{malformed",
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":":1}"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}}"#,
        DONE,
    ]);
    assert_eq!(
        content(&lost),
        r#"[{"type":"tool_use","id":"c","name":"f","input":{"a":1}}]"#
    );
    let half = stream(&[
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"Hel"}"#,
        r#"{"type":"response.output_text.done","output_index":0,"text":"Hello \ud83d\ude00"}"#,
        DONE,
    ]);
    assert_eq!(content(&half), r#"[{"type":"text","text":"Hello 😀"}]"#);
    let other = stream(&[
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"Hel"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Bye"}]}}"#,
        DONE,
    ]);
    let folded = folded(&other);
    assert_eq!(folded.message.text(), "Hel");
    assert_eq!(
        folded.message.extra.to_raw().as_str(),
        r#"{"differing_text":"Bye"}"#
    );
}

#[test]
fn halves_of_a_character_meet() {
    let stream = stream(&[
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"a\ud83d"}"#,
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"\ude00b"}"#,
        DONE,
    ]);
    assert_eq!(content(&stream), r#"[{"type":"text","text":"a😀b"}]"#);
    let lone = self::stream(&[
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"a\ud83d"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"a\ud83d"}]}}"#,
        DONE,
    ]);
    assert_eq!(content(&lone), r#"[{"type":"text","text":"a\ud83d"}]"#);
}

#[test]
fn unknown_events_and_fields_are_kept() {
    let stream = stream(&[
        r#"{"type":"response.new_thing","value":1}"#,
        r#"{"type":"keepalive","sequence_number":3}"#,
        r#"{"odd":true}"#,
        "{oops",
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}}"#,
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"Hi","logprobs":[1]}"#,
        r#"{"type":"response.odd.delta","output_index":0,"delta":"x"}"#,
    ]);
    let cut = folded(&stream);
    assert!(!cut.complete);
    assert_eq!(
        cut.message.extra.to_raw().as_str(),
        concat!(
            r#"{"events":[{"type":"response.new_thing","value":1},{"odd":true},{"logprobs":[1]},"#,
            r#"{"type":"response.odd.delta","output_index":0,"delta":"x"}],"malformed_chunk":"{oops"}"#,
        )
    );
    assert!(events(&stream).contains(&StreamEvent::Ping));
    let whole = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"Hi","logprobs":[1],"new":2},{"type":"output_audio","data":"A"}],"odd":3}}"#;
    let folded = folded(&(stream + &self::stream(&[whole, DONE])));
    assert!(folded.complete);
    assert_eq!(
        folded.message.body.content().unwrap().to_json(),
        concat!(
            r#"[{"type":"text","text":"Hi","logprobs":[1],"part":{"new":2},"item":{"id":"m","odd":3}},"#,
            r#"{"type":"output_audio","data":"A"}]"#,
        )
    );
    assert_eq!(
        folded.message.extra.get("events").unwrap().as_str(),
        r#"[{"type":"response.new_thing","value":1},{"odd":true}]"#
    );
}

#[test]
fn errors_have_their_kinds_wherever_they_come() {
    let cases = [
        (
            r#"{"type":"error","code":"server_error","message":"m"}"#,
            ApiErrorKind::Server,
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"m"}}"#,
            ApiErrorKind::ContextOverflow,
        ),
        (
            r#"{"error":{"message":"m","code":401}}"#,
            ApiErrorKind::Auth,
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"m"}}}"#,
            ApiErrorKind::RateLimit,
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"m"}}}"#,
            ApiErrorKind::BadRequest,
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"image_content_policy_violation","message":"m"}}}"#,
            ApiErrorKind::ContentRefused,
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"vector_store_timeout","message":"m"}}}"#,
            ApiErrorKind::Timeout,
        ),
        (
            r#"{"status":"failed","error":{"code":"server_error","message":"m"},"output":[]}"#,
            ApiErrorKind::Server,
        ),
        (
            r#"{"status":"cancelled","message":"m","output":[]}"#,
            ApiErrorKind::Cancelled,
        ),
    ];
    for (data, kind) in cases {
        let folded = folded(&stream(&[data, DONE]));
        let error = folded.error.unwrap();
        assert_eq!(error.kind, kind, "{data}");
        assert!(!error.message.is_empty(), "{data}");
        assert!(!folded.complete, "{data}");
        assert!(matches!(
            events(&stream(&[data, DONE])).last(),
            Some(StreamEvent::Error(_))
        ));
    }
    let param =
        r#"{"type":"error","code":"x","message":"m","param":"input[3]","sequence_number":1}"#;
    let kept = folded(&stream(&[param])).message.extra;
    assert_eq!(
        kept.to_raw().as_str(),
        r#"{"error":{"code":"x","message":"m","param":"input[3]","sequence_number":1}}"#
    );
    let nothing = r#"{"type":"response.failed","response":{"status":"failed","error":null}}"#;
    let error = folded(&stream(&[nothing])).error.unwrap();
    assert_eq!(error.message, "the provider gave up without saying why");
    let header = |name: &str| (name == "x-request-id").then(|| "req_1".to_string());
    let body =
        br#"{"error":{"message":"m","type":"invalid_request_error","code":"unsupported_value"}}"#;
    let error = crate::error_from_response(API, 400, header, body);
    assert_eq!(error.request_id.as_deref(), Some("req_1"));
    assert_eq!(error.error_type.as_deref(), Some("unsupported_value"));
}

#[test]
fn reasons_have_the_cores_names() {
    let reason = |details: &str| {
        let data = format!(
            r#"{{"id":"r","status":"incomplete","incomplete_details":{details},"output":[]}}"#
        );
        let json = folded(&data).message.to_json();
        RawMap::parse(&json)
            .unwrap()
            .get("stop_reason")
            .unwrap()
            .as_string()
            .unwrap()
    };
    assert_eq!(reason(r#"{"reason":"max_output_tokens"}"#), "max_tokens");
    assert_eq!(reason(r#"{"reason":"content_filter"}"#), "refusal");
    assert_eq!(reason(r#"{"reason":"tired"}"#), "tired");
    assert_eq!(reason("null"), "incomplete");
}

#[test]
fn an_answer_that_only_began_is_not_complete() {
    let folded = folded(r#"{"id":"r","status":"queued","output":[]}"#);
    assert!(!folded.complete);
    assert_eq!(folded.message.response_id.as_deref(), Some("r"));
}

#[test]
fn many_items_and_parts_take_time_in_proportion() {
    const MANY: usize = 20_000;
    let added = |n| {
        format!(
            "data: {{\"type\":\"response.output_item.added\",\"output_index\":{n},\"item\":{{\"type\":\"function_call\",\"id\":\"f{n}\",\"call_id\":\"c{n}\",\"name\":\"f\"}}}}\n\n"
        )
    };
    let part = |n| {
        format!(
            "data: {{\"type\":\"response.output_text.delta\",\"output_index\":{MANY},\"content_index\":{n},\"delta\":\"x\"}}\n\n"
        )
    };
    let stream: String = (0..MANY).map(added).chain((0..MANY).map(part)).collect();
    let begin = std::time::Instant::now();
    let folded = folded(&(stream + &self::stream(&[DONE])));
    assert_eq!(folded.message.text().len(), MANY);
    assert!(
        begin.elapsed() < std::time::Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
}

const ODD: [&str; 20] = [
    DONE,
    r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}"#,
    r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"text","text":"x"}}"#,
    r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"tool_use","id":"t","name":"n","input":{}}}"#,
    r#"{"type":"response.output_item.done","item":{"type":"reasoning","summary":5,"content":"c","encrypted_content":7}}"#,
    r#"{"type":"response.output_item.done","item":[]}"#,
    r#"{"type":"response.output_item.added","item":null}"#,
    r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":5,"name":"","arguments":{}}}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\ud83d"}"#,
    r#"{"type":"response.function_call_arguments.done","output_index":1,"arguments":"{}"}"#,
    r#"{"type":"response.output_text.delta","delta":"\ud83d"}"#,
    r#"{"type":"response.output_text.delta","output_index":0,"content_index":18446744073709551615,"delta":"\ude00"}"#,
    r#"{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"no"}"#,
    r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"user","content":[{"type":"image","source":{}},{"type":"text","text":5},{"type":"output_text","text":"a","type":"x"}]}}"#,
    r#"{"type":"response.reasoning_summary_text.delta","summary_index":3,"delta":"s"}"#,
    r#"{"type":"response.reasoning_text.delta","content_index":0,"delta":"t"}"#,
    r#"{"type":"response.output_item.added","item":{"type":"reasoning","id":"rs"}}"#,
    r#"{"type":"response.incomplete","response":{"status":"incomplete","usage":{"input_tokens":18446744073709551615,"output_tokens":1},"output":[7,{"type":"message","content":[{"type":"refusal","refusal":""}]}]}}"#,
    r#"{"type":"response.in_progress","response":{"id":5,"model":"m2","status":"in_progress","output":"x"}}"#,
    "{",
];

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for api in [Api::OpenAiChat, API] {
            let mut decoder = decoder(api);
            let mut events = decoder.push(&bytes);
            events.extend(decoder.finish());
            fold(&events, Message::assistant("a", ""));
        }
    }

    /// Events in any order, of items that may or may not be there.
    #[test]
    fn no_order_of_events_makes_it_panic_or_invent_a_call(order in proptest::collection::vec(0_usize..40, 0..40)) {
        let all: Vec<&str> = ANSWER.split_inclusive("\n\n").collect();
        let shuffled: String = order.iter().filter_map(|at| all.get(*at).copied()).collect();
        let message = folded(&shuffled).message;
        prop_assert!(!message.to_json().contains("malformed_input"), "{}", message.to_json());
        prop_assert_eq!(Message::from_json(&message.to_json()), Ok(message));
    }

    /// Pieces of events, odd ones among them: what they fold into survives its JSON.
    #[test]
    fn any_events_become_a_message_that_can_be_written_and_read(order in proptest::collection::vec(0..ODD.len(), 0..12)) {
        let data: Vec<&str> = order.iter().map(|at| ODD[*at]).collect();
        let whole = stream(&data);
        let message = folded(&whole).message;
        let single: Vec<_> = whole.bytes().map(|byte| [byte]).collect();
        let mut decoder = decoder(API);
        let mut events: Vec<_> = single.iter().flat_map(|byte| decoder.push(byte)).collect();
        events.extend(decoder.finish());
        prop_assert_eq!(&fold(&events, Message::assistant("a", "")).message, &message);
        prop_assert_eq!(Message::from_json(&message.to_json()), Ok(message));
    }
}
