//! The journal through the command: answers are found by what stands in a file, wherever it is by then.
#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command};

use crate::file_watcher::AGENT;
use crate::sandbox::{Run, Sandbox, skip};
use crate::server::{Server, Step, answer, error, in_halves, piece, stream_head};

pub const FILE: &str = "a.msg.md";
const LINK: &str = "link.msg.md";
pub const QUESTION: &str = "\n# %% [^q]\n\n[^q]: [markdown]\n\nWhy?\n";
const MISSING: &str = "the answer to cell q is no longer in the file";
const WAITS: &str = "what came of the answer to cell q is kept, and comes into the file";

/// A file with a question, and another name of it; the server plays these scripts.
fn with_scripts(mut sandbox: Sandbox, scripts: Vec<Vec<Step>>) -> (Sandbox, Server) {
    let server = Server::new(scripts);
    sandbox.set_server(&server.base_url);
    sandbox.write(FILE, format!("{AGENT}{QUESTION}"));
    symlink(FILE, sandbox.path(LINK)).unwrap();
    (sandbox, server)
}

/// Such a file; the model answers so.
fn sandbox(answers: &[&str]) -> (Sandbox, Server) {
    with_scripts(
        Sandbox::new(),
        answers.iter().map(|text| answer(&[text])).collect(),
    )
}

/// A file whose question has its answer, `One.`; the model answers so next.
pub fn answered(answers: &[&str]) -> (Sandbox, Server) {
    let (sandbox, server) = sandbox(&[&["One."], answers].concat());
    sandbox.run(&["chat", FILE]).assert_answer("One.\n");
    server.request();
    (sandbox, server)
}

/// A file of which an answer was killed when `half` of it had come.
pub fn killed() -> (Sandbox, Server) {
    let hangs = vec![stream_head(), piece("half"), Step::Hang];
    let (sandbox, server) = with_scripts(Sandbox::new(), vec![hangs, answer(&["One."])]);
    let mut child = sandbox.spawn(&["chat", FILE]);
    sandbox.wait_for_journal("half");
    child.kill().unwrap();
    child.wait().unwrap();
    server.request();
    (sandbox, server)
}

/// An answer that is under way: its rest comes when there is a file `go`.
fn under_way(name: &str) -> (Sandbox, Server, Child) {
    let sandbox = Sandbox::new();
    let script = in_halves("half ", sandbox.path("go"), "and half");
    let scripts = vec![script, answer(&["One."]), answer(&["Two."])];
    let (sandbox, server) = with_scripts(sandbox, scripts);
    let child = sandbox.spawn(&["chat", name]);
    sandbox.wait_for_journal("half ");
    server.request();
    (sandbox, server, child)
}

#[track_caller]
fn finish(sandbox: &Sandbox, child: Child) -> Run {
    sandbox.write("go", "");
    let run: Run = child.wait_with_output().unwrap().into();
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "half and half\n"),
        "{}",
        run.stderr
    );
    run
}

/// Runs a command that must succeed; gives what it says on stderr.
#[track_caller]
pub fn told(sandbox: &Sandbox, args: &[&str]) -> String {
    let run = sandbox.run(args);
    assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
    run.stderr.replace("checked 1 file: no problems\n", "")
}

/// The texts of a file that has all of its answers.
#[track_caller]
pub fn assert_whole(sandbox: &Sandbox, name: &str, texts: &[&str]) {
    assert_eq!(sandbox.texts(name), texts);
    assert_eq!(told(sandbox, &["check", name]), "");
}

/// Whether any file below a folder holds these bytes, or has them in its name.
pub fn holds(folder: &Path, secret: &str) -> bool {
    let entries = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    entries.into_iter().any(|path| match path.is_dir() {
        true => holds(&path, secret),
        false => String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(secret),
    })
}

#[test]
fn a_moved_file_keeps_its_answers() {
    let (sandbox, _server) = killed();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    std::fs::rename(sandbox.path(FILE), sandbox.path("folder/b.msg.md")).unwrap();
    assert!(told(&sandbox, &["list", "folder/b.msg.md"]).contains(WAITS));
    told(&sandbox, &["add", "folder/b.msg.md", "next"]);
    assert_whole(&sandbox, "folder/b.msg.md", &["Why?", "half", "next"]);

    let (sandbox, _server) = answered(&[]);
    std::fs::rename(sandbox.path(FILE), sandbox.path("b.msg.md")).unwrap();
    assert_whole(&sandbox, "b.msg.md", &["Why?", "One."]);
    sandbox.write("b.msg.md", format!("{AGENT}{QUESTION}"));
    assert!(told(&sandbox, &["check", "b.msg.md"]).contains(MISSING));
    told(&sandbox, &["recover", "b.msg.md", "q"]);
    assert_whole(&sandbox, "b.msg.md", &["Why?", "One."]);
}

#[test]
fn a_file_and_its_copy_both_continue() {
    let (sandbox, server) = answered(&["In the file.", "In the copy."]);
    std::fs::copy(sandbox.path(FILE), sandbox.path("b.msg.md")).unwrap();
    sandbox
        .run(&["chat", FILE, "and then?"])
        .assert_answer("In the file.\n");
    sandbox
        .run(&["chat", "b.msg.md", "and then?"])
        .assert_answer("In the copy.\n");
    for _ in 0..2 {
        let request = server.request();
        assert!(
            request.contains("One.") && !request.contains("In the"),
            "{request}"
        );
    }
    assert_whole(
        &sandbox,
        FILE,
        &["Why?", "One.", "and then?", "In the file."],
    );
    assert_whole(
        &sandbox,
        "b.msg.md",
        &["Why?", "One.", "and then?", "In the copy."],
    );

    // What broke off belongs to the file in which it was asked; the copy can have it, too.
    let (sandbox, _server) = killed();
    std::fs::copy(sandbox.path(FILE), sandbox.path("b.msg.md")).unwrap();
    told(&sandbox, &["add", "b.msg.md", "next"]);
    assert_eq!(sandbox.texts("b.msg.md"), ["Why?", "next"]);
    assert_eq!(sandbox.records("b.msg.md")[0]["text"], "half");
    told(&sandbox, &["add", FILE, "next"]);
    assert_whole(&sandbox, FILE, &["Why?", "half", "next"]);
}

#[test]
fn a_recreated_file_is_offered_its_old_answer_only_for_the_same_question() {
    let (sandbox, _server) = answered(&["Two."]);
    std::fs::remove_file(sandbox.path(FILE)).unwrap();
    sandbox.write(FILE, format!("{AGENT}\n# %%\n\nHow?\n"));
    assert_eq!(told(&sandbox, &["check", FILE]), "");
    sandbox.write(FILE, format!("{AGENT}\n# %%\n\nWhy?\n"));
    assert!(told(&sandbox, &["check", FILE]).contains("is no longer in the file"));
    sandbox.run(&["chat", FILE]).assert_answer("Two.\n");
    assert_whole(&sandbox, FILE, &["Why?", "Two."]);
}

#[test]
fn a_file_switched_by_git_has_the_answers_of_its_version() {
    let (sandbox, server) = sandbox(&["One.", "Again.", "Next."]);
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
    sandbox.run(&["chat", FILE]).assert_answer("One.\n");
    commit();
    assert!(git(&["checkout", "-q", "asked"]));
    assert_eq!(sandbox.texts(FILE), ["Why?"]);
    assert!(told(&sandbox, &["check", FILE]).contains(MISSING));
    sandbox.run(&["chat", FILE]).assert_answer("Again.\n");
    commit();
    assert!(git(&["checkout", "-q", "main"]));
    assert_whole(&sandbox, FILE, &["Why?", "One."]);
    assert!(git(&["checkout", "-q", "asked"]));
    assert_whole(&sandbox, FILE, &["Why?", "Again."]);
    sandbox
        .run(&["chat", FILE, "next"])
        .assert_answer("Next.\n");
    let [_, _, request] = [server.request(), server.request(), server.request()];
    assert!(
        request.contains("Again.") && !request.contains("One."),
        "{request}"
    );
}

#[test]
fn a_fork_continues_with_its_own_answers() {
    let (sandbox, server) = answered(&["In the fork.", "In the file."]);
    told(&sandbox, &["fork", FILE, "-o", "b.msg.md"]);
    sandbox
        .run(&["chat", "b.msg.md", "next"])
        .assert_answer("In the fork.\n");
    assert!(server.request().contains("One."));
    told(&sandbox, &["fork", FILE, "--at", "q", "-o", "c.msg.md"]);
    // There the question is to be asked again: nothing is missing.
    assert_eq!(sandbox.texts("c.msg.md"), ["Why?"]);
    assert_eq!(told(&sandbox, &["check", "c.msg.md"]), "");
    sandbox
        .run(&["chat", FILE, "next"])
        .assert_answer("In the file.\n");
    assert_whole(&sandbox, FILE, &["Why?", "One.", "next", "In the file."]);
    assert_whole(
        &sandbox,
        "b.msg.md",
        &["Why?", "One.", "next", "In the fork."],
    );
}

#[test]
fn every_path_to_a_file_shares_its_answers() {
    let (sandbox, server, child) = under_way(FILE);
    let run = sandbox.run(&["chat", LINK, "more"]);
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    finish(&sandbox, child);
    assert_whole(&sandbox, LINK, &["Why?", "half and half"]);
    assert_eq!(server.request_within(std::time::Duration::ZERO), None);
    sandbox.write(FILE, format!("{AGENT}{QUESTION}"));
    assert!(told(&sandbox, &["check", LINK]).contains(MISSING));
    assert_eq!(told(&sandbox, &["check", FILE]), "");
    told(&sandbox, &["recover", LINK, "q"]);
    assert_whole(&sandbox, FILE, &["Why?", "half and half"]);
}

#[test]
fn a_redirected_link_leaves_the_answer_with_its_question() {
    let (sandbox, _server, child) = under_way(LINK);
    std::fs::copy(sandbox.path(FILE), sandbox.path("b.msg.md")).unwrap();
    std::fs::remove_file(sandbox.path(LINK)).unwrap();
    symlink("b.msg.md", sandbox.path(LINK)).unwrap();
    assert_eq!(finish(&sandbox, child).stderr, "");
    assert_whole(&sandbox, FILE, &["Why?", "half and half"]);
    assert_eq!(sandbox.texts("b.msg.md"), ["Why?"]);
}

#[test]
fn during_an_answer_others_can_write_but_not_ask() {
    let (sandbox, server, child) = under_way(FILE);
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
    assert_eq!(told(&sandbox, &["check", FILE]), "");
    told(&sandbox, &["add", FILE, "--id", "n", "next"]);
    told(&sandbox, &["add", FILE, "--id", "m", "and more"]);
    told(&sandbox, &["drop", FILE, "n"]);
    assert_eq!(finish(&sandbox, child).stderr, "");
    assert_whole(
        &sandbox,
        FILE,
        &["Why?", "half and half", "next", "and more"],
    );
    sandbox.run(&["chat", FILE]).assert_answer("One.\n");
    let request = server.request();
    assert!(
        request.contains("and more") && !request.contains("next"),
        "{request}"
    );
}

#[test]
fn a_question_changed_during_its_answer_is_a_new_question() {
    let (sandbox, server, child) = under_way(FILE);
    sandbox.write(FILE, sandbox.read(FILE).replace("Why?", "Why not?"));
    let said = finish(&sandbox, child).stderr;
    assert!(
        said.contains("so the answer is not in the file; analects recover a.msg.md"),
        "{said}"
    );
    assert_eq!(sandbox.texts(FILE), ["Why not?"]);
    sandbox.run(&["chat", FILE]).assert_answer("One.\n");
    assert!(server.request().contains("Why not?"));
    let records = sandbox.records(FILE);
    let kept = records
        .iter()
        .find(|record| record["text"] == "half and half")
        .unwrap();
    told(&sandbox, &["recover", FILE, kept["name"].as_str().unwrap()]);
    // It answers nothing that stands there, so the model does not see it.
    assert_whole(&sandbox, FILE, &["Why not?", "One.", "half and half"]);
    sandbox.run(&["chat", FILE, "next"]).assert_answer("Two.\n");
    assert!(!server.request().contains("half and half"));
}

#[test]
fn a_deleted_answer_is_reported_once() {
    for verb in [&["check", FILE][..], &["list", FILE], &["chat", FILE]] {
        let (sandbox, server) = answered(&["Two."]);
        sandbox.write(FILE, format!("{AGENT}{QUESTION}"));
        assert!(told(&sandbox, verb).contains(MISSING), "{verb:?}");
        if verb[0] != "chat" {
            for again in [&["check", FILE][..], &["list", FILE], &["chat", FILE]] {
                assert_eq!(told(&sandbox, again), "", "{verb:?} {again:?}");
            }
        }
        assert!(!server.request().contains("One."));
        assert_whole(&sandbox, FILE, &["Why?", "Two."]);
    }
}

#[test]
fn nothing_is_asked_when_the_journal_cannot_be_written() {
    let (sandbox, server) = sandbox(&["One."]);
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
    // This one keeps no journal, and is the first that the server hears of.
    sandbox
        .run(&["ask", "-m", "openai/tiny", "How?"])
        .assert_answer("One.\n");
    assert!(server.request().contains("How?"));
}

#[test]
fn reading_commands_report_an_interrupted_answer() {
    let (sandbox, server) = killed();
    let before = sandbox.read(FILE);
    let verbs: [&[&str]; 4] = [
        &["check", FILE],
        &["list", FILE],
        &["context", FILE],
        &["chat", FILE, "--dry-run"],
    ];
    for verb in verbs {
        assert!(told(&sandbox, verb).contains(WAITS), "{verb:?}");
    }
    assert_eq!(sandbox.records(FILE)[0]["kind"], "interrupted");
    assert_eq!(sandbox.read(FILE), before);
    let run = sandbox.run(&["chat", FILE, "go on"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(0), "One.\n"),
        "{}",
        run.stderr
    );
    assert!(server.request().contains("half"));
    assert_whole(&sandbox, FILE, &["Why?", "half", "go on", "One."]);
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
        let run = Run::from(output);
        assert_eq!(run.code, Some(5), "{}", run.stderr);
        assert!(
            run.stderr.contains("Incorrect API key: [key]"),
            "{}",
            run.stderr
        );
    }
    assert!(holds(&sandbox.path("home/state"), "half"));
    assert!(!holds(&sandbox.path(""), key));
}
