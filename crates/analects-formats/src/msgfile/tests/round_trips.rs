//! Any conversation becomes a message file and comes back as it was.

use analects_core::testing::message;
use analects_core::{
    Assistant, Block, Content, Json, Message, Raw, RawMap, SessionId, Text, Thinking, TokenUsage,
    ToolResult, ToolUse, User,
};

use super::*;

#[track_caller]
fn check(conversation: &[Message]) -> String {
    let bytes = encode(conversation, &mut CountingIds::default());
    let document = decode(bytes.as_slice());
    let decoded = messages(&document, &SessionId::default());
    assert_eq!(decoded.messages, conversation, "{}", String::from_utf8_lossy(&bytes));
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
    let body = Body::Assistant(Assistant { content, stop_reason: Some(stop) });
    Message { author: Some("coder".into()), ..Message::new(id, body) }
}

fn raw(json: &str) -> Raw {
    Raw::parse(json).unwrap()
}

fn tool_talk() -> Vec<Message> {
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
    let blocks =
        vec![Block::Thinking(thinking), Block::from_text("Let me look."), Block::ToolUse(call)];
    let mut asked = answer("b", blocks, StopReason::ToolUse);
    asked.usage = Some(TokenUsage {
        input_tokens: Some(12),
        output_tokens: Some(9),
        cache_read_input_tokens: Some(7),
        ..TokenUsage::default()
    });
    let results = Content::Blocks(vec![Block::ToolResult(result), Block::from_text("and now?")]);
    let results = Message::new("c", Body::User(User { content: results, ..User::default() }));
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
        "[coder] reasoning=1 uuid=\"b\" input_tokens=12 output_tokens=9",
        "hm\n\\# %%\n",
        "[coder] part=2\n\nLet me look.\n",
        "[tool] name=\"weather\" call_id=\"toolu_1\"\n\n<invoke name=\"weather\">\n",
        "[tool] status=\"success\" uuid=\"c\"\n\nsunny\n",
        "\n# %% [^",
        "[residue] history=\"none\"",
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
    assert_eq!(decoded.problems[0].code, "stale-residue");
    let json = decoded.messages[1].to_json();
    assert!(json.contains("hmm") && !json.contains("c2VhbA=="), "{json}");
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
    assert!(file.contains("parent=1") && !file.contains("json="), "{file}");
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
            Message::new("b", Body::User(User { content: shape.clone(), ..User::default() })),
        ]));
        let body = Assistant { content: shape, stop_reason: None };
        check(&linked(vec![Message::user("a", "x"), Message::new("b", Body::Assistant(body))]));
    }
}

/// A message whose texts are likely to look like parts of this format.
fn hostile() -> BoxedStrategy<Message> {
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
