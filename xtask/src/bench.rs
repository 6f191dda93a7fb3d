//! `cargo xtask bench`: what is measured, and how it stands against its bar. The measuring itself is
//! in `benches/ratios/main.rs`, which may depend on the crates that it measures.
//!
//! Where it can be, a value is a ratio of two things timed in the same run, since times alone say more about
//! the machine than about the code.

use std::fmt;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::setup;
use crate::steps::{cargo, succeeds};

/// The limit that a value must keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// The value is this or less.
    AtMost(f64),
    /// The value is this or more.
    AtLeast(f64),
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bar::AtMost(limit) => write!(f, "<={limit}"),
            Bar::AtLeast(limit) => write!(f, ">={limit}"),
        }
    }
}

/// One measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was measured.
    pub name: &'static str,
    /// The result.
    pub value: f64,
    /// What the value counts; `x` for a ratio.
    pub unit: &'static str,
    /// What it should be.
    pub bar: Bar,
}

impl Row {
    /// Whether the value keeps its bar; a value that is not a number does not.
    pub fn holds(&self) -> bool {
        match self.bar {
            Bar::AtMost(limit) => self.value <= limit,
            Bar::AtLeast(limit) => self.value >= limit,
        }
    }
}

/// The rows as aligned lines of name, value, unit and bar; a missed bar is marked.
pub fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for row in rows {
        let Row {
            name,
            value,
            unit,
            bar,
        } = row;
        let mark = if row.holds() { "" } else { "  MISSED" };
        out.push_str(&format!(
            "{name:<width$} {value:>9.2} {unit:<4} {bar}{mark}\n"
        ));
    }
    out
}

/// How many times longer `work` takes than `yardstick`. The two take turns, and the quickest round
/// of each counts, so that a busy machine disturbs both alike or neither.
pub fn ratio<A, B>(mut work: impl FnMut() -> A, mut yardstick: impl FnMut() -> B) -> f64 {
    let (mut best_work, mut best_yardstick) = (Duration::MAX, Duration::MAX);
    for _ in 0..30 {
        best_work = best_work.min(time(&mut work));
        best_yardstick = best_yardstick.min(time(&mut yardstick));
    }
    best_work.as_secs_f64() / best_yardstick.as_secs_f64()
}

fn time<T>(work: &mut impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    for _ in 0..200 {
        black_box(work());
    }
    start.elapsed()
}

/// Builds and runs the measurements, all or those that have one of the words in their names; false
/// if a bar was missed.
pub fn run(root: &Path, wanted: &[&str]) -> bool {
    // Some of the measurements run the command itself.
    if !succeeds(&mut cargo(
        root,
        &["build", "--release", "--package", "analects"],
    )) {
        eprintln!("error: the command does not build");
        eprintln!("hint: cargo build --release --package analects");
        return false;
    }
    if !succeeds(&mut cargo(
        root,
        &["bench", "--package", "xtask", "--no-run"],
    )) {
        eprintln!("error: the measurements do not build");
        eprintln!("hint: cargo bench --package xtask --no-run");
        return false;
    }
    let run = [
        "bench",
        "--quiet",
        "--package",
        "xtask",
        "--bench",
        "ratios",
        "--",
    ];
    let status = cargo(root, &[&run, wanted].concat()).status();
    status.is_ok_and(|status| status.success())
}

/// What other tools are measured with, from Python's package index.
const PEERS: [&str; 4] = ["jupytext", "langchain-core", "tiktoken", "llm"];

/// The vocabulary o200k, as the command has it.
const VOCABULARY: &str = "crates/analects-context/data/o200k.bin";

/// Runs other tools at the same work, side by side with the command; false if one could not be installed or a bar was
/// missed.
pub fn run_peers(root: &Path) -> bool {
    match measure_peers(root) {
        Ok(ok) => ok,
        Err(error) => {
            eprintln!("SKIPPED: peers: {error}");
            false
        }
    }
}

fn measure_peers(root: &Path) -> Result<bool, String> {
    let python = setup::python_with("peers", &PEERS)?;
    if !succeeds(&mut cargo(
        root,
        &["build", "--release", "--package", "analects"],
    )) {
        return Err("the command does not build".to_string());
    }
    let folder = root.join("target/peers");
    // What an earlier run has left would be measured along.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut command = Command::new(python);
    command.arg(root.join("xtask/benches/peers/peers.py"));
    command
        .arg(root.join("target/release/analects"))
        .arg(&folder)
        .arg(root.join(VOCABULARY));
    let status = command.status().map_err(|error| error.to_string())?;
    let _ = fs::remove_dir_all(&folder);
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned_and_a_missed_bar_is_marked() {
        let row = |name, value, bar| Row {
            name,
            value,
            unit: "x",
            bar,
        };
        let rows = [
            row("parse", 1.5, Bar::AtMost(2.0)),
            row("long_name", 12.25, Bar::AtLeast(20.0)),
        ];
        assert_eq!(
            table(&rows),
            "parse          1.50 x    <=2\nlong_name     12.25 x    >=20  MISSED\n"
        );
    }

    #[test]
    fn a_bar_is_kept_up_to_its_limit_and_never_by_a_missing_value() {
        let holds = |value, bar| {
            Row {
                name: "",
                value,
                unit: "",
                bar,
            }
            .holds()
        };
        assert!(holds(2.0, Bar::AtMost(2.0)) && !holds(2.1, Bar::AtMost(2.0)));
        assert!(holds(2.0, Bar::AtLeast(2.0)) && !holds(1.9, Bar::AtLeast(2.0)));
        assert!(!holds(f64::NAN, Bar::AtMost(2.0)) && !holds(f64::NAN, Bar::AtLeast(2.0)));
    }
}
