//! Time grows with the length of a conversation, not with its shape.

use std::time::{Duration, Instant};

use super::*;

const MANY: usize = 30_000;

/// Ids and parents of many messages in one shape.
type Shape = fn(usize, usize) -> Message;

fn link(id: usize, parent: Option<usize>) -> Message {
    let parent_id = parent.map(|parent| format!("m{parent}").into());
    Message {
        parent_id,
        ..Message::user(format!("m{id}"), "x")
    }
}

fn tombstone(id: usize, parent: usize, target: &str, target_parent: &str) -> Message {
    let target = target.into();
    let target_parent = Some(target_parent.into());
    let body = Body::Tombstone(Tombstone {
        target,
        target_parent,
    });
    Message {
        body,
        ..link(id, Some(parent))
    }
}

const SHAPES: [(&str, Shape); 9] = [
    ("a line", |at, _| link(at, at.checked_sub(1))),
    ("a circle", |at, count| link(at, Some((at + 1) % count))),
    ("many circles of two", |at, _| link(at, Some(at ^ 1))),
    ("all fork from one", |at, _| link(at, (at > 0).then_some(0))),
    ("each forks from the one before but one", |at, _| {
        link(at, at.checked_sub(2))
    }),
    ("all parents are lost", |at, _| {
        link(at, Some(usize::MAX - at))
    }),
    ("all progress", |at, _| {
        let body = Body::Progress(Progress::default());
        Message {
            body,
            ..link(at, at.checked_sub(1))
        }
    }),
    ("all tombstones of each other", |at, _| {
        tombstone(
            at,
            at.saturating_sub(1),
            &format!("m{}", at.saturating_sub(1)),
            "m0",
        )
    }),
    ("all tombstones of a line that is lost", |at, _| {
        match at % 2 {
            0 => tombstone(at, at + 1, &format!("lost{at}"), &format!("lost{}", at + 2)),
            _ => Message {
                parent_id: Some(format!("lost{}", at - 1).into()),
                ..Message::user(format!("m{at}"), "x")
            },
        }
    }),
];

/// Runs every query of a tree and returns the time.
fn time(shape: Shape, count: usize) -> Duration {
    let messages: Vec<Message> = (0..count).map(|at| shape(at, count)).collect();
    let start = Instant::now();
    let tree = Tree::of(&messages);
    let chain = chain(&messages);
    let branches = tree.branches(None).len();
    let forks = tree.forks().count();
    let shared = tree.common_ancestor(0, count - 1);
    std::hint::black_box((chain.unpaired().len(), branches, forks, shared));
    start.elapsed()
}

/// Sixteen times as many messages take about sixteen times as long; quadratic time would be 256 times. Other load on the
/// machine may slow down one attempt, but not all of them.
fn grows_as_a_line(what: &str, time: impl Fn(usize) -> Duration, many: usize) {
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..8 {
        best.0 = (0..3)
            .map(|_| time(many / 16))
            .min()
            .unwrap_or_default()
            .min(best.0);
        best.1 = time(many).min(best.1);
        if best.1 < best.0 * 64 + Duration::from_millis(20) {
            return;
        }
    }
    panic!(
        "{what}: {:?} for {many}, {:?} for a sixteenth",
        best.1, best.0
    );
}

#[test]
fn no_shape_is_quadratic() {
    for (name, shape) in SHAPES {
        grows_as_a_line(name, |count| time(shape, count), MANY);
    }
}

#[test]
fn a_state_that_grows_with_every_record_is_made_in_one_pass() {
    let change = |at: usize| {
        let changes = Raw::parse(&format!(
            r#"{{"k{at}":1,"token_budget_state":{{"n{at}":{at}}}}}"#
        ));
        let changes = changes.unwrap_or(Raw::empty_object());
        Message::new(
            format!("m{at}"),
            StateChange {
                changes,
                is_snapshot: false,
            }
            .into(),
        )
    };
    let time = |count: usize| {
        let records: Vec<Message> = (0..count).map(change).collect();
        let start = Instant::now();
        assert_eq!(SessionState::rebuild(&records).extra.len(), count);
        start.elapsed()
    };
    grows_as_a_line("a state", time, 16_000);
}
