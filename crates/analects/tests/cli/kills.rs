//! Ends that nobody planned: SIGKILL, Ctrl-C, a connection that breaks.

use std::process::Command;
use std::time::Duration;

use analects_core::{Body, StopReason};

use crate::sandbox::Sandbox;
use crate::server::{Server, Step, answer, done, in_halves, piece, stream_head};

#[test]
fn a_kill_in_mid_stream_keeps_what_came_and_the_next_call_goes_on() {
    let begun = vec![stream_head(), piece("The first half"), piece(" of it\n# %%"), Step::Hang];
    let server = Server::new(vec![begun, answer(&["The rest."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let mut child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", "tell me"]);
    sandbox.wait_for("a.msg.md", "The first half of it\n");
    child.kill().unwrap();
    child.wait().unwrap();

    let decoded = sandbox.messages("a.msg.md");
    assert_eq!(decoded.problems, []);
    assert_eq!(sandbox.texts("a.msg.md"), ["tell me", "The first half of it"]);
    let Body::Assistant(body) = &decoded.messages[1].body else { panic!("not an answer") };
    assert_eq!(body.stop_reason, Some(StopReason::Interrupted));

    sandbox.run(&["chat", "a.msg.md", "go on"]).assert_answer("The rest.\n");
    server.request();
    assert!(server.request().contains("The first half of it"));
    let texts = ["tell me", "The first half of it", "go on", "The rest."];
    assert_eq!(sandbox.texts("a.msg.md"), texts);
}

const PROMPT: &str = "Tell me, line by line.";
const LINES: &str = "a line\n# %% a line that is no head\n\\# %%% nor this\n";

/// Kills at many moments: whatever the moment, the file reads, holds every prompt that was taken and
/// the beginning of every answer, and can be continued.
#[test]
fn kills_at_any_moment_leave_a_file_that_goes_on() {
    let kills = if std::env::var_os("ANALECTS_TORTURE").is_some() { 1000 } else { 21 };
    for kill in 0..kills {
        let mut script = vec![stream_head()];
        for _ in 0..30 {
            script.extend([piece(&LINES[..9]), Step::Pause(3), piece(&LINES[9..])]);
        }
        script.extend([piece("The end."), done()]);
        let server = Server::new(vec![script, answer(&["fine"])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        let mut child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", PROMPT]);
        // However slow the machine is: a third soon after the start, a third after the question was asked, a third
        // in the answer.
        let mut certain = kill % 3;
        match certain {
            0 => {}
            1 => assert!(server.request().contains(PROMPT)),
            _ => sandbox.wait_for("a.msg.md", "a line\n"),
        }
        std::thread::sleep(Duration::from_millis(kill / 3 * 17 % 120));
        let before = sandbox.texts("a.msg.md");
        child.kill().unwrap();
        child.wait().unwrap();
        let asked = server.request_within(Duration::from_millis(20));
        certain = certain.max(u64::from(asked.is_some_and(|it| it.contains(PROMPT))));
        let what = format!("kill {kill}");
        let left = left_after_kill(&sandbox, &before, certain, &what);
        let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", "still there?"]);
        assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
        // The head of an answer that was being written when the kill came is completed, without a word below it.
        let mut texts = sandbox.texts("a.msg.md");
        texts.retain(|text| !text.is_empty());
        let mut expected = left;
        expected.retain(|text| !text.is_empty());
        expected.extend(["still there?".to_string(), run.stdout.trim_end().to_string()]);
        assert_eq!(texts, expected, "{what}");
    }
}

/// The texts that a kill left, of which so many are certain to be there, and nothing is missing that could be read
/// before.
#[track_caller]
fn left_after_kill(sandbox: &Sandbox, before: &[String], certain: u64, what: &str) -> Vec<String> {
    assert_eq!(sandbox.messages("a.msg.md").problems, [], "{what}");
    let left = sandbox.texts("a.msg.md");
    let what = format!("{what}: {before:?}, then {left:?}");
    let least = before.len().max(usize::try_from(certain).unwrap());
    assert!((least..=2).contains(&left.len()), "{what}");
    assert!(before.iter().zip(&left).all(|(was, is)| is.starts_with(was)), "{what}");
    assert!(left.first().is_none_or(|prompt| prompt == PROMPT), "{what}");
    let whole = LINES.repeat(30) + "The end.";
    assert!(left.get(1).is_none_or(|answer| whole.starts_with(answer)), "{what}");
    left
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_came_and_says_so() {
    let server = Server::new(vec![vec![stream_head(), piece("half an ans"), Step::Hang]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", "tell me"]);
    sandbox.wait_for("a.msg.md", "half an ans");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.ends_with("analects: interrupted; what came so far is kept\n"), "{stderr}");
    assert_eq!(sandbox.texts("a.msg.md"), ["tell me", "half an ans"]);
    assert!(sandbox.read("a.msg.md").contains("stop_reason=\"interrupted\""));
}

#[cfg(unix)]
#[test]
fn ctrl_c_before_the_first_word_keeps_the_question_and_says_so() {
    for (place, again) in [
        (&["chat", "a.msg.md", "-m", "openai/tiny", "tell me"][..], "analects chat a.msg.md asks"),
        (&["chat", "-m", "openai/tiny", "tell me"], "then /retry, asks it again"),
    ] {
        let server = Server::new(vec![vec![stream_head(), Step::Hang], answer(&["Told."])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        let child = sandbox.spawn(place);
        server.request();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let stderr = String::from_utf8(output.stderr).unwrap();
        let expected = "analects: interrupted before anything came; your question is kept\n";
        assert!(stderr.contains(expected) && stderr.contains(again), "{stderr}");
        if place.contains(&"a.msg.md") {
            assert_eq!(sandbox.texts("a.msg.md"), ["tell me"]);
            sandbox.run(&["chat", "a.msg.md"]).assert_answer("Told.\n");
        }
    }
}

#[cfg(unix)]
#[test]
fn the_second_ctrl_c_ends_the_process_whatever_it_does() {
    use std::io::Read;
    let long = "word ".repeat(100_000);
    let server = Server::new(vec![vec![stream_head(), piece(&long), Step::Hang]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let mut child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", "tell me"]);
    // From its first byte on, the answer is being written to a pipe that is too small for it.
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    let pid = child.id().to_string();
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    let status = loop {
        // Signals that come too close to each other are one.
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(50));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(std::time::Instant::now() < deadline, "Ctrl-C has no effect");
    };
    assert_eq!(status.code(), Some(130));
    assert_eq!(sandbox.texts("a.msg.md")[0], "tell me");
}

#[test]
fn a_connection_that_breaks_keeps_what_came_and_fails() {
    let server = Server::new(vec![vec![stream_head(), piece("half an ans")]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", "tell me"]);
    assert_eq!((run.code, &*run.stdout), (Some(5), "half an ans\n"), "{}", run.stderr);
    assert_eq!(sandbox.texts("a.msg.md"), ["tell me", "half an ans"]);
    assert!(sandbox.read("a.msg.md").contains("stop_reason=\"interrupted\""));
}

#[test]
fn an_editor_that_saves_meanwhile_loses_nothing() {
    let sandbox = Sandbox::new();
    let server = Server::new(vec![in_halves("one ", sandbox.path("go"), "two")]);
    let sandbox = sandbox.with_server(&server.base_url);
    let mut child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", "tell me"]);
    sandbox.wait_for("a.msg.md", "one ");
    let edited = sandbox.read("a.msg.md").replace("tell me", "tell me, please");
    sandbox.write("a.msg.md", edited);
    sandbox.write("go", "");
    assert!(child.wait().unwrap().success());
    assert_eq!(sandbox.texts("a.msg.md"), ["tell me, please", "one two"]);
}

/// A process that is stopped, as by Ctrl-Z, hears nothing, however much is sent to it.
#[cfg(unix)]
#[test]
fn a_stop_that_is_longer_than_the_patience_costs_nothing_that_came_meanwhile() {
    for begun in [&[piece("one\n")][..], &[]] {
        let mut sandbox = Sandbox::new();
        let go = Step::Until(sandbox.path("go"));
        let rest = [go, piece("two\n"), piece("three\n"), done()];
        let server = Server::new(vec![[&[stream_head()], begun, &rest].concat()]);
        sandbox.set_server(&server.base_url);
        let child =
            sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", "--timeout", "1", "go"]);
        server.request();
        if !begun.is_empty() {
            sandbox.wait_for("a.msg.md", "\none\n");
        }
        let pid = child.id().to_string();
        let signal = |name: &str| {
            assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
        };
        signal("-STOP");
        sandbox.write("go", "");
        std::thread::sleep(Duration::from_millis(2500));
        signal("-CONT");
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
        let text = if begun.is_empty() { "two\nthree\n" } else { "one\ntwo\nthree\n" };
        assert_eq!(output.stdout, text.as_bytes());
    }
}
