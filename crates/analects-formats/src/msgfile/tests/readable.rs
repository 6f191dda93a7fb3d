//! A readable file has the words of a conversation, in the same order on every branch.

use analects_core::{
    Block, Content, History, Json, Message, RedactedThinking, SessionId, Text, Thinking, ToolUse,
    Tree,
};
use analects_testkit::values::message;

use super::round_trips::{hostile, tool_talk};
use super::*;
use crate::msgfile::{LeftBehind, encode_readable};

fn written(conversation: &[Message]) -> (String, LeftBehind) {
    let (file, left_behind) = encode_readable(conversation, &mut CountingIds::default());
    (String::from_utf8(file).unwrap(), left_behind)
}

/// What somebody said: the side that it stands on, its texts, calls and results, one line each.
fn words(message: &Message) -> Vec<String> {
    let side = match &message.body {
        Body::Assistant(_) | Body::ToolUse(_) => "agent",
        Body::User(_) | Body::ToolResult(_) => "user",
        body => body.type_name(),
    };
    let line = |what: &str, text: &str| format!("{side} {what}: {text}");
    let said = |text: &Text| {
        let text = text.as_str();
        (!text.is_empty()).then(|| line("text", &text))
    };
    let block = |block: &Block| match block {
        Block::Text(block) => said(&block.text),
        Block::Thinking(block) => said(&block.thinking),
        Block::RedactedThinking(_) => None,
        Block::ToolUse(call) => Some(line("call", &format!("{} {:?}", call.name, call.input))),
        Block::ToolResult(result) => Some(line(
            "result",
            &format!("{} {}", result.tool_use_id, result.content.text()),
        )),
        other => Some(line("block", &other.to_json())),
    };
    match &message.body {
        Body::Summary(summary) => said(&summary.text).into_iter().collect(),
        Body::ToolUse(call) => block(&Block::ToolUse(call.clone())).into_iter().collect(),
        Body::ToolResult(result) => block(&Block::ToolResult(result.clone()))
            .into_iter()
            .collect(),
        Body::CompactBoundary(_) => vec![line("boundary", "")],
        Body::User(_) | Body::Assistant(_) => match message.body.content() {
            Some(Content::Text(text)) => said(text).into_iter().collect(),
            Some(Content::Blocks(blocks)) => blocks.iter().filter_map(block).collect(),
            _ => Vec::new(),
        },
        Body::System(_) | Body::Attachment(_) | Body::Notification(_) => {
            said(&Text::from(message.text())).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// For each message that says something, what it says, and the words on the way to it.
fn branches(conversation: &[Message]) -> Vec<Vec<Vec<String>>> {
    let tree = Tree::of(conversation);
    let says: Vec<Vec<String>> = conversation.iter().map(words).collect();
    let is_said = |at: &usize| !says[*at].is_empty();
    let way = |at: usize| {
        tree.ancestors(at)
            .filter(is_said)
            .map(|at| says[at].clone())
            .collect()
    };
    (0..conversation.len()).filter(is_said).map(way).collect()
}

#[track_caller]
fn check(conversation: &[Message]) -> String {
    let (file, _) = written(conversation);
    let read = messages(&decode(file.as_str()), &SessionId::default());
    assert_eq!(branches(&read.messages), branches(conversation), "{file}");
    assert!(
        !file.contains("uuid=") && !file.contains("[details]"),
        "{file}"
    );
    assert!(!file.contains("json=\"message\""), "{file}");
    file
}

#[test]
fn a_conversation_reads_as_if_it_had_been_held_in_the_file() {
    let (file, left_behind) = written(&tool_talk());
    assert_eq!(check(&tool_talk()), file);
    let lines: Vec<&str> = file.lines().filter(|line| line.starts_with("[^")).collect();
    assert_eq!(
        lines,
        [
            "[^1]: [markdown]",
            "[^2.think]: [coder]",
            "[^2]: [coder] tokens=19/9",
            "[^2.n0000004]: [tool] name=\"weather\" call_id=\"toolu_1\"",
            "[^2.n0000004.1]: [tool] status=\"success\"",
            "[^3]: [markdown] part=\"2.n0000004.1\"",
            "[^4]: [coder]",
        ]
    );
    assert_eq!(left_behind.to_string(), "1 provider detail, 1 signature");
}

#[test]
fn what_stays_behind_is_counted_by_kind() {
    let opaque = |text: &str| Thinking {
        thinking: text.into(),
        ..Thinking::default()
    };
    let redacted = RedactedThinking {
        data: "x".into(),
        ..RedactedThinking::default()
    };
    let blocks = vec![
        Block::RedactedThinking(redacted),
        Block::Thinking(opaque("")),
        Block::Thinking(Thinking {
            signature: Some("s".into()),
            ..opaque("hm")
        }),
        Block::from_text("So."),
    ];
    let mut answer = Message::assistant("b", Content::Blocks(blocks));
    answer.response_id = Some("r".into());
    answer.duration_ms = Some(5);
    answer.extra.push("tier", analects_core::Raw::string("x"));
    let other = Message::new("c", Body::Other(analects_core::Other::default()));
    let (file, left_behind) = written(&[answer, other]);
    assert_eq!(
        left_behind,
        LeftBehind {
            provider_details: 3,
            signatures: 1,
            encrypted_reasoning: 2,
            other_records: 1,
            links_to_later: 0
        }
    );
    assert_eq!(file.matches("# %%%").count(), 2, "{file}");
    let line = "3 provider details, 1 signature, 2 encrypted thoughts, 1 other record";
    assert_eq!(left_behind.to_string(), line);
}

#[test]
fn a_branch_that_hangs_on_what_stays_behind_hangs_on_what_was_before_it() {
    let after = |id: &str, parent: &str| Message {
        parent_id: Some(parent.into()),
        ..Message::user(id, format!("text {id}"))
    };
    let state = Message {
        parent_id: Some("a".into()),
        ..Message::new("s", Body::Other(analects_core::Other::default()))
    };
    let talk = [
        Message::user("a", "text a"),
        after("b", "a"),
        state,
        after("c", "s"),
    ];
    let file = check(&talk);
    assert!(file.contains("[^3]: [markdown] parent=1\n"), "{file}");
    assert_eq!(file.matches("parent=").count(), 1, "{file}");
}

#[test]
fn what_was_taken_back_is_hidden() {
    let tombstone = analects_core::Tombstone {
        target: "a".into(),
        target_parent: None,
    };
    let talk = [
        Message::user("a", "oops"),
        Message::new("t", Body::Tombstone(tombstone)),
    ];
    let (file, left_behind) = written(&talk);
    let read = messages(&decode(file), &SessionId::default()).messages;
    assert_eq!((read.len(), read[0].history), (1, History::Exclude));
    assert_eq!(left_behind.other_records, 1);
}

/// Each message follows an earlier one, or nobody.
fn grown(mut messages: Vec<Message>, parents: &[usize]) -> Vec<Message> {
    for at in 0..messages.len() {
        messages[at].id = format!("m{at}").into();
        messages[at].agent_id = None;
        let parent = parents[at] % (at + 1);
        messages[at].parent_id = parent.checked_sub(1).map(|at| format!("m{at}").into());
    }
    messages
}

proptest! {
    #[test]
    fn every_branch_says_the_same_in_the_same_order(
        conversation in proptest::collection::vec(prop_oneof![message(), hostile()], 0..6),
        parents in proptest::collection::vec(0..6_usize, 6),
    ) {
        check(&grown(conversation, &parents));
    }
}

/// A call that no cell can say keeps its place.
#[test]
fn a_call_that_is_no_xml_is_a_block() {
    let input = analects_core::Raw::parse("[1]").unwrap();
    let call = ToolUse {
        id: "c".into(),
        name: "f".into(),
        input,
        extra: Default::default(),
    };
    check(&[Message::assistant(
        "a",
        Content::Blocks(vec![Block::ToolUse(call)]),
    )]);
}

#[test]
fn a_link_to_a_later_message_is_counted() {
    let follows = |id: &str, parent: &str, message: Message| {
        let parent_id = Some(parent.into()).filter(|_| !parent.is_empty());
        Message {
            id: id.into(),
            parent_id,
            ..message
        }
    };
    let talk = [
        follows("u1", "", Message::user("", "first")),
        follows("u2", "a1", Message::user("", "second")),
        follows("a1", "u1", Message::assistant("", "one")),
        follows("a2", "u2", Message::assistant("", "two")),
    ];
    let (file, left_behind) = written(&talk);
    assert_eq!(
        left_behind.to_string(),
        "1 link to a later message",
        "{file}"
    );
    let in_order = [
        talk[0].clone(),
        talk[2].clone(),
        talk[1].clone(),
        talk[3].clone(),
    ];
    assert!(written(&in_order).1.is_empty());
}

#[test]
fn a_boundary_before_its_summary_compacts_as_one_after_it_does() {
    let parsed = |json: &str| Message::from_json(json).unwrap();
    let conversation = [
        Message::user("u1", "Please."),
        parsed(r#"{"v":1,"type":"compact_boundary","id":"c1","parent_id":"u1","summary_id":"s1"}"#),
        parsed(r#"{"v":1,"type":"summary","id":"s1","parent_id":"c1","text":"We talked."}"#),
        parsed(r#"{"v":1,"type":"user","id":"u2","parent_id":"s1","content":"Go on."}"#),
    ];
    let seen = |messages: &[Message]| -> Vec<String> {
        let chain = analects_core::chain(messages);
        assert_eq!(chain.problems, []);
        chain.messages.iter().flat_map(|it| words(it)).collect()
    };
    let (file, left_behind) = written(&conversation);
    assert!(left_behind.is_empty(), "{left_behind:?}");
    let read = messages(&decode(file.clone()), &SessionId::default()).messages;
    assert_eq!(seen(&read), seen(&conversation), "{file}");
    assert!(file.contains("[summary] through=1"), "{file}");
    assert!(!file.contains("boundary"), "{file}");
}
