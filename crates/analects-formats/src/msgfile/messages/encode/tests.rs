//! What is known about cells without reading them is what reading them tells.

use analects_core::{
    Block, Content, CountingIds, Raw, RawMap, TextBlock, Thinking, TokenUsage, ToolResult, ToolUse,
    User,
};
use analects_testkit::values::message;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Compares both ways for each message of a conversation. Returns how many were known.
fn check(conversation: &[Message]) -> usize {
    let session = conversation
        .first()
        .map(|first| first.session_id.clone())
        .unwrap_or_default();
    let mut writer = ExactWriter::new(&session, CountingIds::default());
    let (mut file, mut tail) = (Vec::new(), Vec::new());
    let mut known = 0;
    for message in conversation {
        known += usize::from(is_known(&mut writer, message));
        writer.push(message, &mut file, &mut tail);
    }
    known
}

/// Whether the details of a message are known, which then are those that reading tells.
fn is_known(writer: &mut ExactWriter<'_>, message: &Message) -> bool {
    let state = writer.writer.state_before(message);
    let mut cells = writer.writer.cells(message);
    let name = cells.name().to_string();
    let is_taken = |cell: &NewCell| writer.cells.get(&cell.id).is_some();
    let is_json = cells.is_json() || cells.cells.iter().any(is_taken);
    cells.change_head(|head| writer.with_ids(head, message, &name));
    let known = writer.known_details(message, &cells).filter(|_| !is_json);
    if let Some(known) = &known {
        let read = writer.read_details(message, &cells).map(|details| {
            if details.is_empty() {
                String::new()
            } else {
                details_line(&name, &details)
            }
        });
        assert_eq!(read.as_ref(), Some(known), "{message:#?}\n{cells:#?}");
    }
    writer.writer.restore(state);
    known.is_some()
}

/// Blocks of an answer, as models give them: thoughts, words and calls, with fields of the provider.
fn answer_block() -> BoxedStrategy<Block> {
    let text = || prop_oneof![any::<String>(), Just("```\n# %% [^1]\n".to_string())];
    let extra = || {
        prop_oneof![
            Just(RawMap::new()),
            Just(RawMap::from([("cache_control", Raw::empty_object())])),
            Just(RawMap::from([("text", Raw::from(1_u64))])),
        ]
    };
    prop_oneof![
        (text(), extra()).prop_map(|(text, extra)| Block::Text(TextBlock {
            text: text.into(),
            extra
        })),
        (text(), any::<Option<String>>(), extra()).prop_map(|(text, signature, extra)| {
            Block::Thinking(Thinking {
                thinking: text.into(),
                signature,
                extra,
            })
        }),
        ("[a-c]", text(), extra()).prop_map(|(id, text, extra)| {
            Block::ToolUse(ToolUse {
                id,
                name: "f".into(),
                input: RawMap::from([("text", Raw::string(&text))]).to_raw(),
                extra,
            })
        }),
        Just(Block::Other(Raw::empty_object())),
    ]
    .boxed()
}

/// A result of one of the calls, or of none.
fn result_block() -> BoxedStrategy<Block> {
    let content = prop_oneof![
        any::<String>().prop_map(Content::from),
        vec(any::<String>().prop_map(Block::from_text), 0..3).prop_map(Content::Blocks),
        Just(Content::Empty),
    ];
    ("[a-d]", content, any::<Option<bool>>())
        .prop_map(|(tool_use_id, content, is_error)| {
            Block::ToolResult(ToolResult {
                tool_use_id,
                content,
                is_error,
                extra: RawMap::new(),
            })
        })
        .boxed()
}

/// A message of a session of Claude Code, or one that could be.
fn session_message() -> BoxedStrategy<Message> {
    let body = prop_oneof![
        vec(answer_block(), 0..4)
            .prop_map(|blocks| Message::assistant("", Content::Blocks(blocks))),
        vec(result_block(), 1..3).prop_map(|blocks| Message::user("", Content::Blocks(blocks))),
        any::<String>().prop_map(|text| Message::user("", text)),
        answer_block().prop_map(|block| Message::user("", Content::Blocks(vec![block]))),
    ];
    (body, message(), any::<bool>())
        .prop_map(|(message, other, is_bare)| {
            let mut message = Message {
                body: message.body,
                ..other
            };
            if is_bare {
                message.unknown = RawMap::new();
                message.spellings = RawMap::new();
                message.history = Default::default();
            }
            if let Body::User(User { source, .. }) = &mut message.body {
                *source = is_bare.then(|| "program".into());
            }
            message
        })
        .boxed()
}

/// Links most messages to the one before, and some to others.
fn linked(mut messages: Vec<Message>) -> Vec<Message> {
    for at in 1..messages.len() {
        if at % 3 > 0 {
            messages[at].agent_id = None;
            messages[at].parent_id = Some(messages[at - 1].id.clone());
        }
    }
    messages
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(1024)))]

    #[test]
    fn what_is_known_of_any_message_is_what_is_read(messages in vec(message(), 1..4)) {
        check(&linked(messages));
    }

    #[test]
    fn what_is_known_of_sessions_is_what_is_read(messages in vec(session_message(), 1..5)) {
        check(&linked(messages));
    }
}

#[test]
fn the_messages_of_a_usual_session_need_not_be_read() {
    let answer = |block: Block| {
        let mut message = Message::assistant("a", Content::Blocks(vec![block]));
        message.usage = Some(Box::new(TokenUsage {
            input_tokens: Some(3),
            output_tokens: Some(7),
            total_tokens: Some(10),
            cache_read_input_tokens: Some(5),
            ..TokenUsage::default()
        }));
        message.extra.push("requestId", Raw::string("req_1"));
        message
    };
    let call = Block::ToolUse(ToolUse {
        id: "t1".into(),
        name: "read".into(),
        input: Raw::empty_object(),
        extra: RawMap::new(),
    });
    let result = Block::ToolResult(ToolResult {
        tool_use_id: "t1".into(),
        content: "done".into(),
        ..ToolResult::default()
    });
    let thinking = Block::Thinking(Thinking {
        thinking: "Hm.".into(),
        signature: Some("c2ln".into()),
        ..Thinking::default()
    });
    let conversation = [
        Message::user("u", "Look."),
        answer(thinking),
        answer(Block::from_text("I look.")),
        answer(call),
        Message::user("r", Content::Blocks(vec![result])),
    ];
    assert_eq!(check(&conversation), conversation.len());
}
