//! Files of the API, read and written.

use analects_core::{Body, Content, Message, Raw, Source};

use crate::convert::{ReadOptions, ReadOutput, WriteOptions, WriteOutput, format_by_id};

pub(crate) fn read(id: &str, text: &str) -> Vec<Message> {
    let mut out = ReadOutput::default();
    let mut reader = format_by_id(id)
        .unwrap()
        .reader(&ReadOptions::named("talk.json"))
        .unwrap();
    reader.feed(text.as_bytes(), &mut out);
    reader.finish(&mut out);
    assert_eq!(out.problems, []);
    out.messages
}

/// What is written of messages, and what is lost.
pub(crate) fn write(id: &str, name: &str, messages: &[Message]) -> (String, Vec<String>) {
    let mut out = WriteOutput::default();
    let options = WriteOptions {
        name: name.to_string(),
        ..WriteOptions::default()
    };
    let mut writer = format_by_id(id).unwrap().writer(&options).unwrap();
    messages
        .iter()
        .for_each(|message| writer.push(message, &mut out));
    writer.finish(&mut out);
    let lost = out
        .losses
        .iter()
        .map(|loss| format!("{}: {}", loss.what, loss.why));
    (String::from_utf8(out.bytes).unwrap(), lost.collect())
}

/// A file comes back as it was, apart from its layout.
fn check(text: &str, name: &str) {
    let (again, lost) = write("openai", name, &read("openai", text));
    assert_eq!(lost, Vec::<String>::new());
    assert_eq!(again, text);
}

#[test]
fn shapes_come_back() {
    check(
        "{\"messages\":[\n{\"role\":\"user\",\"content\":\"a\"}\n]}\n",
        "x.json",
    );
    check(
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n",
        "x.jsonl",
    );
    check("[\n{\"role\":\"user\",\"content\":\"a\"}\n]\n", "x.json");
    check(
        "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n",
        "x",
    );
    let line = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n";
    check(&line.repeat(3), "x.jsonl");
    check(&line.repeat(2), "x.json");
    check("[\n{\"messages\":[]},\n{\"messages\":[]}\n]\n", "x.json");
    check("{\"messages\":[]}\n", "x.json");
}

#[test]
fn calls_and_results() {
    let text = r#"[{"role":"assistant","content":null,"tool_calls":[
        {"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}},
        {"id":"c2","type":"function","function":{"name":"g","arguments":"{oops"}}]},
        {"role":"tool","tool_call_id":"c1","content":"one"}]"#;
    let messages = read("openai", text);
    let Body::Assistant(answer) = &messages[1].body else {
        panic!("no answer")
    };
    let Content::Blocks(blocks) = &answer.content else {
        panic!("no blocks")
    };
    let [
        analects_core::Block::ToolUse(one),
        analects_core::Block::ToolUse(two),
    ] = &blocks[..]
    else {
        panic!("no calls")
    };
    assert_eq!(
        (&*one.id, &*one.name, one.input.as_str()),
        ("c1", "f", "{\"a\": 1}")
    );
    assert_eq!(
        (
            two.input.as_str(),
            two.extra.get("malformed_input").is_some()
        ),
        ("\"{oops\"", true)
    );
    let Body::ToolResult(result) = &messages[2].body else {
        panic!("no result")
    };
    assert_eq!(
        (&*result.tool_use_id, result.content.text()),
        ("c1", "one".to_string())
    );
}

#[test]
fn pictures() {
    let text = r#"[{"role":"user","content":[{"type":"text","text":"Look"},
        {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}}]}]"#;
    let Body::User(user) = &read("openai", text)[1].body else {
        panic!("no user")
    };
    let Content::Blocks(blocks) = &user.content else {
        panic!("no blocks")
    };
    let analects_core::Block::Image(image) = &blocks[1] else {
        panic!("no picture")
    };
    let expected = Source::Base64 {
        media_type: "image/png".into(),
        data: "AAAA".into(),
    };
    assert_eq!(Source::of(&image.source), Some(expected));
    assert_eq!(image.extra.get("detail"), Some(&Raw::string("low")));
}

#[test]
fn developers_and_names() {
    let text = r#"[{"role":"developer","content":"Be brief."},{"role":"user","name":"bob","content":"Hi"}]"#;
    let messages = read("openai", text);
    assert!(matches!(messages[1].body, Body::System(_)));
    assert_eq!(messages[2].author.as_deref(), Some("bob"));
    let (again, lost) = write("openai", "x.json", &messages);
    assert_eq!(lost, Vec::<String>::new());
    assert_eq!(
        again.replace('\n', ""),
        text.replace(
            "\"role\":\"developer\",\"content\":\"Be brief.\"",
            "\"content\":\"Be brief.\",\"role\":\"developer\""
        )
    );
}

#[test]
fn results_beside_text_become_messages_of_their_own() {
    let request = r#"{"messages":[
        {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},
        {"role":"user","content":[
        {"type":"tool_result","tool_use_id":"t1","content":"Rain","is_error":true},
        {"type":"text","text":"And now?"}]}]}"#;
    let messages = read("anthropic", request);
    let (text, lost) = write("openai", "x.jsonl", &messages);
    assert_eq!(
        text,
        "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"t1\",\"type\":\"function\",\
         \"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\
         {\"role\":\"tool\",\"content\":\"Rain\",\"tool_call_id\":\"t1\"},\
         {\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"And now?\"}]}]}\n"
    );
    assert_eq!(
        lost,
        [
            "grouping: results of tools become messages of their own",
            "is_error: there is no place for it",
        ]
    );
}

#[test]
fn a_message_that_was_edited_is_not_written_as_it_was() {
    let odd = r#"[{"role":"user","content":"a","name":"b","name":"c"}]"#;
    let mut messages = read("openai", odd);
    assert!(messages[1].extra.get("openai_message").is_some());
    let Body::User(user) = &mut messages[1].body else {
        panic!("no user")
    };
    user.content = Content::from("new");
    let (text, lost) = write("openai", "x.json", &messages);
    assert!(
        text.contains("\"new\"") && !text.contains("\"a\""),
        "{text}"
    );
    assert!(!lost.is_empty());
}

#[test]
fn thoughts_have_no_place_and_nothing_else_changes() {
    let request = r#"{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"s"},
        {"type":"text","text":"Hi"}]}]}"#;
    let (_, lost) = write("openai", "x.json", &read("anthropic", request));
    let thinking = "thinking: there is no place for such a block; it is left out";
    assert_eq!(lost, [thinking]);
}

#[test]
fn a_request_is_the_conversation_that_goes_on() {
    let said = |id: &str, parent: Option<&str>| Message {
        parent_id: parent.map(Into::into),
        ..Message::user(id, format!("text {id}"))
    };
    let side = Message {
        agent_id: Some("helper".into()),
        ..said("s", Some("a"))
    };
    let messages = [
        said("a", None),
        said("b", Some("a")),
        side,
        said("c", Some("b")),
        said("d", Some("a")),
    ];
    let (text, lost) = write("openai", "x.json", &messages);
    let texts = ["a", "b", "s", "c", "d"].map(|id| text.contains(&format!("text {id}")));
    assert_eq!(texts, [true, false, false, false, true], "{text}");
    let branch = "message: it is on another branch, so it is left out";
    let side = "message: it is in a side chain, so it is left out";
    assert_eq!(
        lost.iter().filter(|lost| *lost == branch).count(),
        2,
        "{lost:?}"
    );
    assert_eq!(
        lost.iter().filter(|lost| *lost == side).count(),
        1,
        "{lost:?}"
    );
    // Where nobody says what follows what, everything is one conversation.
    let (text, _) = write("openai", "x.json", &[said("a", None), said("b", None)]);
    assert!(text.contains("text a") && text.contains("text b"), "{text}");
}
