//! How soon an answer is on the terminal.

use std::process::Command;

use xtask::bench::{Bar, Row};

use crate::command::program;

/// How much later than with `curl -N` the first words of an answer are on a terminal. Without Python or
/// curl there is no value, and the bar is missed.
pub fn first_words() -> Row {
    let value = later_than_curl().unwrap_or(f64::NAN);
    Row {
        name: "first_words_after_curl",
        value,
        unit: "ms",
        bar: Bar::AtMost(20.0),
    }
}

fn later_than_curl() -> Option<f64> {
    let home = tempfile::tempdir().ok()?;
    let mut python = Command::new("python3");
    python
        .arg("-c")
        .arg(include_str!("first_byte.py"))
        .arg(program()?)
        .arg(home.path());
    let output = python.output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
