//! How long the command itself takes: to start, and to look at a large file.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use xtask::bench::{Bar, Row};

/// The release build of the command, which lies two folders above this program.
fn program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.parent()?.parent()?.join("analects");
    program.is_file().then_some(program)
}

/// The quickest of some runs.
fn quickest(runs: usize, mut command: Command) -> Option<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut best = Duration::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        if !command.status().ok()?.success() {
            return None;
        }
        best = best.min(start.elapsed());
    }
    Some(best)
}

fn version() -> Option<Duration> {
    let mut command = Command::new(program()?);
    command.arg("--version");
    quickest(100, command)
}

fn milliseconds(time: Option<Duration>) -> f64 {
    time.map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0)
}

/// The time that `analects --version` takes.
pub fn start_up() -> Row {
    let value = milliseconds(version());
    Row { name: "start_up", value, unit: "ms", bar: Bar::AtMost(5.0) }
}

/// The same, against a program that does nothing.
pub fn start_up_per_nothing() -> Row {
    let nothing = quickest(100, Command::new("/bin/true"));
    let value = milliseconds(version()) / milliseconds(nothing);
    Row { name: "start_up_per_true", value, unit: "x", bar: Bar::AtMost(4.0) }
}

/// The time to list a file of 10 000 cells.
pub fn list() -> Row {
    let value = milliseconds(list_once());
    Row { name: "list_of_10_000_cells", value, unit: "ms", bar: Bar::AtMost(30.0) }
}

fn list_once() -> Option<Duration> {
    let folder = tempfile::tempdir().ok()?;
    let path = folder.path().join("large.msg.md");
    let cells = (1..=10_000).map(|id| {
        let (marker, word) = if id % 2 == 1 { ("%%", "markdown") } else { ("%%%", "coder") };
        format!("# {marker} [^{id}]\n\n[^{id}]: [{word}]\n\nWhat was said, in a line or two.\n\n")
    });
    std::fs::write(&path, cells.collect::<String>()).ok()?;
    let mut command = Command::new(program()?);
    command.arg("list").arg(path).env("ANALECTS_HOME", folder.path());
    quickest(20, command)
}
