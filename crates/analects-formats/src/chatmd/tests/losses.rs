//! Whatever has no place is listed as lost, with its message and name.

use analects_core::{
    Assistant, CompactBoundary, StopReason, Summary, Thinking, ToolResult, ToolUse, User,
};
use analects_testkit::values::message;

use super::*;

/// What is lost of a message, by name.
fn lost(message: &Message, dialect: Dialect) -> Vec<String> {
    let (_, losses) = encode(
        std::slice::from_ref(message),
        &ChatSessionInfo::default(),
        dialect,
    );
    assert!(
        losses
            .iter()
            .all(|loss| loss.message.is_none() || loss.message == Some(message.id.clone()))
    );
    losses.into_iter().map(|loss| loss.what).collect()
}

#[track_caller]
fn check(message: Message, expected: &[&str]) {
    assert_eq!(lost(&message, Dialect::Ours), expected);
}

fn answer(blocks: Vec<Block>) -> Message {
    let content = Content::Blocks(blocks);
    Message::new(
        "a",
        Body::Assistant(Assistant {
            content,
            stop_reason: Some(StopReason::EndTurn),
        }),
    )
}

fn hello() -> Message {
    Message::user("a", "hello")
}

#[test]
fn fields_without_a_place() {
    check(hello(), &[]);
    check(
        Message {
            model: Some("m".into()),
            ..hello()
        },
        &["form"],
    );
    check(
        Message {
            cost_usd: Some(0.1),
            duration_ms: Some(3),
            ..hello()
        },
        &["cost_usd", "duration_ms"],
    );
    check(
        Message {
            response_id: Some("r".into()),
            ..hello()
        },
        &["response_id"],
    );
    check(
        Message {
            history: History::Exclude,
            ..hello()
        },
        &["history"],
    );
    check(
        Message {
            agent_id: Some("x".into()),
            ..hello()
        },
        &["agent_id"],
    );
    check(
        Message {
            is_api_error_message: true,
            ..hello()
        },
        &["is_api_error_message"],
    );
    check(
        Message {
            parent_id: Some("before".into()),
            ..hello()
        },
        &["parent_id"],
    );
    let usage = TokenUsage {
        cache_read_input_tokens: Some(1),
        ..TokenUsage::default()
    };
    check(
        Message {
            usage: Some(usage.into()),
            ..hello()
        },
        &["usage"],
    );
    let mut odd = hello();
    odd.extra.push("n", Raw::parse("5").unwrap());
    odd.extra.push("id", Raw::string("x"));
    odd.extra.push("fine", Raw::string("x"));
    odd.unknown.push("later", Raw::string("x"));
    check(odd, &["extra.n", "extra.id", "later"]);
    let user = User {
        content: "x".into(),
        command_name: Some("/x".into()),
        ..User::default()
    };
    check(Message::new("a", Body::User(user)), &["command_name"]);
}

#[test]
fn blocks_without_a_place() {
    let call = ToolUse {
        id: "t".into(),
        name: "weather".into(),
        input: Raw::empty_object(),
        extra: Default::default(),
    };
    let thinking = Thinking {
        thinking: "hm".into(),
        ..Thinking::default()
    };
    let blocks = vec![
        Block::Thinking(thinking),
        Block::from_text("x"),
        Block::ToolUse(call.clone()),
    ];
    check(answer(blocks), &["thinking", "tool_use weather"]);
    check(Message::new("a", Body::ToolUse(call)), &["tool_use"]);
    check(
        answer(vec![Block::from_text("x"), Block::from_text("y")]),
        &["spacing", "spacing"],
    );
    let mut stopped = answer(vec![]);
    if let Body::Assistant(body) = &mut stopped.body {
        body.stop_reason = Some(StopReason::MaxTokens);
    }
    check(stopped, &["stop_reason"]);
}

#[test]
fn messages_without_a_place_are_left_out() {
    check(
        Message::new("a", Body::Summary(Summary::default())),
        &["summary"],
    );
    check(
        Message::new("a", Body::CompactBoundary(CompactBoundary::default())),
        &["compact_boundary"],
    );
    let summary = Message::new("a", Body::Summary(Summary::default()));
    assert_eq!(
        encode(&[summary], &ChatSessionInfo::default(), Dialect::Ours).0,
        ""
    );
}

#[test]
fn results_become_items_of_their_own() {
    let result = |id: &str| {
        Block::ToolResult(ToolResult {
            tool_use_id: id.into(),
            content: "42".into(),
            ..ToolResult::default()
        })
    };
    let blocks = vec![result("t"), result("u"), Block::from_text("and now?")];
    let message = Message::user("a", blocks);
    assert_eq!(lost(&message, Dialect::Ours), ["grouping"]);
    let (text, _) = encode(&[message], &ChatSessionInfo::default(), Dialect::Ours);
    let names: Vec<String> = decode(text)
        .items()
        .map(|item| item.name().into())
        .collect();
    assert_eq!(names, ["TOOL", "TOOL", "USER"]);
    // The plugin skips tools, and an empty message would say nothing.
    let only = Message::user("a", vec![result("t")]);
    let (text, losses) = encode(&[only], &ChatSessionInfo::default(), Dialect::V2);
    assert_eq!(
        (text.as_str(), losses[0].what.as_str()),
        ("", "tool_result")
    );
}

#[test]
fn what_the_plugin_cannot_read_is_listed_as_lost() {
    let check = |message: Message, expected: &[&str]| {
        assert_eq!(lost(&message, Dialect::V1), expected);
        assert_eq!(lost(&message, Dialect::V2), expected);
    };
    check(hello(), &["id"]);
    check(Message::user("a", "a > --- b"), &["id", "spacing"]);
    check(Message::user("a", "\n x \n"), &["id", "spacing"]);
    check(Message::user("a", "```\nopen"), &["id", "spacing"]);
    check(
        Message {
            author: Some("a \"b\"".into()),
            ..hello()
        },
        &["id", "author"],
    );
    let time = Some("2025-05-07T14:01:32.5Z".parse().unwrap());
    check(
        Message {
            created_at: time,
            ..hello()
        },
        &["id", "created_at"],
    );
    check(
        Message::new("a", Body::ToolResult(ToolResult::default())),
        &["tool_result"],
    );
}

/// Nothing that the plugin would split at, or take for a picture, is left.
#[test]
fn the_plugins_files_have_no_stray_separators() {
    let text = "> ---\n> <USER />\n`> ---` > -----";
    let (file, _) = encode(
        &[Message::user("a", text)],
        &ChatSessionInfo::default(),
        Dialect::V2,
    );
    assert_eq!(file.matches("> ---").count(), 1, "{file}");
}

proptest! {
    /// A loss names its message, and says something.
    #[test]
    fn losses_say_what_and_why(conversation in proptest::collection::vec(message(), 0..4)) {
        for dialect in [Dialect::Ours, Dialect::V1] {
            let (_, losses) = encode(&conversation, &ChatSessionInfo::default(), dialect);
            for loss in losses {
                prop_assert!(!loss.what.is_empty() && !loss.why.is_empty());
                prop_assert!(!loss.why.ends_with('.') && !loss.why.starts_with(char::is_uppercase));
            }
        }
    }
}
