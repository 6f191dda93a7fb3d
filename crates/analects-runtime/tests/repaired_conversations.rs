//! Whatever happened to a conversation: after `sendable`, every provider accepts it, before and after it
//! was mended.
#![allow(clippy::unwrap_used, clippy::panic)]

use analects_core::{CountingIds, Message, Request, chain};
use analects_formats::transcript::{check, decode};
use analects_providers::{Api, encode};
use analects_testkit::{Rules, validate};

const APIS: [(Api, Rules, &str); 4] = [
    (
        Api::AnthropicMessages,
        Rules::Anthropic,
        "claude-sonnet-4-5",
    ),
    (Api::Gemini, Rules::Gemini, "gemini-2.5-flash"),
    (Api::OpenAiChat, Rules::OpenAiChat, "gpt-4o"),
    (Api::OpenAiResponses, Rules::OpenAiResponses, "gpt-5"),
];

const USER: &str = r#"{"v":1,"type":"user","id":"a","content":"one"}"#;
const CALL: &str = r#"{"v":1,"type":"assistant","id":"b","parent_id":"a","content":[{"type":"text","text":"I look"},{"type":"tool_use","id":"t1","name":"read","input":{}},{"type":"tool_use","id":"t2","name":"read","input":{}}]}"#;
const RESULT: &str = r#"{"v":1,"type":"user","id":"c","parent_id":"b","content":[{"type":"tool_result","tool_use_id":"t1","content":"18"},{"type":"tool_result","tool_use_id":"t2","content":"19"}]}"#;
const LAST: &str = r#"{"v":1,"type":"user","id":"d","parent_id":"c","content":"and?"}"#;

/// Each kind of damage that leaves a conversation.
fn damages() -> Vec<(&'static str, Vec<u8>)> {
    let lines = |lines: &[&str]| lines.join("\n").into_bytes();
    let orphan = RESULT
        .replace("\"b\"", "\"a\"")
        .replace("t1", "t8")
        .replace("t2", "t9");
    let mut not_utf8 = lines(&[USER, CALL, RESULT, LAST]);
    let at = not_utf8
        .windows(4)
        .position(|word| word == b"look")
        .unwrap();
    not_utf8[at] = 0xff;
    let boundary =
        r#"{"v":1,"type":"compact_boundary","id":"x","parent_id":"b","summary_id":"lost"}"#;
    vec![
        ("sound", lines(&[USER, CALL, RESULT, LAST])),
        ("torn tail", lines(&[USER, CALL, RESULT, &LAST[..30]])),
        ("torn result", lines(&[USER, CALL, &RESULT[..60], LAST])),
        (
            "two records on one line",
            lines(&[USER, &format!("{CALL}{RESULT}"), LAST]),
        ),
        ("zeros", lines(&[USER, &"\0".repeat(99), CALL, RESULT])),
        ("not UTF-8", not_utf8),
        (
            "lone surrogate",
            lines(&[&USER.replace("one", "\\ud83d"), CALL, RESULT, LAST]),
        ),
        (
            "duplicate ids",
            lines(&[USER, CALL, CALL, RESULT, RESULT, LAST]),
        ),
        (
            "dangling parent",
            lines(&[USER, CALL, RESULT, &LAST.replace("\"c\"", "\"z\"")]),
        ),
        (
            "cycle",
            lines(&[
                &USER.replace("\"a\",", "\"a\",\"parent_id\":\"d\","),
                CALL,
                RESULT,
                LAST,
            ]),
        ),
        (
            "boundary without summary",
            lines(&[USER, CALL, RESULT, boundary]),
        ),
        ("call without result", lines(&[USER, CALL])),
        (
            "call without result, then words",
            lines(&[USER, CALL, &LAST.replace("\"c\"", "\"b\"")]),
        ),
        (
            "result without call",
            lines(&[USER, &orphan, &LAST.replace("\"c\"", "\"a\"")]),
        ),
        (
            "empty content",
            lines(&[USER, CALL, RESULT, &LAST.replace("and?", "")]),
        ),
        ("the model speaks first", lines(&[CALL, RESULT, LAST])),
    ]
}

fn check_sent(what: &str, messages: &[Message]) {
    let chain = chain(messages);
    for (api, rules, model) in APIS {
        let turns = chain.sendable().turns;
        let max_output_tokens = Some(4096);
        let request = Request {
            model: model.into(),
            turns,
            max_output_tokens,
            ..Request::default()
        };
        let body = encode(api, &request).body;
        let found = validate(rules, &body);
        assert!(
            found.is_empty(),
            "{what} to {api:?}: {found:?}\n{}",
            String::from_utf8_lossy(&body)
        );
    }
}

#[test]
fn every_damage_can_be_sent_before_and_after_it_is_mended() {
    let now = "2026-11-15T18:17:00Z".parse().unwrap();
    for (what, bytes) in damages() {
        check_sent(what, &decode(&bytes).messages);
        let repair = check(&bytes).repair(&mut CountingIds::default(), now);
        let mut mended = Vec::new();
        for (line, number) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1..) {
            mended.extend_from_slice(&repair.line(number, line).lines);
        }
        mended.extend_from_slice(repair.end().as_bytes());
        let messages = decode(&mended).messages;
        check_sent(&format!("{what}, mended"), &messages);
        assert!(!messages.is_empty(), "{what}");
    }
}
