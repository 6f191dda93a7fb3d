//! How long the command itself takes: to start, and to look at a large file.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use xtask::bench::{Bar, Row};

/// The release build of the command, which lies two folders above this program.
pub fn program() -> Option<PathBuf> {
    let program = std::env::current_exe()
        .ok()?
        .parent()?
        .parent()?
        .join("analects");
    program.is_file().then_some(program)
}

/// The quickest of some runs.
fn quickest(runs: usize, mut command: Command) -> Option<Duration> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
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
    Row {
        name: "start_up",
        value,
        unit: "ms",
        bar: Bar::AtMost(5.0),
    }
}

/// The same, against a program that does nothing.
pub fn start_up_per_nothing() -> Row {
    let nothing = quickest(100, Command::new("/bin/true"));
    let value = milliseconds(version()) / milliseconds(nothing);
    Row {
        name: "start_up_per_true",
        value,
        unit: "x",
        bar: Bar::AtMost(4.0),
    }
}

/// The time to list a file of 10 000 cells.
pub fn list() -> Row {
    let value = milliseconds(list_once());
    Row {
        name: "list_of_10_000_cells",
        value,
        unit: "ms",
        bar: Bar::AtMost(30.0),
    }
}

/// The processor's time that a turn in a file of 10 000 cells takes beside the model: from the file to the
/// request, and from a recorded answer to the disk.
pub fn turn() -> Row {
    let value = milliseconds(turn_once());
    Row {
        name: "turn_in_10_000_cells",
        value,
        unit: "ms",
        bar: Bar::AtMost(50.0),
    }
}

fn turn_once() -> Option<Duration> {
    const RUNS: u32 = 20;
    let folder = tempfile::tempdir().ok()?;
    let path = folder.path().join("large.msg.md");
    let (text, recording) = (answered_cells(), folder.path().join("answer.sse"));
    let delta = "data: {\"choices\":[{\"delta\":{\"content\":\"A few words.\"}}]}\n\n";
    std::fs::write(&recording, format!("{}data: [DONE]\n\n", delta.repeat(50))).ok()?;
    let before = time_of_children()?;
    for _ in 0..RUNS {
        std::fs::write(&path, &text).ok()?;
        let mut command = Command::new(program()?);
        command
            .arg("chat")
            .arg(&path)
            .arg("-m")
            .arg(format!("replay:{}", recording.display()));
        command.arg("And now?").env("ANALECTS_HOME", folder.path());
        quickest(1, command)?;
    }
    Some((time_of_children()? - before) / RUNS)
}

/// A file of 10 000 cells with what `chat` notes of questions and answers.
fn answered_cells() -> String {
    let cells = (1..=10_000).map(|id| {
        let (marker, metadata) = if id % 2 == 1 {
            ("%%", "[markdown]".to_string())
        } else {
            let time = format!("2026-11-18T{:02}:{:02}:00.123Z", id / 60 % 24, id % 60);
            let facts = format!("time=\"{time}\" tokens={}/90 cost=0.00048", id + 1200);
            ("%%%", format!("[coder] {facts}"))
        };
        format!("# {marker} [^{id}]\n\n[^{id}]: {metadata}\n\nWhat was said, in a line or two.\n\n")
    });
    cells.collect()
}

/// The processor's time of `edit` in a file of 10 000 cells as `chat` writes them, against that of `check`.
pub fn edit_per_check() -> Row {
    let time = |verb: &[&str]| {
        const RUNS: u32 = 40;
        let folder = tempfile::tempdir().ok()?;
        let path = folder.path().join("large.msg.md");
        std::fs::write(&path, answered_cells()).ok()?;
        let before = time_of_children()?;
        for _ in 0..RUNS {
            let mut command = Command::new(program()?);
            command
                .arg(verb[0])
                .arg(&path)
                .args(&verb[1..])
                .env("ANALECTS_HOME", folder.path());
            quickest(1, command)?;
        }
        Some((time_of_children()? - before) / RUNS)
    };
    let value =
        milliseconds(time(&["edit", "5000", "Another text."])) / milliseconds(time(&["check"]));
    Row {
        name: "edit_per_check_of_10_000_cells",
        value,
        unit: "x",
        bar: Bar::AtMost(3.0),
    }
}

/// The processor's time of all processes that this one has waited for, in steps of 10 ms.
fn time_of_children() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name may hold anything; the fields after it are numbers.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks(13)? + ticks(14)?)))
}

fn list_once() -> Option<Duration> {
    let folder = tempfile::tempdir().ok()?;
    let path = folder.path().join("large.msg.md");
    std::fs::write(&path, answered_cells()).ok()?;
    let mut command = Command::new(program()?);
    command
        .arg("list")
        .arg(path)
        .env("ANALECTS_HOME", folder.path());
    quickest(20, command)
}
