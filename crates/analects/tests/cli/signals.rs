//! SIGTERM and SIGHUP end an answer as Ctrl-C does: what was printed is kept and marked. The exit code names the
//! signal.
#![cfg(unix)]

use std::io::Read;
use std::process::{Child, Output};
use std::time::Duration;

use crate::chat_terminal::PROMPT;
use crate::file_watcher::{WatchProcess, sandbox_with};
use crate::keyboard::run_chat_in_shell;
use crate::pseudo_terminal::{press, shell_line};
use crate::sandbox::{Sandbox, send_signal};
use crate::server::{Server, Step, done, in_halves, piece, stream_head};

const SIGNALS: [(&str, i32); 2] = [("TERM", 143), ("HUP", 129)];

/// Half of an answer; its last line is incomplete, so no file has it yet.
const HALF: &str = "half of\nan ans";

fn sandbox_with_hanging_answer() -> (Server, Sandbox) {
    let server = Server::new(vec![vec![stream_head(), piece(HALF), Step::Hang]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    (server, sandbox)
}

/// Sends a signal once half of the answer is printed, and waits for the command.
fn end_with_signal(mut child: Child, signal: &str) -> Output {
    let mut printed = vec![0; HALF.len()];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut printed)
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&printed), HALF);
    send_signal(&child, signal);
    child.wait_with_output().unwrap()
}

#[track_caller]
fn assert_ended(output: &Output, code: i32, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.ends_with(message), "{stderr}");
}

#[test]
fn a_signal_keeps_the_part_received_in_a_file() {
    for (signal, code) in SIGNALS {
        let (_server, sandbox) = sandbox_with_hanging_answer();
        let child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", "tell me"]);
        let output = end_with_signal(child, signal);
        assert_ended(
            &output,
            code,
            "analects: interrupted; the partial answer is kept\n",
        );
        assert_eq!(sandbox.message_texts("a.msg.md"), ["tell me", HALF]);
        assert!(
            sandbox
                .read("a.msg.md")
                .contains("stop_reason=\"interrupted\"")
        );
    }
}

#[test]
fn a_signal_keeps_the_part_received_in_a_session() {
    for (signal, code) in SIGNALS {
        let (_server, sandbox) = sandbox_with_hanging_answer();
        let output = end_with_signal(
            sandbox.spawn(&["chat", "-m", "openai/tiny", "tell me"]),
            signal,
        );
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        let run = sandbox.run(&["session", "export", "last"]);
        assert!(run.stdout.contains("half of\\nan ans"), "{}", run.stdout);
        assert!(run.stdout.contains("interrupted"), "{}", run.stdout);
    }
}

#[test]
fn ask_says_that_it_was_interrupted() {
    for (signal, code) in SIGNALS {
        let (_server, sandbox) = sandbox_with_hanging_answer();
        let output = end_with_signal(
            sandbox.spawn(&["ask", "-m", "openai/tiny", "tell me"]),
            signal,
        );
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "\n",
            "the line of the answer ends"
        );
    }
}

#[test]
fn a_signal_ends_a_watch_during_and_between_answers() {
    for (signal, code) in SIGNALS {
        let server = Server::new(vec![vec![stream_head(), piece(HALF), Step::Hang]]);
        let sandbox = sandbox_with(&server);
        let watching = WatchProcess::start(&sandbox, &[]);
        let file = sandbox.read("a.msg.md");
        sandbox.write("a.msg.md", format!("{file}\n# %%\n\nquestion?\n"));
        sandbox.wait_for_journal(HALF);
        let run = watching.end(signal);
        let said = "analects: interrupted; the partial answer is kept\n";
        assert_eq!((run.code, &*run.stderr), (Some(code), said));
        assert_eq!(sandbox.message_texts("a.msg.md"), ["question?", HALF]);

        let run = WatchProcess::start(&sandbox, &[]).end(signal);
        let said = format!("analects: ended by SIG{signal}\n");
        assert_eq!((run.code, run.stderr), (Some(code), said));
    }
}

#[test]
fn a_signal_ends_a_terminal_chat_and_keeps_the_part_received() {
    for (signal, code) in SIGNALS {
        let (_server, sandbox) = sandbox_with_hanging_answer();
        let send = format!("kill -{signal} $(cat pid)");
        let steps = vec![press(PROMPT, "one\r"), shell_line("an ans", &send)];
        let Some((seen, _)) = run_chat_in_shell(&sandbox, steps) else {
            return;
        };
        assert_eq!(sandbox.read("code").trim(), code.to_string(), "{seen}");
        assert!(seen.contains(&format!("ended by SIG{signal}")), "{seen}");
        assert_eq!(sandbox.message_texts("a.msg.md"), ["one", HALF]);
        assert!(
            sandbox
                .read("a.msg.md")
                .contains("stop_reason=\"interrupted\"")
        );
    }
}

/// Whoever starts a program with `nohup` wants it to outlive the terminal.
#[cfg(target_os = "linux")]
#[test]
fn nohup_keeps_the_command_running() {
    let sandbox = Sandbox::new();
    let server = Server::new(vec![in_halves(HALF, sandbox.path("go"), "wer")]);
    let sandbox = sandbox.with_server(&server.base_url);
    let plain = sandbox.command(&["chat", "a.msg.md", "-m", "openai/tiny", "tell me"]);
    let mut nohup = sandbox.program_like(&plain, "nohup");
    nohup.arg(plain.get_program()).args(plain.get_args());
    nohup.stdin(std::process::Stdio::null());
    nohup
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = nohup.spawn().unwrap();
    let mut printed = vec![0; HALF.len()];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut printed)
        .unwrap();
    send_signal(&child, "HUP");
    sandbox.write("go", "");
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["tell me", "half of\nan answer"]
    );
}

/// A process that is stopped, as by Ctrl-Z, hears nothing, however much is sent to it.
#[test]
fn a_suspension_longer_than_the_timeout_loses_nothing() {
    for begun in [&[piece("one\n")][..], &[]] {
        let mut sandbox = Sandbox::new();
        let go = Step::Until(sandbox.path("go"));
        let rest = [go, piece("two\n"), piece("three\n"), done()];
        let server = Server::new(vec![[&[stream_head()], begun, &rest].concat()]);
        sandbox.set_server(&server.base_url);
        let child = sandbox.spawn(&[
            "chat",
            "a.msg.md",
            "-m",
            "openai/tiny",
            "--timeout",
            "3",
            "go",
        ]);
        server.request();
        if !begun.is_empty() {
            sandbox.wait_for_journal("one\n");
        }
        send_signal(&child, "STOP");
        sandbox.write("go", "");
        std::thread::sleep(Duration::from_millis(4000));
        send_signal(&child, "CONT");
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
        let text = if begun.is_empty() {
            "two\nthree\n"
        } else {
            "one\ntwo\nthree\n"
        };
        assert_eq!(output.stdout, text.as_bytes());
    }
}
