//! Wrong use and failures: one clear line, a hint, the documented exit code, and nothing lost.

use crate::sandbox::Sandbox;
use crate::server::{Server, answer, error};

#[test]
fn no_model_is_explained() {
    let sandbox = Sandbox::new();
    sandbox.run(&["chat", "a.msg.md", "hi"]).assert_no_model();
    sandbox.run(&["chat", "hi"]).assert_no_model();
    sandbox.run(&["ask", "hi"]).assert_no_model();
    assert_eq!(sandbox.message_texts("a.msg.md"), ["hi"]);
}

#[test]
fn a_missing_key_is_explained() {
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
fn an_unknown_provider_is_explained() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "nobody/x", "hi"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr.contains("nobody/x") && run.stderr.contains("provider/NAME"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_missing_file_is_explained() {
    let sandbox = Sandbox::new();
    sandbox.run(&["show", "a.msg.md"]).assert_fails(
        3,
        "analects: a.msg.md: not found\nhint: check the name; chat creates a new file\n",
    );
    let json = "{\"error\":{\"hint\":\"check the name; chat creates a new file\",\"kind\":\"not_found\",\"message\":\"a.msg.md: not found\"}}\n";
    sandbox
        .run(&["show", "--json", "a.msg.md"])
        .assert_fails(3, json);
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "replay:gone.sse", "hi"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("gone.sse"), "{}", run.stderr);
    let run = sandbox.run(&["chat", "no/folder/a.msg.md", "-m", "replay:x", "hi"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    for verb in ["add", "new"] {
        let args: &[&str] = if verb == "add" { &["hi"] } else { &[] };
        let run = sandbox.run(&[&[verb, "no/folder/a.msg.md"], args].concat());
        run.assert_fails(
            3,
            "analects: no/folder: not found\nhint: make the folder first\n",
        );
    }
}

#[test]
fn a_recording_is_checked_before_anything_is_written() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "replay:gone.sse", "hi"]);
    run.assert_fails(
        3,
        "analects: cannot read gone.sse: no such file or directory\n",
    );
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "replay:folder", "hi"]);
    run.assert_fails(1, "analects: cannot read folder: is a directory\n");
    assert!(!sandbox.path("a.msg.md").exists());
    assert_eq!(
        sandbox.run(&["chat", "-m", "replay:folder", "hi"]).code,
        Some(1)
    );
    assert!(!sandbox.path("home/data").exists());
}

#[test]
fn continue_without_a_conversation_is_explained() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    let expected = "analects: no conversation in this folder yet\n\
                    hint: start one, such as analects chat \"Hello\", or see analects session list --all\n";
    sandbox.run(&["chat", "-c", "hi"]).assert_fails(3, expected);
    sandbox
        .run(&["chat", "-c", "-m", "openai/tiny", "hi"])
        .assert_fails(3, expected);
}

#[test]
fn continue_without_a_model_is_explained() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "r.sse",
        "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n",
    );
    sandbox
        .run(&["chat", "-m", "replay:r.sse", "hi"])
        .assert_prints("x\n");
    sandbox.run(&["chat", "-c", "hi"]).assert_no_model();
}

#[test]
fn an_unwritable_home_is_explained() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    sandbox.write("home", "a file where a folder should be");
    for args in [
        &["chat", "a.msg.md", "-m", "openai/tiny", "hi"][..],
        &["chat", "-m", "openai/x", "hi"],
    ] {
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        let hint = "\nhint: set ANALECTS_HOME to a folder that you can write to\n";
        assert!(
            run.stderr.ends_with(&format!("not a directory{hint}")),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn nothing_to_ask_is_explained() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.starts_with("analects: nothing to ask"),
        "{}",
        run.stderr
    );
    assert!(!sandbox.path("a.msg.md").exists());

    sandbox.write("a.msg.md", "Is this a question?\n");
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(run.code, Some(2));
    let hint = "hint: text before the first # %% is not sent; put a line # %% above it\n";
    assert!(
        run.stderr.starts_with("analects: nothing to ask"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.ends_with(hint), "{}", run.stderr);
}

#[test]
fn a_file_of_another_kind_is_explained() {
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
fn a_file_that_is_not_utf8_is_not_changed() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    sandbox.write("a.msg.md", b"# %%\n\n\xff\xfe\n");
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", "hi"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("a.msg.md:3:1: the bytes at offset 6 are not UTF-8"),
        "{}",
        run.stderr
    );
    assert_eq!(
        std::fs::read(sandbox.path("a.msg.md")).unwrap(),
        b"# %%\n\n\xff\xfe\n"
    );
}

#[test]
fn an_unreachable_server_keeps_the_prompt_for_a_retry() {
    let mut sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", "hi"]);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(run.stderr.contains("; trying again in "), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("\nanalects: cannot reach http://127.0.0.1:9"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("\nhint: "), "{}", run.stderr);
    assert_eq!(sandbox.message_texts("a.msg.md")[0], "hi");
    assert!(sandbox.messages("a.msg.md").messages[1].is_api_error_message);
    let file = sandbox.read("a.msg.md");
    assert!(file.contains("\ncannot reach the provider"), "{file}");
    assert!(
        !file.contains("127.0.0.1"),
        "an address of this machine has no place in the file"
    );

    let server = Server::new(vec![answer(&["hello"])]);
    sandbox.set_server(&server.base_url);
    sandbox.run(&["chat", "a.msg.md"]).assert_prints("hello\n");
    assert!(
        !server.request().contains("cannot reach"),
        "errors are not sent"
    );
    assert_eq!(sandbox.message_texts("a.msg.md").len(), 3);
}

#[test]
fn provider_errors_are_passed_on() {
    let body =
        r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error"}}"#;
    let server = Server::new(vec![error("401 Unauthorized", body)]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let mut command = sandbox.command(&["chat", "a.msg.md", "-m", "openai/tiny", "hi"]);
    let output = command
        .env("OPENAI_API_KEY", "sk-very-secret")
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{stderr}");
    assert!(stderr.contains("Incorrect API key provided"), "{stderr}");
    assert!(
        sandbox
            .read("a.msg.md")
            .contains("Incorrect API key provided")
    );
    assert!(!stderr.contains("sk-very-secret") && !sandbox.read("a.msg.md").contains("sk-very"));
}

#[test]
fn a_file_cannot_name_a_recording() {
    let sandbox = Sandbox::new();
    sandbox.write("secret", "data: x\n\n");
    sandbox.write(
        "a.msg.md",
        "# %% x[^1]\n\n[^1]: [agent] name=\"x\" models=\"replay:secret\"\n",
    );
    let run = sandbox.run(&["chat", "a.msg.md", "hi"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("hint: "), "{}", run.stderr);
}

#[test]
fn wrong_options_are_explained() {
    let sandbox = Sandbox::new();
    for (args, usage) in [
        (
            &["chat", "--modle", "x"][..],
            "usage: analects chat [OPTIONS]",
        ),
        (
            &["shwo"],
            "usage: analects <COMMAND>; see analects --help\n",
        ),
        (
            &["show"],
            "usage: analects show [OPTIONS] <FILE> [CELL]; see analects show --help\n",
        ),
    ] {
        let run = sandbox.run(args);
        assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{args:?}");
        let (message, hint) = run.stderr.split_once('\n').unwrap();
        assert!(message.starts_with("analects: "), "{}", run.stderr);
        assert!(
            hint.starts_with("hint: ") && hint.contains(usage),
            "{}",
            run.stderr
        );
        assert_eq!(run.stderr.lines().count(), 2);
    }
    assert!(
        sandbox
            .run(&["chat", "--modle", "x"])
            .stderr
            .contains("'--model'")
    );
    let run = sandbox.run(&["chat", "a.msg.md", "-c", "-m", "replay:x", "hi"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[test]
fn wrong_options_are_explained_in_json() {
    let run = Sandbox::new().run(&["show", "--json", "a", "1", "b"]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{}", run.stderr);
    let error: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(error["error"]["kind"], "usage");
    assert_eq!(error["error"]["message"], "unexpected argument 'b' found");
}

#[test]
fn help_goes_to_stdout_only_on_request() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&[]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""));
    assert!(
        run.stderr.contains("\nUsage: analects <COMMAND>\n"),
        "{}",
        run.stderr
    );
    for args in [&["--help"][..], &["show", "--help"], &["--version"]] {
        let run = sandbox.run(args);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{args:?}");
        assert!(run.stdout.contains("analects"), "{}", run.stdout);
    }
}
