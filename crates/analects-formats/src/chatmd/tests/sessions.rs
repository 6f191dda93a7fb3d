//! The plugin's own JSON: every value comes back or is listed as lost.

use analects_testkit::values::{json, message};
use proptest::collection::vec;
use proptest::sample::select;
use serde_json::{Value, json};

use super::reduce::{ChatTarget, reduce};
use super::session_json::{decode as read_json, encode as write_json};
use super::*;

/// Reads, writes, and compares the values.
#[track_caller]
fn check_json(text: &str) -> (ChatSessionInfo, Vec<Message>) {
    let (session, decoded) = read_json(text.as_bytes());
    let (written, losses) = write_json(&decoded.messages, &session);
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(value(&written), value(text), "{written}");
    assert_eq!(losses, vec![]);
    (session, decoded.messages)
}

#[test]
fn every_field_of_the_plugin_comes_back() {
    let text = r#"{"type":"history","id":"20250507-abc","title":"Talk","timestamp":1746626492000,
        "updated":1746626500001,"tags":["a","论语"],"sysPrompt":"Be brief.","preamble":"Notes.","items":[
        {"type":"message","id":"m1","message":{"role":"user","content":"Hello"},"author":"user",
         "timestamp":1746626492000,"token":3,"userPromptSlice":[0,5],"hidden":true},
        {"type":"message","id":"m2","message":{"role":"assistant","content":"Hi","reasoning_content":"hm"},
         "currentVersion":"v1","versions":{"v1":{"content":"Hi"}},"author":"gpt-4o",
         "usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5},"hidden":false},
        {"type":"seperator","id":"s1"},{"type":"separator","id":"s2","note":1},
        {"type":"message","id":"m3","message":{"role":"user","content":[{"type":"text","text":"look"},
         {"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}},
         {"type":"image_url","image_url":{"url":"https://example.com/a.png"}},{"type":"audio","data":[1]}]}},
        {"type":"message","id":"t","message":{"role":"tool","tool_call_id":"c1","content":"42","name":"f"}}]}"#;
    let (session, messages) = check_json(text);
    assert_eq!(session.tags, ["a", "论语"]);
    assert_eq!(
        session.timestamp.unwrap().to_string(),
        "2025-05-07T14:01:32Z"
    );
    assert_eq!(session.preamble.as_deref(), Some("Notes."));
    let types: Vec<&str> = messages
        .iter()
        .map(|message| message.body.type_name())
        .collect();
    let boundary = "compact_boundary";
    assert_eq!(
        types,
        [
            "system",
            "user",
            "assistant",
            boundary,
            boundary,
            "user",
            "tool_result"
        ]
    );
    assert_eq!(messages[1].history, History::Exclude);
    assert_eq!(messages[2].usage.as_ref().unwrap().total_tokens, Some(5));
    assert!(messages[2].extra.get("versions").is_some());
    let Some(Content::Blocks(blocks)) = messages[5].body.content() else {
        panic!()
    };
    assert!(matches!(blocks[1], Block::Image(_)) && matches!(blocks[3], Block::Other(_)));
}

#[test]
fn odd_fields_come_back() {
    for text in [
        r#"{"items":[]}"#,
        r#"{"items":[],"id":7,"title":null,"timestamp":"now","tags":[1],"sysPrompt":""}"#,
        r#"{"items":[{"type":"message","message":{"role":"user"}}]}"#,
        r#"{"items":[{"type":"message","id":5,"message":{"role":"user","content":null}}]}"#,
        r#"{"items":[{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"x"}]}}]}"#,
        r#"{"items":[{"type":"message","message":{"role":"assistant","content":""}}]}"#,
        r#"{"items":[{"type":"message","message":{"role":"assistant","content":[]}}]}"#,
        r#"{"items":[{"type":"message","message":{"role":"user","content":[{"type":"text","text":"x"}]}}]}"#,
        r#"{"items":[{"type":"message","message":{"role":"system","content":"x"}}]}"#,
        r#"{"items":[{"type":"message","id":"a","message":{"role":"system","content":"x"}}]}"#,
        r#"{"sysPrompt":"a","items":[{"type":"message","id":"a","message":{"role":"system","content":"x"}}]}"#,
        r#"{"items":[{"type":"message","author":"b","message":{"role":"system","content":"x"}}]}"#,
        r#"{"items":[{"type":"message","usage":{"prompt_tokens":1,"cached":2},"timestamp":1.5,"hidden":0,"author":null,"message":{"role":"user","content":7}}]}"#,
        r#"{"items":[{"type":"message","message":{"role":"user","content":[{"type":"image_url","image_url":"x"},{"type":"image_url","image_url":{"url":"x"},"more":1}]}}]}"#,
    ] {
        check_json(text);
    }
}

#[test]
fn items_of_unknown_kinds_are_kept_and_reported() {
    let text = r#"{"items":[{"type":"note","x":1},7,{"type":"message"},{"type":"message","message":{"role":"judge"}}]}"#;
    check_json(text);
    let (_, decoded) = read_json(text.as_bytes());
    let codes: Vec<_> = decoded
        .problems
        .iter()
        .map(|problem| &*problem.code)
        .collect();
    assert_eq!(codes, ["unknown-item"; 4]);
}

#[test]
fn other_json_is_a_problem() {
    for bytes in [&b"[]"[..], b"", b"{", b"\xff", b"{}", br#"{"items":{}}"#] {
        let (_, decoded) = read_json(bytes);
        assert_eq!(decoded.problems[0].code, "not-a-chat-session");
    }
    let deep = format!(
        "{{\"items\":[{}{}]}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(read_json(deep.as_bytes()).1.messages.len(), 1);
}

#[test]
fn json_and_markdown_give_the_same_conversation() {
    let markdown = "> ---\n> <SYSTEM />\n\nBe brief.\n\n> ---\n> <USER author=\"me\" timestamp=\"2025-05-07 14:01:32\" />\n\nHi\n\n> ---\n> <SEPERATOR />\n\n> ---\n> <ASSISTANT author=\"m\" prompt=\"3\" completion=\"5\" />\n\nHo\n";
    let document = decode(markdown);
    let before = messages(&document, &"s".into()).messages;
    let (text, losses) = write_json(&before, &document.session());
    assert_eq!(losses, vec![]);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["sysPrompt"], json!("Be brief."));
    assert_eq!(value["items"][1]["type"], json!("seperator"));
    let (session, decoded) = read_json(text.as_bytes());
    assert_eq!(decoded.messages, before);
    let (again, losses) = encode(&decoded.messages, &session, Dialect::Ours);
    assert_eq!(losses, vec![]);
    assert_eq!(messages(&decode(again), &"s".into()).messages, before);
}

fn object() -> BoxedStrategy<String> {
    let name = select(vec![
        "type",
        "id",
        "message",
        "author",
        "timestamp",
        "usage",
        "hidden",
        "items",
        "sysPrompt",
        "title",
        "tags",
        "preamble",
        "content_shape",
        "role",
        "content",
        "x",
    ]);
    let value = prop_oneof![
        2 => json(),
        3 => select(vec![
            "\"message\"", "\"seperator\"", "\"separator\"", "\"a\"", "5", "true", "[]", "\"text\"",
            r#"{"role":"user","content":"x"}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"x"}],"content":3}"#,
            r#"{"role":"tool","content":"x","tool_call_id":7}"#,
            r#"[{"type":"message","message":{"role":"assistant","content":"x"},"id":"a"}]"#,
        ]).prop_map(str::to_string),
    ];
    vec((name, value), 0..8)
        .prop_map(|fields| {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("\"{name}\":{value}"))
                .collect();
            format!("{{{}}}", fields.join(","))
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(512)))]

    #[test]
    fn any_item_comes_back(items in vec(object(), 0..3)) {
        let text = format!("{{\"id\":\"s\",\"items\":[{}]}}", items.join(","));
        let (session, decoded) = read_json(text.as_bytes());
        let (written, losses) = write_json(&decoded.messages, &session);
        let (again, same) = read_json(written.as_bytes());
        // Of a repeated key only the last says anything.
        let lost = losses.iter().any(|loss| loss.message.is_some());
        prop_assert_eq!(!lost, same.messages == decoded.messages, "{:?} {}", losses, written);
        prop_assert_eq!(again, session);
    }

    #[test]
    fn any_bytes_are_read(bytes in vec(any::<u8>(), 0..64), text in object()) {
        read_json(&bytes);
        let (session, decoded) = read_json(text.as_bytes());
        write_json(&decoded.messages, &session);
    }

    #[test]
    fn any_conversation_comes_back_apart_from_its_losses(conversation in vec(message(), 0..5)) {
        let (text, losses) = write_json(&conversation, &ChatSessionInfo::default());
        let id = conversation.first().map(|first| first.session_id.clone()).unwrap_or_default();
        let expected = reduce(&conversation, &id, &ChatTarget::Json).messages;
        let (_, read) = read_json(text.as_bytes());
        prop_assert_eq!(&read.messages, &expected, "{}", text);
        prop_assert_eq!(losses.is_empty(), read.messages == conversation, "{:#?}", losses);
    }
}
