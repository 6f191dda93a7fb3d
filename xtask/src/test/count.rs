//! Counts tests by the summaries that `cargo nextest` and `cargo test` print.

use std::fmt;

/// How many tests passed, failed and were skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ran and held.
    pub passed: usize,
    /// Ran and did not hold, or could not run.
    pub failed: usize,
    /// Did not run, for a stated reason.
    pub skipped: usize,
}

impl Counts {
    /// A check that is one test.
    pub fn of_check(ok: bool) -> Counts {
        Counts {
            passed: usize::from(ok),
            failed: usize::from(!ok),
            skipped: 0,
        }
    }

    /// Adds the counts of another step.
    pub fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// Tests that skipped themselves look like passed ones to the runner.
    pub fn with_skips(self, skips: usize) -> Counts {
        let passed = self.passed.saturating_sub(skips);
        Counts {
            passed,
            skipped: self.skipped + skips,
            ..self
        }
    }

    /// A step can fail without a failed test, as when the tests do not compile.
    pub fn with_exit(self, ok: bool) -> Counts {
        let silent = !ok && self.failed == 0;
        Counts {
            failed: self.failed + usize::from(silent),
            ..self
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

/// Adds up every summary in the output of a test runner.
pub fn summaries(output: &str) -> Counts {
    // Nextest shows what a failed test printed, which holds a summary of that one test; so its own
    // summary is the only one that counts.
    let nextest: Vec<&str> = output.lines().filter_map(nextest_summary).collect();
    let parts = if nextest.is_empty() {
        output.lines().filter_map(cargo_summary).collect()
    } else {
        nextest
    };
    let mut counts = Counts::default();
    parts.into_iter().for_each(|parts| counts.add(parse(parts)));
    counts
}

/// The counts of a line such as `Summary [ 0.1s] 3 tests run: 2 passed (1 slow), 1 failed`.
fn nextest_summary(line: &str) -> Option<&str> {
    line.trim_start()
        .strip_prefix("Summary [")?
        .split_once(" run: ")
        .map(|(_, parts)| parts)
}

/// The counts of a line such as `test result: ok. 2 passed; 0 failed; 1 ignored`.
fn cargo_summary(line: &str) -> Option<&str> {
    line.strip_prefix("test result: ")?
        .split_once(". ")
        .map(|(_, parts)| parts)
}

fn parse(parts: &str) -> Counts {
    let mut counts = Counts::default();
    for part in without_brackets(parts).split([',', ';']) {
        let Some((number, word)) = part.trim().split_once(' ') else {
            continue;
        };
        let number = number.parse().unwrap_or(0);
        match word.trim() {
            "passed" => counts.passed += number,
            "failed" | "timed out" | "exec failed" => counts.failed += number,
            "skipped" | "ignored" => counts.skipped += number,
            _ => {}
        }
    }
    counts
}

/// Drops remarks such as `(1 slow, 2 flaky)`, which are about tests that are counted already.
fn without_brackets(text: &str) -> String {
    let mut depth = 0;
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

/// The lines by which tests say that they skipped themselves.
pub fn skip_lines(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with("SKIPPED: "))
        .map(str::to_string)
        .collect()
}
