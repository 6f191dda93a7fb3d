//! Compaction, from the decision to the model's view.

use analects_core::verbs::{self, VerbError};
use jiff::Timestamp;

use super::*;

fn now() -> Timestamp {
    Timestamp::new(1_700_000_000, 0).unwrap()
}

/// Rounds of a question and an answer, with about so many words each.
fn talk(rounds: usize, words: usize) -> Vec<Message> {
    let mut messages = Vec::new();
    for round in 0..rounds {
        messages.push(Message::user(
            format!("q{round}"),
            format!("Question {round}?"),
        ));
        messages.push(Message::assistant(
            format!("a{round}"),
            format!("Answer {round}. {}", "word ".repeat(words)),
        ));
    }
    linked(messages)
}

fn writer(window: u64) -> Agent {
    Agent {
        context_window: Some(window),
        max_output_tokens: 100,
        ..Agent::of_model("compact", "w")
    }
}

fn begin(messages: &[Message], window: u64, writer_window: u64) -> Result<Compaction, NotNow> {
    let chain = chain(messages);
    let agent = agent();
    let mut counter = Counter::of_model("m");
    let before = Planner::new(&agent).count(&chain, &mut counter);
    let trigger = CompactTrigger::Auto;
    let writer = writer(writer_window);
    Compaction::plan(
        &chain,
        &agent,
        window,
        &writer,
        trigger,
        before,
        &mut counter,
    )
}

/// Compacts with `summary` as the model's answer to each request.
fn compacted(messages: &mut Vec<Message>, window: u64, summary: &str) {
    let mut compaction = begin(messages, window, window).unwrap();
    let mut counter = Counter::of_model("m");
    while compaction.next_request().is_some() {
        compaction
            .answer(&Message::assistant("x", summary), &mut counter)
            .unwrap();
    }
    let mut ids = CountingIds::default();
    for _ in 0..messages.len() {
        ids.nonce();
    }
    let mut made = compaction.finish(&mut counter, &mut ids, now()).unwrap();
    messages.append(&mut made);
}

fn seen(messages: &[Message]) -> Vec<String> {
    let chain = chain(messages);
    let seen = chain
        .messages
        .iter()
        .filter(|message| message.history != History::Exclude);
    seen.map(|message| message.id.to_string()).collect()
}

#[test]
fn a_full_context_of_three_messages_is_compacted() {
    let decide = |tokens, messages| {
        let count = Count::exact(tokens, Method::Usage);
        should_compact(
            count,
            1000,
            messages,
            Threshold::default(),
            &BackOff::default(),
        )
    };
    assert_eq!(decide(919, 3), Err(NotNow::RoomLeft));
    assert_eq!(decide(920, 3), Ok(()));
    assert_eq!(decide(920, 2), Err(NotNow::TooFew));
    assert_eq!(decide(5000, 3), Ok(()));
}

#[test]
fn thresholds_are_read_as_people_write_them() {
    for (text, share) in [
        ("0.85", 0.85),
        ("85", 0.85),
        ("85%", 0.85),
        (" 92 % ", 0.92),
        ("1", 1.0),
    ] {
        assert_eq!(text.parse::<Threshold>().unwrap().share(), share, "{text}");
    }
    for text in [
        "", "0", "101", "150%", "-1", "1e2", "NaN", "inf", "much", "0%", "%",
    ] {
        let error = text.parse::<Threshold>().unwrap_err().to_string();
        assert!(error.ends_with("expected 0.85, 85 or 85%"), "{error}");
    }
}

#[test]
fn the_prompt_has_eight_sections_in_order() {
    let compaction = begin(&talk(6, 100), 1000, 10_000).unwrap();
    let request = compaction.next_request().unwrap();
    let text = request.turns[0].content.text();
    let places: Vec<usize> = SECTIONS
        .iter()
        .map(|section| text.find(&format!(". {section}:")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!((request.turns.len(), request.model.as_str()), (1, "w"));
    assert_eq!(request.max_output_tokens, Some(100));
    assert!(text.contains("## User\n\nQuestion 0?") && text.contains("Answer 0."));
    assert!(request.tools.is_empty() && request.system.is_some());
}

#[test]
fn the_summary_stands_for_the_history_and_recent_turns_are_kept() {
    let mut messages = talk(8, 60);
    compacted(&mut messages, 1000, "all in short");
    let view = seen(&messages);
    // A fifth of the window is 200 tokens: two rounds of about 75.
    assert_eq!(view[1..], ["q6", "a6", "q7", "a7"]);
    let chain = chain(&messages);
    let Body::Summary(summary) = &chain.messages[0].body else {
        panic!()
    };
    assert!(summary.text.as_str().ends_with("all in short"));
    assert_eq!(
        (summary.from.as_deref(), summary.to.as_deref()),
        (Some("q0"), Some("a5"))
    );
    assert_eq!(summary.count, Some(12));
    let Body::CompactBoundary(boundary) = &chain.boundary.unwrap().body else {
        panic!()
    };
    assert_eq!(boundary.kept_from, Some("q6".into()));
    assert_eq!(boundary.trigger, Some(CompactTrigger::Auto));
    assert!(boundary.tokens_after.unwrap() < boundary.tokens_before.unwrap() / 2);
    assert_eq!(&messages[..16], &talk(8, 60)[..]);
}

#[test]
fn what_nobody_answered_yet_is_kept_however_long() {
    let mut messages = talk(6, 100);
    let last = format!("Look at this: {}", "word ".repeat(350));
    messages.push(Message::user("open", last.as_str()));
    messages = linked(messages);
    compacted(&mut messages, 1000, "short");
    assert_eq!(seen(&messages)[1..], ["open"]);

    // If the last message exceeds half of the window, a summary of the rest does not help.
    let mut messages = talk(6, 100);
    messages.push(Message::user("open", "word ".repeat(2000)));
    let error = begin(&linked(messages), 1000, 1000).unwrap_err();
    assert!(
        matches!(error, NotNow::LastTooLarge { window: 1000, .. }),
        "{error}"
    );
}

#[test]
fn a_long_history_is_compacted_in_pieces_and_nothing_is_left_out() {
    let messages = talk(40, 100);
    let mut compaction = begin(&messages, 1000, 1500).unwrap();
    assert!(compaction.requests() > 3, "{}", compaction.requests());
    let mut counter = Counter::of_model("w");
    let mut asked = String::new();
    let mut number = 0;
    while let Some(request) = compaction.next_request() {
        number += 1;
        let budget = Budget::new(1500, 100);
        let count = counter.request(&request);
        assert!(count.tokens <= budget.limit(), "piece {number}: {count}");
        let text = request.turns[0].content.text();
        if number > 1 {
            assert!(text.contains(&format!("summary {}", number - 1)));
        }
        asked.push_str(&text);
        let answer = Message::assistant("x", format!("summary {number}"));
        compaction.answer(&answer, &mut counter).unwrap();
    }
    for round in 0..38 {
        assert!(asked.contains(&format!("Question {round}?")), "{round}");
    }
    let made = compaction
        .finish(&mut counter, &mut CountingIds::default(), now())
        .unwrap();
    let summary = &made[0];
    assert!(summary.text().ends_with(&format!("summary {number}")));
}

#[test]
fn a_message_longer_than_the_window_is_cut_into_parts() {
    let long: String = (0..5000).map(|n| format!("item{n} ")).collect();
    let messages = linked(vec![
        Message::user("q", long.as_str()),
        Message::assistant("a", "read it"),
        Message::user("n", "so?"),
    ]);
    let compaction = begin(&messages, 1000, 2000).unwrap();
    let mut counter = Counter::of_model("w");
    let mut all = compaction.clone();
    let mut text = String::new();
    while let Some(request) = all.next_request() {
        let count = counter.request(&request);
        assert!(count.tokens <= 1900, "{count}");
        let piece = request.turns[0].content.text();
        let inside = piece.split("<conversation>\n").nth(1).unwrap();
        text.push_str(inside.split("\n</conversation>").next().unwrap());
        all.answer(&Message::assistant("x", "s"), &mut counter)
            .unwrap();
    }
    let joined = text.replace('\n', "");
    for n in [0, 1234, 4999] {
        assert!(joined.contains(&format!("item{n} ")), "{n}");
    }
}

#[test]
fn an_answer_that_is_no_use_changes_nothing() {
    let mut compaction = begin(&talk(6, 100), 1000, 10_000).unwrap();
    let before = compaction.clone();
    let mut counter = Counter::of_model("w");
    let error = Message {
        is_api_error_message: true,
        ..Message::assistant("e", "overloaded")
    };
    let long = Message::assistant("l", "word ".repeat(2000));
    let blank = Message::assistant("b", vec![Block::from_text(" \n")]);
    for (answer, expected) in [
        (error, Useless::Error),
        (blank, Useless::NoText),
        (long, Useless::NotShorter),
    ] {
        assert_eq!(compaction.answer(&answer, &mut counter), Err(expected));
        assert_eq!(compaction, before);
    }
    assert_eq!(
        compaction.finish(&mut counter, &mut CountingIds::default(), now()),
        None
    );
}

#[test]
fn a_small_model_that_repeats_what_it_was_asked_for_is_asked_in_simple_words() {
    let mut compaction = begin(&talk(6, 100), 1000, 10_000).unwrap();
    let mut counter = Counter::of_model("w");
    let request = compaction.next_request().unwrap();
    let asked = request.turns[0].content.text();
    let sections = asked.find("1. Technical context").unwrap();
    let list = asked[sections..].split("\n\n").next().unwrap();
    let echo = Message::assistant("c", list);
    let empty = SECTIONS.map(|name| format!("## {name}\n\nnone\n")).concat();
    let empty = Message::assistant("n", empty);
    for answer in [&echo, &empty] {
        let mut asked = compaction.clone();
        assert_eq!(asked.answer(answer, &mut counter), Ok(()));
        let simple = asked.next_request().unwrap().turns[0]
            .content
            .text()
            .to_string();
        assert!(
            simple.contains("in a few sentences") && !simple.contains("sections"),
            "{simple}"
        );
        assert_eq!(asked.answer(answer, &mut counter), Err(Useless::Echo));
    }
    compaction.answer(&echo, &mut counter).unwrap();
    compaction
        .answer(
            &Message::assistant("s", "They counted words."),
            &mut counter,
        )
        .unwrap();
    assert!(
        compaction
            .finish(&mut counter, &mut CountingIds::default(), now())
            .is_some()
    );
}

#[test]
fn the_last_resort_needs_no_model() {
    let mut messages = talk(6, 100);
    messages[3].body = Body::Assistant(Assistant {
        content: vec![call("c", "edit")].into(),
        stop_reason: None,
    });
    messages.insert(4, Message::user("r", vec![result("c", "no such file")]));
    if let Body::User(User {
        content: Content::Blocks(blocks),
        ..
    }) = &mut messages[4].body
        && let Block::ToolResult(result) = &mut blocks[0]
    {
        result.is_error = Some(true);
    }
    let messages = linked(messages);
    let chain = chain(&messages);
    let mut counter = Counter::of_model("m");
    let compaction = begin(&messages, 1000, 10_000)
        .unwrap()
        .without_model(&chain, &mut counter);
    assert_eq!(compaction.next_request(), None);
    let made = compaction
        .finish(&mut counter, &mut CountingIds::default(), now())
        .unwrap();
    let summary = &made[0];
    let text = summary.text();
    let places: Vec<usize> = SECTIONS
        .iter()
        .map(|section| text.find(&format!("## {section}")).unwrap())
        .collect();
    assert!(places.is_sorted());
    for part in [
        "edit (1 times)",
        "src/lib.rs",
        "no such file",
        "Question 0?",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(counter.text(&text).tokens < 1000);
}

#[test]
fn a_failing_compaction_backs_off_and_is_reported_once() {
    let mut back_off = BackOff::default();
    let count = Count::exact(99, Method::Usage);
    let mut tries = Vec::new();
    let mut reports = 0;
    for messages in 10..200 {
        if should_compact(count, 100, messages, Threshold::default(), &back_off).is_ok() {
            tries.push(messages);
            reports += usize::from(back_off.failed(messages));
        }
    }
    assert_eq!(tries, [10, 12, 16, 24, 40, 72, 136]);
    assert_eq!(reports, 1);
    // A shorter chain may be compacted at once, and a success resets the wait.
    assert!(back_off.allows(20));
    back_off.succeeded();
    assert_eq!(back_off, BackOff::default());
}

#[test]
fn that_a_compaction_failed_is_known_from_the_record() {
    let mut messages = talk(4, 10);
    messages.push(compaction_failed("no answer"));
    let last = messages.len() - 1;
    messages[last].id = "failed".into();
    messages[last].parent_id = Some(messages[last - 1].id.clone());
    let chain = chain(&messages);
    let length = messages.len();
    let back_off = BackOff::of(&chain);
    assert!(!back_off.allows(length) && !back_off.allows(length + 1));
    assert!(back_off.allows(length + 2));
    let sent = crate::normalize_messages_for_api(&chain, &Agent::default());
    assert!(sent.left_out[length - 1].is_some());
    assert_eq!(
        BackOff::of(&analects_core::chain(&messages[..length - 1])),
        BackOff::default()
    );
}

#[test]
fn a_compaction_does_not_set_off_the_next() {
    let mut messages = talk(8, 100);
    let usage = TokenUsage {
        input_tokens: Some(950),
        ..TokenUsage::default()
    };
    messages.last_mut().unwrap().usage = Some(usage.into());
    let agent = agent();
    let count = |messages: &[Message]| {
        Planner::new(&agent).count(&chain(messages), &mut Counter::of_model("m"))
    };
    assert_eq!(count(&messages), Count::exact(950, Method::Usage));
    compacted(&mut messages, 1000, "short");
    // The usage of the kept answer belongs to a context that no longer exists.
    let after = count(&messages);
    assert!(
        after.tokens < 300 && after.method == Method::Estimate,
        "{after}"
    );
    assert_eq!(
        begin(&messages, 1000, 1000).unwrap_err(),
        NotNow::NothingToGain
    );
}

#[test]
fn compaction_twice_summarises_the_first_summary_too() {
    let mut messages = talk(8, 60);
    compacted(&mut messages, 1000, "first summary");
    for round in 0..8 {
        let leaf = chain(&messages).leaf.unwrap().id.clone();
        let mut question = Message::user(format!("Q{round}"), "More?");
        question.parent_id = Some(leaf);
        let mut answer = Message::assistant(format!("A{round}"), "word ".repeat(60));
        answer.parent_id = Some(question.id.clone());
        messages.extend([question, answer]);
    }
    let compaction = begin(&messages, 1000, 10_000).unwrap();
    let text = compaction.next_request().unwrap().turns[0].content.text();
    assert!(text.contains("first summary") && text.contains("Answer 7."));
    compacted(&mut messages, 1000, "second summary");
    let view = seen(&messages);
    assert_eq!(view[1..], ["Q6", "A6", "Q7", "A7"]);
    let all: String = chain(&messages).messages.iter().map(|m| m.text()).collect();
    assert!(all.contains("second summary") && !all.contains("first summary"));
}

/// Appends rounds, each message following the one before.
fn go_on(messages: &mut Vec<Message>, name: &str, rounds: usize, words: usize) {
    for round in 0..rounds {
        let leaf = chain(messages).leaf.unwrap().id.clone();
        let question = Message::user(format!("q{name}{round}"), format!("More {name}{round}?"));
        let question = Message {
            parent_id: Some(leaf),
            ..question
        };
        let parent_id = Some(question.id.clone());
        let answer = Message::assistant(format!("a{name}{round}"), "word ".repeat(words));
        messages.extend([
            question,
            Message {
                parent_id,
                ..answer
            },
        ]);
    }
}

/// Links the messages of a compaction, as a store does.
fn in_one_line(messages: &mut [Message], from: usize) {
    for at in from..messages.len() {
        messages[at].parent_id = Some(messages[at - 1].id.clone());
    }
}

#[test]
fn what_the_first_compaction_kept_is_ordinary_for_the_second() {
    for chained in [false, true] {
        let mut messages = talk(8, 60);
        compacted(&mut messages, 1000, "first summary");
        if chained {
            in_one_line(&mut messages, 16);
        }
        go_on(&mut messages, "x", 1, 60);
        assert_eq!(seen(&messages)[1..], ["q6", "a6", "q7", "a7", "qx0", "ax0"]);
        // There is room for two rounds, one of which was kept before.
        let mut compaction = manual(&messages, 1000);
        let text = compaction.next_request().unwrap().turns[0].content.text();
        assert!(
            text.contains("first summary") && text.contains("Question 6?"),
            "{text}"
        );
        assert!(!text.contains("Question 7?"), "{text}");
        let mut counter = Counter::of_model("m");
        compaction
            .answer(&Message::assistant("x", "second summary"), &mut counter)
            .unwrap();
        let mut ids = CountingIds::default();
        (0..100).for_each(|_| drop(ids.nonce()));
        let from = messages.len();
        messages.extend(compaction.finish(&mut counter, &mut ids, now()).unwrap());
        if chained {
            in_one_line(&mut messages, from);
        }
        assert_eq!(
            seen(&messages)[1..],
            ["q7", "a7", "qx0", "ax0"],
            "{chained}"
        );
        let plan = plan_within(&messages, 10_000);
        let sent: String = plan
            .request
            .turns
            .iter()
            .map(|turn| turn.content.text())
            .collect();
        assert_eq!(
            sent.matches("summary of the conversation so far").count(),
            1,
            "{sent}"
        );
        assert!(
            sent.contains("second summary") && !sent.contains("first summary"),
            "{sent}"
        );
        // Undoing the compaction restores the earlier view.
        messages = undone(messages);
        assert_eq!(seen(&messages)[1..], ["q6", "a6", "q7", "a7", "qx0", "ax0"]);
        assert!(
            chain(&messages).messages[0]
                .text()
                .ends_with("first summary")
        );
    }
}

/// A manual compaction with room for two rounds.
fn manual(messages: &[Message], window: u64) -> Compaction {
    let chain = chain(messages);
    let agent = agent();
    let before = Count::exact(window, Method::Usage);
    let trigger = CompactTrigger::Manual;
    let writer = writer(10_000);
    let mut counter = Counter::of_model("m");
    Compaction::plan(
        &chain,
        &agent,
        window,
        &writer,
        trigger,
        before,
        &mut counter,
    )
    .unwrap()
}

#[test]
fn a_question_that_was_kept_and_has_no_answer_is_kept_again() {
    let mut messages = talk(6, 100);
    messages.push(Message::user("open", "And what about this?"));
    let mut messages = linked(messages);
    compacted(
        &mut messages,
        1000,
        "first summary, which is longer than the second will be",
    );
    let view = seen(&messages);
    assert_eq!(view[1..], ["q5", "a5", "open"]);
    let mut compaction = manual(&messages, 400);
    let mut counter = Counter::of_model("m");
    compaction
        .answer(&Message::assistant("x", "second"), &mut counter)
        .unwrap();
    let mut ids = CountingIds::default();
    (0..100).for_each(|_| drop(ids.nonce()));
    messages.extend(compaction.finish(&mut counter, &mut ids, now()).unwrap());
    assert_eq!(seen(&messages)[1..], ["open"]);
}

#[test]
fn a_summary_alone_is_not_summarised_again() {
    let mut messages = talk(8, 60);
    compacted(&mut messages, 1000, "first summary");
    let chain = chain(&messages);
    let agent = agent();
    let trigger = CompactTrigger::Manual;
    let writer = writer(10_000);
    let before = Count::exact(1000, Method::Usage);
    let mut counter = Counter::of_model("m");
    let planned = Compaction::plan(&chain, &agent, 1000, &writer, trigger, before, &mut counter);
    assert_eq!(planned, Err(NotNow::NothingToGain));
}

/// Hides the compaction in effect.
fn undone(messages: Vec<Message>) -> Vec<Message> {
    let changes = verbs::undo_compaction(&messages).unwrap();
    verbs::with_history(messages, &changes)
}

#[test]
fn undoing_shows_what_was_hidden() {
    let original = talk(8, 60);
    let mut messages = original.clone();
    compacted(&mut messages, 1000, "short");
    assert_eq!(
        verbs::undo_compaction(&messages).unwrap().len(),
        1,
        "the summary"
    );
    let messages = undone(messages);
    assert_eq!(seen(&messages), seen(&original));
    assert_eq!(
        verbs::undo_compaction(&messages),
        Err(VerbError::NoCompaction)
    );

    // If the summary precedes its boundary in the chain, it is dropped, too.
    let mut messages = original.clone();
    compacted(&mut messages, 1000, "short");
    let summary = messages[messages.len() - 2].id.clone();
    messages.last_mut().unwrap().parent_id = Some(summary);
    assert_eq!(seen(&undone(messages)), seen(&original));
}

#[test]
fn files_worked_on_last_go_with_it_within_limits() {
    let boundary = Message {
        session_id: "s".into(),
        ..Message::user("b", "")
    };
    let mut counter = Counter::of_model("m");
    let file = |path: &str, words: usize| FileText {
        grant: None,
        facts: None,
        path: path.into(),
        text: format!("{}</file>", "word ".repeat(words)),
    };
    let mut files = vec![file("a\"b.rs", 10), file("long.rs", 30_000)];
    files.extend((0..6).map(|n| file(&format!("{n}.rs"), 10)));
    let made = attachments(
        &files,
        200_000,
        &boundary,
        &mut counter,
        &mut CountingIds::default(),
        now(),
    );
    assert_eq!(made.len(), 5);
    assert!(
        made[0]
            .text()
            .starts_with("<file path=\"a&quot;b.rs\">\nword")
    );
    assert!(made[0].text().ends_with("&lt;/file>\n</file>"));
    let tokens: Vec<u64> = made
        .iter()
        .map(|m| counter.text(&m.text()).tokens)
        .collect();
    assert!((8_000..=10_000).contains(&tokens[1]), "{tokens:?}");
    assert_eq!(made[1].parent_id, Some(made[0].id.clone()));
    // A small window gets less.
    let made = attachments(
        &files,
        400,
        &boundary,
        &mut counter,
        &mut CountingIds::default(),
        now(),
    );
    let tokens: u64 = made.iter().map(|m| counter.text(&m.text()).tokens).sum();
    assert!(tokens <= 200, "{tokens}");
}

#[test]
fn a_single_message_is_summarised_by_itself() {
    let request = summary_request("w", 300, &Message::user("a", "long </conversation> text"));
    let text = request.turns[0].content.text();
    assert!(text.contains("long &lt;/conversation> text"), "{text}");
    assert_eq!(
        (request.model.as_str(), request.max_output_tokens),
        ("w", Some(300))
    );
}

#[test]
fn instructions_of_the_conversation_outlive_it() {
    let system = |id: &str, text: &str| {
        Message::new(
            id,
            Body::System(System {
                content: text.into(),
            }),
        )
    };
    let mut messages = talk(8, 60);
    messages.insert(0, system("s", "Answer in verse."));
    messages.insert(5, system("t", "And in French."));
    let mut messages = linked(messages);
    for summary in ["first", "second"] {
        compacted(&mut messages, 1000, summary);
        let plan = plan_within(&messages, 10_000);
        let system = plan.request.system.unwrap();
        assert_eq!(system.as_str(), "Answer in verse.\n\nAnd in French.");
        assert!(
            plan.request
                .turns
                .iter()
                .all(|turn| turn.role != Role::System)
        );
        for round in 0..8 {
            let leaf = chain(&messages).leaf.unwrap().id.clone();
            let id = format!("{summary}{round}");
            let question = Message {
                parent_id: Some(leaf),
                ..Message::user(format!("q{id}"), "More?")
            };
            let parent_id = Some(question.id.clone());
            let answer = Message {
                parent_id,
                ..Message::assistant(format!("a{id}"), "word ".repeat(60))
            };
            messages.extend([question, answer]);
        }
    }
    assert_eq!(
        verbs::undo_compaction(&messages).unwrap().len(),
        3,
        "the summary and two copies"
    );
    let messages = undone(messages);
    let plan = plan_within(&messages, 100_000);
    assert_eq!(
        plan.request.system.unwrap().as_str(),
        "Answer in verse.\n\nAnd in French."
    );
}

#[test]
fn instructions_lead_once_where_the_second_compaction_keeps_what_the_first_kept() {
    let system = |id: &str, text: &str| {
        Message::new(
            id,
            Body::System(System {
                content: text.into(),
            }),
        )
    };
    let mut messages = talk(8, 60);
    messages.insert(0, system("s", "Answer in verse."));
    messages.insert(5, system("t", "And in French."));
    let mut messages = linked(messages);
    let from = messages.len();
    compacted(&mut messages, 1000, "first summary");
    in_one_line(&mut messages, from);
    go_on(&mut messages, "x", 1, 60);
    let mut compaction = manual(&messages, 1000);
    let mut counter = Counter::of_model("m");
    compaction
        .answer(&Message::assistant("x", "second summary"), &mut counter)
        .unwrap();
    let mut ids = CountingIds::default();
    (0..100).for_each(|_| drop(ids.nonce()));
    let from = messages.len();
    messages.extend(compaction.finish(&mut counter, &mut ids, now()).unwrap());
    in_one_line(&mut messages, from);
    let plan = plan_within(&messages, 10_000);
    assert_eq!(
        plan.request.system.unwrap().as_str(),
        "Answer in verse.\n\nAnd in French."
    );
    assert!(
        plan.request
            .turns
            .iter()
            .all(|turn| turn.role != Role::System)
    );
    let sent: String = plan
        .request
        .turns
        .iter()
        .map(|turn| turn.content.text())
        .collect();
    assert!(
        sent.contains("Question 7?") && !sent.contains("Question 6?"),
        "{sent}"
    );
}

#[test]
fn a_copy_of_an_instruction_that_was_edited_survives_the_undoing() {
    let system = |id: &str, text: &str| {
        Message::new(
            id,
            Body::System(System {
                content: text.into(),
            }),
        )
    };
    let mut messages = talk(8, 60);
    messages.insert(0, system("s", "Answer in verse."));
    let mut messages = linked(messages);
    compacted(&mut messages, 1000, "short");
    let copy = messages.last_mut().unwrap();
    assert_eq!(copy.text(), "Answer in verse.");
    copy.body = system("", "Answer in prose.").body;
    let messages = undone(messages);
    let seen = chain(&messages);
    let texts: Vec<String> = seen
        .turns()
        .iter()
        .map(|turn| turn.content.text())
        .collect();
    assert_eq!(texts[0], "Answer in verse.");
    assert_eq!(texts.last().unwrap(), "Answer in prose.");
}
