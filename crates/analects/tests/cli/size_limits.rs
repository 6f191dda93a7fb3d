//! Input that is too large is refused or left out, and the command says so; it never exhausts the memory. With
//! `ANALECTS_TORTURE` set, the sizes are those of the reference of limits.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use analects_testkit::is_torture;

use crate::sandbox::{CommandOutput, Sandbox, skip};

const FIRST: &str = r#"{"v":1,"type":"user","id":"a","session_id":"s","content":"first question"}"#;
const ANSWER: &str = r#"{"v":1,"type":"assistant","id":"b","parent_id":"a","session_id":"s","content":"first answer"}"#;
const LONG: &str = r#"{"v":1,"type":"user","id":"c","parent_id":"b","session_id":"s","content":""#;
const LAST: &str =
    r#"{"v":1,"type":"user","id":"d","parent_id":"c","session_id":"s","content":"last question"}"#;

/// The longest line that is read.
const LINE: u64 = 64 << 20;

/// The memory of a command that reads nothing.
const BASE: u64 = 40 << 20;

/// Adds a line that is longer than the limit. Its middle is a hole in the file.
fn add_long_line(path: &Path) {
    let size = if is_torture() {
        1 << 30
    } else {
        LINE + (1 << 20)
    };
    let mut file = File::options().append(true).open(path).unwrap();
    file.write_all(LONG.as_bytes()).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length + size).unwrap();
    file.write_all(format!("\"}}\n{LAST}\n").as_bytes())
        .unwrap();
}

/// A transcript with an overlong line in the middle.
fn with_long_line(sandbox: &Sandbox) {
    sandbox.write("long.jsonl", format!("{FIRST}\n{ANSWER}\n"));
    add_long_line(&sandbox.path("long.jsonl"));
}

/// Runs the command and returns its peak memory in bytes; `None` without Python.
fn run_measured(sandbox: &Sandbox, args: &[&str]) -> Option<(CommandOutput, u64)> {
    const MEASURE: &str = "import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
open(sys.argv[1], 'w').write(str(peak * 1024))
sys.exit(code)";
    let plain = sandbox.command(args);
    let mut python = sandbox.program_like(&plain, "python3");
    python
        .args(["-c", MEASURE, "peak"])
        .arg(plain.get_program())
        .args(plain.get_args());
    let run: CommandOutput = python.output().ok()?.into();
    let peak = sandbox.read("peak").parse().unwrap();
    Some((run, peak))
}

/// Runs the command, and checks that it needs no more memory than three of the longest lines.
#[track_caller]
fn run_within_memory(sandbox: &Sandbox, args: &[&str]) -> CommandOutput {
    let Some((run, peak)) = run_measured(sandbox, args) else {
        return sandbox.run(args);
    };
    assert!(peak <= 3 * LINE, "{args:?} took {} MB", peak >> 20);
    run
}

#[cfg(unix)]
#[test]
fn reading_commands_report_an_overlong_line() {
    let sandbox = Sandbox::new();
    with_long_line(&sandbox);
    let at = format!("at byte {}", FIRST.len() + ANSWER.len() + 2);
    let checked = run_within_memory(&sandbox, &["check", "long.jsonl"]);
    assert_eq!(checked.code, Some(1));
    assert!(checked.stderr.contains("[long-line]") && checked.stderr.contains(&at));
    assert!(
        !checked.stderr.contains("unknown-parent"),
        "{}",
        checked.stderr
    );

    let refused = run_within_memory(&sandbox, &["convert", "long.jsonl", "-o", "talk.msg.md"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains(&at), "{}", refused.stderr);
    assert!(!sandbox.path("talk.msg.md").exists());
    let lossy = run_within_memory(
        &sandbox,
        &["convert", "long.jsonl", "-o", "talk.msg.md", "--lossy"],
    );
    assert_eq!(lossy.code, Some(0), "{}", lossy.stderr);
    let listed = sandbox.run(&["show", "talk.msg.md"]).stdout;
    for text in ["first question", "first answer", "last question"] {
        assert!(listed.contains(text), "{listed}");
    }

    let repaired = run_within_memory(&sandbox, &["repair", "long.jsonl", "-o", "new.jsonl"]);
    assert_eq!(repaired.code, Some(0), "{}", repaired.stderr);
    assert_eq!(sandbox.run(&["check", "new.jsonl"]).code, Some(0));
    let rest = fs::metadata(sandbox.path("new.jsonl.rest")).unwrap();
    assert!(rest.len() > LINE, "the line is kept");
    for verb in ["show", "list"] {
        let run = run_within_memory(&sandbox, &[verb, "new.jsonl.rest"]);
        assert!(run.code.is_some(), "{verb} aborted");
    }
}

#[cfg(unix)]
#[test]
fn import_marks_the_place_of_an_overlong_line() {
    let sandbox = Sandbox::new();
    with_long_line(&sandbox);
    let imported = run_within_memory(&sandbox, &["session", "import", "long.jsonl"]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    assert!(
        imported.stderr.contains("[long-line]"),
        "{}",
        imported.stderr
    );
    let seen = sandbox
        .run(&["context", "last", "-m", "openai/tiny"])
        .stdout;
    for text in ["first question", "first answer", "last question"] {
        assert!(seen.contains(text), "{seen}");
    }
    let exported = sandbox.run(&["session", "export"]).stdout;
    let left_out = "\"left_out\":{\"type\":\"user\",\"bytes\":";
    assert!(exported.contains(left_out), "{exported}");
}

#[cfg(unix)]
#[test]
fn a_session_with_an_overlong_line_continues() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.jsonl", format!("{FIRST}\n{ANSWER}\n"));
    assert_eq!(
        sandbox.run(&["session", "import", "talk.jsonl"]).code,
        Some(0)
    );
    let shown = sandbox.run(&["session", "show", "--json"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    add_long_line(Path::new(shown["path"].as_str().unwrap()));
    for args in [
        &["session", "show"][..],
        &["session", "tail"],
        &["session", "list"],
    ] {
        assert_eq!(run_within_memory(&sandbox, args).code, Some(0), "{args:?}");
    }
    let exported = run_within_memory(&sandbox, &["session", "export", "-o", "out.msg.md"]);
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    assert!(exported.stderr.contains("at byte "), "{}", exported.stderr);
    let seen = run_within_memory(&sandbox, &["context", "last", "-m", "openai/tiny"]);
    assert!(seen.stdout.contains("first question"), "{}", seen.stdout);
    let event =
        "data: {\"choices\":[{\"delta\":{\"content\":\"Here.\"},\"finish_reason\":\"stop\"}]}\n\n";
    sandbox.write("a.sse", event);
    let resumed = run_within_memory(
        &sandbox,
        &["session", "resume", "last", "-m", "replay:a.sse", "Go on"],
    );
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let seen = run_within_memory(&sandbox, &["context", "last", "-m", "openai/tiny"]).stdout;
    for text in ["first question", "last question", "Go on", "Here."] {
        assert!(seen.contains(text), "{text}: {seen}");
    }
}

#[test]
fn an_oversized_message_file_is_refused_before_reading() {
    let sandbox = Sandbox::new();
    sandbox.write("huge.msg.md", "# %% [user]\n\n");
    File::options()
        .append(true)
        .open(sandbox.path("huge.msg.md"))
        .unwrap()
        .set_len((1 << 30) + 1)
        .unwrap();
    for args in [
        &["show", "huge.msg.md"][..],
        &["list", "huge.msg.md"],
        &["check", "huge.msg.md"],
        &["add", "huge.msg.md", "Hi"],
        &["session", "import", "huge.msg.md"],
    ] {
        let Some((run, peak)) = run_measured(&sandbox, args) else {
            return skip(
                "an_oversized_message_file_is_refused_before_reading",
                "there is no Python to measure with",
            );
        };
        assert_eq!(run.code, Some(1), "{args:?}: {}", run.stderr);
        let told = "the file has 1073741825 bytes, and the largest that can be read has 1073741824";
        assert!(run.stderr.contains(told), "{args:?}: {}", run.stderr);
        assert!(peak <= BASE, "{args:?} took {} MB", peak >> 20);
    }
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_refused_before_opening() {
    let sandbox = Sandbox::new();
    let made = std::process::Command::new("mkfifo")
        .arg(sandbox.path("pipe"))
        .status();
    assert!(made.unwrap().success());
    for path in ["/dev/zero", "pipe"] {
        let replay = format!("replay:{path}");
        for args in [
            &["tokens", path][..],
            &["session", "import", path],
            &["convert", path, "--from", "transcript", "--to", "openai"],
            &["repair", path],
            &["ask", "-m", &replay, "Hi"],
            &["chat", "talk.msg.md", "-m", &replay, "Hi"],
        ] {
            let run = sandbox.run(args);
            assert_eq!(run.code, Some(1), "{args:?}: {}", run.stderr);
            assert!(
                run.stderr.contains("not a regular file"),
                "{args:?}: {}",
                run.stderr
            );
        }
    }
    assert_eq!(sandbox.run_with_stdin(&["tokens"], "one two").code, Some(0));
}

/// The peak for an answer that does not stop is far below three times its limit of 256 MB.
#[cfg(unix)]
#[test]
fn an_endless_answer_is_cut_off() {
    let sandbox = Sandbox::new();
    let answers: &[(usize, usize)] = if is_torture() {
        &[(5, 300), (16_000, 300)]
    } else {
        &[(16_000, 40)]
    };
    for &(size, megabytes) in answers {
        let text = "x".repeat(size);
        let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
        let mut file = File::create(sandbox.path("endless.sse")).unwrap();
        let many = event.repeat((1 << 20) / event.len() + 1);
        for _ in 0..megabytes {
            file.write_all(many.as_bytes()).unwrap();
        }
        sandbox.write("talk.msg.md", "# %% [user]\n\nHi\n");
        let args = ["chat", "talk.msg.md", "-m", "replay:endless.sse"];
        let Some((run, peak)) = run_measured(&sandbox, &args) else {
            return skip(
                "an_endless_answer_is_cut_off",
                "there is no Python to measure with",
            );
        };
        assert_eq!(run.code, Some(5), "{}", run.stderr);
        assert!(
            run.stderr.contains("the most that is taken"),
            "{}",
            run.stderr
        );
        assert!(peak <= 512 << 20, "pieces of {size}: {} MB", peak >> 20);
        assert!(
            sandbox.message_texts("talk.msg.md").last().unwrap().len() > 1 << 20,
            "what came is kept"
        );
    }
}
