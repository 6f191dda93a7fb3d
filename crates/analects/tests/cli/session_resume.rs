//! Stored sessions at a terminal: resumed, undone, retried.
#![cfg(unix)]

use crate::chat_terminal::{CTRL_D, PROMPT, run_session, sandbox_with_server};
use crate::chat_terminal_errors::refused_request;
use crate::pseudo_terminal::{press, shell_line};
use crate::sandbox::{Sandbox, send_signal};
use crate::server::{self, answer, stream_head};

/// A conversation from another program.
const TALK: &str = "{\"type\":\"user\",\"content\":\"old question\"}\n\
    {\"type\":\"assistant\",\"content\":\"old answer\"}\n";

#[test]
fn an_imported_session_resumes_on_a_terminal() {
    let import = |sandbox: &Sandbox| {
        sandbox.write(
            "old.msg.md",
            "# %%\n\nold question\n\n# %%%\n\nold answer\n",
        );
        sandbox.run(&["session", "import", "old.msg.md"])
    };
    let append = |sandbox: &Sandbox| sandbox.run_with_stdin(&["session", "append"], TALK);
    let fork = |sandbox: &Sandbox| {
        assert_eq!(import(sandbox).code, Some(0));
        sandbox.run(&["fork", "last"])
    };
    let resume = ["session", "resume", "last", "-m", "openai/tiny"];
    let go_on = ["chat", "-c", "-m", "openai/tiny"];
    for (make, args) in [
        (
            &import as &dyn Fn(&Sandbox) -> crate::sandbox::CommandOutput,
            &resume[..],
        ),
        (&append, &go_on),
        (&fork, &resume),
    ] {
        let (sandbox, server) = sandbox_with_server(vec![answer(&["Now."])]);
        assert_eq!(make(&sandbox).code, Some(0));
        let steps = vec![
            press("session ", ""),
            press(PROMPT, "/context\r"),
            press("old answer", ""),
            press(PROMPT, "and now?\r"),
            press("Now.", ""),
            press(PROMPT, CTRL_D),
        ];
        let Some((seen, code)) = run_session(&sandbox, args, steps) else {
            return;
        };
        assert_eq!(code, 0, "{seen}");
        let request = server.request();
        for said in ["old question", "old answer", "and now?"] {
            assert!(request.contains(said), "{said} in {request}");
        }
    }
}

fn count_sessions(sandbox: &Sandbox) -> usize {
    sandbox.run(&["session", "list"]).stdout.lines().count()
}

#[test]
fn retry_asks_the_same_model_in_the_same_session() {
    let (sandbox, server) = sandbox_with_server(vec![
        refused_request(),
        refused_request(),
        refused_request(),
        answer(&["Now."]),
    ]);
    let run = sandbox.run(&["chat", "-m", "openai/tiny", "hello there"]);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    let steps = vec![
        press(PROMPT, "/retry\r"),
        press("no such key", ""),
        press(PROMPT, "/retry\r"),
        press("no such key", ""),
        press(PROMPT, "/retry\r"),
        press("Now.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &["session", "resume", "last"], steps) else {
        return;
    };
    assert_eq!((code, count_sessions(&sandbox)), (0, 1), "{seen}");
    for _ in 0..4 {
        let request = server.request();
        assert_eq!(request.matches("hello there").count(), 1, "{request}");
        assert!(!request.contains("no such key"), "{request}");
    }
    let export = sandbox.run(&["session", "export", "last"]).stdout;
    assert_eq!(export.matches("hello there").count(), 1, "{export}");
}

#[test]
fn resume_remembers_a_model_that_was_stopped_before_the_first_word() {
    let hang = vec![stream_head(), server::Step::Hang];
    let (sandbox, server) = sandbox_with_server(vec![hang, answer(&["Now."])]);
    let mut child = sandbox.spawn(&["chat", "-m", "openai/tiny", "hello there"]);
    server.request();
    send_signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let steps = vec![
        press(PROMPT, "/retry\r"),
        press("Now.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &["session", "resume", "last"], steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(server.request().matches("hello there").count(), 1);
}

#[test]
fn an_edited_first_question_is_asked_after_rewind() {
    let answers = ["One.", "Two.", "Eins."].map(|text| answer(&[text]));
    let (sandbox, server) = sandbox_with_server(answers.to_vec());
    sandbox
        .run(&["chat", "-m", "openai/tiny", "first"])
        .assert_prints("One.\n");
    sandbox
        .run(&["chat", "-c", "second"])
        .assert_prints("Two.\n");
    let export = sandbox.run(&["session", "export", "last"]).stdout;
    let line = export
        .lines()
        .find(|line| line.contains("\"first\""))
        .unwrap();
    let first: serde_json::Value = serde_json::from_str(line).unwrap();
    let id = first["id"].as_str().unwrap();
    assert_eq!(sandbox.run(&["edit", "last", id, "erstens"]).code, Some(0));
    assert_eq!(sandbox.run(&["rewind", "last", id]).code, Some(0));
    let steps = vec![
        press(PROMPT, "/retry\r"),
        press("Eins.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &["chat", "-c"], steps) else {
        return;
    };
    assert_eq!((code, count_sessions(&sandbox)), (0, 1), "{seen}");
    let requests: Vec<String> = (0..3).map(|_| server.request()).collect();
    assert!(
        requests[2].contains("erstens") && !requests[2].contains("first"),
        "{}",
        requests[2]
    );
}

#[test]
fn undoing_the_first_exchange_keeps_the_session() {
    let answers = ["One.", "Two.", "Three."].map(|text| answer(&[text]));
    let (sandbox, server) = sandbox_with_server(answers.to_vec());
    sandbox
        .run(&["chat", "-m", "openai/tiny", "first"])
        .assert_prints("One.\n");
    let steps = vec![
        press(PROMPT, "/undo\r"),
        press("continues from its beginning", ""),
        press(PROMPT, "/undo\r"),
        press("nothing to take back", ""),
        press(PROMPT, "/context\r"),
        press("there are no messages yet", ""),
        press(PROMPT, "/model\r"),
        press("openai/tiny", ""),
        press(PROMPT, "second\r"),
        press("Two.", ""),
        press(PROMPT, "/undo\r"),
        press("continues from", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &["chat", "-c"], steps) else {
        return;
    };
    assert_eq!((code, count_sessions(&sandbox)), (0, 1), "{seen}");
    let requests: Vec<String> = (0..2).map(|_| server.request()).collect();
    assert!(
        !requests[1].contains("first") && !requests[1].contains("One."),
        "{}",
        requests[1]
    );
    // Following the hint restores the undone exchange.
    let (_, told) = seen.split_once("to undo this: /rewind ").unwrap();
    let told = told.split_whitespace().next().unwrap();
    let rewound = sandbox.run(&["rewind", "last", told]);
    assert_eq!(rewound.code, Some(0), "{told}: {}", rewound.stderr);
    sandbox
        .run(&["chat", "-c", "third"])
        .assert_prints("Three.\n");
    let request = server.request();
    assert!(
        request.contains("first") && request.contains("One."),
        "{request}"
    );
    assert!(!request.contains("second"), "{request}");
    assert_eq!(sandbox.run(&["check", "home/data"]).code, Some(0));
}

#[test]
fn a_restarted_session_exports_without_its_old_start() {
    let (sandbox, _server) = sandbox_with_server(vec![answer(&["One."]), answer(&["Two."])]);
    sandbox
        .run(&["chat", "-m", "openai/tiny", "first"])
        .assert_prints("One.\n");
    let steps = vec![
        press(PROMPT, "/undo\r"),
        press("continues from its beginning", ""),
        press(PROMPT, "second\r"),
        press("Two.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &["chat", "-c"], steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    sandbox.write(
        "s.jsonl",
        sandbox.run(&["session", "export", "last"]).stdout,
    );
    let run = sandbox.run(&["convert", "s.jsonl", "--to", "openai", "--lossy"]);
    assert!(
        run.stdout.contains("second") && !run.stdout.contains("first"),
        "{}",
        run.stdout
    );
    // A message file has both branches and continues one of them.
    let args = ["session", "export", "last", "-o", "b.msg.md"];
    assert_eq!(sandbox.run(&args).code, Some(0));
    assert!(sandbox.read("b.msg.md").contains("first"));
    let run = sandbox.run(&[
        "chat",
        "b.msg.md",
        "-m",
        "openai/tiny",
        "--dry-run",
        "third",
    ]);
    assert!(
        run.stdout.contains("second") && !run.stdout.contains("first"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_session_with_only_a_summary_is_not_empty() {
    let compaction = "{\"type\":\"summary\",\"id\":\"S\",\"text\":\"They talked.\"}\n\
        {\"type\":\"compact_boundary\",\"id\":\"B\",\"summary_id\":\"S\"}\n";
    let (sandbox, server) = sandbox_with_server(vec![answer(&["Now."]), answer(&["Then."])]);
    let lines = format!("{TALK}{}{compaction}", TALK.replace("old", "later"));
    assert_eq!(
        sandbox.run_with_stdin(&["session", "append"], lines).code,
        Some(0)
    );
    let steps = vec![
        press("session ", ""),
        press(PROMPT, "/context\r"),
        press("They talked.", ""),
        press(PROMPT, "/fork\r"),
        press("stays as it is", ""),
        press(PROMPT, "and now?\r"),
        press("Now.", ""),
        press(PROMPT, "/undo\r"),
        press("continues from", ""),
        press(PROMPT, "/undo\r"),
        press("does not count there", ""),
        press("continues from", ""),
        press(PROMPT, "and then?\r"),
        press("Then.", ""),
        press(PROMPT, CTRL_D),
        press("to continue: analects session resume", ""),
    ];
    let args = ["session", "resume", "last", "-m", "openai/tiny"];
    let Some((seen, code)) = run_session(&sandbox, &args, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    let requests: Vec<String> = (0..2).map(|_| server.request()).collect();
    assert!(requests[0].contains("They talked.") && !requests[0].contains("old answer"));
    // The last exchange is gone, and the summary that covered it.
    assert!(requests[1].contains("old answer") && requests[1].contains("and then?"));
    for gone in ["They talked.", "later question", "and now?"] {
        assert!(!requests[1].contains(gone), "{gone} in {}", requests[1]);
    }
}

#[test]
fn a_saved_prompt_is_not_repeated_after_compaction_fails() {
    let summary = answer(&["<summary>They talked.</summary>"]);
    // A summary of the first part, and one of everything.
    let scripts = vec![
        summary.clone(),
        summary,
        refused_request(),
        answer(&["Now."]),
    ];
    let (sandbox, server) = sandbox_with_server(scripts);
    let agent = "[agents.small]\nmodels = \"openai/tiny\"\ncontext_window = 4000\n";
    sandbox.write_config("config.toml", &format!("{agent}max_output_tokens = 500\n"));
    let long = TALK.replace("old answer", &"The river flows to the sea. ".repeat(90));
    assert_eq!(
        sandbox
            .run_with_stdin(&["session", "append"], long.repeat(6))
            .code,
        Some(0)
    );
    let steps = vec![
        press(PROMPT, "precious words\r"),
        press("a summary replaces", ""),
        press("no such key", ""),
        // If the line were not empty, this would not be a command.
        press(PROMPT, "/retry\r"),
        press("Now.", ""),
        press(PROMPT, CTRL_D),
    ];
    let args = ["session", "resume", "last", "--agent", "small"];
    let Some((seen, code)) = run_session(&sandbox, &args, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    let requests: Vec<String> = (0..4).map(|_| server.request()).collect();
    assert_eq!(
        requests[3].matches("precious words").count(),
        1,
        "{}",
        requests[3]
    );
}

#[test]
fn undo_keeps_attached_files_and_says_so() {
    for place in [&["chat", "a.msg.md"][..], &["chat"]] {
        let (sandbox, server) = sandbox_with_server(vec![answer(&["One."]), answer(&["Two."])]);
        sandbox.write("notes.txt", "buy milk");
        let args = [place, &["-m", "openai/tiny", "-f", "notes.txt"]].concat();
        let steps = vec![
            press(PROMPT, "first\r"),
            press("One.", ""),
            press(PROMPT, "/undo\r"),
            press("still attached for the model: notes.txt", ""),
            press(PROMPT, "/context\r"),
            press("<file path", ""),
            press(PROMPT, "second\r"),
            press("Two.", ""),
            press(PROMPT, CTRL_D),
        ];
        let Some((seen, code)) = run_session(&sandbox, &args, steps) else {
            return;
        };
        assert_eq!(code, 0, "{seen}");
        server.request();
        let request = server.request();
        assert_eq!(request.matches("buy milk").count(), 1, "{request}");
        assert!(
            request.contains("second") && !request.contains("first"),
            "{request}"
        );
    }
}

#[test]
fn hints_on_a_terminal_are_slash_commands_that_work() {
    let (sandbox, server) = sandbox_with_server(vec![answer(&["Now."])]);
    let head = "---\nagents:\n  tiny: { models: [openai/tiny] }\n---\n";
    sandbox.write("a.msg.md", head);
    let steps = vec![
        press(PROMPT, "/agent nobody\r"),
        press("/model MODEL makes a new one", ""),
        shell_line(PROMPT, ": > a.msg.md"),
        press("", "hello there\r"),
        press("no model to ask", ""),
        press("/model local/smollm2 (", ""),
        press("your prompt is kept: /model NAME, then /retry, asks it", ""),
        press(PROMPT, "/model openai/tiny\r"),
        press("openai/tiny answers from now on", ""),
        press(PROMPT, "/retry\r"),
        press("Now.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = run_session(&sandbox, &["chat", "a.msg.md"], steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains(" -m "), "{seen}");
    assert_eq!(server.request().matches("hello there").count(), 1);
}
