//! Another program is writing the file when a command wants to change it. The command waits, or refuses with exit
//! code 4 and changes nothing. No byte is lost on either side.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::file_watcher::WatchProcess;
use crate::sandbox::{CommandOutput, Sandbox, print_note, read_until};
use crate::server::{Server, answer, in_halves};

const FILE: &str = "a.msg.md";
const START: &str = "---\nagents:\n  tiny:\n    models: [openai/tiny]\n---\n\n# %% [^1]\n\n[^1]: [markdown]\n\none\n";
const MORE: &str = "\n# %%\n\nsecond, and its end\n";

/// How a program opens a file that it writes in two parts, with a pause between them.
#[derive(Debug, Clone, Copy)]
enum WriteStyle {
    /// Empties the file first.
    Truncate,
    /// Always writes at the end.
    Append,
    /// Writes at its own offset, which is the end that it found.
    Offset,
}

const WRITE_STYLES: [WriteStyle; 3] =
    [WriteStyle::Truncate, WriteStyle::Append, WriteStyle::Offset];

/// A program that has written the first half of its text, and writes the other half on request.
struct SlowWriter {
    child: Child,
    input: ChildStdin,
    second: String,
}

impl SlowWriter {
    fn start(sandbox: &Sandbox, style: WriteStyle) -> SlowWriter {
        let (first, second) = two_halves(style);
        let redirection = match style {
            WriteStyle::Truncate => ">",
            WriteStyle::Append | WriteStyle::Offset => ">>",
        };
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("exec cat {redirection}\"$0\"")])
            .arg(sandbox.path(FILE));
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(first.as_bytes()).unwrap();
        sandbox.wait_for(FILE, first.trim_end());
        SlowWriter {
            child,
            input,
            second,
        }
    }

    fn end(mut self) {
        self.input.write_all(self.second.as_bytes()).unwrap();
        drop(self.input);
        self.child.wait().unwrap();
    }
}

/// The text that a program writes in this style, cut in the middle of a word.
fn two_halves(style: WriteStyle) -> (String, String) {
    let whole = match style {
        WriteStyle::Truncate => format!("{START}{MORE}"),
        WriteStyle::Append | WriteStyle::Offset => MORE.to_string(),
    };
    let (first, second) = whole.split_at(whole.find(", and its").unwrap());
    (first.to_string(), second.to_string())
}

/// A sandbox whose model answers `Fine.` this many times.
fn sandbox(answers: usize) -> (Sandbox, Server) {
    let server = Server::new(vec![answer(&["Fine."]); answers]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write(FILE, START);
    (sandbox, server)
}

/// Waits until a command has the lock of the file, or has ended. After that, only the file decides what it does.
fn wait_for_lock(sandbox: &Sandbox, verb: &mut Child) {
    let locks = sandbox.path("home/state/locks");
    while std::fs::read_dir(&locks).map_or(0, Iterator::count) == 0
        && verb.try_wait().unwrap().is_none()
    {
        thread::sleep(Duration::from_millis(1));
    }
}

const VERBS: [&[&str]; 4] = [
    &["add", FILE, "ours"],
    &["edit", FILE, "1", "ours"],
    &["drop", FILE, "1"],
    &["chat", FILE, "ours"],
];

/// Whether the file shows the effect of a command.
fn has_taken_effect(verb: &[&str], text: &str) -> bool {
    match verb[0] {
        "drop" => text.contains("history="),
        "chat" | "--watch" => text.contains("Fine."),
        _ => text.contains("ours"),
    }
}

#[track_caller]
fn check_file(sandbox: &Sandbox, verb: &[&str], run: &CommandOutput, what: &str) {
    let text = sandbox.read(FILE);
    let what = format!("{what}: {:?} {}\n{text}", run.code, run.stderr);
    assert_eq!(
        text.matches("second, and its end").count(),
        1,
        "theirs is lost: {what}"
    );
    match run.code {
        Some(0) => assert!(has_taken_effect(verb, &text), "ours is lost: {what}"),
        Some(4) => assert!(!has_taken_effect(verb, &text), "refused, and done: {what}"),
        _ => panic!("{what}"),
    }
    let folder = std::fs::read_dir(sandbox.path("")).unwrap();
    let names: Vec<_> = folder.map(|entry| entry.unwrap().file_name()).collect();
    let is_litter = |name: &&std::ffi::OsString| name.to_string_lossy().contains("analects");
    assert_eq!(names.iter().find(is_litter), None, "{what}");
}

#[test]
fn commands_wait_for_a_program_that_is_writing_the_file() {
    for verb in VERBS {
        for style in [WriteStyle::Truncate, WriteStyle::Append] {
            let (sandbox, _server) = sandbox(1);
            let writer = SlowWriter::start(&sandbox, style);
            let mut child = sandbox.spawn(verb);
            wait_for_lock(&sandbox, &mut child);
            writer.end();
            let run = CommandOutput::from(child.wait_with_output().unwrap());
            assert_eq!(run.code, Some(0), "{verb:?} {style:?} {}", run.stderr);
            check_file(&sandbox, verb, &run, &format!("{verb:?} {style:?}"));
        }
    }
}

#[test]
fn a_file_kept_open_for_writing_is_refused_with_the_programs_name() {
    let (sandbox, _server) = sandbox(1);
    let writer = SlowWriter::start(&sandbox, WriteStyle::Append);
    let before = sandbox.read(FILE);
    let run = sandbox.run(&["chat", FILE, "ours"]);
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    let pid = writer.child.id();
    let named = format!("another program (cat, pid {pid}) has this file open for writing");
    assert!(run.stderr.contains(&named), "{}", run.stderr);
    assert_eq!(sandbox.read(FILE), before);
    writer.end();
    assert_eq!(sandbox.run(&["add", FILE, "ours"]).code, Some(0));
}

#[test]
fn an_answer_waits_for_a_program_that_started_writing() {
    for style in [WriteStyle::Truncate, WriteStyle::Append] {
        let sandbox = Sandbox::new();
        let script = in_halves("The first half\n", sandbox.path("go"), "and the second.");
        let server = Server::new(vec![script]);
        let sandbox = sandbox.with_server(&server.base_url);
        sandbox.write(FILE, START);
        let mut child = sandbox.spawn(&["chat", FILE, "Why?"]);
        sandbox.wait_for_journal("The first half\n");
        let writer = SlowWriter::start(&sandbox, style);
        sandbox.write("go", "");
        // Everything is printed, so only the file is left to write.
        read_until(child.stdout.as_mut().unwrap(), "second.");
        writer.end();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        let text = sandbox.read(FILE);
        assert_eq!(text.matches("second, and its end").count(), 1, "{text}");
        // A program that rewrites the file removes the question, and the answer is kept.
        let answer = "The first half\nand the second.";
        let records = sandbox.recoverable_records(FILE);
        assert_eq!(
            records
                .iter()
                .filter(|record| record["text"] == answer)
                .count(),
            1
        );
        let is_there = text.matches(answer).count() == 1;
        assert_eq!(is_there, matches!(style, WriteStyle::Append), "{text}");
    }
}

/// Opens the file, writes half of a text, pauses, and writes the other half.
fn write_with_pause(path: &Path, style: WriteStyle, pause: Duration, begun: impl FnOnce()) {
    let (first, second) = two_halves(style);
    let mut options = File::options();
    let mut file = match style {
        WriteStyle::Truncate => options.write(true).truncate(true).open(path).unwrap(),
        WriteStyle::Append => options.append(true).open(path).unwrap(),
        WriteStyle::Offset => options.read(true).write(true).open(path).unwrap(),
    };
    if let WriteStyle::Offset = style {
        file.seek(SeekFrom::End(0)).unwrap();
    }
    file.write_all(first.as_bytes()).unwrap();
    begun();
    thread::sleep(pause);
    file.write_all(second.as_bytes()).unwrap();
}

/// Runs one command against one writer. The command starts after a share of the writer's pause, so a writer that
/// truncates the file first removes nothing of ours.
fn race_with_writer(verb: &[&str], style: WriteStyle, pause: Duration, share: f64) -> Option<i32> {
    let (sandbox, server) = sandbox(1);
    let (begun, has_begun) = channel();
    let path = sandbox.path(FILE);
    let writer = thread::spawn(move || {
        write_with_pause(&path, style, pause, || begun.send(()).unwrap());
    });
    has_begun.recv().unwrap();
    thread::sleep(pause.mul_f64(share));
    let run = if verb[0] == "--watch" {
        let watching = WatchProcess::start(&sandbox, &[]);
        writer.join().unwrap();
        sandbox.wait_for(FILE, "Fine.");
        watching.stop();
        CommandOutput {
            code: Some(0),
            stdout: String::new(),
            stderr: String::new(),
        }
    } else {
        let run = sandbox.run(verb);
        writer.join().unwrap();
        run
    };
    check_file(
        &sandbox,
        verb,
        &run,
        &format!("{verb:?} {style:?} {pause:?} {share}"),
    );
    drop(server);
    run.code
}

#[test]
fn slow_writers_and_commands_lose_nothing() {
    let is_torture = analects_testkit::is_torture();
    let pauses: &[u64] = if is_torture {
        &[1, 5, 20, 100, 1000]
    } else {
        &[5]
    };
    let rounds: u32 = if is_torture { 6 } else { 1 };
    let mut codes = Vec::new();
    for verb in [&VERBS[..], &[&["--watch"]]].concat() {
        for (pause, style) in pauses
            .iter()
            .flat_map(|pause| WRITE_STYLES.map(|style| (*pause, style)))
        {
            for round in 0..rounds {
                let share = f64::from(round) / f64::from(rounds);
                codes.push(race_with_writer(
                    verb,
                    style,
                    Duration::from_millis(pause),
                    share,
                ));
            }
        }
    }
    let refused = codes.iter().filter(|code| **code == Some(4)).count();
    print_note(&format!("{} races, {refused} refused", codes.len()));
}
