//! `compact`, and the compaction that `chat` does by itself.

use serde_json::Value;

use crate::sandbox::{Sandbox, parse_json};
use crate::server::{Server, answer, error};

const HEAD: &str = "---\ndefault_agent: t\nagents:\n  t: {models: [openai/tiny], context_window: 600, max_output_tokens: 100}\n---\n\n";

/// A conversation with this many rounds.
fn conversation(rounds: usize) -> String {
    let round = |n: usize| {
        let answer = "The river flows to the sea. ".repeat(4);
        format!(
            "# %%\n\nQuestion {n}?\n\n# %%% [^r{n}]\n\n[^r{n}]: [t]\n\nAnswer {n}. {answer}\n\n"
        )
    };
    let rounds: String = (0..rounds).map(round).collect();
    format!("{HEAD}{rounds}")
}

/// A session of three questions with long answers, and a model that then writes summaries.
#[track_caller]
fn sandbox_with_session() -> (Sandbox, Server) {
    let answers = ["One.", "Two.", "Three."].map(|text| answer(&[&format!("{text} ").repeat(150)]));
    let summaries = vec![answer(&["They counted."]); 9];
    let server = Server::new(answers.into_iter().chain(summaries).collect());
    let sandbox = Sandbox::new().with_server(&server.base_url);
    assert_eq!(
        sandbox.run(&["chat", "-m", "openai/tiny", "one?"]).code,
        Some(0)
    );
    for prompt in ["two?", "three?"] {
        assert_eq!(sandbox.run(&["chat", "-c", prompt]).code, Some(0));
    }
    (sandbox, server)
}

/// The number of messages that would be sent.
fn messages_sent(sandbox: &Sandbox, target: &str) -> usize {
    let shown = parse_json(&sandbox.run(&["context", target, "--json"]).stdout);
    let messages = shown["messages"].as_array().unwrap().iter();
    messages.filter(|message| message["fate"] == "sent").count()
}

#[test]
fn compact_and_undo_in_a_file() {
    let server = Server::new(vec![answer(&["They spoke of rivers."]); 5]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", conversation(6));
    let before = sandbox.read("a.msg.md");
    let run = sandbox.run(&["compact", "a.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.ends_with("They spoke of rivers.\n"),
        "{}",
        run.stdout
    );
    assert!(run.stderr.contains("a summary replaces"), "{}", run.stderr);
    assert!(server.request().contains("Question 0?"));
    let after = sandbox.read("a.msg.md");
    // Nothing changed except one new cell.
    let added = after
        .strip_prefix(&before)
        .unwrap_or_else(|| panic!("{after}"));
    assert_eq!(added.matches("# %%").count(), 1, "{added}");
    assert!(
        added.contains("# %%% [^s1]\n\n[^s1]: [summary] through=\"r4\" "),
        "{added}"
    );
    assert!(added.ends_with("\n\nThey spoke of rivers.\n"), "{added}");
    // The summary, and the last question with its answer.
    assert_eq!(messages_sent(&sandbox, "a.msg.md"), 3);
    let check = sandbox.run(&["check", "a.msg.md"]);
    assert_eq!(check.code, Some(0), "{}", check.stderr);
    let undo = sandbox.run(&["compact", "a.msg.md", "--undo"]);
    let told = "the summary is hidden, and the model sees the messages that it replaced\n";
    assert_eq!(
        (undo.code, &*undo.stdout, &*undo.stderr),
        (Some(0), "", told)
    );
    assert_eq!(messages_sent(&sandbox, "a.msg.md"), 12);
    let hidden = sandbox.read("a.msg.md");
    let mark = "[summary] history=\"none\" ";
    assert!(
        hidden.replacen(mark, "[summary] ", 1) == after && hidden != after,
        "{hidden}"
    );
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
    sandbox
        .run(&["compact", "a.msg.md", "--undo"])
        .assert_fails(1, "analects: a.msg.md: there is no compaction to undo\n");
    // A restored summary compacts again.
    let restored = sandbox.run(&["restore", "a.msg.md", "s1"]);
    assert_eq!(
        (restored.code, &*restored.stdout),
        (Some(0), "s1\n"),
        "{}",
        restored.stderr
    );
    assert_eq!(sandbox.read("a.msg.md"), after);
    assert_eq!(messages_sent(&sandbox, "a.msg.md"), 3);
}

#[test]
fn compact_and_undo_in_a_session() {
    let (sandbox, _server) = sandbox_with_session();
    // With a small window, it takes more than one request.
    sandbox.write_config(
        "config.toml",
        "[agents.small]\nmodels = \"openai/tiny\"\ncontext_window = 1500\n",
    );
    let run = sandbox.run(&["compact", "last", "--agent", "small", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let done = parse_json(&run.stdout);
    assert!(done["messages"].as_u64() >= Some(2), "{done}");
    // The server of the test claims that it read five tokens and wrote seven.
    assert_eq!(done["tokens_before"], 12);
    assert!(
        done["summary"].as_str().unwrap().contains("They counted."),
        "{done}"
    );
    assert_eq!(
        (&done["without_model"], &done["files"]),
        (&false.into(), &0.into())
    );
    let compacted = messages_sent(&sandbox, "last");
    assert!(compacted < 6);
    let undo = sandbox.run(&["compact", "last", "--undo"]);
    let told = "the summary is hidden, and the model sees the messages that it replaced\n";
    assert_eq!(
        (undo.code, &*undo.stdout, &*undo.stderr),
        (Some(0), "", told)
    );
    assert_eq!(messages_sent(&sandbox, "last"), 6);
    sandbox
        .run(&["compact", "last", "--undo"])
        .assert_fails(1, "analects: there is no compaction to undo\n");
    // Restoring either part restores the whole compaction.
    let all = sandbox.run(&["session", "export", "last"]).stdout;
    for kind in ["summary", "compact_boundary"] {
        let mut records = all.lines().map(parse_json);
        let part = records.find(|record| record["type"] == kind).unwrap();
        let id = part["id"].as_str().unwrap();
        assert_eq!(sandbox.run(&["restore", "last", id]).code, Some(0));
        assert_eq!(messages_sent(&sandbox, "last"), compacted);
        let again = format!("analects: {id} is not hidden\n");
        sandbox
            .run(&["restore", "last", id])
            .assert_fails(1, &again);
        assert_eq!(sandbox.run(&["drop", "last", id]).code, Some(0));
        assert_eq!(messages_sent(&sandbox, "last"), 6);
    }
}

/// Whoever shows a file as the first thing after a compaction has shown it, also when that is taken back.
#[test]
fn a_file_attached_after_compact_stays_outside_the_summary() {
    for target in ["a.msg.md", "last"] {
        let long = "One and two. ".repeat(100);
        let mut answers = vec![answer(&[long.as_str()]); 3];
        answers.extend([
            answer(&["They counted."]),
            answer(&["Seen."]),
            answer(&["Still."]),
        ]);
        let server = Server::new(answers);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        sandbox.write("notes.txt", "the tide table\n");
        let chat = |args: &[&str], first: bool| {
            let place: &[&str] = match (target, first) {
                ("last", true) => &["chat", "-m", "openai/tiny"],
                ("last", false) => &["chat", "-c"],
                _ => &["chat", "a.msg.md", "-m", "openai/tiny"],
            };
            let run = sandbox.run(&[place, args].concat());
            assert_eq!(run.code, Some(0), "{target}: {}", run.stderr);
        };
        chat(&["one?"], true);
        chat(&["two?"], false);
        chat(&["three?"], false);
        let compact = sandbox.run(&["compact", target]);
        assert_eq!(compact.code, Some(0), "{target}: {}", compact.stderr);
        chat(&["-f", "notes.txt", "What do you see?"], false);
        assert_eq!(sandbox.run(&["compact", target, "--undo"]).code, Some(0));
        chat(&["And now?"], false);
        let sent = std::iter::from_fn(|| Some(server.request()))
            .nth(5)
            .unwrap();
        assert!(sent.contains("the tide table"), "{target}: {sent}");
        assert!(
            sent.contains("one?") && !sent.contains("They counted."),
            "{target}: {sent}"
        );
    }
}

/// A summary stands for all that was said, in every later call: it is not made of what one call sends.
#[test]
fn chosen_cells_are_never_summarised() {
    let server = Server::new(vec![answer(&["Fine."]); 20]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    for choice in [["-e", "r2"], ["-i", "1-"]] {
        sandbox.write("a.msg.md", conversation(30));
        let args = ["chat", "a.msg.md", "Now?", choice[0], choice[1]];
        let shown = sandbox.run(&[&args[..], &["--dry-run"]].concat());
        assert!(
            !shown.stderr.contains("summarise"),
            "{choice:?}: {}",
            shown.stderr
        );
        let run = sandbox.run(&args);
        assert_eq!(
            (run.code, &*run.stdout),
            (Some(0), "Fine.\n"),
            "{choice:?}: {}",
            run.stderr
        );
        assert!(server.request().contains("Now?"), "{choice:?}");
        let file = sandbox.read("a.msg.md");
        assert!(
            !file.contains("[summary]") && !file.contains("compact"),
            "{choice:?}: {file}"
        );
        let told = "no summary is made while cells are chosen for one call";
        assert!(run.stderr.contains(told), "{choice:?}: {}", run.stderr);
    }
    // A saved choice changes the conversation.
    sandbox.write("a.msg.md", conversation(30));
    let run = sandbox.run(&["chat", "a.msg.md", "Now?", "-e", "r2", "--save"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "Fine.\n"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("a summary replaces"), "{}", run.stderr);
    let file = sandbox.read("a.msg.md");
    assert!(file.contains("[summary]"), "{file}");
}

#[test]
fn a_refused_prompt_of_chosen_cells_is_not_summarised() {
    let refusal = "{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}";
    let server = Server::new(vec![error("400 Bad Request", refusal), answer(&["Fine."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", conversation(2));
    let run = sandbox.run(&["chat", "a.msg.md", "Now?", "-e", "r1"]);
    assert_eq!((run.code, &*run.stdout), (Some(5), ""), "{}", run.stderr);
    let file = sandbox.read("a.msg.md");
    assert!(!file.contains("[summary]"), "{file}");
    assert!(run.stderr.contains("no summary is made"), "{}", run.stderr);
}

/// What waits for another agent has no part in a summary, and does not keep it from being made.
#[test]
fn cells_that_wait_for_another_agent_do_not_stop_compaction() {
    let head = HEAD.replace("600", "900").replace(
        "agents:\n",
        "agents:\n  u: {models: [openai/other], context_window: 9000, max_output_tokens: 100}\n",
    );
    let server = Server::new(vec![answer(&["They spoke of rivers."]); 20]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let waiting = "# %% [^x]\n\n[^x]: [markdown] agent=t\n\nMine?\n\n# %%\n\nLater?\n\n\
        # %% [^y]\n\n[^y]: [markdown] agent=u\n\nYours?\n\n# %%\n\nLast?\n";
    let file = format!("{head}{}{waiting}", conversation(24).replace(HEAD, ""));
    sandbox.write("a.msg.md", file);
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!run.stderr.contains("was changed"), "{}", run.stderr);
    assert!(run.stderr.contains("a summary replaces"), "{}", run.stderr);
    let mut requests = std::iter::from_fn(|| Some(server.request()));
    let asked = requests.find(|request| request.contains("Mine?")).unwrap();
    assert!(
        asked.contains("They spoke of rivers.") && !asked.contains("Later?"),
        "{asked}"
    );
    // No waiting question is lost or counted as summarised.
    let text = sandbox.read("a.msg.md");
    for word in ["Later?", "Yours?", "Last?"] {
        let mut asked = requests.by_ref().filter(|request| request.contains(word));
        assert!(asked.next().is_some(), "{word}");
        assert_eq!(text.matches(word).count(), 1, "{word}: {text}");
    }
}

/// Checks that each request ends with a question, and contains no question for another agent.
fn assert_questions_end_requests(server: &Server) {
    let requests = || server.request_within(std::time::Duration::from_millis(100));
    for sent in std::iter::from_fn(requests) {
        let sent = parse_json(&sent);
        if sent["model"] == "tiny" {
            assert!(!sent.to_string().contains("Yours?"), "{sent}");
        }
        let last = sent["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(last["role"], "user", "{last}");
    }
}

/// What is sent after a summary is what waits then, and no question for somebody else.
#[test]
fn questions_for_other_agents_can_change_during_compaction() {
    use crate::server::{Step, stream_head};
    let head = HEAD.replace("600", "900").replace(
        "agents:\n",
        "agents:\n  u: {models: [openai/other], context_window: 9000, max_output_tokens: 100}\n",
    );
    let rounds = conversation(24).replace(HEAD, "");
    let question = |id: &str, agent: &str, text: &str| {
        format!("# %% [^{id}]\n\n[^{id}]: [markdown] agent={agent}\n\n{text}\n\n")
    };
    let (one, two) = (question("x", "t", "Mine?"), question("y", "u", "Yours?"));
    let above = |file: &str| file.replace(&one, &format!("# %%\n\nA word.\n\n{one}"));
    type Case<'a> = (&'a dyn Fn(&str) -> String, &'a [&'a str], &'a [&'a str]);
    let cases: [Case<'_>; 3] = [
        (
            &|file| file.replace(&two, ""),
            &["Mine?", "They spoke"],
            &[],
        ),
        (
            &above,
            &["A word.", "Mine?", "They spoke", "Yours?", "They spoke"],
            &[],
        ),
        // An agent whose question was deleted is not asked.
        (
            &|file| file.replace(&one, ""),
            &["Yours?"],
            &["the question was removed"],
        ),
    ];
    for (change, order, told) in cases {
        let mut sandbox = Sandbox::new();
        let waits = [stream_head(), Step::Until(sandbox.path("go"))];
        let waits = [&waits[..], &answer(&["They spoke of rivers."])[1..]].concat();
        let mut scripts = vec![answer(&["They spoke of rivers."]); 6];
        scripts.insert(0, waits);
        let server = Server::new(scripts);
        sandbox.set_server(&server.base_url);
        sandbox.write("a.msg.md", format!("{head}{rounds}{one}{two}"));
        let child = sandbox.spawn(&["chat", "a.msg.md"]);
        server.request();
        let file = sandbox.read("a.msg.md");
        assert_ne!(change(&file), file);
        sandbox.write("a.msg.md", change(&file));
        sandbox.write("go", "");
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        for words in told {
            assert!(stderr.contains(words), "{stderr}");
        }
        assert_eq!(
            output.status.code(),
            Some(if told.is_empty() { 0 } else { 5 }),
            "{stderr}"
        );
        assert_questions_end_requests(&server);
        let file = sandbox.read("a.msg.md");
        let end = &file[file.find("Answer 23").unwrap()..];
        let mut rest = end;
        for words in order {
            let at = rest
                .find(words)
                .unwrap_or_else(|| panic!("{words}: {end}\n{stderr}"));
            rest = &rest[at + words.len()..];
        }
        assert_eq!(
            end.matches(": [t] time").count(),
            usize::from(told.is_empty()),
            "{end}"
        );
    }
}

#[test]
fn compact_leaves_a_file_alone_when_it_cannot_compact() {
    let refusal = r#"{"error":{"message":"no"}}"#;
    let server = Server::new(vec![error("400 Bad Request", refusal)]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write(
        "short.msg.md",
        format!("{HEAD}# %%\n\nA question that nobody has answered\n"),
    );
    let run = sandbox.run(&["compact", "short.msg.md"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("nothing to compact"), "{}", run.stderr);
    sandbox.write("long.msg.md", conversation(6));
    let before = sandbox.read("long.msg.md");
    let run = sandbox.run(&["compact", "long.msg.md"]);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert_eq!(sandbox.read("long.msg.md"), before);
    assert_eq!(sandbox.run(&["compact", "none.msg.md"]).code, Some(3));
    assert_eq!(sandbox.run(&["compact", "nobody"]).code, Some(3));
    assert_eq!(
        sandbox
            .run(&["compact", "long.msg.md", "--undo", "-m", "x"])
            .code,
        Some(2)
    );
    assert!(!sandbox.path("none.msg.md").exists());
}

/// The model that is named writes the summary, and needs no agent in the file.
#[test]
fn compact_lets_the_named_model_write_the_summary() {
    let server = Server::new(vec![answer(&["By the writer."]); 5]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write(
        "a.msg.md",
        conversation(6).replace("openai/tiny", "anthropic/claude-opus-4-1"),
    );
    let run = sandbox.run(&["compact", "a.msg.md", "-m", "openai/writer"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(parse_json(&server.request())["model"], "writer");
}

#[test]
fn chat_compacts_a_full_context_by_itself() {
    let sandbox = Sandbox::new();
    // A window that everything fits into, but not with room for an answer.
    let talk = conversation(24).replace("context_window: 600", "context_window: 900");
    let server = Server::new(vec![answer(&["They spoke of rivers."]); 8]);
    let mut sandbox = sandbox.with_server(&server.base_url);
    sandbox.write("a.msg.md", &talk);
    let run = sandbox.run(&["chat", "a.msg.md", "Really?"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stderr.contains("the context is nearly full"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .contains("to undo this: analects compact a.msg.md --undo"),
        "{}",
        run.stderr
    );
    let mut sent = server.request();
    assert!(sent.contains("Question 0?"), "{sent}");
    while sent.contains("You summarise conversations") {
        sent = server.request();
    }
    assert!(
        sent.contains("They spoke of rivers.") && sent.contains("Really?"),
        "{sent}"
    );
    assert!(!sent.contains("Question 0?"), "{sent}");
    // With compaction turned off, messages that do not fit are left out, and the command says so.
    sandbox.write_config("config.toml", "[context]\ncompact_at = \"never\"\n");
    let server = Server::new(vec![answer(&["Yes."])]);
    sandbox.set_server(&server.base_url);
    sandbox.write("b.msg.md", &talk);
    let run = sandbox.run(&["chat", "b.msg.md", "Really?"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!run.stderr.contains("summar"), "{}", run.stderr);
    assert!(
        run.stderr.contains("earlier messages are not sent"),
        "{}",
        run.stderr
    );
    let show = sandbox.run(&["config", "show"]).stdout;
    assert!(
        show.contains("context.compact_at") && show.contains("never"),
        "{show}"
    );
    sandbox.write_config("config.toml", "[context]\ncompact_at = \"a lot\"\n");
    let run = sandbox.run(&["config", "show"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("config.toml:2:14"), "{}", run.stderr);
}

#[test]
fn chat_reports_a_changed_attachment_once() {
    let answers = (0..3).map(|_| answer(&["I see."])).collect();
    let server = Server::new(answers);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.txt", "first");
    let first = [
        "chat",
        "a.msg.md",
        "-m",
        "openai/tiny",
        "-f",
        "notes.txt",
        "Look.",
    ];
    assert_eq!(sandbox.run(&first).code, Some(0));
    assert!(
        server
            .request()
            .contains("<file path=\\\"notes.txt\\\">\\nfirst\\n</file>")
    );
    sandbox.write("notes.txt", "other");
    let run = sandbox.run(&["chat", "a.msg.md", "And now?"]);
    assert!(
        run.stderr
            .contains("the model is told: The file notes.txt was changed"),
        "{}",
        run.stderr
    );
    assert!(server.request().contains("was changed by somebody else"));
    let run = sandbox.run(&["chat", "a.msg.md", "Still?"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    assert_eq!(
        server
            .request()
            .matches("was changed by somebody else")
            .count(),
        1
    );
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
    let run = sandbox.run(&["chat", "a.msg.md", "-f", "nothing.txt", "Look."]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
}

#[test]
fn compact_respects_the_cost_limit() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    let run = sandbox.run(&[
        "chat",
        "a.msg.md",
        "-m",
        "openai/gpt-5",
        "--max-cost",
        "0",
        "Hello",
    ]);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(run.stderr.contains("not sent") && run.stderr.contains("--max-cost"));
    assert_eq!(sandbox.message_texts("a.msg.md"), ["Hello"]);
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", "--max-cost", "1"]);
    assert!(
        run.stderr.contains("the price of this model is unknown"),
        "{}",
        run.stderr
    );
    assert_eq!(
        sandbox
            .run(&["chat", "a.msg.md", "--max-cost", "much"])
            .code,
        Some(2)
    );
    assert_eq!(
        sandbox.run(&["chat", "a.msg.md", "--max-turns", "0"]).code,
        Some(2)
    );
}

#[test]
fn the_answering_model_summarises_when_the_local_one_is_missing() {
    let server = Server::new(vec![answer(&["They spoke of rivers."]); 5]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write_config("config.toml", "[models]\ncompact = \"local/smollm2\"\n");
    sandbox.write("a.msg.md", conversation(6));
    let run = sandbox.run(&["compact", "a.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.ends_with("They spoke of rivers.\n"),
        "{}",
        run.stdout
    );
    let warning = "warning: the model for summaries cannot be asked: ";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
}

#[test]
fn dropping_the_summary_undoes_the_compaction() {
    let server = Server::new(vec![answer(&["They spoke of rivers."]); 5]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", conversation(6));
    assert_eq!(sandbox.run(&["compact", "a.msg.md"]).code, Some(0));
    let before = sandbox.read("a.msg.md");
    assert_eq!(
        sandbox.run(&["compact", "a.msg.md", "--undo"]).code,
        Some(0)
    );
    let undone = sandbox.read("a.msg.md");
    sandbox.write("a.msg.md", &before);
    let run = sandbox.run(&["drop", "a.msg.md", "s1"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "s1\n"),
        "{}",
        run.stderr
    );
    assert_eq!(run.stderr, "to undo this: analects restore a.msg.md s1\n");
    assert_eq!(sandbox.read("a.msg.md"), undone);
    assert_eq!(messages_sent(&sandbox, "a.msg.md"), 12);
    sandbox.write("a.msg.md", &before);
    // A fork that ends before the summary has none, and the command says so.
    let run = sandbox.run(&["fork", "a.msg.md", "--at", "6", "-o", "b.msg.md"]);
    let told = "the summary cell s1 does not count there: the model sees all messages before it\n";
    assert_eq!((run.code, &*run.stderr), (Some(0), told));
    assert_eq!(messages_sent(&sandbox, "b.msg.md"), 11);
    let run = sandbox.run(&["fork", "a.msg.md", "-o", "c.msg.md"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    assert_eq!(
        messages_sent(&sandbox, "c.msg.md"),
        messages_sent(&sandbox, "a.msg.md")
    );
}

#[test]
fn rewind_says_when_the_summary_no_longer_applies() {
    let (sandbox, _server) = sandbox_with_session();
    let tail = || -> Vec<Value> {
        sandbox
            .run(&["session", "tail", "last", "--json"])
            .stdout
            .lines()
            .map(parse_json)
            .collect()
    };
    let first = tail()[0]["id"].as_str().unwrap().to_string();
    let run = sandbox.run(&["compact", "last"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let summary = tail()
        .into_iter()
        .find(|message| message["type"] == "summary")
        .unwrap();
    let (session, id) = (
        summary["session_id"].as_str().unwrap(),
        summary["id"].as_str().unwrap(),
    );
    // The fork is now the last session.
    for verb in [
        &["fork", session, "--at", &first][..],
        &["rewind", session, &first],
    ] {
        let run = sandbox.run(verb);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let told = format!(
            "the summary {id} does not count there: the model sees all messages before it\n"
        );
        assert!(run.stderr.starts_with(&told), "{}", run.stderr);
        assert_eq!(
            run.stderr.matches("does not count").count(),
            1,
            "{}",
            run.stderr
        );
        assert_eq!(messages_sent(&sandbox, "last"), 1);
    }
}
