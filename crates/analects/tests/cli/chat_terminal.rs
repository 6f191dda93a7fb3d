//! `chat` at a terminal: one prompt after another, on a real pseudo-terminal, with a real server.
#![cfg(unix)]

use std::time::{Duration, Instant};

use crate::pseudo_terminal::{Step, press, resize, run_steps, shell_line};
use crate::sandbox::{Sandbox, skip};
use crate::server::{self, Server, answer, error, piece, stream_head};

pub const CTRL_C: &str = "\u{3}";
pub const CTRL_D: &str = "\u{4}";
pub const PROMPT: &str = "> ";
pub const FILE: [&str; 4] = ["chat", "a.msg.md", "-m", "openai/tiny"];

/// Runs a session with these arguments; skips the test where there is no terminal.
pub fn run_session(sandbox: &Sandbox, args: &[&str], steps: Vec<Step>) -> Option<(String, i32)> {
    let mut command = sandbox.command(args);
    command
        .env("NO_COLOR", "1")
        .env_remove("VISUAL")
        .env("EDITOR", "false");
    let ran = run_steps(sandbox, &command, steps);
    if ran.is_none() {
        skip("chat_terminal", "there is no Python to make a terminal");
    }
    ran
}

pub fn sandbox_with_server(scripts: Vec<Vec<server::Step>>) -> (Sandbox, Server) {
    let server = Server::new(scripts);
    (Sandbox::new().with_server(&server.base_url), server)
}

#[test]
fn a_terminal_chat_writes_its_file() {
    let (sandbox, server) = sandbox_with_server(vec![answer(&["A s", "et."]), answer(&["Two."])]);
    let steps = vec![
        press(PROMPT, "什么是 a group?\r"),
        press("A set.", ""),
        press(PROMPT, "/model\r"),
        press("tiny answers, with the model openai/tiny", ""),
        press(PROMPT, "/context\r"),
        press("for the answer", ""),
        press(PROMPT, "And a ring?\r"),
        press("Two.", ""),
        press(PROMPT, "/quit\r"),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert!(
        seen.contains("a.msg.md, with openai/tiny; /help for commands"),
        "{seen}"
    );
    let texts = sandbox.message_texts("a.msg.md");
    assert_eq!(texts, ["什么是 a group?", "A set.", "And a ring?", "Two."]);
    server.request();
    assert!(server.request().contains("A set."));
    let history = sandbox.path("home/state/prompts.jsonl");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(&history).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    assert!(
        std::fs::read_to_string(history)
            .unwrap()
            .starts_with("\"什么是 a group?\"\n")
    );
}

#[test]
fn undo_and_fork_work_in_a_stored_session() {
    let answers = ["One.", "Two.", "Three.", "Four."].map(|text| answer(&[text]));
    let (sandbox, server) = sandbox_with_server(answers.to_vec());
    let steps = vec![
        press(PROMPT, "first\r"),
        press("One.", ""),
        press(PROMPT, "second\r"),
        press("Two.", ""),
        press(PROMPT, "/undo\r"),
        press("continues from", ""),
        press(PROMPT, "third\r"),
        press("Three.", ""),
        press(PROMPT, "/fork\r"),
        press("stays as it is", ""),
        press(PROMPT, "fourth\r"),
        press("Four.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &["chat", "-m", "openai/tiny"], steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert!(
        seen.contains("to continue: analects session resume"),
        "{seen}"
    );
    let requests: Vec<String> = (0..4).map(|_| server.request()).collect();
    assert!(requests[1].contains("One.") && requests[1].contains("second"));
    assert!(
        requests[2].contains("One.") && !requests[2].contains("second"),
        "{}",
        requests[2]
    );
    assert!(requests[3].contains("Three."), "{}", requests[3]);
    let list = sandbox.run(&["session", "list"]);
    assert_eq!(list.stdout.lines().count(), 2, "{}", list.stdout);
}

#[test]
fn undo_and_fork_work_in_a_file() {
    let answers = ["One.", "Two.", "Three.", "Four."].map(|text| answer(&[text]));
    let (sandbox, server) = sandbox_with_server(answers.to_vec());
    let steps = vec![
        press(PROMPT, "first\r"),
        press("One.", ""),
        press(PROMPT, "second\r"),
        press("Two.", ""),
        press(PROMPT, "/undo\r"),
        press("continues from cell", ""),
        press(PROMPT, "third\r"),
        press("Three.", ""),
        press(PROMPT, "/fork\r"),
        press("stays as it is", ""),
        press(PROMPT, "/undo\r"),
        press("continues from cell", ""),
        press(PROMPT, "/undo\r"),
        press("continues from its beginning", ""),
        press(PROMPT, "/undo\r"),
        press("nothing to take back", ""),
        press(PROMPT, "fourth\r"),
        press("Four.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    let requests: Vec<String> = (0..4).map(|_| server.request()).collect();
    assert!(
        requests[2].contains("One.") && !requests[2].contains("second"),
        "{}",
        requests[2]
    );
    for gone in ["first", "One.", "second", "third", "Three."] {
        assert!(!requests[3].contains(gone), "{gone} in {}", requests[3]);
    }
    assert!(
        sandbox.read("a.msg.md").contains("Three.") && !sandbox.read("a.msg.md").contains("fourth")
    );
    assert!(sandbox.read("a.fork-1.msg.md").contains("Four."));
}

/// Every way back that was told leads to all that was said there, whatever was taken back after that.
#[test]
fn following_the_hints_restores_two_undos() {
    let answers = ["One.", "Two.", "Three."].map(|text| answer(&[text]));
    let (sandbox, server) = sandbox_with_server(answers.to_vec());
    let steps = vec![
        press(PROMPT, "first\r"),
        press("One.", ""),
        press(PROMPT, "second\r"),
        press("Two.", ""),
        press(PROMPT, "/undo\r"),
        press("to undo this: /rewind", ""),
        press(PROMPT, "/undo\r"),
        press("to undo this: /rewind", ""),
        press(PROMPT, "third\r"),
        press("Three.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    let third = std::iter::from_fn(|| Some(server.request()))
        .nth(2)
        .unwrap();
    assert!(
        third.contains("third") && !third.contains("first"),
        "{third}"
    );
    let told = |at: usize| -> String {
        let words = seen.split("to undo this: /rewind ").nth(at).unwrap();
        words.chars().take_while(char::is_ascii_digit).collect()
    };
    let sent = |cell: &str| {
        let run = sandbox.run(&["rewind", "a.msg.md", cell]);
        assert_eq!(run.code, Some(0), "{cell}: {}", run.stderr);
        let messages = sandbox.messages("a.msg.md").messages;
        let shown = analects_core::chain(&messages).messages.into_iter();
        let shown = shown.filter(|message| message.why_not_sent().is_none());
        shown.map(|message| message.text()).collect::<Vec<String>>()
    };
    assert_eq!(sent(&told(1)), ["first", "One.", "second", "Two."]);
    assert_eq!(sent(&told(2)), ["first", "One."]);
}

#[test]
fn slash_compact_compacts_the_conversation() {
    let long = "A long answer about many things. ".repeat(250);
    let mut scripts = vec![answer(&[&long]), answer(&[&long]), answer(&[&long])];
    scripts.push(answer(&["<summary>In short: things.</summary>"]));
    scripts.push(answer(&["After."]));
    let (sandbox, server) = sandbox_with_server(scripts);
    let agent = "tiny: { models: [openai/tiny], context_window: 10000, max_output_tokens: 1000 }";
    sandbox.write("a.msg.md", format!("---\nagents:\n  {agent}\n---\n"));
    let mut steps = vec![
        press(PROMPT, "/context\r"),
        press("there are no messages yet", ""),
    ];
    for question in ["one", "two", "three"] {
        steps.push(press(PROMPT, format!("{question}\r")));
        steps.push(press("things. \r\n", ""));
    }
    steps.extend([
        press(PROMPT, "/compact\r"),
        press("a summary replaces", ""),
        press(PROMPT, "four\r"),
        press("After.", ""),
        press(PROMPT, CTRL_D),
    ]);
    let Some((seen, code)) = run_session(&sandbox, &["chat", "a.msg.md"], steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    let requests: Vec<String> = (0..5).map(|_| server.request()).collect();
    assert!(requests[4].contains("In short: things."), "{}", requests[4]);
}

#[test]
fn ctrl_c_stops_the_answer_and_keeps_the_chat_open() {
    let hang = |text: &str| vec![stream_head(), piece(text), server::Step::Hang];
    let (sandbox, _server) =
        sandbox_with_server(vec![hang("half one"), hang("half two"), answer(&["whole"])]);
    let steps = vec![
        press(PROMPT, "one\r"),
        press("half one", CTRL_C),
        press("interrupted; the partial answer is kept", ""),
        press(PROMPT, "two\r"),
        press("half two", CTRL_C),
        press("interrupted; the partial answer is kept", ""),
        press(PROMPT, "not this"),
        press("not this", CTRL_C),
        press(PROMPT, "three\r"),
        press("whole", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["one", "half one", "two", "half two", "three", "whole"]
    );
    assert_eq!(sandbox.read("a.msg.md").matches("interrupted").count(), 2);
}

#[test]
fn ctrl_c_before_the_first_word_says_that_no_answer_came() {
    for place in [&FILE[..], &["chat", "-m", "openai/tiny"]] {
        let hang = vec![stream_head(), server::Step::Hang];
        let (sandbox, server) = sandbox_with_server(vec![hang, answer(&["Now."])]);
        let asked = sandbox.path("asked");
        let watch = std::thread::spawn(move || {
            server.request();
            std::fs::write(asked, "").unwrap();
            server
        });
        let steps = vec![
            press(PROMPT, "hello there\r"),
            shell_line(
                "hello there",
                "for i in $(seq 400); do [ -e asked ] && break; sleep 0.05; done",
            ),
            press("", CTRL_C),
            press(
                "interrupted before the answer started; your question is kept",
                "",
            ),
            press("/retry asks it again", ""),
            press(PROMPT, "/retry\r"),
            press("Now.", ""),
            press(PROMPT, CTRL_D),
        ];
        let Some((seen, code)) = run_session(&sandbox, place, steps) else {
            return;
        };
        assert_eq!(code, 0, "{seen}");
        let request = watch.join().unwrap().request();
        assert_eq!(request.matches("hello there").count(), 1, "{request}");
    }
}

#[test]
fn retry_works_after_an_error() {
    for place in [&FILE[..], &["chat", "-m", "openai/tiny"]] {
        let refused = error("401 Unauthorized", r#"{"error":{"message":"no such key"}}"#);
        let (sandbox, server) = sandbox_with_server(vec![refused, answer(&["Now."])]);
        let steps = vec![
            press(PROMPT, "hello there\r"),
            press("no such key", ""),
            press(PROMPT, "/retry\r"),
            press("Now.", ""),
            press(PROMPT, CTRL_D),
        ];
        let Some((seen, code)) = run_session(&sandbox, place, steps) else {
            return;
        };
        assert_eq!(code, 0, "{seen}");
        server.request();
        let request = server.request();
        assert_eq!(request.matches("hello there").count(), 1, "{request}");
    }
}

#[test]
fn an_unsaved_prompt_returns_to_the_input_line() {
    let (sandbox, server) = sandbox_with_server(vec![answer(&["Fine."])]);
    let steps = vec![
        shell_line(PROMPT, "mkdir a.msg.md"),
        press("", "precious words\r"),
        press("not a regular file", ""),
        press("> precious words", ""),
        shell_line("", "rmdir a.msg.md"),
        press("", "!\r"),
        press("Fine.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert!(server.request().contains("precious words!"));
}

#[test]
fn a_large_paste_shows_as_a_marker_and_is_sent_whole() {
    let (sandbox, server) = sandbox_with_server(vec![answer(&["Read."])]);
    let agent = "agents:\n  tiny: { models: [openai/tiny], context_window: 3000000 }";
    sandbox.write("a.msg.md", format!("---\n{agent}\n---\n"));
    let line = "x".repeat(50) + "学\r";
    let pasted = line.repeat(19_000);
    let steps = vec![
        press(PROMPT, format!("Look: \u{1b}[200~{pasted}\u{1b}[201~")),
        press("[pasted: 19000 lines]", " please\r"),
        press("Read.", ""),
        press(PROMPT, CTRL_D),
    ];
    let clock = Instant::now();
    let Some((seen, code)) = run_session(&sandbox, &["chat", "a.msg.md"], steps) else {
        return;
    };
    assert_eq!(code, 0);
    assert!(seen.len() < 100_000, "the paste itself is not shown");
    let text = &sandbox.message_texts("a.msg.md")[0];
    assert_eq!(
        *text,
        format!("Look: {} please", pasted.replace('\r', "\n"))
    );
    assert!(server.request().len() > 1_000_000);
    assert!(
        clock.elapsed() < Duration::from_secs(60),
        "{:?}",
        clock.elapsed()
    );
}

#[test]
fn a_prompt_can_have_several_lines() {
    let (sandbox, _server) = sandbox_with_server(vec![
        answer(&["1."]),
        answer(&["2."]),
        answer(&["3."]),
        answer(&["4."]),
    ]);
    let steps = vec![
        press(PROMPT, "one\u{1b}\rtwo\r"),
        press("1.", ""),
        press(PROMPT, "one\\\rtwo\r"),
        press("2.", ""),
        press(PROMPT, "```\rcode\r\r```\r"),
        press("3.", ""),
        press(PROMPT, "\u{1b}[200~a \\\rb\u{1b}[201~\r"),
        press("4.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    let texts = sandbox.message_texts("a.msg.md");
    let said: Vec<&String> = texts.iter().step_by(2).collect();
    assert_eq!(
        said,
        ["one\ntwo", "one\ntwo", "```\ncode\n\n```", "a \\\nb"]
    );
}

#[test]
fn tab_completes_commands_and_arrow_up_recalls_prompts() {
    let (sandbox, _server) = sandbox_with_server(vec![answer(&["Once."]), answer(&["Twice."])]);
    let steps = vec![
        press(PROMPT, "say it\r"),
        press("Once.", ""),
        press(PROMPT, "/mod\t"),
        press("/model", "\r"),
        press("tiny answers", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    // A second session has the prompts of the first in its history; the last one is the command.
    let steps = vec![
        press(PROMPT, "\u{1b}[A\u{1b}[A\r"),
        press("Twice.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, _)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["say it", "Once.", "say it", "Twice."],
        "{seen}"
    );
}

#[test]
fn chat_starts_with_a_damaged_history_file() {
    let folder = |sandbox: &Sandbox| {
        std::fs::create_dir_all(sandbox.path("home/state/prompts.jsonl")).unwrap();
    };
    let garbage = |sandbox: &Sandbox| {
        std::fs::create_dir_all(sandbox.path("home/state")).unwrap();
        sandbox.write("home/state/prompts.jsonl", b"\xff\0\n\"\\u001b[2Jx\"\n{\n");
    };
    for damage in [&folder as &dyn Fn(&Sandbox), &garbage] {
        let (sandbox, _server) = sandbox_with_server(vec![answer(&["Fine."])]);
        damage(&sandbox);
        let steps = vec![
            press(PROMPT, "hello\r"),
            press("Fine.", ""),
            press(PROMPT, CTRL_D),
        ];
        let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
            return;
        };
        assert_eq!(code, 0, "{seen}");
        assert_eq!(sandbox.message_texts("a.msg.md"), ["hello", "Fine."]);
    }
}

#[test]
fn chat_survives_a_terminal_resize() {
    let (sandbox, _server) =
        sandbox_with_server(vec![answer(&["学 ".repeat(80).trim()]), answer(&["End."])]);
    let steps = vec![
        press(PROMPT, "a long line that is typed "),
        resize("is typed", 10, 30),
        press("", "and goes on\r"),
        press("学 学", ""),
        resize(PROMPT, 50, 120),
        press("", "more\r"),
        press("End.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    let texts = sandbox.message_texts("a.msg.md");
    assert_eq!(
        (&*texts[0], &*texts[2]),
        ("a long line that is typed and goes on", "more")
    );
}

#[test]
fn no_colour_and_no_escapes_without_colour() {
    let bad = "\u{1b}]52;c;AAAA\u{7}\u{1b}[2J\u{202e}x";
    let (sandbox, _server) = sandbox_with_server(vec![answer(&[bad, "**end**"])]);
    let steps = vec![
        press(PROMPT, "hello\r"),
        press("**end**", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    let (_, after) = seen.split_once("<U+001B>]52").unwrap();
    let (reply, _) = after.split_once("**end**").unwrap();
    assert!(
        !reply.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{reply:?}"
    );
    for ink in 30..=37 {
        assert!(
            !seen.contains(&format!("\u{1b}[{ink}m")),
            "{ink} in {seen:?}"
        );
    }
}

#[test]
fn redirected_answers_survive_a_closed_pipe() {
    let (sandbox, _server) = sandbox_with_server(vec![answer(&["**One.**"]), answer(&["Two."])]);
    let plain = sandbox.command(&[]);
    let program = plain.get_program().to_string_lossy().into_owned();
    let line = |rest: &str| format!("'{program}' chat a.msg.md -m openai/tiny {rest}");
    let run = |line: String, steps: Vec<Step>| {
        let mut shell = sandbox.program_like(&plain, "sh");
        shell.arg("-c").arg(line);
        run_steps(&sandbox, &shell, steps)
    };
    let steps = vec![
        press(PROMPT, "one\\\n"),
        press("| ", "more\n"),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run(line("> out.txt"), steps) else {
        return skip(
            "redirected_answers_survive_a_closed_pipe",
            "there is no Python to make a terminal",
        );
    };
    assert_eq!(
        (code, &*sandbox.read("out.txt")),
        (0, "**One.**\n"),
        "{seen}"
    );
    let steps = vec![press(PROMPT, "two\n"), press(PROMPT, CTRL_D)];
    let (seen, _) = run(line("| true"), steps).unwrap();
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["one\nmore", "**One.**", "two", "Two."],
        "{seen}"
    );
}

#[test]
fn a_dumb_terminal_gets_plain_text() {
    let (sandbox, _server) = sandbox_with_server(vec![answer(&["Plain."])]);
    let mut command = sandbox.command(&FILE);
    command.env("TERM", "dumb");
    let steps = vec![
        press(PROMPT, "hello\n"),
        press("Plain.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_steps(&sandbox, &command, steps) else {
        return skip(
            "a_dumb_terminal_gets_plain_text",
            "there is no Python to make a terminal",
        );
    };
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
}

#[test]
fn slash_edit_opens_an_editor_for_the_prompt() {
    let (sandbox, _server) = sandbox_with_server(vec![answer(&["Seen."])]);
    let mut command = sandbox.command(&FILE);
    sandbox.write("editor.sh", "#!/bin/sh\necho second line >> \"$2\"\n");
    command
        .env("NO_COLOR", "1")
        .env("VISUAL", "sh ./editor.sh --wait")
        .env("EDITOR", "false");
    let steps = vec![
        press(PROMPT, "/edit first \r"),
        press("Seen.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_steps(&sandbox, &command, steps) else {
        return skip(
            "slash_edit_opens_an_editor_for_the_prompt",
            "there is no Python to make a terminal",
        );
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(sandbox.message_texts("a.msg.md")[0], "firstsecond line");
    let left: Vec<_> = std::fs::read_dir(sandbox.path("home/state"))
        .unwrap()
        .flatten()
        .collect();
    assert!(
        !left
            .iter()
            .any(|it| it.file_name().to_string_lossy().starts_with("prompt-"))
    );
    // Nothing is sent if the editor fails.
    let steps = vec![
        press(PROMPT, "/edit x\r"),
        press("the editor false ended with exit status: 1", CTRL_C),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(sandbox.message_texts("a.msg.md").len(), 2);
}

#[test]
fn chat_opens_a_prompt_only_on_a_terminal() {
    let (sandbox, _server) = sandbox_with_server(vec![answer(&["Asked."])]);
    // Without a terminal, nobody can type.
    let run = sandbox.run(&FILE);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("nothing to ask"), "{}", run.stderr);
    // A waiting cell is asked at once.
    sandbox.write("a.msg.md", "# %%\n\nWaiting?\n");
    let Some((seen, code)) = run_session(&sandbox, &FILE, vec![press("Asked.", "")]) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains("/help"), "{seen}");
    // A missing model is reported before anything is typed.
    let nobody = Sandbox::new();
    let Some((seen, code)) = run_session(&nobody, &["chat"], vec![press("no model to ask", "")])
    else {
        return;
    };
    assert_eq!(code, 2, "{seen}");
    // Options for a single prompt are refused.
    let one = [
        ("--record", "is for one answer"),
        ("-e", "choose cells for one prompt"),
    ];
    for (option, why) in one {
        let args = ["chat", "a.msg.md", "-m", "openai/tiny", option, "1"];
        let Some((seen, code)) = run_session(&sandbox, &args, vec![press(why, "")]) else {
            return;
        };
        assert_eq!(code, 2, "{seen}");
    }
    sandbox.write("plain.md", "# Notes\n");
    let args = ["chat", "plain.md", "-m", "openai/tiny"];
    let Some((seen, code)) = run_session(&sandbox, &args, vec![press("--force does", "")]) else {
        return;
    };
    assert_eq!(code, 2, "{seen}");
}

#[test]
fn a_terminal_chat_resumes_sessions_and_forces_plain_files() {
    let (sandbox, server) =
        sandbox_with_server(vec![answer(&["One."]), answer(&["Two."]), answer(&["3."])]);
    sandbox
        .run(&["chat", "-m", "openai/tiny", "first"])
        .assert_prints("One.\n");
    let steps = vec![
        press(PROMPT, "second\r"),
        press("Two.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &["session", "resume", "last"], steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    server.request();
    let request = server.request();
    assert!(
        request.contains("first") && request.contains("second"),
        "{request}"
    );
    sandbox.write("plain.md", "# Notes\n");
    let args = ["chat", "plain.md", "--force", "-m", "openai/tiny"];
    let steps = vec![
        press(PROMPT, "third\r"),
        press("3.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &args, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert!(
        sandbox.read("plain.md").contains("# Notes") && sandbox.read("plain.md").contains("third")
    );
}
