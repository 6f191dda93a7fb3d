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

mod streams;

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
fn models_that_always_think_get_no_temperature_and_return_encrypted_thinking() {
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
fn thinking_of_other_models_or_without_encryption_is_not_sent() {
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
fn trailing_thinking_is_not_sent() {
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
