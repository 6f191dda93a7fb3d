//! What is written for an API is what the API accepts, whatever the conversation: the strict rules of the test kit find
//! nothing in it. The settings of a request (`model`, `max_tokens`) are no part of a conversation.
#![allow(clippy::unwrap_used, clippy::panic)]

use analects_core::{
    Assistant, Block, Body, Content, Image, Message, Raw, RawMap, Source, System, Text, Thinking,
    ToolResult, ToolUse, User,
};
use analects_formats::convert::{ReadOptions, ReadOutput, WriteOptions, WriteOutput, format_by_id};
use analects_testkit::conversations::{self, call, result};
use analects_testkit::{Rules, validate, values};
use proptest::collection::vec;
use proptest::prelude::*;

/// The APIs that a conversation can be written for.
const APIS: [(&str, Rules); 2] = [
    ("openai", Rules::OpenAiChat),
    ("anthropic", Rules::Anthropic),
];

/// Rules about what a conversation does not have.
const NOT_OF_A_CONVERSATION: [&str; 3] = ["model", "limit", "no-messages"];

/// One conversation, in which each message follows the one before.
fn linked(mut messages: Vec<Message>) -> Vec<Message> {
    for (at, message) in messages.iter_mut().enumerate() {
        message.session_id = "s".into();
        message.id = format!("m{at}").into();
        message.parent_id = at.checked_sub(1).map(|before| format!("m{before}").into());
    }
    messages
}

/// The request for an API, and the words about what it lacks.
fn written(id: &str, messages: &[Message]) -> (String, Vec<String>) {
    let mut out = WriteOutput::default();
    let options = WriteOptions {
        name: "talk.json".to_string(),
        ..WriteOptions::default()
    };
    let mut writer = format_by_id(id).unwrap().writer(&options).unwrap();
    for message in messages {
        writer.push(message, &mut out);
    }
    writer.finish(&mut out);
    let losses = out.losses.iter();
    let losses = losses.map(|loss| format!("{}: {}", loss.what, loss.why));
    (String::from_utf8(out.bytes).unwrap(), losses.collect())
}

/// What the strict rules find in the request for an API.
fn violations(id: &str, rules: Rules, messages: &[Message]) -> Vec<String> {
    let (request, _) = written(id, messages);
    validate(rules, request.as_bytes())
        .iter()
        .filter(|found| !NOT_OF_A_CONVERSATION.contains(&found.rule))
        .map(|found| format!("{id}: {found}\n{request}"))
        .collect()
}

/// Checks that both APIs accept a conversation, and gives what is said to be lost, by API.
fn check(bodies: Vec<Body>) -> [Vec<String>; 2] {
    let messages = bodies.into_iter().map(|body| Message::new("", body));
    let messages = linked(messages.collect());
    APIS.map(|(id, rules)| {
        assert_eq!(violations(id, rules, &messages), Vec::<String>::new());
        written(id, &messages).1
    })
}

fn user(content: impl Into<Content>) -> Body {
    Body::User(User {
        content: content.into(),
        ..User::default()
    })
}

fn assistant(content: impl Into<Content>) -> Body {
    Body::Assistant(Assistant {
        content: content.into(),
        stop_reason: None,
    })
}

fn system(content: impl Into<Content>) -> Body {
    Body::System(System {
        content: content.into(),
    })
}

fn other(json: &str) -> Block {
    Block::Other(Raw::parse(json).unwrap())
}

/// Text with half of a character.
fn half_text() -> Text {
    Text::from_raw(&Raw::parse(r#""half \ud83d""#).unwrap()).unwrap()
}

fn lists(lost: &[Vec<String>; 2], what: &str) -> bool {
    lost.iter()
        .all(|lost| lost.iter().any(|loss| loss.starts_with(what)))
}

#[test]
fn results_without_calls_and_calls_without_results() {
    let orphans = vec![
        user(vec![result("nobody", "lost")]),
        assistant(vec![call("c1", "read")]),
        user("And now?"),
        Body::ToolResult(ToolResult {
            tool_use_id: "nobody".into(),
            content: "lost again".into(),
            ..ToolResult::default()
        }),
        assistant(vec![call("c2", "read")]),
    ];
    let lost = check(orphans);
    assert!(
        lists(&lost, "tool_result: no call before it waits for it"),
        "{lost:?}"
    );
    assert!(lists(&lost, "grouping: a call has no result"), "{lost:?}");
}

#[test]
fn results_at_the_wrong_place_move_to_their_calls() {
    let late = vec![
        assistant(vec![call("c1", "read"), call("c2", "read")]),
        user("Wait."),
        user(vec![
            result("c2", "two"),
            Block::from_text("there"),
            result("c1", "one"),
        ]),
        assistant("Done. \n"),
    ];
    let lost = check(late.clone());
    assert!(
        lists(&lost, "order: a result moves to its call"),
        "{lost:?}"
    );
    let messages = late.into_iter().map(|body| Message::new("", body));
    let (request, _) = written("openai", &linked(messages.collect()));
    let position = |word| request.find(word).unwrap();
    assert!(position("\"one\"") < position("\"two\"") && position("\"two\"") < position("Wait."));
}

#[test]
fn ids_that_repeat_or_are_not_accepted() {
    let long = "x".repeat(80);
    let ids = [
        "same",
        "same",
        "",
        "",
        "täst.1",
        long.as_str(),
        long.as_str(),
    ];
    let mut bodies = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        bodies.push(assistant(vec![call(id, "my.tool"), call(id, "")]));
        bodies.push(user(vec![
            result(id, &format!("one {at}")),
            result(id, &format!("two {at}")),
        ]));
    }
    let lost = check(bodies.clone());
    assert!(lists(&lost, "form: the ids of calls"), "{lost:?}");
    // No result is lost or with another call.
    let messages = linked(
        bodies
            .into_iter()
            .map(|body| Message::new("", body))
            .collect(),
    );
    for (id, _) in APIS {
        let (request, _) = written(id, &messages);
        for at in 0..ids.len() {
            assert!(request.contains(&format!("one {at}")), "{request}");
            assert!(request.contains(&format!("two {at}")), "{request}");
        }
    }
}

#[test]
fn several_results_of_one_call_become_one() {
    let picture = conversations::png(1, 1);
    let bodies = vec![
        assistant(vec![call("c1", "read")]),
        user(vec![result("c1", "words")]),
        user(vec![Block::ToolResult(ToolResult {
            tool_use_id: "c1".into(),
            content: vec![picture, Block::from_text("more words")].into(),
            ..ToolResult::default()
        })]),
    ];
    check(bodies.clone());
    let messages = linked(
        bodies
            .into_iter()
            .map(|body| Message::new("", body))
            .collect(),
    );
    for (id, _) in APIS {
        let (request, lost) = written(id, &messages);
        assert!(
            request.contains("\"words\"") && request.contains("more words"),
            "{request}"
        );
        let joins = "grouping: several results of one call become one".to_string();
        assert!(lost.contains(&joins), "{lost:?}");
    }
}

#[test]
fn empty_and_blank_messages_are_left_out() {
    let lost = check(vec![
        user(Content::Empty),
        assistant(Content::Empty),
        assistant(Vec::new()),
        system(Content::Empty),
        user(Vec::new()),
        assistant(vec![Block::Thinking(Thinking::default())]),
        Body::ToolResult(ToolResult::default()),
    ]);
    assert!(lists(&lost, "thinking: there is no place"), "{lost:?}");
    check(vec![
        user(" \n"),
        assistant(""),
        system("\t"),
        user("Hi"),
        assistant("Hi "),
    ]);
}

#[test]
fn prompts_in_the_middle_and_models_that_speak_first() {
    check(vec![
        assistant("Hello"),
        system("Be brief."),
        assistant("Yes"),
        system("Now."),
    ]);
    check(vec![
        system("One."),
        system("Two."),
        user("Hi"),
        system("Three."),
        user("Hi?"),
    ]);
    let picture = vec![conversations::png(1, 1)];
    check(vec![
        system(picture.clone()),
        assistant(picture),
        user("Hi"),
    ]);
}

#[test]
fn blocks_that_an_api_does_not_know() {
    let blocks = vec![
        other(
            r#"{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"tea"}}"#,
        ),
        other(r#"{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}"#),
        other(r#"{"type":"web_search_tool_result","tool_use_id":"s9","content":[]}"#),
        other(r#"{"type":"server_tool_use","id":"s2","name":"web_search"}"#),
        other(r#"{"type":"audio","audio":{"id":"a1","transcript":"La la"}}"#),
        other(r#"{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}"#),
        other("42"),
        other(r#"{"no":"type"}"#),
        Block::from_text("Tea."),
    ];
    let lost = check(vec![
        user("Hi"),
        assistant(blocks.clone()),
        user(blocks.clone()),
        system(blocks.clone()),
        assistant(vec![call("c1", "f")]),
        user(vec![Block::ToolResult(ToolResult {
            tool_use_id: "c1".into(),
            content: blocks.into(),
            is_error: Some(true),
            ..ToolResult::default()
        })]),
    ]);
    assert!(lists(&lost, "block web_search_tool_result"), "{lost:?}");
}

#[test]
fn pictures_and_arguments_that_an_api_refuses() {
    let picture = |source: Source| {
        Block::Image(Image {
            source: source.to_raw(),
            extra: RawMap::from([("alt", Raw::string("tea"))]),
        })
    };
    let base64 = |media_type: &str| Source::Base64 {
        media_type: media_type.into(),
        data: "AAAA".into(),
    };
    let odd_call = |input: &str| {
        Block::ToolUse(ToolUse {
            id: format!("c{}", input.len()),
            name: "f".into(),
            input: Raw::parse(input).unwrap(),
            extra: RawMap::from([("mood", Raw::string("odd"))]),
        })
    };
    let lost = check(vec![
        user(vec![
            picture(Source::File("a.png".into())),
            picture(base64("image/tiff")),
            picture(base64("image/png")),
            picture(Source::Url("https://example.org/a.png".into())),
        ]),
        assistant(vec![
            odd_call("\"not an object\""),
            odd_call("[1]"),
            odd_call("{\"a\":\"\\ud83d\"}"),
        ]),
        user(Content::Text(half_text())),
    ]);
    assert!(lists(&lost, "image"), "{lost:?}");
}

#[test]
fn a_file_of_the_same_api_is_written_as_it_was() {
    let odd = "{\"messages\":[\n{\"role\":\"tool\",\"tool_call_id\":\"nobody\",\"content\":\"lost\"},\n\
        {\"role\":\"user\",\"content\":[]},\n\
        {\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\
        \"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\n{\"role\":\"user\",\"content\":\"Well?\"}\n]}\n";
    let mut out = ReadOutput::default();
    let mut reader = format_by_id("openai")
        .unwrap()
        .reader(&ReadOptions::named("talk.json"))
        .unwrap();
    reader.feed(odd.as_bytes(), &mut out);
    reader.finish(&mut out);
    let (again, lost) = written("openai", &out.messages);
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&again), value(odd));
    assert_eq!(lost, Vec::<String>::new());
}

proptest! {
    #[test]
    fn conversations_are_valid_requests(messages in conversations::history()) {
        for (id, rules) in APIS {
            let messages = linked(messages.clone());
            prop_assert_eq!(violations(id, rules, &messages), Vec::<String>::new());
        }
    }

    #[test]
    fn arbitrary_messages_are_valid_requests(messages in vec(values::message(), 0..6)) {
        for (id, rules) in APIS {
            let messages = linked(messages.clone());
            prop_assert_eq!(violations(id, rules, &messages), Vec::<String>::new());
        }
    }

    #[test]
    fn parts_of_conversations_in_any_order_are_valid_requests(
        messages in conversations::history().prop_shuffle()
    ) {
        for (id, rules) in APIS {
            let messages = linked(messages.clone());
            prop_assert_eq!(violations(id, rules, &messages), Vec::<String>::new());
        }
    }
}
