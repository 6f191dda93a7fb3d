//! `edit`, `drop`, `restore`, `rewind` and `fork` on sessions: the store keeps the old text, later messages still
//! follow, and the model sees the changed conversation.

use crate::sandbox::{Sandbox, assert_success, parse_json};
use crate::server::{Server, answer};

/// Appends a new session with these records, and returns their ids.
fn append_session(sandbox: &Sandbox, lines: &str) -> Vec<String> {
    let run = sandbox.run_with_stdin(&["session", "append"], lines);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let id = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].clone();
    run.stdout
        .lines()
        .map(|line| id(line).as_str().unwrap().to_string())
        .collect()
}

/// The request that would be sent for the last session.
fn request_of_session(sandbox: &Sandbox) -> String {
    let run = sandbox.run(&["context", "last", "-m", "openai/tiny", "--request"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout
}

const TALK: &str = "{\"type\":\"user\",\"content\":\"one\"}\n\
    {\"type\":\"assistant\",\"content\":\"two\"}\n{\"type\":\"user\",\"content\":\"three\"}\n";

#[test]
fn an_edited_message_is_sent_with_its_followers() {
    let server = Server::new(vec![answer(&["four"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let ids = append_session(&sandbox, TALK);
    let mut expected = request_of_session(&sandbox);
    for (id, old) in ids.iter().zip(["one", "two", "three"]) {
        for new in [format!("not {old}"), format!("new {old}")] {
            let run = sandbox.run(&["edit", "last", id, &new, "--json"]);
            let edited = parse_json(assert_success(&run));
            assert_eq!(edited["message_id"], **id);
            assert!(!ids.contains(&edited["revision_id"].as_str().unwrap().to_string()));
            assert_eq!(
                request_of_session(&sandbox),
                expected.replace(old, &new),
                "{}",
                run.stderr
            );
        }
        expected = expected.replace(old, &format!("new {old}"));
    }
    // The last one waits for an answer, and the command says so.
    let run = sandbox.run(&["edit", "last", &ids[2], "new three!"]);
    assert_eq!(assert_success(&run), ids[2]);
    let told = format!(
        "to ask it: analects session resume {}\n",
        sandbox.last_session_id()
    );
    assert_eq!(run.stderr, told);
    sandbox
        .run(&["session", "resume", "last", "-m", "openai/tiny"])
        .assert_prints("four\n");
    let request = parse_json(&server.request());
    let texts: Vec<&str> = request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["new one", "new two", "new three!"]);
    // The record keeps the original text.
    let export = sandbox.run(&["session", "export", "last"]).stdout;
    for said in ["one", "two", "three"] {
        assert!(export.contains(&format!("\"{said}\"")), "{export}");
    }
    assert_eq!(
        export
            .lines()
            .filter(|line| parse_json(line)["type"] == "revision")
            .count(),
        7
    );
    assert_eq!(sandbox.run(&["check", "home"]).code, Some(0));
    // To get the old text back, write it again.
    assert_success(&sandbox.run(&["edit", "last", &ids[0], "one"]));
    let request = request_of_session(&sandbox);
    assert!(
        request.contains("\"one\"") && request.contains("\"four\""),
        "{request}"
    );
}

const CALL: &str = "{\"type\":\"user\",\"content\":\"weather?\"}\n\
    {\"type\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"w\",\"input\":{}}]}\n\
    {\"type\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"sun\"}]}\n\
    {\"type\":\"assistant\",\"content\":\"It is sunny.\"}\n";

#[test]
fn an_edited_tool_result_keeps_its_call_and_answer() {
    let sandbox = Sandbox::new();
    let ids = append_session(&sandbox, CALL);
    assert_success(&sandbox.run(&["edit", "last", &ids[2], "rain"]));
    let request = request_of_session(&sandbox);
    assert!(
        request.contains("\"rain\"") && request.contains("t1"),
        "{request}"
    );
    assert!(
        !request.contains("\"sun\"") && request.contains("It is sunny."),
        "{request}"
    );
    assert!(!request.contains("interrupted"), "{request}");
}

#[test]
fn dropping_a_tool_result_drops_its_call() {
    for dropped in [1, 2] {
        let sandbox = Sandbox::new();
        let ids = append_session(&sandbox, CALL);
        let before = request_of_session(&sandbox);
        let id = &ids[dropped];
        assert_eq!(assert_success(&sandbox.run(&["drop", "last", id])), id);
        let request = request_of_session(&sandbox);
        assert!(
            !request.contains("t1") && !request.contains("\"sun\""),
            "{request}"
        );
        assert!(
            request.contains("weather?") && request.contains("It is sunny."),
            "{request}"
        );
        assert_eq!(
            sandbox.run(&["drop", "last", id]).code,
            Some(1),
            "it is hidden already"
        );
        assert_eq!(assert_success(&sandbox.run(&["restore", "last", id])), id);
        assert_eq!(request_of_session(&sandbox), before);
        let not_hidden = format!("analects: {id} is not hidden\n");
        sandbox
            .run(&["restore", "last", id])
            .assert_fails(1, &not_hidden);
    }
}

const COMPACTED: &str = "{\"type\":\"user\",\"id\":\"u1\",\"content\":\"old question\"}\n\
    {\"type\":\"assistant\",\"id\":\"a1\",\"content\":\"old answer\"}\n\
    {\"type\":\"summary\",\"id\":\"S\",\"created_at\":\"2026-11-15T12:00:00Z\",\"text\":\"They talked.\"}\n\
    {\"type\":\"compact_boundary\",\"id\":\"B\",\"created_at\":\"2026-11-15T12:00:00Z\",\"summary_id\":\"S\"}\n\
    {\"type\":\"system\",\"id\":\"i\",\"created_at\":\"2026-11-15T12:00:00Z\",\"content\":\"Be brief.\"}\n\
    {\"type\":\"attachment\",\"id\":\"f\",\"created_at\":\"2026-11-15T12:00:00Z\",\"kind\":\"file\",\"content\":\"a file\"}\n\
    {\"type\":\"attachment\",\"id\":\"g\",\"created_at\":\"2026-11-15T12:00:01Z\",\"kind\":\"file\",\"content\":\"own paper\"}\n\
    {\"type\":\"user\",\"id\":\"u2\",\"content\":\"new question\"}\n";

#[test]
fn rewinding_to_a_summary_keeps_the_whole_compaction() {
    let check = |request: &str| {
        for text in ["They talked.", "Be brief.", "a file"] {
            assert!(request.contains(text), "{text}: {request}");
        }
        for text in ["old question", "old answer", "own paper", "new question"] {
            assert!(!request.contains(text), "{text}: {request}");
        }
    };
    for name in ["S", "B"] {
        let sandbox = Sandbox::new();
        append_session(&sandbox, COMPACTED);
        let run = sandbox.run(&["rewind", "last", name]);
        assert_success(&run);
        assert!(!run.stderr.contains("does not count"), "{}", run.stderr);
        check(&request_of_session(&sandbox));
        assert_success(&sandbox.run(&["rewind", "last", "u2"]));
        assert!(request_of_session(&sandbox).contains("new question"));
        let run = sandbox.run(&["fork", "last", "--at", name]);
        assert!(!run.stderr.contains("does not count"), "{}", run.stderr);
        let copy = assert_success(&run);
        let args = ["context", copy, "-m", "openai/tiny", "--request"];
        check(assert_success(&sandbox.run(&args)));
        // Cells that came with a hidden summary cannot be continued either.
        let run = sandbox.run(&["compact", copy, "--undo"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let nothing = format!("analects: nothing comes after {name}\n");
        sandbox
            .run(&["rewind", copy, name])
            .assert_fails(1, &nothing);
    }
}

#[test]
fn tool_calls_cannot_be_edited_but_results_can() {
    let sandbox = Sandbox::new();
    let call = "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"w\",\"input\":{}}";
    let result = "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"sun\"}";
    let thought = "{\"type\":\"thinking\",\"thinking\":\"hm\"}";
    let said = "{\"type\":\"text\",\"text\":\"Let me look.\"}";
    let lines = format!(
        "{{\"type\":\"user\",\"content\":\"weather?\"}}\n\
         {{\"type\":\"assistant\",\"content\":[{call}]}}\n\
         {{\"type\":\"assistant\",\"content\":[{thought},{call}]}}\n\
         {{\"type\":\"tool_use\",\"block\":{call}}}\n\
         {{\"type\":\"assistant\",\"content\":[{said},{call}]}}\n\
         {{\"type\":\"tool_result\",\"block\":{result}}}\n"
    );
    let ids = append_session(&sandbox, &lines);
    for id in &ids[1..4] {
        sandbox.run(&["edit", "last", id, "x"]).assert_fails(
            1,
            &format!("analects: {id} cannot be edited: it is a tool call, which the model made\n"),
        );
    }
    assert_success(&sandbox.run(&["edit", "last", &ids[5], "rain"]));
    let request = request_of_session(&sandbox);
    assert!(
        request.contains("rain") && !request.contains("sun"),
        "{request}"
    );
    assert_success(&sandbox.run(&["edit", "last", &ids[4], "I cannot look."]));
    let request = request_of_session(&sandbox);
    assert!(
        request.contains("I cannot look.") && !request.contains("Let me look."),
        "{request}"
    );
    assert!(
        request.contains("rain") && request.contains("t1"),
        "{request}"
    );
}

#[test]
fn a_fork_keeps_drops_edits_and_rewinds() {
    let sandbox = Sandbox::new();
    let ids = append_session(&sandbox, TALK);
    for verb in ["drop", "restore", "drop"] {
        assert_success(&sandbox.run(&[verb, "last", &ids[1]]));
    }
    assert_success(&sandbox.run(&["edit", "last", &ids[0], "uno"]));
    assert_success(&sandbox.run(&["rewind", "last", &ids[1]]));
    for at in [&[][..], &["--at", &ids[1]]] {
        let original = sandbox.run(&["session", "list", "--json"]).stdout;
        let original = parse_json(&original)["sessions"].as_array().unwrap().len();
        let run = sandbox.run(&[&["fork", "last"], at].concat());
        let run = sandbox.run(&[
            "context",
            assert_success(&run),
            "-m",
            "openai/tiny",
            "--request",
        ]);
        let request = assert_success(&run);
        assert!(
            request.contains("\"uno\"") && !request.contains("\"one\""),
            "{request}"
        );
        assert!(
            !request.contains("\"two\"") && !request.contains("\"three\""),
            "{request}"
        );
        let listed = parse_json(&sandbox.run(&["session", "list", "--json"]).stdout);
        assert_eq!(listed["sessions"].as_array().unwrap().len(), original + 1);
    }
}

#[test]
fn an_edited_summary_covers_the_same_messages() {
    let sandbox = Sandbox::new();
    append_session(&sandbox, COMPACTED);
    let before = request_of_session(&sandbox);
    assert_eq!(
        assert_success(&sandbox.run(&["edit", "last", "S", "They spoke of rivers."])),
        "S"
    );
    let request = request_of_session(&sandbox);
    assert_eq!(
        request,
        before.replace("They talked.", "They spoke of rivers.")
    );
    for text in [
        "They spoke of rivers.",
        "Be brief.",
        "a file",
        "new question",
    ] {
        assert_eq!(request.matches(text).count(), 1, "{text}: {request}");
    }
    for text in ["old question", "old answer", "They talked."] {
        assert!(!request.contains(text), "{text}: {request}");
    }
    // It is a summary like any other.
    let undone = sandbox.run(&["compact", "last", "--undo"]);
    let told = "the summary is hidden, and the model sees the messages that it replaced\n";
    assert_eq!((undone.code, &*undone.stderr), (Some(0), told));
    let all = request_of_session(&sandbox);
    assert!(
        all.contains("old answer") && all.contains("new question"),
        "{all}"
    );
    assert!(
        !all.contains("rivers") && !all.contains("They talked."),
        "{all}"
    );
    assert_success(&sandbox.run(&["restore", "last", "S"]));
    assert_eq!(request_of_session(&sandbox), request);
}

#[test]
fn dropped_edited_and_failed_messages_are_not_converted_to_requests() {
    let sandbox = Sandbox::new();
    let ids = append_session(
        &sandbox,
        "{\"type\":\"user\",\"content\":\"clumsy\"}\n\
         {\"type\":\"assistant\",\"content\":\"SECRET\"}\n\
         {\"type\":\"user\",\"content\":\"more\"}\n\
         {\"type\":\"assistant\",\"is_api_error_message\":true,\"content\":\"answered 500\"}\n",
    );
    let converted = || {
        sandbox.write(
            "t.jsonl",
            sandbox.run(&["session", "export", "last"]).stdout,
        );
        sandbox.run(&["convert", "t.jsonl", "--to", "openai", "--lossy"])
    };
    assert_eq!(sandbox.run(&["drop", "last", &ids[1]]).code, Some(0));
    let run = converted();
    assert!(
        run.stdout.contains("clumsy") && run.stdout.contains("more"),
        "{}",
        run.stdout
    );
    assert!(
        !run.stdout.contains("SECRET") && !run.stdout.contains("500"),
        "{}",
        run.stdout
    );
    assert!(
        run.stderr
            .contains("the model does not see it, so it is left out"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("it is an error, which"),
        "{}",
        run.stderr
    );
    assert_eq!(
        sandbox.run(&["edit", "last", &ids[0], "elegant"]).code,
        Some(0)
    );
    let run = converted();
    assert!(
        run.stdout.contains("elegant") && !run.stdout.contains("clumsy"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("more") && !run.stdout.contains("SECRET"),
        "{}",
        run.stdout
    );
    assert_success(&sandbox.run(&["restore", "last", &ids[1]]));
    assert!(converted().stdout.contains("SECRET"));
}

#[test]
#[cfg(unix)]
fn foreign_message_ids_are_quoted_in_hints() {
    let sandbox = Sandbox::new();
    let lines = "{\"type\":\"user\",\"id\":\"u1\",\"content\":\"one\"}\n\
         {\"type\":\"assistant\",\"id\":\"a1; echo pwned\",\"content\":\"two\"}\n";
    append_session(&sandbox, lines);
    let run = sandbox.run(&["rewind", "last", "u1"]);
    assert!(run.stderr.contains(" 'a1; echo pwned'\n"), "{}", run.stderr);
    crate::rewind_and_fork::run_hint(&sandbox, &run.stderr);
    let run = sandbox.run(&["drop", "last", "a1; echo pwned"]);
    assert!(run.stderr.contains(" 'a1; echo pwned'\n"), "{}", run.stderr);
    assert!(!request_of_session(&sandbox).contains("\"two\""));
    crate::rewind_and_fork::run_hint(&sandbox, &run.stderr);
    assert!(request_of_session(&sandbox).contains("\"two\""));
}

#[test]
fn a_failed_question_waits_in_the_exported_file() {
    let failed = crate::server::error("400 Bad Request", r#"{"error":{"message":"no"}}"#);
    let server = Server::new(vec![answer(&["Hi."]), failed, answer(&["Now."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox
        .run(&["chat", "-m", "openai/tiny", "hello"])
        .assert_prints("Hi.\n");
    assert_eq!(
        sandbox
            .run(&["chat", "-c", "-m", "openai/other", "and?"])
            .code,
        Some(5)
    );
    assert_eq!(
        sandbox
            .run(&["session", "export", "last", "-o", "x.msg.md"])
            .code,
        Some(0)
    );
    sandbox
        .run(&["chat", "x.msg.md", "-m", "openai/tiny"])
        .assert_prints("Now.\n");
}
