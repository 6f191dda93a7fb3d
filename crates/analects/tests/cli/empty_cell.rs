//! The empty cell at the end of a file, where you type the next question.

use crate::sandbox::Sandbox;
use crate::server::{Server, answer, error, piece, stream_head};

const AGENT: &str = "---\nagents:\n  tiny:\n    models: [openai/tiny]\n---\n";

fn cell_names(sandbox: &Sandbox) -> Vec<String> {
    let shown = sandbox.show_json("a.msg.md");
    let cells = shown["cells"].as_array().unwrap();
    cells
        .iter()
        .map(|cell| cell["name"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn an_answer_ends_with_an_empty_cell_for_the_next_question() {
    let server = Server::new(vec![answer(&["one"]), answer(&["two"]), answer(&["three"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", AGENT);
    sandbox
        .run(&["chat", "a.msg.md", "1"])
        .assert_prints("one\n");
    let first = sandbox.read("a.msg.md");
    assert!(first.ends_with("\n\none\n\n# %%\n"), "{first}");
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["1", "one"],
        "it is no message"
    );

    // Typed by hand, as an editor would.
    let typed = format!("{first}\n2\n");
    sandbox.write("a.msg.md", &typed);
    sandbox.run(&["chat", "a.msg.md"]).assert_prints("two\n");
    let second = sandbox.read("a.msg.md");
    let sealed = typed.replace("# %%\n\n2\n", "# %% [^3]\n\n[^3]: [markdown]\n\n2\n");
    assert!(
        second.starts_with(&sealed) && second.ends_with("\n\ntwo\n\n# %%\n"),
        "{second}"
    );

    // A prompt from the command line replaces the empty cell.
    sandbox
        .run(&["chat", "a.msg.md", "3"])
        .assert_prints("three\n");
    let third = sandbox.read("a.msg.md");
    assert!(
        third.starts_with(second.strip_suffix("# %%\n").unwrap()),
        "{third}"
    );
    assert!(third.ends_with("\n\nthree\n\n# %%\n"), "{third}");
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["1", "one", "2", "two", "3", "three"]
    );
    assert_eq!(cell_names(&sandbox), ["1", "2", "3", "4", "5", "6", "7"]);
    let nothing = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);
    assert_eq!(sandbox.read("a.msg.md"), third);
    assert_eq!(
        sandbox.run(&["check", "a.msg.md"]).stderr,
        "checked 1 file: no problems\n"
    );
    let list = sandbox.run(&["list", "a.msg.md"]).stdout;
    assert_eq!(list.lines().count(), 3, "{list}");
}

#[test]
fn the_empty_cell_copies_line_ends_and_heading_level() {
    let server = Server::new(vec![answer(&["one"]), answer(&["one"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write(
        "a.msg.md",
        format!("{AGENT}\n# %%\n\nq\n").replace('\n', "\r\n"),
    );
    sandbox.run(&["chat", "a.msg.md"]).assert_prints("one\n");
    let file = sandbox.read("a.msg.md");
    assert!(file.ends_with("one\r\n\r\n# %%\r\n"), "{file:?}");
    let front = AGENT.replace("agents:", "message_section: Talk\nagents:");
    sandbox.write(
        "notes.md",
        format!("{front}\n# Notes\n\n## Talk\n\n### %%\n\nq\n"),
    );
    sandbox.run(&["chat", "notes.md"]).assert_prints("one\n");
    let file = sandbox.read("notes.md");
    assert!(file.ends_with("one\n\n### %%\n"), "{file:?}");
}

#[test]
fn an_error_also_leaves_an_empty_cell() {
    let refused = r#"{"error":{"message":"no","type":"invalid_request_error"}}"#;
    let server = Server::new(vec![
        vec![stream_head(), piece("half")],
        error("400 Bad Request", refused),
        answer(&["whole"]),
    ]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", AGENT);
    assert_eq!(sandbox.run(&["chat", "a.msg.md", "q"]).code, Some(5));
    let file = sandbox.read("a.msg.md");
    assert!(file.ends_with("\n\n# %%\n"), "{file}");
    sandbox.run(&["rewind", "a.msg.md", "1"]);
    // The question follows the ready cell.
    let shown = sandbox.show_json("a.msg.md");
    let cells = shown["cells"].as_array().unwrap();
    assert_eq!(
        (cells.len(), &cells[2]["content"]),
        (3, &"".into()),
        "{shown}"
    );
    assert_eq!(cells[2]["attributes"]["parent"], "1", "{shown}");
    assert_eq!(sandbox.run(&["chat", "a.msg.md"]).code, Some(5));
    sandbox.run(&["chat", "a.msg.md"]).assert_prints("whole\n");
    let file = sandbox.read("a.msg.md");
    assert!(
        file.ends_with("whole\n\n# %%\n") && file.matches("# %%\n").count() == 1,
        "{file}"
    );
}

#[test]
fn other_commands_keep_the_empty_cell_last() {
    let server = Server::new(vec![answer(&["one"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", AGENT);
    sandbox
        .run(&["chat", "a.msg.md", "q"])
        .assert_prints("one\n");
    for args in [
        &["fmt", "a.msg.md"][..],
        &["add", "a.msg.md", "--output", "--type", "tiny", "an aside"],
        &["edit", "a.msg.md", "1", "a better question"],
        &["drop", "a.msg.md", "2"],
        &["compact", "a.msg.md", "--undo"],
    ] {
        let run = sandbox.run(args);
        let file = sandbox.read("a.msg.md");
        assert!(
            file.ends_with("\n\n# %%\n"),
            "{args:?}: {}{file}",
            run.stderr
        );
        assert_eq!(file.matches("# %%\n").count(), 1, "{args:?}: {file}");
    }
    sandbox.run(&["fork", "a.msg.md", "-o", "b.msg.md"]);
    assert_eq!(
        sandbox.message_texts("b.msg.md"),
        sandbox.message_texts("a.msg.md")
    );
    // A transcript keeps everything, also the agent.
    let to = sandbox.run(&["convert", "a.msg.md", "--to", "transcript"]);
    assert_eq!((to.code, &*to.stderr), (Some(0), ""));
    sandbox.run(&["add", "a.msg.md", "next"]);
    let file = sandbox.read("a.msg.md");
    assert!(
        file.ends_with("\n\nnext\n") && !file.contains("# %%\n"),
        "{file}"
    );
}

#[test]
fn a_saved_choice_ignores_the_empty_cell() {
    let server = Server::new(vec![answer(&["one"]), answer(&["two"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let cells = "\n# %% [^a]\n\n[^a]: [markdown]\n\nold\n\n# %%% [^b]\n\n[^b]: [tiny]\n\nyes\n";
    sandbox.write("a.msg.md", format!("{AGENT}{cells}\n# %%\n\nq\n\n# %%\n"));
    sandbox
        .run(&["chat", "a.msg.md", "-i", "a", "--save"])
        .assert_prints("one\n");
    let file = sandbox.read("a.msg.md");
    assert!(
        file.ends_with("one\n\n# %%\n") && file.matches("history=").count() == 1,
        "{file}"
    );
}

#[test]
fn a_question_typed_into_the_cell_head_is_reported() {
    let server = Server::new(vec![answer(&["one"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", AGENT);
    sandbox
        .run(&["chat", "a.msg.md", "q"])
        .assert_prints("one\n");
    let file = sandbox.read("a.msg.md");
    sandbox.write(
        "a.msg.md",
        format!("{} What is a monoid?\n", file.trim_end()),
    );
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr.contains("the title of a cell is not sent"),
        "{}",
        run.stderr
    );
}

#[test]
fn empty_cells_are_not_questions() {
    let server = Server::new(vec![answer(&["one"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", format!("{AGENT}\n# %%\n\nq1\n\n# %%\n\n# %%\n"));
    sandbox.run(&["chat", "a.msg.md"]).assert_prints("one\n");
    let shown = sandbox.show_json("a.msg.md");
    assert_eq!(shown["cells"][1]["parent"], "1", "{shown}");
    assert_eq!(
        shown["cells"][0]["outputs"].as_array().unwrap().len(),
        1,
        "{shown}"
    );
}
