//! Two commands continue one session at the same time: each gets its own branch and says so, and every question is
//! sent with its own answer. `session tail` marks messages that the model does not see.

use std::path::PathBuf;
use std::process::Child;

use serde_json::Value;

use crate::sandbox::{CommandOutput, Sandbox, parse_json};
use crate::server::{Server, Step, answer, done, piece, stream_head};

/// An answer that arrives once the file `gate` exists.
fn delayed_answer(text: &str, gate: PathBuf) -> Vec<Step> {
    vec![stream_head(), Step::Until(gate), piece(text), done()]
}

#[track_caller]
fn wait_for_success(child: Child) -> CommandOutput {
    let run: CommandOutput = child.wait_with_output().unwrap().into();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

/// The texts of the messages in a request, in order.
fn texts_sent(request: &str) -> Vec<String> {
    let messages = parse_json(request)["messages"].as_array().unwrap().clone();
    let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_string();
    messages
        .iter()
        .filter(|it| it["role"] != "system")
        .map(text)
        .collect()
}

/// The marked messages of the last session, as `text:mark`.
fn marked_messages(sandbox: &Sandbox) -> Vec<String> {
    let run = sandbox.run(&["session", "tail", "last", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let decoded = analects_formats::transcript::decode(run.stdout.as_bytes()).messages;
    let lines = run.stdout.lines().map(parse_json).zip(decoded);
    let marked = lines.filter(|(line, _)| !line["unseen"].is_null());
    marked
        .map(|(line, it)| format!("{}:{}", it.text(), line["unseen"].as_str().unwrap()))
        .collect()
}

fn session_json(sandbox: &Sandbox) -> Value {
    parse_json(&sandbox.run(&["session", "show", "last", "--json"]).stdout)
}

/// The id of the message with this text.
fn id_of(sandbox: &Sandbox, text: &str) -> String {
    let tail = sandbox.run(&["session", "tail", "last", "--json"]).stdout;
    let line = tail
        .lines()
        .find(|line| line.contains(&format!("\"{text}\"")))
        .unwrap();
    parse_json(line)["id"].as_str().unwrap().to_string()
}

struct TwoChats {
    sandbox: Sandbox,
    server: Server,
    first: CommandOutput,
    second: CommandOutput,
}

/// Sends a prompt from two processes: the second starts while the first waits for its answer. The answers arrive in
/// the given order.
fn two_at_once(first_ends_first: bool) -> TwoChats {
    let sandbox = Sandbox::new();
    let gates = [sandbox.path("gate-a"), sandbox.path("gate-b")];
    let server = Server::new(vec![
        answer(&["Old answer."]),
        delayed_answer("Answer A.", gates[0].clone()),
        delayed_answer("Answer B.", gates[1].clone()),
        answer(&["Now."]),
        answer(&["Then."]),
    ]);
    let sandbox = sandbox.with_server(&server.base_url);
    sandbox
        .run(&["chat", "-m", "openai/tiny", "old question"])
        .assert_prints("Old answer.\n");
    server.request();
    let first = sandbox.spawn(&["session", "resume", "last", "question A"]);
    assert_eq!(
        texts_sent(&server.request()),
        ["old question", "Old answer.", "question A"]
    );
    let second = sandbox.spawn(&["session", "resume", "last", "question B"]);
    assert_eq!(
        texts_sent(&server.request()),
        ["old question", "Old answer.", "question B"]
    );
    let (first, second) = if first_ends_first {
        std::fs::write(&gates[0], "").unwrap();
        let first = wait_for_success(first);
        std::fs::write(&gates[1], "").unwrap();
        (first, wait_for_success(second))
    } else {
        std::fs::write(&gates[1], "").unwrap();
        let second = wait_for_success(second);
        std::fs::write(&gates[0], "").unwrap();
        (wait_for_success(first), second)
    };
    TwoChats {
        sandbox,
        server,
        first,
        second,
    }
}

#[test]
fn two_chats_at_once_report_their_branches() {
    for first_ends_first in [true, false] {
        let TwoChats {
            sandbox,
            first,
            second,
            ..
        } = two_at_once(first_ends_first);
        let told = "another process continued this session from the same message";
        let session = session_json(&sandbox)["id"].as_str().unwrap().to_string();
        for (run, own, other) in [
            (&first, "Answer A.", "Answer B."),
            (&second, "Answer B.", "Answer A."),
        ] {
            assert_eq!(run.stdout, format!("{own}\n"));
            assert!(run.stderr.contains(told), "{}", run.stderr);
            assert!(run.stderr.contains("2 branches"), "{}", run.stderr);
            let own = format!("analects rewind {session} {}", id_of(&sandbox, own));
            assert!(run.stderr.contains(&own), "{own}: {}", run.stderr);
            // The command that finishes first can only name the other's question.
            let question = if other == "Answer A." {
                "question A"
            } else {
                "question B"
            };
            let others = [id_of(&sandbox, other), id_of(&sandbox, question)];
            assert!(
                others.iter().any(|id| run.stderr.contains(id)),
                "{}",
                run.stderr
            );
        }
    }
}

#[test]
fn two_chats_at_once_keep_questions_with_their_answers() {
    for first_ends_first in [true, false] {
        let TwoChats {
            sandbox, server, ..
        } = two_at_once(first_ends_first);
        let run = sandbox.run(&["session", "resume", "last", "and now?"]);
        run.assert_prints("Now.\n");
        let last = if first_ends_first {
            ["question B", "Answer B."]
        } else {
            ["question A", "Answer A."]
        };
        let other = if first_ends_first {
            ["question A", "Answer A."]
        } else {
            ["question B", "Answer B."]
        };
        let expected = ["old question", "Old answer.", last[0], last[1], "and now?"];
        assert_eq!(texts_sent(&server.request()), expected);
        // To continue the other branch, name its last message.
        let id = id_of(&sandbox, other[1]);
        assert_eq!(sandbox.run(&["rewind", "last", &id]).code, Some(0));
        sandbox
            .run(&["session", "resume", "last", "and then?"])
            .assert_prints("Then.\n");
        let expected = [
            "old question",
            "Old answer.",
            other[0],
            other[1],
            "and then?",
        ];
        assert_eq!(texts_sent(&server.request()), expected);
    }
}

#[test]
fn session_show_counts_branches_and_all_their_tokens() {
    let TwoChats { sandbox, .. } = two_at_once(true);
    let shown = session_json(&sandbox);
    assert_eq!(
        (&shown["branches"], &shown["messages"]),
        (&2.into(), &6.into()),
        "{shown}"
    );
    // All answers have the same id here, as with some servers, and each was paid for.
    assert_eq!(
        (&shown["input_tokens"], &shown["output_tokens"]),
        (&15.into(), &21.into())
    );
    assert_eq!(
        marked_messages(&sandbox),
        ["question A:branch", "Answer A.:branch"]
    );
    let text = sandbox.run(&["session", "show", "last"]).stdout;
    assert!(
        text.lines()
            .any(|line| line.starts_with("branches") && line.contains(" 2")),
        "{text}"
    );
    let tail = sandbox.run(&["session", "tail", "last"]).stdout;
    let heads: Vec<&str> = tail
        .lines()
        .filter(|line| line.ends_with("other branch"))
        .collect();
    assert_eq!(heads.len(), 2, "{tail}");
    // However little of the session is read.
    let tail = sandbox
        .run(&["session", "tail", "last", "-n", "3", "--json"])
        .stdout;
    let marks: Vec<bool> = tail
        .lines()
        .map(|line| parse_json(line)["unseen"] == "branch")
        .collect();
    assert_eq!(marks.len(), 3);
    assert_eq!(
        marks.iter().filter(|is_marked| **is_marked).count(),
        1,
        "{tail}"
    );
    // Dropped messages were paid for, too.
    let id = id_of(&sandbox, "Answer B.");
    assert_eq!(sandbox.run(&["drop", "last", &id]).code, Some(0));
    let shown = session_json(&sandbox);
    assert_eq!(
        (&shown["input_tokens"], &shown["output_tokens"]),
        (&15.into(), &21.into())
    );
}

#[test]
fn session_tail_marks_dropped_messages() {
    let sandbox = Sandbox::new();
    let lines = "{\"type\":\"user\",\"content\":\"my key is hunter2\"}\n\
        {\"type\":\"assistant\",\"content\":\"I see.\"}\n{\"type\":\"user\",\"content\":\"bye\"}\n";
    assert_eq!(
        sandbox.run_with_stdin(&["session", "append"], lines).code,
        Some(0)
    );
    assert!(marked_messages(&sandbox).is_empty());
    assert_eq!(session_json(&sandbox)["branches"], 1);
    let secret = id_of(&sandbox, "my key is hunter2");
    assert_eq!(sandbox.run(&["drop", "last", &secret]).code, Some(0));
    assert_eq!(marked_messages(&sandbox), ["my key is hunter2:hidden"]);
    let tail = sandbox.run(&["session", "tail", "last"]).stdout;
    let head = tail.lines().find(|line| line.contains(&secret)).unwrap();
    assert!(head.ends_with("  hidden"), "{head}");
    assert_eq!(sandbox.run(&["restore", "last", &secret]).code, Some(0));
    assert!(marked_messages(&sandbox).is_empty());
    // Leave a branch, and return to it.
    assert_eq!(sandbox.run(&["rewind", "last", &secret]).code, Some(0));
    assert_eq!(marked_messages(&sandbox), ["I see.:branch", "bye:branch"]);
    assert_eq!(
        session_json(&sandbox)["branches"],
        1,
        "nothing is said there yet"
    );
    let more = "{\"type\":\"assistant\",\"content\":\"Never mind.\"}\n";
    assert_eq!(
        sandbox
            .run_with_stdin(&["session", "append", "last"], more)
            .code,
        Some(0)
    );
    assert_eq!(session_json(&sandbox)["branches"], 2);
    let bye = id_of(&sandbox, "bye");
    assert_eq!(sandbox.run(&["rewind", "last", &bye]).code, Some(0));
    assert_eq!(marked_messages(&sandbox), ["Never mind.:branch"]);
    assert_eq!(session_json(&sandbox)["branches"], 2);
}

#[test]
fn session_tail_marks_summarised_messages() {
    let sandbox = Sandbox::new();
    let lines = "{\"type\":\"user\",\"id\":\"a\",\"content\":\"one\"}\n\
        {\"type\":\"assistant\",\"id\":\"b\",\"content\":\"two\"}\n\
        {\"type\":\"user\",\"id\":\"k\",\"content\":\"kept\"}\n\
        {\"type\":\"summary\",\"id\":\"s\",\"text\":\"They counted.\"}\n\
        {\"type\":\"compact_boundary\",\"summary_id\":\"s\",\"kept_from\":\"k\"}\n\
        {\"type\":\"user\",\"content\":\"three\"}\n";
    let run = sandbox.run_with_stdin(&["session", "append"], lines);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        marked_messages(&sandbox),
        ["one:compacted", "two:compacted"]
    );
}

#[test]
fn resume_continues_after_the_asking_command_died() {
    let server = Server::new(vec![vec![stream_head(), Step::Hang], answer(&["Both."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let mut first = sandbox.spawn(&["chat", "-m", "openai/tiny", "question A"]);
    server.request();
    first.kill().unwrap();
    first.wait().unwrap();
    let run = sandbox.run(&["session", "resume", "last", "question B"]);
    run.assert_prints("Both.\n");
    let request = server.request();
    assert!(
        request.contains("question A") && request.contains("question B"),
        "{request}"
    );
}

#[test]
fn a_second_chat_starts_a_branch_while_the_first_is_answered() {
    let sandbox = Sandbox::new();
    let gate = sandbox.path("gate");
    let server = Server::new(vec![
        delayed_answer("Answer A.", gate.clone()),
        answer(&["Answer B."]),
        answer(&["Now."]),
    ]);
    let sandbox = sandbox.with_server(&server.base_url);
    let first = sandbox.spawn(&["chat", "-m", "openai/tiny", "question A"]);
    server.request();
    let second = sandbox.run(&[
        "session",
        "resume",
        "last",
        "-m",
        "openai/tiny",
        "question B",
    ]);
    assert_eq!(
        (second.code, &*second.stdout),
        (Some(0), "Answer B.\n"),
        "{}",
        second.stderr
    );
    assert_eq!(texts_sent(&server.request()), ["question B"]);
    std::fs::write(&gate, "").unwrap();
    assert_eq!(wait_for_success(first).stdout, "Answer A.\n");
    sandbox
        .run(&["session", "resume", "last", "and now?"])
        .assert_prints("Now.\n");
    assert_eq!(
        texts_sent(&server.request()),
        ["question A", "Answer A.", "and now?"]
    );
    assert_eq!(session_json(&sandbox)["branches"], 2);
    assert_eq!(sandbox.run(&["check", "home"]).code, Some(0));
}

#[test]
fn a_retried_question_belongs_to_the_command_that_retries_it() {
    let sandbox = Sandbox::new();
    let gate = sandbox.path("gate");
    let refused =
        crate::server::error("401 Unauthorized", r#"{"error":{"message":"no such key"}}"#);
    let server = Server::new(vec![
        refused,
        delayed_answer("Answer A.", gate.clone()),
        answer(&["Answer B."]),
        answer(&["Now."]),
    ]);
    let sandbox = sandbox.with_server(&server.base_url);
    assert_eq!(
        sandbox.run(&["chat", "-m", "openai/tiny", "question"]).code,
        Some(5)
    );
    server.request();
    let first = sandbox.spawn(&["session", "resume", "last"]);
    assert_eq!(texts_sent(&server.request()), ["question"]);
    // The question is being answered, so the new prompt does not follow it.
    let second = sandbox.run(&[
        "session",
        "resume",
        "last",
        "-m",
        "openai/tiny",
        "something else",
    ]);
    assert_eq!(
        (second.code, &*second.stdout),
        (Some(0), "Answer B.\n"),
        "{}",
        second.stderr
    );
    assert_eq!(texts_sent(&server.request()), ["something else"]);
    std::fs::write(&gate, "").unwrap();
    wait_for_success(first);
    sandbox
        .run(&["session", "resume", "last", "and now?"])
        .assert_prints("Now.\n");
    assert_eq!(
        texts_sent(&server.request()),
        ["question", "Answer A.", "and now?"]
    );
}
