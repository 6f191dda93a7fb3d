//! Sessions in the store, as a person and a program use them.

use serde_json::Value;

use crate::sandbox::{CommandOutput, Sandbox, assert_success, parse_json};
use crate::server::{Server, answer};

fn append(sandbox: &Sandbox, args: &[&str], lines: &str) -> CommandOutput {
    let args = [&["session", "append"], args].concat();
    sandbox.run_with_stdin(&args, lines)
}

/// The acknowledged ids, and the id of the session.
fn acknowledged_ids(run: &CommandOutput) -> (Vec<String>, String) {
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    let lines: Vec<Value> = run.stdout.lines().map(parse_json).collect();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    (
        lines.iter().map(|ack| text(&ack["id"])).collect(),
        text(&lines[0]["session_id"]),
    )
}

/// The texts that `session tail` shows.
fn tail_texts(sandbox: &Sandbox, session: &str) -> Vec<String> {
    let run = sandbox.run(&["session", "tail", session, "--json"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    let decoded = analects_formats::transcript::decode(run.stdout.as_bytes());
    decoded
        .messages
        .iter()
        .map(|message| message.text())
        .collect()
}

const TALK: &str = concat!(
    "{\"type\":\"user\",\"content\":\"Why is the sky blue?\"}\n",
    "{\"type\":\"assistant\",\"content\":\"Rayleigh scattering.\"}\n",
    "{\"type\":\"user\",\"content\":\"Thanks\"}\n",
);

#[test]
fn append_acknowledges_and_lists_messages() {
    let sandbox = Sandbox::new();
    let (ids, session) = acknowledged_ids(&append(&sandbox, &[], TALK));
    assert_eq!(ids.len(), 3);
    assert_eq!(
        tail_texts(&sandbox, "last"),
        ["Why is the sky blue?", "Rayleigh scattering.", "Thanks"]
    );
    let listed = parse_json(&sandbox.run(&["session", "list", "--json"]).stdout);
    let entry = &listed["sessions"][0];
    assert_eq!(
        (&entry["id"], &entry["messages"]),
        (&session.clone().into(), &3.into())
    );
    assert_eq!(entry["title"], "Why is the sky blue?");
    let shown = parse_json(
        &sandbox
            .run(&["session", "show", &session[..20], "--json"])
            .stdout,
    );
    assert_eq!(
        (&shown["id"], &shown["side_chains"]),
        (&session.into(), &Value::Array(vec![]))
    );
    let export = sandbox
        .run(&["session", "export", "Why is the sky blue?"])
        .stdout;
    let records: Vec<Value> = export.lines().map(parse_json).collect();
    let parents: Vec<_> = records
        .iter()
        .map(|record| record["parent_id"].as_str())
        .collect();
    assert_eq!(parents, [None, Some(&*ids[0]), Some(&*ids[1])]);
    assert!(
        records
            .iter()
            .all(|record| record["created_at"].is_string())
    );
}

#[test]
fn append_keeps_ids_times_and_unknown_fields() {
    let sandbox = Sandbox::new();
    let lines = concat!(
        "{\"type\":\"user\",\"id\":\"u1\",\"created_at\":\"2026-01-02T03:04:05Z\",\"content\":\"a\",\"mine\":{\"x\":1.50}}\n\n",
        "{\"type\":\"assistant\",\"parent_id\":\"u1\",\"content\":\"b\",\"session_id\":\"other\"}\n",
        "{\"type\":\"user\",\"agent_id\":\"helper\",\"content\":\"aside\"}",
    );
    let (ids, session) = acknowledged_ids(&append(&sandbox, &["--batch"], lines));
    assert_eq!(ids[0], "u1");
    let export = sandbox.run(&["session", "export", &session]).stdout;
    assert!(export.contains("\"mine\":{\"x\":1.50}"), "{export}");
    assert!(
        export.contains("\"created_at\":\"2026-01-02T03:04:05Z\""),
        "{export}"
    );
    assert_eq!(
        export.lines().count(),
        2,
        "a side chain is stored by itself"
    );
    let shown = parse_json(&sandbox.run(&["session", "show", "last", "--json"]).stdout);
    assert_eq!(shown["side_chains"], serde_json::json!(["helper"]));
    let side = sandbox
        .run(&["session", "tail", "last", "--agent", "helper", "--json"])
        .stdout;
    assert_eq!(parse_json(&side)["content"], "aside");
}

#[test]
fn append_names_a_bad_line_and_keeps_the_lines_before_it() {
    for bad in [
        "{\"typ\":1}",
        "not json",
        "{\"type\":\"user\",\"content\":\"half",
        "\u{ff}[]",
        "7",
    ] {
        for args in [&[][..], &["--batch"]] {
            let sandbox = Sandbox::new();
            let run = append(&sandbox, args, &format!("{TALK}{bad}\n{TALK}"));
            assert_eq!(run.code, Some(1), "{bad}");
            assert_eq!(run.stdout.lines().count(), 3, "{bad}: {}", run.stderr);
            let error = parse_json(&run.stderr);
            let message = error["error"]["message"].as_str().unwrap();
            assert!(message.starts_with("line 4: "), "{message}");
            assert_eq!(tail_texts(&sandbox, "last").len(), 3);
        }
    }
}

#[test]
fn empty_stdin_creates_no_session() {
    let sandbox = Sandbox::new();
    append(&sandbox, &[], "").assert_prints("");
    let listed = parse_json(&sandbox.run(&["session", "list", "--all", "--json"]).stdout);
    assert_eq!(listed["sessions"], Value::Array(vec![]));
}

#[test]
fn rewind_fork_and_drop_keep_the_original() {
    let sandbox = Sandbox::new();
    let (ids, session) = acknowledged_ids(&append(&sandbox, &[], TALK));
    let run = sandbox.run(&["rewind", &session, &ids[0]]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stderr.contains(&ids[2]),
        "how to undo it: {}",
        run.stderr
    );
    let (next, _) = acknowledged_ids(&append(
        &sandbox,
        &[&session],
        "{\"type\":\"assistant\",\"content\":\"Another\"}",
    ));
    let record = |id: &str| exported_record(&sandbox, &session, id);
    // The rewind is a separate record that follows the chosen message.
    let between = record(record(&next[0])["parent_id"].as_str().unwrap());
    assert_eq!(
        (&between["type"], &between["parent_id"]),
        (&"state".into(), &ids[0].clone().into())
    );

    let fork = sandbox.run(&["fork", &session, "--at", &ids[1], "--json"]);
    let fork = parse_json(&fork.stdout)["session_id"]
        .as_str()
        .unwrap()
        .to_string();
    assert_eq!(
        tail_texts(&sandbox, &fork),
        ["Why is the sky blue?", "Rayleigh scattering."]
    );
    assert_eq!(
        tail_texts(&sandbox, &session).len(),
        4,
        "the original stays"
    );
    check_drop_and_restore(&sandbox, &fork, &ids[0]);
    assert_eq!(sandbox.run(&["check", "home"]).code, Some(0));
}

/// Drops the first message of a session, and restores it.
fn check_drop_and_restore(sandbox: &Sandbox, session: &str, first: &str) {
    let dropped = sandbox.run(&["drop", session, first, "--json"]);
    let dropped = parse_json(&dropped.stdout);
    assert_eq!(
        (&dropped["message_id"], &dropped["hidden"]),
        (&first.into(), &true.into())
    );
    let revision = dropped["revision_id"].as_str().unwrap();
    let record = exported_record(sandbox, session, revision);
    assert_eq!(
        (
            &record["type"],
            &record["target"],
            &record["target_history"]
        ),
        (&"revision".into(), &first.into(), &"exclude".into())
    );
    assert_eq!(visible_texts(sandbox, session), ["Rayleigh scattering."]);
    assert_eq!(
        sandbox.run(&["drop", session, first]).code,
        Some(1),
        "it is hidden already"
    );
    assert_eq!(
        sandbox.run(&["drop", session, revision]).code,
        Some(1),
        "it is no message"
    );
    assert_eq!(sandbox.run(&["restore", session, first]).code, Some(0));
    assert_eq!(
        visible_texts(sandbox, session),
        ["Why is the sky blue?", "Rayleigh scattering."]
    );
}

/// The record with this id in the export of a session.
fn exported_record(sandbox: &Sandbox, session: &str, id: &str) -> Value {
    let export = sandbox.run(&["session", "export", session]).stdout;
    let mut records = export.lines().map(parse_json);
    records.find(|record| record["id"] == id).unwrap()
}

/// The texts that a model would see of a session, read from its export.
fn visible_texts(sandbox: &Sandbox, session: &str) -> Vec<String> {
    let export = sandbox.run(&["session", "export", session]).stdout;
    let decoded = analects_formats::transcript::decode(export.as_bytes());
    let messages = analects_core::verbs::revised(decoded.messages);
    let chain = analects_core::chain(&messages);
    let sent = chain
        .messages
        .iter()
        .filter(|message| message.why_not_sent().is_none());
    sent.map(|message| message.text()).collect()
}

#[test]
fn ambiguous_sessions_and_messages_are_reported() {
    let sandbox = Sandbox::new();
    let (ids, session) = acknowledged_ids(&append(&sandbox, &[], TALK));
    append(&sandbox, &[], TALK);
    let run = sandbox.run(&["session", "tail", "Why is the sky blue?"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr.contains("may be any of 2 sessions"),
        "{}",
        run.stderr
    );
    let run = sandbox.run(&["session", "tail", "nobody"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let run = sandbox.run(&["rewind", &session, &ids[0][..8]]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr.contains("may be any of 3 messages"),
        "{}",
        run.stderr
    );
    let run = sandbox.run(&["drop", &session, "nothing"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    for bad in ["../x", "a/b", ".", ""] {
        assert_eq!(
            sandbox.run(&["session", "show", bad]).code,
            Some(3),
            "{bad}"
        );
    }
}

#[test]
fn a_message_file_imports_and_exports() {
    let sandbox = Sandbox::new();
    let text = "# %%\n\nWhat is six times seven?\n\n# %%% [^2]\n\n[^2]: [quick] model=\"tiny\"\n\nForty-two.\n";
    sandbox.write("a.msg.md", text);
    let run = sandbox.run(&["session", "import", "a.msg.md", "--json"]);
    assert_eq!(
        (run.code, &parse_json(&run.stdout)["messages"]),
        (Some(0), &2.into()),
        "{}",
        run.stderr
    );
    assert_eq!(sandbox.read("a.msg.md"), text, "the file is only read");
    assert_eq!(
        tail_texts(&sandbox, "last"),
        ["What is six times seven?", "Forty-two."]
    );
    let run = sandbox.run(&["session", "export", "last", "-o", "b.msg.md", "--full"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let strip = |name: &str| -> Vec<_> {
        let messages = sandbox.messages(name).messages.into_iter();
        messages
            .map(|message| (message.id, message.parent_id, message.body))
            .collect()
    };
    assert_eq!(strip("b.msg.md"), strip("a.msg.md"));
    let again = sandbox.run(&["session", "export", "last", "-o", "b.msg.md"]);
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    // Without --full, the readable file has the same words.
    let run = sandbox.run(&["session", "export", "last", "-o", "c.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let readable = "# %% [^1]\n\n[^1]: [markdown]\n\nWhat is six times seven?\n\n\
        # %%% [^2]\n\n[^2]: [quick] model=\"tiny\"\n\nForty-two.\n\n# %%\n";
    assert_eq!(sandbox.read("c.msg.md"), readable);
    sandbox.write("empty.msg.md", "");
    assert_eq!(
        sandbox.run(&["session", "import", "empty.msg.md"]).code,
        Some(1)
    );
    assert_eq!(
        sandbox.run(&["session", "import", "missing.msg.md"]).code,
        Some(3)
    );
}

#[test]
fn chat_continues_an_exported_file_at_once() {
    let server = Server::new(vec![
        answer(&["One."]),
        answer(&["Two."]),
        answer(&["Three."]),
    ]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    assert_success(&sandbox.run(&["chat", "-m", "openai/tiny", "Count"]));
    let run = sandbox.run(&["session", "export", "last", "-o", "a.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let exported = sandbox.read("a.msg.md");
    let front = "---\nagents:\n  tiny:\n    models: [openai/tiny]\n---\n\n# %% [^1]\n";
    assert!(exported.starts_with(front), "{exported}");
    assert!(!exported.contains('{'), "no JSON: {exported}");
    assert!(!exported.contains("model="), "{exported}");
    // The next question has a cell to be typed into.
    assert!(exported.ends_with("\n\nOne.\n\n# %%\n"), "{exported}");
    let printed = sandbox.run(&["session", "export", "last", "-o", "-"]);
    assert_eq!(printed.stdout, exported);
    assert!(!printed.stderr.contains("written"), "{}", printed.stderr);
    assert!(!sandbox.path("-").exists());
    sandbox
        .run(&["chat", "a.msg.md", "Go on"])
        .assert_prints("Two.\n");
    server.request();
    let sent = parse_json(&server.request());
    assert_eq!(
        (&sent["model"], sent["messages"].as_array().unwrap().len()),
        (&"tiny".into(), 3)
    );
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));

    // A configured agent comes along with its instructions.
    let config =
        "[agents.coder]\nmodels = [\"openai/a\", \"openai/b\"]\nsystem_prompt = \"Be brief.\"\n";
    sandbox.write_config("config.toml", config);
    let args = [
        "session", "resume", "last", "--agent", "coder", "-m", "openai/b", "And on",
    ];
    assert_success(&sandbox.run(&args));
    assert_success(&sandbox.run(&["session", "export", "last", "-o", "b.msg.md"]));
    let show = sandbox.show_json("b.msg.md");
    assert_eq!(show["default_agent"], "coder");
    assert_eq!(
        show["agents"][0]["models"],
        serde_json::json!(["openai/b", "openai/a"])
    );
    assert!(sandbox.read("b.msg.md").contains("Be brief."));
}

#[test]
fn resume_sends_the_whole_conversation() {
    let server = Server::new(vec![answer(&["One."]), answer(&["Two."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = sandbox.run(&["chat", "-m", "openai/tiny", "Count"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    server.request();
    let shown = parse_json(&sandbox.run(&["session", "show", "last", "--json"]).stdout);
    let here = std::fs::canonicalize(sandbox.path("")).unwrap();
    assert_eq!(shown["cwd"].as_str(), here.to_str());
    let run = sandbox.run(&["session", "resume", "Count", "Go", "on"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "Two.\n"),
        "{}",
        run.stderr
    );
    let sent = parse_json(&server.request());
    let sent: Vec<_> = sent["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["content"])
        .collect();
    assert_eq!(sent, ["Count", "One.", "Go on"]);
    assert_eq!(
        tail_texts(&sandbox, "last"),
        ["Count", "One.", "Go on", "Two."]
    );
}

#[test]
fn prune_moves_a_session_aside() {
    let sandbox = Sandbox::new();
    for word in ["prune", "rm", "delete"] {
        let (_, session) = acknowledged_ids(&append(&sandbox, &[], TALK));
        let run = sandbox.run(&["session", word, &session]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(
            std::fs::read_to_string(run.stdout.trim())
                .unwrap()
                .contains("Rayleigh")
        );
        assert_eq!(sandbox.run(&["session", "show", &session]).code, Some(3));
    }
}

#[test]
fn repair_writes_a_new_file() {
    let sandbox = Sandbox::new();
    let (_, session) = acknowledged_ids(&append(&sandbox, &[], TALK));
    let whole = sandbox.run(&["session", "export", &session]).stdout;
    let damaged = format!("{}\0\0\0\n{}", &whole, &whole[..40]);
    sandbox.write("d.jsonl", &damaged);
    assert_eq!(sandbox.run(&["check", "d.jsonl"]).code, Some(1));
    let run = sandbox.run(&["repair", "d.jsonl", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let done = parse_json(&run.stdout);
    assert!(!done["problems"].as_array().unwrap().is_empty());
    assert_eq!(
        sandbox.read("d.jsonl"),
        damaged,
        "the old file is only read"
    );
    assert_eq!(sandbox.run(&["check", "d~repaired.jsonl"]).code, Some(0));
    assert_eq!(sandbox.messages("d~repaired.jsonl").messages.len(), 3);
    assert!(
        sandbox
            .read("d~repaired.jsonl.rest")
            .ends_with(&whole[..40])
    );
    assert_eq!(
        sandbox.run(&["repair", "d.jsonl"]).code,
        Some(1),
        "it never overwrites"
    );
    let again = sandbox.run(&["repair", "d~repaired.jsonl", "-o", "again.jsonl"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(
        sandbox.read("again.jsonl"),
        sandbox.read("d~repaired.jsonl")
    );
    sandbox.write("a.msg.md", "# %%\n\nHi\n");
    assert_eq!(sandbox.run(&["repair", "a.msg.md"]).code, Some(2));
    assert_eq!(sandbox.run(&["repair", "missing.jsonl"]).code, Some(3));
}

#[test]
fn append_refuses_records_it_could_not_read_back() {
    let sandbox = Sandbox::new();
    let (_, session) = acknowledged_ids(&append(&sandbox, &[], TALK));
    for (line, why) in [
        (
            "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}",
            "lacks required fields",
        ),
        ("{\"type\":\"user\",\"content\":7}", "has no content"),
        ("{\"type\":\"user\"}", "has no content"),
        (
            "{\"type\":\"user\",\"content\":\"x\",\"parent_id\":\"zzz\"}",
            "its parent \\\"zzz\\\" is not",
        ),
    ] {
        let run = append(&sandbox, &[&session], &format!("{line}\n"));
        assert_eq!((run.code, &*run.stdout), (Some(1), ""), "{line}");
        assert!(
            run.stderr.contains("line 1: ") && run.stderr.contains(why),
            "{}",
            run.stderr
        );
    }
    assert_eq!(tail_texts(&sandbox, &session).len(), 3);
    // In a batch, the lines before it are kept.
    let lines = "{\"type\":\"user\",\"id\":\"a\",\"content\":\"A\"}\n{\"type\":\"user\",\"parent_id\":\"a\",\"content\":\"B\"}\n\
                 {\"type\":\"user\",\"parent_id\":\"b\",\"content\":\"C\"}\n";
    let run = append(&sandbox, &["--batch", &session], lines);
    assert_eq!(
        (run.code, run.stdout.lines().count()),
        (Some(1), 2),
        "{}",
        run.stderr
    );
}

#[test]
fn a_session_with_only_a_side_chain_is_found() {
    let sandbox = Sandbox::new();
    let line = "{\"type\":\"user\",\"agent_id\":\"helper\",\"content\":\"aside\"}\n";
    let (_, session) = acknowledged_ids(&append(&sandbox, &[], line));
    let run = sandbox.run(&["session", "tail", &session, "--agent", "helper"]);
    assert!(
        run.stdout.contains("aside"),
        "{} {}",
        run.stdout,
        run.stderr
    );
    let run = sandbox.run(&["session", "tail", &session, "--agent", "nobody"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(
        run.stderr.contains("its side chains are: helper"),
        "{}",
        run.stderr
    );
}

#[test]
fn odd_files_in_the_store_are_ignored() {
    let sandbox = Sandbox::new();
    let (_, session) = acknowledged_ids(&append(&sandbox, &[], TALK));
    let store = sandbox.path("home/data/sessions");
    let project = std::fs::read_dir(&store)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    std::fs::write(store.join("README"), "not a project").unwrap();
    std::fs::create_dir(project.join("zz.jsonl")).unwrap();
    std::fs::write(project.join("notes.txt"), "x").unwrap();
    #[cfg(unix)]
    assert!(
        std::process::Command::new("mkfifo")
            .arg(project.join("pipe.jsonl"))
            .status()
            .unwrap()
            .success()
    );
    let listed = parse_json(&sandbox.run(&["session", "list", "--all", "--json"]).stdout);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(
        sandbox.run(&["session", "show", "no such title"]).code,
        Some(3)
    );
    assert_eq!(sandbox.run(&["session", "show", &session]).code, Some(0));
}

#[test]
fn fork_copies_a_summary_from_beside_the_chain() {
    let sandbox = Sandbox::new();
    let lines = concat!(
        "{\"type\":\"user\",\"id\":\"u1\",\"content\":\"old question\"}\n",
        "{\"type\":\"assistant\",\"id\":\"a1\",\"content\":\"old answer\"}\n",
        "{\"type\":\"summary\",\"id\":\"S\",\"parent_id\":\"u1\",\"text\":\"They talked.\"}\n",
        "{\"type\":\"compact_boundary\",\"id\":\"B\",\"parent_id\":\"a1\",\"summary_id\":\"S\"}\n",
        "{\"type\":\"user\",\"id\":\"u2\",\"content\":\"new question\"}\n",
        "{\"type\":\"progress\",\"id\":\"p\",\"content\":\"…\"}\n",
    );
    let (_, session) = acknowledged_ids(&append(&sandbox, &[], lines));
    let seen = ["They talked.", "new question"];
    assert_eq!(visible_texts(&sandbox, &session), seen);
    let fork = sandbox.run(&["fork", &session]).stdout;
    assert_eq!(visible_texts(&sandbox, fork.trim()), seen);
    let nothing = "analects: p is a record of the conversation, not a message in it\n";
    sandbox
        .run(&["rewind", &session, "p"])
        .assert_fails(1, nothing);
}

#[test]
fn every_readable_format_imports() {
    let sandbox = Sandbox::new();
    let record = |id: &str, parent: &str, rest: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":{parent},\"sessionId\":\"s1\",{rest}}}\n"
        )
    };
    let said = "\"message\":{\"role\":\"user\",\"content\":\"Hello\"}";
    let snapshot = "{\"type\":\"file-history-snapshot\",\"messageId\":\"u1\",\"snapshot\":{}}\n";
    let session = [
        snapshot,
        &record("u1", "null", said),
        &record("u2", "\"u1\"", said),
    ]
    .concat();
    let request = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"},{\"role\":\"user\",\"content\":\"Hello\"}]}";
    let chat = "> ---\n> <USER />\n\nHello\n\n> ---\n> <USER />\n\nHello\n";
    let line = "{\"v\":1,\"type\":\"user\",\"id\":\"m\",\"content\":\"Hello\"}\n";
    for (name, text, left_out) in [
        ("claude.jsonl", &*session, 1),
        ("claude.txt", &session, 1),
        ("request.json", request, 0),
        ("chat.md", chat, 0),
        (
            "transcript.txt",
            &[line, &line.replace("\"m\"", "\"n\",\"parent_id\":\"m\"")].concat(),
            0,
        ),
    ] {
        sandbox.write(name, text);
        let run = sandbox.run(&["session", "import", name, "--json"]);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{name}");
        let done = parse_json(&run.stdout);
        assert_eq!(done["left_out"], left_out, "{name}");
        let session = done["session_id"].as_str().unwrap();
        let said: Vec<String> = visible_texts(&sandbox, session);
        assert_eq!(
            said.iter().filter(|text| *text == "Hello").count(),
            2,
            "{name}: {said:?}"
        );
        assert_eq!(sandbox.run(&["check", "home"]).code, Some(0), "{name}");
    }
    let run = sandbox.run(&["session", "import", "claude.jsonl"]);
    assert_eq!(
        run.stderr,
        "claude.jsonl: 1 record that is not part of the conversation is left out\n"
    );
    let export = sandbox
        .run(&["session", "export", run.stdout.trim()])
        .stdout;
    let ids: Vec<Value> = export
        .lines()
        .map(|line| parse_json(line)["id"].clone())
        .collect();
    assert_eq!(ids, ["u1", "u2"]);
}

#[test]
fn import_refuses_several_conversations_in_one_file() {
    let sandbox = Sandbox::new();
    let request = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}\n";
    sandbox.write("many.jsonl", request.repeat(3));
    let run = sandbox.run(&["session", "import", "many.jsonl"]);
    run.assert_fails(
        1,
        "analects: many.jsonl: there are 3 conversations in it\n\
         hint: import files of one conversation each\n",
    );
    sandbox.write(
        "other.json",
        "{\"messages\":[{\"type\":\"user\",\"content\":\"Hi\"}]}",
    );
    sandbox.write(
        "other.jsonl",
        "{\"type\":\"session_meta\",\"payload\":{}}\n",
    );
    for name in ["other.json", "other.jsonl"] {
        let run = sandbox.run(&["session", "import", name]);
        assert_eq!((run.code, &*run.stdout), (Some(1), ""));
        assert!(run.stderr.contains("in a known format"), "{}", run.stderr);
    }
    let listed = parse_json(&sandbox.run(&["session", "list", "--json"]).stdout);
    assert_eq!(listed["sessions"], Value::Array(vec![]));
}

#[test]
fn import_keeps_messages_unchanged() {
    let sandbox = Sandbox::new();
    sandbox.write("two.jsonl", "{\"v\":1,\"type\":\"user\",\"id\":\"r1\",\"content\":\"a\"}\n{\"v\":1,\"type\":\"user\",\"id\":\"r2\",\"content\":\"b\"}\n");
    assert_eq!(
        sandbox.run(&["session", "import", "two.jsonl"]).code,
        Some(0)
    );
    let export = sandbox.run(&["session", "export", "last"]).stdout;
    let records: Vec<Value> = export.lines().map(parse_json).collect();
    assert!(
        records
            .iter()
            .all(|it| it["parent_id"].is_null() && it["created_at"].is_null()),
        "{export}"
    );
    sandbox.write("bad.jsonl", "{\"v\":1,\"type\":\"user\",\"id\":\"r1\",\"content\":\"a\"}\n{\"v\":1,\"type\":\"user\",\"id\":\"x\",\"agent_id\":\"../x\",\"content\":\"b\"}\n");
    assert_eq!(
        sandbox.run(&["session", "import", "bad.jsonl"]).code,
        Some(1)
    );
    let listed = parse_json(&sandbox.run(&["session", "list", "--json"]).stdout);
    assert_eq!(
        listed["sessions"].as_array().unwrap().len(),
        1,
        "no half of a session is left"
    );
    let run = sandbox.run(&["context", "two.jsonl"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn repair_keeps_private_files_private() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.write(
        "d.jsonl",
        "{\"v\":1,\"type\":\"user\",\"id\":\"r1\",\"content\":\"a\"}\n{\"torn",
    );
    std::fs::set_permissions(
        sandbox.path("d.jsonl"),
        std::fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    assert_eq!(sandbox.run(&["repair", "d.jsonl"]).code, Some(0));
    for name in ["d~repaired.jsonl", "d~repaired.jsonl.rest"] {
        let mode = std::fs::metadata(sandbox.path(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn resume_without_a_prompt_asks_the_open_question() {
    let refused = crate::server::error("401 Unauthorized", r#"{"error":{"message":"no"}}"#);
    let server = Server::new(vec![refused, answer(&["Now."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    assert_eq!(
        sandbox
            .run(&["chat", "-m", "openai/tiny", "hello there"])
            .code,
        Some(5)
    );
    server.request();
    let shown = sandbox.run(&["chat", "-c", "--dry-run"]).stdout;
    assert_eq!(shown.matches("hello there").count(), 1, "{shown}");
    sandbox
        .run(&["session", "resume", "last"])
        .assert_prints("Now.\n");
    assert_eq!(server.request().matches("hello there").count(), 1);
    let run = sandbox.run(&["session", "resume", "last"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("nothing to ask"), "{}", run.stderr);
}

#[test]
fn resume_takes_the_options_of_chat() {
    let server = Server::new(vec![answer(&["One."]), answer(&["Two."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.txt", "about groups\n");
    let talk =
        "{\"type\":\"user\",\"content\":\"Hello\"}\n{\"type\":\"assistant\",\"content\":\"Hi\"}\n";
    assert_success(&sandbox.run_with_stdin(&["session", "append"], talk));
    let resume = ["session", "resume", "last", "-m", "openai/tiny"];
    let options = ["-s", "Be brief.", "-f", "notes.txt", "--max-tokens", "50"];
    let run = sandbox.run(&[&resume[..], &options, &["-u", "--no-stream", "Why?"]].concat());
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "One.\n"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains(" tokens out, "), "{}", run.stderr);
    let request = server.request();
    for sent in ["Be brief.", "about groups", "Why?", ":50"] {
        assert!(request.contains(sent), "{sent}: {request}");
    }
    // Nothing is sent, and no key is needed.
    let run = sandbox.run(&["session", "resume", "last", "--dry-run", "And then?"]);
    let printed = assert_success(&run);
    for sent in ["Be brief.", "about groups", "And then?"] {
        assert!(printed.contains(sent), "{sent}: {printed}");
    }
    assert!(
        !sandbox
            .run(&["session", "export", "last"])
            .stdout
            .contains("And then?")
    );
}
