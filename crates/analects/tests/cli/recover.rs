//! `recover`: lists what the journal holds for a file, restores it, and erases it.
#![cfg(unix)]

use crate::file_watcher::AGENT;
use crate::journal::{
    FILE, QUESTION, assert_complete, folder_contains, sandbox_with_answer,
    sandbox_with_killed_answer, successful_stderr,
};

#[test]
fn recover_lists_missing_answers_and_restores_them() {
    let (sandbox, _server) = sandbox_with_answer(&["Two."]);
    let run = sandbox.run(&["recover", FILE]);
    let nothing = "a.msg.md: nothing to recover; the journal holds 1 record that is in the file\n";
    assert_eq!(
        (run.code, &*run.stdout, &*run.stderr),
        (Some(0), "", nothing)
    );
    let question = format!("{AGENT}{QUESTION}");
    sandbox.write(FILE, &question);
    successful_stderr(&sandbox, &["chat", FILE]);
    sandbox.write(FILE, &question);
    let run = sandbox.run(&["recover", FILE]);
    let rows: Vec<Vec<&str>> = run
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    // The newest first: name, day, time, kind, first words.
    assert_eq!((rows[0][0], &rows[0][3..]), ("q", &["answer", "Two."][..]));
    assert_eq!(
        (rows[1][0], &rows[1][3..]),
        ("q@2", &["answer", "One."][..])
    );
    let records = sandbox.recoverable_records(FILE);
    let names: Vec<_> = records
        .iter()
        .map(|record| (&record["name"], &record["cell"]))
        .collect();
    assert_eq!(
        names,
        [(&"q".into(), &"q".into()), (&"q@2".into(), &"q".into())]
    );
    let run = sandbox.run(&["recover", FILE, "q@7"]);
    let unknown = "analects: the journal holds nothing named q@7\n\
                   hint: analects recover a.msg.md lists what there is\n";
    run.assert_fails(3, unknown);
    assert_eq!(sandbox.read(FILE), question);
    let put_back = sandbox.run(&["recover", FILE, "q@2", "--json"]);
    let cells: Vec<String> = serde_json::from_str(&put_back.stdout).unwrap();
    assert_complete(&sandbox, FILE, &["Why?", "One."]);
    let run = sandbox.run(&["recover", FILE, &cells[0]]);
    assert!(
        run.code == Some(1) && run.stderr.contains("in the file already"),
        "{}",
        run.stderr
    );
    // The other answer no longer fits below its question.
    successful_stderr(&sandbox, &["recover", FILE, "q"]);
    assert_complete(&sandbox, FILE, &["Why?", "One.", "Two."]);
    // Overwriting them once more loses nothing either.
    sandbox.write(FILE, &question);
    assert_eq!(sandbox.recoverable_records(FILE).len(), 2);
}

#[test]
fn recover_forget_erases_every_trace() {
    for forget in [
        &["recover", FILE, "--forget"][..],
        &["recover", "--forget", "--older", "0h"],
    ] {
        let (sandbox, _server) = sandbox_with_answer(&["hunter2"]);
        let state = sandbox.path("home/state");
        successful_stderr(&sandbox, &["chat", FILE, "which word?"]);
        sandbox.write(FILE, format!("{AGENT}{QUESTION}"));
        assert!(folder_contains(&state, "hunter2") && folder_contains(&state, "One."));
        assert!(
            successful_stderr(&sandbox, forget).contains("2 records are forgotten"),
            "{forget:?}"
        );
        assert!(
            !folder_contains(&state, "hunter2") && !folder_contains(&state, "One."),
            "{forget:?}"
        );
        assert!(sandbox.recoverable_records(FILE).is_empty());
        assert_eq!(successful_stderr(&sandbox, &["check", FILE]), "");
    }
    // A single record, and an interrupted answer.
    let (sandbox, _server) = sandbox_with_killed_answer();
    assert!(folder_contains(&sandbox.path("home/state"), "half"));
    successful_stderr(&sandbox, &["recover", FILE, "--forget", "q"]);
    assert!(!folder_contains(&sandbox.path("home/state"), "half"));
    successful_stderr(&sandbox, &["add", FILE, "next"]);
    assert_eq!(sandbox.message_texts(FILE), ["Why?", "next"]);
}

#[test]
fn recover_restores_an_interrupted_answer_once() {
    let (sandbox, _server) = sandbox_with_killed_answer();
    let run = sandbox.run(&["recover", FILE, "q"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(sandbox.message_texts(FILE), ["Why?", "half"]);
    let cells = sandbox.show_json(FILE)["cells"].clone();
    assert_eq!(cells[1]["id"], run.stdout.trim_end(), "{cells}");
}

#[test]
fn recover_restores_an_edited_answer_once() {
    let (sandbox, _server) = sandbox_with_answer(&[]);
    sandbox.write(FILE, sandbox.read(FILE).replace("One.", "Three."));
    successful_stderr(&sandbox, &["recover", FILE, "q"]);
    assert_eq!(sandbox.message_texts(FILE), ["Why?", "Three.", "One."]);
    assert!(
        sandbox.read(FILE).contains("history=\"none\""),
        "{}",
        sandbox.read(FILE)
    );
    assert!(successful_stderr(&sandbox, &["recover", FILE]).contains("nothing to recover"));
}

#[test]
fn recover_leaves_another_file_with_the_same_question_alone() {
    let (sandbox, _server) = sandbox_with_answer(&["Two."]);
    sandbox.write("b.msg.md", format!("{AGENT}{QUESTION}"));
    successful_stderr(&sandbox, &["chat", "b.msg.md"]);
    assert!(
        successful_stderr(&sandbox, &["recover", "b.msg.md", "--forget"])
            .contains("1 record is forgotten")
    );
    let names: Vec<_> = sandbox
        .recoverable_records(FILE)
        .iter()
        .map(|it| it["text"].clone())
        .collect();
    assert_eq!(names, ["One."]);
    // The records of a deleted file can be forgotten, too.
    std::fs::remove_file(sandbox.path(FILE)).unwrap();
    assert!(
        successful_stderr(&sandbox, &["recover", FILE, "--forget"])
            .contains("1 record is forgotten")
    );
    assert!(!folder_contains(&sandbox.path("home/state"), "One."));
}

#[test]
fn recover_keeps_a_moved_files_answer_out_of_other_files() {
    let (sandbox, _server) = sandbox_with_killed_answer();
    std::fs::rename(sandbox.path(FILE), sandbox.path("moved.msg.md")).unwrap();
    sandbox.write("b.msg.md", format!("{AGENT}{QUESTION}"));
    successful_stderr(&sandbox, &["add", "b.msg.md", "next"]);
    assert_eq!(sandbox.message_texts("b.msg.md"), ["Why?", "next"]);
    successful_stderr(&sandbox, &["add", "moved.msg.md", "next"]);
    assert_eq!(
        sandbox.message_texts("moved.msg.md"),
        ["Why?", "half", "next"]
    );
}
