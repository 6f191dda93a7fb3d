//! SIGKILL, Ctrl-C, or a broken connection during an answer. Whatever was printed is in the file after the next
//! command that writes to it.

use std::time::Duration;

use analects_core::{Body, StopReason};

use crate::sandbox::{Sandbox, send_signal};
use crate::server::{Server, Step, answer, done, piece, stream_head};

#[test]
fn a_kill_during_an_answer_keeps_the_part_received() {
    let begun = vec![
        stream_head(),
        piece("The first half"),
        piece(" of it\n# %%"),
        Step::Hang,
    ];
    let server = Server::new(vec![begun, answer(&["The rest."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let mut child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", "tell me"]);
    sandbox.wait_for_journal("The first half of it\n# %%");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(sandbox.message_texts("a.msg.md"), ["tell me"]);

    let run = sandbox.run(&["chat", "a.msg.md", "go on"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "The rest.\n"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("added a partial answer as cell"),
        "{}",
        run.stderr
    );
    server.request();
    assert!(server.request().contains("The first half of it"));
    let texts = [
        "tell me",
        "The first half of it\n# %%",
        "go on",
        "The rest.",
    ];
    assert_eq!(sandbox.message_texts("a.msg.md"), texts);
    let decoded = sandbox.messages("a.msg.md");
    let Body::Assistant(body) = &decoded.messages[1].body else {
        panic!("not an answer")
    };
    assert_eq!(body.stop_reason, Some(StopReason::Interrupted));
}

const PROMPT: &str = "Tell me, line by line.";
const LINES: &str = "a line\n# %% a line that is no head\n\\# %%% nor this\n";

/// Kills at many moments: whatever the moment, the file reads, and the next call brings in all that was printed.
#[test]
fn kills_at_any_moment_lose_nothing_that_was_printed() {
    let kills = if analects_testkit::is_torture() {
        1000
    } else {
        21
    };
    for kill in 0..kills {
        let mut script = vec![stream_head()];
        for _ in 0..30 {
            script.extend([piece(&LINES[..9]), Step::Pause(3), piece(&LINES[9..])]);
        }
        script.extend([piece("The end."), done()]);
        let server = Server::new(vec![script, answer(&["fine"])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        let mut child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", PROMPT]);
        // On any machine: a third soon after the start, a third after the question was sent, and a third during
        // the answer.
        let mut is_asked = kill % 3 > 0;
        if is_asked {
            assert!(server.request().contains(PROMPT));
        }
        if kill % 3 == 2 {
            sandbox.wait_for_journal("a line\n");
        }
        std::thread::sleep(Duration::from_millis(kill / 3 * 17 % 120));
        child.kill().unwrap();
        let printed = child.wait_with_output().unwrap().stdout;
        let printed = String::from_utf8(printed).unwrap();
        let what = format!("kill {kill}: {printed:?}");
        is_asked |= server.request_within(Duration::from_millis(20)).is_some();
        assert_eq!(sandbox.messages("a.msg.md").problems, [], "{what}");
        let left = sandbox.message_texts("a.msg.md");
        let whole = LINES.repeat(30) + "The end.";
        let possible: [&[&str]; 3] = [&[], &[PROMPT], &[PROMPT, &whole]];
        assert!(
            possible[usize::from(is_asked)..].contains(&as_strs(&left).as_slice()),
            "{what}"
        );
        let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", "still there?"]);
        assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
        let mut texts = sandbox.message_texts("a.msg.md");
        let last = texts.split_off(texts.len() - 2);
        assert_eq!(last, ["still there?", run.stdout.trim_end()], "{what}");
        assert!(texts.len() >= left.len(), "{what}: {texts:?}");
        assert!(
            texts.first().is_none_or(|text| text == PROMPT),
            "{what}: {texts:?}"
        );
        let came = texts.get(1).map(String::as_str).unwrap_or_default();
        assert!(came.starts_with(printed.trim_end()), "{what}: {texts:?}");
        assert!(
            texts.len() <= 2 && whole.starts_with(came),
            "{what}: {texts:?}"
        );
    }
}

fn as_strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_part_received_and_says_so() {
    let server = Server::new(vec![vec![stream_head(), piece("half an ans"), Step::Hang]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", "tell me"]);
    sandbox.wait_for_journal("half an ans");
    send_signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.ends_with("analects: interrupted; the partial answer is kept\n"),
        "{stderr}"
    );
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["tell me", "half an ans"]
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_before_the_first_word_keeps_the_question() {
    for (place, again) in [
        (
            &["chat", "a.msg.md", "-m", "openai/tiny", "tell me"][..],
            "analects chat a.msg.md asks",
        ),
        (
            &["chat", "-m", "openai/tiny", "tell me"],
            "then /retry, asks it again",
        ),
    ] {
        let server = Server::new(vec![vec![stream_head(), Step::Hang], answer(&["Told."])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        let child = sandbox.spawn(place);
        server.request();
        send_signal(&child, "INT");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let stderr = String::from_utf8(output.stderr).unwrap();
        let expected = "analects: interrupted before the answer started; your question is kept\n";
        assert!(
            stderr.contains(expected) && stderr.contains(again),
            "{stderr}"
        );
        if place.contains(&"a.msg.md") {
            assert_eq!(sandbox.message_texts("a.msg.md"), ["tell me"]);
            sandbox.run(&["chat", "a.msg.md"]).assert_prints("Told.\n");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_second_ctrl_c_always_ends_the_process() {
    use std::io::Read;
    let long = "word ".repeat(100_000);
    let server = Server::new(vec![vec![stream_head(), piece(&long), Step::Hang]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let mut child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", "tell me"]);
    // After its first byte, the answer is being written to a pipe that is too small for it.
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    let status = loop {
        // Signals in quick succession merge into one.
        send_signal(&child, "INT");
        std::thread::sleep(Duration::from_millis(50));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(std::time::Instant::now() < deadline, "Ctrl-C has no effect");
    };
    assert_eq!(status.code(), Some(130));
    assert_eq!(sandbox.message_texts("a.msg.md")[0], "tell me");
}

#[test]
fn a_broken_connection_keeps_the_part_received_and_fails() {
    let server = Server::new(vec![vec![stream_head(), piece("half an ans")]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", "tell me"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(5), "half an ans\n"),
        "{}",
        run.stderr
    );
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["tell me", "half an ans"]
    );
}
