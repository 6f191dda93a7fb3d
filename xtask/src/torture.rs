//! `cargo xtask torture`: the same tests with far more cases, and other ones each time. Too slow for every change.

use std::path::Path;

use crate::setup;
use crate::test::{Report, all_tests};

/// What tests read to decide how much they do.
const SCALE: &[(&str, &str)] = &[
    ("ANALECTS_TORTURE", "1"),
    ("ANALECTS_FUZZ_ITERATIONS", "200000"),
    ("PROPTEST_CASES", "4096"),
];

/// Runs everything; false if anything failed.
pub fn run(root: &Path) -> bool {
    if !setup::run(root) {
        return false;
    }
    let mut report = Report::new();
    report.tests("torture", all_tests(root).envs(SCALE.iter().copied()));
    report.deny(root);
    report.finish()
}
