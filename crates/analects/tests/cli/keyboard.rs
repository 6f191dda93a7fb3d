//! Keys pressed at the wrong time, and a terminal that is restored however the chat ends.
#![cfg(unix)]

use crate::chat_terminal::{CTRL_C, CTRL_D, FILE, PROMPT, run_session};
use crate::pseudo_terminal::{Step, close_terminal, press, resume_stopped, run_steps, shell_line};
use crate::sandbox::{Sandbox, skip};
use crate::server::{self, Server, done, piece, stream_head};

const CTRL_Z: &str = "\u{1a}";

/// A sandbox whose model gives these answers; `until NAME` waits for a file with that name.
fn sandbox_with_answers(scripts: &[&[&str]]) -> (Sandbox, Server) {
    let sandbox = Sandbox::new();
    let step = |text: &&str| match text.strip_prefix("until ") {
        Some(name) => server::Step::Until(sandbox.path(name)),
        None => piece(text),
    };
    let script = |pieces: &&[&str]| {
        let pieces = pieces.iter().map(step);
        [stream_head()]
            .into_iter()
            .chain(pieces)
            .chain([done()])
            .collect()
    };
    let server = Server::new(scripts.iter().map(script).collect());
    (sandbox.with_server(&server.base_url), server)
}

/// Runs a chat in a shell. The shell records the terminal settings before and after, and writes the process id to
/// `pid` and the exit code to `code`.
pub fn run_chat_in_shell(sandbox: &Sandbox, steps: Vec<Step>) -> Option<(String, i32)> {
    let plain = sandbox.command(&FILE);
    let program = plain.get_program().to_string_lossy();
    let mut shell = sandbox.program_like(&plain, "sh");
    let inner = format!("echo $$ > pid; exec '{program}' {}", FILE.join(" "));
    shell
        .arg("-c")
        .arg("trap : INT QUIT; stty -g > before; sh -c \"$1\"; echo $? > code; stty -g > after");
    shell.arg("sh").arg(inner);
    let ran = run_steps(sandbox, &shell, steps);
    if ran.is_none() {
        skip("keyboard", "there is no Python to make a terminal");
    }
    ran
}

#[test]
fn tab_does_nothing_without_a_completion() {
    let (sandbox, _server) = sandbox_with_answers(&[&["Fine."]]);
    let steps = vec![
        press(PROMPT, "\t\thello \t\t there\t"),
        press("there", "\r"),
        press("Fine.", ""),
        press(PROMPT, "/nothing\t\u{15}/con\t\t"),
        press("/context", "\r"),
        press("for the answer", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains("RECORDS"), "{seen}");
    assert_eq!(sandbox.message_texts("a.msg.md")[0], "hello  there");
}

#[test]
fn keys_typed_during_an_answer_appear_on_the_next_line() {
    let (sandbox, server) = sandbox_with_answers(&[&["begin", "until go", " end."], &["Two."]]);
    let steps = vec![
        press(PROMPT, "first\r"),
        press("begin", "second line\rnext 学xx\u{7f}\u{7f}\u{1b}[A"),
        shell_line("", "sleep 0.3; touch go"),
        press(" end.", ""),
        press("> second line", ""),
        press("| next 学", "!\r"),
        press("Two.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert!(
        seen.contains("begin end.\n"),
        "keys are shown in the answer: {seen}"
    );
    assert_eq!(
        sandbox.message_texts("a.msg.md")[2],
        "second line\nnext 学!"
    );
    server.request();
    assert!(server.request().contains("second line\\nnext 学!"));
}

#[test]
fn a_paste_during_an_answer_is_not_sent() {
    let (sandbox, _server) = sandbox_with_answers(&[&["begin", "until go", " end."], &["Two."]]);
    let pasted = "a line\r".repeat(3_000);
    let steps = vec![
        press(PROMPT, "first\r"),
        press("begin", pasted),
        shell_line("", "sleep 0.3; touch go"),
        press(" end.", ""),
        press("> [pasted: 3000 lines]", "\r"),
        press("Two.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(
        sandbox.message_texts("a.msg.md")[2],
        "a line\n".repeat(3_000).trim_end()
    );
}

#[test]
fn ctrl_c_stops_an_answer_after_much_typing() {
    let (sandbox, _server) = sandbox_with_answers(&[&["begin", "until never"], &["Two."]]);
    // A terminal buffers 4,096 bytes; after more, a Ctrl-C would never arrive.
    let pasted = "ten bytes\r".repeat(10_000) + "学";
    let steps = vec![
        press(PROMPT, "first\r"),
        press("begin", format!("{pasted}{CTRL_C}")),
        press("interrupted; the partial answer is kept", ""),
        press("> [pasted: 10001 lines]", "\r"),
        press("Two.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    let texts = sandbox.message_texts("a.msg.md");
    assert_eq!(texts[..2], ["first", "begin"]);
    assert!(
        texts[2] == pasted.replace('\r', "\n"),
        "{} of {}",
        texts[2].len(),
        pasted.len()
    );
}

#[test]
fn keys_typed_before_ctrl_z_return_after_fg() {
    let (sandbox, _server) = sandbox_with_answers(&[&["begin", "until go", " end."], &["Two."]]);
    let steps = vec![
        press(PROMPT, "first\r"),
        press("begin", format!("before {CTRL_Z}")),
        resume_stopped(""),
        press("", "after"),
        shell_line("", "touch go"),
        press(" end.", ""),
        press("> before after", "\r"),
        press("Two.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(sandbox.message_texts("a.msg.md")[2], "before after");
}

#[test]
fn ctrl_c_on_an_empty_line_says_how_to_quit() {
    let (sandbox, _server) = sandbox_with_answers(&[&["half", "until never"], &["whole"]]);
    let steps = vec![
        press(PROMPT, "one\r"),
        press("half", CTRL_C),
        press("interrupted; the partial answer is kept", ""),
        press(PROMPT, CTRL_C),
        press("to end the session, press Ctrl-D or type /quit", ""),
        press(PROMPT, "not this"),
        press("not this", CTRL_C),
        press(PROMPT, CTRL_C),
        press("to end the session, press Ctrl-D or type /quit", ""),
        press(PROMPT, "two\r"),
        press("whole", ""),
        press(PROMPT, "/quit\r"),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(seen.matches("to end the session").count(), 2, "{seen}");
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["one", "half", "two", "whole"]
    );
}

#[test]
fn a_dumb_terminal_hides_typed_keys_and_says_how_to_quit() {
    let (sandbox, server) = sandbox_with_answers(&[&["begin", "until go", " end."], &["Two."]]);
    let mut command = sandbox.command(&FILE);
    command.env("TERM", "dumb");
    let steps = vec![
        press(PROMPT, "first\n"),
        press("begin", "typed ahead\n"),
        shell_line("", "sleep 0.3; touch go"),
        press(" end.", ""),
        press("what you typed was not sent; copy it from here:", ""),
        press("> typed ahead", ""),
        press(PROMPT, "not this\\\n"),
        press("| ", format!("nor this{CTRL_C}")),
        press("to end the session, press Ctrl-D or type /quit", ""),
        press(PROMPT, "second\n"),
        press("Two.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_steps(&sandbox, &command, steps) else {
        return skip(
            "a_dumb_terminal_hides_typed_keys_and_says_how_to_quit",
            "there is no Python to make a terminal",
        );
    };
    assert_eq!(code, 0, "{seen}");
    assert!(
        seen.contains("begin end.\n") && !seen.contains('\u{1b}'),
        "{seen:?}"
    );
    server.request();
    assert!(server.request().contains("\"second\""));
}

#[test]
fn the_terminal_is_restored_on_exit() {
    let end = "kill -TERM $(cat pid)";
    for (code, steps) in [
        (
            "0",
            vec![
                press(PROMPT, "one\r"),
                press("half", CTRL_C),
                press(PROMPT, CTRL_D),
            ],
        ),
        (
            "143",
            vec![press(PROMPT, "typed"), shell_line("typed", end)],
        ),
        ("143", vec![press(PROMPT, "one\r"), shell_line("half", end)]),
        (
            "129",
            vec![
                press(PROMPT, "one\r"),
                shell_line("half", "kill -HUP $(cat pid)"),
            ],
        ),
        ("131", vec![press(PROMPT, "one\r"), press("half", "\u{1c}")]),
    ] {
        let (sandbox, _server) = sandbox_with_answers(&[&["half", "until never"]]);
        let Some((seen, _)) = run_chat_in_shell(&sandbox, steps) else {
            return;
        };
        assert_eq!(sandbox.read("code").trim(), code, "{seen}");
        assert_eq!(
            sandbox.read("before"),
            sandbox.read("after"),
            "{code}: {seen}"
        );
        let last = |code: &str| seen.rfind(code).unwrap_or(0);
        assert!(last("\u{1b}[?2004l") >= last("\u{1b}[?2004h"), "{seen:?}");
    }
}

#[test]
fn a_second_ctrl_c_ends_a_stuck_chat() {
    let long = "word ".repeat(200_000);
    let (sandbox, _server) = sandbox_with_answers(&[&["half", "until go", &long, "until never"]]);
    // Nobody reads the terminal meanwhile, so the answer cannot be ended before all of it is shown. Where
    // the system says so, we wait for that moment, else for long enough; and not for ever.
    let stuck = "for i in $(seq 60); do grep -Eqs '^(1|64) 0x1 ' /proc/$(cat pid)/syscall && break; \
                 sleep 0.05; done";
    let press_often =
        "for i in $(seq 100); do [ -e code ] && break; kill -INT $(cat pid); sleep 0.1; done";
    let twice =
        format!("touch go; {stuck}; {press_often} 2> /dev/null; [ -e code ] || kill -9 $(cat pid)");
    let steps = vec![press(PROMPT, "one\r"), shell_line("half", &twice)];
    let Some((seen, _)) = run_chat_in_shell(&sandbox, steps) else {
        return;
    };
    assert_eq!(sandbox.read("code").trim(), "130");
    assert!(
        seen.len() < long.len(),
        "all of it was shown, so nothing was stuck"
    );
    assert_eq!(sandbox.read("before"), sandbox.read("after"));
    assert_eq!(sandbox.message_texts("a.msg.md")[0], "one");
}

#[test]
fn closing_the_terminal_keeps_the_part_received() {
    for steps in [
        vec![press(PROMPT, "one\r"), close_terminal("half")],
        vec![
            press(PROMPT, "one\r"),
            press("half", CTRL_C),
            close_terminal(PROMPT),
        ],
    ] {
        let (sandbox, _server) = sandbox_with_answers(&[&["half", "until never"]]);
        let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
            return;
        };
        assert_eq!(code, 129, "{seen}");
        assert_eq!(sandbox.message_texts("a.msg.md"), ["one", "half"]);
    }
}

#[test]
fn ctrl_z_suspends_and_fg_resumes_the_chat() {
    let (sandbox, _server) = sandbox_with_answers(&[&["begin", "until go", " end."], &["Two."]]);
    let steps = vec![
        press(PROMPT, "first\r"),
        press("begin", CTRL_Z),
        resume_stopped(""),
        shell_line("", "touch go"),
        press(" end.", ""),
        press(PROMPT, "sec"),
        press("sec", CTRL_Z),
        resume_stopped(""),
        press("sec", "ond\r"),
        press("Two.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["first", "begin end.", "second", "Two."]
    );
}
