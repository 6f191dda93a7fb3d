//! Wrong use and bad luck: one clear line, a hint, the documented exit code, and nothing lost.

use crate::sandbox::Sandbox;
use crate::server::{Server, Step, answer, error, piece, stream_head};

#[test]
fn no_model() {
    let sandbox = Sandbox::new();
    let expected = "analects: no model to ask\nhint: name one, such as -m openai/gpt-5-mini\n";
    sandbox.run(&["chat", "a.msg.md", "hi"]).assert_failure(2, expected);
    sandbox.run(&["chat", "hi"]).assert_failure(2, expected);
    assert!(!sandbox.path("a.msg.md").exists());
}

#[test]
fn no_key() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/gpt-5-mini", "hi"]);
    assert_eq!(run.code, Some(5));
    assert!(
        run.stderr.contains("OPENAI_API_KEY") && run.stderr.contains("hint: "),
        "{}",
        run.stderr
    );
    assert_eq!(run.stderr.lines().count(), 2);
    assert!(!sandbox.path("a.msg.md").exists());
}

#[test]
fn no_such_provider() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "nobody/x", "hi"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("nobody/x") && run.stderr.contains("openai/"), "{}", run.stderr);
}

#[test]
fn no_such_file() {
    let sandbox = Sandbox::new();
    sandbox.run(&["show", "a.msg.md"]).assert_failure(3, "analects: a.msg.md: not found\n");
    let json =
        "{\"error\":{\"hint\":null,\"kind\":\"not_found\",\"message\":\"a.msg.md: not found\"}}\n";
    sandbox.run(&["show", "--json", "a.msg.md"]).assert_failure(3, json);
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "replay:gone.sse", "hi"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("gone.sse"), "{}", run.stderr);
    let run = sandbox.run(&["chat", "no/folder/a.msg.md", "-m", "replay:x", "hi"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    sandbox.run(&["chat", "-c", "-m", "replay:x", "hi"]);
}

#[test]
fn nothing_to_ask() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.starts_with("analects: nothing to ask"), "{}", run.stderr);
    assert!(!sandbox.path("a.msg.md").exists());
}

#[test]
fn not_a_message_file() {
    let sandbox = Sandbox::new();
    sandbox.write("notes.txt", "mine");
    sandbox.write("notes.md", "mine");
    for name in ["notes.txt", "notes.md"] {
        let run = sandbox.run(&["chat", name, "-m", "openai/tiny", "hi"]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains("not a message file"), "{}", run.stderr);
        assert_eq!(sandbox.read(name), "mine");
    }
}

#[test]
fn a_file_that_is_not_utf8_is_not_written_to() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    sandbox.write("a.msg.md", b"# %%\n\n\xff\xfe\n");
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", "hi"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("a.msg.md:3:1: the bytes at offset 6 are not UTF-8"),
        "{}",
        run.stderr
    );
    assert_eq!(std::fs::read(sandbox.path("a.msg.md")).unwrap(), b"# %%\n\n\xff\xfe\n");
}

#[test]
fn an_unreachable_server_loses_no_prompt_and_asking_again_works() {
    let mut sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", "hi"]);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(run.stderr.starts_with("analects: cannot reach http://127.0.0.1:9"), "{}", run.stderr);
    assert!(run.stderr.contains("\nhint: "), "{}", run.stderr);
    assert_eq!(sandbox.texts("a.msg.md")[0], "hi");
    assert!(sandbox.messages("a.msg.md").messages[1].is_api_error_message);

    let server = Server::new(vec![answer(&["hello"])]);
    sandbox.set_server(&server.base_url);
    sandbox.run(&["chat", "a.msg.md"]).assert_answer("hello\n");
    assert!(!server.request().contains("cannot reach"), "errors are not sent");
    assert_eq!(sandbox.texts("a.msg.md").len(), 3);
}

#[test]
fn what_the_provider_says_is_passed_on() {
    let body =
        r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error"}}"#;
    let server = Server::new(vec![error("401 Unauthorized", body)]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let mut command = sandbox.command(&["chat", "a.msg.md", "-m", "openai/tiny", "hi"]);
    let output = command.env("OPENAI_API_KEY", "sk-very-secret").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{stderr}");
    assert!(stderr.contains("Incorrect API key provided"), "{stderr}");
    assert!(!stderr.contains("sk-very-secret") && !sandbox.read("a.msg.md").contains("sk-very"));
}

#[test]
fn a_second_writer_is_turned_away() {
    let server = Server::new(vec![vec![stream_head(), piece("wait"), Step::Hang]]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let mut child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", "one"]);
    sandbox.wait_for("a.msg.md", "wait");
    let run = sandbox.run(&["chat", "a.msg.md", "two"]);
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(run.stderr.contains("another analects is writing to this file"), "{}", run.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(sandbox.texts("a.msg.md"), ["one", "wait"]);
}

#[test]
fn a_file_cannot_name_a_recording() {
    let sandbox = Sandbox::new();
    sandbox.write("secret", "data: x\n\n");
    sandbox.write("a.msg.md", "# %% x[^1]\n\n[^1]: [agent] name=\"x\" models=\"replay:secret\"\n");
    let run = sandbox.run(&["chat", "a.msg.md", "hi"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("hint: "), "{}", run.stderr);
}

#[test]
fn wrong_options_are_explained() {
    let sandbox = Sandbox::new();
    for args in [&["chat", "--modle", "x"][..], &["shwo"], &[], &["show"]] {
        let run = sandbox.run(args);
        assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{args:?}");
        assert!(run.stderr.contains("Usage: analects"), "{}", run.stderr);
    }
    let run = sandbox.run(&["chat", "a.msg.md", "-c", "-m", "replay:x", "hi"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}
