//! Chains: the path from the newest message to the first.

use super::*;

fn message(id: &str, parent: &str) -> Message {
    let parent_id = (!parent.is_empty()).then(|| parent.into());
    Message {
        parent_id,
        ..Message::user(id, id)
    }
}

#[track_caller]
fn check(messages: &[Message], expected: &str, problems: &[&str]) {
    let chain = chain(messages);
    let ids: Vec<&str> = chain.messages.iter().map(|message| &*message.id).collect();
    let codes: Vec<&str> = chain
        .problems
        .iter()
        .map(|problem| &*problem.code)
        .collect();
    assert_eq!(
        (ids.join(" ").as_str(), codes.as_slice()),
        (expected, problems)
    );
}

#[test]
fn the_chain_is_the_path_from_the_last_message() {
    check(&[], "", &[]);
    check(
        &[message("a", ""), message("b", "a"), message("c", "b")],
        "a b c",
        &[],
    );
    // With a fork, the last message determines the branch.
    check(
        &[message("a", ""), message("b", "a"), message("c", "a")],
        "a c",
        &[],
    );
}

#[test]
fn broken_links_are_problems_and_what_can_be_read_is_read() {
    check(
        &[message("a", "lost"), message("b", "a")],
        "a b",
        &["unknown-parent"],
    );
    check(
        &[message("a", "b"), message("b", "a")],
        "a b",
        &["parent-cycle"],
    );
    check(&[message("a", "a")], "a", &["parent-cycle"]);
    check(
        &[message("a", ""), message("a", ""), message("b", "a")],
        "a b",
        &["duplicate-message-id"],
    );
}

#[test]
fn progress_and_side_chains_are_no_leaves() {
    let progress = Message {
        parent_id: Some("a".into()),
        ..Message::new("p", Body::Progress(Progress::default()))
    };
    let side = Message {
        agent_id: Some("helper".into()),
        ..message("s", "")
    };
    check(&[message("a", ""), progress, side], "a", &[]);
}

fn tombstone(id: &str, parent: &str, target: &str, target_parent: &str) -> Message {
    let target_parent = (!target_parent.is_empty()).then(|| target_parent.into());
    let body = Body::Tombstone(Tombstone {
        target: target.into(),
        target_parent,
    });
    Message {
        body,
        ..message(id, parent)
    }
}

fn summary(id: &str, parent: &str) -> Message {
    let body = Body::Summary(Summary {
        text: id.into(),
        ..Summary::default()
    });
    Message {
        body,
        ..message(id, parent)
    }
}

fn boundary(id: &str, parent: &str, summary: &str, kept_from: &str) -> Message {
    let some = |id: &str| (!id.is_empty()).then(|| id.into());
    let summary_id = some(summary);
    let kept_from = some(kept_from);
    let body = CompactBoundary {
        summary_id,
        kept_from,
        ..CompactBoundary::default()
    };
    Message {
        body: Body::CompactBoundary(body),
        ..message(id, parent)
    }
}

fn progress(id: &str, parent: &str) -> Message {
    Message {
        body: Body::Progress(Progress::default()),
        ..message(id, parent)
    }
}

fn state(id: &str, parent: &str) -> Message {
    let change = StateChange {
        changes: Raw::empty_object(),
        is_snapshot: false,
    };
    Message {
        body: Body::State(change),
        ..message(id, parent)
    }
}

fn side(id: &str, parent: &str) -> Message {
    Message {
        agent_id: Some("helper".into()),
        ..message(id, parent)
    }
}

#[test]
fn progress_is_nobodys_parent() {
    let messages = [
        message("a", ""),
        progress("p", "a"),
        progress("q", "p"),
        message("b", "q"),
    ];
    check(&messages, "a b", &["progress-parent"]);
    let tree = Tree::of(&messages);
    assert_eq!(
        (tree.children(0), tree.children(1), tree.children(2)),
        (&[3][..], &[][..], &[][..])
    );
    // A cycle of progress messages does not trap anything.
    check(
        &[progress("p", "q"), progress("q", "p"), message("b", "q")],
        "b",
        &["parent-cycle", "progress-parent"],
    );
}

#[test]
fn a_repeated_id_means_the_nearest_before() {
    let mut messages = vec![message("1", ""), message("2", "1"), message("1", "2")];
    messages.extend([message("2", "1"), message("3", "2")]);
    let tree = Tree::of(&messages);
    assert_eq!(tree.path(4), [0, 1, 2, 3, 4]);
    assert_eq!(tree.position("2"), Some(3));
    check(
        &messages,
        "1 2 1 2 3",
        &["duplicate-message-id", "duplicate-message-id"],
    );
    // Messages without an id are not duplicates.
    check(&[message("", ""), message("", "")], "", &[]);
}

#[test]
fn parents_may_stand_behind() {
    check(
        &[message("b", "a"), message("a", ""), message("c", "b")],
        "a b c",
        &[],
    );
}

#[test]
fn branches_are_named_by_their_leaves() {
    let messages = [
        message("a", ""),
        message("b", "a"),
        message("c", "b"),
        message("d", "b"),
        message("e", "d"),
        message("f", "a"),
        message("lone", ""),
    ];
    let tree = Tree::of(&messages);
    let branches: Vec<_> = tree
        .branches(None)
        .iter()
        .map(|branch| (branch.leaf, branch.fork))
        .collect();
    assert_eq!(
        branches,
        [(2, Some(1)), (4, Some(1)), (5, Some(0)), (6, None)]
    );
    assert_eq!(tree.forks().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(tree.common_ancestor(2, 4), Some(1));
    assert_eq!(tree.common_ancestor(2, 1), Some(1));
    assert_eq!(tree.common_ancestor(4, 6), None);
    assert_eq!(tree.path(99), [0; 0]);
    let branch = chain_to(&messages, &tree, Some(2));
    assert_eq!(
        branch.messages.iter().map(|m| &*m.id).collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
}

#[test]
fn every_chain_has_its_last_message() {
    let of = |agent: &str, id: &str| Message {
        agent_id: Some(agent.into()),
        ..message(id, "")
    };
    let progress = Message::new("p", Body::Progress(Progress::default()));
    let only_progress = Message {
        agent_id: Some("silent".into()),
        ..progress
    };
    let mut messages = vec![
        of("y", "1"),
        message("2", ""),
        of("x", "3"),
        only_progress,
        of("y", "5"),
    ];
    assert_eq!(Tree::of(&messages).chain_leaves(), [1, 4, 2]);
    for agent in [None, Some("y"), Some("x")] {
        let tree = Tree::of(&messages);
        assert!(tree.chain_leaves().contains(&tree.leaf(agent).unwrap()));
    }
    messages.remove(1);
    assert_eq!(Tree::of(&messages).chain_leaves(), [3, 1], "no main chain");
}

#[test]
fn a_side_chain_stands_alone() {
    let messages = [
        message("a", ""),
        side("s", "a"),
        side("t", "s"),
        message("b", "a"),
    ];
    let tree = Tree::of(&messages);
    assert_eq!(tree.side_chains(), ["helper"]);
    assert_eq!(tree.leaf(Some("helper")), Some(2));
    assert_eq!(tree.path(2), [1, 2], "its own root");
    assert_eq!(tree.children(0), [3]);
    check(&messages, "a b", &["foreign-parent"]);
}

#[test]
fn hidden_messages_drop_out_and_their_children_stay() {
    let talk = [message("a", ""), message("b", "a"), message("c", "b")];
    let with = |more: &[Message]| [&talk[..], more].concat();
    check(&with(&[tombstone("t", "c", "b", "a")]), "a c", &[]);
    check(&with(&[tombstone("t", "", "b", "a")]), "a c", &[]);
    check(
        &with(&[tombstone("t", "c", "b", "a"), message("d", "t")]),
        "a c d",
        &[],
    );
    // The last message.
    check(
        &with(&[tombstone("t", "c", "c", "b"), message("d", "t")]),
        "a b d",
        &[],
    );
    // A tombstone on a tombstone undoes it.
    let undone = [tombstone("t", "c", "b", "a"), tombstone("u", "t", "t", "c")];
    check(&with(&undone), "a b c", &[]);
    check(
        &with(&[tombstone("t", "c", "none", "")]),
        "a b c",
        &["unknown-target"],
    );
    // It hides the earlier message, not a later one with the same id.
    check(
        &[tombstone("t", "", "a", ""), message("a", "")],
        "a",
        &["unknown-target"],
    );
}

#[test]
fn a_tombstone_mends_the_chain_when_its_target_is_lost() {
    let messages = [
        message("a", ""),
        message("c", "b"),
        tombstone("t", "c", "b", "a"),
    ];
    check(&messages, "a c", &["unknown-target"]);
    let circle = [
        message("c", "x"),
        tombstone("t", "c", "x", "y"),
        tombstone("u", "t", "y", "x"),
    ];
    check(
        &circle,
        "c",
        &["unknown-parent", "unknown-target", "unknown-target"],
    );
}

#[test]
fn after_a_boundary_the_model_sees_its_summary() {
    let talk = [
        message("a", ""),
        message("b", "a"),
        message("c", "b"),
        message("d", "c"),
    ];
    let with = |more: &[Message]| [&talk[..], more].concat();
    let plain = [
        summary("s", "d"),
        boundary("x", "s", "s", ""),
        message("e", "x"),
    ];
    check(&with(&plain), "s e", &[]);
    let messages = with(&plain);
    let tail = chain(&messages);
    assert_eq!(tail.boundary.map(|message| &*message.id), Some("x"));
    let keeping = [
        summary("s", "d"),
        boundary("x", "d", "s", "c"),
        message("e", "x"),
    ];
    check(&with(&keeping), "s c d e", &[]);
    // Nothing follows yet, and the next message follows the boundary.
    let messages = with(&[summary("s", "d"), boundary("x", "s", "s", "d")]);
    check(&messages, "s d", &[]);
    assert_eq!(chain(&messages).leaf.map(|message| &*message.id), Some("x"));
    check(
        &with(&[summary("s", "d"), boundary("x", "s", "s", "zz")]),
        "s",
        &["unknown-kept-from"],
    );
}

#[test]
fn only_the_last_boundary_counts_and_a_tombstone_undoes_it() {
    let messages = vec![
        message("a", ""),
        summary("s", "a"),
        boundary("x", "s", "s", ""),
        message("b", "x"),
        summary("r", "b"),
        boundary("y", "r", "r", "b"),
        message("c", "y"),
    ];
    check(&messages, "r b c", &[]);
    let undone = [&messages[..], &[tombstone("t", "c", "y", "r")]].concat();
    check(&undone, "s b r c", &[]);
}

#[test]
fn a_later_boundary_may_keep_what_an_earlier_one_kept() {
    let talk = [
        message("a", ""),
        message("b", "a"),
        message("c", "b"),
        summary("s", "c"),
        boundary("x", "s", "s", "b"),
        message("d", "x"),
        summary("t", "d"),
        boundary("y", "t", "t", "c"),
        message("e", "y"),
    ];
    check(&talk[..6], "s b c d", &[]);
    // The second summary includes the first one, so the first one is not among the kept messages.
    check(&talk, "t c d e", &[]);
    let undone = [
        &talk[..],
        &[tombstone("g", "e", "y", "t"), tombstone("h", "g", "t", "d")],
    ]
    .concat();
    check(&undone, "s b c d e", &[]);
}

#[test]
fn a_boundary_without_its_summary_is_ignored_and_reported() {
    for x in [
        boundary("x", "a", "lost", ""),
        boundary("x", "a", "a", ""),
        boundary("x", "a", "", ""),
    ] {
        check(
            &[message("a", ""), x, message("b", "x")],
            "a b",
            &["boundary-without-summary"],
        );
    }
    let hidden = [
        message("a", ""),
        summary("s", "a"),
        boundary("x", "s", "s", ""),
        tombstone("t", "x", "s", "a"),
    ];
    check(&hidden, "a", &["boundary-without-summary"]);
    // A separator of another program cuts without one.
    let trigger = Some(CompactTrigger::Separator);
    let body = Body::CompactBoundary(CompactBoundary {
        trigger,
        ..CompactBoundary::default()
    });
    let separator = Message {
        body,
        ..message("x", "a")
    };
    check(&[message("a", ""), separator, message("b", "x")], "b", &[]);
}

#[test]
fn records_that_say_nothing_do_not_hide_the_conversation() {
    let talk = [message("a", ""), message("b", "a")];
    let with = |more: Message| [&talk[..], &[more]].concat();
    check(&with(state("x", "")), "a b", &[]);
    check(&with(state("x", "lost")), "a b", &["unknown-parent"]);
    check(
        &with(Message::new("x", Body::Other(Other::default()))),
        "a b",
        &[],
    );
    // One that follows an earlier message rewinds the conversation.
    check(&with(state("x", "a")), "a", &[]);
}

#[test]
fn each_tool_use_has_its_tool_result() {
    let call = |id: &str| {
        let id = id.into();
        let name = "read".into();
        let input = Raw::empty_object();
        ToolUse {
            id,
            name,
            input,
            extra: RawMap::new(),
        }
    };
    let result = |id: &str| ToolResult {
        tool_use_id: id.into(),
        ..ToolResult::default()
    };
    let mut messages = vec![
        Message::user("a", "go"),
        Message::assistant(
            "b",
            vec![Block::ToolUse(call("1")), Block::ToolUse(call("2"))],
        ),
        Message::user(
            "c",
            vec![
                Block::ToolResult(result("2")),
                Block::ToolResult(result("9")),
            ],
        ),
        Message::new("d", Body::ToolUse(call("3"))),
        Message::new("e", Body::ToolResult(result("3"))),
        // A call may have further results.
        Message::new("f", Body::ToolResult(result("3"))),
        Message::user("g", ""),
        // A repeated id is another call.
        Message::new("h", Body::ToolUse(call("3"))),
        Message::new("i", Body::ToolUse(call("3"))),
    ];
    for at in 1..messages.len() {
        messages[at].parent_id = Some(messages[at - 1].id.clone());
    }
    let found = chain(&messages).unpaired();
    let found: Vec<_> = found
        .iter()
        .map(|one| (one.at, one.problem().code))
        .collect();
    assert_eq!(
        found,
        [
            (1, "call-without-result".into()),
            (2, "result-without-call".into()),
            (6, "empty-content".into()),
            (7, "call-without-result".into()),
            (8, "call-without-result".into()),
        ]
    );
}

#[test]
fn names_of_any_length_are_shown_short() {
    let long = "é".repeat(1_000_000);
    let found = chain(&[message(&long, "lost")]).problems[0].message.len();
    assert!(found < 300, "{found}");
}

proptest! {
    /// With any links, every message is in the tree once, every path ends, and children and parents agree.
    #[test]
    fn any_links_make_a_tree(names in proptest::collection::vec((0..9_u8, 0..9_u8, 0..8_u8), 0..40)) {
        let messages: Vec<Message> = names
            .iter()
            .map(|(id, parent, kind)| {
                let id = format!("{id}");
                let parent = if *parent == 0 { String::new() } else { format!("{parent}") };
                match kind {
                    0 => progress(&id, &parent),
                    1 => tombstone(&id, &parent, &parent, "1"),
                    2 => summary(&id, &parent),
                    3 => boundary(&id, &parent, "2", "3"),
                    4 => side(&id, &parent),
                    5 => state(&id, &parent),
                    _ => message(&id, &parent),
                }
            })
            .collect();
        let tree = Tree::of(&messages);
        let mut seen = 0;
        for at in 0..tree.len() {
            let path = tree.path(at);
            prop_assert_eq!(path.last(), Some(&at));
            prop_assert!(path.len() <= tree.len());
            for step in path.windows(2) {
                prop_assert_eq!(tree.parent(step[1]), Some(step[0]));
                prop_assert!(!matches!(messages[step[0]].body, Body::Progress(_)));
                prop_assert_eq!(&messages[step[0]].agent_id, &messages[step[1]].agent_id);
            }
            for child in tree.children(at) {
                prop_assert_eq!(tree.parent(*child), Some(at));
                seen += 1;
            }
        }
        let followers = (0..tree.len()).filter(|at| {
            tree.parent(*at).is_some() && !matches!(messages[*at].body, Body::Progress(_))
        });
        prop_assert_eq!(seen, followers.count());
        for finding in tree.findings() {
            prop_assert!(finding.at < tree.len());
        }
        let chain = chain(&messages);
        let shown = chain.messages.iter().all(|message| {
            !matches!(message.body, Body::Progress(_) | Body::Tombstone(_) | Body::State(_))
        });
        prop_assert!(shown);
    }
}
