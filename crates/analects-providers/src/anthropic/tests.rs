//! Requests as Anthropic's Messages: exact bodies, and whatever a conversation holds, a body that obeys
//! the rules.
#![allow(clippy::unwrap_used)]

use analects_core::{
    Block, Content, Document, Image, Json, Problem, Raw, RawMap, RedactedThinking, Request, Role,
    Severity, Source, TextBlock, Thinking, ToolChoice, ToolResult, ToolSpec, ToolUse, Turn,
};
use analects_testkit::{Rules, validate};

use crate::{Api, Auth, HttpRequest, Method};

mod repairs;

const MODEL: &str = "claude-sonnet-4-5";

fn raw(json: &str) -> Raw {
    Raw::parse(json).unwrap()
}

fn map(json: &str) -> RawMap {
    RawMap::parse(json).unwrap()
}

fn turn(role: Role, content: impl Into<Content>) -> Turn {
    Turn {
        role,
        content: content.into(),
        model: None,
    }
}

fn user(blocks: Vec<Block>) -> Turn {
    turn(Role::User, blocks)
}

/// A turn of the asked model.
fn own(blocks: Vec<Block>) -> Turn {
    let model = Some("claude-sonnet-4-5-20250929".to_string());
    Turn {
        model,
        ..turn(Role::Assistant, blocks)
    }
}

fn request(turns: Vec<Turn>) -> Request {
    Request {
        model: MODEL.into(),
        turns,
        max_output_tokens: Some(4096),
        ..Request::default()
    }
}

fn call(id: &str) -> Block {
    let (id, name) = (id.to_string(), "w".to_string());
    Block::ToolUse(ToolUse {
        id,
        name,
        input: raw(r#"{"n":1}"#),
        extra: RawMap::new(),
    })
}

fn result(id: &str, content: impl Into<Content>) -> Block {
    let (tool_use_id, content) = (id.to_string(), content.into());
    Block::ToolResult(ToolResult {
        tool_use_id,
        content,
        ..ToolResult::default()
    })
}

fn thought(text: &str) -> Block {
    let signature = Some("seal==".to_string());
    Block::Thinking(Thinking {
        thinking: text.into(),
        signature,
        extra: RawMap::new(),
    })
}

fn image(source: &str) -> Block {
    Block::Image(Image {
        source: raw(source),
        extra: RawMap::new(),
    })
}

fn document(source: &str, extra: &str) -> Block {
    Block::Document(Document {
        source: raw(source),
        extra: map(extra),
    })
}

/// Encodes; whatever goes out obeys the rules.
fn sent(request: &Request) -> HttpRequest {
    let http = crate::encode(Api::AnthropicMessages, request);
    let body = String::from_utf8_lossy(&http.body);
    assert_eq!(validate(Rules::Anthropic, &http.body), [], "{body}");
    http
}

fn body(request: &Request) -> String {
    String::from_utf8(sent(request).body).unwrap()
}

fn field(request: &Request, key: &str) -> Option<String> {
    RawMap::parse(&body(request))
        .unwrap()
        .get(key)
        .map(Raw::to_string)
}

fn messages(turns: Vec<Turn>) -> String {
    field(&request(turns), "messages").unwrap()
}

/// What was not sent as it was said, but for hints.
fn notes(request: &Request) -> Vec<String> {
    let loud = |problem: &Problem| problem.severity != Severity::Hint;
    sent(request)
        .left_out
        .into_iter()
        .filter(loud)
        .map(|problem| problem.message)
        .collect()
}

fn weather() -> ToolSpec {
    let input_schema = raw(r#"{"type":"object","maximum":1e400}"#);
    ToolSpec {
        name: "weather".into(),
        description: "d".into(),
        input_schema,
    }
}

#[test]
fn a_request_has_the_apis_shape() {
    let request = Request {
        system: Some("Be brief.".into()),
        tools: vec![weather()],
        tool_choice: Some(ToolChoice::Tool("weather".into())),
        temperature: Some(0.5),
        stop_sequences: vec!["END".into()],
        ..request(vec![turn(Role::User, "Hello")])
    };
    let http = sent(&request);
    assert_eq!(
        (http.method, http.path.as_str(), http.auth),
        (Method::Post, "/messages", Auth::XApiKey)
    );
    assert!(
        http.headers
            .contains(&("anthropic-version".into(), "2023-06-01".into()))
    );
    assert_eq!(http.left_out, []);
    assert_eq!(
        body(&request),
        concat!(
            r#"{"model":"claude-sonnet-4-5","max_tokens":4096,"system":"Be brief.","#,
            r#""messages":[{"role":"user","content":"Hello"}],"stream":true,"temperature":0.5,"#,
            r#""stop_sequences":["END"],"#,
            r#""tools":[{"name":"weather","description":"d","input_schema":{"type":"object","maximum":1e400}}],"#,
            r#""tool_choice":{"type":"tool","name":"weather"}}"#,
        )
    );
}

#[test]
fn tool_choice_uses_the_names_of_the_api() {
    let choices = [
        (ToolChoice::Auto, "auto"),
        (ToolChoice::Any, "any"),
        (ToolChoice::None, "none"),
    ];
    for (choice, word) in choices {
        let base = request(vec![turn(Role::User, "Hello")]);
        let request = Request {
            tools: vec![weather()],
            tool_choice: Some(choice),
            ..base
        };
        assert_eq!(
            field(&request, "tool_choice"),
            Some(format!(r#"{{"type":"{word}"}}"#))
        );
        assert_eq!(
            field(
                &Request {
                    tools: vec![],
                    ..request
                },
                "tool_choice"
            ),
            None
        );
    }
    let tool_choice = Some(ToolChoice::Tool("other".into()));
    let base = request(vec![turn(Role::User, "Hello")]);
    let request = Request {
        tools: vec![weather()],
        tool_choice,
        ..base
    };
    assert_eq!(field(&request, "tool_choice"), None);
    assert_eq!(
        notes(&request),
        ["the choice of a tool is not sent: there is no tool \"other\""]
    );
}

#[test]
fn pictures_and_documents_go_in_every_form() {
    let pdf = Source::Base64 {
        media_type: "application/pdf".into(),
        data: "JVBE".into(),
    };
    let turns = vec![user(vec![
        image(r#"{"type":"base64","media_type":"image/png","data":"AAAA","note":1}"#),
        image(r#"{"type":"url","url":"https://example.org/a.png"}"#),
        document(
            pdf.to_raw().as_str(),
            r#"{"title":"T","citations":{"enabled":true},"odd":1}"#,
        ),
        document(
            r#"{"type":"text","media_type":"text/plain","data":"words"}"#,
            "{}",
        ),
        document(r#"{"type":"url","url":"https://example.org/a.pdf"}"#, "{}"),
        document(
            r#"{"type":"file","file_id":"file_1"}"#,
            r#"{"cache_control":{"type":"ephemeral"}}"#,
        ),
        Block::from_text("Well?"),
    ])];
    let request = request(turns);
    assert_eq!(
        field(&request, "messages").unwrap(),
        concat!(
            r#"[{"role":"user","content":["#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},"#,
            r#"{"type":"image","source":{"type":"url","url":"https://example.org/a.png"}},"#,
            r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"},"title":"T","citations":{"enabled":true}},"#,
            r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"words"}},"#,
            r#"{"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"}},"#,
            r#"{"type":"document","source":{"type":"file","file_id":"file_1"},"cache_control":{"type":"ephemeral"}},"#,
            r#"{"type":"text","text":"Well?"}]}]"#,
        )
    );
    assert_eq!(sent(&request).left_out, []);
    let beta = (
        "anthropic-beta".to_string(),
        "files-api-2025-04-14".to_string(),
    );
    assert!(sent(&request).headers.contains(&beta));
}

#[test]
fn unreadable_content_is_omitted_and_reported() {
    let turns = vec![
        user(vec![
            image(r#"{"type":"base64","media_type":"image/svg+xml","data":"AAAA"}"#),
            image(r#"{"type":"file","path":"a.png"}"#),
            document(
                r#"{"type":"base64","media_type":"text/csv","data":"AAAA"}"#,
                "{}",
            ),
            Block::Other(raw(r#"{"type":"hologram"}"#)),
            Block::Other(raw("7")),
            Block::from_text("Hello"),
        ]),
        own(vec![
            image(r#"{"type":"url","url":"u"}"#),
            Block::from_text("Hi"),
        ]),
        turn(Role::User, "Go on"),
    ];
    let request = request(turns);
    assert_eq!(
        field(&request, "messages").unwrap(),
        r#"[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi"},{"role":"user","content":"Go on"}]"#
    );
    assert_eq!(
        notes(&request),
        [
            "turn 1: a picture is not sent: the API does not take it in this form",
            "turn 1: a picture is not sent: the API does not take it in this form",
            "turn 1: a document is not sent: the API does not take it in this form",
            "turn 1: a block of type \"hologram\" is not sent: it is not of this API",
            "turn 1: a block of type \"\" is not sent: it is not of this API",
            "turn 2: a picture or document is not sent: the model may not send one",
        ]
    );
}

#[test]
fn calls_and_results_keep_their_shape() {
    let failed = ToolResult {
        tool_use_id: "b".into(),
        content: "no such city".into(),
        is_error: Some(true),
        extra: RawMap::new(),
    };
    let picture = image(r#"{"type":"base64","media_type":"image/png","data":"AAAA"}"#);
    let turns = vec![
        turn(Role::User, "Weather?"),
        own(vec![
            Block::from_text("Looking."),
            call("a"),
            call("b"),
            call("c"),
        ]),
        user(vec![
            Block::from_text("And quickly!"),
            Block::ToolResult(failed),
            result("a", "20 °C"),
            result(
                "c",
                vec![Block::from_text("seen"), Block::from_text(""), picture],
            ),
        ]),
    ];
    assert_eq!(
        messages(turns),
        concat!(
            r#"[{"role":"user","content":"Weather?"},{"role":"assistant","content":[{"type":"text","text":"Looking."},"#,
            r#"{"type":"tool_use","id":"a","name":"w","input":{"n":1}},{"type":"tool_use","id":"b","name":"w","input":{"n":1}},"#,
            r#"{"type":"tool_use","id":"c","name":"w","input":{"n":1}}]},{"role":"user","content":["#,
            r#"{"type":"tool_result","tool_use_id":"a","content":"20 °C"},"#,
            r#"{"type":"tool_result","tool_use_id":"b","content":"no such city","is_error":true},"#,
            r#"{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"seen"},"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},"#,
            r#"{"type":"text","text":"And quickly!"}]}]"#,
        )
    );
}

fn thinking_turns() -> Vec<Turn> {
    let hidden = RedactedThinking {
        data: "EmwK".into(),
        extra: RawMap::new(),
    };
    vec![
        turn(Role::User, "Weather?"),
        own(vec![
            thought("hm \u{2028}"),
            Block::RedactedThinking(hidden),
            call("a"),
        ]),
        user(vec![result("a", "20")]),
    ]
}

#[test]
fn thinking_goes_back_to_its_own_model() {
    let expected = concat!(
        r#"{"type":"thinking","thinking":"hm \u2028","signature":"seal=="},"#,
        r#"{"type":"redacted_thinking","data":"EmwK"},{"type":"tool_use","id":"a""#,
    );
    assert!(messages(thinking_turns()).contains(expected));
    for model in ["claude-opus-4-1", "claude-sonnet-4", "smollm2"] {
        let request = Request {
            model: model.into(),
            ..request(thinking_turns())
        };
        assert!(!body(&request).contains("seal=="), "{model}");
        let hints = sent(&request).left_out;
        assert_eq!(hints.len(), 2);
        assert!(hints.iter().all(|hint| hint.severity == Severity::Hint));
    }
}

#[test]
fn thinking_is_asked_for_within_the_limit() {
    let thinking = |model: &str, limit: Option<u64>| {
        let request = Request {
            model: model.into(),
            reasoning: true,
            temperature: Some(0.5),
            max_output_tokens: limit,
            ..request(vec![turn(Role::User, "Hello")])
        };
        (
            field(&request, "thinking").unwrap_or_default(),
            field(&request, "temperature"),
        )
    };
    let budget = |tokens: u64| {
        (
            format!(r#"{{"type":"enabled","budget_tokens":{tokens}}}"#),
            None,
        )
    };
    assert_eq!(thinking(MODEL, Some(4096)), budget(2048));
    assert_eq!(thinking(MODEL, Some(2048)), budget(1024));
    assert_eq!(thinking(MODEL, Some(200_000)), budget(32_000));
    assert_eq!(thinking(MODEL, None), budget(16_000));
    assert_eq!(
        thinking("claude-3-7-sonnet-latest", Some(4096)),
        budget(2048)
    );
    assert_eq!(
        thinking(MODEL, Some(2047)),
        (String::new(), Some("0.5".into()))
    );
    for model in [
        "claude-opus-4-6",
        "claude-sonnet-5",
        "claude-opus-4-7-20260401",
    ] {
        assert_eq!(
            thinking(model, Some(100)),
            (r#"{"type":"adaptive"}"#.into(), None)
        );
    }
}

#[test]
fn thinking_is_not_asked_for_where_the_api_refuses_it() {
    let with = |turns: Vec<Turn>| Request {
        reasoning: true,
        ..request(turns)
    };
    assert!(field(&with(thinking_turns()), "thinking").is_some());
    let other = Request {
        model: "claude-opus-4-1".into(),
        ..with(thinking_turns())
    };
    assert_eq!(field(&other, "thinking"), None);
    assert_eq!(
        notes(&other),
        ["the wish for thinking is not sent: the turn that goes on began without it"]
    );
    let prefilled = with(vec![
        turn(Role::User, "A poem"),
        own(vec![Block::from_text("Once ")]),
    ]);
    assert_eq!(field(&prefilled, "thinking"), None);
    let forced = Request {
        tools: vec![weather()],
        tool_choice: Some(ToolChoice::Any),
        ..with(vec![turn(Role::User, "Hello")])
    };
    assert_eq!(
        notes(&forced),
        ["the wish for thinking is not sent: a call is forced"]
    );
}

#[test]
fn a_default_limit_is_sent_and_reported() {
    let limit = |model: &str, limit| {
        let base = request(vec![turn(Role::User, "Hello")]);
        let request = Request {
            model: model.into(),
            max_output_tokens: limit,
            ..base
        };
        field(&request, "max_tokens").unwrap()
    };
    assert_eq!(limit(MODEL, Some(7)), "7");
    assert_eq!(limit(MODEL, None), "32000");
    assert_eq!(limit("claude-3-5-haiku-latest", None), "8192");
    assert_eq!(limit("claude-3-haiku-20240307", Some(0)), "4096");
    assert_eq!(limit("smollm2", None), "8192");
    let request = Request {
        temperature: Some(1.7),
        ..request(vec![turn(Role::User, "Hello")])
    };
    assert_eq!(field(&request, "temperature").unwrap(), "1");
    assert_eq!(
        notes(&request),
        ["temperature is 1, not 1.7: the API goes from 0 to 1"]
    );
}

#[test]
fn instructions_have_one_place() {
    let marked = TextBlock {
        text: "b".into(),
        extra: map(r#"{"cache_control":{"type":"ephemeral","ttl":"1h"}}"#),
    };
    let system = turn(
        Role::System,
        vec![Block::Text(marked), Block::from_text(" ")],
    );
    let late = turn(Role::System, "Now in French.");
    let turns = vec![system, turn(Role::User, "Hello"), late];
    let request = Request {
        system: Some("a".into()),
        ..request(turns)
    };
    assert_eq!(
        field(&request, "system").unwrap(),
        r#"[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral","ttl":"1h"}}]"#
    );
    assert_eq!(
        field(&request, "messages").unwrap(),
        r#"[{"role":"user","content":[{"type":"text","text":"Hello"},{"type":"text","text":"Now in French."}]}]"#
    );
    assert_eq!(
        notes(&request),
        ["turn 3: instructions in the middle are sent as words of the user"]
    );
    assert_eq!(
        field(
            &Request {
                system: Some(" \n".into()),
                turns: vec![turn(Role::User, "a")],
                ..request
            },
            "system"
        ),
        None
    );
}

#[test]
fn metadata_replaces_all_but_the_fixed_fields() {
    let metadata = map(concat!(
        r#"{"cache_control":{"type":"ephemeral"},"max_tokens":99,"stream":false,"#,
        r#""tools":[{"type":"web_search_20250305","name":"web_search"}],"#,
        r#""metadata":{"user_id":"u"},"betas":["context-1m-2025-08-07","a\r\nb"]}"#,
    ));
    let request = Request {
        metadata,
        tools: vec![weather()],
        ..request(vec![turn(Role::User, "Hello")])
    };
    let http = sent(&request);
    assert!(
        http.headers
            .contains(&("anthropic-beta".into(), "context-1m-2025-08-07".into()))
    );
    assert_eq!(field(&request, "max_tokens").unwrap(), "99");
    assert_eq!(field(&request, "stream").unwrap(), "true");
    assert_eq!(
        field(&request, "cache_control").unwrap(),
        r#"{"type":"ephemeral"}"#
    );
    assert_eq!(field(&request, "metadata").unwrap(), r#"{"user_id":"u"}"#);
    assert_eq!(field(&request, "betas"), None);
    let tools = field(&request, "tools").unwrap();
    assert!(
        tools.contains("weather") && tools.contains("web_search_20250305"),
        "{tools}"
    );
    assert_eq!(
        notes(&request),
        ["stream is not sent: the program decides on it itself"]
    );
}

#[test]
fn a_count_asks_about_the_prompt_alone() {
    let base = request(thinking_turns());
    let request = Request {
        system: Some("s".into()),
        tools: vec![weather()],
        reasoning: true,
        temperature: Some(0.5),
        stop_sequences: vec!["END".into()],
        metadata: map(r#"{"service_tier":"auto","cache_control":{"type":"ephemeral"}}"#),
        ..base
    };
    let http = crate::encode_count(Api::AnthropicMessages, &request).unwrap();
    assert_eq!(http.path, "/messages/count_tokens");
    assert!(
        http.headers
            .contains(&("accept".into(), "application/json".into()))
    );
    assert!(
        http.headers
            .contains(&("anthropic-version".into(), "2023-06-01".into()))
    );
    let counted = RawMap::parse(&String::from_utf8(http.body).unwrap()).unwrap();
    let keys: Vec<_> = counted
        .iter()
        .map(|(key, _)| key.as_string().unwrap())
        .collect();
    assert_eq!(
        keys,
        [
            "model",
            "system",
            "messages",
            "tools",
            "thinking",
            "cache_control"
        ]
    );
    assert_eq!(
        counted.get("messages").map(Raw::to_string),
        field(&request, "messages")
    );
}
