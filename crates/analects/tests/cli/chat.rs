//! `chat` in a file and in the store, when everything goes well.

use crate::sandbox::Sandbox;
use crate::server::{Server, answer};

const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/hello.sse");

#[test]
fn chat_prints_and_stores_a_recorded_answer() {
    let sandbox = Sandbox::new();
    let model = format!("replay:{RECORDING}");
    let text = "Hello! This is a recorded answer; a model would answer here.\n\n\
                # %% And this line only looks like a cell.";
    let run = sandbox.run(&["chat", "hello.msg.md", "-m", &model, "hi"]);
    run.assert_prints(&format!("{text}\n"));
    assert_eq!(sandbox.message_texts("hello.msg.md"), ["hi", text]);
    let file = sandbox.read("hello.msg.md");
    assert!(
        file.contains("\n\\# %% And this line only looks like a cell.\n"),
        "{file}"
    );
    assert!(
        !file.contains(RECORDING),
        "a path of this machine has no place in the file"
    );
    assert!(
        !file.contains("[agent]") && file.contains(": [replay] "),
        "{file}"
    );
}

#[test]
fn chat_continues_the_conversation_in_its_file() {
    let server = Server::new(vec![
        answer(&["Forty", "-two", "."]),
        answer(&["Forty-eight."]),
    ]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = sandbox.run(&[
        "chat",
        "talk.msg.md",
        "-m",
        "openai/tiny",
        "six",
        "times",
        "seven?",
    ]);
    run.assert_prints("Forty-two.\n");
    let first = server.request();
    assert!(
        first.contains(r#""model":"tiny""#) && first.contains("six times seven?"),
        "{first}"
    );

    // The file now names its model, and a question can be typed into it by hand.
    let typed = format!("{}\n# %%\n\nAnd eight?\n", sandbox.read("talk.msg.md"));
    sandbox.write("talk.msg.md", &typed);
    sandbox
        .run(&["chat", "talk.msg.md"])
        .assert_prints("Forty-eight.\n");
    let second = server.request();
    for said in ["six times seven?", "Forty-two.", "And eight?"] {
        assert!(second.contains(said), "{second}");
    }
    let file = sandbox.read("talk.msg.md");
    // The question now has an id; nothing else has changed.
    let sealed = typed.replace(
        "# %%\n\nAnd eight?",
        "# %% [^4]\n\n[^4]: [markdown]\n\nAnd eight?",
    );
    assert!(file.starts_with(&sealed), "{file}");
    assert_eq!(file.matches("  tiny:").count(), 1, "{file}");
    let decoded = sandbox.messages("talk.msg.md");
    assert_eq!(decoded.problems, []);
    let usage = decoded.messages[1].usage.clone().unwrap();
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(5), Some(7))
    );
    assert_eq!(decoded.messages[1].author.as_deref(), Some("tiny"));
}

#[test]
fn chat_joins_arguments_and_stdin_into_one_prompt() {
    let server = Server::new(vec![answer(&["ok"]), answer(&["ok"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let args = ["chat", "a.msg.md", "-m", "openai/tiny", "Review this:"];
    sandbox
        .run_with_stdin(&args, "- old\n+ new\n")
        .assert_prints("ok\n");
    assert_eq!(
        sandbox.message_texts("a.msg.md")[0],
        "Review this:\n\n- old\n+ new"
    );
    sandbox
        .run_with_stdin(&["chat", "a.msg.md"], "# %% [^9]\n")
        .assert_prints("ok\n");
    assert_eq!(sandbox.message_texts("a.msg.md")[2], "# %% [^9]");
}

#[test]
fn chat_ignores_empty_lines_on_stdin() {
    let server = Server::new(vec![answer(&["ok"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let args = ["chat", "a.msg.md", "-m", "openai/tiny", "hi"];
    sandbox
        .run_with_stdin(&args, "\r\n\n")
        .assert_prints("ok\n");
    assert_eq!(sandbox.message_texts("a.msg.md")[0], "hi");
}

#[test]
fn chat_takes_a_sentence_that_ends_in_a_file_name_as_a_prompt() {
    let server = Server::new(vec![answer(&["ok"]), answer(&["ok"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox
        .run(&["chat", "-m", "openai/tiny", "Explain README.md"])
        .assert_prints("ok\n");
    assert!(server.request().contains("Explain README.md"));
    sandbox.write("my talk.msg.md", "");
    sandbox
        .run(&["chat", "my talk.msg.md", "-m", "openai/tiny", "hi"])
        .assert_prints("ok\n");
    assert_eq!(sandbox.message_texts("my talk.msg.md"), ["hi", "ok"]);
}

#[test]
fn chat_without_a_file_stores_a_session() {
    let server = Server::new(vec![answer(&["A set."]), answer(&["Two operations."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox
        .run(&["chat", "-m", "openai/tiny", "What is a group?"])
        .assert_prints("A set.\n");
    server.request();
    // The store remembers the model that answered.
    sandbox
        .run(&["chat", "-c", "And a ring?"])
        .assert_prints("Two operations.\n");
    let request = server.request();
    assert!(request.contains(r#""model":"tiny""#), "{request}");
    for said in ["What is a group?", "A set.", "And a ring?"] {
        assert!(request.contains(said), "{request}");
    }
    let sessions = files_below(&sandbox.path("home/data/sessions"));
    assert_eq!(sessions.len(), 1);
    let decoded = analects_formats::decode(&std::fs::read(&sessions[0]).unwrap(), "x.jsonl");
    let chain = analects_core::chain(&decoded.messages);
    assert_eq!((chain.messages.len(), chain.problems.len()), (4, 0));
}

fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn chat_stores_an_answer_that_nobody_reads() {
    let long = "word ".repeat(40_000);
    let server = Server::new(vec![answer(&[&long, "end"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let mut child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", "hi"]);
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(sandbox.message_texts("a.msg.md")[1], format!("{long}end"));
}

#[test]
fn chat_stores_thinking_beside_the_answer() {
    let thought = r#"{"choices":[{"index":0,"delta":{"reasoning_content":"let me see"}}]}"#;
    let mut script = answer(&["Yes."]);
    script.insert(1, crate::server::Step::Send(format!("data: {thought}\n\n")));
    let server = Server::new(vec![script]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox
        .run(&["chat", "a.msg.md", "-m", "openai/tiny", "really?"])
        .assert_prints("Yes.\n");
    let file = sandbox.read("a.msg.md");
    assert!(
        file.contains("# %%% [^2.think]\n\n[^2.think]: [tiny]\n\nlet me see\n"),
        "{file}"
    );
}

#[test]
fn chat_keeps_provider_details_in_the_journal() {
    let chunk = r#"{"choices":[],"service_tier":"flex","odd":12345678901234567890123}"#;
    let script = |text: &str| {
        let mut script = answer(&[text]);
        script.insert(1, crate::server::Step::Send(format!("data: {chunk}\n\n")));
        script
    };
    let server = Server::new(vec![script("one"), script("two")]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox
        .run(&["chat", "a.msg.md", "-m", "openai/tiny", "1"])
        .assert_prints("one\n");
    sandbox
        .run(&["chat", "a.msg.md", "2"])
        .assert_prints("two\n");
    assert_eq!(sandbox.message_texts("a.msg.md"), ["1", "one", "2", "two"]);
    let file = sandbox.read("a.msg.md");
    assert!(
        !file.contains("12345678901234567890123") && !file.contains('{'),
        "{file}"
    );
    // The file alone holds only the words; with the journal, everything is there.
    let alone = sandbox.run(&["convert", "a.msg.md", "--to", "transcript", "--lossy"]);
    assert!(
        !alone.stdout.contains("12345678901234567890123"),
        "{}",
        alone.stdout
    );
    let other_machine = Sandbox::new();
    other_machine.write("a.msg.md", &file);
    let there = other_machine.run(&["convert", "a.msg.md", "--to", "transcript", "--lossy"]);
    assert_eq!(there.stdout, alone.stdout, "the same bytes everywhere");
    let full = sandbox.run(&[
        "convert",
        "a.msg.md",
        "--to",
        "transcript",
        "--full",
        "--lossy",
    ]);
    assert_eq!(
        full.stdout.matches("12345678901234567890123").count(),
        2,
        "{}",
        full.stdout
    );
}

#[test]
fn chat_refuses_a_question_that_is_hidden_from_the_model() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    for history in ["summary", "none"] {
        let text =
            format!("# %% [^7]\n\n[^7]: [markdown] history=\"{history}\"\n\nA long question\n");
        sandbox.write("a.msg.md", text);
        let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny"]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        let why = format!("nothing to ask: cell 7 has history=\"{history}\"");
        assert!(run.stderr.contains(&why), "{}", run.stderr);
        assert!(
            run.stderr.contains("hint: remove that attribute"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn repeated_tool_calls_get_their_own_results() {
    use crate::server::{call, done_because, stream_head};
    let script = vec![
        stream_head(),
        call(0, "time", "{}"),
        done_because("tool_calls"),
    ];
    let server = Server::new(vec![script; 5]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    for _ in 0..5 {
        let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", "what time is it?"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let cells = sandbox.show_json("a.msg.md")["cells"].clone();
    let ids = |role: &str| -> Vec<String> {
        let all = cells
            .as_array()
            .unwrap()
            .iter()
            .filter(|cell| cell["role"] == role);
        all.map(|cell| cell["id"].as_str().unwrap().to_string())
            .collect()
    };
    let expected: Vec<String> = ids("tool_call")
        .iter()
        .map(|call| format!("{call}.1"))
        .collect();
    assert_eq!((expected.len(), ids("tool_result")), (5, expected));
}
