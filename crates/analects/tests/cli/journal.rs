//! The journal: answers are found by the text of a file, wherever the file is by then.
#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command};

use crate::file_watcher::AGENT;
use crate::sandbox::{CommandOutput, Sandbox, skip};
use crate::server::{Server, Step, answer, error, in_halves, piece, stream_head};

pub const FILE: &str = "a.msg.md";
const LINK: &str = "link.msg.md";
pub const QUESTION: &str = "\n# %% [^q]\n\n[^q]: [markdown]\n\nWhy?\n";
const MISSING: &str = "the answer to cell q is no longer in the file";
const WAITS: &str = "the answer to cell q is kept, and the next change to the file adds it";

/// A file with a question, a link to it, and a server that plays these scripts.
fn sandbox_with_scripts(mut sandbox: Sandbox, scripts: Vec<Vec<Step>>) -> (Sandbox, Server) {
    let server = Server::new(scripts);
    sandbox.set_server(&server.base_url);
    sandbox.write(FILE, format!("{AGENT}{QUESTION}"));
    symlink(FILE, sandbox.path(LINK)).unwrap();
    (sandbox, server)
}

/// A file with a question, and a model with these answers.
fn sandbox_with_question(answers: &[&str]) -> (Sandbox, Server) {
    sandbox_with_scripts(
        Sandbox::new(),
        answers.iter().map(|text| answer(&[text])).collect(),
    )
}

/// A file whose question has the answer `One.`, and a model with these next answers.
pub fn sandbox_with_answer(answers: &[&str]) -> (Sandbox, Server) {
    let (sandbox, server) = sandbox_with_question(&[&["One."], answers].concat());
    sandbox.run(&["chat", FILE]).assert_prints("One.\n");
    server.request();
    (sandbox, server)
}

/// A file whose answer was killed after `half` of it had arrived.
pub fn sandbox_with_killed_answer() -> (Sandbox, Server) {
    let hangs = vec![stream_head(), piece("half"), Step::Hang];
    let (sandbox, server) = sandbox_with_scripts(Sandbox::new(), vec![hangs, answer(&["One."])]);
    let mut child = sandbox.spawn(&["chat", FILE]);
    sandbox.wait_for_journal("half");
    child.kill().unwrap();
    child.wait().unwrap();
    server.request();
    (sandbox, server)
}

/// Starts an answer; the rest arrives once there is a file `go`.
fn start_answer(name: &str) -> (Sandbox, Server, Child) {
    let sandbox = Sandbox::new();
    let script = in_halves("half ", sandbox.path("go"), "and half");
    let scripts = vec![script, answer(&["One."]), answer(&["Two."])];
    let (sandbox, server) = sandbox_with_scripts(sandbox, scripts);
    let child = sandbox.spawn(&["chat", name]);
    sandbox.wait_for_journal("half ");
    server.request();
    (sandbox, server, child)
}

#[track_caller]
fn finish_answer(sandbox: &Sandbox, child: Child) -> CommandOutput {
    sandbox.write("go", "");
    let run: CommandOutput = child.wait_with_output().unwrap().into();
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "half and half\n"),
        "{}",
        run.stderr
    );
    run
}

/// Runs a command that must succeed, and returns its stderr.
#[track_caller]
pub fn successful_stderr(sandbox: &Sandbox, args: &[&str]) -> String {
    let run = sandbox.run(args);
    assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
    run.stderr.replace("checked 1 file: no problems\n", "")
}

/// Checks the texts of a file that has all of its answers.
#[track_caller]
pub fn assert_complete(sandbox: &Sandbox, name: &str, texts: &[&str]) {
    assert_eq!(sandbox.message_texts(name), texts);
    assert_eq!(successful_stderr(sandbox, &["check", name]), "");
}

/// Whether any file below a folder contains these bytes, or has them in its name.
pub fn folder_contains(folder: &Path, secret: &str) -> bool {
    let entries = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    entries.into_iter().any(|path| match path.is_dir() {
        true => folder_contains(&path, secret),
        false => String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(secret),
    })
}

#[test]
fn a_moved_file_keeps_its_answers() {
    let (sandbox, _server) = sandbox_with_killed_answer();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    std::fs::rename(sandbox.path(FILE), sandbox.path("folder/b.msg.md")).unwrap();
    assert!(successful_stderr(&sandbox, &["list", "folder/b.msg.md"]).contains(WAITS));
    successful_stderr(&sandbox, &["add", "folder/b.msg.md", "next"]);
    assert_complete(&sandbox, "folder/b.msg.md", &["Why?", "half", "next"]);

    let (sandbox, _server) = sandbox_with_answer(&[]);
    std::fs::rename(sandbox.path(FILE), sandbox.path("b.msg.md")).unwrap();
    assert_complete(&sandbox, "b.msg.md", &["Why?", "One."]);
    sandbox.write("b.msg.md", format!("{AGENT}{QUESTION}"));
    assert!(successful_stderr(&sandbox, &["check", "b.msg.md"]).contains(MISSING));
    successful_stderr(&sandbox, &["recover", "b.msg.md", "q"]);
    assert_complete(&sandbox, "b.msg.md", &["Why?", "One."]);
}

#[test]
fn a_file_and_its_copy_both_continue() {
    let (sandbox, server) = sandbox_with_answer(&["In the file.", "In the copy."]);
    std::fs::copy(sandbox.path(FILE), sandbox.path("b.msg.md")).unwrap();
    sandbox
        .run(&["chat", FILE, "and then?"])
        .assert_prints("In the file.\n");
    sandbox
        .run(&["chat", "b.msg.md", "and then?"])
        .assert_prints("In the copy.\n");
    for _ in 0..2 {
        let request = server.request();
        assert!(
            request.contains("One.") && !request.contains("In the"),
            "{request}"
        );
    }
    assert_complete(
        &sandbox,
        FILE,
        &["Why?", "One.", "and then?", "In the file."],
    );
    assert_complete(
        &sandbox,
        "b.msg.md",
        &["Why?", "One.", "and then?", "In the copy."],
    );

    // The interrupted answer belongs to the original file; the copy can restore it, too.
    let (sandbox, _server) = sandbox_with_killed_answer();
    std::fs::copy(sandbox.path(FILE), sandbox.path("b.msg.md")).unwrap();
    successful_stderr(&sandbox, &["add", "b.msg.md", "next"]);
    assert_eq!(sandbox.message_texts("b.msg.md"), ["Why?", "next"]);
    assert_eq!(sandbox.recoverable_records("b.msg.md")[0]["text"], "half");
    successful_stderr(&sandbox, &["add", FILE, "next"]);
    assert_complete(&sandbox, FILE, &["Why?", "half", "next"]);
}

#[test]
fn a_recreated_file_is_offered_its_old_answer_only_for_the_same_question() {
    let (sandbox, _server) = sandbox_with_answer(&["Two."]);
    std::fs::remove_file(sandbox.path(FILE)).unwrap();
    sandbox.write(FILE, format!("{AGENT}\n# %%\n\nHow?\n"));
    assert_eq!(successful_stderr(&sandbox, &["check", FILE]), "");
    sandbox.write(FILE, format!("{AGENT}\n# %%\n\nWhy?\n"));
    assert!(successful_stderr(&sandbox, &["check", FILE]).contains("is no longer in the file"));
    sandbox.run(&["chat", FILE]).assert_prints("Two.\n");
    assert_complete(&sandbox, FILE, &["Why?", "Two."]);
}

#[test]
fn a_file_switched_by_git_has_the_answers_of_its_version() {
    let (sandbox, server) = sandbox_with_question(&["One.", "Again.", "Next."]);
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args([
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@x",
            "-c",
            "commit.gpgsign=false",
        ]);
        git.args(args)
            .current_dir(sandbox.path(""))
            .env("HOME", sandbox.path("home"));
        git.output().is_ok_and(|output| output.status.success())
    };
    if !git(&["init", "-q", "-b", "main"]) {
        return skip(
            "a_file_switched_by_git_has_the_answers_of_its_version",
            "there is no git",
        );
    }
    let commit = || assert!(git(&["add", FILE]) && git(&["commit", "-q", "-m", "x"]));
    commit();
    assert!(git(&["branch", "asked"]));
    sandbox.run(&["chat", FILE]).assert_prints("One.\n");
    commit();
    assert!(git(&["checkout", "-q", "asked"]));
    assert_eq!(sandbox.message_texts(FILE), ["Why?"]);
    assert!(successful_stderr(&sandbox, &["check", FILE]).contains(MISSING));
    sandbox.run(&["chat", FILE]).assert_prints("Again.\n");
    commit();
    assert!(git(&["checkout", "-q", "main"]));
    assert_complete(&sandbox, FILE, &["Why?", "One."]);
    assert!(git(&["checkout", "-q", "asked"]));
    assert_complete(&sandbox, FILE, &["Why?", "Again."]);
    sandbox
        .run(&["chat", FILE, "next"])
        .assert_prints("Next.\n");
    let [_, _, request] = [server.request(), server.request(), server.request()];
    assert!(
        request.contains("Again.") && !request.contains("One."),
        "{request}"
    );
}

#[test]
fn a_fork_continues_with_its_own_answers() {
    let (sandbox, server) = sandbox_with_answer(&["In the fork.", "In the file."]);
    successful_stderr(&sandbox, &["fork", FILE, "-o", "b.msg.md"]);
    sandbox
        .run(&["chat", "b.msg.md", "next"])
        .assert_prints("In the fork.\n");
    assert!(server.request().contains("One."));
    successful_stderr(&sandbox, &["fork", FILE, "--at", "q", "-o", "c.msg.md"]);
    // In the fork, the question can be asked again: nothing is missing.
    assert_eq!(sandbox.message_texts("c.msg.md"), ["Why?"]);
    assert_eq!(successful_stderr(&sandbox, &["check", "c.msg.md"]), "");
    sandbox
        .run(&["chat", FILE, "next"])
        .assert_prints("In the file.\n");
    assert_complete(&sandbox, FILE, &["Why?", "One.", "next", "In the file."]);
    assert_complete(
        &sandbox,
        "b.msg.md",
        &["Why?", "One.", "next", "In the fork."],
    );
}

#[test]
fn every_path_to_a_file_shares_its_answers() {
    let (sandbox, server, child) = start_answer(FILE);
    let run = sandbox.run(&["chat", LINK, "more"]);
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    finish_answer(&sandbox, child);
    assert_complete(&sandbox, LINK, &["Why?", "half and half"]);
    assert_eq!(server.request_within(std::time::Duration::ZERO), None);
    sandbox.write(FILE, format!("{AGENT}{QUESTION}"));
    assert!(successful_stderr(&sandbox, &["check", LINK]).contains(MISSING));
    assert_eq!(successful_stderr(&sandbox, &["check", FILE]), "");
    successful_stderr(&sandbox, &["recover", LINK, "q"]);
    assert_complete(&sandbox, FILE, &["Why?", "half and half"]);
}

#[test]
fn a_redirected_link_leaves_the_answer_with_its_question() {
    let (sandbox, _server, child) = start_answer(LINK);
    std::fs::copy(sandbox.path(FILE), sandbox.path("b.msg.md")).unwrap();
    std::fs::remove_file(sandbox.path(LINK)).unwrap();
    symlink("b.msg.md", sandbox.path(LINK)).unwrap();
    assert_eq!(finish_answer(&sandbox, child).stderr, "");
    assert_complete(&sandbox, FILE, &["Why?", "half and half"]);
    assert_eq!(sandbox.message_texts("b.msg.md"), ["Why?"]);
}

#[test]
fn during_an_answer_others_can_write_but_not_ask() {
    let (sandbox, server, child) = start_answer(FILE);
    let before = sandbox.read(FILE);
    for more in [
        &[][..],
        &["another question"],
        &["-m", "openai/other", "another question"],
    ] {
        let run = sandbox.run(&[&["chat", FILE], more].concat());
        assert_eq!((run.code, &*run.stdout), (Some(4), ""), "{}", run.stderr);
        assert!(
            run.stderr
                .contains("the question is being answered already"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(sandbox.read(FILE), before);
    assert_eq!(successful_stderr(&sandbox, &["check", FILE]), "");
    successful_stderr(&sandbox, &["add", FILE, "--id", "n", "next"]);
    successful_stderr(&sandbox, &["add", FILE, "--id", "m", "and more"]);
    successful_stderr(&sandbox, &["drop", FILE, "n"]);
    assert_eq!(finish_answer(&sandbox, child).stderr, "");
    assert_complete(
        &sandbox,
        FILE,
        &["Why?", "half and half", "next", "and more"],
    );
    sandbox.run(&["chat", FILE]).assert_prints("One.\n");
    let request = server.request();
    assert!(
        request.contains("and more") && !request.contains("next"),
        "{request}"
    );
}

#[test]
fn a_question_changed_during_its_answer_is_a_new_question() {
    let (sandbox, server, child) = start_answer(FILE);
    sandbox.write(FILE, sandbox.read(FILE).replace("Why?", "Why not?"));
    let said = finish_answer(&sandbox, child).stderr;
    assert!(
        said.contains("so the answer is not in the file; to see it: analects recover a.msg.md"),
        "{said}"
    );
    assert_eq!(sandbox.message_texts(FILE), ["Why not?"]);
    sandbox.run(&["chat", FILE]).assert_prints("One.\n");
    assert!(server.request().contains("Why not?"));
    let records = sandbox.recoverable_records(FILE);
    let kept = records
        .iter()
        .find(|record| record["text"] == "half and half")
        .unwrap();
    successful_stderr(&sandbox, &["recover", FILE, kept["name"].as_str().unwrap()]);
    // It answers no question in the file, so the model does not see it.
    assert_complete(&sandbox, FILE, &["Why not?", "One.", "half and half"]);
    sandbox.run(&["chat", FILE, "next"]).assert_prints("Two.\n");
    assert!(!server.request().contains("half and half"));
}

#[test]
fn a_deleted_answer_is_reported_once() {
    for verb in [&["check", FILE][..], &["list", FILE], &["chat", FILE]] {
        let (sandbox, server) = sandbox_with_answer(&["Two."]);
        sandbox.write(FILE, format!("{AGENT}{QUESTION}"));
        assert!(
            successful_stderr(&sandbox, verb).contains(MISSING),
            "{verb:?}"
        );
        if verb[0] != "chat" {
            for again in [&["check", FILE][..], &["list", FILE], &["chat", FILE]] {
                assert_eq!(successful_stderr(&sandbox, again), "", "{verb:?} {again:?}");
            }
        }
        assert!(!server.request().contains("One."));
        assert_complete(&sandbox, FILE, &["Why?", "Two."]);
    }
}

#[test]
fn nothing_is_asked_when_the_journal_cannot_be_written() {
    let (sandbox, server) = sandbox_with_question(&["One."]);
    let before = sandbox.read(FILE);
    std::fs::create_dir_all(sandbox.path("home/state")).unwrap();
    sandbox.write("home/state/journal", "in its place");
    let run = sandbox.run(&["chat", FILE]);
    assert_eq!((run.code, &*run.stdout), (Some(1), ""), "{}", run.stderr);
    assert!(run.stderr.contains("home/state/journal"), "{}", run.stderr);
    assert_eq!(sandbox.read(FILE), before);
    let run = sandbox.run(&["chat", FILE, "And how?"]);
    assert_eq!((run.code, &*run.stdout), (Some(1), ""), "{}", run.stderr);
    assert_eq!(sandbox.read(FILE), before);
    // This one has no journal, and sends the first request.
    sandbox
        .run(&["ask", "-m", "openai/tiny", "How?"])
        .assert_prints("One.\n");
    assert!(server.request().contains("How?"));
}

#[test]
fn reading_commands_report_an_interrupted_answer() {
    let (sandbox, server) = sandbox_with_killed_answer();
    let before = sandbox.read(FILE);
    let verbs: [&[&str]; 4] = [
        &["check", FILE],
        &["list", FILE],
        &["context", FILE],
        &["chat", FILE, "--dry-run"],
    ];
    for verb in verbs {
        assert!(
            successful_stderr(&sandbox, verb).contains(WAITS),
            "{verb:?}"
        );
    }
    assert_eq!(sandbox.recoverable_records(FILE)[0]["kind"], "interrupted");
    assert_eq!(sandbox.read(FILE), before);
    let run = sandbox.run(&["chat", FILE, "go on"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "One.\n"),
        "{}",
        run.stderr
    );
    assert!(server.request().contains("half"));
    assert_complete(&sandbox, FILE, &["Why?", "half", "go on", "One."]);
}

#[test]
fn a_key_in_a_server_error_stays_out_of_the_journal() {
    let key = "sk-very-secret-0123456789";
    let body = format!(r#"{{"error":{{"message":"Incorrect API key: {key}"}}}}"#);
    let broken = vec![
        stream_head(),
        piece("half"),
        Step::Send(format!("data: {body}\n\n")),
    ];
    let server = Server::new(vec![error("401 Unauthorized", &body), broken]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write(FILE, format!("{AGENT}{QUESTION}"));
    for _ in 0..2 {
        let output = sandbox
            .command(&["chat", FILE])
            .env("OPENAI_API_KEY", key)
            .output()
            .unwrap();
        let run = CommandOutput::from(output);
        assert_eq!(run.code, Some(5), "{}", run.stderr);
        assert!(
            run.stderr.contains("Incorrect API key: [key]"),
            "{}",
            run.stderr
        );
    }
    assert!(folder_contains(&sandbox.path("home/state"), "half"));
    assert!(!folder_contains(&sandbox.path(""), key));
}
