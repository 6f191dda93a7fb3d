//! A person edits the file while an answer streams into it: their bytes win, the answer is placed below
//! what they typed, and if they changed the question itself, that is said and both are kept.

use std::process::Child;

use crate::sandbox::Sandbox;
use crate::server::{Server, Step, done, piece, stream_head};

/// An answer of which the first half is in the file; the second one comes after a while.
fn begin(file: &str) -> (Sandbox, Server, Child) {
    let script = vec![
        stream_head(),
        piece("The first half\n"),
        Step::Pause(700),
        piece("and the second half."),
        done(),
    ];
    let server = Server::new(vec![script]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", file);
    let child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny"]);
    sandbox.wait_for("a.msg.md", "The first half\n");
    (sandbox, server, child)
}

#[track_caller]
fn finish(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(output.stdout, b"The first half\nand the second half.\n");
    stderr
}

const ANSWER: &str = "The first half\nand the second half.";

#[test]
fn a_question_that_was_changed_is_told_and_both_texts_are_kept() {
    for question in ["# %%\n\nWhy?\n", "# %% [^7]\n\n[^7]: [markdown]\n\nWhy?\n"] {
        let (sandbox, _server, child) = begin(question);
        let edited = sandbox.read("a.msg.md").replace("Why?", "Why not?");
        sandbox.write("a.msg.md", edited);
        let stderr = finish(child);
        assert!(stderr.contains("was changed while it was being answered"), "{stderr}");
        assert_eq!(sandbox.texts("a.msg.md"), ["Why not?", ANSWER]);
        let file = sandbox.read("a.msg.md");
        assert!(file.contains("asked=\"Why?\""), "{file}");
        assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0));
    }
}

#[test]
fn a_question_that_was_removed_is_kept_with_its_answer() {
    let (sandbox, _server, child) = begin(
        "# %% [^7]\n\n[^7]: [markdown]\n\nWhy?\n\n# %% [^8]\n\n[^8]: [markdown]\n\nAnd how?\n",
    );
    let file = sandbox.read("a.msg.md");
    let cut = file.find("# %% [^8]").unwrap()..file.find("And how?\n").unwrap() + 9;
    sandbox.write("a.msg.md", [&file[..cut.start], &file[cut.end..]].concat());
    let stderr = finish(child);
    assert!(stderr.contains("cell 8 was changed"), "{stderr}");
    assert_eq!(sandbox.texts("a.msg.md"), ["Why?", ANSWER]);
    assert!(sandbox.read("a.msg.md").contains("asked=\"And how?\""));
}

#[test]
fn a_change_elsewhere_is_nobodys_question() {
    let (sandbox, _server, child) = begin("# %%\n\nWhy?\n");
    // A cell above, and a line below the answer.
    let file =
        format!("# %%\n\nA word before.\n\n{}\n# %%\n\nAnd then?\n", sandbox.read("a.msg.md"));
    sandbox.write("a.msg.md", file);
    let stderr = finish(child);
    assert_eq!(stderr, "");
    assert_eq!(sandbox.texts("a.msg.md"), ["A word before.", "Why?", ANSWER, "And then?"]);
    assert!(!sandbox.read("a.msg.md").contains("asked="));
}

#[test]
fn what_is_typed_below_the_growing_answer_stays_below_it() {
    for by_rename in [false, true] {
        let (sandbox, _server, child) = begin("# %%\n\nWhy?\n");
        let file = format!("{}\n# %%\n\nNext question\n", sandbox.read("a.msg.md"));
        if by_rename {
            sandbox.write("new", file);
            std::fs::rename(sandbox.path("new"), sandbox.path("a.msg.md")).unwrap();
        } else {
            sandbox.write("a.msg.md", file);
        }
        assert_eq!(finish(child), "");
        assert_eq!(sandbox.texts("a.msg.md"), ["Why?", ANSWER, "Next question"]);
    }
}

#[test]
fn the_file_is_removed_while_it_grows() {
    let (sandbox, _server, child) = begin("# %%\n\nWhy?\n");
    std::fs::remove_file(sandbox.path("a.msg.md")).unwrap();
    finish(child);
    assert!(sandbox.texts("a.msg.md").contains(&ANSWER.to_string()));
}
