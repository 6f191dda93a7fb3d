//! `ask` on a real terminal: it shows that it waits, Ctrl-C works at any moment, and a recording holds what arrived.
#![cfg(unix)]

use std::time::{Duration, Instant};

use crate::chat_terminal::CTRL_C;
use crate::pseudo_terminal::run_with_keys;
use crate::sandbox::{Sandbox, skip};
use crate::server::{Server, Step, answer, error, piece, stream_head};

const BUSY: &str =
    r#"{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}"#;

/// Runs on a terminal; skips the test where there is none.
fn ask_on_terminal(
    test: &str,
    sandbox: &Sandbox,
    args: &[&str],
    keys: &[(&str, &str)],
) -> Option<(String, i32)> {
    let ran = run_with_keys(sandbox, args, true, keys);
    if ran.is_none() {
        skip(test, "no python3 to make a terminal");
    }
    ran
}

#[test]
fn ask_shows_that_it_waits_and_then_answers() {
    let busy = error("429 Too Many Requests\r\nretry-after-ms: 150", BUSY);
    for verb in ["ask", "chat"] {
        let server = Server::new(vec![busy.clone(), answer(&["Here ", "I am."])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        let args: &[&str] = match verb {
            "ask" => &["ask", "-m", "openai/tiny", "where?"],
            _ => &["chat", "a.msg.md", "-m", "openai/tiny", "where?"],
        };
        let test = "ask_shows_that_it_waits_and_then_answers";
        let Some((seen, code)) = ask_on_terminal(test, &sandbox, args, &[]) else {
            return;
        };
        assert_eq!(code, 0, "{seen}");
        let (before, after) = seen.split_once("trying again in 0.").unwrap();
        assert!(before.contains("slow down"), "{seen}");
        assert!(after.ends_with("Here I am.\n"), "{seen}");
    }
}

#[test]
fn ctrl_c_stops_a_wait_at_once() {
    let busy = error("429 Too Many Requests\r\nretry-after: 20", BUSY);
    let server = Server::new(vec![busy]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let clock = Instant::now();
    let keys = [("trying again in", CTRL_C)];
    let args = ["ask", "-m", "openai/tiny", "where?"];
    let Some((seen, code)) = ask_on_terminal("ctrl_c_stops_a_wait_at_once", &sandbox, &args, &keys)
    else {
        return;
    };
    assert_eq!(code, 130, "{seen}");
    assert!(
        clock.elapsed() < Duration::from_secs(15),
        "{:?}",
        clock.elapsed()
    );
}

#[test]
fn ctrl_c_keeps_the_partial_answer_on_screen_and_in_the_recording() {
    let server = Server::new(vec![vec![stream_head(), piece("half an ans"), Step::Hang]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let args = ["ask", "-m", "openai/tiny", "--record", "r.sse", "tell me"];
    let keys = [("half an ans", CTRL_C)];
    let test = "ctrl_c_keeps_the_partial_answer_on_screen_and_in_the_recording";
    let Some((seen, code)) = ask_on_terminal(test, &sandbox, &args, &keys) else {
        return;
    };
    assert_eq!(code, 130, "{seen}");
    assert!(seen.contains("interrupted"), "{seen}");
    let again = sandbox.run(&["ask", "-m", "replay:r.sse", "tell me"]);
    assert_eq!(again.stdout, "half an ans\n", "{}", again.stderr);
    assert_ne!(again.code, Some(0), "half an answer is not a whole one");
}

#[test]
fn a_hostile_answer_cannot_control_the_terminal() {
    let bad = "\u{1b}]0;owned\u{7}\u{1b}[2Jred\u{202e}live\u{9b}31m";
    let server = Server::new(vec![answer(&["a\u{1b}", "[2J", bad, "z"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let test = "a_hostile_answer_cannot_control_the_terminal";
    let Some((seen, code)) =
        ask_on_terminal(test, &sandbox, &["ask", "-m", "openai/tiny", "x"], &[])
    else {
        return;
    };
    assert_eq!(code, 0);
    assert!(
        !seen.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}']),
        "{seen:?}"
    );
    assert!(seen.contains("red") && seen.contains('z'), "{seen:?}");
}
