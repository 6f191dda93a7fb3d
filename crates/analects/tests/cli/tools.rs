//! Tools that a person switches on: what the model may call, what is asked, and what stays untouched.

use serde_json::Value;

use crate::pseudo_terminal::run_with_keys;
use crate::sandbox::Sandbox;
use crate::server::{Server, Step, answer, call, done_because, stream_head};

/// An answer that calls tools.
pub fn calling(calls: &[(&str, &str)]) -> Vec<Step> {
    let mut steps = vec![stream_head()];
    for (at, (name, arguments)) in calls.iter().enumerate() {
        steps.push(call(at, name, arguments));
    }
    steps.push(done_because("tool_calls"));
    steps
}

/// A server that gives these answers, and a sandbox that asks it.
pub fn sandbox_with(answers: Vec<Vec<Step>>) -> (Sandbox, Server) {
    let server = Server::new(answers);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.txt", "A river flows to the sea.\n");
    (sandbox, server)
}

/// The names of the tools in a request.
pub fn offered(request: &str) -> Vec<String> {
    let request: Value = serde_json::from_str(request).unwrap();
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_string();
    tools.iter().map(name).collect()
}

/// The results of calls in a request, in order.
pub fn results(request: &str) -> Vec<String> {
    let request: Value = serde_json::from_str(request).unwrap();
    let messages = request["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results
        .map(|message| message["content"].as_str().unwrap().to_string())
        .collect()
}

const READ_NOTES: (&str, &str) = ("read_file", r#"{"path":"notes.txt"}"#);
const WRITE_NEW: (&str, &str) = ("write_file", r#"{"path":"new.txt","content":"one\ntwo\n"}"#);
const EDIT_NOTES: (&str, &str) = (
    "edit_file",
    r#"{"path":"notes.txt","old_text":"river","new_text":"stream"}"#,
);

#[test]
fn a_model_reads_files_once_you_say_so() {
    let (sandbox, server) = sandbox_with(vec![calling(&[READ_NOTES]), answer(&["It flows."])]);
    let args = [
        "chat",
        "a.msg.md",
        "-m",
        "openai/tiny",
        "--tools",
        "read",
        "What do the notes say?",
    ];
    let run = sandbox.run(&args);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "It flows.\n"),
        "{}",
        run.stderr
    );
    assert_eq!(run.stderr, "→ read_file path=\"notes.txt\"\n✓ 1 line\n");
    assert_eq!(
        offered(&server.request()),
        ["read_file", "list_files", "grep"]
    );
    assert_eq!(results(&server.request()), ["A river flows to the sea.\n"]);
    // The file has the call and its result, and reads without problems.
    let cells = sandbox.show_json("a.msg.md")["cells"].clone();
    let roles: Vec<&str> = cells
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "tool_call", "tool_result", "reply", "user"]);
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
}

#[test]
fn sessions_have_tools_too() {
    let (sandbox, server) = sandbox_with(vec![
        calling(&[READ_NOTES]),
        answer(&["It flows."]),
        calling(&[("grep", r#"{"pattern":"sea"}"#)]),
        answer(&["To the sea."]),
    ]);
    let run = sandbox.run(&["chat", "-m", "openai/tiny", "--tools", "read_file", "What?"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "It flows.\n"),
        "{}",
        run.stderr
    );
    assert_eq!(offered(&server.request()), ["read_file"]);
    server.request();
    let run = sandbox.run(&["session", "resume", "last", "--tools", "grep", "Where?"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "To the sea.\n"),
        "{}",
        run.stderr
    );
    assert_eq!(offered(&server.request()), ["grep"]);
    let request = server.request();
    assert_eq!(
        results(&request)[1],
        "notes.txt:1: A river flows to the sea."
    );
}

#[test]
fn no_tool_is_offered_unless_it_is_switched_on() {
    // Neither the file nor the project can switch one on, and a call by itself runs nothing.
    let (sandbox, server) = sandbox_with(vec![calling(&[READ_NOTES])]);
    let head = "---\ntools: [read_file, write_file]\nagents:\n  tiny:\n    models: [openai/tiny]\n    tools: all\n---\n\n";
    sandbox.write("a.msg.md", format!("{head}# %%\n\nRead the notes.\n"));
    sandbox.write(".analects.toml", "tools = \"all\"\n");
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(
        offered(&server.request()),
        Vec::<String>::new(),
        "{}",
        run.stderr
    );
    let file = sandbox.read("a.msg.md");
    assert!(
        file.contains("there is no tool of that name here"),
        "{file}"
    );
    assert!(!file.contains("river"), "{file}");
}

#[test]
fn without_a_terminal_nothing_is_changed_and_the_conversation_goes_on() {
    let (sandbox, server) = sandbox_with(vec![
        calling(&[WRITE_NEW, READ_NOTES, EDIT_NOTES]),
        answer(&["I could not."]),
    ]);
    let run = sandbox.run(&["chat", "-m", "openai/tiny", "--tools", "write", "Go"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "I could not.\n"),
        "{}",
        run.stderr
    );
    let denied = "not run: this changes files, and there is nobody to ask";
    let sent = format!("error: {denied}");
    assert_eq!(
        run.stderr,
        format!(
            "→ write_file path=\"new.txt\" content=\"one\\ntwo\\n\"\n✗ {denied}\n\
             → read_file path=\"notes.txt\"\n✓ 1 line\n\
             → edit_file path=\"notes.txt\" old_text=\"river\" new_text=\"stream\"\n✗ {denied}\n"
        )
    );
    server.request();
    let notes = "A river flows to the sea.\n";
    assert_eq!(results(&server.request()), [&*sent, notes, &*sent]);
    assert!(!sandbox.path("new.txt").exists());
    assert_eq!(sandbox.read("notes.txt"), notes);
}

#[test]
fn rules_decide_in_advance_and_deny_wins() {
    let (sandbox, server) = sandbox_with(vec![
        calling(&[
            ("write_file", r#"{"path":"src/a.txt","content":"a"}"#),
            ("write_file", r#"{"path":"src/../b.txt","content":"b"}"#),
            (
                "write_file",
                r#"{"path":"./src/secret/c.txt","content":"c"}"#,
            ),
            EDIT_NOTES,
            ("rm", "{}"),
        ]),
        answer(&["Done."]),
    ]);
    let rules = [
        "--allow",
        "write_file(src/**)",
        "--allow",
        "edit_file",
        "--deny",
        "*(src/secret/**)",
    ];
    let args = [
        &["chat", "-m", "openai/tiny", "--tools", "all"],
        &rules[..],
        &["Go"],
    ]
    .concat();
    let run = sandbox.run(&args);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    server.request();
    let results = results(&server.request());
    assert_eq!(results[0], "created src/a.txt: 1 line, 1 bytes");
    assert_eq!(results[1], "error: src/../b.txt: leads out of the folder");
    assert_eq!(results[2], "error: the person does not allow this call");
    assert_eq!(results[3], "edited notes.txt at line 1");
    assert!(
        results[4].starts_with("error: there is no tool rm here; the tools are read_file"),
        "{results:?}"
    );
    assert_eq!(sandbox.read("src/a.txt"), "a");
    assert!(!sandbox.path("b.txt").exists() && !sandbox.path("src/secret").exists());
}

#[test]
fn one_question_covers_all_changes_of_an_answer() {
    let (sandbox, _server) = sandbox_with(vec![
        calling(&[WRITE_NEW, READ_NOTES, EDIT_NOTES]),
        answer(&["Half of it."]),
    ]);
    let args = [
        "chat",
        "a.msg.md",
        "-m",
        "openai/tiny",
        "--tools",
        "write",
        "Go",
    ];
    let keys = [("allow? ", "maybe\n"), ("please answer", "2\n")];
    let Some((seen, code)) = run_with_keys(&sandbox, &args, true, &keys) else {
        return crate::sandbox::print_note("skipped: no Python for a terminal");
    };
    assert_eq!(code, 0, "{seen}");
    for shown in [
        "  1  write_file new.txt\n     + one\n     + two\n",
        "  2  edit_file notes.txt\n     - river\n     + stream\n",
        "allow? y yes · 1,2 only these · a always write_file and edit_file · n [why] no [n] ",
        "please answer with one of the letters",
        "✗ the person said no\n",
        "✓ 1 line changed\n",
        "Half of it.",
    ] {
        assert!(seen.contains(shown), "{shown}\n{seen}");
    }
    assert!(!sandbox.path("new.txt").exists());
    assert_eq!(sandbox.read("notes.txt"), "A stream flows to the sea.\n");
}

#[test]
fn a_no_may_say_why_and_always_is_not_asked_again() {
    let (sandbox, server) = sandbox_with(vec![
        calling(&[WRITE_NEW]),
        calling(&[EDIT_NOTES]),
        calling(&[(
            "edit_file",
            r#"{"path":"notes.txt","old_text":"sea","new_text":"lake"}"#,
        )]),
        answer(&["Done."]),
    ]);
    let args = ["chat", "-m", "openai/tiny", "--tools", "write", "Go"];
    let keys = [
        ("a always write_file", "n edit the notes instead\n"),
        ("a always edit_file", "a\n"),
    ];
    let Some((seen, code)) = run_with_keys(&sandbox, &args, true, &keys) else {
        return crate::sandbox::print_note("skipped: no Python for a terminal");
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(seen.matches("allow? ").count(), 2, "{seen}");
    server.request();
    assert_eq!(
        results(&server.request()),
        ["error: the person said no: edit the notes instead"]
    );
    assert_eq!(sandbox.read("notes.txt"), "A stream flows to the lake.\n");
}

#[test]
fn a_model_that_repeats_itself_is_stopped() {
    let (sandbox, server) = sandbox_with(vec![calling(&[READ_NOTES]); 9]);
    let run = sandbox.run(&["chat", "-m", "openai/tiny", "--tools", "read", "Go"]);
    let stderr = &run.stderr;
    assert_ne!(run.code, Some(0), "{stderr}");
    assert!(
        stderr.contains("made the same calls three times and got the same results"),
        "{stderr}"
    );
    for _ in 0..3 {
        server.request();
    }
    assert_eq!(server.all_received().len(), 0);
}

#[test]
fn what_is_offered_shows_before_it_is_sent() {
    let (sandbox, _server) = sandbox_with(vec![]);
    sandbox.write("a.msg.md", "# %%\n\nHi\n");
    let args = ["a.msg.md", "-m", "openai/tiny", "--tools", "read_file,grep"];
    let table = sandbox.run(&[&["context"], &args[..]].concat()).stdout;
    let row = table
        .lines()
        .find(|line| line.starts_with("tools"))
        .unwrap();
    assert!(row.ends_with("sent  read_file, grep"), "{table}");
    let dry = sandbox.run(&[&["chat"], &args[..], &["--dry-run"]].concat());
    let dry: Value = serde_json::from_str(&dry.stdout).unwrap();
    assert_eq!(offered(&dry["body"].to_string()), ["read_file", "grep"]);
}

#[test]
fn wrong_names_and_rules_are_explained() {
    let sandbox = Sandbox::new();
    let chat = |flags: &[&str]| {
        let args = [&["chat", "-m", "openai/tiny"], flags, &["Go"]].concat();
        let run = sandbox.run(&args);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        run.stderr
    };
    let said = chat(&["--tools", "raed_file"]);
    assert!(
        said.starts_with("analects: there is no tool raed_file; did you mean read_file?\n"),
        "{said}"
    );
    let said = chat(&["--tools", "read", "--allow", "write_file(src"]);
    assert!(
        said.contains("expected a closing parenthesis at the end"),
        "{said}"
    );
    let said = chat(&["--allow", "write_file"]);
    assert!(said.contains("--tools"), "{said}");
}

#[test]
fn tools_are_listed_and_called_by_hand() {
    let (sandbox, _server) = sandbox_with(vec![]);
    let list = sandbox.run(&["tool", "list"]).stdout;
    assert!(
        list.starts_with("read_file   read   Reads a text file"),
        "{list}"
    );
    let json: Value =
        serde_json::from_str(&sandbox.run(&["tool", "list", "--json"]).stdout).unwrap();
    assert_eq!(json[4]["name"], "edit_file");
    assert_eq!(json[4]["input_schema"]["required"][1], "old_text");
    sandbox
        .run(&["tool", "call", "read_file", r#"{"path":"notes.txt"}"#])
        .assert_prints("A river flows to the sea.\n");
    sandbox
        .run_with_stdin(&["tool", "call", "edit_file"], EDIT_NOTES.1)
        .assert_prints("edited notes.txt at line 1\n");
    let refused = sandbox.run(&["tool", "call", "read_file", r#"{"path":"/etc/passwd"}"#]);
    refused.assert_fails(1, "analects: /etc/passwd: leads out of the folder\n");
    let unknown = sandbox.run(&["tool", "call", "raed_file", "{}"]);
    assert!(
        unknown.stderr.contains("did you mean read_file?"),
        "{}",
        unknown.stderr
    );
    let unreadable = sandbox.run(&["tool", "call", "read_file", "path=x"]);
    assert!(
        unreadable.stderr.contains("the arguments are no JSON"),
        "{}",
        unreadable.stderr
    );
}
