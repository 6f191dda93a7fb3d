//! `cargo xtask test`: the one test command. Every step is run even if one before it failed, and
//! the last line says how many tests passed, failed and were skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::setup;
use crate::steps::{self, Outcome, cargo};

mod count;
#[cfg(test)]
mod tests;

pub use count::{Counts, skip_lines, summaries};

/// How many lines of a failed step are shown again at the end.
const TAIL: usize = 40;

/// What the random cases of property tests begin with: a change is judged by the same cases on every machine, and by
/// those that once failed. New ones are looked for by `cargo xtask torture`, or with another seed.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "551");

/// Runs everything; false if anything failed.
pub fn run(root: &Path) -> bool {
    let mut report = Report::new();
    if !setup::run(root) {
        report.counts.failed += 1;
    }
    report.check("fmt", &mut cargo(root, &["fmt", "--all", "--check"]));
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    report.check("clippy", &mut cargo(root, &clippy));
    let mut tests = all_tests(root);
    if std::env::var_os(SEED.0).is_none() {
        tests.env(SEED.0, SEED.1);
    }
    report.tests("tests", &mut tests);
    report.tests(
        "doc tests",
        &mut cargo(root, &["test", "--doc", "--workspace", "--no-fail-fast"]),
    );
    let mut doc = cargo(root, &["doc", "--workspace", "--no-deps"]);
    report.check("doc", doc.env("RUSTDOCFLAGS", "-D warnings"));
    report.finish()
}

/// The command that runs all tests but the doc tests.
pub fn all_tests(root: &Path) -> Command {
    if !setup::has_nextest(root) {
        return cargo(
            root,
            &[
                "test",
                "--workspace",
                "--lib",
                "--bins",
                "--tests",
                "--no-fail-fast",
            ],
        );
    }
    let mut command = cargo(root, &["nextest", "run", "--workspace", "--no-fail-fast"]);
    // Some tests wait for a server or a terminal: one more than there are processors keeps these busy.
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    command.args(["--no-tests", "pass"]);
    command.args(["--test-threads", &(processors + 1).to_string()]);
    command
}

/// What has been run so far.
pub struct Report {
    counts: Counts,
    steps: Vec<Outcome>,
    skips: Vec<String>,
    skip_file: PathBuf,
}

impl Report {
    /// A report of nothing yet.
    pub fn new() -> Report {
        let name = format!("analects-skips-{}.txt", std::process::id());
        Report {
            counts: Counts::default(),
            steps: Vec::new(),
            skips: Vec::new(),
            skip_file: std::env::temp_dir().join(name),
        }
    }

    /// How it stands.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Runs a step that counts as one test.
    pub fn check(&mut self, name: &str, command: &mut Command) {
        let outcome = steps::run(name, command);
        self.counts.add(Counts::of_check(outcome.ok));
        self.steps.push(outcome);
    }

    /// Runs a step whose output says how many tests it ran.
    pub fn tests(&mut self, name: &str, command: &mut Command) {
        // A runner hides what a passing test prints, so a test that skips itself also writes here.
        let _ = fs::write(&self.skip_file, "");
        let outcome = steps::run(name, command.env("ANALECTS_SKIPS", &self.skip_file));
        let skips = skip_lines(&fs::read_to_string(&self.skip_file).unwrap_or_default());
        let _ = fs::remove_file(&self.skip_file);
        let counts = summaries(&outcome.output);
        if counts.skipped > 0 {
            self.skips.push(format!(
                "SKIPPED: {} of {name}: marked as ignored",
                counts.skipped
            ));
        }
        self.counts
            .add(counts.with_skips(skips.len()).with_exit(outcome.ok));
        self.skips.extend(skips);
        self.steps.push(outcome);
    }

    /// Checks licences, bans and sources in more depth than `cargo xtask tidy`, where cargo-deny is installed.
    pub fn deny(&mut self, root: &Path) {
        let Some(program) = setup::deny_program() else {
            let reason = "it could not be installed, see setup above";
            self.skips.push(format!("SKIPPED: cargo deny: {reason}"));
            self.counts.skipped += 1;
            return;
        };
        let mut command = Command::new(program);
        let args = [
            "--offline",
            "check",
            "--hide-inclusion-graph",
            "bans",
            "licenses",
            "sources",
        ];
        self.check("deny", command.current_dir(root).args(args));
    }

    /// Prints the times, the ends of failed steps, the skips and the counts; false if anything failed.
    pub fn finish(self) -> bool {
        for step in self.steps.iter().filter(|step| !step.ok) {
            println!(
                "\n--- {} FAILED; the end of its output:\n{}",
                step.name,
                step.tail(TAIL)
            );
        }
        println!();
        for step in &self.steps {
            let word = if step.ok { "ok" } else { "FAILED" };
            println!("{:<10} {:>7.1} s  {word}", step.name, step.seconds);
        }
        for skip in &self.skips {
            println!("{skip}");
        }
        println!("{}", self.counts);
        self.counts.failed == 0
    }
}

impl Default for Report {
    fn default() -> Report {
        Report::new()
    }
}
