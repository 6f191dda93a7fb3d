//! Tests of the counting.

use std::process::Command;

use super::{Counts, Report, skip_lines, summaries};

fn check(output: &str, expected: &str) {
    assert_eq!(summaries(output).to_string(), expected, "{output}");
}

#[test]
fn nextest_summaries_are_counted() {
    check(
        "     Summary [   0.012s] 12 tests run: 12 passed, 0 skipped",
        "12 passed, 0 failed, 0 skipped",
    );
    check(
        "     Summary [   0.012s] 1 test run: 1 passed, 2 skipped\n",
        "1 passed, 0 failed, 2 skipped",
    );
    check(
        "     Summary [ 61.3s] 9/12 tests run: 5 passed (1 slow, 2 flaky), 2 failed, 1 exec failed, 1 timed out, 3 skipped",
        "5 passed, 4 failed, 3 skipped",
    );
}

#[test]
fn what_a_failed_test_printed_is_not_counted_again() {
    let output = "  stdout ---\n\n    test result: FAILED. 0 passed; 1 failed; 0 ignored; finished in 0.84s\n\
        test result: FAILED. 0 passed; 1 failed; 0 ignored; finished in 0.84s\n\
        \n     Summary [   7.755s] 58 tests run: 57 passed, 1 failed, 0 skipped\n";
    check(output, "57 passed, 1 failed, 0 skipped");
}

#[test]
fn cargo_test_summaries_are_added_up() {
    let output = "running 3 tests\ntest a ... ok\n\
        test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 5 filtered out; finished in 0.00s\n\
        test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    check(output, "4 passed, 2 failed, 1 skipped");
}

#[test]
fn other_lines_count_nothing() {
    check(
        "7 passed, 1 failed\nerror: test failed, to rerun pass `--lib`\n",
        "0 passed, 0 failed, 0 skipped",
    );
}

#[test]
fn a_step_that_fails_without_a_failed_test_counts_once() {
    let none = Counts::default();
    assert_eq!(none.with_exit(false), Counts { failed: 1, ..none });
    assert_eq!(none.with_exit(true), none);
    let two = Counts { failed: 2, ..none };
    assert_eq!(two.with_exit(false), two);
}

#[test]
fn a_test_that_skips_itself_is_not_counted_as_passed() {
    let lines = skip_lines("SKIPPED: needs_net: no network\nother\nSKIPPED: b: c\n");
    assert_eq!(lines, ["SKIPPED: needs_net: no network", "SKIPPED: b: c"]);
    let counts = Counts {
        passed: 5,
        failed: 1,
        skipped: 0,
    }
    .with_skips(lines.len());
    assert_eq!(counts.to_string(), "3 passed, 1 failed, 2 skipped");
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn a_report_goes_on_after_a_failure_and_counts_all() {
    let mut report = Report::new();
    report.check("breaks", &mut shell("echo broken >&2; exit 3"));
    report.check("holds", &mut shell("exit 0"));
    let skips = "echo 'SKIPPED: a: no network' >> \"$ANALECTS_SKIPS\"";
    let result = "echo 'test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured'";
    report.tests("tests", &mut shell(&format!("{skips}; {result}")));
    report.check("is not there", &mut Command::new("no-such-program"));
    assert_eq!(report.counts().to_string(), "4 passed, 2 failed, 2 skipped");
    assert!(!report.finish());
}
