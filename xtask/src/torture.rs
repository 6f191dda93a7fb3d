//! `cargo xtask torture`: the same tests with far more cases, and other ones each time, and a search with
//! each fuzz target. Too slow for every change.

use std::path::Path;

use crate::fuzz::{self, Fuzzer};
use crate::setup;
use crate::test::{Report, all_tests};

/// What tests read to decide how much they do.
const SCALE: &[(&str, &str)] = &[
    ("ANALECTS_TORTURE", "1"),
    ("ANALECTS_FUZZ_ITERATIONS", "200000"),
    ("PROPTEST_CASES", "4096"),
];

/// What some tests do then, where the number of cases is fixed.
const LARGE: &[(&str, &str)] = &[
    (
        "cli interrupted_answers",
        "1,000 kills in a turn, at any moment",
    ),
    (
        "cli kills_during_save",
        "a kill at each system call of a save and of a turn, and 1,000 in a save",
    ),
    (
        "cli power_cuts",
        "200 power cuts while cells are added, 200 in turns, 100 while a large file grows",
    ),
    (
        "cli saves_during_turn",
        "300 saves by other programs at any moment of a turn",
    ),
    ("cli editor_setups", "300 saves by Vim, Neovim and Emacs"),
];

/// How long each fuzz target runs.
pub const FUZZ_SECONDS: &str = "300";

/// Runs everything, each fuzz target for so many seconds; false if anything failed.
pub fn run(root: &Path, fuzz_seconds: &str) -> bool {
    if !setup::run_for_torture(root) {
        return false;
    }
    for (tests, what) in LARGE {
        println!("torture: {tests}: {what}");
    }
    let mut report = Report::new();
    report.tests("torture", all_tests(root).envs(SCALE.iter().copied()));
    report.deny(root);
    let names = fuzz::names(root);
    let broken = Fuzzer::build(root).and_then(|fuzzer| fuzzer.search(&names, fuzz_seconds));
    let fuzz_ok = broken.as_ref().is_ok_and(Vec::is_empty);
    if let Err(error) = broken {
        eprintln!("error: {error}");
    }
    report.finish() && fuzz_ok
}
