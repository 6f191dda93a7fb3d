//! Chat Completions out and in, with streams written by hand after the vendors' documentation.
#![allow(clippy::unwrap_used)]

use analects_core::{
    Block, BlockStart, Content, Delta, Folded, Image, Json, Message, Raw, RawMap, Request, Role,
    Source, StopReason, StreamEvent, Thinking, ToolChoice, ToolResult, ToolSpec, ToolUse, Turn,
    fold,
};

use crate::{Api, decoder};

fn body(request: &Request) -> String {
    String::from_utf8(crate::encode(Api::OpenAiChat, request).body).unwrap()
}

fn turn(role: Role, content: impl Into<Content>) -> Turn {
    Turn {
        role,
        content: content.into(),
        model: None,
    }
}

fn blocks(role: Role, blocks: Vec<Block>) -> Turn {
    Turn {
        role,
        content: Content::Blocks(blocks),
        model: None,
    }
}

fn messages(turns: Vec<Turn>) -> String {
    let body = body(&Request {
        model: "m".into(),
        turns,
        ..Request::default()
    });
    RawMap::parse(&body)
        .unwrap()
        .get("messages")
        .unwrap()
        .to_string()
}

fn events(stream: &str) -> Vec<StreamEvent> {
    events_of(&[stream.as_bytes()])
}

fn events_of(pieces: &[&[u8]]) -> Vec<StreamEvent> {
    let mut decoder = decoder(Api::OpenAiChat);
    let mut events: Vec<_> = pieces
        .iter()
        .flat_map(|piece| decoder.push(piece))
        .collect();
    events.extend(decoder.finish());
    events
}

/// A stream of the given deltas, each in a chunk of its own, that ends as it should.
fn stream(deltas: &[&str], finish: &str) -> String {
    let mut out = String::new();
    for delta in deltas {
        out += &format!(
            "data: {{\"id\":\"r\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n"
        );
    }
    out += &format!(
        "data: {{\"id\":\"r\",\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{finish}\"}}]}}\n\n"
    );
    out + "data: [DONE]\n\n"
}

fn folded(stream: &str) -> Folded {
    fold(&events(stream), Message::assistant("a", ""))
}

fn content(stream: &str) -> String {
    folded(stream).message.body.content().unwrap().to_json()
}

const RICH: &str = concat!(
    ": comment\n\n",
    "data: {\"id\":\"r1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"tiny\",\"system_fingerprint\":\"f\",",
    "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"r1\",\"created\":2,\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"Hm, 你\"}}]}\r\n\r\n",
    "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Let me \\ud83d\"}}]}\n\n",
    "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\ude00 look.\"}}]}\n\n",
    "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"weather\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"time\",\"arguments\":\"{\"}}]}}]}\n\n",
    "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"n\\\":123456789012345678901}\"}}]}}]}\n\n",
    "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"}\"}}]}}]}\n\n",
    "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"id\":\"r1\",\"choices\":[],\"usage\":{\"prompt_tokens\":50,\"completion_tokens\":20,\"total_tokens\":70,",
    "\"prompt_tokens_details\":{\"cached_tokens\":40},\"completion_tokens_details\":{\"reasoning_tokens\":5}}}\n\n",
    "data: [DONE]\n\n",
);

#[test]
fn a_rich_answer_folds_into_its_blocks() {
    let Folded {
        message,
        complete,
        problems,
        ..
    } = folded(RICH);
    assert!(complete);
    assert_eq!(problems, []);
    assert_eq!(message.model.as_deref(), Some("tiny"));
    assert_eq!(message.response_id.as_deref(), Some("r1"));
    assert_eq!(
        message.body.content().unwrap().to_json(),
        concat!(
            r#"[{"type":"thinking","thinking":"Hm, 你"},{"type":"text","text":"Let me 😀 look."},"#,
            r#"{"type":"tool_use","id":"c1","name":"weather","input":{"n":123456789012345678901}},"#,
            r#"{"type":"tool_use","id":"c2","name":"time","input":{}}]"#,
        )
    );
    let usage = message.usage.clone().unwrap();
    assert_eq!(
        (usage.input_tokens, usage.cache_read_input_tokens),
        (Some(10), Some(40))
    );
    assert_eq!(
        (usage.output_tokens, usage.reasoning_tokens),
        (Some(20), Some(5))
    );
    assert_eq!(usage.total_tokens, None, "it is the sum");
    assert!(usage.extra.get("prompt_tokens_details").is_some());
    assert_eq!(
        message.extra.to_raw().as_str(),
        r#"{"created":2,"system_fingerprint":"f"}"#
    );
    assert!(message.to_json().contains(r#""stop_reason":"tool_use""#));
}

#[test]
fn the_order_of_events_is_the_order_of_the_answer() {
    let events = events(&stream(&[r#"{"content":"Hi"}"#], "stop"));
    let text = Delta::Text("Hi".into());
    let expected = [
        StreamEvent::MessageStart {
            model: Some("m".into()),
            response_id: Some("r".into()),
        },
        StreamEvent::BlockStart {
            index: 0,
            block: BlockStart::Text,
        },
        StreamEvent::BlockDelta {
            index: 0,
            delta: text,
        },
        StreamEvent::BlockStop { index: 0 },
        StreamEvent::MessageStop {
            stop_reason: Some(StopReason::EndTurn),
        },
    ];
    assert_eq!(events, expected);
}

#[test]
fn every_cut_into_two_and_single_bytes_give_the_same_events() {
    let bytes = RICH.as_bytes();
    let whole = events(RICH);
    for at in 0..=bytes.len() {
        assert_eq!(
            events_of(&[&bytes[..at], &bytes[at..]]),
            whole,
            "cut at {at}"
        );
    }
    let single: Vec<_> = bytes.chunks(1).collect();
    assert_eq!(events_of(&single), whole);
}

#[test]
fn an_answer_cut_off_anywhere_gives_a_prefix_and_no_stop() {
    let bytes = RICH.as_bytes();
    let whole = folded(RICH).message.text();
    let finished = RICH.find("finish_reason\":\"tool_calls").unwrap();
    for at in 0..bytes.len() {
        let folded = fold(&events_of(&[&bytes[..at]]), Message::assistant("a", ""));
        let text = folded.message.text();
        assert!(
            whole.starts_with(text.trim_end_matches('\u{fffd}')),
            "cut at {at}: {text:?}"
        );
        assert!(!folded.complete || at > finished, "cut at {at}");
        assert_eq!(folded.error, None, "cut at {at}");
        let calls = folded
            .message
            .body
            .content()
            .unwrap()
            .to_json()
            .contains("tool_use");
        assert!(!calls || at > finished, "half a call at {at}");
    }
}

#[test]
fn a_stream_that_ends_after_its_reason_is_whole_without_done() {
    let stream = stream(&[r#"{"content":"Hi"}"#], "length");
    let end = stream.find("\n\ndata: [DONE]").unwrap();
    for end in [end, end + 1, end + 2] {
        let folded = folded(&stream[..end]);
        assert!(folded.complete);
        assert!(
            folded
                .message
                .to_json()
                .contains(r#""stop_reason":"max_tokens""#)
        );
    }
}

#[test]
fn reasons_have_the_cores_names() {
    let reasons = [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("function_call", "tool_use"),
        ("content_filter", "refusal"),
        ("eos", "eos"),
    ];
    for (wire, ours) in reasons {
        let json = folded(&stream(&[], wire)).message.to_json();
        assert!(
            json.contains(&format!(r#""stop_reason":"{ours}""#)),
            "{json}"
        );
    }
}

#[test]
fn a_refusal_is_text_with_its_own_reason() {
    let folded = folded(&stream(
        &[r#"{"content":null,"refusal":"I can't"}"#],
        "stop",
    ));
    assert_eq!(folded.message.text(), "I can't");
    assert!(
        folded
            .message
            .to_json()
            .contains(r#""stop_reason":"refusal""#)
    );
}

#[test]
fn text_thinking_and_text_again_are_three_blocks() {
    let deltas = [
        r#"{"content":"a"}"#,
        r#"{"reasoning":"b"}"#,
        r#"{"content":"c"}"#,
    ];
    assert_eq!(
        content(&stream(&deltas, "stop")),
        r#"[{"type":"text","text":"a"},{"type":"thinking","thinking":"b"},{"type":"text","text":"c"}]"#
    );
}

#[test]
fn badly_numbered_calls_stay_apart() {
    let same_number = [
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#,
        r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":1}"}}]}"#,
    ];
    let no_number = [
        r#"{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{}}},{"id":"b","function":{"name":"f","arguments":"{\"x\""}}]}"#,
        r#"{"tool_calls":[{"function":{"arguments":":1}"}}]}"#,
    ];
    let expected = concat!(
        r#"[{"type":"tool_use","id":"a","name":"f","input":{}},"#,
        r#"{"type":"tool_use","id":"b","name":"f","input":{"x":1}}]"#,
    );
    assert_eq!(content(&stream(&same_number, "tool_calls")), expected);
    assert_eq!(content(&stream(&no_number, "tool_calls")), expected);
}

#[test]
fn calls_without_ids_get_some() {
    let deltas = [
        r#"{"tool_calls":[{"function":{"name":"f","arguments":{}}},{"function":{"name":"g"}}]}"#,
        r#"{"function_call":{"name":"h","arguments":"{\"x\""}}"#,
        r#"{"function_call":{"arguments":":2}"}}"#,
    ];
    let json = content(&stream(&deltas, "tool_calls"));
    for call in [
        r#""id":"call_r_0","name":"f","input":{}"#,
        r#""id":"call_r_1","name":"g","input":{}"#,
        r#""id":"call_r_2","name":"h","input":{"x":2}"#,
    ] {
        assert!(json.contains(call), "{json}");
    }
}

#[test]
fn arguments_that_are_not_json_are_marked() {
    let delta =
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"x=1"}}]}"#;
    let json = content(&stream(&[delta], "tool_calls"));
    assert!(
        json.contains(r#""input":"x=1","malformed_input":true"#),
        "{json}"
    );
}

#[test]
fn a_malformed_chunk_costs_nothing_else() {
    let good = stream(&[r#"{"content":"Hi"}"#], "stop");
    let folded = folded(&format!("data: {{\"oops\n\n{good}"));
    assert!(folded.complete);
    assert_eq!(folded.message.text(), "Hi");
    assert_eq!(
        folded
            .message
            .extra
            .get("malformed_chunk")
            .unwrap()
            .as_str(),
        r#""{\"oops""#
    );
}

#[test]
fn an_error_in_mid_stream_ends_the_answer() {
    let good = stream(&[r#"{"content":"Hi"}"#], "stop");
    let cut = good.find("data: {\"id\":\"r\",\"choices\"").unwrap();
    let error = "data: {\"error\":{\"message\":\"busy\",\"type\":\"overloaded_error\"}}\n\ndata: [DONE]\n\n";
    let folded = folded(&format!("{}{error}", &good[..cut]));
    assert!(!folded.complete);
    assert_eq!(folded.message.text(), "Hi");
    assert_eq!(folded.error.unwrap().message, "busy");
}

#[test]
fn unknown_fields_and_other_choices_are_kept() {
    let stream = concat!(
        "data: {\"id\":\"\",\"model\":\"\",\"choices\":[],\"prompt_filter_results\":[1]}\n\n",
        "data: {\"id\":\"r\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\",\"audio\":1},\"logprobs\":{\"x\":1}},{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"audio\":2,\"content\":[{\"type\":\"odd\"}]},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n",
    );
    let message = folded(stream).message;
    assert_eq!(message.text(), "a");
    assert_eq!(message.response_id.as_deref(), Some("r"));
    assert_eq!(
        message.extra.to_raw().as_str(),
        concat!(
            r#"{"prompt_filter_results":[1],"audio":[1,2],"content":[{"type":"odd"}],"logprobs":{"x":1},"#,
            r#""other_choices":[{"index":1,"content":[{"type":"text","text":"b"}],"stop_reason":"interrupted"}]}"#,
        )
    );
}

#[test]
fn a_plain_json_answer_reads_like_a_stream() {
    let body = "{\"id\":\"r\",\"model\":\"m\",\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n";
    assert_eq!(
        events(body),
        events(&stream(&[r#"{"content":"Hi"}"#], "stop"))
    );
    let error = folded("{\"error\":{\"message\":\"no\",\"code\":404}}")
        .error
        .unwrap();
    assert_eq!(error.kind, analects_core::ApiErrorKind::NotFound);
    let page = folded("<html>hotel network: please log in</html>");
    assert_eq!(
        page.error.unwrap().kind,
        analects_core::ApiErrorKind::Malformed
    );
    assert!(page.message.to_json().contains("please log in"));
    assert_eq!(events(""), []);
    assert_eq!(events(": keep-alive\n\n"), []);
}

fn rich_request() -> Request {
    let schema = Raw::parse(r#"{"type":"object","maximum":1e400}"#).unwrap();
    let tool = ToolSpec {
        name: "weather".into(),
        description: "d".into(),
        input_schema: schema,
    };
    let mut metadata = RawMap::new();
    metadata.push("seed", Raw::parse("12345678901234567890123").unwrap());
    metadata.push("temperature", Raw::parse("0.25").unwrap());
    metadata.push("stream", Raw::parse("false").unwrap());
    Request {
        model: "tiny".into(),
        system: Some("Be brief.".into()),
        turns: vec![turn(Role::User, "Hello")],
        tools: vec![tool],
        tool_choice: Some(ToolChoice::Tool("weather".into())),
        temperature: Some(0.5),
        max_output_tokens: Some(64),
        stop_sequences: vec!["END".into()],
        reasoning: false,
        metadata,
    }
}

#[test]
fn a_request_has_the_apis_shape() {
    assert_eq!(
        body(&rich_request()),
        concat!(
            r#"{"model":"tiny","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}],"#,
            r#""stream":true,"stream_options":{"include_usage":true},"max_tokens":64,"stop":["END"],"#,
            r#""tools":[{"type":"function","function":{"name":"weather","description":"d","parameters":{"type":"object","maximum":1e400,"properties":{}}}}],"#,
            r#""tool_choice":{"type":"function","function":{"name":"weather"}},"#,
            r#""seed":12345678901234567890123,"temperature":0.25}"#,
        )
    );
}

#[test]
fn tool_choice_uses_the_names_of_the_api() {
    let choices = [
        (ToolChoice::Auto, "auto"),
        (ToolChoice::Any, "required"),
        (ToolChoice::None, "none"),
    ];
    for (choice, word) in choices {
        let request = Request {
            tool_choice: Some(choice),
            ..rich_request()
        };
        assert!(body(&request).contains(&format!(r#""tool_choice":"{word}""#)));
        assert!(
            !body(&Request {
                tools: vec![],
                ..request
            })
            .contains("tool_choice")
        );
    }
}

#[test]
fn calls_and_results_become_messages_of_their_own() {
    let input = Raw::parse(r#"{"city":"Paris","n":12345678901234567890123}"#).unwrap();
    let call = ToolUse {
        id: "c".into(),
        name: "w".into(),
        input,
        extra: RawMap::new(),
    };
    let result = ToolResult {
        tool_use_id: "c".into(),
        content: "20 °C".into(),
        ..Default::default()
    };
    let thought = Thinking {
        thinking: "hm".into(),
        ..Default::default()
    };
    let turns = vec![
        turn(Role::User, "Weather?"),
        blocks(
            Role::Assistant,
            vec![Block::Thinking(thought.clone()), Block::ToolUse(call)],
        ),
        blocks(
            Role::User,
            vec![Block::from_text("And now?"), Block::ToolResult(result)],
        ),
        blocks(Role::Assistant, vec![Block::Thinking(thought)]),
        blocks(
            Role::Assistant,
            vec![Block::from_text("a"), Block::from_text("b")],
        ),
    ];
    assert_eq!(
        messages(turns),
        concat!(
            r#"[{"role":"user","content":"Weather?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"w","#,
            r#""arguments":"{\"city\":\"Paris\",\"n\":12345678901234567890123}"}}]},"#,
            r#"{"role":"tool","content":"20 °C","tool_call_id":"c"},"#,
            r#"{"role":"user","content":"And now?"},"#,
            r#"{"role":"assistant","content":"a\n\nb"}]"#,
        )
    );
}

#[test]
fn texts_go_as_one_string() {
    let texts = || {
        vec![
            Block::from_text("a"),
            Block::from_text(""),
            Block::from_text("b"),
        ]
    };
    let turns = vec![blocks(Role::User, texts()), blocks(Role::System, texts())];
    assert_eq!(
        messages(turns),
        r#"[{"role":"user","content":"a\n\nb"},{"role":"system","content":"a\n\nb"}]"#
    );
    let empty = vec![blocks(Role::User, vec![Block::from_text("")])];
    assert_eq!(messages(empty), "[]");
}

/// Words that are in order go out as they are; what is not is mended, however plain it looks.
#[test]
fn plain_text_changes_only_where_it_must() {
    let by = |model: &str, content: &str| Turn {
        model: Some(model.into()),
        ..turn(Role::Assistant, content)
    };
    let said = turn(Role::User, "a");
    let answered = r#"{"role":"user","content":"a"},{"role":"assistant","content":"b"}"#;
    let in_order = vec![said.clone(), by("n", "b")];
    assert_eq!(messages(in_order), format!("[{answered}]"));
    // What two models said is one answer to a third.
    let two = vec![said.clone(), by("n", "b"), by("o", "c")];
    assert!(messages(two).ends_with(r#"{"role":"assistant","content":"b\n\nc"}]"#));
    let twice = vec![said.clone(), said.clone(), by("n", "b")];
    assert!(messages(twice).starts_with(r#"[{"role":"user","content":"a\n\na"},"#));
    for blank in [
        turn(Role::User, " \n"),
        blocks(Role::User, vec![]),
        turn(Role::System, ""),
    ] {
        let with_blank = vec![said.clone(), by("n", "b"), blank];
        assert_eq!(messages(with_blank), format!("[{answered}]"));
    }
    let begins = vec![turn(Role::System, "s"), by("n", "b")];
    assert!(messages(begins).contains(r#"{"role":"user","content":"(The conversation begins"#));
}

fn image(source: Source) -> Block {
    Block::Image(Image {
        source: source.to_raw(),
        extra: RawMap::new(),
    })
}

#[test]
fn images_go_inline_or_by_address() {
    let inline = Source::Base64 {
        media_type: "image/png".into(),
        data: "AAAA".into(),
    };
    let result = ToolResult {
        tool_use_id: "c".into(),
        content: Content::Blocks(vec![Block::from_text("seen"), image(inline)]),
        ..Default::default()
    };
    let by_address = image(Source::Url("https://example.org/a.png".into()));
    let (id, name) = ("c".to_string(), "look".to_string());
    let call = ToolUse {
        id,
        name,
        input: Raw::empty_object(),
        extra: RawMap::new(),
    };
    let turns = vec![
        turn(Role::User, "Look."),
        blocks(Role::Assistant, vec![Block::ToolUse(call)]),
        blocks(
            Role::User,
            vec![
                Block::ToolResult(result),
                Block::from_text("And"),
                by_address,
            ],
        ),
    ];
    assert_eq!(
        messages(turns),
        concat!(
            r#"[{"role":"user","content":"Look."},{"role":"assistant","content":null,"tool_calls":["#,
            r#"{"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]},"#,
            r#"{"role":"tool","content":"seen","tool_call_id":"c"},{"role":"user","content":["#,
            r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"text","text":"And"},"#,
            r#"{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]}]"#,
        )
    );
}

#[test]
fn models_that_always_think_get_their_own_limit_and_no_temperature() {
    let body = |model: &str| {
        let request = Request {
            model: model.into(),
            temperature: Some(0.7),
            max_output_tokens: Some(64),
            ..Request::default()
        };
        String::from_utf8(crate::encode(Api::OpenAiChat, &request).body).unwrap()
    };
    for model in ["o3", "o4-mini", "gpt-5", "gpt-5-mini"] {
        let body = body(model);
        assert!(body.contains(r#""max_completion_tokens":64"#), "{body}");
        assert!(!body.contains("temperature"), "{body}");
    }
    for model in ["gpt-4o", "tiny", "openchat", "ollama-5", "gpt-oss-20b"] {
        let body = body(model);
        assert!(
            body.contains(r#""max_tokens":64"#) && body.contains(r#""temperature":0.7"#),
            "{body}"
        );
    }
}
