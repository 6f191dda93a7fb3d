//! How much memory large conversations take on their way: out of the store, into it, and from one format to another.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use xtask::bench::{Bar, Row};

use crate::command::program;

const MB: usize = 1_000_000;

/// The size of the conversations.
const SIZE: usize = 100 * MB;

/// What any of these may take: a program, its buffers, and some facts of each message.
const BOUND: f64 = 64.0 * MB as f64;

/// A session of 100 MB to a transcript.
pub fn export_transcript() -> Row {
    row("export_100mb_to_transcript_memory_per_64mb", |place| {
        place.imported()?;
        place.peak(&["session", "export", "last", "-o", "out.jsonl"])
    })
}

/// A session of 100 MB to a message file for people.
pub fn export_readable() -> Row {
    row("export_100mb_to_message_file_memory_per_64mb", |place| {
        place.imported()?;
        place.peak(&["session", "export", "last", "-o", "out.msg.md"])
    })
}

/// A session of 100 MB to a message file with everything.
pub fn export_full() -> Row {
    row("export_100mb_in_full_memory_per_64mb", |place| {
        place.imported()?;
        place.peak(&["session", "export", "last", "--full", "-o", "out.msg.md"])
    })
}

/// A transcript of 100 MB into the store.
pub fn import_transcript() -> Row {
    row("import_100mb_memory_per_64mb", |place| place.imported())
}

/// A copy of a session of 100 MB.
pub fn fork() -> Row {
    row("fork_100mb_memory_per_64mb", |place| {
        place.imported()?;
        place.peak(&["fork", "last"])
    })
}

/// A transcript of 100 MB to a page for people.
pub fn convert_to_page() -> Row {
    row("convert_100mb_to_markdown_memory_per_64mb", |place| {
        place.peak(&[
            "convert",
            "talk.jsonl",
            "-o",
            "out.md",
            "--to",
            "markdown",
            "--lossy",
        ])
    })
}

/// A transcript of 100 MB to a message file.
pub fn convert_to_message_file() -> Row {
    row("convert_100mb_to_message_file_memory_per_64mb", |place| {
        place.peak(&["convert", "talk.jsonl", "-o", "out.msg.md"])
    })
}

fn row(name: &'static str, measure: impl FnOnce(&Place) -> Option<f64>) -> Row {
    let value = Place::new()
        .and_then(|place| measure(&place))
        .map_or(f64::NAN, |peak| peak / BOUND);
    Row {
        name,
        value,
        unit: "x",
        bar: Bar::AtMost(1.0),
    }
}

/// A folder with a transcript, and a home of its own.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Option<Place> {
        let folder = tempfile::tempdir().ok()?;
        write_talk(&folder.path().join("talk.jsonl")).ok()?;
        Some(Place { folder })
    }

    fn imported(&self) -> Option<f64> {
        self.peak(&["session", "import", "talk.jsonl"])
    }

    /// The most memory that a call takes.
    fn peak(&self, arguments: &[&str]) -> Option<f64> {
        let folder = self.folder.path();
        let mut command = Command::new(program()?);
        command
            .args(arguments)
            .current_dir(folder)
            .env("ANALECTS_HOME", folder.join("home"));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let status: PathBuf = format!("/proc/{}/status", child.id()).into();
        let mut peak = 0;
        loop {
            // The system keeps the most that there ever was, so that seldom looks are enough.
            peak = high_water(&status).unwrap_or(0).max(peak);
            if let Some(ended) = child.try_wait().ok()? {
                return (ended.success() && peak > 0).then_some(peak as f64);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The most memory that a process ever had, in bytes.
fn high_water(status: &Path) -> Option<u64> {
    let status = fs::read_to_string(status).ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(peak.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Writes a conversation: questions, thoughts, calls with their results, and answers, of 300 to 4000 bytes each.
fn write_talk(path: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let (mut written, mut number) = (0, 0);
    while written < SIZE {
        let turn = turn(&mut number);
        written += turn.len();
        file.write_all(turn.as_bytes())?;
    }
    file.flush()
}

fn turn(number: &mut usize) -> String {
    let words = |seed: usize| "What was said is kept, word for word. ".repeat(8 + seed * 37 % 97);
    let mut lines = String::new();
    let mut record = |kind: &str, rest: &str| {
        let parent = match *number {
            0 => String::new(),
            at => format!(r#""parent_id":"{}","#, name(at - 1)),
        };
        let _ = writeln!(
            lines,
            r#"{{"v":1,"type":"{kind}","id":"{}",{parent}"session_id":"{}","created_at":"2026-01-02T03:04:05.678Z",{rest}}}"#,
            name(*number),
            name(usize::MAX),
        );
        *number += 1;
        *number
    };
    let at = record("user", &format!(r#""content":"{}""#, words(1)));
    let thought = format!(
        r#"{{"type":"thinking","thinking":"{}","signature":"EqRk"}}"#,
        words(at)
    );
    let call = format!(
        r#"{{"type":"tool_use","id":"call_{at}","name":"read","input":{{"path":"a.md"}}}}"#
    );
    record(
        "assistant",
        &format!(
            r#""content":[{thought},{call}],"stop_reason":"tool_use","model":"m","usage":{{"input_tokens":12,"output_tokens":7}}"#
        ),
    );
    record(
        "user",
        &format!(
            r#""content":[{{"type":"tool_result","tool_use_id":"call_{at}","content":"{}"}}]"#,
            words(at + 3)
        ),
    );
    record(
        "assistant",
        &format!(
            r#""content":[{{"type":"text","text":"{}"}}],"stop_reason":"end_turn","model":"m","usage":{{"input_tokens":12,"output_tokens":7}}"#,
            words(at + 5)
        ),
    );
    lines
}

fn name(number: usize) -> String {
    format!("0197f3c2-aaaa-7bbb-8ccc-{:012x}", number & 0xffff_ffff_ffff)
}
