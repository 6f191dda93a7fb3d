//! `fork`, `rewind`, `drop` and `edit` on message files, and `edit` on sessions: nothing that was said is
//! lost, no byte of another cell changes, and the model sees what was meant.

use crate::sandbox::{Run, Sandbox};
use crate::server::{Server, answer};

const FILE: &str = "---\nagents:\n  coder:\n    models: [openai/tiny]\n---\n\n\
    # %% [^1]\n\n[^1]: [markdown]\n\nsix times seven?\n\n\
    # %%% [^2]\n\n[^2]: [coder]\n\nForty-two.\n\n\
    # %% [^3]\n\n[^3]: [markdown]\n\nand eight?\n\n\
    # %%% [^4]\n\n[^4]: [coder]\n\nForty-eight.\n";

fn sandbox_with(server: &Server) -> Sandbox {
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", FILE);
    sandbox
}

#[track_caller]
fn done(run: &Run) -> &str {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout.trim_end()
}

#[test]
fn after_a_rewind_the_question_is_asked_again_and_the_way_back_is_told() {
    let server = Server::new(vec![answer(&["42."]), answer(&["56."])]);
    let sandbox = sandbox_with(&server);
    let run = sandbox.run(&["rewind", "a.msg.md", "1"]);
    let told = "a.msg.md goes on from cell 1; to undo this: analects rewind a.msg.md 4\n";
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (Some(0), "", told));
    let file = sandbox.read("a.msg.md");
    assert!(file.starts_with(FILE), "{file}");
    sandbox.run(&["chat", "a.msg.md"]).assert_answer("42.\n");
    let request = server.request();
    assert!(request.contains("six times seven?") && !request.contains("Forty"), "{request}");
    assert!(!request.contains("and eight?") && !request.contains("Back to cell"), "{request}");
    // The way back leads to everything that was there.
    done(&sandbox.run(&["rewind", "a.msg.md", "4"]));
    sandbox.run(&["chat", "a.msg.md", "times", "eight?"]).assert_answer("56.\n");
    let request = server.request();
    for said in ["six times seven?", "Forty-two.", "and eight?", "Forty-eight.", "times eight?"] {
        assert!(request.contains(said), "{request}");
    }
    assert!(!request.contains("\"42.\""), "{request}");
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
}

#[test]
#[cfg(unix)]
fn to_go_back_to_where_somebody_went_back_is_to_go_where_they_went() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    done(&sandbox.run(&["rewind", "a.msg.md", "2"]));
    let to_two = sent_of_file(&sandbox);
    done(&sandbox.run(&["rewind", "a.msg.md", "4"]));
    // Cell n1 says: back to cell 2.
    let run = sandbox.run(&["rewind", "a.msg.md", "n1"]);
    done(&run);
    assert!(run.stderr.starts_with("a.msg.md goes on from cell 2; "), "{}", run.stderr);
    assert_eq!(sent_of_file(&sandbox), to_two);
    run_told(&sandbox, &run.stderr);
    assert!(sent_of_file(&sandbox).contains("Forty-eight."));
}

#[test]
fn a_hidden_cell_is_not_sent_until_it_is_shown_again() {
    let server = Server::new(vec![answer(&["1"]), answer(&["2"])]);
    let sandbox = sandbox_with(&server);
    assert_eq!(done(&sandbox.run(&["drop", "a.msg.md", "2"])), "2");
    let hidden = FILE.replace("[^2]: [coder]", "[^2]: [coder] history=\"none\"");
    assert_eq!(sandbox.read("a.msg.md"), hidden);
    let again = sandbox.run(&["drop", "a.msg.md", "2"]);
    again.assert_failure(
        1,
        "analects: a.msg.md: cell 2 is hidden already\n\
         hint: analects drop a.msg.md 2 --undo shows it again\n",
    );
    sandbox.run(&["chat", "a.msg.md", "x"]).assert_answer("1\n");
    assert!(!server.request().contains("Forty-two."));
    let run = sandbox.run(&["drop", "a.msg.md", "2", "--undo", "--json"]);
    let json: serde_json::Value = serde_json::from_str(done(&run)).unwrap();
    assert_eq!(json, serde_json::json!({ "cells": ["2"], "hidden": false }));
    sandbox.run(&["chat", "a.msg.md", "y"]).assert_answer("2\n");
    assert!(server.request().contains("Forty-two."));
}

#[test]
fn a_dropped_answer_leaves_its_question_open() {
    let server = Server::new(vec![answer(&["48!"])]);
    let sandbox = sandbox_with(&server);
    done(&sandbox.run(&["drop", "a.msg.md", "4"]));
    sandbox.run(&["chat", "a.msg.md"]).assert_answer("48!\n");
    let request = server.request();
    assert!(request.contains("and eight?") && !request.contains("Forty-eight."), "{request}");
}

#[test]
fn an_edited_cell_is_sent_in_the_place_of_the_old_one() {
    let server = Server::new(vec![answer(&["fine"])]);
    let sandbox = sandbox_with(&server);
    let run = sandbox.run_with_stdin(&["edit", "a.msg.md", "1", "-"], "# %% seven times six?\n");
    assert_eq!(done(&run), "5");
    assert!(run.stderr.contains("analects rewind a.msg.md 5"), "{}", run.stderr);
    let new = "# %% [^5]\n\n[^5]: [markdown] edit_of=1\n\n\\# %% seven times six?\n\n";
    let expected = FILE
        .replace("# %% [^1]", &format!("{new}# %% [^1]"))
        .replace("[^1]: [markdown]", "[^1]: [markdown] history=\"none\"");
    assert_eq!(sandbox.read("a.msg.md"), expected);
    sandbox.run(&["chat", "a.msg.md", "so?"]).assert_answer("fine\n");
    let request = server.request();
    assert!(request.contains("# %% seven times six?") && !request.contains("six times seven?"));
    assert!(request.contains("Forty-two.") && request.contains("Forty-eight."), "{request}");
}

/// What would be sent of the file.
fn sent_of_file(sandbox: &Sandbox) -> String {
    let run = sandbox.run(&["context", "a.msg.md", "--agent", "coder", "--request"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout
}

const CALL: &str = "# %%% [^2.a]\n\n[^2.a]: [tool] name=\"w\"\n\n<invoke name=\"w\"></invoke>\n\n\
    # %%% [^2.a.1]\n\n[^2.a.1]: [tool] status=success\n\nsun\n\n";

fn with_call() -> String {
    FILE.replace("# %% [^3]", &format!("{CALL}# %% [^3]"))
}

#[test]
fn of_several_edits_of_a_cell_the_newest_is_sent() {
    let cells =
        [("1", "six times seven?"), ("2", "Forty-two."), ("2.a.1", "sun"), ("3", "and eight?")];
    for (cell, old) in cells {
        let sandbox = Sandbox::new();
        sandbox.write("a.msg.md", with_call());
        let first = done(&sandbox.run(&["edit", "a.msg.md", cell, "first edit"])).to_string();
        // The same cell is edited again, then the edit itself, then the same cell once more.
        for (name, text) in [(cell, "second edit"), (&*first, "third edit"), (cell, "fourth edit")]
        {
            done(&sandbox.run(&["edit", "a.msg.md", name, text]));
            let sent = sent_of_file(&sandbox);
            assert_eq!(sent.matches(" edit\"").count(), 1, "{cell}: {sent}");
            assert!(sent.contains(text) && !sent.contains(old), "{cell}, {text}: {sent}");
        }
        assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
    }
}

/// In files of earlier versions, several edits of a cell may be seen: the next one replaces them all.
#[test]
fn an_edit_replaces_all_edits_of_a_cell_that_are_seen() {
    let sandbox = Sandbox::new();
    let edits = "# %% [^5]\n\n[^5]: [markdown] edit_of=1\n\nfirst edit\n\n\
        # %% [^6]\n\n[^6]: [markdown] edit_of=1\n\nsecond edit\n\n# %% [^1]";
    let file = FILE.replace("# %% [^1]", edits);
    sandbox.write("a.msg.md", file.replace("[^1]: [markdown]", "[^1]: [markdown] history=none"));
    done(&sandbox.run(&["edit", "a.msg.md", "1", "third edit"]));
    let sent = sent_of_file(&sandbox);
    assert!(sent.contains("third edit"), "{sent}");
    assert!(!sent.contains("first edit") && !sent.contains("second edit"), "{sent}");
}

/// The way forward that an edit tells, and then the way back.
#[test]
fn an_edit_is_taken_back_also_after_it_was_asked() {
    for (cell, edits) in [("1", 1), ("3", 1), ("3", 2)] {
        let server = Server::new(vec![answer(&["after the edit"]), answer(&["on"])]);
        let sandbox = sandbox_with(&server);
        let mut new = String::new();
        for number in 1..=edits {
            let text = format!("edit {number}");
            new = done(&sandbox.run(&["edit", "a.msg.md", cell, &text])).to_string();
        }
        let run = sandbox.run(&["rewind", "a.msg.md", &new]);
        assert!(run.stderr.contains(&format!("goes on from cell {new};")), "{}", run.stderr);
        done(&sandbox.run(&["chat", "a.msg.md", "--agent", "coder"]));
        assert!(server.request().contains(&format!("edit {edits}")));
        done(&sandbox.run(&["drop", "a.msg.md", cell, "--undo"]));
        let sent = sent_of_file(&sandbox);
        let old = if cell == "1" { "six times seven?" } else { "and eight?" };
        assert!(sent.contains(old) && sent.contains("after the edit"), "{cell}: {sent}");
        assert!(!sent.contains("edit 1") && !sent.contains("edit 2"), "{cell}: {sent}");
        assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
    }
}

/// Who tidies the old version away afterwards changes nothing that is sent.
#[test]
fn an_edit_that_was_gone_back_to_does_not_need_what_it_replaced() {
    let server = Server::new(vec![answer(&["after the edit"])]);
    let sandbox = sandbox_with(&server);
    let new = done(&sandbox.run(&["edit", "a.msg.md", "1", "an edit"])).to_string();
    done(&sandbox.run(&["rewind", "a.msg.md", &new]));
    done(&sandbox.run(&["chat", "a.msg.md", "--agent", "coder"]));
    let before = sent_of_file(&sandbox);
    assert!(!before.contains("Forty-two."), "{before}");
    let file = sandbox.read("a.msg.md");
    let (start, end) = (file.find("# %% [^1]").unwrap(), file.find("# %%% [^2]").unwrap());
    sandbox.write("a.msg.md", format!("{}{}", &file[..start], &file[end..]));
    assert_eq!(sent_of_file(&sandbox), before);
    // Nor if it says nothing, as a cell that was ready does.
    sandbox.write("b.msg.md", format!("{FILE}\n# %% [^9]\n"));
    let new = done(&sandbox.run(&["edit", "b.msg.md", "9", "typed"])).to_string();
    sandbox.run(&["add", "b.msg.md", "--output", "--agent", "coder", "an answer"]);
    done(&sandbox.run(&["rewind", "b.msg.md", &new]));
    let run = sandbox.run(&["check", "b.msg.md"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
}

/// The answer that is shown again has its calls and their results with it.
#[test]
fn an_answer_with_calls_comes_back_whole_after_its_edit_was_gone_back_to() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", with_call());
    let new = done(&sandbox.run(&["edit", "a.msg.md", "2", "I will not look"])).to_string();
    done(&sandbox.run(&["rewind", "a.msg.md", &new]));
    assert!(!sent_of_file(&sandbox).contains("\"role\":\"tool\""));
    done(&sandbox.run(&["drop", "a.msg.md", "2", "--undo"]));
    let sent = sent_of_file(&sandbox);
    assert!(sent.contains("\"role\":\"tool\"") && !sent.contains("no result"), "{sent}");
    assert!(!sent.contains("I will not look"), "{sent}");
    done(&sandbox.run(&["drop", "a.msg.md", &new, "--undo"]));
    let sent = sent_of_file(&sandbox);
    assert!(sent.contains("I will not look") && !sent.contains("\"role\":\"tool\""), "{sent}");
}

#[test]
fn an_edit_of_a_hidden_cell_stays_hidden_and_that_is_said() {
    for cell in ["1", "2", "2.a.1", "3"] {
        let sandbox = Sandbox::new();
        sandbox.write("a.msg.md", with_call());
        done(&sandbox.run(&["drop", "a.msg.md", cell]));
        let run = sandbox.run(&["edit", "a.msg.md", cell, "new text"]);
        let new = done(&run).to_string();
        assert!(!sent_of_file(&sandbox).contains("new text"), "{cell}");
        let told = format!("cell {cell} is hidden from the model, and so is the new one");
        assert!(run.stderr.contains(&told), "{cell}: {}", run.stderr);
        done(&sandbox.run(&["drop", "a.msg.md", &new, "--undo"]));
        let sent = sent_of_file(&sandbox);
        assert_eq!(sent.matches("new text").count(), 1, "{cell}: {sent}");
        assert_eq!(sent.matches("\"role\":\"tool\"").count(), usize::from(cell != "2"), "{sent}");
        // And the old one in its place.
        done(&sandbox.run(&["drop", "a.msg.md", cell, "--undo"]));
        let sent = sent_of_file(&sandbox);
        assert!(!sent.contains("new text"), "{cell}: {sent}");
        assert_eq!(sent.matches("\"role\":\"tool\"").count(), 1, "{cell}: {sent}");
    }
}

#[test]
fn a_cell_that_is_shown_again_is_seen_as_it_was_before() {
    let sandbox = Sandbox::new();
    let summary = "[^1]: [markdown] history=summary summary=\"about six\"";
    let file = FILE.replace("[^1]: [markdown]", summary);
    sandbox.write("a.msg.md", &file);
    let before = sent_of_file(&sandbox);
    assert!(before.contains("about six") && !before.contains("six times seven?"), "{before}");
    for _ in 0..2 {
        done(&sandbox.run(&["drop", "a.msg.md", "1"]));
        assert!(!sent_of_file(&sandbox).contains("about six"));
        assert!(!sent_of_file(&sandbox).contains("six times seven?"));
        // Who sends it for once sends no more of it than before.
        let args = ["context", "a.msg.md", "--agent", "coder", "--request", "-i", "1-"];
        assert_eq!(sandbox.run(&args).stdout, before);
        done(&sandbox.run(&["drop", "a.msg.md", "1", "--undo"]));
        assert_eq!(sent_of_file(&sandbox), before);
    }
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
    // What a person shows again by hand, and then hides, is all of it.
    let shown = sandbox.read("a.msg.md").replace("history=\"summary\"", "history=\"include\"");
    sandbox.write("a.msg.md", shown);
    done(&sandbox.run(&["drop", "a.msg.md", "1"]));
    done(&sandbox.run(&["drop", "a.msg.md", "1", "--undo"]));
    assert!(sent_of_file(&sandbox).contains("six times seven?"));
}

#[test]
fn a_fork_is_a_file_of_its_own_and_writes_over_nothing() {
    let server = Server::new(vec![answer(&["else"])]);
    let sandbox = sandbox_with(&server);
    assert_eq!(done(&sandbox.run(&["fork", "a.msg.md", "--at", "2"])), "a.fork-1.msg.md");
    let end = FILE.find("# %% [^3]").unwrap();
    assert_eq!(sandbox.read("a.fork-1.msg.md"), FILE[..end]);
    assert_eq!(done(&sandbox.run(&["fork", "a.msg.md"])), "a.fork-2.msg.md");
    assert_eq!(sandbox.read("a.fork-2.msg.md"), FILE);
    let over = ["fork", "a.msg.md", "--at", "1", "-o", "a.fork-2.msg.md"];
    let run = sandbox.run(&over);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("there is a file already"), "{}", run.stderr);
    assert_eq!(sandbox.read("a.fork-2.msg.md"), FILE);
    done(&sandbox.run(&[&over[..], &["--force"]].concat()));
    assert!(!sandbox.read("a.fork-2.msg.md").contains("Forty-two."));
    sandbox.run(&["chat", "a.fork-1.msg.md", "something"]).assert_answer("else\n");
    assert_eq!(sandbox.read("a.msg.md"), FILE);
    for wrong in ["a.msg.md", "./a.msg.md", "b.md", "b.txt"] {
        let run = sandbox.run(&["fork", "a.msg.md", "-o", wrong, "--force"]);
        assert_eq!(run.code, Some(2), "{wrong}: {}", run.stderr);
    }
    assert_eq!(sandbox.read("a.msg.md"), FILE);
}

#[test]
fn wrong_cells_and_wrong_files_change_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    sandbox.write("bad.msg.md", b"# %% [^1]\n\n[^1]: [markdown]\n\n\xff\n");
    sandbox.write("plain.md", "# Notes\n");
    for (verb, more) in [("rewind", &[][..]), ("drop", &[]), ("edit", &["x"])] {
        let run = |file: &str, cell: &str| sandbox.run(&[&[verb, file, cell], more].concat());
        let unknown = run("a.msg.md", "17");
        assert_eq!(unknown.code, Some(3), "{verb}: {}", unknown.stderr);
        assert!(unknown.stderr.contains("a.msg.md: there is no cell 17"), "{}", unknown.stderr);
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
fn a_file_in_a_section_can_be_rewound_and_edited_too() {
    let sandbox = Sandbox::new();
    let head = "---\nmessage_section: Talk\n---\n\n# Mine\n\ntext\n\n## Talk\n\n";
    let file = format!("{head}### %%\n\none\n\n### %%% [^2]\n\n[^2]: [x]\n\ntwo\n");
    sandbox.write("notes.md", &file);
    done(&sandbox.run(&["edit", "notes.md", "1", "uno"]));
    let text = sandbox.read("notes.md");
    assert!(
        text.starts_with(&format!("{head}### %% [^3]\n\n[^3]: [markdown] edit_of=1\n\nuno\n\n")),
        "{text}"
    );
    done(&sandbox.run(&["rewind", "notes.md", "3"]));
    assert_eq!(done(&sandbox.run(&["fork", "notes.md", "--at", "3"])), "notes.fork-1.md");
    assert!(sandbox.read("notes.fork-1.md").ends_with("edit_of=1\n\nuno\n\n"));
    assert_eq!(sandbox.run(&["check", "notes.md"]).code, Some(0));
}

/// A session of three messages; their ids.
fn session(sandbox: &Sandbox, lines: &str) -> Vec<String> {
    let run = sandbox.run_with_stdin(&["session", "append"], lines);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let id = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].clone();
    run.stdout.lines().map(|line| id(line).as_str().unwrap().to_string()).collect()
}

fn tail(sandbox: &Sandbox) -> Vec<String> {
    let run = sandbox.run(&["session", "tail", "last", "--json"]);
    let decoded = analects_formats::transcript::decode(run.stdout.as_bytes());
    decoded.messages.iter().map(|message| message.text()).collect()
}

/// The id of the last session.
fn session_id(sandbox: &Sandbox) -> String {
    let run = sandbox.run(&["session", "tail", "last", "--json"]);
    let last = run.stdout.lines().last().unwrap();
    let message: serde_json::Value = serde_json::from_str(last).unwrap();
    message["session_id"].as_str().unwrap().to_string()
}

/// What would be sent of the last session.
fn sent(sandbox: &Sandbox) -> String {
    let run = sandbox.run(&["context", "last", "-m", "openai/tiny", "--request"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout
}

#[test]
fn an_edited_message_of_a_session_is_a_branch_with_a_way_back() {
    let sandbox = Sandbox::new();
    let lines = "{\"type\":\"user\",\"content\":\"one\"}\n{\"type\":\"assistant\",\"content\":\"two\"}\n\
                 {\"type\":\"user\",\"content\":\"three\"}\n";
    let ids = session(&sandbox, lines);
    for (at, expected) in
        [(2, vec!["one", "two", "new"]), (1, vec!["one", "new"]), (0, vec!["new"])]
    {
        let run = sandbox.run(&["edit", "last", &ids[at], "new"]);
        let new = done(&run).to_string();
        assert!(new.len() > 20 && !ids.contains(&new), "{new}");
        let request = sent(&sandbox);
        for text in ["one", "two", "three", "new"] {
            let is_sent = request.contains(&format!("\"{text}\""));
            assert_eq!(is_sent, expected.contains(&text), "{at} {text}: {request}");
        }
        // By its id: when this is undone, another session may be the last one.
        let named = format!("to undo this: analects rewind {} ", session_id(&sandbox));
        assert!(run.stderr.contains(&named), "{}", run.stderr);
        done(&sandbox.run(&["rewind", "last", &ids[2]]));
        assert!(sent(&sandbox).contains("\"three\""));
    }
    let export = sandbox.run(&["session", "export", "last"]).stdout;
    for said in ["one", "two", "three"] {
        assert!(export.contains(&format!("\"{said}\"")), "{export}");
    }
    assert!(tail(&sandbox).contains(&"three".to_string()));
}

#[test]
fn an_edited_result_keeps_its_call_and_calls_are_not_edited_away() {
    let sandbox = Sandbox::new();
    let lines = "{\"type\":\"user\",\"content\":\"weather?\"}\n\
        {\"type\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"w\",\"input\":{}}]}\n\
        {\"type\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"sun\"}]}\n\
        {\"type\":\"assistant\",\"content\":\"It is sunny.\"}\n";
    let ids = session(&sandbox, lines);
    done(&sandbox.run(&["edit", "last", &ids[2], "rain"]));
    let request = sent(&sandbox);
    assert!(
        request.contains("rain") && request.contains("t1") && !request.contains("sun"),
        "{request}"
    );
    assert!(!request.contains("interrupted"), "{request}");
}

#[test]
fn one_cell_is_named_at_a_time() {
    let sandbox = Sandbox::new();
    let cells = "# %% [^1]\n\n[^1]: [markdown]\n\none\n\n# %% [^2]\n\n[^2]: [markdown]\n\ntwo\n";
    sandbox.write("a.msg.md", cells);
    for list in ["1-2", "1,2", "#1-#2"] {
        for args in [&["drop", "a.msg.md", list][..], &["edit", "a.msg.md", list, "x"]] {
            let run = sandbox.run(args);
            assert_eq!(run.code, Some(1), "{args:?}: {}", run.stderr);
            assert!(run.stderr.contains("names several cells"), "{}", run.stderr);
        }
    }
    assert_eq!(sandbox.read("a.msg.md"), cells);
    let run = sandbox.run(&["drop", "a.msg.md", "#2"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(sandbox.show("a.msg.md")["cells"][1]["history"], "exclude");
}

/// The commands that a remark tells, as a shell would read them, without the name of the program.
#[cfg(unix)]
fn told(stderr: &str) -> Vec<Vec<String>> {
    let line = stderr.lines().find(|line| line.contains("analects ")).unwrap_or_default();
    let commands = line.split("analects ").skip(1);
    let words = |command: &str| {
        let command = command.trim_end_matches(", then ");
        let shell = format!("printf '%s\\n' {command}");
        let ran = std::process::Command::new("sh").args(["-c", &shell]).output().unwrap();
        let words = String::from_utf8(ran.stdout).unwrap();
        words.lines().map(str::to_string).collect()
    };
    commands.map(words).collect()
}

#[cfg(unix)]
#[track_caller]
fn run_told(sandbox: &Sandbox, stderr: &str) -> Vec<Run> {
    let commands = told(stderr);
    let run = |command: &Vec<String>| {
        let args: Vec<&str> = command.iter().map(String::as_str).collect();
        let run = sandbox.run(&args);
        done(&run);
        run
    };
    commands.iter().map(run).collect()
}

#[test]
#[cfg(unix)]
fn what_is_told_after_an_edit_works_for_every_kind_of_cell() {
    let calls = "# %%% [^2.a]\n\n[^2.a]: [tool] name=\"w\"\n\n<invoke name=\"w\"></invoke>\n\n\
                 # %%% [^2.a.1]\n\n[^2.a.1]: [tool] status=success\n\nsun\n\n";
    let file = FILE.replace("# %% [^3]", &format!("{calls}# %% [^3]"));
    let system = "# %%% [^0]\n\n[^0]: [system]\n\nBe brief.\n\n# %% [^1]";
    let file = file.replace("# %% [^1]", system) + "\n# %% [^5]\n\n[^5]: [markdown]\n\nopen\n";
    let from = "to ask again from there: analects rewind a.msg.md";
    let behind = "to say something else from there: analects rewind a.msg.md";
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
        done(&run);
        assert!(run.stderr.starts_with(advice), "{cell}: {}", run.stderr);
        run_told(&sandbox, &run.stderr).last().unwrap().assert_answer("fine\n");
        let request = server.request();
        assert!(request.contains("new text") && !request.contains(gone), "{cell}: {request}");
    }
    // Nothing is to be asked after instructions, and after the last answer.
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", &file[..file.find("\n# %% [^5]").unwrap()]);
    for cell in ["0", "4"] {
        let run = sandbox.run(&["edit", "a.msg.md", cell, "x"]);
        done(&run);
        let back = format!("to undo this: analects drop a.msg.md {cell} --undo\n");
        assert_eq!(run.stderr, back);
    }
}

/// What is told to undo something.
#[cfg(unix)]
fn way_back(stderr: &str) -> String {
    let line = stderr.lines().find(|line| line.contains("to undo this: "));
    line.unwrap_or_else(|| panic!("no way back: {stderr}")).to_string()
}

#[test]
#[cfg(unix)]
fn the_way_back_after_edits_and_drops_leads_to_what_was_sent_before() {
    let system = "# %%% [^0]\n\n[^0]: [system]\n\nBe brief.\n\n# %% [^1]";
    for cell in ["0", "1", "2", "2.a.1", "3", "4"] {
        let sandbox = Sandbox::new();
        sandbox.write("a.msg.md", with_call().replace("# %% [^1]", system));
        let mut sent = vec![sent_of_file(&sandbox)];
        let mut ways = Vec::new();
        for text in ["x", "y", "z"] {
            let run = sandbox.run(&["edit", "a.msg.md", cell, text]);
            done(&run);
            ways.push(way_back(&run.stderr));
            sent.push(sent_of_file(&sandbox));
        }
        for way in ways.iter().rev() {
            sent.pop();
            run_told(&sandbox, way);
            assert_eq!(Some(&sent_of_file(&sandbox)), sent.last(), "{cell}: {way}");
        }
        let run = sandbox.run(&["drop", "a.msg.md", cell]);
        done(&run);
        assert_ne!(sent_of_file(&sandbox), sent[0], "{cell}");
        run_told(&sandbox, &way_back(&run.stderr));
        assert_eq!(sent_of_file(&sandbox), sent[0], "{cell}");
    }
}

#[test]
fn an_agent_is_not_dropped() {
    let sandbox = Sandbox::new();
    let agent = "# %% [^9]\n\n[^9]: [agent] name=\"x\" models=\"openai/tiny\"\n";
    let file = format!("{FILE}\n{agent}");
    sandbox.write("a.msg.md", &file);
    let run = sandbox.run(&["drop", "a.msg.md", "9"]);
    run.assert_failure(
        1,
        "analects: a.msg.md: cell 9 cannot be hidden: it defines an agent\n\
         hint: name a message or an answer\n",
    );
    assert_eq!(sandbox.read("a.msg.md"), file);
}

#[test]
#[cfg(unix)]
fn what_is_told_can_be_pasted_into_a_shell() {
    for name in ["my talk.msg.md", "-x.msg.md", "it's $HOME.msg.md"] {
        let given = if name.starts_with('-') { format!("./{name}") } else { name.to_string() };
        for file in [name, &given] {
            let sandbox = Sandbox::new();
            sandbox.write(name, FILE);
            let run = sandbox.run(&["rewind", "--", file, "1"]);
            done(&run);
            run_told(&sandbox, &run.stderr);
            assert_eq!(sandbox.read(name).matches("Back to cell").count(), 2, "{name}");
            done(&sandbox.run(&["drop", "--", file, "2"]));
            let run = sandbox.run(&["drop", "--", file, "2"]);
            assert_eq!(run.code, Some(1));
            assert_eq!(told(&run.stderr)[0][..3], ["drop", &given, "2"], "{}", run.stderr);
        }
    }
}

#[test]
fn a_side_chain_is_neither_gone_back_to_nor_answered() {
    let sandbox = Sandbox::new();
    let side = "\n# %% [^5]\n\n[^5]: [markdown] agent_id=side\n\nlook\n";
    sandbox.write("a.msg.md", format!("{FILE}{side}"));
    sandbox.run(&["rewind", "a.msg.md", "5"]).assert_failure(
        1,
        "analects: a.msg.md: cell 5 is in a side chain, with which a file does not go on\n\
         hint: name a cell without agent_id\n",
    );
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("nothing to ask"), "{}", run.stderr);
    assert_eq!(sandbox.read("a.msg.md"), format!("{FILE}{side}"));
}

#[test]
#[cfg(unix)]
fn an_undo_keeps_what_code_printed_before_the_question() {
    use crate::pseudo_terminal::{converse, press};
    let server = Server::new(vec![answer(&["fine"])]);
    let sandbox = sandbox_with(&server);
    let code = "# %% [^c]\n\n[^c]: [code]\n\n```python\nprint(1)\n```\n\n\
                # %%% [^c.1]\n\n[^c.1]: [python]\n\nstdout> 1\n\n# %% [^3]";
    sandbox.write("a.msg.md", FILE.replace("# %% [^3]", code));
    let steps = vec![
        press("> ", "/undo\r"),
        press("goes on from cell c.1;", ""),
        press("> ", "else?\r"),
        press("fine", ""),
        press("> ", "\u{4}"),
    ];
    let command = sandbox.command(&["chat", "a.msg.md"]);
    let Some((seen, code)) = converse(&sandbox, &command, steps) else {
        return crate::sandbox::skip("branches", "there is no Python to make a terminal");
    };
    assert_eq!(code, 0, "{seen}");
    let request = server.request();
    assert!(request.contains("print(1)") && request.contains("else?"), "{request}");
    assert!(!request.contains("and eight?"), "{request}");
    assert!(request.contains("stdout> 1"), "{request}");
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
fn to_go_back_to_the_summary_of_a_session_is_to_the_end_of_its_compaction() {
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
        session(&sandbox, COMPACTED);
        let run = sandbox.run(&["rewind", "last", name]);
        done(&run);
        assert!(!run.stderr.contains("does not count"), "{}", run.stderr);
        check(&sent(&sandbox));
        done(&sandbox.run(&["rewind", "last", "u2"]));
        assert!(sent(&sandbox).contains("new question"));
        let run = sandbox.run(&["fork", "last", "--at", name]);
        assert!(!run.stderr.contains("does not count"), "{}", run.stderr);
        let copy = done(&run);
        let args = ["context", copy, "-m", "openai/tiny", "--request"];
        check(done(&sandbox.run(&args)));
        // What was taken back is nothing to go on from.
        let run = sandbox.run(&["compact", copy, "--undo"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        for args in [&["rewind", copy, "S"][..], &["edit", copy, "S", "something else"]] {
            sandbox.run(args).assert_failure(
                1,
                "analects: S is a summary that does not count any more\n\
                 hint: name a message or an answer\n",
            );
        }
    }
}

#[test]
fn calls_of_a_session_are_not_edited_and_their_results_are() {
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
    let ids = session(&sandbox, &lines);
    for id in &ids[1..4] {
        sandbox.run(&["edit", "last", id, "x"]).assert_failure(
            1,
            &format!(
                "analects: {id} cannot be edited: it is a call of a tool\n\
                 hint: drop hides it; rewind goes back before it\n"
            ),
        );
    }
    done(&sandbox.run(&["edit", "last", &ids[5], "rain"]));
    let request = sent(&sandbox);
    assert!(request.contains("rain") && !request.contains("sun"), "{request}");
    done(&sandbox.run(&["edit", "last", &ids[4], "I cannot look."]));
    assert!(sent(&sandbox).contains("I cannot look."));
}

#[test]
fn a_copy_hides_what_the_original_hides() {
    let sandbox = Sandbox::new();
    let lines =
        "{\"type\":\"user\",\"content\":\"one\"}\n{\"type\":\"assistant\",\"content\":\"two\"}\n";
    let ids = session(&sandbox, lines);
    let first = done(&sandbox.run(&["drop", "last", &ids[1]])).to_string();
    done(&sandbox.run(&["drop", "last", &first]));
    done(&sandbox.run(&["drop", "last", &ids[1]]));
    done(&sandbox.run(&["rewind", "last", &first]));
    assert!(!sent(&sandbox).contains("\"two\""), "{}", sent(&sandbox));
    let run = sandbox.run(&["fork", "last"]);
    let run = sandbox.run(&["context", done(&run), "-m", "openai/tiny", "--request"]);
    assert!(done(&run).contains("\"one\"") && !done(&run).contains("\"two\""), "{}", run.stdout);
}

#[test]
fn an_edited_summary_of_a_session_stands_for_what_the_old_one_stood_for() {
    let sandbox = Sandbox::new();
    session(&sandbox, COMPACTED);
    let run = sandbox.run(&["edit", "last", "S", "They spoke of rivers."]);
    let new = done(&run).to_string();
    let request = sent(&sandbox);
    for text in ["They spoke of rivers.", "Be brief.", "a file"] {
        assert_eq!(request.matches(text).count(), 1, "{text}: {request}");
    }
    for text in ["old question", "old answer", "They talked.", "new question"] {
        assert!(!request.contains(text), "{text}: {request}");
    }
    // It is a summary like any other.
    done(&sandbox.run(&["rewind", "last", "u2"]));
    assert!(sent(&sandbox).contains("They talked."));
    done(&sandbox.run(&["rewind", "last", &new]));
    assert_eq!(sent(&sandbox), request);
    let undone = sandbox.run(&["compact", "last", "--undo"]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    let request = sent(&sandbox);
    assert!(request.contains("old answer") && !request.contains("rivers"), "{request}");
}

#[test]
fn what_was_dropped_edited_or_failed_is_in_no_request_that_is_converted() {
    let sandbox = Sandbox::new();
    let ids = session(
        &sandbox,
        "{\"type\":\"user\",\"content\":\"clumsy\"}\n\
         {\"type\":\"assistant\",\"content\":\"SECRET\"}\n\
         {\"type\":\"user\",\"content\":\"more\"}\n\
         {\"type\":\"assistant\",\"is_api_error_message\":true,\"content\":\"answered 500\"}\n",
    );
    let converted = || {
        sandbox.write("t.jsonl", sandbox.run(&["session", "export", "last"]).stdout);
        sandbox.run(&["convert", "t.jsonl", "--to", "openai", "--lossy"])
    };
    assert_eq!(sandbox.run(&["drop", "last", &ids[1]]).code, Some(0));
    let run = converted();
    assert!(run.stdout.contains("clumsy") && run.stdout.contains("more"), "{}", run.stdout);
    assert!(!run.stdout.contains("SECRET") && !run.stdout.contains("500"), "{}", run.stdout);
    assert!(run.stderr.contains("it was dropped, so it is left out"), "{}", run.stderr);
    assert!(run.stderr.contains("it is an error, which"), "{}", run.stderr);
    assert_eq!(sandbox.run(&["edit", "last", &ids[0], "elegant"]).code, Some(0));
    let run = converted();
    assert!(run.stdout.contains("elegant") && !run.stdout.contains("clumsy"), "{}", run.stdout);
    assert!(!run.stdout.contains("more"), "{}", run.stdout);
}

#[test]
#[cfg(unix)]
fn names_of_messages_from_elsewhere_are_quoted_in_what_is_told() {
    let sandbox = Sandbox::new();
    let lines = "{\"type\":\"user\",\"id\":\"u1\",\"content\":\"one\"}\n\
         {\"type\":\"assistant\",\"id\":\"a1; echo pwned\",\"content\":\"two\"}\n";
    session(&sandbox, lines);
    let run = sandbox.run(&["rewind", "last", "u1"]);
    assert!(run.stderr.contains(" 'a1; echo pwned'\n"), "{}", run.stderr);
    run_told(&sandbox, &run.stderr);
    let run = sandbox.run(&["edit", "last", "a1; echo pwned", "three"]);
    assert!(run.stderr.contains("to undo this: analects rewind"), "{}", run.stderr);
    run_told(&sandbox, &run.stderr);
}

#[test]
fn a_question_that_failed_in_a_session_waits_in_the_file_made_of_it() {
    let failed = crate::server::error("400 Bad Request", r#"{"error":{"message":"no"}}"#);
    let server = Server::new(vec![answer(&["Hi."]), failed, answer(&["Now."])]);
    let sandbox = sandbox_with(&server);
    sandbox.run(&["chat", "-m", "openai/tiny", "hello"]).assert_answer("Hi.\n");
    assert_eq!(sandbox.run(&["chat", "-c", "-m", "openai/other", "and?"]).code, Some(5));
    assert_eq!(sandbox.run(&["session", "export", "last", "-o", "x.msg.md"]).code, Some(0));
    sandbox.run(&["chat", "x.msg.md", "-m", "openai/tiny"]).assert_answer("Now.\n");
}

#[test]
fn an_answer_that_broke_off_on_another_branch_is_not_what_there_is_to_ask_again() {
    let sandbox = Sandbox::new();
    let broken = FILE.replace("[^4]: [coder]", "[^4]: [coder] stop_reason=\"interrupted\"");
    assert_ne!(broken, FILE);
    sandbox.write("a.msg.md", &broken);
    let ask = || sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny"]).stderr;
    assert!(ask().contains("analects drop a.msg.md 4"), "{}", ask());
    assert_eq!(sandbox.run(&["rewind", "a.msg.md", "2"]).code, Some(0));
    let told = ask();
    assert!(told.contains("nothing to ask") && !told.contains("broke off"), "{told}");
}
