//! Runs one command as a timed step: its output is shown as it comes, and kept for counting.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

/// What became of a step.
#[derive(Debug)]
pub struct Outcome {
    /// What the step is called in the report.
    pub name: String,
    /// Whether its command ended well.
    pub ok: bool,
    /// Both of its output streams, in the order of arrival.
    pub output: String,
    /// How long it took.
    pub seconds: f64,
}

impl Outcome {
    /// The last `count` lines of output.
    pub fn tail(&self, count: usize) -> String {
        let lines: Vec<&str> = self.output.lines().collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }
}

/// A call of cargo in the folder `root`.
pub fn cargo(root: &Path, args: &[&str]) -> Command {
    // Cargo names itself to what it runs, so a step uses the same toolchain.
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(root).args(args).stdin(Stdio::null());
    command
}

/// Whether a command can be started and ends well; shows nothing.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a step to its end, showing its output and then one line about it.
pub fn run(name: &str, command: &mut Command) -> Outcome {
    println!("--- {name}");
    let start = Instant::now();
    let (ok, output) = stream(command);
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "--- {name}: {} in {seconds:.1} s",
        if ok { "ok" } else { "FAILED" }
    );
    Outcome {
        name: name.to_string(),
        ok,
        output,
        seconds,
    }
}

fn stream(command: &mut Command) -> (bool, String) {
    let spawned = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            let program = command.get_program().to_string_lossy().into_owned();
            return (false, format!("cannot start {program}: {error}\n"));
        }
    };
    let kept = Mutex::new(String::new());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    // Two threads, since a child blocks on whichever pipe nobody empties.
    thread::scope(|scope| {
        scope.spawn(|| copy_lines(stdout, |line| print!("{line}"), &kept));
        scope.spawn(|| copy_lines(stderr, |line| eprint!("{line}"), &kept));
    });
    let ok = child.wait().is_ok_and(|status| status.success());
    (ok, kept.into_inner().unwrap_or_default())
}

fn copy_lines(from: Option<impl Read>, show: impl Fn(&str), kept: &Mutex<String>) {
    let Some(from) = from else { return };
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    while reader
        .read_until(b'\n', &mut line)
        .is_ok_and(|count| count > 0)
    {
        let text = String::from_utf8_lossy(&line);
        show(&text);
        if let Ok(mut kept) = kept.lock() {
            kept.push_str(&text);
        }
        line.clear();
    }
}
