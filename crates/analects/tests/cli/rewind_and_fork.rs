//! `rewind` and `fork` on message files: no text is lost, no other cell changes a byte, and the model sees the
//! chosen branch.

use serde_json::Value;

use crate::sandbox::{CommandOutput, Sandbox, assert_success};
use crate::server::{Server, answer};

pub(crate) const FILE: &str = "---\nagents:\n  coder:\n    models: [openai/tiny]\n---\n\n\
    # %% [^1]\n\n[^1]: [markdown]\n\nsix times seven?\n\n\
    # %%% [^2]\n\n[^2]: [coder]\n\nForty-two.\n\n\
    # %% [^3]\n\n[^3]: [markdown]\n\nand eight?\n\n\
    # %%% [^4]\n\n[^4]: [coder]\n\nForty-eight.\n";

pub(crate) fn sandbox_with(server: &Server) -> Sandbox {
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", FILE);
    sandbox
}

/// The request that would be sent for the file.
pub(crate) fn request_of_file(sandbox: &Sandbox) -> String {
    let run = sandbox.run(&["context", "a.msg.md", "--agent", "coder", "--request"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout
}

const CALL: &str = "# %%% [^2.a]\n\n[^2.a]: [tool] name=\"w\"\n\n<invoke name=\"w\"></invoke>\n\n\
    # %%% [^2.a.1]\n\n[^2.a.1]: [tool] status=\"success\"\n\nsun\n\n";

pub(crate) fn file_with_tool_call() -> String {
    FILE.replace("# %% [^3]", &format!("{CALL}# %% [^3]"))
}

/// The name, parent and text of each cell that has text.
fn named_cells(sandbox: &Sandbox) -> Vec<[String; 3]> {
    let shown = sandbox.show_json("a.msg.md");
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let cells = shown["cells"].as_array().unwrap().iter();
    let cells = cells.filter(|cell| cell["content"] != "");
    let columns = |cell: &Value| {
        [
            word(&cell["name"]),
            word(&cell["attributes"]["parent"]),
            word(&cell["content"]),
        ]
    };
    cells.map(columns).collect()
}

/// The name and parent of the empty cell at the end.
fn last_empty_cell(sandbox: &Sandbox) -> (String, Option<String>) {
    let shown = sandbox.show_json("a.msg.md");
    let last = shown["cells"].as_array().unwrap().last().unwrap();
    assert_eq!(last["content"], "", "{last}");
    let parent = last["attributes"]["parent"].as_str().map(str::to_string);
    (last["name"].as_str().unwrap().to_string(), parent)
}

#[test]
fn rewind_asks_the_question_again_and_says_how_to_return() {
    let server = Server::new(vec![answer(&["42."]), answer(&["56."])]);
    let sandbox = sandbox_with(&server);
    let run = sandbox.run(&["rewind", "a.msg.md", "1"]);
    let told = "a.msg.md continues from cell 1; to undo this: analects rewind a.msg.md 4\n";
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (Some(0), "", told));
    let file = sandbox.read("a.msg.md");
    assert!(file.starts_with(FILE), "{file}");
    assert_eq!(last_empty_cell(&sandbox), ("5".into(), Some("1".into())));
    sandbox.run(&["chat", "a.msg.md"]).assert_prints("42.\n");
    let request = server.request();
    assert!(
        request.contains("six times seven?") && !request.contains("Forty"),
        "{request}"
    );
    assert!(!request.contains("and eight?"), "{request}");
    // The answer replaced the mark, and follows the question.
    assert_eq!(named_cells(&sandbox)[4], ["5", "1", "42."]);
    assert!(sandbox.read("a.msg.md").starts_with(FILE));
    // The hint leads back to everything.
    assert_success(&sandbox.run(&["rewind", "a.msg.md", "4"]));
    sandbox
        .run(&["chat", "a.msg.md", "times", "eight?"])
        .assert_prints("56.\n");
    let request = server.request();
    for said in [
        "six times seven?",
        "Forty-two.",
        "and eight?",
        "Forty-eight.",
        "times eight?",
    ] {
        assert!(request.contains(said), "{request}");
    }
    assert!(!request.contains("\"42.\""), "{request}");
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
}

#[test]
fn a_prompt_after_rewind_is_sent_with_its_branch_only() {
    let server = Server::new(vec![answer(&["Fifty-six."]), answer(&["Sixty-three."])]);
    let sandbox = sandbox_with(&server);
    assert_success(&sandbox.run(&["rewind", "a.msg.md", "2"]));
    assert_eq!(last_empty_cell(&sandbox), ("5".into(), Some("2".into())));
    sandbox
        .run(&["chat", "a.msg.md", "times eight?"])
        .assert_prints("Fifty-six.\n");
    let request = server.request();
    for said in ["six times seven?", "Forty-two.", "times eight?"] {
        assert!(request.contains(said), "{said}: {request}");
    }
    assert!(
        !request.contains("and eight?") && !request.contains("Forty-eight."),
        "{request}"
    );
    let after = named_cells(&sandbox);
    assert_eq!(after[4], ["5", "2", "times eight?"]);
    assert_eq!(after[5][2], "Fifty-six.");
    assert!(sandbox.read("a.msg.md").starts_with(FILE));
    // The next cell follows that one without a mark.
    sandbox
        .run(&["chat", "a.msg.md", "times nine?"])
        .assert_prints("Sixty-three.\n");
    let request = server.request();
    assert!(
        request.contains("Fifty-six.") && request.contains("times nine?"),
        "{request}"
    );
    assert!(
        !request.contains("and eight?") && !request.contains("Forty-eight."),
        "{request}"
    );
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
}

#[test]
fn new_cells_after_rewind_follow_the_chosen_cell() {
    for by_verb in [false, true] {
        let server = Server::new(vec![answer(&["Fifty-six."])]);
        let sandbox = sandbox_with(&server);
        assert_success(&sandbox.run(&["rewind", "a.msg.md", "2"]));
        if by_verb {
            assert_eq!(
                assert_success(&sandbox.run(&["add", "a.msg.md", "times eight?"])),
                "5"
            );
        } else {
            let file = sandbox.read("a.msg.md");
            sandbox.write("a.msg.md", format!("{file}\ntimes eight?\n"));
        }
        assert_eq!(named_cells(&sandbox)[4], ["5", "2", "times eight?"]);
        sandbox
            .run(&["chat", "a.msg.md"])
            .assert_prints("Fifty-six.\n");
        let request = server.request();
        assert!(
            request.contains("Forty-two.") && request.contains("times eight?"),
            "{request}"
        );
        assert!(
            !request.contains("and eight?") && !request.contains("Forty-eight."),
            "{request}"
        );
    }
}

#[test]
fn an_empty_parent_starts_before_the_first_message() {
    let server = Server::new(vec![answer(&["Fine."])]);
    let sandbox = sandbox_with(&server);
    let mark = "\n# %% [^5]\n\n[^5]: [markdown] parent=\"\"\n";
    sandbox.write("a.msg.md", format!("{FILE}{mark}"));
    sandbox
        .run(&["chat", "a.msg.md", "anew?"])
        .assert_prints("Fine.\n");
    let request = server.request();
    assert!(
        request.contains("anew?") && !request.contains("six times seven?"),
        "{request}"
    );
    assert!(!request.contains("Forty"), "{request}");
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
}

#[test]
fn the_last_of_several_rewinds_applies() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    let whole = request_of_file(&sandbox);
    assert_success(&sandbox.run(&["rewind", "a.msg.md", "1"]));
    let to_one = request_of_file(&sandbox);
    assert_success(&sandbox.run(&["rewind", "a.msg.md", "2"]));
    let to_two = request_of_file(&sandbox);
    assert!(
        to_two.contains("Forty-two.") && !to_one.contains("Forty-two."),
        "{to_two}"
    );
    let run = sandbox.run(&["rewind", "a.msg.md", "1"]);
    let told = "a.msg.md continues from cell 1; to undo this: analects rewind a.msg.md 2\n";
    assert_eq!((assert_success(&run), &*run.stderr), ("", told));
    assert_eq!(request_of_file(&sandbox), to_one);
    assert_eq!(last_empty_cell(&sandbox), ("5".into(), Some("1".into())));
    assert_eq!(sandbox.read("a.msg.md").matches("# %% ").count(), 3);
    // At the last cell, there is no mark.
    assert_success(&sandbox.run(&["rewind", "a.msg.md", "4"]));
    assert_eq!(request_of_file(&sandbox), whole);
    assert_eq!(last_empty_cell(&sandbox), ("5".into(), None));
    let run = sandbox.run(&["rewind", "a.msg.md", "4"]);
    run.assert_fails(1, "analects: a.msg.md: nothing comes after cell 4\n");
}

#[test]
fn rewinding_to_an_answer_includes_its_tool_results() {
    for cell in ["2", "2.a", "2.a.1"] {
        let sandbox = Sandbox::new();
        sandbox.write("a.msg.md", file_with_tool_call());
        assert_success(&sandbox.run(&["rewind", "a.msg.md", cell]));
        assert_eq!(
            last_empty_cell(&sandbox),
            ("5".into(), Some("2.a.1".into())),
            "{cell}"
        );
        let sent = request_of_file(&sandbox);
        assert!(
            sent.contains("\"sun\"") && !sent.contains("and eight?"),
            "{cell}: {sent}"
        );
        assert_success(&sandbox.run(&["fork", "a.msg.md", "--at", cell, "-o", "b.msg.md"]));
        let copied = sandbox.message_texts("b.msg.md");
        assert_eq!(copied.len(), 3, "{cell}: {copied:?}");
    }
}

#[test]
fn fork_writes_a_new_file_and_overwrites_nothing() {
    let server = Server::new(vec![answer(&["else"])]);
    let sandbox = sandbox_with(&server);
    assert_eq!(
        assert_success(&sandbox.run(&["fork", "a.msg.md", "--at", "2"])),
        "a.fork-1.msg.md"
    );
    let end = FILE.find("# %% [^3]").unwrap();
    // The copy ends with an answer, so it gets an empty cell for the next question.
    let with_cell = format!("{}# %%\n", &FILE[..end]);
    assert_eq!(sandbox.read("a.fork-1.msg.md"), with_cell);
    assert_eq!(
        assert_success(&sandbox.run(&["fork", "a.msg.md"])),
        "a.fork-2.msg.md"
    );
    assert_eq!(sandbox.read("a.fork-2.msg.md"), FILE);
    let over = ["fork", "a.msg.md", "--at", "1", "-o", "a.fork-2.msg.md"];
    let run = sandbox.run(&over);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("this file already exists"),
        "{}",
        run.stderr
    );
    assert_eq!(sandbox.read("a.fork-2.msg.md"), FILE);
    assert_success(&sandbox.run(&[&over[..], &["--force"]].concat()));
    assert!(!sandbox.read("a.fork-2.msg.md").contains("Forty-two."));
    sandbox
        .run(&["chat", "a.fork-1.msg.md", "something"])
        .assert_prints("else\n");
    assert_eq!(sandbox.read("a.msg.md"), FILE);
    for wrong in ["a.msg.md", "./a.msg.md", "b.md", "b.txt"] {
        let run = sandbox.run(&["fork", "a.msg.md", "-o", wrong, "--force"]);
        assert_eq!(run.code, Some(2), "{wrong}: {}", run.stderr);
    }
    assert_eq!(sandbox.read("a.msg.md"), FILE);
}

#[test]
fn wrong_cells_and_files_change_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    sandbox.write("bad.msg.md", b"# %% [^1]\n\n[^1]: [markdown]\n\n\xff\n");
    sandbox.write("plain.md", "# Notes\n");
    for (verb, more) in [
        ("rewind", &[][..]),
        ("drop", &[]),
        ("restore", &[]),
        ("edit", &["x"]),
    ] {
        let run = |file: &str, cell: &str| sandbox.run(&[&[verb, file, cell], more].concat());
        let unknown = run("a.msg.md", "17");
        assert_eq!(unknown.code, Some(3), "{verb}: {}", unknown.stderr);
        assert!(
            unknown.stderr.contains("a.msg.md: there is no cell 17"),
            "{}",
            unknown.stderr
        );
        assert_eq!(run("nowhere.msg.md", "1").code, Some(3), "{verb}");
        assert!(!sandbox.path("nowhere.msg.md").exists());
        assert_eq!(run("bad.msg.md", "1").code, Some(1), "{verb}");
        assert_ne!(run("plain.md", "1").code, Some(0), "{verb}");
    }
    assert_eq!(sandbox.run(&["rewind", "a.msg.md", "4"]).code, Some(1));
    assert_eq!(sandbox.run(&["edit", "a.msg.md", "1", " "]).code, Some(2));
    assert_eq!(sandbox.read("a.msg.md"), FILE);
    assert_eq!(sandbox.read("plain.md"), "# Notes\n");
}

#[test]
fn rewind_and_edit_work_in_a_message_section() {
    let sandbox = Sandbox::new();
    let head = "---\nmessage_section: Talk\n---\n\n# Mine\n\ntext\n\n## Talk\n\n";
    let file = format!("{head}### %%\n\none\n\n### %%% [^2]\n\n[^2]: [x]\n\ntwo\n");
    sandbox.write("notes.md", &file);
    assert_success(&sandbox.run(&["edit", "notes.md", "1", "uno"]));
    // The journal refers to the cell by its name, so the cell now has an id.
    let edited = file.replace("### %%\n\none", "### %% [^1]\n\n[^1]: [markdown]\n\nuno");
    assert_eq!(sandbox.read("notes.md"), edited);
    assert_success(&sandbox.run(&["rewind", "notes.md", "1"]));
    let rewound = sandbox.read("notes.md");
    assert!(
        rewound.starts_with(&format!("{edited}\n### %% [^3]\n")),
        "{rewound}"
    );
    assert_eq!(
        assert_success(&sandbox.run(&["fork", "notes.md", "--at", "1"])),
        "notes.fork-1.md"
    );
    assert!(
        sandbox
            .read("notes.fork-1.md")
            .ends_with("[^1]: [markdown]\n\nuno\n\n")
    );
    assert_eq!(sandbox.run(&["check", "notes.md"]).code, Some(0));
}

#[test]
fn drop_and_edit_take_one_cell_at_a_time() {
    let sandbox = Sandbox::new();
    let cells = "# %% [^1]\n\n[^1]: [markdown]\n\none\n\n# %% [^2]\n\n[^2]: [markdown]\n\ntwo\n";
    sandbox.write("a.msg.md", cells);
    for list in ["1-2", "1,2", "#1-#2"] {
        for args in [
            &["drop", "a.msg.md", list][..],
            &["edit", "a.msg.md", list, "x"],
        ] {
            let run = sandbox.run(args);
            assert_eq!(run.code, Some(1), "{args:?}: {}", run.stderr);
            assert!(run.stderr.contains("names several cells"), "{}", run.stderr);
        }
    }
    assert_eq!(sandbox.read("a.msg.md"), cells);
    let run = sandbox.run(&["drop", "a.msg.md", "#2"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        sandbox.show_json("a.msg.md")["cells"][1]["history"],
        "exclude"
    );
}

/// The commands that a remark tells, as a shell would read them, without the name of the program.
#[cfg(unix)]
pub(crate) fn told(stderr: &str) -> Vec<Vec<String>> {
    let line = stderr
        .lines()
        .find(|line| line.contains("analects "))
        .unwrap_or_default();
    let commands = line.split("analects ").skip(1);
    let words = |command: &str| {
        let command = command.trim_end_matches(", then ");
        let shell = format!("printf '%s\\n' {command}");
        let ran = std::process::Command::new("sh")
            .args(["-c", &shell])
            .output()
            .unwrap();
        let words = String::from_utf8(ran.stdout).unwrap();
        words.lines().map(str::to_string).collect()
    };
    commands.map(words).collect()
}

#[cfg(unix)]
#[track_caller]
pub(crate) fn run_hint(sandbox: &Sandbox, stderr: &str) -> Vec<CommandOutput> {
    let commands = told(stderr);
    let run = |command: &Vec<String>| {
        let args: Vec<&str> = command.iter().map(String::as_str).collect();
        let run = sandbox.run(&args);
        assert_success(&run);
        run
    };
    commands.iter().map(run).collect()
}

#[test]
#[cfg(unix)]
fn hints_can_be_pasted_into_a_shell() {
    for name in ["my talk.msg.md", "-x.msg.md", "it's $HOME.msg.md"] {
        let given = if name.starts_with('-') {
            format!("./{name}")
        } else {
            name.to_string()
        };
        for file in [name, &given] {
            let sandbox = Sandbox::new();
            sandbox.write(name, FILE);
            let run = sandbox.run(&["rewind", "--", file, "1"]);
            assert_success(&run);
            assert!(sandbox.read(name).contains("parent="), "{name}");
            run_hint(&sandbox, &run.stderr);
            assert!(!sandbox.read(name).contains("parent="), "{name}");
            let before = sandbox.read(name);
            let run = sandbox.run(&["drop", "--", file, "2"]);
            assert_success(&run);
            assert!(sandbox.read(name).contains("history=\"none\""), "{name}");
            run_hint(&sandbox, &run.stderr);
            assert_eq!(sandbox.read(name), before, "{name}");
            assert_success(&sandbox.run(&["drop", "--", file, "2"]));
            let run = sandbox.run(&["drop", "--", file, "2"]);
            assert_eq!(run.code, Some(1));
            assert_eq!(
                told(&run.stderr)[0][..3],
                ["restore", &given, "2"],
                "{}",
                run.stderr
            );
            let run = sandbox.run(&["edit", "--", file, "3", "and nine?"]);
            assert_success(&run);
            let old = run
                .stderr
                .lines()
                .find(|line| line.starts_with("to see the old text: "))
                .unwrap();
            let listed = run_hint(&sandbox, old);
            assert!(
                listed[0].stdout.contains("and eight?"),
                "{name}: {}",
                listed[0].stdout
            );
        }
    }
}

#[test]
fn side_chains_are_neither_rewound_nor_answered() {
    let sandbox = Sandbox::new();
    let side = "\n# %% [^5]\n\n[^5]: [markdown] agent_id=side\n\nlook\n";
    sandbox.write("a.msg.md", format!("{FILE}{side}"));
    sandbox.run(&["rewind", "a.msg.md", "5"]).assert_fails(
        1,
        "analects: a.msg.md: cell 5 is in a side chain, which the conversation does not continue\n",
    );
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("nothing to ask"), "{}", run.stderr);
    assert_eq!(sandbox.read("a.msg.md"), format!("{FILE}{side}"));
}

#[test]
#[cfg(unix)]
fn undo_keeps_code_output_before_the_question() {
    use crate::pseudo_terminal::{press, run_steps};
    let server = Server::new(vec![answer(&["fine"])]);
    let sandbox = sandbox_with(&server);
    let code = "# %% [^c]\n\n[^c]: [code]\n\n```python\nprint(1)\n```\n\n\
                # %%% [^c.1]\n\n[^c.1]: [python]\n\nstdout> 1\n\n# %% [^3]";
    sandbox.write("a.msg.md", FILE.replace("# %% [^3]", code));
    let steps = vec![
        press("> ", "/undo\r"),
        press("continues from cell c.1;", ""),
        press("> ", "else?\r"),
        press("fine", ""),
        press("> ", "\u{4}"),
    ];
    let command = sandbox.command(&["chat", "a.msg.md"]);
    let Some((seen, code)) = run_steps(&sandbox, &command, steps) else {
        return crate::sandbox::skip(
            "undo_keeps_code_output_before_the_question",
            "there is no Python to make a terminal",
        );
    };
    assert_eq!(code, 0, "{seen}");
    let request = server.request();
    assert!(
        request.contains("print(1)") && request.contains("else?"),
        "{request}"
    );
    assert!(!request.contains("and eight?"), "{request}");
    assert!(request.contains("stdout> 1"), "{request}");
}

#[test]
fn an_interrupted_answer_on_another_branch_is_not_retried() {
    let sandbox = Sandbox::new();
    let broken = FILE.replace("[^4]: [coder]", "[^4]: [coder] stop_reason=\"interrupted\"");
    assert_ne!(broken, FILE);
    sandbox.write("a.msg.md", &broken);
    let ask = || {
        sandbox
            .run(&["chat", "a.msg.md", "-m", "openai/tiny"])
            .stderr
    };
    assert!(ask().contains("analects drop a.msg.md 4"), "{}", ask());
    assert_eq!(sandbox.run(&["rewind", "a.msg.md", "2"]).code, Some(0));
    let told = ask();
    assert!(
        told.contains("nothing to ask") && !told.contains("broke off"),
        "{told}"
    );
}

#[test]
fn chat_says_once_that_the_rewind_cell_was_removed() {
    let server = Server::new((0..3).map(|_| answer(&["Yes."])).collect());
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let ask = |prompt: &str| sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", prompt]);
    ask("one?").assert_prints("Yes.\n");
    ask("two?").assert_prints("Yes.\n");
    assert_eq!(sandbox.run(&["rewind", "a.msg.md", "2"]).code, Some(0));
    // An editor saves the file without the empty cell.
    let file = sandbox.read("a.msg.md");
    let end = file.rfind("\n# %% [^5]").unwrap();
    sandbox.write("a.msg.md", &file[..end]);
    let gone = "analects: a.msg.md: the rewind to cell 2 is undone: its empty cell was removed\n\
        hint: run this again to continue from the last cell, or go back: analects rewind a.msg.md 2\n";
    ask("three?").assert_fails(1, gone);
    assert_eq!(
        sandbox.read("a.msg.md"),
        file[..end],
        "nothing was sent or written"
    );
    ask("three?").assert_prints("Yes.\n");
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["one?", "Yes.", "two?", "Yes.", "three?", "Yes."]
    );
}
