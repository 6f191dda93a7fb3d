//! One body that obeys, for each API, and what each change to it breaks.

use super::*;

fn rules_broken(rules: Rules, body: &str) -> Vec<&'static str> {
    let mut found: Vec<_> = validate(rules, body.as_bytes())
        .iter()
        .map(|v| v.rule)
        .collect();
    found.dedup();
    found
}

/// Checks that `good` is in order, and that each replacement breaks the rule beside it, first of all: a
/// call that changes its name leaves a result alone, too.
fn check(rules: Rules, good: &str, changes: &[(&str, &str, &str)]) {
    assert_eq!(validate(rules, good.as_bytes()), []);
    for (from, to, rule) in changes {
        assert!(good.contains(from), "{from}");
        let bad = good.replacen(from, to, 1);
        assert_eq!(
            rules_broken(rules, &bad).first(),
            Some(rule),
            "{from} -> {to}"
        );
    }
}

const ANTHROPIC: &str = concat!(
    r#"{"model":"m","max_tokens":4096,"system":"Be brief.","thinking":{"type":"enabled","budget_tokens":2048},"#,
    r#""tools":[{"name":"w","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto"},"messages":["#,
    r#"{"role":"user","content":"Hi"},"#,
    r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},"#,
    r#"{"type":"text","text":"Wait"},{"type":"tool_use","id":"c1","name":"w","input":{"n":1e400}}]},"#,
    r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"20"},{"type":"text","text":"And?"}]}]}"#,
);

#[test]
fn anthropic_bodies() {
    check(
        Rules::Anthropic,
        ANTHROPIC,
        &[
            (r#""model":"m""#, r#""model":"""#, "model"),
            (r#""max_tokens":4096,"#, "", "limit"),
            ("4096", "4096.5", "limit"),
            ("2048", "1000", "thinking-budget"),
            ("2048", "4096", "thinking-budget"),
            ("Be brief.", " ", "blank-text"),
            (r#""content":"Hi""#, r#""content":" \n""#, "blank-text"),
            (r#""content":"Hi""#, r#""content":[]"#, "empty-turn"),
            (r#""content":"Hi""#, r#""content":"\ud83d""#, "unicode"),
            (r#"{"role":"user","content":"Hi"},"#, "", "first-turn"),
            (
                r#""role":"user","content":"Hi""#,
                r#""role":"system","content":"Hi""#,
                "role",
            ),
            (r#""text":"Wait""#, r#""text":"""#, "blank-text"),
            (r#","signature":"s""#, "", "signature"),
            (
                r#"{"type":"thinking","thinking":"t","signature":"s"},"#,
                "",
                "thinking-first",
            ),
            (r#""type":"auto""#, r#""type":"any""#, "thinking-choice"),
            (
                r#""tools""#,
                r#""temperature":0.5,"tools""#,
                "thinking-temperature",
            ),
            (r#""id":"c1""#, r#""id":"c:1""#, "call-id"),
            (
                r#""name":"w","input":"#,
                r#""name":"w w","input":"#,
                "tool-name",
            ),
            (r#"{"n":1e400}"#, "[]", "call-input"),
            (
                r#""tool_use_id":"c1""#,
                r#""tool_use_id":"c2""#,
                "result-without-call",
            ),
            (
                r#"{"type":"tool_result","tool_use_id":"c1","content":"20"},"#,
                "",
                "call-without-result",
            ),
            (
                r#""name":"w","input_schema""#,
                r#""name":"","input_schema""#,
                "tool-name",
            ),
            (r#"{"type":"object"}"#, "{}", "tool-schema"),
            (r#""content":"20""#, r#""content":7"#, "result-content"),
            (
                r#""type":"text","text":"And?""#,
                r#""type":"thinking","thinking":"","signature":"s""#,
                "block-type",
            ),
        ],
    );
}

#[test]
fn anthropic_turns() {
    let body =
        |messages: &str| format!(r#"{{"model":"m","max_tokens":9,"messages":[{messages}]}}"#);
    let broken = |messages: &str| rules_broken(Rules::Anthropic, &body(messages));
    let user = r#"{"role":"user","content":"a"}"#;
    let call =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]}"#;
    let result = r#"{"type":"tool_result","tool_use_id":"c"}"#;
    assert_eq!(broken(""), ["no-messages"]);
    assert_eq!(broken(&format!("{user},{user}")), ["alternation"]);
    assert_eq!(broken(&format!("{user},{call}")), ["call-without-result"]);
    assert_eq!(
        broken(&format!(
            r#"{user},{call},{{"role":"user","content":[{result},{result}]}}"#
        )),
        ["result-without-call"]
    );
    let text = r#"{"type":"text","text":"t"}"#;
    assert_eq!(
        broken(&format!(
            r#"{user},{call},{{"role":"user","content":[{text},{result}]}}"#
        )),
        ["result-order"]
    );
    let said = |content: &str| format!(r#"{user},{{"role":"assistant","content":{content}}}"#);
    assert_eq!(broken(&said(r#""Once upon ""#)), ["final-blank"]);
    assert_eq!(
        broken(&said(r#"[{"type":"text","text":"Once\n"}]"#)),
        ["final-blank"]
    );
    let thought = r#"{"type":"thinking","thinking":"t","signature":"s"}"#;
    assert_eq!(
        broken(&said(&format!("[{text},{thought}]"))),
        ["last-thought"]
    );
    assert_eq!(
        broken(&said(
            r#"[{"type":"image","source":{"type":"url","url":"u"}}]"#
        )),
        ["block-type"]
    );
    let image = r#"{"type":"image","source":{"type":"file","path":"a.png"}}"#;
    assert_eq!(
        broken(&format!(r#"{{"role":"user","content":[{image}]}}"#)),
        ["source"]
    );
    let server = r#"{"type":"server_tool_use","id":"s","name":"n","input":{}}"#;
    let found = r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#;
    let none: [&str; 0] = [];
    assert_eq!(broken(&said(&format!("[{server},{found}]"))), none);
    assert_eq!(broken(&said(&format!("[{server}]"))), none);
    assert_eq!(
        broken(&said(&format!("[{found},{server}]"))),
        ["server-result"]
    );
    assert_eq!(
        broken(&format!("{},{user}", said(&format!("[{server}]")))),
        ["server-call"]
    );
    // A server's tool that calls one of ours waits for it.
    let code =
        r#"{"type":"tool_use","id":"c","name":"n","input":{},"caller":{"type":"x","tool_id":"s"}}"#;
    let waiting = said(&format!("[{server},{code}]"));
    let answer = format!(r#"{{"role":"user","content":[{result}]}}"#);
    let done = format!(r#"{{"role":"assistant","content":[{found},{text}]}}"#);
    assert_eq!(broken(&format!("{waiting},{answer}")), none);
    assert_eq!(broken(&format!("{waiting},{answer},{done}")), none);
    let point = r#"{"type":"text","text":"t","cache_control":{"type":"ephemeral"}}"#;
    let points = |n| {
        format!(
            r#"{{"role":"user","content":[{}]}}"#,
            vec![point; n].join(",")
        )
    };
    assert_eq!(broken(&points(4)), none);
    assert_eq!(broken(&points(5)), ["cache-points"]);
}

const CHAT: &str = concat!(
    r#"{"model":"m","max_tokens":9,"temperature":0.5,"tools":[{"type":"function","function":{"name":"w"}}],"#,
    r#""tool_choice":{"type":"function","function":{"name":"w"}},"messages":["#,
    r#"{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"u"}]},"#,
    r#"{"role":"assistant","content":null,"tool_calls":["#,
    r#"{"id":"c1","type":"function","function":{"name":"w","arguments":"{}"}},"#,
    r#"{"id":"c2","type":"function","function":{"name":"w","arguments":"{}"}}]},"#,
    r#"{"role":"tool","tool_call_id":"c2","content":"2"},{"role":"tool","tool_call_id":"c1","content":"1"},"#,
    r#"{"role":"user","content":"u"}]}"#,
);

#[test]
fn chat_bodies() {
    let long = format!(r#""id":"{}""#, "x".repeat(41));
    check(
        Rules::OpenAiChat,
        CHAT,
        &[
            (r#""max_tokens":9"#, r#""max_tokens":0"#, "limit"),
            (
                r#""max_tokens":9"#,
                r#""max_tokens":9,"max_completion_tokens":9"#,
                "limit",
            ),
            ("0.5", "3", "range"),
            (r#""role":"system""#, r#""role":"robot""#, "role"),
            (r#""type":"text""#, r#""type":"output_text""#, "block-type"),
            (r#""id":"c2""#, r#""id":"c1""#, "call-id"),
            (r#""id":"c1""#, &long, "call-id"),
            (r#""tool_calls":["#, r#""calls":["#, "empty-turn"),
            (r#""arguments":"{}""#, r#""arguments":{}"#, "call-input"),
            (
                r#"{"role":"tool","tool_call_id":"c2","content":"2"},"#,
                "",
                "call-without-result",
            ),
            (
                r#""tool_call_id":"c1","content":"1"},"#,
                r#""tool_call_id":"c1","content":"1"},{"role":"tool","tool_call_id":"c1","content":"1"},"#,
                "result-without-call",
            ),
            (r#""name":"w"}}],"#, r#""name":"v"}}],"#, "tool-choice"),
            (r#"[{"type":"text","text":"u"}]"#, "[]", "empty-turn"),
            (
                r#""name":"w"}}],"#,
                r#""name":"w","parameters":{"type":"object"}}}],"#,
                "tool-schema",
            ),
            (
                r#""name":"w"}}],"#,
                r#""name":"w","parameters":{"type":"string","properties":{}}}}],"#,
                "tool-schema",
            ),
            (
                r#""tool_choice":{"type":"function","function":{"name":"w"}}"#,
                r#""tool_choice":"any""#,
                "tool-choice",
            ),
        ],
    );
}

const RESPONSES: &str = concat!(
    r#"{"model":"m","store":false,"tools":[{"type":"function","name":"w"}],"tool_choice":"auto","input":["#,
    r#"{"role":"user","content":[{"type":"input_text","text":"u"}]},"#,
    r#"{"type":"reasoning","id":"r","summary":[],"encrypted_content":"e"},"#,
    r#"{"type":"function_call","call_id":"c","name":"w","arguments":"{}"},"#,
    r#"{"type":"function_call_output","call_id":"c","output":"1"},"#,
    r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}"#,
);

#[test]
fn responses_bodies() {
    check(
        Rules::OpenAiResponses,
        RESPONSES,
        &[
            (r#""type":"input_text""#, r#""type":"text""#, "block-type"),
            (
                r#""type":"output_text""#,
                r#""type":"input_text""#,
                "block-type",
            ),
            (r#","summary":[]"#, "", "summary"),
            (
                r#"{"type":"function_call_output","call_id":"c","output":"1"},"#,
                "",
                "call-without-result",
            ),
            (r#","output":"1""#, "", "output"),
            (r#""arguments":"{}""#, r#""arguments":{}"#, "call-input"),
            (
                r#""name":"w","arguments""#,
                r#""name":"","arguments""#,
                "tool-name",
            ),
            (r#""role":"assistant""#, r#""role":"model""#, "role"),
            (r#"[{"type":"function","name":"w"}]"#, "[]", "tool-choice"),
            (r#"[{"type":"input_text","text":"u"}]"#, "[]", "empty-turn"),
            (
                r#""name":"w"}]"#,
                r#""name":"w","parameters":{"properties":{}}}]"#,
                "tool-schema",
            ),
            (r#""store":false"#, r#""max_output_tokens":15"#, "limit"),
            (
                r#""type":"message","role""#,
                r#""id":"r","type":"message","role""#,
                "item-id",
            ),
        ],
    );
    let alone = RESPONSES.replacen(
        r#"{"type":"function_call","call_id":"c","name":"w","arguments":"{}"},"#,
        "",
        1,
    );
    assert_eq!(
        rules_broken(Rules::OpenAiResponses, &alone),
        ["result-without-call", "reasoning-alone"]
    );
    assert_eq!(
        validate(Rules::OpenAiResponses, br#"{"model":"m","input":"Hi"}"#),
        []
    );
}

const GEMINI: &str = concat!(
    r#"{"systemInstruction":{"parts":[{"text":"s"}]},"generationConfig":{"maxOutputTokens":9},"#,
    r#""tools":[{"functionDeclarations":[{"name":"w"}]}],"contents":["#,
    r#"{"role":"user","parts":[{"text":"u"}]},"#,
    r#"{"role":"model","parts":[{"text":"","thoughtSignature":"s"},{"functionCall":{"name":"w","args":{}}},{"functionCall":{"name":"v"}}]},"#,
    r#"{"role":"user","parts":[{"functionResponse":{"name":"v","response":{}}},{"functionResponse":{"name":"w","response":{}}}]}]}"#,
);

#[test]
fn gemini_bodies() {
    check(
        Rules::Gemini,
        GEMINI,
        &[
            ("9", "0", "limit"),
            (r#"[{"text":"s"}]"#, "[]", "block-type"),
            (
                r#"{"role":"user","parts":[{"text":"u"}]},"#,
                "",
                "first-turn",
            ),
            (r#"{"text":"u"}"#, "", "empty-turn"),
            (r#"{"text":"u"}"#, r#"{"text":""}"#, "blank-text"),
            (r#"{"text":"u"}"#, r#"{"text":"u","inlineData":{}}"#, "part"),
            (
                r#"{"functionResponse":{"name":"v","response":{}}},"#,
                "",
                "call-without-result",
            ),
            (r#""args":{}"#, r#""args":[]"#, "call-input"),
            (r#"{"name":"w"}]"#, r#"{"name":"1"}]"#, "tool-name"),
            (
                r#"{"name":"w"}]"#,
                r#"{"name":"w","parameters":{"type":"STRING"}}]"#,
                "tool-schema",
            ),
            ("9", "3000000000", "range"),
            (
                r#"{"functionResponse":{"name":"v""#,
                r#"{"functionResponse":{"id":"1","name":"v""#,
                "call-without-result",
            ),
            (
                r#""response":{}}}]}"#,
                r#""response":{}}},{"text":"t"}]}"#,
                "result-alone",
            ),
            (
                r#""response":{}}}]}"#,
                r#""response":{}}}]},{"role":"model","parts":[{"text":"t"}]}"#,
                "last-turn",
            ),
            (
                r#"{"role":"model""#,
                r#"{"role":"user","parts":[{"text":"t"}]},{"role":"model""#,
                "alternation",
            ),
            (
                r#""contents""#,
                r#""toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["x"]}},"contents""#,
                "tool-choice",
            ),
            (
                r#""contents""#,
                r#""toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["w"]}},"contents""#,
                "tool-choice",
            ),
        ],
    );
    // What the user says behind responses is a turn of its own.
    let more = GEMINI.replacen(
        r#""response":{}}}]}]"#,
        r#""response":{}}}]},{"role":"user","parts":[{"text":"t"}]}]"#,
        1,
    );
    assert_eq!(validate(Rules::Gemini, more.as_bytes()), []);
    let unasked = r#"{"contents":[{"parts":[{"functionResponse":{"name":"v","response":{}}}]}]}"#;
    assert_eq!(
        rules_broken(Rules::Gemini, unasked),
        ["result-without-call"]
    );
}

#[test]
fn what_is_no_json_object_breaks_the_first_rule_of_all() {
    let all = [
        Rules::Anthropic,
        Rules::Gemini,
        Rules::OpenAiChat,
        Rules::OpenAiResponses,
    ];
    for rules in all {
        for body in ["", "[]", "{", "\u{feff}{}"] {
            assert_eq!(rules_broken(rules, body), ["json"], "{body}");
        }
        let half = r#"{"x":["\ud83d\ude00 \\ud83d",{"\ude00":1}]}"#;
        assert_eq!(rules_broken(rules, half).first(), Some(&"unicode"));
        let whole = half.replace(r#"{"\ude00":1}"#, "1");
        assert!(!rules_broken(rules, &whole).contains(&"unicode"));
        let deep = format!(r#"{{"x":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
        assert_ne!(rules_broken(rules, &deep), ["json"]);
    }
}

#[test]
fn a_violation_says_where() {
    let found = validate(
        Rules::Anthropic,
        ANTHROPIC.replacen("Wait", "", 1).as_bytes(),
    );
    assert_eq!(
        found[0].to_string(),
        "messages.1.content.1: a block of blank text (blank-text)"
    );
}
