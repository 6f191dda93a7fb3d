//! Known traps of this field, one test each.

use super::*;

fn usage(input: u64, output: u64) -> Option<Box<TokenUsage>> {
    let input_tokens = Some(input);
    let output_tokens = Some(output);
    Some(Box::new(TokenUsage {
        input_tokens,
        output_tokens,
        ..TokenUsage::default()
    }))
}

fn count(messages: &[Message]) -> Count {
    Planner::new(&agent()).count(&chain(messages), &mut Counter::of_model("m"))
}

#[test]
fn an_api_error_after_a_long_conversation_does_not_reset_the_count() {
    let mut messages = linked(vec![
        Message::user("a", "hi"),
        Message {
            usage: usage(150_000, 2_000),
            ..Message::assistant("b", "long")
        },
        Message::user("c", "go on"),
    ]);
    let before = count(&messages);
    assert!((152_000..152_020).contains(&before.tokens), "{before}");
    for (at, broken) in [usage(0, 0), None, usage(1, 1)].into_iter().enumerate() {
        let error = Message {
            usage: broken,
            is_api_error_message: true,
            ..Message::assistant(format!("e{at}"), "API Error: overloaded")
        };
        messages.push(error);
        messages = linked(messages);
        assert_eq!(count(&messages), before);
    }
    let zero = Message {
        usage: usage(0, 0),
        ..Message::assistant("z", "hm")
    };
    messages.push(zero);
    assert!(count(&linked(messages)).tokens > before.tokens);
}

#[test]
fn a_leading_thinking_block_does_not_break_the_summary() {
    let thinking = Block::Thinking(Thinking {
        thinking: "let me see".into(),
        ..<_>::default()
    });
    let answer = Message::assistant(
        "x",
        vec![
            thinking,
            Block::from_text(" "),
            Block::from_text("the summary"),
            call("c", "x"),
        ],
    );
    let messages = linked(vec![
        Message::user("a", "word ".repeat(500)),
        Message::assistant("b", "ok"),
        Message::user("c", "next"),
    ]);
    let chain = chain(&messages);
    let agent = agent();
    let mut counter = Counter::of_model("m");
    let before = Planner::new(&agent).count(&chain, &mut counter);
    let trigger = CompactTrigger::Manual;
    let mut compaction =
        Compaction::plan(&chain, &agent, 1000, &agent, trigger, before, &mut counter).unwrap();
    compaction.answer(&answer, &mut counter).unwrap();
    let made = compaction.finish(&mut counter, &mut CountingIds::default(), <_>::default());
    assert!(made.unwrap()[0].text().ends_with("the summary"));
}

#[test]
fn a_conversation_that_ends_in_an_unanswered_call_is_still_sendable() {
    let messages = linked(vec![
        Message::user("a", "read it"),
        Message::assistant("b", vec![Block::from_text("I look."), call("t", "read")]),
    ]);
    let plan = plan_within(&messages, 10_000);
    let sent = sent(&plan);
    assert_eq!(sent.len(), 3);
    assert!(sent[2].contains(r#""tool_use_id":"t""#) && sent[2].contains(r#""is_error":true"#));
    assert_eq!(plan.notes[0].code, "sent-otherwise");
    assert_eq!(Counter::of_model("m").request(&plan.request), plan.count);
    // And it goes on.
    let mut messages = messages;
    messages.push(Message::user("c", "never mind"));
    let plan = plan_within(&linked(messages), 10_000);
    assert_eq!(plan.request.turns.len(), 3);
}

#[test]
fn a_whitespace_only_answer_is_never_an_empty_message() {
    let blank =
        |id: &str| Message::assistant(id, vec![Block::from_text(" \n\t"), Block::from_text("")]);
    let messages = linked(vec![
        Message::user("a", "hi"),
        blank("b"),
        Message::user("c", "still there?"),
        Message::assistant("d", "\n"),
    ]);
    let plan = plan_within(&messages, 10_000);
    assert_eq!(
        sent(&plan),
        [r#"user: [{"type":"text","text":"hi"},{"type":"text","text":"still there?"}]"#]
    );
    assert_eq!(
        fates(&plan),
        ["a sent", "b left out", "c sent", "d left out"]
    );
}

#[test]
fn one_message_larger_than_the_window() {
    let huge = "word ".repeat(20_000);
    // An earlier turn is dropped instead.
    let messages = linked(vec![
        Message::user("a", huge.as_str()),
        Message::assistant("b", "I see."),
        Message::user("c", "In short?"),
    ]);
    let plan = plan_within(&messages, 1000);
    assert!(plan.ready().is_ok());
    assert_eq!(sent(&plan), ["user: \"In short?\""]);
    // The last one is not cut silently.
    let messages = [Message::user("a", huge.as_str())];
    let plan = plan_within(&messages, 1000);
    let too_large = plan.ready().unwrap_err();
    assert!(too_large.excess() > 18_000, "{too_large}");
    assert!(sent(&plan)[0].contains(&huge));
}

#[test]
fn merging_keeps_order() {
    let text = |n: usize| Block::from_text(format!("part {n}"));
    let messages = linked(vec![
        Message::user("a", "part 0"),
        Message::user("b", vec![text(1), text(2)]),
        Message::user("c", "part 3"),
    ]);
    let plan = plan_within(&messages, 10_000);
    let Content::Blocks(blocks) = &plan.request.turns[0].content else {
        panic!()
    };
    let said: Vec<String> = blocks.iter().filter_map(Block::text).collect();
    assert_eq!(said, ["part 0", "part 1", "part 2", "part 3"]);
}

#[test]
fn a_call_is_never_torn_from_its_result() {
    let mut messages = vec![Message::user("q", "Do it.")];
    for step in 0..10 {
        let one = format!("x{step}");
        let other = format!("y{step}");
        messages.push(Message::assistant(
            format!("a{step}"),
            vec![call(&one, "read"), call(&other, "read")],
        ));
        messages.push(Message::user(
            format!("r{step}"),
            vec![result(&one, "short")],
        ));
        messages.push(Message::user(
            format!("s{step}"),
            vec![
                result(&other, &"word ".repeat(50)),
                Block::from_text("and a note"),
            ],
        ));
    }
    let messages = linked(messages);
    for window in (50..1500).step_by(7) {
        let plan = plan_within(&messages, window);
        let again = sendable(plan.request.turns.clone());
        assert_eq!(
            (again.turns, again.mended),
            (plan.request.turns.clone(), vec![]),
            "{window}"
        );
    }
}

#[test]
fn the_prefix_stays_the_same_while_a_trimmed_conversation_grows() {
    let mut messages = Vec::new();
    let mut changes = 0;
    let mut last: Vec<String> = Vec::new();
    for round in 0..120 {
        messages.push(Message::user(
            format!("q{round}"),
            format!("Question {round}?"),
        ));
        messages.push(Message::assistant(format!("a{round}"), "word ".repeat(20)));
        let mut asked = messages.clone();
        asked.push(Message::user("last", "?"));
        let plan = plan_within(&linked(asked), 1000);
        assert!(plan.ready().is_ok());
        let now = sent(&plan);
        let stable = last.len().saturating_sub(1);
        if now.get(..stable) != Some(&last[..stable]) {
            changes += 1;
        }
        last = now;
    }
    // At about 33 tokens per round, the beginning changes every fourth time, not every time.
    assert!((5..=35).contains(&changes), "{changes}");
}
