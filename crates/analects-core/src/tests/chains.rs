//! The way from the newest message to the first.

use super::*;

fn message(id: &str, parent: &str) -> Message {
    let parent_id = (!parent.is_empty()).then(|| parent.into());
    Message { parent_id, ..Message::user(id, id) }
}

#[track_caller]
fn check(messages: &[Message], expected: &str, problems: &[&str]) {
    let chain = chain(messages);
    let ids: Vec<&str> = chain.messages.iter().map(|message| &*message.id).collect();
    let codes: Vec<&str> = chain.problems.iter().map(|problem| &*problem.code).collect();
    assert_eq!((ids.join(" ").as_str(), codes.as_slice()), (expected, problems));
}

#[test]
fn the_chain_is_the_path_from_the_last_message() {
    check(&[], "", &[]);
    check(&[message("a", ""), message("b", "a"), message("c", "b")], "a b c", &[]);
    // A fork: the branch of the last message.
    check(&[message("a", ""), message("b", "a"), message("c", "a")], "a c", &[]);
}

#[test]
fn broken_links_are_problems_and_what_can_be_read_is_read() {
    check(&[message("a", "lost"), message("b", "a")], "a b", &["unknown-parent"]);
    check(&[message("a", "b"), message("b", "a")], "a b", &["parent-cycle"]);
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
    let side = Message { agent_id: Some("helper".into()), ..message("s", "") };
    check(&[message("a", ""), progress, side], "a", &[]);
}
