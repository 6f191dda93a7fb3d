//! Responses out and in: golden requests, and streams of servers that take liberties. The usual
//! streams are fixtures: see `tests/fixtures`.
#![allow(clippy::unwrap_used)]

use analects_core::{
    ApiErrorKind, Block, Content, Document, Folded, Image, Json, Message, Raw, RawMap, Request,
    Role, Severity, Source, StreamEvent, Thinking, ToolChoice, ToolResult, ToolSpec, ToolUse, Turn,
    fold,
};
use proptest::prelude::*;

use crate::{Api, HttpRequest, Quirks, SystemRole, decoder};

const API: Api = Api::OpenAiResponses;

fn sent(request: &Request) -> HttpRequest {
    crate::encode(API, request)
}

fn body(request: &Request) -> String {
    String::from_utf8(sent(request).body).unwrap()
}

fn blocks(role: Role, blocks: Vec<Block>) -> Turn {
    Turn {
        role,
        content: Content::Blocks(blocks),
        model: None,
    }
}

fn request(turns: Vec<Turn>) -> Request {
    Request {
        model: "gpt-5-mini".into(),
        turns,
        ..Request::default()
    }
}

fn hi() -> Turn {
    Turn {
        role: Role::User,
        content: "Hi".into(),
        model: None,
    }
}

/// The items of turns that follow on a greeting, without those that say that a call was interrupted.
fn input(turns: Vec<Turn>) -> String {
    let request = request(std::iter::once(hi()).chain(turns).collect());
    let items = RawMap::parse(&body(&request))
        .unwrap()
        .get("input")
        .unwrap()
        .as_array()
        .unwrap();
    let (first, items) = items.split_first().unwrap();
    assert_eq!(
        first.as_str(),
        r#"{"type":"message","role":"user","content":"Hi"}"#
    );
    let items = items
        .iter()
        .filter(|item| !item.as_str().contains("interrupted"));
    Raw::array(&items.cloned().collect::<Vec<_>>()).to_string()
}

fn left_out(request: &Request) -> Vec<String> {
    sent(request)
        .left_out
        .into_iter()
        .map(|problem| problem.message)
        .collect()
}

fn raw(json: &str) -> Raw {
    Raw::parse(json).unwrap()
}

fn block(json: &str) -> Block {
    Block::from_json(json).unwrap()
}

fn events(stream: &str) -> Vec<StreamEvent> {
    let mut decoder = decoder(API);
    let mut events = decoder.push(stream.as_bytes());
    events.extend(decoder.finish());
    events
}

fn folded(stream: &str) -> Folded {
    fold(&events(stream), Message::assistant("a", ""))
}

fn stream(data: &[&str]) -> String {
    data.iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect()
}

fn content(stream: &str) -> String {
    folded(stream).message.body.content().unwrap().to_json()
}

fn rich_request() -> Request {
    let schema = raw(r#"{"type":"object","maximum":1e400}"#);
    let tool = ToolSpec {
        name: "weather".into(),
        description: "d".into(),
        input_schema: schema,
    };
    let mut metadata = RawMap::new();
    metadata.push("top_p", raw("0.25"));
    for (key, value) in [
        ("store", "true"),
        ("stream", "false"),
        ("previous_response_id", "\"r\""),
    ] {
        metadata.push(key, raw(value));
    }
    let turn = Turn {
        role: Role::User,
        content: "Hello".into(),
        model: None,
    };
    Request {
        model: "tiny".into(),
        system: Some("Be brief.".into()),
        turns: vec![turn],
        tools: vec![tool],
        tool_choice: Some(ToolChoice::Tool("weather".into())),
        temperature: Some(0.5),
        max_output_tokens: Some(64),
        stop_sequences: vec!["END".into()],
        reasoning: true,
        metadata,
    }
}

#[test]
fn a_request_has_the_apis_shape_and_is_never_stored() {
    let request = rich_request();
    assert_eq!(sent(&request).path, "/responses");
    assert_eq!(
        body(&request),
        concat!(
            r#"{"model":"tiny","instructions":"Be brief.","#,
            r#""input":[{"type":"message","role":"user","content":"Hello"}],"stream":true,"store":false,"#,
            r#""include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},"#,
            r#""temperature":0.5,"max_output_tokens":64,"#,
            r#""tools":[{"type":"function","name":"weather","description":"d","parameters":{"type":"object","maximum":1e400,"properties":{}},"strict":false}],"#,
            r#""tool_choice":{"type":"function","name":"weather"},"top_p":0.25}"#,
        )
    );
    assert_eq!(
        left_out(&request),
        [
            "a stop sequence is not sent: the Responses API has none",
            "store is not sent: this field is not up to the metadata",
            "stream is not sent: this field is not up to the metadata",
            "previous_response_id is not sent: this field is not up to the metadata",
        ]
    );
}

#[test]
fn a_plain_request_asks_for_nothing_more() {
    let turn = Turn {
        role: Role::User,
        content: "Hi".into(),
        model: None,
    };
    let plain = Request {
        model: "tiny".into(),
        turns: vec![turn],
        ..Request::default()
    };
    assert_eq!(
        body(&plain),
        concat!(
            r#"{"model":"tiny","input":[{"type":"message","role":"user","content":"Hi"}],"#,
            r#""stream":true,"store":false}"#,
        )
    );
    assert_eq!(left_out(&plain), [""; 0]);
}

#[test]
fn models_that_always_think_get_no_temperature_and_give_their_thoughts_sealed() {
    let warm = Request {
        model: "o3".into(),
        temperature: Some(0.2),
        ..request(vec![hi()])
    };
    assert_eq!(
        body(&warm),
        concat!(
            r#"{"model":"o3","input":[{"type":"message","role":"user","content":"Hi"}],"stream":true,"store":false,"#,
            r#""include":["reasoning.encrypted_content"]}"#
        )
    );
    assert_eq!(
        left_out(&warm),
        ["the temperature is not sent: the model takes none"]
    );
}

#[test]
fn tool_choice_is_named_in_the_apis_words() {
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

fn image(source: Source) -> Block {
    Block::Image(Image {
        source: source.to_raw(),
        extra: RawMap::new(),
    })
}

fn document(source: &str, extra: &str) -> Block {
    let extra = RawMap::parse(extra).unwrap();
    Block::Document(Document {
        source: raw(source),
        extra,
    })
}

fn png() -> Block {
    image(Source::Base64 {
        media_type: "image/png".into(),
        data: "AAAA".into(),
    })
}

#[test]
fn images_and_documents_go_inline_or_by_address() {
    let said = vec![
        Block::from_text("See"),
        Block::from_text(""),
        png(),
        image(Source::Url("https://example.org/a.png".into())),
        document(
            r#"{"type":"base64","media_type":"application/pdf","data":"BBBB"}"#,
            r#"{"title":"paper.pdf"}"#,
        ),
        document(r#"{"type":"url","url":"https://example.org/b.pdf"}"#, "{}"),
        document(
            r#"{"type":"text","media_type":"text/plain","data":"in words"}"#,
            "{}",
        ),
    ];
    assert_eq!(
        body(&request(vec![blocks(Role::User, said)])).replace(r#","stream":true"#, ""),
        concat!(
            r#"{"model":"gpt-5-mini","input":["#,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"See"},"#,
            r#"{"type":"input_image","image_url":"data:image/png;base64,AAAA"},"#,
            r#"{"type":"input_image","image_url":"https://example.org/a.png"},"#,
            r#"{"type":"input_file","filename":"paper.pdf","file_data":"data:application/pdf;base64,BBBB"},"#,
            r#"{"type":"input_file","file_url":"https://example.org/b.pdf"},"#,
            r#"{"type":"input_text","text":"in words"}]}],"store":false,"#,
            r#""include":["reasoning.encrypted_content"]}"#,
        )
    );
    let missing = vec![
        image(Source::File("a.png".into())),
        document(r#"{"type":"file","path":"b.pdf"}"#, "{}"),
        block(r#"{"type":"odd"}"#),
        Block::Thinking(Thinking::default()),
        Block::from_text("Hm?"),
    ];
    let request = request(vec![blocks(Role::User, missing)]);
    assert_eq!(
        left_out(&request),
        [
            "turn 1: an image is not sent: its bytes are not at hand",
            "turn 1: a document is not sent: its bytes are not at hand",
            "turn 1: a block is not sent: its type is unknown",
            "turn 1: a thought is not sent: it is not the model's",
        ]
    );
    let severities: Vec<_> = sent(&request)
        .left_out
        .iter()
        .map(|problem| problem.severity)
        .collect();
    assert_eq!(severities[3], Severity::Hint);
    assert_eq!(severities[0], Severity::Warning);
}

#[test]
fn parallel_calls_and_their_results_are_items() {
    let call = |id: &str, input: &str| {
        Block::ToolUse(ToolUse {
            id: id.into(),
            name: "w".into(),
            input: raw(input),
            extra: RawMap::new(),
        })
    };
    let result = |id: &str, content: Content, is_error| {
        let tool_use_id = id.into();
        Block::ToolResult(ToolResult {
            tool_use_id,
            content,
            is_error,
            ..Default::default()
        })
    };
    let turns = vec![
        blocks(
            Role::Assistant,
            vec![
                Block::from_text("Both."),
                call("a", r#"{"n":12345678901234567890123}"#),
                call("b", "{}"),
            ],
        ),
        blocks(
            Role::User,
            vec![
                Block::from_text("And now?"),
                result("a", "20 °C".into(), None),
                result("b", "no such city".into(), Some(true)),
            ],
        ),
        blocks(Role::Assistant, vec![call("c", "{}"), call("d", "{}")]),
        blocks(
            Role::User,
            vec![
                result(
                    "c",
                    Content::Blocks(vec![Block::from_text("seen"), png()]),
                    None,
                ),
                result("d", Content::Blocks(vec![png()]), Some(true)),
            ],
        ),
    ];
    assert_eq!(
        input(turns),
        concat!(
            r#"[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Both."}]},"#,
            r#"{"type":"function_call","call_id":"a","name":"w","arguments":"{\"n\":12345678901234567890123}"},"#,
            r#"{"type":"function_call","call_id":"b","name":"w","arguments":"{}"},"#,
            r#"{"type":"function_call_output","call_id":"a","output":"20 °C"},"#,
            r#"{"type":"function_call_output","call_id":"b","output":"error: no such city"},"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"And now?"}]},"#,
            r#"{"type":"function_call","call_id":"c","name":"w","arguments":"{}"},"#,
            r#"{"type":"function_call","call_id":"d","name":"w","arguments":"{}"},"#,
            r#"{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"seen"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]},"#,
            r#"{"type":"function_call_output","call_id":"d","output":[{"type":"input_text","text":"error"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}]"#,
        )
    );
}

const ANSWER: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/openai-responses/thought-text-call-thought-text-call.sse"
));
const SEARCH: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/openai-responses/tool-of-the-provider.sse"
));
const REFUSAL: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/openai-responses/refusal.sse"
));

/// What a stream became, as a turn of the next request.
fn turn_of(stream: &str) -> Turn {
    let message = folded(stream).message;
    let content = message.body.content().unwrap().clone();
    Turn {
        role: Role::Assistant,
        content,
        model: message.model,
    }
}

#[test]
fn an_answer_goes_back_as_the_items_that_it_was() {
    assert_eq!(
        input(vec![turn_of(ANSWER)]),
        concat!(
            r#"[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"**Looking**\n\nFirst the weather 你好."}],"encrypted_content":"gAAAA+/=1"},"#,
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me look 😀."}],"phase":"commentary"},"#,
            r#"{"type":"function_call","call_id":"call_1","name":"weather","arguments":"{\"city\":\"Paris\",\"n\":123456789012345678901}"},"#,
            r#"{"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"encrypted_content":"gAAAA+/=2"},"#,
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"And the time."}]},"#,
            r#"{"type":"function_call","call_id":"call_2","name":"time","arguments":"{}"}]"#,
        )
    );
    assert_eq!(
        input(vec![turn_of(SEARCH)]),
        concat!(
            r#"[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Search."}],"encrypted_content":"gAAAA1"},"#,
            r#"{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"weather Paris"}},"#,
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Rain."}]}]"#,
        )
    );
    assert_eq!(
        input(vec![turn_of(REFUSAL)]),
        r#"[{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I can't help with that."}]}]"#
    );
    let first = turn_of(ANSWER);
    let result = |id: &str| {
        Block::ToolResult(ToolResult {
            tool_use_id: id.into(),
            ..ToolResult::default()
        })
    };
    let results = blocks(Role::User, vec![result("call_1"), result("call_2")]);
    let talk = vec![hi(), first.clone(), results.clone(), turn_of(SEARCH)];
    // Both begin with a thought of the same name, which may stand once.
    let told = ["turn 4: a thought is not sent: it stands before this already"];
    assert_eq!(left_out(&request(talk)), told);
    assert_eq!(left_out(&request(vec![hi(), first, results])), [""; 0]);
}

#[test]
fn thoughts_of_others_and_unsealed_ones_stay_at_home() {
    let own = turn_of(ANSWER);
    let other = Turn {
        model: Some("another-model".into()),
        ..own.clone()
    };
    let results = ["call_1", "call_2"].map(|id| {
        Block::ToolResult(ToolResult {
            tool_use_id: id.into(),
            ..ToolResult::default()
        })
    });
    let request = request(vec![hi(), other, blocks(Role::User, results.to_vec())]);
    let body = body(&request);
    assert!(
        !body.contains("rs_1") && !body.contains("gAAAA") && !body.contains("phase"),
        "{body}"
    );
    assert_eq!(left_out(&request).len(), 2);
    // A model that is not OpenAI's gets its own thoughts back, and nobody else's.
    let local = |by: &str| {
        let turn = Turn {
            model: Some(by.into()),
            ..own.clone()
        };
        super::tests::body(&Request {
            model: "local".into(),
            turns: vec![turn],
            ..<_>::default()
        })
    };
    assert!(local("local").contains("rs_1"));
    assert!(!local("gpt-5").contains("rs_1"));
    let foreign = [
        r#"{"type":"thinking","thinking":"hm","signature":"c2VhbA=="}"#,
        r#"{"type":"thinking","thinking":"hm","item":{"id":"rs_1"}}"#,
        r#"{"type":"redacted_thinking","data":"AAAA"}"#,
        r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#,
    ];
    for json in foreign {
        let turn = blocks(Role::Assistant, vec![block(json), Block::from_text("Hi")]);
        let request = super::tests::request(vec![hi(), turn]);
        assert_eq!(left_out(&request).len(), 1, "{json}");
        assert!(
            !super::tests::body(&request).contains("reasoning\","),
            "{json}"
        );
    }
}

#[test]
fn a_thought_that_led_to_nothing_stays_at_home() {
    let sealed = r#"{"type":"thinking","thinking":"hm","signature":"s","item":{"id":"rs_1"}}"#;
    let turn = blocks(Role::Assistant, vec![Block::from_text("Hi"), block(sealed)]);
    let request = request(vec![hi(), turn]);
    assert!(!body(&request).contains("rs_1"));
    assert_eq!(
        left_out(&request),
        ["turn 2: a thought is not sent: what it led to is missing"]
    );
}

#[test]
fn names_of_calls_that_are_too_long_are_replaced_on_both_sides() {
    let long = "x".repeat(65);
    let call = ToolUse {
        id: long.clone(),
        name: "w".into(),
        input: Raw::empty_object(),
        extra: RawMap::new(),
    };
    let result = ToolResult {
        tool_use_id: long.clone(),
        ..Default::default()
    };
    let turns = vec![
        blocks(Role::Assistant, vec![Block::ToolUse(call)]),
        blocks(Role::User, vec![Block::ToolResult(result)]),
    ];
    let items = raw(&input(turns)).as_array().unwrap();
    let id = |item: &Raw| {
        item.as_object()
            .unwrap()
            .get("call_id")
            .unwrap()
            .as_string()
            .unwrap()
    };
    assert_eq!(id(&items[0]), id(&items[1]));
    assert!(id(&items[0]).len() <= 64 && id(&items[0]) != long);
}

#[test]
fn instructions_in_mid_conversation_have_the_servers_role() {
    let turns = vec![
        Turn {
            role: Role::System,
            content: "Now in French.".into(),
            model: None,
        },
        Turn {
            role: Role::Assistant,
            content: "Oui.".into(),
            model: None,
        },
    ];
    let quirks = Quirks {
        system_role: SystemRole::Developer,
        ..Quirks::OPENAI_RESPONSES
    };
    let sent = crate::encode_for(API, &request(turns), &quirks);
    let body = String::from_utf8(sent.body).unwrap();
    assert!(
        body.contains(r#""role":"developer","content":"Now in French.""#),
        "{body}"
    );
    assert!(
        body.contains(r#""content":[{"type":"output_text","text":"Oui."}]"#),
        "{body}"
    );
}

const DONE: &str = r#"{"type":"response.completed","response":{"id":"r","model":"m","status":"completed","output":[]}}"#;

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
fn what_was_not_told_in_pieces_comes_with_the_whole() {
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
