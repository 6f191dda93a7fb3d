//! Plans: what goes out, in which turns, and what stays.

use analects_core::{
    Agent, Block, Body, Content, History, Json, Message, Notification, Raw, System, Thinking,
    ToolResult, chain,
};

use super::*;

/// Links the messages and plans them: `role: content` for every turn, `id: reason` for what stays.
#[track_caller]
fn check(mut messages: Vec<Message>, expected: &[&str]) -> Plan {
    for at in 1..messages.len() {
        messages[at].parent_id = Some(messages[at - 1].id.clone());
    }
    let plan = plan(&chain(&messages), &Agent::of_model("quick", "m"));
    let turns = plan
        .request
        .turns
        .iter()
        .map(|turn| format!("{}: {}", turn.role.as_str(), turn.content.to_json()));
    let stays = plan
        .rows
        .iter()
        .filter_map(|row| row.left_out.map(|reason| format!("{}: {reason}", &*row.id)));
    assert_eq!(turns.chain(stays).collect::<Vec<_>>(), expected);
    plan
}

#[test]
fn a_conversation_goes_out_in_turns() {
    let plan = check(
        vec![
            Message::user("a", "one"),
            Message::assistant("b", "two"),
            Message::user("c", "three"),
        ],
        &["user: \"one\"", "assistant: \"two\"", "user: \"three\""],
    );
    assert_eq!(plan.request.model, "m");
    assert_eq!(plan.request.temperature, Some(0.7));
    assert_eq!(plan.request.max_output_tokens, Some(8192));
}

#[test]
fn what_one_side_says_in_a_row_is_one_turn() {
    check(
        vec![Message::user("a", "one"), Message::user("b", "two")],
        &[r#"user: [{"type":"text","text":"one"},{"type":"text","text":"two"}]"#],
    );
}

#[test]
fn what_is_not_for_the_model_stays_with_its_reason() {
    let error = Message { is_api_error_message: true, ..Message::assistant("e", "overloaded") };
    let hidden = Message { history: History::Exclude, ..Message::user("h", "secret") };
    let short = Message { history: History::Summary, ..Message::user("s", "long") };
    let notice = Message::new("n", Body::Notification(Notification::default()));
    let empty = Message::assistant("m", "");
    check(
        vec![hidden, short, notice, error, empty, Message::user("u", "hi")],
        &[
            "user: \"hi\"",
            "h: history=exclude",
            "s: history=summary, and it has no summary yet",
            "n: not part of what a model reads",
            "e: reports an error",
            "m: empty",
        ],
    );
}

#[test]
fn system_messages_go_before_the_conversation() {
    let system = Message::new("s", Body::System(System { content: "be brief".into() }));
    let plan = check(vec![system, Message::user("u", "hi")], &["user: \"hi\""]);
    assert_eq!(
        plan.request.system.map(|text| text.as_str().into_owned()).as_deref(),
        Some("be brief")
    );
}

#[test]
fn another_agents_reply_is_passed_on_as_text() {
    let mut other = Message::assistant("b", "I would sort it.");
    other.author = Some("coder".into());
    let mut own = Message::assistant("d", "Agreed.");
    own.author = Some("quick".into());
    let talk = vec![Message::user("a", "what now?"), other, Message::user("c", "and you?"), own];
    check(
        talk,
        &[
            r#"user: [{"type":"text","text":"what now?"},{"type":"text","text":"[coder]: I would sort it."},{"type":"text","text":"and you?"}]"#,
            "assistant: \"Agreed.\"",
        ],
    );
}

#[test]
fn a_summary_stands_for_its_message() {
    let mut message = Message { history: History::Summary, ..Message::user("s", "very long") };
    message.extra.push("summary", Raw::string("short"));
    check(vec![message], &["user: \"short\""]);
}

#[test]
fn a_result_without_its_call_is_not_sent() {
    let result = ToolResult { tool_use_id: "gone".into(), ..ToolResult::default() };
    let content = Content::Blocks(vec![Block::ToolResult(result), Block::from_text("hi")]);
    check(vec![Message::user("a", content)], &[r#"user: [{"type":"text","text":"hi"}]"#]);
}

#[test]
fn what_two_models_said_is_two_turns() {
    let by = |id: &str, model: &str, thought: &str| {
        let thought =
            Thinking { thinking: thought.into(), signature: Some("s".into()), ..<_>::default() };
        let content = Content::Blocks(vec![Block::Thinking(thought), Block::from_text(id)]);
        Message { model: Some(model.into()), ..Message::assistant(id, content) }
    };
    let talk = vec![
        Message::user("a", "one"),
        by("b", "gpt-5", "x"),
        by("c", "gpt-5", "y"),
        by("d", "claude-opus-4-1", "z"),
    ];
    let said = |text: &str, thought: &str| {
        format!(
            r#"{{"type":"thinking","thinking":"{thought}","signature":"s"}},{{"type":"text","text":"{text}"}}"#
        )
    };
    let plan = check(
        talk,
        &[
            "user: \"one\"",
            &format!("assistant: [{},{}]", said("b", "x"), said("c", "y")),
            &format!("assistant: [{}]", said("d", "z")),
        ],
    );
    let models: Vec<_> = plan.request.turns.iter().map(|turn| turn.model.as_deref()).collect();
    assert_eq!(models, [None, Some("gpt-5"), Some("claude-opus-4-1")]);
}
