//! What vendors want to see, what is left out, and what goes back to whom.
#![allow(clippy::unwrap_used)]

use super::*;
use analects_core::{Json, Severity};

use crate::{Api, SystemRole, TemperatureSupport, ToolIdRule};

fn sent(request: &Request, quirks: Quirks) -> (String, Vec<String>) {
    let sent = crate::encode_for(Api::OpenAiChat, request, &quirks);
    let left_out = sent
        .left_out
        .into_iter()
        .map(|problem| problem.message)
        .collect();
    (String::from_utf8(sent.body).unwrap(), left_out)
}

fn request(turns: Vec<Turn>) -> Request {
    Request {
        model: "tiny".into(),
        turns,
        ..Request::default()
    }
}

fn turn(role: Role, blocks: &[&str]) -> Turn {
    let blocks = blocks
        .iter()
        .map(|json| Block::from_json(json).unwrap())
        .collect();
    Turn {
        role,
        content: Content::Blocks(blocks),
        model: None,
    }
}

fn hi() -> Turn {
    turn(Role::User, &[r#"{"type":"text","text":"hi"}"#])
}

/// What becomes of turns that follow on a greeting.
fn messages(turns: Vec<Turn>, quirks: Quirks) -> (String, Vec<String>) {
    let turns = std::iter::once(hi()).chain(turns).collect();
    let (body, left_out) = sent(&request(turns), quirks);
    let messages = RawMap::parse(&body)
        .unwrap()
        .get("messages")
        .unwrap()
        .to_string();
    (
        messages.replacen(r#"{"role":"user","content":"hi"},"#, "", 1),
        left_out,
    )
}

const Q: Quirks = Quirks::COMPATIBLE;

fn full_request() -> Request {
    Request {
        temperature: Some(0.5),
        max_output_tokens: Some(9),
        system: Some("s".into()),
        ..request(vec![])
    }
}

#[test]
fn the_limit_the_temperature_and_the_counts_follow_the_table() {
    let full = full_request();
    let table = [
        (
            Q,
            "tiny",
            r#""stream":true,"stream_options":{"include_usage":true},"temperature":0.5,"max_tokens":9}"#,
        ),
        (
            Q,
            "gpt-5",
            r#""stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":9}"#,
        ),
        (
            Quirks {
                max_tokens: MaxTokensField::MaxTokens,
                ..Q
            },
            "o3",
            r#""max_tokens":9}"#,
        ),
        (
            Quirks {
                max_tokens: MaxTokensField::MaxCompletionTokens,
                ..Q
            },
            "tiny",
            r#""temperature":0.5,"max_completion_tokens":9}"#,
        ),
        (
            Quirks {
                stream_options: false,
                ..Q
            },
            "tiny",
            r#""stream":true,"temperature":0.5,"max_tokens":9}"#,
        ),
        (
            Quirks {
                temperature: TemperatureSupport::Accepted,
                ..Q
            },
            "o3",
            r#""temperature":0.5,"max_completion_tokens":9}"#,
        ),
        (
            Quirks {
                temperature: TemperatureSupport::Refused,
                ..Q
            },
            "tiny",
            r#"{"include_usage":true},"max_tokens":9}"#,
        ),
    ];
    for (quirks, model, end) in table {
        let (body, left_out) = sent(
            &Request {
                model: model.into(),
                ..full.clone()
            },
            quirks,
        );
        assert!(body.ends_with(end), "{body}");
        assert_eq!(
            left_out.len(),
            usize::from(!body.contains("temperature")),
            "{left_out:?}"
        );
    }
}

#[test]
fn the_system_prompt_has_the_role_that_the_server_knows() {
    let full = full_request();
    for (role, word) in [
        (SystemRole::System, "system"),
        (SystemRole::Developer, "developer"),
        (SystemRole::User, "user"),
    ] {
        let (body, _) = sent(
            &full,
            Quirks {
                system_role: role,
                ..Q
            },
        );
        assert!(
            body.contains(&format!(r#"[{{"role":"{word}","content":"s"}}]"#)),
            "{body}"
        );
    }
}

#[test]
fn every_server_is_asked_to_think_by_its_own_field() {
    let table = [
        (ReasoningRequest::Effort, r#""reasoning_effort":"medium"}"#),
        (ReasoningRequest::Object, r#""reasoning":{"enabled":true}}"#),
        (
            ReasoningRequest::Thinking,
            r#""thinking":{"type":"enabled"}}"#,
        ),
        (
            ReasoningRequest::EnableThinking,
            r#""enable_thinking":true}"#,
        ),
        (
            ReasoningRequest::ChatTemplate,
            r#""chat_template_kwargs":{"enable_thinking":true}}"#,
        ),
        (ReasoningRequest::ByItself, r#"{"include_usage":true}}"#),
    ];
    let asked = Request {
        reasoning: true,
        ..request(vec![hi()])
    };
    for (reasoning, end) in table {
        let (body, left_out) = sent(&asked, Quirks { reasoning, ..Q });
        assert!(body.ends_with(end), "{body}");
        assert_eq!(left_out, [""; 0]);
        let (body, _) = sent(&request(vec![hi()]), Quirks { reasoning, ..Q });
        assert!(
            body.ends_with(r#"{"include_usage":true}}"#),
            "nobody asked: {body}"
        );
    }
    let (body, left_out) = sent(&asked, Q);
    assert!(
        !body.contains("reason") && !body.contains("think"),
        "{body}"
    );
    assert_eq!(
        left_out,
        ["the wish to think first is not sent: how to ask this provider is not known"]
    );
    let (body, left_out) = sent(
        &Request {
            model: "o3".into(),
            ..asked
        },
        Q,
    );
    assert!(body.ends_with(r#""reasoning_effort":"medium"}"#), "{body}");
    assert_eq!(left_out, [""; 0]);
}

#[test]
fn metadata_wins_over_the_vendors_row() {
    let mut asked = Request {
        reasoning: true,
        ..request(vec![hi()])
    };
    asked.metadata.push("reasoning_effort", Raw::string("high"));
    let (body, _) = sent(
        &asked,
        Quirks {
            reasoning: ReasoningRequest::Effort,
            ..Q
        },
    );
    assert!(
        body.contains(r#""reasoning_effort":"high""#) && !body.contains("medium"),
        "{body}"
    );
    asked.metadata.push("messages", Raw::empty_object());
    let (_, left_out) = sent(&asked, Quirks::OPENAI_CHAT);
    assert_eq!(
        left_out,
        ["messages is not sent: this field is not up to the metadata"]
    );
}

const PDF: &str = r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"BBBB"},"title":"paper.pdf"}"#;

#[test]
fn documents_go_where_they_are_taken() {
    let plain =
        r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"words"}}"#;
    let (body, left_out) = messages(vec![turn(Role::User, &[PDF, plain])], Q);
    assert_eq!(
        body,
        concat!(
            r#"[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"file","file":{"filename":"paper.pdf","file_data":"data:application/pdf;base64,BBBB"}},"#,
            r#"{"type":"text","text":"words"}]}]"#
        )
    );
    assert_eq!(left_out, [""; 0]);
    let zip = r#"{"type":"document","source":{"type":"base64","media_type":"application/zip","data":"B"}}"#;
    let url = r#"{"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"}}"#;
    let (_, left_out) = messages(vec![turn(Role::User, &[zip, url])], Q);
    assert_eq!(
        left_out,
        [
            "turn 2: a document is not sent: the API takes PDF files only",
            "turn 2: a document is not sent: the API takes no addresses of documents",
        ]
    );
    let none = Quirks { files: false, ..Q };
    let (body, left_out) = messages(vec![turn(Role::User, &[PDF])], none);
    assert_eq!(body, r#"[{"role":"user","content":"hi"}]"#);
    assert_eq!(
        left_out,
        ["turn 2: a document is not sent: this provider takes none"]
    );
}

#[test]
fn every_omission_is_reported() {
    let turns = vec![
        turn(
            Role::User,
            &[
                r#"{"type":"odd"}"#,
                r#"{"type":"image","source":{"type":"file","path":"a.png"}}"#,
                r#"{"type":"tool_use","id":"c","name":"f","input":{}}"#,
                r#"{"type":"thinking","thinking":"hm"}"#,
            ],
        ),
        turn(
            Role::Assistant,
            &[
                r#"{"type":"thinking","thinking":"hm"}"#,
                r#"{"type":"redacted_thinking","data":"A"}"#,
                r#"{"type":"server_tool_use","id":"s"}"#,
                r#"{"type":"text","text":"Hi"}"#,
            ],
        ),
        turn(Role::Assistant, &[r#"{"type":"thinking","thinking":"hm"}"#]),
    ];
    let sent = crate::encode(Api::OpenAiChat, &request(turns));
    let said: Vec<_> = sent
        .left_out
        .iter()
        .map(|it| (it.severity, it.message.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (
                Severity::Warning,
                "turn 1: a block is not sent: its type is unknown"
            ),
            (
                Severity::Warning,
                "turn 1: an image is not sent: its bytes are not at hand"
            ),
            (
                Severity::Warning,
                "turn 1: a tool call is not sent: it is not the model's"
            ),
            (
                Severity::Hint,
                "turn 1: a thought is not sent: it is not the model's"
            ),
            (
                Severity::Hint,
                "turn 2: a thought is not sent: the API has no place for it"
            ),
            (
                Severity::Hint,
                "turn 2: a thought is not sent: it is of another provider"
            ),
            (
                Severity::Warning,
                "turn 2: a block of the model's answer is not sent: the API has no place for it"
            ),
            (
                Severity::Hint,
                "turn 3: a thought is not sent: the API has no place for it"
            ),
            (
                Severity::Warning,
                "the model spoke first, so a line of the user is sent before it"
            ),
        ]
    );
    let otherwise = sent
        .left_out
        .iter()
        .filter(|problem| problem.code != "not-sent");
    assert_eq!(otherwise.count(), 1);
}

#[test]
fn thinking_goes_back_if_the_server_expects_it() {
    let blocks = [
        r#"{"type":"thinking","thinking":"hm","signature":"c2VhbA==","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"s"}]}"#,
        r#"{"type":"text","text":"Hi"}"#,
    ];
    let by = |model: &str| Turn {
        model: Some(model.into()),
        ..turn(Role::Assistant, &blocks)
    };
    let content = Quirks {
        thinking: ThinkingField::ReasoningContent,
        ..Q
    };
    let details = Quirks {
        thinking: ThinkingField::ReasoningDetails,
        ..Q
    };
    assert_eq!(
        messages(vec![by("tiny")], content).0,
        r#"[{"role":"assistant","content":"Hi","reasoning_content":"hm"}]"#
    );
    assert_eq!(
        messages(vec![by("tiny")], details).0,
        concat!(
            r#"[{"role":"assistant","content":"Hi","reasoning_details":["#,
            r#"{"type":"reasoning.text","text":"hm","signature":"s"}]}]"#
        )
    );
    for quirks in [content, details] {
        let (body, left_out) = messages(vec![by("another")], quirks);
        assert_eq!(body, r#"[{"role":"assistant","content":"Hi"}]"#);
        assert_eq!(
            left_out,
            ["turn 2: a thought is not sent: it is of another model"]
        );
        let idle = Turn {
            model: Some("tiny".into()),
            ..turn(Role::Assistant, &blocks[..1])
        };
        let (body, left_out) = messages(vec![idle], quirks);
        assert_eq!(body, r#"[{"role":"user","content":"hi"}]"#);
        assert_eq!(
            left_out,
            ["turn 2: a thought is not sent: what it led to is missing"]
        );
    }
}

#[test]
fn names_of_calls_are_what_the_server_accepts() {
    let long = "toolu_".to_string() + &"é".repeat(40);
    let call = |id: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#);
    let result =
        |id: &str| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}"#);
    let names = |rule| {
        let turns = vec![
            turn(Role::Assistant, &[&call("a"), &call(&long), &call("b-1")]),
            turn(Role::User, &[&result("a"), &result(&long), &result("b-1")]),
        ];
        let ids = ToolIdMap::new(&turns, rule);
        ["a", &long, "b-1"].map(|id| ids.get(id).to_string())
    };
    assert_eq!(names(ToolIdRule::Any), ["a", &long, "b-1"]);
    let [a, new, b] = names(ToolIdRule::UpTo(40));
    assert_eq!((a.as_str(), b.as_str()), ("a", "b-1"));
    assert!(
        new.len() <= 40 && new.bytes().all(|b| b.is_ascii_alphanumeric()),
        "{new}"
    );
    let exact = names(ToolIdRule::Exactly(9));
    assert!(
        exact
            .iter()
            .all(|id| id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()))
    );
    assert!(exact[0] != exact[1] && exact[1] != exact[2] && exact[0] != exact[2]);
    assert_eq!(names(ToolIdRule::Exactly(9)), exact, "every time the same");
    // A rule that cannot be kept ends, too.
    names(ToolIdRule::UpTo(0));
    names(ToolIdRule::Exactly(0));
    let turns = vec![
        turn(Role::Assistant, &[&call(&long)]),
        turn(Role::User, &[&result(&long)]),
    ];
    let (body, _) = messages(turns, Q);
    assert_eq!(body.matches(&new).count(), 2, "{body}");
}

#[test]
fn a_call_that_failed_says_so() {
    let failed = |content: &str| {
        let result = format!(
            r#"{{"type":"tool_result","tool_use_id":"c","content":{content},"is_error":true}}"#
        );
        let call = r#"{"type":"tool_use","id":"c","name":"f","input":{}}"#;
        let turns = vec![turn(Role::Assistant, &[call]), turn(Role::User, &[&result])];
        messages(turns, Q).0
    };
    let said = |text: &str| format!(r#"{{"role":"tool","content":"{text}","tool_call_id":"c"}}]"#);
    for (content, text) in [
        (r#""no such file""#, "error: no such file"),
        (r#""Error: no such file""#, "Error: no such file"),
        (r#""""#, "error"),
        (r#""é""#, "error: é"),
    ] {
        assert!(
            failed(content).ends_with(&said(text)),
            "{}",
            failed(content)
        );
    }
}
