//! Repairs before sending: what changes, what is reported, and what stays the same.

use proptest::collection::vec;
use proptest::option::of;
use proptest::sample::select;

use super::*;

fn turn(role: Role, content: impl Into<Content>) -> Turn {
    Turn {
        role,
        content: content.into(),
        model: None,
    }
}

fn user(content: impl Into<Content>) -> Turn {
    turn(Role::User, content)
}

fn model(content: impl Into<Content>) -> Turn {
    turn(Role::Assistant, content)
}

fn by(model: &str, content: impl Into<Content>) -> Turn {
    Turn {
        model: Some(model.into()),
        ..turn(Role::Assistant, content)
    }
}

fn call(id: &str) -> Block {
    let id = id.to_string();
    let name = "w".to_string();
    Block::ToolUse(ToolUse {
        id,
        name,
        input: Raw::empty_object(),
        extra: RawMap::new(),
    })
}

fn result(id: &str, text: &str) -> Block {
    let tool_use_id = id.to_string();
    let content = text.into();
    Block::ToolResult(ToolResult {
        tool_use_id,
        content,
        ..ToolResult::default()
    })
}

fn said(text: &str) -> Block {
    Block::from_text(text)
}

fn shown(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("{:?}", text.text.as_str()),
        Block::ToolUse(call) => format!("call {}", call.id),
        Block::ToolResult(result) => {
            let failed = if result.is_error == Some(true) {
                "!"
            } else {
                ""
            };
            format!("{failed}{}={}", result.tool_use_id, result.content.text())
        }
        other => other.to_json(),
    }
}

/// One line per turn: the role, the model if known, and the blocks.
fn lines(turns: &[Turn]) -> Vec<String> {
    let line = |turn: &Turn| {
        let blocks = match &turn.content {
            Content::Blocks(blocks) => blocks.iter().map(shown).collect::<Vec<_>>().join(" "),
            content => content.text(),
        };
        let by = turn
            .model
            .as_ref()
            .map(|model| format!(" {model}"))
            .unwrap_or_default();
        format!("{}{by}: {blocks}", turn.role.as_str())
    };
    turns.iter().map(line).collect()
}

/// The result for turns that are in order.
fn untouched(turns: Vec<Turn>) -> Sendable {
    Sendable {
        from: (0..turns.len()).collect(),
        turns,
        mended: vec![],
    }
}

#[track_caller]
fn check(turns: Vec<Turn>, expected: &[&str], told: &[&str]) {
    let sent = sendable(turns);
    assert_eq!(lines(&sent.turns), expected);
    let messages: Vec<_> = sent
        .mended
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    assert_eq!(messages, told);
    assert_eq!(
        sendable(sent.turns.clone()),
        untouched(sent.turns),
        "mended once is enough"
    );
}

const NONE: &str = "The call was interrupted; there is no result.";

#[test]
fn a_conversation_in_order_comes_back_as_it_is() {
    let turns = vec![
        turn(Role::System, "be brief"),
        user("hi"),
        by("m", vec![said("look"), call("a"), call("b")]),
        user(vec![result("a", "1"), result("b", "2"), said("and?")]),
        turn(Role::System, "now in French"),
        user("well?"),
        by("m", "two"),
        by("n", "deux"),
    ];
    assert_eq!(sendable(turns.clone()), untouched(turns));
    assert_eq!(sendable(vec![]), Sendable::default());
}

#[test]
fn a_call_without_a_result_gets_one_that_says_so() {
    let failed = format!("user: !a={NONE} b=1 \"never mind\"");
    check(
        vec![
            user("u"),
            model(vec![call("a"), call("b")]),
            user(vec![said("never mind"), result("b", "1")]),
        ],
        &["user: u", "assistant: call a call b", &failed],
        &["turn 2: a call has no result; one that says so is sent"],
    );
    let last = format!("user: !a={NONE}");
    check(
        vec![user("u"), model(vec![call("a")])],
        &["user: u", "assistant: call a", &last],
        &["turn 2: a call has no result; one that says so is sent"],
    );
}

#[test]
fn results_stand_first_and_in_the_order_of_their_calls() {
    check(
        vec![
            user("u"),
            model(vec![call("a"), call("b")]),
            user(vec![result("b", "2"), said("x"), result("a", "1")]),
        ],
        &["user: u", "assistant: call a call b", "user: a=1 b=2 \"x\""],
        &[],
    );
}

#[test]
fn further_results_of_a_call_are_one_result() {
    let more = |text: &str| {
        let mut block = result("a", text);
        if let Block::ToolResult(result) = &mut block {
            result.is_error = Some(true);
        }
        block
    };
    check(
        vec![
            user("u"),
            model(vec![call("a"), call("b")]),
            user(vec![result("a", "1"), result("b", "x"), result("a", "2")]),
            user(vec![result("a", "3"), said("and?")]),
            user(vec![result("b", "x")]),
        ],
        &[
            "user: u",
            "assistant: call a call b",
            "user: a=123 b=x \"and?\"",
        ],
        &["turn 5: a result is sent once: it is there twice"],
    );
    // The last one says whether the call failed.
    check(
        vec![
            user("u"),
            model(vec![call("a")]),
            user(vec![result("a", "1"), more("2")]),
        ],
        &["user: u", "assistant: call a", "user: !a=12"],
        &[],
    );
}

#[test]
fn a_late_result_goes_to_its_call_and_later_ones_stay_out() {
    let orphan =
        |turn: usize| format!("turn {turn}: a result is not sent: no call before it waits for one");
    check(
        vec![
            user(vec![result("a", "early"), said("u")]),
            model(vec![call("a"), call("b")]),
            user(vec![result("a", "1")]),
            model("going on"),
            user(vec![
                result("b", "late"),
                result("a", "again"),
                result("c", "whose?"),
            ]),
        ],
        &[
            "user: \"u\"",
            "assistant: call a call b",
            "user: a=1 b=late",
            "assistant: going on",
        ],
        &[&orphan(1), &orphan(5), &orphan(5)],
    );
}

#[test]
fn results_in_the_models_turn_are_the_users() {
    check(
        vec![
            user("u"),
            model(vec![
                call("a"),
                result("a", "1"),
                said("x"),
                call("b"),
                result("b", "2"),
            ]),
            model("done"),
        ],
        &[
            "user: u",
            "assistant: call a",
            "user: a=1",
            "assistant: \"x\" call b",
            "user: b=2",
            "assistant: done",
        ],
        &[],
    );
}

#[test]
fn only_the_model_calls() {
    check(
        vec![user(vec![said("u"), call("a")]), model("ok")],
        &["user: \"u\"", "assistant: ok"],
        &["turn 1: a tool call is not sent: it is not the model's"],
    );
}

#[test]
fn turns_of_one_role_are_one_and_empty_ones_go() {
    check(
        vec![
            user("a"),
            user(""),
            user(vec![said("b"), said("\n")]),
            model(vec![said(" ")]),
            user("c"),
            model("d"),
            model(vec![]),
            model("e"),
            turn(Role::User, Content::Empty),
        ],
        &["user: \"a\" \"b\" \"c\"", "assistant: \"d\" \"e\""],
        &[],
    );
}

#[test]
fn a_seal_without_text_is_something() {
    let mut extra = RawMap::new();
    extra.push("thoughtSignature", Raw::string("s"));
    let sealed = Block::Text(TextBlock {
        text: "".into(),
        extra,
    });
    let turns = vec![user("u"), model(vec![sealed])];
    assert_eq!(sendable(turns.clone()).turns, turns);
}

#[test]
fn what_two_models_said_stays_apart() {
    check(
        vec![
            user("u"),
            by("m", "a"),
            by("m", "b"),
            by("n", vec![call("c")]),
            by("m", vec![call("d")]),
            model("nobody's"),
            user(vec![result("c", "1"), result("d", "2")]),
        ],
        &[
            "user: u",
            "assistant m: \"a\" \"b\"",
            "assistant n: call c",
            "user: c=1",
            "assistant m: call d",
            "user: d=2",
            "assistant: nobody's",
        ],
        &[],
    );
}

#[test]
fn the_model_may_have_spoken_first() {
    let first = "the model spoke first, so a line of the user is sent before it";
    check(
        vec![turn(Role::System, "s"), model("Welcome"), user("Hi")],
        &[
            "system: s",
            "user: (The conversation begins with your words.)",
            "assistant: Welcome",
            "user: Hi",
        ],
        &[first],
    );
}

#[test]
fn instructions_do_not_come_between_a_call_and_its_result() {
    check(
        vec![
            user("u"),
            model(vec![call("a")]),
            turn(Role::System, "be quick"),
            user(vec![result("a", "1"), said("x")]),
        ],
        &[
            "user: u",
            "assistant: call a",
            "user: a=1",
            "system: be quick",
            "user: \"x\"",
        ],
        &[],
    );
}

#[test]
fn calls_of_one_id_are_told_apart() {
    let none = format!("user: !c={NONE}");
    check(
        vec![
            user("u"),
            model(vec![call("c")]),
            user(" "),
            turn(Role::System, "s"),
            model(vec![call("c"), call("c"), call("c_2")]),
            user(vec![
                result("c", "1"),
                result("c", "2"),
                result("c_2", "3"),
                result("c", "4"),
            ]),
        ],
        &[
            "user: u",
            "assistant: call c",
            &none,
            "system: s",
            "assistant: call c_2 call c_3 call c_2_2",
            "user: c_2=1 c_3=24 c_2_2=3",
        ],
        &["turn 2: a call has no result; one that says so is sent"],
    );
}

#[test]
fn one_fault_in_a_long_conversation_costs_little() {
    let round = |n: usize| {
        [
            model(vec![call(&n.to_string())]),
            user(vec![said("x"), said("y")]),
        ]
    };
    let mut turns: Vec<Turn> = (0..50_000).flat_map(round).collect();
    // As many late results, and as many calls with one id.
    turns.extend((0..50_000).map(|n| user(vec![result(&n.to_string(), "late")])));
    turns.extend((0..50_000).map(|_| model(vec![call("same")])));
    let sent = sendable(turns);
    assert_eq!(sent.turns.len(), 100_003);
    assert_eq!(sent.mended.len(), 50_001);
}

fn any_block() -> BoxedStrategy<Block> {
    let id = || select(vec!["a", "b", "a_2", ""]);
    prop_oneof![
        4 => id().prop_map(call),
        4 => id().prop_map(|id| result(id, "r")),
        2 => select(vec!["x", " ", ""]).prop_map(said),
        1 => generate::block(),
    ]
    .boxed()
}

fn any_turns() -> BoxedStrategy<Vec<Turn>> {
    let role = select(vec![
        Role::User,
        Role::Assistant,
        Role::Assistant,
        Role::System,
    ]);
    let content = prop_oneof![
        4 => vec(any_block(), 0..5).prop_map(Content::Blocks),
        1 => generate::content(),
    ];
    let turn = (
        role,
        content,
        of(select(vec!["m".to_string(), "n".to_string()])),
    );
    vec(
        turn.prop_map(|(role, content, model)| Turn {
            role,
            content,
            model,
        }),
        0..9,
    )
    .boxed()
}

fn listed(content: &Content) -> &[Block] {
    if let Content::Blocks(blocks) = content {
        blocks
    } else {
        &[]
    }
}

fn calls(turn: &Turn) -> Vec<&str> {
    let mut ids = Vec::new();
    for block in listed(&turn.content) {
        if let Block::ToolUse(call) = block {
            ids.push(call.id.as_str());
        }
    }
    ids
}

fn results(turn: &Turn) -> Vec<&str> {
    let mut ids = Vec::new();
    for block in listed(&turn.content) {
        if let Block::ToolResult(result) = block {
            ids.push(result.tool_use_id.as_str());
        }
    }
    ids
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(1000)))]

    #[test]
    fn whatever_was_said_the_law_holds(turns in any_turns()) {
        let sent = sendable(turns.clone());
        let mut before = Turn { role: Role::System, content: "start".into(), model: None };
        let mut seen = std::collections::BTreeSet::new();
        let mut begun = false;
        for turn in &sent.turns {
            prop_assert!(begun || turn.role != Role::Assistant, "the user begins");
            begun |= turn.role != Role::System;
            prop_assert!(!turn.content.is_empty());
            let twins = turn.role == before.role && before.content != "start".into();
            prop_assert!(!twins || (turn.role == Role::Assistant && turn.model != before.model));
            prop_assert_eq!(results(turn), calls(&before));
            prop_assert!(results(turn).is_empty() || turn.role == Role::User);
            prop_assert!(calls(turn).is_empty() || turn.role == Role::Assistant);
            let first = listed(&turn.content).iter().take(results(turn).len());
            prop_assert!(first.into_iter().all(|block| matches!(block, Block::ToolResult(_))));
            for id in calls(turn) {
                prop_assert!(seen.insert(id.to_string()), "{} is used twice", id);
            }
            before = turn.clone();
        }
        prop_assert!(calls(&before).is_empty(), "the last call is answered, too");
        // All words of the models are present.
        let made = |turns: &[Turn]| -> usize {
            let models = turns.iter().filter(|turn| turn.role == Role::Assistant);
            models.map(|turn| calls(turn).len()).sum()
        };
        prop_assert_eq!(made(&turns), made(&sent.turns));
        prop_assert_eq!(sent.from.len(), sent.turns.len());
        prop_assert!(sent.from.is_sorted() && sent.from.iter().all(|at| *at < turns.len()));
        prop_assert_eq!(sendable(sent.turns.clone()), untouched(sent.turns));
    }

    /// Adding to the end of a conversation in order does not change its beginning.
    #[test]
    fn what_was_sent_before_is_sent_again(turns in any_turns(), more in any_turns()) {
        let mut turns = turns;
        turns.push(user("the end of the old part"));
        let old = sendable(turns.clone()).turns;
        let kept = old.len() - 1;
        let mut longer = old.clone();
        longer.extend(more);
        prop_assert_eq!(&sendable(longer).turns[..kept], &old[..kept]);
    }
}
