//! `edit` on message files: only the text of the cell changes, and `recover` has the old text.

use crate::rewind_and_fork::{FILE, file_with_tool_call, request_of_file, sandbox_with};
use crate::sandbox::{Sandbox, assert_success};
use crate::server::{Server, answer};

#[test]
fn recover_restores_the_text_before_an_edit() {
    let server = Server::new(vec![answer(&["fine"])]);
    let sandbox = sandbox_with(&server);
    let run = sandbox.run_with_stdin(&["edit", "a.msg.md", "1", "-"], "# %% seven times six?\n");
    assert_eq!(assert_success(&run), "1");
    assert_eq!(
        run.stderr,
        "to ask it again: analects rewind a.msg.md 1, then analects chat a.msg.md\n\
         to see the old text: analects recover a.msg.md\n"
    );
    let edited = FILE.replace("six times seven?", "\\# %% seven times six?");
    assert_eq!(sandbox.read("a.msg.md"), edited);
    sandbox
        .run(&["chat", "a.msg.md", "so?"])
        .assert_prints("fine\n");
    let request = server.request();
    assert!(request.contains("# %% seven times six?") && !request.contains("six times seven?"));
    assert!(
        request.contains("Forty-two.") && request.contains("Forty-eight."),
        "{request}"
    );
    let listed = sandbox.run(&["recover", "a.msg.md"]).stdout;
    assert!(listed.ends_with("  text  six times seven?\n"), "{listed}");
    let asked = sandbox.read("a.msg.md");
    assert_eq!(
        assert_success(&sandbox.run(&["recover", "a.msg.md", "1"])),
        "1"
    );
    let back = asked.replace("\\# %% seven times six?", "six times seven?");
    assert_eq!(sandbox.read("a.msg.md"), back);
}

/// Comments, all kinds of quotes, odd spaces and blank lines, and no newline at the end.
const ODD: &str = "---\n# mine\nagents: {coder: {models: [openai/tiny]}}\n---\nbefore\n\n\
    #  %%   A title  [^a]\n[^a]:   [markdown]  mood='bad'   x=1\n\nodd text\n\n\n\n\
    # %% [^b]\n\n[^b]: [markdown] custom=\"a  b\"\n\nold text\n\n\
    # %%% [^c]\n[^c]:  [coder]   cost=0.10\n\n\n  keep   this  \n\n# %%";

#[test]
fn edit_keeps_every_other_cell_byte_for_byte() {
    for ends in ["\n", "\r\n"] {
        let file = ODD.replace('\n', ends);
        let sandbox = Sandbox::new();
        sandbox.write("a.msg.md", &file);
        let run = sandbox.run(&["edit", "a.msg.md", "b", "--json", "new text"]);
        let json: serde_json::Value = serde_json::from_str(assert_success(&run)).unwrap();
        assert_eq!(json, serde_json::json!({ "cell": "b" }));
        assert_eq!(
            sandbox.read("a.msg.md"),
            file.replace("old text", "new text")
        );
        assert_success(&sandbox.run(&["recover", "a.msg.md", "b"]));
        assert_eq!(sandbox.read("a.msg.md"), file);
    }
}

#[test]
fn edit_keeps_the_cell_head_as_typed() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", ODD);
    assert_success(&sandbox.run(&["edit", "a.msg.md", "a", "new text"]));
    assert_eq!(
        sandbox.read("a.msg.md"),
        ODD.replace("odd text", "new text")
    );
    assert_success(&sandbox.run(&["recover", "a.msg.md", "a"]));
    assert_eq!(sandbox.read("a.msg.md"), ODD);
}

#[test]
fn the_newest_edit_is_sent_and_every_old_text_is_recoverable() {
    let system = "# %%% [^0]\n\n[^0]: [system]\n\nBe brief.\n\n# %% [^1]";
    let file = file_with_tool_call().replace("# %% [^1]", system);
    let cells = [
        ("0", "Be brief."),
        ("1", "six times seven?"),
        ("2", "Forty-two."),
        ("2.a.1", "sun"),
        ("3", "and eight?"),
        ("4", "Forty-eight."),
    ];
    for (cell, old) in cells {
        let sandbox = Sandbox::new();
        sandbox.write("a.msg.md", &file);
        let before = request_of_file(&sandbox);
        for text in ["first edit", "second edit", "third edit"] {
            assert_eq!(
                assert_success(&sandbox.run(&["edit", "a.msg.md", cell, text])),
                cell
            );
            assert_eq!(sandbox.read("a.msg.md"), file.replace(old, text), "{cell}");
            assert_eq!(
                request_of_file(&sandbox),
                before.replace(old, text),
                "{cell}"
            );
        }
        assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
        let texts = |sandbox: &Sandbox| -> Vec<_> {
            let records = sandbox.recoverable_records("a.msg.md").into_iter();
            records
                .map(|record| (record["name"].clone(), record["text"].clone()))
                .collect()
        };
        let name = |number: usize| serde_json::Value::from(format!("{cell}@{number}"));
        let expected = [
            (cell.into(), "second edit".into()),
            (name(2), "first edit".into()),
            (name(3), old.into()),
        ];
        assert_eq!(texts(&sandbox), expected);
        // The first text is restored, and the journal keeps the last one.
        assert_eq!(
            assert_success(&sandbox.run(&["recover", "a.msg.md", &format!("{cell}@3")])),
            cell
        );
        assert_eq!(sandbox.read("a.msg.md"), file, "{cell}");
        assert_eq!(request_of_file(&sandbox), before, "{cell}");
        assert_eq!(texts(&sandbox)[0], (cell.into(), "third edit".into()));
        assert_eq!(texts(&sandbox).len(), 3);
    }
}

#[test]
fn recover_restores_an_old_text_that_equals_another_answer() {
    let sandbox = Sandbox::new();
    let file = FILE.replace("Forty-eight.", "Forty-two.");
    sandbox.write("a.msg.md", &file);
    assert_success(&sandbox.run(&["edit", "a.msg.md", "2", "An edit."]));
    assert_eq!(
        assert_success(&sandbox.run(&["recover", "a.msg.md", "2"])),
        "2"
    );
    assert_eq!(sandbox.read("a.msg.md"), file);
}

#[test]
fn recover_lists_old_texts_by_any_path_to_the_file() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    let whole = sandbox.path("a.msg.md");
    let names = ["a.msg.md", "./a.msg.md", whole.to_str().unwrap()];
    for name in names {
        assert_success(&sandbox.run(&["edit", name, "1", &format!("named {name}")]));
    }
    for name in names {
        let listed = sandbox.run(&["recover", name]).stdout;
        assert_eq!(listed.lines().count(), 3, "{name}: {listed}");
        assert!(!listed.contains("(of "), "{name}: {listed}");
        assert!(
            listed.contains("1@3") && listed.contains("six times seven?"),
            "{listed}"
        );
    }
}

#[test]
fn an_edited_question_is_asked_again_and_stays_recoverable() {
    for (cell, old) in [("1", "six times seven?"), ("3", "and eight?")] {
        let server = Server::new(vec![answer(&["after the edit"])]);
        let sandbox = sandbox_with(&server);
        assert_success(&sandbox.run(&["edit", "a.msg.md", cell, "an edit"]));
        let run = sandbox.run(&["rewind", "a.msg.md", cell]);
        assert!(
            run.stderr.contains(&format!("continues from cell {cell};")),
            "{}",
            run.stderr
        );
        assert_success(&sandbox.run(&["chat", "a.msg.md", "--agent", "coder"]));
        let request = server.request();
        assert!(
            request.contains("an edit") && !request.contains("Forty-eight."),
            "{request}"
        );
        assert_success(&sandbox.run(&["recover", "a.msg.md", cell]));
        let sent = request_of_file(&sandbox);
        assert!(
            sent.contains(old) && sent.contains("after the edit"),
            "{cell}: {sent}"
        );
        assert!(
            !sent.contains("an edit") && !sent.contains("Forty-eight."),
            "{cell}: {sent}"
        );
        assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
    }
}

#[test]
fn an_edited_answer_keeps_its_tool_calls_and_followers() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", file_with_tool_call());
    let before = request_of_file(&sandbox);
    assert_success(&sandbox.run(&["edit", "a.msg.md", "2", "Let me look."]));
    let sent = request_of_file(&sandbox);
    assert_eq!(sent, before.replace("Forty-two.", "Let me look."));
    assert!(
        sent.contains("tool_calls") && sent.contains("Forty-eight."),
        "{sent}"
    );
}

#[test]
fn editing_a_hidden_cell_keeps_it_hidden_and_says_so() {
    for (cell, shown) in [("1", "1"), ("2", "2"), ("2.a.1", "2.a.1"), ("3", "3")] {
        let sandbox = Sandbox::new();
        sandbox.write("a.msg.md", file_with_tool_call());
        assert_success(&sandbox.run(&["drop", "a.msg.md", cell]));
        let run = sandbox.run(&["edit", "a.msg.md", cell, "new text"]);
        assert_eq!(assert_success(&run), cell);
        assert!(!request_of_file(&sandbox).contains("new text"), "{cell}");
        let told = format!(
            "cell {cell} is hidden from the model; analects restore a.msg.md {shown} shows it\n\
             to see the old text: analects recover a.msg.md\n"
        );
        assert_eq!(run.stderr, told);
        assert_success(&sandbox.run(&["restore", "a.msg.md", shown]));
        let sent = request_of_file(&sandbox);
        assert_eq!(sent.matches("new text").count(), 1, "{cell}: {sent}");
        assert_eq!(
            sent.matches("\"role\":\"tool\"").count(),
            1,
            "{cell}: {sent}"
        );
        assert_success(&sandbox.run(&["recover", "a.msg.md", cell]));
        assert_eq!(sandbox.read("a.msg.md"), file_with_tool_call(), "{cell}");
    }
}

#[test]
fn tool_calls_thinking_and_outputs_cannot_be_edited() {
    let sandbox = Sandbox::new();
    let thought = "# %%% [^2.think]\n\n[^2.think]: [coder] type=\"thinking\"\n\nhm\n\n";
    let code = "# %% [^c]\n\n[^c]: [code]\n\n```python\nprint(1)\n```\n\n\
                # %%% [^c.1]\n\n[^c.1]: [python]\n\nstdout> 1\n\n";
    let file = file_with_tool_call().replace("# %%% [^2]", &format!("{thought}# %%% [^2]"));
    let file = file.replace("# %% [^3]", &format!("{code}# %% [^3]"));
    sandbox.write("a.msg.md", &file);
    for (cell, why) in [
        ("2.a", "it is a tool call, which the model made"),
        ("2.think", "it is a thought of the model"),
        ("c.1", "it is what code printed"),
    ] {
        let told = format!("analects: a.msg.md: cell {cell} cannot be edited: {why}\n");
        sandbox
            .run(&["edit", "a.msg.md", cell, "x"])
            .assert_fails(1, &told);
    }
    // Code stays code.
    let run = sandbox.run(&["edit", "a.msg.md", "c", "x"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("hint: give a fenced code block"),
        "{}",
        run.stderr
    );
    assert_eq!(sandbox.read("a.msg.md"), file);
    assert!(
        sandbox.recoverable_records("a.msg.md").is_empty(),
        "nothing was taken out"
    );
    assert_success(&sandbox.run(&["edit", "a.msg.md", "c", "```python\nprint(2)\n```"]));
    assert_eq!(
        sandbox.read("a.msg.md"),
        file.replace("print(1)", "print(2)")
    );
}

#[test]
#[cfg(unix)]
fn hints_after_an_edit_work_for_every_kind_of_cell() {
    let system = "# %%% [^0]\n\n[^0]: [system]\n\nBe brief.\n\n# %% [^1]";
    let file = file_with_tool_call().replace("# %% [^1]", system)
        + "\n# %% [^5]\n\n[^5]: [markdown]\n\nopen\n";
    let from = "to ask it again: analects rewind a.msg.md";
    let behind = "to continue from there: analects rewind a.msg.md";
    let expected = [
        ("1", from, "Forty-two."),
        ("3", from, "Forty-eight."),
        ("5", "to ask it: analects chat a.msg.md\n", "open"),
        ("2", behind, "and eight?"),
        ("2.a.1", behind, "and eight?"),
        ("4", behind, "open"),
    ];
    for (cell, advice, gone) in expected {
        let server = Server::new(vec![answer(&["fine"])]);
        let sandbox = sandbox_with(&server);
        sandbox.write("a.msg.md", &file);
        let run = sandbox.run(&["edit", "a.msg.md", cell, "new text"]);
        assert_success(&run);
        assert!(run.stderr.starts_with(advice), "{cell}: {}", run.stderr);
        crate::rewind_and_fork::run_hint(&sandbox, &run.stderr)
            .last()
            .unwrap()
            .assert_prints("fine\n");
        let request = server.request();
        assert!(
            request.contains("new text") && !request.contains(gone),
            "{cell}: {request}"
        );
    }
    // After instructions or the last answer, there is nothing to ask.
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", &file[..file.find("\n# %% [^5]").unwrap()]);
    for cell in ["0", "4"] {
        let run = sandbox.run(&["edit", "a.msg.md", cell, "x"]);
        assert_success(&run);
        assert_eq!(
            run.stderr,
            "to see the old text: analects recover a.msg.md\n"
        );
    }
}
