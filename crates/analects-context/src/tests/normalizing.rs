//! Conversations in the form in which they are sent.

use super::*;

/// Links and normalizes messages: `role: content` per turn, and `id: reason` per message that is left out.
#[track_caller]
fn check(messages: Vec<Message>, expected: &[&str]) -> NormalizedConversation {
    let messages = linked(messages);
    let chain = chain(&messages);
    let normalized = normalize_messages_for_api(&chain, &agent());
    let turns = normalized.turns.iter();
    let turns = turns.map(|turn| format!("{}: {}", turn.role.as_str(), turn.content.to_json()));
    let reasons = chain.messages.iter().zip(&normalized.left_out);
    let stays = reasons
        .filter_map(|(message, reason)| reason.map(|reason| format!("{}: {reason}", &*message.id)));
    assert_eq!(turns.chain(stays).collect::<Vec<_>>(), expected);
    normalized
}

fn by(id: &str, response: &str, content: impl Into<Content>) -> Message {
    let response_id = Some(response.to_string());
    Message {
        response_id,
        model: Some("m".into()),
        ..Message::assistant(id, content)
    }
}

fn tool(id: &str) -> Vec<Block> {
    vec![call(id, "echo")]
}

fn given(id: &str) -> Vec<Block> {
    vec![result(id, "ok")]
}

#[test]
fn what_is_not_for_the_model_stays_with_its_reason() {
    let error = Message {
        is_api_error_message: true,
        ..Message::assistant("e", "overloaded")
    };
    let hidden = Message {
        history: History::Exclude,
        ..Message::user("h", "secret")
    };
    let short = Message {
        history: History::Summary,
        ..Message::user("s", "long")
    };
    let notice = Message::new("n", Body::Notification(Notification::default()));
    let empty = Message::assistant("m", "");
    let normalized = check(
        vec![
            hidden,
            short,
            notice,
            error,
            empty,
            Message::user("u", "hi"),
        ],
        &[
            "user: \"hi\"",
            "h: hidden",
            "s: history=summary, and it has no summary yet",
            "n: not part of what a model reads",
            "e: reports an error",
            "m: empty",
        ],
    );
    assert_eq!(normalized.needs_summary, ["s".into()]);
}

#[test]
fn words_in_a_row_are_one_turn_and_progress_is_none() {
    let progress = Message::new("p", Body::Progress(Progress::default()));
    let mut messages = vec![
        by("a", "r1", vec![call("t1", "echo"), call("t2", "echo")]),
        Message::user("b", given("t1")),
        Message::user("c", given("t2")),
        Message::user("d", "meta"),
    ];
    messages.insert(0, Message::user("q", "go"));
    messages.push(progress);
    let normalized = check(
        messages,
        &[
            "user: \"go\"",
            r#"assistant: [{"type":"tool_use","id":"t1","name":"echo","input":{"path":"src/lib.rs"}},{"type":"tool_use","id":"t2","name":"echo","input":{"path":"src/lib.rs"}}]"#,
            r#"user: [{"type":"tool_result","tool_use_id":"t1","content":"ok"},{"type":"tool_result","tool_use_id":"t2","content":"ok"},{"type":"text","text":"meta"}]"#,
        ],
    );
    assert_eq!(normalized.mended, []);
}

#[test]
fn results_come_first_and_order_is_kept() {
    check(
        vec![
            Message::user("q", "go"),
            by("a", "r1", tool("t1")),
            Message::user("b", "note one"),
            Message::user("c", given("t1")),
            Message::user("d", "note two"),
        ],
        &[
            "user: \"go\"",
            r#"assistant: [{"type":"tool_use","id":"t1","name":"echo","input":{"path":"src/lib.rs"}}]"#,
            r#"user: [{"type":"tool_result","tool_use_id":"t1","content":"ok"},{"type":"text","text":"note one"},{"type":"text","text":"note two"}]"#,
        ],
    );
}

#[test]
fn parts_of_one_response_come_together() {
    let parts = |between: Message| {
        vec![
            Message::user("q", "go"),
            by("a", "X", tool("t1")),
            between,
            by("c", "X", "p2"),
        ]
    };
    check(
        parts(Message::user("b", given("t1"))),
        &[
            "user: \"go\"",
            r#"assistant: [{"type":"tool_use","id":"t1","name":"echo","input":{"path":"src/lib.rs"}},{"type":"text","text":"p2"}]"#,
            r#"user: [{"type":"tool_result","tool_use_id":"t1","content":"ok"}]"#,
        ],
    );
    // A user message in between keeps them apart.
    let texts = vec![
        Message::user("q", "go"),
        by("a", "X", "p1"),
        Message::user("b", "hey"),
        by("c", "X", "p2"),
    ];
    check(
        texts,
        &[
            "user: \"go\"",
            "assistant: \"p1\"",
            "user: \"hey\"",
            "assistant: \"p2\"",
        ],
    );
}

#[test]
fn an_error_that_a_model_returned_is_kept() {
    let error = |model: &str| Message {
        is_api_error_message: true,
        model: Some(model.into()),
        ..by("e", "r", "API Error: oops")
    };
    let talk = |model: &str| {
        vec![
            Message::user("a", "hi"),
            error(model),
            Message::user("b", "so?"),
        ]
    };
    check(
        talk("m"),
        &[
            "user: \"hi\"",
            "assistant: \"API Error: oops\"",
            "user: \"so?\"",
        ],
    );
    check(
        talk("<synthetic>"),
        &[
            r#"user: [{"type":"text","text":"hi"},{"type":"text","text":"so?"}]"#,
            "e: reports an error",
        ],
    );
}

#[test]
fn reminders_go_to_the_message_that_they_were_made_for() {
    let remind = |id: &str| {
        let kind = AttachmentKind::Reminder;
        Message::new(
            id,
            Body::Attachment(Attachment {
                kind,
                content: id.into(),
                data: None,
            }),
        )
    };
    let mut talk = vec![Message::user("a", "plain"), remind("R1"), remind("R2")];
    let plain = r#"user: [{"type":"text","text":"R1"},{"type":"text","text":"R2"},{"type":"text","text":"plain"}]"#;
    check(talk.clone(), &[plain]);
    talk.extend([
        by("b", "r", tool("t")),
        Message::user("c", given("t")),
        remind("R3"),
    ]);
    check(
        talk,
        &[
            plain,
            r#"assistant: [{"type":"tool_use","id":"t","name":"echo","input":{"path":"src/lib.rs"}}]"#,
            r#"user: [{"type":"tool_result","tool_use_id":"t","content":"ok"},{"type":"text","text":"R3"}]"#,
        ],
    );
}

#[test]
fn another_agents_reply_is_passed_on_as_text() {
    let other = |id: &str, content: Content| Message {
        author: Some("coder".into()),
        ..Message::assistant(id, content)
    };
    let own = Message {
        author: Some("quick".into()),
        ..Message::assistant("d", "Agreed.")
    };
    let thought = Thinking {
        thinking: "hm".into(),
        ..Thinking::default()
    };
    let talk = vec![
        Message::user("a", "what now?"),
        other(
            "b",
            vec![Block::Thinking(thought.clone()), call("t", "read")].into(),
        ),
        Message::user("r", given("t")),
        other("s", vec![Block::Thinking(thought)].into()),
        own,
    ];
    check(
        talk,
        &[
            r#"user: [{"type":"text","text":"what now?"},{"type":"text","text":"[coder]: (called read with {\"path\":\"src/lib.rs\"})"},{"type":"text","text":"(result: ok)"}]"#,
            "assistant: \"Agreed.\"",
            "s: nothing of it is for this model",
        ],
    );
}

#[test]
fn thoughts_of_another_maker_stay() {
    let thought = |id: &str, model: &str| {
        let thinking = Thinking {
            thinking: id.into(),
            signature: Some("s".into()),
            ..<_>::default()
        };
        let content = vec![Block::Thinking(thinking), Block::from_text(id)];
        Message {
            model: Some(model.into()),
            ..Message::assistant(id, content)
        }
    };
    let messages = linked(vec![
        Message::user("a", "hi"),
        thought("b", "claude-opus-4-1"),
        Message::user("c", "hi"),
        thought("d", "gpt-5"),
    ]);
    let thoughts = |model: &str| {
        let agent = Agent::of_model("", model);
        let turns = normalize_messages_for_api(&chain(&messages), &agent).turns;
        let json: String = turns.iter().map(|turn| turn.content.to_json()).collect();
        ["\"thinking\":\"b\"", "\"thinking\":\"d\""].map(|thought| json.contains(thought))
    };
    assert_eq!(thoughts("claude-sonnet-4-5"), [true, false]);
    assert_eq!(thoughts("gpt-5-mini"), [false, true]);
    // For an unknown vendor, the encoder decides.
    assert_eq!(thoughts("some-model"), [true, true]);
}

#[test]
fn a_summary_stands_for_its_message() {
    let mut message = Message {
        history: History::Summary,
        ..Message::user("s", "very long")
    };
    message.extra.push("summary", Raw::string("short"));
    check(vec![message], &["user: \"short\""]);
}

#[test]
fn a_result_without_its_call_is_not_sent() {
    let content = vec![result("gone", "x"), Block::from_text("hi")];
    check(
        vec![
            Message::user("a", content),
            Message::user("b", vec![result("gone", "x")]),
        ],
        &[
            r#"user: [{"type":"text","text":"hi"}]"#,
            "b: a result without its call",
        ],
    );
}

#[test]
fn what_two_models_said_is_two_turns() {
    let by = |id: &str, model: &str| Message {
        model: Some(model.into()),
        ..Message::assistant(id, id)
    };
    let talk = vec![
        Message::user("a", "one"),
        by("b", "x"),
        by("c", "x"),
        by("d", "y"),
    ];
    check(
        talk,
        &[
            "user: \"one\"",
            r#"assistant: [{"type":"text","text":"b"},{"type":"text","text":"c"}]"#,
            "assistant: \"d\"",
        ],
    );
}

#[test]
fn instructions_go_before_the_conversation_and_later_ones_stay_in_place() {
    let system = |id: &str| Message::new(id, Body::System(System { content: id.into() }));
    let talk = vec![
        system("one"),
        system("two"),
        Message::user("u", "hi"),
        system("three"),
        system("four"),
    ];
    let normalized = check(
        talk,
        &[
            "user: \"hi\"",
            r#"system: [{"type":"text","text":"three"},{"type":"text","text":"four"}]"#,
        ],
    );
    assert_eq!(normalized.system, Some("one\n\ntwo".into()));
}
