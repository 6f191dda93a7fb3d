//! Requests keep every JSON value, also by way of a message file.

use analects_testkit::values::json;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// A message of the API, sometimes an odd one.
fn item() -> BoxedStrategy<String> {
    let role = select(vec![
        "user",
        "assistant",
        "system",
        "developer",
        "tool",
        "function",
        "model",
    ]);
    let text = any::<String>().prop_map(|text| analects_core::Raw::string(&text).to_string());
    let block = select(vec![
        r#"{"type":"text","text":"a"}"#,
        r#"{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}"#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}}"#,
        r#"{"type":"image_url","image_url":"https://x/y.png"}"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}"#,
        r#"{"type":"tool_use","id":"t1","name":"f","input":{"a":1e400}}"#,
        r#"{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"b"}]}"#,
        r#"{"type":"thinking","thinking":"hm","signature":"s"}"#,
        r#"{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}"#,
        "7",
    ]);
    let blocks = vec(block, 0..4).prop_map(|blocks| format!("[{}]", blocks.join(",")));
    let content = prop_oneof![text, blocks, Just("null".to_string()), json()];
    let field = select(vec![
        r#""name":"bob""#,
        r#""name":"b o b""#,
        r#""tool_call_id":"c1""#,
        r#""tool_call_id":"""#,
        r#""refusal":null"#,
        r#""weight":0"#,
        r#""role":"user""#,
        r#""content":"again""#,
        r#""function_call":{"name":"f","arguments":"{}"}"#,
        r#""tool_calls":[]"#,
        r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]"#,
        r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{"}}]"#,
        r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"},"index":0}]"#,
        r#""tool_calls":[{"id":"c1","type":"custom","custom":{"name":"f","input":"x"}}]"#,
    ]);
    (role, prop::option::of(content), vec(field, 0..3))
        .prop_map(|(role, content, fields)| {
            let mut all = vec![format!("\"role\": \"{role}\"")];
            all.extend(content.map(|content| format!("\"content\": {content}")));
            all.extend(fields.into_iter().map(str::to_string));
            format!("{{{}}}", all.join(", "))
        })
        .boxed()
}

fn request() -> BoxedStrategy<String> {
    let field = select(vec![
        r#""model":"m""#,
        r#""temperature":0.30000000000000000001"#,
        r#""tools":[{"type":"function","function":{"name":"f","parameters":{}}}]"#,
        r#""system":"Be brief.""#,
        r#""system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]"#,
        r#""system":null"#,
        r#""metadata":null"#,
    ]);
    (vec(item(), 0..4), vec(field, 0..3))
        .prop_map(|(items, fields)| {
            let mut all: Vec<String> = fields.into_iter().map(str::to_string).collect();
            all.push(format!("\"messages\":[{}]", items.join(",")));
            format!("{{{}}}", all.join(","))
        })
        .boxed()
}

/// A file, in any of the shapes that are around.
fn file() -> BoxedStrategy<String> {
    prop_oneof![
        request(),
        request().prop_map(|request| format!("\n{{\n  {}\n", &request[1..])),
        vec(request(), 1..4).prop_map(|lines| lines.join("\n") + "\n"),
        vec(request(), 1..4).prop_map(|all| format!("[{}]", all.join(","))),
        vec(item(), 0..4).prop_map(|items| format!("[{}]", items.join(",\n"))),
        vec(item(), 1..4).prop_map(|items| items.join("\n") + "\n"),
    ]
    .boxed()
}

/// The values of a file, one or several.
fn values(text: &str) -> Vec<analects_core::Raw> {
    match analects_core::Raw::parse(text) {
        Ok(one) => vec![one],
        Err(_) => text
            .lines()
            .map(|line| analects_core::Raw::parse(line).unwrap())
            .collect(),
    }
}

fn same(left: &str, right: &str) -> bool {
    let (left, right) = (values(left), values(right));
    left.len() == right.len()
        && left
            .iter()
            .zip(&right)
            .all(|(l, r)| crate::requests::same(l, r))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(512)))]

    #[test]
    fn requests_come_out_as_the_same_values(file in file()) {
        for id in ["openai", "anthropic"] {
            let format = format_by_id(id).unwrap();
            let said = read(format, file.as_bytes());
            let errors: Vec<_> =
                said.problems.iter().filter(|p| p.severity == analects_core::Severity::Error).collect();
            prop_assert!(errors.is_empty(), "{id}: {errors:?}");
            let written = write(format, &said.messages);
            prop_assert_eq!(&written.losses, &vec![], "{}: {}", id, file);
            let text = String::from_utf8(written.bytes).unwrap();
            prop_assert!(same(&text, &file), "{id}\n{file}\n{text}");
            // By way of a message file.
            let message_file = super::super::format_by_id("msgfile").unwrap();
            let kept = read(message_file, &write(message_file, &said.messages).bytes).messages;
            let text = String::from_utf8(write(format, &kept).bytes).unwrap();
            prop_assert!(same(&text, &file), "{id} by way of a message file\n{file}\n{text}");
        }
    }
}
