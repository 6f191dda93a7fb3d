//! Shapes of a conversation that a small file can have and that must not take much longer than others: four times as
//! many of something take about four times as long.

use std::hint::black_box;
use std::time::{Duration, Instant};

use analects_core::Message;
use analects_formats::transcript::{check, encode};
use analects_store::OsIds;
use xtask::bench::{Bar, Row};

/// How many there are at first.
const FEW: usize = 16_000;

/// The time for four times as many, against that for a few: the quickest of some rounds of each.
fn growth(name: &'static str, make: impl Fn(usize) -> Message, work: impl Fn(&[u8])) -> Row {
    let file = |count: usize| (0..count).map(|at| encode(&make(at))).collect::<String>();
    let few = file(FEW);
    let many = file(4 * FEW);
    let time = |text: &str| {
        let start = Instant::now();
        work(text.as_bytes());
        start.elapsed()
    };
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..7 {
        best.0 = best.0.min(time(&few));
        best.1 = best.1.min(time(&many));
    }
    let value = best.1.as_secs_f64() / best.0.as_secs_f64();
    Row {
        name,
        value,
        unit: "x",
        bar: Bar::AtMost(6.0),
    }
}

/// A message of a side chain of its own.
fn alone(at: usize) -> Message {
    Message {
        agent_id: Some(format!("agent-{at}")),
        ..Message::user(format!("m{at}"), "Hello")
    }
}

/// Checking a transcript of many side chains.
pub fn check_side_chains() -> Row {
    growth("check_many_side_chains_4n_per_n", alone, |bytes| {
        black_box(check(bytes));
    })
}

/// Finding what would mend one.
pub fn repair_side_chains() -> Row {
    growth("repair_many_side_chains_4n_per_n", alone, |bytes| {
        black_box(check(bytes).repair(&mut OsIds, Default::default()));
    })
}
