//! Any conversation becomes a message file and comes back as it was.

use analects_core::{
    Assistant, Block, Content, Json, Message, Raw, RawMap, SessionId, Text, Thinking, TokenUsage,
    ToolResult, ToolUse, User,
};
use analects_testkit::values::message;

use super::*;

#[track_caller]
fn check(conversation: &[Message]) -> String {
    let bytes = encode(conversation, &mut CountingIds::default());
    let document = decode(bytes.as_slice());
    let decoded = messages(&document, &SessionId::default());
    assert_eq!(
        decoded.messages,
        conversation,
        "{}",
        String::from_utf8_lossy(&bytes)
    );
    String::from_utf8(bytes).unwrap()
}

/// Links messages into one conversation.
fn linked(mut messages: Vec<Message>) -> Vec<Message> {
    for at in 0..messages.len() {
        messages[at].session_id = "0197".into();
        messages[at].parent_id = at.checked_sub(1).map(|parent| messages[parent].id.clone());
    }
    messages
}

fn answer(id: &str, blocks: Vec<Block>, stop: StopReason) -> Message {
    let content = Content::Blocks(blocks);
    let body = Body::Assistant(Assistant {
        content,
        stop_reason: Some(stop),
    });
    Message {
        author: Some("coder".into()),
        ..Message::new(id, body)
    }
}

fn raw(json: &str) -> Raw {
    Raw::parse(json).unwrap()
}

pub(super) fn tool_talk() -> Vec<Message> {
    let mut thinking = Thinking {
        thinking: "hm\n# %%".into(),
        signature: Some("c2VhbA==".into()),
        ..Thinking::default()
    };
    thinking.extra.push("new", raw("1e400"));
    let call = ToolUse {
        id: "toolu_1".into(),
        name: "weather".into(),
        input: raw(r#"{"city":"Paris","days":3}"#),
        extra: RawMap::new(),
    };
    let result = ToolResult {
        tool_use_id: "toolu_1".into(),
        content: "sunny".into(),
        is_error: Some(false),
        extra: RawMap::new(),
    };
    let blocks = vec![
        Block::Thinking(thinking),
        Block::from_text("Let me look."),
        Block::ToolUse(call),
    ];
    let mut asked = answer("b", blocks, StopReason::ToolUse);
    let usage = TokenUsage {
        input_tokens: Some(12),
        output_tokens: Some(9),
        cache_read_input_tokens: Some(7),
        ..TokenUsage::default()
    };
    asked.usage = Some(usage.into());
    let results = Content::Blocks(vec![
        Block::ToolResult(result),
        Block::from_text("and now?"),
    ]);
    let results = Message::new(
        "c",
        Body::User(User {
            content: results,
            ..User::default()
        }),
    );
    linked(vec![
        Message::user("a", "What is the weather?"),
        asked,
        results,
        answer("d", vec![Block::from_text("Sunny.")], StopReason::EndTurn),
    ])
}

#[test]
fn a_conversation_with_tools_reads_well() {
    let file = check(&tool_talk());
    for piece in [
        "---\nid: \"0197\"\n---\n",
        "# %%% [^2.think]\n\n[^2.think]: [coder]\n\nhm\n",
        "[^2]: [coder] input_tokens=12 output_tokens=9 cache_read_tokens=7 uuid=\"b\"\n",
        "hm\n\\# %%\n",
        "\n\nLet me look.\n\n# %%% [^2.n",
        "[tool] name=\"weather\" call_id=\"toolu_1\"\n\n<invoke name=\"weather\">\n",
        "[tool] status=\"success\" uuid=\"c\"\n\nsunny\n",
        "\n# %% [^",
        "# %%% [^details]\n\n[^details]: [details] history=\"none\"",
        "\"signature\":\"c2VhbA==\"",
    ] {
        assert!(file.contains(piece), "{piece} is not in\n{file}");
    }
    assert!(!file.contains("json=\"message\""), "{file}");
}

#[test]
fn an_edited_thought_loses_its_seal_and_says_so() {
    let file = check(&tool_talk()).replace("hm\n", "hmm\n");
    let decoded = messages(&decode(file), &SessionId::default());
    assert_eq!(decoded.problems[0].code, "stale-details");
    let json = decoded.messages[1].to_json();
    assert!(json.contains("hmm") && !json.contains("c2VhbA=="), "{json}");
}

#[test]
fn ordinary_tool_traffic_is_readable() {
    let mut call = answer(
        "b",
        vec![Block::ToolUse(ToolUse {
            id: "t".into(),
            name: "now".into(),
            input: raw("{}"),
            extra: RawMap::new(),
        })],
        StopReason::ToolUse,
    );
    call.author = None;
    call.extra.push("requestId", raw("\"req_1\""));
    let result = ToolResult {
        tool_use_id: "t".into(),
        content: vec![Block::from_text("noon")].into(),
        ..ToolResult::default()
    };
    let mut results = Message::user("c", vec![Block::ToolResult(result)]);
    results.extra.push("uuid", raw("7"));
    let mut resumed = Message::user("d", "and now?");
    let mut talk = linked(vec![Message::user("a", "what time?"), call, results]);
    resumed.parent_id = Some("c".into());
    resumed.session_id = "another".into();
    talk.push(resumed);
    talk.push(Message {
        parent_id: Some("d".into()),
        session_id: "0197".into(),
        author: None,
        ..answer("e", vec![Block::from_text("Noon.")], StopReason::EndTurn)
    });
    let file = check(&talk);
    assert!(
        !file.contains("json=") && !file.contains("[block]"),
        "{file}"
    );
    assert!(!file.contains("author="), "{file}");
    assert_eq!(file.matches("[details]").count(), 1, "{file}");
}

#[test]
fn a_cell_typed_above_takes_nobodys_name() {
    let file = check(&tool_talk());
    let at = file.find("# %%% [^2.think]").unwrap();
    let typed = format!("{}# %%\n\nps\n\n{}", &file[..at], &file[at..]);
    let before = messages(&decode(file), &SessionId::default()).messages;
    let after = messages(&decode(typed), &SessionId::default()).messages;
    assert_eq!(after[1].text(), "ps");
    assert!(after[1].extra.is_empty());
    let same = |a: &Message, b: &Message| (&a.id, &a.body, &a.extra) == (&b.id, &b.body, &b.extra);
    let kept = [&after[0], &after[2], &after[3], &after[4]];
    assert!(
        before
            .iter()
            .zip(kept)
            .all(|(before, after)| same(before, after)),
        "{after:#?}"
    );
}

#[test]
fn branches_and_side_chains_keep_their_parents() {
    let mut talk = linked(vec![
        Message::user("a", "one"),
        Message::user("b", "two"),
        Message::user("c", "three"),
        Message::user("d", "four"),
        Message::user("e", "five"),
    ]);
    talk[2].parent_id = Some("a".into());
    talk[3].agent_id = Some("helper".into());
    talk[3].parent_id = None;
    talk[4].parent_id = Some("c".into());
    let file = check(&talk);
    assert!(
        file.contains("parent=1") && !file.contains("json="),
        "{file}"
    );
}

#[test]
fn empty_contents_of_every_shape_come_back() {
    let shapes = [
        Content::Empty,
        "".into(),
        Content::Blocks(vec![]),
        Content::Blocks(vec![Block::from_text("")]),
        Content::Blocks(vec![Block::from_text(""), Block::from_text("x")]),
        Content::Blocks(vec![Block::from_text("x")]),
        Content::Text(Text::from_json(r#""\ud83d""#).unwrap()),
    ];
    for shape in shapes {
        check(&linked(vec![
            Message::user("a", "x"),
            Message::new(
                "b",
                Body::User(User {
                    content: shape.clone(),
                    ..User::default()
                }),
            ),
        ]));
        let body = Assistant {
            content: shape,
            stop_reason: None,
        };
        check(&linked(vec![
            Message::user("a", "x"),
            Message::new("b", Body::Assistant(body)),
        ]));
    }
}

/// A message whose texts are likely to look like parts of this format.
pub(super) fn hostile() -> BoxedStrategy<Message> {
    (message(), generate::text(), generate::text())
        .prop_map(|(mut message, text, name)| {
            message.author = Some(name);
            match &mut message.body {
                Body::User(body) => body.content = Content::from(text),
                Body::Assistant(body) => {
                    let blocks = vec![Block::from_text(text.clone()), Block::from_text(text)];
                    body.content = Content::Blocks(blocks);
                }
                _ => {}
            }
            message
        })
        .boxed()
}

proptest! {
    #[test]
    fn any_conversation_comes_back(
        conversation in proptest::collection::vec(prop_oneof![message(), hostile()], 0..6),
    ) {
        check(&conversation);
    }

    #[test]
    fn any_linked_conversation_comes_back(
        conversation in proptest::collection::vec(prop_oneof![message(), hostile()], 0..6),
    ) {
        check(&linked(conversation));
    }
}
