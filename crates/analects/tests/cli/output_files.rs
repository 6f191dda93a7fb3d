//! Outputs in files beside a message file: shown, checked and sent, and never read from anywhere else.

use std::fs;

use crate::sandbox::Sandbox;

/// A file in which an answer and a result are in files, with these names.
fn talk(answer: &str, result: &str) -> String {
    format!(
        "# %% [^1]\n\n[^1]: [markdown]\n\nDraw it.\n\n\
         # %%% [^2]\n\n[^2]: [assistant] output_file=\"{answer}\"\n\n\
         # %%% [^2.k3f9qx7a]\n\n[^2.k3f9qx7a]: [tool] name=\"draw\"\n\n<invoke name=\"draw\"/>\n\n\
         # %%% [^2.k3f9qx7a.1]\n\n[^2.k3f9qx7a.1]: [tool] status=\"success\" mime_type=\"image/png\" output_file=\"{result}\"\n\n\
         # %% [^3]\n\n[^3]: [markdown]\n\nWell?\n"
    )
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nPICTURE";

/// The picture in base64.
const ENCODED: &str = "iVBORw0KGgpQSUNUVVJF";

const REQUEST: [&str; 5] = [
    "context",
    "talk.msg.md",
    "-m",
    "anthropic/claude-opus-4-1",
    "--request",
];

fn sandbox(answer: &str, result: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", talk(answer, result));
    fs::create_dir(sandbox.path("talk.msg.md.files")).unwrap();
    for folder in ["", "talk.msg.md.files/"] {
        sandbox.write(&format!("{folder}2.md"), "THE ANSWER\n");
        fs::write(sandbox.path(&format!("{folder}2.png")), PNG).unwrap();
    }
    sandbox
}

#[test]
fn show_prints_what_the_file_holds() {
    let sandbox = sandbox("2.md", "2.png");
    let run = sandbox.run(&["show", "talk.msg.md", "2"]);
    assert_eq!(
        (run.code, &*run.stdout, &*run.stderr),
        (Some(0), "THE ANSWER\n", "")
    );
    let run = sandbox.run(&["show", "talk.msg.md", "2.k3f9qx7a.1", "--json"]);
    let cell: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(cell["content_base64"], ENCODED);
    assert_eq!(sandbox.run(&["check", "talk.msg.md"]).code, Some(0));
}

#[test]
fn check_reports_files_that_are_not_there() {
    let sandbox = sandbox("none.md", "../2.png");
    let run = sandbox.run(&["check", "talk.msg.md"]);
    assert_eq!(run.code, Some(1));
    for said in [
        "talk.msg.md:9:1: error: the output in none.md cannot be read: it is not there [unreadable-output]",
        "talk.msg.md:19:1: error: \"../2.png\" cannot be an output file",
    ] {
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    assert!(run.stderr.contains(": 2 errors"), "{}", run.stderr);
}

#[test]
#[cfg(unix)]
fn links_and_folders_are_not_read() {
    let sandbox = sandbox("link.md", "2.png");
    sandbox.write("secret", "SECRET");
    std::os::unix::fs::symlink(sandbox.path("secret"), sandbox.path("link.md")).unwrap();
    let run = sandbox.run(&["check", "talk.msg.md"]);
    assert!(
        run.stderr.contains("a symbolic link leads to it"),
        "{}",
        run.stderr
    );
    let run = sandbox.run(&["show", "talk.msg.md", "2"]);
    assert_eq!(run.stdout, "");
    let mut args = REQUEST.to_vec();
    args.push("--pictures");
    let run = sandbox.run(&args);
    assert!(!run.stdout.contains("SECRET"), "{}", run.stdout);
    assert!(
        run.stdout.contains("link.md, which is not sent"),
        "{}",
        run.stdout
    );
}

#[test]
fn the_request_has_outputs_only_with_your_permission() {
    let sandbox = sandbox("2.md", "2.png");
    let run = sandbox.run(&REQUEST);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        !run.stdout.contains("THE ANSWER") && !run.stdout.contains(ENCODED),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("2.md, which is not sent"),
        "{}",
        run.stdout
    );
    let run = sandbox.run(&["context", "talk.msg.md", "-m", "anthropic/claude-opus-4-1"]);
    assert!(
        run.stderr.contains("the output in 2.md is not sent"),
        "{}",
        run.stderr
    );
    let mut args = REQUEST.to_vec();
    args.push("--pictures");
    let run = sandbox.run(&args);
    assert!(
        run.stdout.contains("THE ANSWER") && run.stdout.contains(ENCODED),
        "{}",
        run.stdout
    );
}

#[test]
fn outputs_in_the_folder_of_the_conversation_are_sent() {
    let sandbox = sandbox("talk.msg.md.files/2.md", "talk.msg.md.files/2.png");
    let run = sandbox.run(&REQUEST);
    assert!(
        run.stdout.contains("THE ANSWER") && run.stdout.contains(ENCODED),
        "{}",
        run.stdout
    );
}

#[test]
fn a_placeholder_gets_its_answer_from_the_file() {
    let sandbox = Sandbox::new();
    let file = talk("talk.msg.md.files/2.md", "2.png")
        .replace("[assistant] ", "[assistant] status=\"pending\" ");
    sandbox.write("talk.msg.md", file);
    fs::write(sandbox.path("2.png"), PNG).unwrap();
    let run = sandbox.run(&["check", "talk.msg.md"]);
    assert!(run.stderr.contains("[pending-output]"), "{}", run.stderr);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        !sandbox
            .run(&REQUEST)
            .stdout
            .contains("2.md, which is not sent")
    );
    fs::create_dir(sandbox.path("talk.msg.md.files")).unwrap();
    sandbox.write("talk.msg.md.files/2.md", "THE ANSWER\n");
    let run = sandbox.run(&["check", "talk.msg.md"]);
    assert!(!run.stderr.contains("pending-output"), "{}", run.stderr);
    assert!(sandbox.run(&REQUEST).stdout.contains("THE ANSWER"));
}

#[test]
fn convert_says_that_it_leaves_outputs_behind() {
    let sandbox = sandbox("2.md", "2.png");
    let run = sandbox.run(&["convert", "talk.msg.md", "-o", "talk.jsonl", "--lossy"]);
    assert!(
        run.stderr.contains("this output is in the file 2.md"),
        "{}",
        run.stderr
    );
}
