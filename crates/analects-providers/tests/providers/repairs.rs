//! Conversations that an API would refuse as they stand, as they go out to each of the four; and settings
//! that it would refuse.

use analects_core::{Block, Content, Json, Raw, RawMap, Request, Role, ToolChoice, ToolSpec, Turn};
use analects_providers::{Api, encode};
use analects_testkit::{Rules, validate};

const APIS: [(Api, Rules, &str, &str); 4] = [
    (
        Api::AnthropicMessages,
        Rules::Anthropic,
        "claude-sonnet-4-5",
        "messages",
    ),
    (Api::Gemini, Rules::Gemini, "gemini-2.5-flash", "contents"),
    (Api::OpenAiChat, Rules::OpenAiChat, "gpt-4o", "messages"),
    (
        Api::OpenAiResponses,
        Rules::OpenAiResponses,
        "gpt-5",
        "input",
    ),
];

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

fn user(blocks: &[&str]) -> Turn {
    turn(Role::User, blocks)
}

fn model(blocks: &[&str]) -> Turn {
    turn(Role::Assistant, blocks)
}

fn text(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

fn call(id: &str, name: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#)
}

fn result(id: &str, text: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"{text}"}}"#)
}

fn request(asked: &str, turns: Vec<Turn>) -> Request {
    Request {
        model: asked.into(),
        turns,
        max_output_tokens: Some(4096),
        ..Request::default()
    }
}

/// The conversation as it goes out, which obeys, and what is told about it.
fn sent(api: (Api, Rules, &str, &str), turns: Vec<Turn>) -> (String, Vec<String>) {
    let (api, rules, asked, field) = api;
    let http = encode(api, &request(asked, turns));
    assert_eq!(
        validate(rules, &http.body),
        [],
        "{}",
        String::from_utf8_lossy(&http.body)
    );
    let body = RawMap::parse(str::from_utf8(&http.body).unwrap()).unwrap();
    let told = http
        .left_out
        .into_iter()
        .map(|problem| problem.message)
        .collect();
    (body.get(field).unwrap().to_string(), told)
}

#[test]
fn an_interrupted_call_gets_a_result_that_says_so() {
    let none = "The call was interrupted; there is no result.";
    let results = [
        format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":"{none}","is_error":true}},{{"type":"tool_result","tool_use_id":"b","content":"1"}},{{"type":"text","text":"Go on"}}]}}]"#
        ),
        format!(
            r#"{{"role":"user","parts":[{{"functionResponse":{{"name":"w","response":{{"error":"{none}"}}}}}},{{"functionResponse":{{"name":"w","response":{{"output":"1"}}}}}}]}},{{"role":"user","parts":[{{"text":"Go on"}}]}}]"#
        ),
        format!(
            r#"{{"role":"tool","content":"error: {none}","tool_call_id":"a"}},{{"role":"tool","content":"1","tool_call_id":"b"}},{{"role":"user","content":"Go on"}}]"#
        ),
        format!(
            r#"{{"type":"function_call_output","call_id":"a","output":"error: {none}"}},{{"type":"function_call_output","call_id":"b","output":"1"}},{{"type":"message","role":"user","content":[{{"type":"input_text","text":"Go on"}}]}}]"#
        ),
    ];
    for (api, end) in APIS.into_iter().zip(results) {
        let turns = vec![
            user(&[&text("Hi")]),
            model(&[&call("a", "w"), &call("b", "w")]),
            user(&[&text("Go on"), &result("b", "1"), &result("x", "whose?")]),
        ];
        let (body, told) = sent(api, turns);
        assert!(body.ends_with(&end), "{body}\n{end}");
        assert_eq!(
            told,
            [
                "turn 3: a result is not sent: no call before it waits for one",
                "turn 2: a call has no result; one that says so is sent",
            ]
        );
    }
}

#[test]
fn a_late_result_goes_to_its_call() {
    for api in APIS {
        let turns = vec![
            user(&[&text("Hi")]),
            model(&[&call("a", "w")]),
            user(&[&text("Well?")]),
            model(&[&text("Wait.")]),
            user(&[&result("a", "18 degrees"), &text("There it is.")]),
        ];
        let (body, told) = sent(api, turns);
        assert_eq!(told, [""; 0]);
        assert_eq!(body.matches("18 degrees").count(), 1);
        assert!(body.find("18 degrees") < body.find("Well?"), "{body}");
        assert!(!body.contains("interrupted"), "{body}");
    }
}

#[test]
fn the_first_and_last_turn_are_of_the_required_role() {
    let last = "the model spoke last, so a line of the user is sent after it";
    let first = "the model spoke first, so a line of the user is sent before it";
    for api in APIS {
        let picture = r#"{"type":"image","source":{"type":"file","path":"a.png"}}"#;
        // Nothing is left of the user's turns, so the model's meet, and begin.
        let turns = vec![
            user(&[picture]),
            model(&[&text("Welcome")]),
            user(&[picture]),
            model(&[&text("Anybody?")]),
        ];
        let (body, told) = sent(api, turns);
        assert!(
            body.contains("(The conversation begins with your words.)"),
            "{body}"
        );
        assert!(told.contains(&first.to_string()), "{told:?}");
        assert_eq!(told.contains(&last.to_string()), api.0 == Api::Gemini);
        assert_eq!(
            body.matches("assistant").count() + body.matches("\"model\"").count(),
            1
        );
    }
}

#[test]
fn repeated_call_ids_and_odd_tool_names_are_changed() {
    for api in APIS {
        let round = || {
            [
                model(&[&call("call_0", "9 a/b")]),
                user(&[&result("call_0", "1")]),
            ]
        };
        let turns = std::iter::once(user(&[&text("Hi")]))
            .chain(round())
            .chain(round())
            .collect();
        let (body, told) = sent(api, turns);
        let new = if api.0 == Api::Gemini {
            "_9_a_b"
        } else {
            "9_a_b"
        };
        let renamed = |turn: usize| format!("turn {turn}: the call of \"9 a/b\" is sent as {new}");
        assert_eq!(told, [renamed(2), renamed(4)]);
        assert!(body.contains(new));
        if api.0 != Api::Gemini {
            assert_eq!(body.matches(r#""call_0""#).count(), 2, "{body}");
            assert_eq!(body.matches(r#""call_0_2""#).count(), 2, "{body}");
        }
    }
}

#[test]
fn refused_settings_are_omitted_or_limited_and_reported() {
    let tool = |name: &str, schema: &str| ToolSpec {
        name: name.into(),
        description: "d".into(),
        input_schema: Raw::parse(schema).unwrap(),
    };
    for (api, rules, asked, _) in APIS {
        let good = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
        let odd = Request {
            tools: vec![
                tool("w", good),
                tool("w", good),
                tool("a b", good),
                tool("v", "null"),
            ],
            tool_choice: Some(ToolChoice::Tool("a b".into())),
            temperature: Some(7.0),
            max_output_tokens: Some(3),
            stop_sequences: (0..7)
                .map(|n| n.to_string())
                .chain([String::new()])
                .collect(),
            ..request(asked, vec![user(&[&text("Hi")])])
        };
        let http = encode(api, &odd);
        let body = String::from_utf8(http.body).unwrap();
        assert_eq!(validate(rules, body.as_bytes()), [], "{body}");
        let told: Vec<_> = http
            .left_out
            .into_iter()
            .map(|problem| problem.message)
            .collect();
        let tells = |words: &str| told.iter().any(|text| text.contains(words));
        assert!(
            tells("the tool \"w\" is not sent: another has the same name"),
            "{told:?}"
        );
        assert!(tells("the tool \"a b\" is not sent: its name"), "{told:?}");
        assert!(
            tells("the choice of a tool is not sent: there is no tool \"a b\""),
            "{told:?}"
        );
        assert!(tells("temperature is"), "{told:?}");
        assert!(tells("a stop sequence is not sent"), "{told:?}");
        assert_eq!(
            tells("limited to 16 tokens, not 3"),
            api == Api::OpenAiResponses,
            "{told:?}"
        );
        assert!(
            body.contains(r#""v""#) && !body.contains("tool_choice"),
            "{body}"
        );
    }
}

#[test]
fn models_that_always_think_get_no_stop_sequences() {
    let stops = Request {
        stop_sequences: vec!["END".into()],
        ..request("gpt-5", vec![user(&[&text("Hi")])])
    };
    let http = encode(Api::OpenAiChat, &stops);
    assert!(!String::from_utf8(http.body).unwrap().contains("END"));
    assert_eq!(
        http.left_out[0].message,
        "a stop sequence is not sent: the model takes none"
    );
}

#[test]
fn no_address_of_a_file_goes_out() {
    // As people, other tools and attackers spell it.
    let addresses = [
        "file:///etc/canary",
        "FILE:///etc/canary",
        r"\u0066ile:///etc/canary",
        "/etc/canary",
        "../etc/canary",
        "ftp://h/etc/canary",
        " file:///etc/canary",
        r"fi\tle:///etc/canary",
        r"\u0001file:///etc/canary",
    ];
    let blocks = [
        r#"{"type":"image","source":{"type":"url","url":"ADDRESS"}}"#,
        r#"{"type":"document","source":{"type":"url","url":"ADDRESS"}}"#,
        r#"{"type":"image","source":{"type":"file","path":"ADDRESS"}}"#,
        r#"{"type":"image","source":{"type":"file","file_id":"ADDRESS"}}"#,
        r#"{"type":"document","source":{"type":"file","file_id":"ADDRESS"}}"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"ADDRESS"}}"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"x,ADDRESS","data":"AAAA"}}"#,
        r#"{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"ADDRESS"}}]}}"#,
        r#"{"type":"search_result","source":"ADDRESS","title":"t","content":[{"type":"text","text":"x"}]}"#,
        r#"{"type":"gemini_part","part":{"fileData":{"fileUri":"ADDRESS"}}}"#,
    ];
    for api in APIS {
        for address in addresses {
            for block in blocks {
                // Inside these, only an address with a scheme is one.
                let is_label = ["search_result", "content\":[", "base64"]
                    .iter()
                    .any(|part| block.contains(part));
                if is_label && !address.to_lowercase().contains("le:") {
                    continue;
                }
                let block = block.replace("ADDRESS", address);
                let said = user(&[&text("Look"), &block]);
                let result = format!(
                    r#"{{"type":"tool_result","tool_use_id":"a","content":[{block},{}]}}"#,
                    text("done")
                );
                let turns = vec![said, model(&[&block, &call("a", "w")]), user(&[&result])];
                let (body, _) = sent(api, turns);
                assert!(!body.contains("canary"), "{:?}: {block}: {body}", api.0);
            }
        }
    }
}

#[test]
fn an_address_of_the_network_goes_out() {
    let block = r#"{"type":"image","source":{"type":"url","url":"https://example.org/a.png"}}"#;
    for api in APIS {
        let (body, _) = sent(api, vec![user(&[&text("Look"), block])]);
        assert!(body.contains("https://example.org/a.png"), "{body}");
    }
}
