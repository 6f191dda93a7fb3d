//! `drop` and `restore` on message files: a dropped cell is not sent, and comes back unchanged.

use crate::rewind_and_fork::{FILE, file_with_tool_call, request_of_file, sandbox_with};
use crate::sandbox::{Sandbox, assert_success};
use crate::server::{Server, answer};

#[test]
fn a_dropped_cell_is_not_sent_until_restored() {
    let server = Server::new(vec![answer(&["1"]), answer(&["2"])]);
    let sandbox = sandbox_with(&server);
    let run = sandbox.run(&["drop", "a.msg.md", "2"]);
    assert_eq!(assert_success(&run), "2");
    assert_eq!(run.stderr, "to undo this: analects restore a.msg.md 2\n");
    let hidden = FILE.replace("[^2]: [coder]", "[^2]: [coder] history=\"none\"");
    assert_eq!(sandbox.read("a.msg.md"), hidden);
    sandbox.run(&["drop", "a.msg.md", "2"]).assert_fails(
        1,
        "analects: a.msg.md: cell 2 is hidden already\n\
         hint: analects restore a.msg.md 2 shows it\n",
    );
    sandbox.run(&["chat", "a.msg.md", "x"]).assert_prints("1\n");
    assert!(!server.request().contains("Forty-two."));
    let run = sandbox.run(&["restore", "a.msg.md", "2", "--json"]);
    let json: serde_json::Value = serde_json::from_str(assert_success(&run)).unwrap();
    assert_eq!(json, serde_json::json!({ "cells": ["2"], "hidden": false }));
    assert!(sandbox.read("a.msg.md").starts_with(FILE));
    sandbox.run(&["chat", "a.msg.md", "y"]).assert_prints("2\n");
    assert!(server.request().contains("Forty-two."));
    let run = sandbox.run(&["restore", "a.msg.md", "2"]);
    run.assert_fails(1, "analects: a.msg.md: cell 2 is not hidden\n");
}

#[test]
fn restore_brings_every_kind_of_cell_back_byte_for_byte() {
    let system = "# %%% [^0]\n\n[^0]: [system]\n\nBe brief.\n\n# %% [^1]";
    let file = file_with_tool_call().replace("# %% [^1]", system);
    let cells = [
        ("0", "Be brief."),
        ("1", "six times seven?"),
        ("2", "Forty-two."),
        ("2.a", "\"sun\""),
        ("2.a.1", "\"sun\""),
        ("3", "and eight?"),
        ("4", "Forty-eight."),
    ];
    for (cell, text) in cells {
        let sandbox = Sandbox::new();
        sandbox.write("a.msg.md", &file);
        let before = request_of_file(&sandbox);
        assert!(before.contains(text), "{before}");
        let run = sandbox.run(&["drop", "a.msg.md", cell]);
        let changed = assert_success(&run).to_string();
        assert_eq!(
            run.stderr,
            format!("to undo this: analects restore a.msg.md {cell}\n")
        );
        let sent = request_of_file(&sandbox);
        assert!(!sent.contains(text), "{cell}: {sent}");
        assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
        assert_eq!(
            assert_success(&sandbox.run(&["restore", "a.msg.md", cell])),
            changed
        );
        assert_eq!(sandbox.read("a.msg.md"), file, "{cell}");
        assert_eq!(
            sandbox.run(&["restore", "a.msg.md", cell]).code,
            Some(1),
            "{cell}"
        );
    }
}

#[test]
fn dropping_a_tool_result_drops_its_call_too() {
    // Even a result with its own `history=include`.
    let stubborn =
        file_with_tool_call().replace("[^2.a.1]: [tool]", "[^2.a.1]: [tool] history=\"include\"");
    for (cell, file) in [
        ("2.a", file_with_tool_call()),
        ("2.a.1", file_with_tool_call()),
        ("2.a", stubborn.clone()),
        ("2.a.1", stubborn),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("a.msg.md", &file);
        let before = request_of_file(&sandbox);
        assert_eq!(
            assert_success(&sandbox.run(&["drop", "a.msg.md", cell])),
            "2.a"
        );
        let call = "[^2.a]: [tool] history=\"none\" name=\"w\"";
        let hidden = file.replace("[^2.a]: [tool] name=\"w\"", call);
        assert_eq!(sandbox.read("a.msg.md"), hidden);
        let sent = request_of_file(&sandbox);
        assert!(
            !sent.contains("tool_calls") && !sent.contains("\"role\":\"tool\""),
            "{sent}"
        );
        assert!(
            sent.contains("Forty-two.") && !sent.contains("sun"),
            "{sent}"
        );
        let shown = sandbox.show_json("a.msg.md");
        let cells = shown["cells"].as_array().unwrap().iter();
        assert_eq!(
            cells.filter(|cell| cell["unseen"] == "hidden").count(),
            2,
            "{shown}"
        );
        assert_eq!(
            assert_success(&sandbox.run(&["restore", "a.msg.md", cell])),
            "2.a"
        );
        assert_eq!(sandbox.read("a.msg.md"), file);
        assert_eq!(request_of_file(&sandbox), before);
    }
}

#[test]
fn dropping_code_drops_its_output_too() {
    let sandbox = Sandbox::new();
    let code = "# %% [^c]\n\n[^c]: [code]\n\n```python\nprint(1)\n```\n\n\
                # %%% [^c.1]\n\n[^c.1]: [python]\n\nstdout> 1\n\n# %% [^3]";
    let file = FILE.replace("# %% [^3]", code);
    sandbox.write("a.msg.md", &file);
    assert_eq!(
        assert_success(&sandbox.run(&["drop", "a.msg.md", "c"])),
        "c"
    );
    let sent = request_of_file(&sandbox);
    assert!(
        !sent.contains("print(1)") && !sent.contains("stdout> 1"),
        "{sent}"
    );
    assert_eq!(
        assert_success(&sandbox.run(&["restore", "a.msg.md", "c"])),
        "c"
    );
    assert_eq!(sandbox.read("a.msg.md"), file);
    // The output can be dropped alone.
    assert_eq!(
        assert_success(&sandbox.run(&["drop", "a.msg.md", "c.1"])),
        "c.1"
    );
    let sent = request_of_file(&sandbox);
    assert!(
        sent.contains("print(1)") && !sent.contains("stdout> 1"),
        "{sent}"
    );
}

#[test]
fn dropping_an_answer_reopens_its_question() {
    let server = Server::new(vec![answer(&["48!"])]);
    let sandbox = sandbox_with(&server);
    assert_success(&sandbox.run(&["drop", "a.msg.md", "4"]));
    sandbox.run(&["chat", "a.msg.md"]).assert_prints("48!\n");
    let request = server.request();
    assert!(
        request.contains("and eight?") && !request.contains("Forty-eight."),
        "{request}"
    );
}

#[test]
fn a_restored_cell_is_sent_as_its_own_summary() {
    let sandbox = Sandbox::new();
    let summary = "[^1]: [markdown] history=summary summary=\"about six\"";
    let file = FILE.replace("[^1]: [markdown]", summary);
    sandbox.write("a.msg.md", &file);
    let before = request_of_file(&sandbox);
    assert!(
        before.contains("about six") && !before.contains("six times seven?"),
        "{before}"
    );
    for _ in 0..2 {
        assert_success(&sandbox.run(&["drop", "a.msg.md", "1"]));
        assert!(!request_of_file(&sandbox).contains("about six"));
        assert!(!request_of_file(&sandbox).contains("six times seven?"));
        // Sending it for one question sends no more of it than before.
        let args = [
            "context",
            "a.msg.md",
            "--agent",
            "coder",
            "--request",
            "-i",
            "1-",
        ];
        assert_eq!(sandbox.run(&args).stdout, before);
        assert_success(&sandbox.run(&["restore", "a.msg.md", "1"]));
        assert_eq!(request_of_file(&sandbox), before);
    }
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
    // Even if a person had changed `history` to `include` by hand.
    let shown = sandbox
        .read("a.msg.md")
        .replace("history=\"summary\"", "history=\"include\"");
    sandbox.write("a.msg.md", shown);
    assert!(request_of_file(&sandbox).contains("six times seven?"));
    assert_success(&sandbox.run(&["drop", "a.msg.md", "1"]));
    assert_success(&sandbox.run(&["restore", "a.msg.md", "1"]));
    assert_eq!(request_of_file(&sandbox), before);
}

#[test]
fn agents_cannot_be_dropped_restored_or_edited() {
    let sandbox = Sandbox::new();
    let agent = "# %% [^9]\n\n[^9]: [agent] name=\"x\" models=\"openai/tiny\"\n";
    let file = format!("{FILE}\n{agent}");
    sandbox.write("a.msg.md", &file);
    for args in [
        &["drop", "a.msg.md", "9"][..],
        &["restore", "a.msg.md", "9"],
        &["edit", "a.msg.md", "9", "x"],
    ] {
        sandbox.run(args).assert_fails(
            1,
            "analects: a.msg.md: cell 9 is no message\nhint: name a message or an answer\n",
        );
    }
    assert_eq!(sandbox.read("a.msg.md"), file);
}
