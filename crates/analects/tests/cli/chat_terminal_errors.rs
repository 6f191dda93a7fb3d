//! Errors in `chat` at a terminal: a broken file, a broken answer, a wrong option. No typed text is lost or sent
//! twice, and the messages are true.
#![cfg(unix)]

use crate::chat_terminal::{CTRL_C, CTRL_D, FILE, PROMPT, run_session, sandbox_with_server};
use crate::pseudo_terminal::{press, run_steps, shell_line};
use crate::sandbox::{Sandbox, skip};
use crate::server::{self, Server, answer, error, piece, stream_head};

const STORE: [&str; 3] = ["chat", "-m", "openai/tiny"];

/// A response that refuses the request because of its key.
pub fn refused_request() -> Vec<server::Step> {
    error("401 Unauthorized", r#"{"error":{"message":"no such key"}}"#)
}

#[test]
fn a_saved_prompt_is_not_asked_twice_after_cells_were_deleted() {
    let sandbox = Sandbox::new();
    let wait = vec![server::Step::Until(sandbox.path("go"))];
    let server = Server::new(vec![[wait, refused_request()].concat(), answer(&["Now."])]);
    let sandbox = sandbox.with_server(&server.base_url);
    let old = "# %%\n\nold question\n\n# %%%\n\nold answer\n\n";
    sandbox.write(
        "a.msg.md",
        format!("{old}{old}# %%\n\nlast\n\n# %%%\n\nkept\n\n"),
    );
    let less = "until grep -q 'new words' a.msg.md; do sleep 0.05; done; \
                python3 -c \"t = open('a.msg.md').read(); open('b', 'w').write(t[t.index('# %%\\n\\nlast'):])\" && \
                cat b > a.msg.md; touch go";
    let steps = vec![
        press(PROMPT, "new words\r"),
        shell_line("new words", less),
        press("no such key", ""),
        // If the line were not empty, this would not be a command.
        press(PROMPT, "/retry\r"),
        press("Now.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(sandbox.read("a.msg.md").matches("new words").count(), 1);
    server.request();
    assert_eq!(server.request().matches("new words").count(), 1);
}

#[test]
fn a_cleared_line_does_not_affect_the_next() {
    let (sandbox, _server) = sandbox_with_server(vec![answer(&["Fine."])]);
    let steps = vec![
        press(PROMPT, "curl \\\r"),
        press("| ", CTRL_C),
        press(PROMPT, "\u{1b}[200~curl \\\r  -x y\u{1b}[201~\r"),
        press("Fine.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(sandbox.message_texts("a.msg.md")[0], "curl \\\n  -x y");
}

#[test]
fn retry_repeats_an_interrupted_answer() {
    for place in [&FILE[..], &STORE] {
        let cut = vec![stream_head(), piece("half one")];
        let hang = vec![stream_head(), piece("half two"), server::Step::Hang];
        let scripts = vec![cut, answer(&["Whole."]), hang, answer(&["All."])];
        let (sandbox, server) = sandbox_with_server(scripts);
        let steps = vec![
            press(PROMPT, "first\r"),
            press("half one", ""),
            press("/retry asks it again", ""),
            press(PROMPT, "/retry\r"),
            press("Whole.", ""),
            press(PROMPT, "second\r"),
            press("half two", CTRL_C),
            press("interrupted", ""),
            press("/retry asks it again", ""),
            press(PROMPT, "/retry\r"),
            press("All.", ""),
            press(PROMPT, CTRL_D),
        ];
        let Some((seen, code)) = run_session(&sandbox, place, steps) else {
            return;
        };
        assert_eq!(code, 0, "{seen}");
        assert!(!seen.contains("analects drop"), "{seen}");
        let requests: Vec<String> = (0..4).map(|_| server.request()).collect();
        for (at, said) in [(1, "first"), (3, "second")] {
            assert_eq!(requests[at].matches(said).count(), 1, "{}", requests[at]);
            assert!(!requests[at].contains("half"), "{}", requests[at]);
        }
        assert!(requests[3].contains("Whole."), "{}", requests[3]);
        let kept = match place.len() {
            4 => sandbox.read("a.msg.md"),
            _ => sandbox.run(&["session", "export", "last"]).stdout,
        };
        for text in ["half one", "half two", "Whole.", "All."] {
            assert!(kept.contains(text), "{text} in {kept}");
        }
    }
}

#[test]
fn a_partial_answer_stays_when_a_later_question_fails() {
    for place in [&FILE[..], &STORE] {
        let hang = vec![stream_head(), piece("half one"), server::Step::Hang];
        let (sandbox, server) =
            sandbox_with_server(vec![hang, refused_request(), answer(&["Now."])]);
        let steps = vec![
            press(PROMPT, "first\r"),
            press("half one", CTRL_C),
            press("interrupted", ""),
            press(PROMPT, "second\r"),
            press("no such key", ""),
            press(
                "your prompt is kept: /retry asks it again, /undo takes it back",
                "",
            ),
            press(PROMPT, "/retry\r"),
            press("Now.", ""),
            press(PROMPT, CTRL_D),
        ];
        let Some((seen, code)) = run_session(&sandbox, place, steps) else {
            return;
        };
        assert_eq!(code, 0, "{seen}");
        let requests: Vec<String> = (0..3).map(|_| server.request()).collect();
        let request = &requests[2];
        assert!(
            request.contains("half one") && request.contains("second"),
            "{request}"
        );
    }
}

#[test]
fn an_unreadable_file_is_not_called_empty() {
    let not_text = "cp a.msg.md good; printf '\\377' >> a.msg.md";
    let no_file = "mv a.msg.md good; mkdir a.msg.md";
    for (damage, why) in [(not_text, "not UTF-8"), (no_file, "not a regular file")] {
        let (sandbox, _server) = sandbox_with_server(vec![answer(&["One."])]);
        let mut steps = vec![
            press(PROMPT, "first\r"),
            press("One.", ""),
            shell_line(PROMPT, damage),
        ];
        steps.push(press("", ""));
        for command in ["/undo", "/fork", "/context", "/retry", "/compact"] {
            steps.push(press("", format!("{command}\r")));
            steps.push(press("analects: ", ""));
            steps.push(press(why, ""));
            steps.push(press(PROMPT, ""));
        }
        steps.push(press("", CTRL_D));
        let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
            return;
        };
        assert_eq!(code, 0, "{seen}");
        for lie in [
            "nothing to take back",
            "nothing was said",
            "nothing to ask again",
        ] {
            assert!(!seen.contains(lie), "{seen}");
        }
    }
}

#[test]
fn chat_says_when_its_file_disappeared() {
    let (sandbox, server) = sandbox_with_server(vec![answer(&["One."]), answer(&["Two."])]);
    let steps = vec![
        press(PROMPT, "first\r"),
        press("One.", ""),
        shell_line(PROMPT, "mv a.msg.md b.msg.md"),
        press("", "second\r"),
        press("a.msg.md no longer exists", ""),
        press("> second", "!\r"),
        press("Two.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    server.request();
    let request = server.request();
    assert!(
        request.contains("second!") && !request.contains("first"),
        "{request}"
    );
    assert_eq!(sandbox.message_texts("a.msg.md"), ["second!", "Two."]);
}

#[test]
fn chat_says_when_its_session_disappeared() {
    let (sandbox, _server) = sandbox_with_server(vec![answer(&["One."]), answer(&["Two."])]);
    let steps = vec![
        press(PROMPT, "first\r"),
        press("One.", ""),
        shell_line(PROMPT, "rm -r home/data"),
        press("", "second\r"),
        press("no longer exists", ""),
        press("> second", "!\r"),
        press("Two.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &STORE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
}

#[test]
fn chat_checks_attached_files_before_the_first_prompt() {
    let (sandbox, server) = sandbox_with_server(vec![answer(&["One."])]);
    sandbox.write("one.txt", "first file");
    sandbox.write("two.txt", "second file");
    sandbox.write("bytes", b"\xff\0");
    for (name, code) in [("none.txt", 3), ("bytes", 1)] {
        let args = [&FILE[..], &["-f", name]].concat();
        let Some((seen, ended)) = run_session(&sandbox, &args, vec![press(name, "")]) else {
            return;
        };
        assert_eq!(ended, code, "{seen}");
        assert!(!seen.contains("/help"), "{seen}");
    }
    // If a file disappears later, the chat says so, and the prompt can be sent without it.
    let args = [&FILE[..], &["-f", "one.txt", "-f", "two.txt"]].concat();
    let steps = vec![
        shell_line(PROMPT, "rm two.txt"),
        press("", "hello\r"),
        press("two.txt: there is no such file", ""),
        press("goes without this file", ""),
        press("> hello", "!\r"),
        press("One.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &args, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    let request = server.request();
    assert!(request.contains("hello!"), "{request}");
    assert_eq!(request.matches("first file").count(), 1, "{request}");
}

#[test]
fn redirected_output_holds_only_answers() {
    let (sandbox, _server) = sandbox_with_server(vec![answer(&["One."])]);
    let plain = sandbox.command(&[]);
    let program = plain.get_program().to_string_lossy().into_owned();
    let mut line = sandbox.program_like(&plain, "sh");
    line.arg("-c")
        .arg(format!("'{program}' {} > out.txt", FILE.join(" ")));
    let steps = vec![
        press(PROMPT, "hello\n"),
        press(PROMPT, "/help\n"),
        press("/context", ""),
        press(PROMPT, "/context\n"),
        press("for the answer", ""),
        press(PROMPT, "/agent\n"),
        press("agents: tiny", ""),
        press(PROMPT, "/model\n"),
        press("with the model openai/tiny", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_steps(&sandbox, &line, steps) else {
        return skip(
            "redirected_output_holds_only_answers",
            "there is no Python to make a terminal",
        );
    };
    assert_eq!((code, &*sandbox.read("out.txt")), (0, "One.\n"), "{seen}");
}

#[test]
fn a_long_typed_prompt_returns_unabridged() {
    let (sandbox, _server) = sandbox_with_server(vec![answer(&["Fine."])]);
    // No more keys than the line editor takes at once.
    let half = "word ".repeat(120);
    let typed = format!("{half}middle {half}");
    let steps = vec![
        shell_line(PROMPT, "mkdir a.msg.md"),
        press("", format!("{half}middle ")),
        press("middle", format!("{half}end")),
        // An Enter among many keys at once is a line break.
        press("word end", "\r"),
        press("not a regular file", ""),
        press("word end", ""),
        shell_line("", "rmdir a.msg.md"),
        press("", "\r"),
        press("Fine.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &FILE, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains("[pasted"), "{seen}");
    assert_eq!(sandbox.message_texts("a.msg.md")[0], format!("{typed}end"));
}

const SMALL: &str = "---\nagents:\n  tiny: { models: [openai/tiny], context_window: 4000, max_output_tokens: 500 }\n---\n";

#[test]
fn slash_commands_show_the_summary_of_a_session() {
    let long = "A long answer about many things. ".repeat(50);
    let mut scripts = vec![answer(&[&long]); 3];
    scripts.push(answer(&["<summary>In short: things.</summary>"]));
    let (sandbox, _server) = sandbox_with_server(scripts);
    sandbox.write("a.msg.md", SMALL);
    let mut steps = Vec::new();
    for question in ["one", "two", "three"] {
        steps.push(press(PROMPT, format!("{question}\r")));
        steps.push(press("things. \r\n", ""));
    }
    steps.extend([
        press(PROMPT, "/compact\r"),
        press("In short: things.", ""),
        press("a summary replaces", ""),
        press(PROMPT, CTRL_D),
    ]);
    let Some((seen, code)) = run_session(&sandbox, &["chat", "a.msg.md"], steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
}

#[test]
fn undo_removes_a_prompt_that_is_too_large() {
    let (sandbox, server) = sandbox_with_server(vec![answer(&["Fine."])]);
    sandbox.write("a.msg.md", SMALL);
    let pasted = "many words in a line\r".repeat(2_000);
    let steps = vec![
        press(PROMPT, format!("\u{1b}[200~{pasted}\u{1b}[201~\r")),
        press(
            "your prompt is kept: /retry asks it again, /undo takes it back",
            "",
        ),
        press(PROMPT, "/undo\r"),
        press("continues from its beginning", ""),
        press(PROMPT, "short\r"),
        press("Fine.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &["chat", "a.msg.md"], steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    let request = server.request();
    assert!(
        request.contains("short") && !request.contains("many words"),
        "{request}"
    );
}

#[test]
fn hints_name_slash_commands() {
    let long = "A long answer about many things. ".repeat(60);
    let (sandbox, _server) = sandbox_with_server(vec![answer(&["Fine."])]);
    let talk = format!("# %%\n\nq\n\n# %%%\n\n{long}\n\n").repeat(15);
    sandbox.write("a.msg.md", format!("{SMALL}{talk}"));
    sandbox.write_config("config.toml", "[context]\ncompact_at = \"never\"\n");
    let steps = vec![
        press(PROMPT, "/agent zzz\r"),
        press("the agents are: tiny; /model MODEL makes a new one", ""),
        press(PROMPT, "short\r"),
        press("Fine.", ""),
        press("hint: /compact, or choose a model", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &["chat", "a.msg.md"], steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains("--agent"), "{seen}");
}
