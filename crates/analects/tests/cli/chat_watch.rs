//! `chat --watch`: you type a question in an editor, save, and the answer appears in the file.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::file_watcher::{AGENT, LISTENING, WatchProcess, sandbox_with};
use crate::sandbox::{Sandbox, read_until, skip};
use crate::server::{Server, Step, answer, error, in_halves, piece, stream_head};

/// A file and a server: the second part of its first answer arrives once there is a file `go`; then comes `next`.
fn answer_in_two_parts(first: &str, rest: &str, next: &str) -> (Sandbox, Server) {
    let sandbox = Sandbox::new();
    let slow = in_halves(first, sandbox.path("go"), rest);
    let server = Server::new(vec![slow, answer(&[next]), answer(&["too many"])]);
    sandbox.write("a.msg.md", AGENT);
    (sandbox.with_server(&server.base_url), server)
}

/// Saves one more cell by replacing the file, as some editors do.
fn save_by_rename(sandbox: &Sandbox, text: &str) {
    sandbox.write(
        ".a.swp",
        format!("{}\n# %%\n\n{text}\n", sandbox.read("a.msg.md")),
    );
    std::fs::rename(sandbox.path(".a.swp"), sandbox.path("a.msg.md")).unwrap();
}

/// Saves one more cell over the file, and returns the new text.
fn save_in_place(sandbox: &Sandbox, text: &str) -> String {
    let file = format!("{}\n# %%\n\n{text}\n", sandbox.read("a.msg.md"));
    sandbox.write("a.msg.md", &file);
    file
}

/// Waits long enough for a watch to look at the file several times, and checks that nothing is asked.
#[track_caller]
fn assert_nothing_asked(server: &Server) {
    assert_eq!(server.request_within(Duration::from_millis(1500)), None);
}

#[test]
fn watch_answers_each_saved_question_once() {
    let answers = ["one", "two", "three", "too many"].map(|text| answer(&[text]));
    let server = Server::new(answers.to_vec());
    let sandbox = sandbox_with(&server);
    let watching = WatchProcess::start(&sandbox, &[]);
    save_by_rename(&sandbox, "first?");
    sandbox.wait_for("a.msg.md", "\none\n");
    save_in_place(&sandbox, "second?");
    sandbox.wait_for("a.msg.md", "\ntwo\n");
    for _ in 0..2 {
        server.request();
    }
    // Empty cells, our own writes and a changed modification time ask nothing.
    save_in_place(&sandbox, "");
    sandbox.write("a.msg.md", sandbox.read("a.msg.md") + "\n");
    assert_nothing_asked(&server);
    // A file that disappears for a while is still the same file.
    std::fs::rename(sandbox.path("a.msg.md"), sandbox.path("away")).unwrap();
    assert_nothing_asked(&server);
    std::fs::rename(sandbox.path("away"), sandbox.path("a.msg.md")).unwrap();
    save_by_rename(&sandbox, "third?");
    sandbox.wait_for("a.msg.md", "\nthree\n");
    assert!(server.request().contains("third?"));
    let run = watching.stop();
    assert_eq!(
        (run.code, &*run.stdout, &*run.stderr),
        (Some(0), "one\ntwo\nthree\n", "")
    );
    let texts = ["first?", "one", "second?", "two", "third?", "three"];
    assert_eq!(sandbox.message_texts("a.msg.md"), texts);
}

#[test]
fn watch_retries_a_failed_question_only_after_a_save() {
    let refusal = error("400 Bad Request", r#"{"error":{"message":"no such luck"}}"#);
    let server = Server::new(vec![refusal, answer(&["at last"]), answer(&["too many"])]);
    let sandbox = sandbox_with(&server);
    let watching = WatchProcess::start(&sandbox, &[]);
    save_in_place(&sandbox, "question?");
    server.request();
    watching.wait_for("no such luck");
    assert_nothing_asked(&server);
    // The same bytes, saved once more.
    sandbox.write("a.msg.md", sandbox.read("a.msg.md"));
    sandbox.wait_for("a.msg.md", "\nat last\n");
    let run = watching.stop();
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stderr.matches("no such luck").count(),
        1,
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .contains("hint: to ask again, save the file again\n"),
        "{}",
        run.stderr
    );
}

#[cfg(target_os = "linux")]
#[test]
fn watch_ignores_half_written_saves() {
    use std::io::Write;
    let server = Server::new(vec![answer(&["whole"]), answer(&["too many"])]);
    let sandbox = sandbox_with(&server);
    let watching = WatchProcess::start(&sandbox, &[]);
    let whole = format!("{AGENT}\n# %%\n\nIs half of this a question?\n");
    let (first, second) = whole.split_at(whole.len() - 15);
    let mut file = std::fs::File::create(sandbox.path("a.msg.md")).unwrap();
    file.write_all(first.as_bytes()).unwrap();
    // While the file is open, more text may follow.
    watching.wait_for("has this file open for writing");
    file.write_all(second.as_bytes()).unwrap();
    drop(file);
    sandbox.wait_for("a.msg.md", "\nwhole\n");
    assert!(server.request().contains("Is half of this a question?"));
    assert_eq!(watching.stop().code, Some(0));
}

#[test]
fn watch_answers_questions_typed_during_an_answer() {
    let (sandbox, _server) = answer_in_two_parts("slow", "ly", "quickly");
    let watching = WatchProcess::start(&sandbox, &[]);
    save_in_place(&sandbox, "first?");
    sandbox.wait_for_journal("slow");
    save_by_rename(&sandbox, "second?");
    sandbox.write("go", "");
    sandbox.wait_for("a.msg.md", "\nquickly\n");
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["first?", "slowly", "second?", "quickly"]
    );
    assert_eq!(watching.stop().code, Some(0));
}

#[test]
fn watch_treats_a_changed_question_as_new() {
    let (sandbox, server) = answer_in_two_parts("slow\n", "ly", "quickly");
    let watching = WatchProcess::start(&sandbox, &[]);
    let first = save_in_place(&sandbox, "first?");
    sandbox.wait_for_journal("slow\n");
    sandbox.write("a.msg.md", first.replace("first?", "first, changed?"));
    sandbox.write("go", "");
    sandbox.wait_for("a.msg.md", "\nquickly\n");
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["first, changed?", "quickly"]
    );
    server.request();
    assert!(server.request().contains("first, changed?"));
    let run = watching.stop();
    let told = "the question changed while it was being answered";
    assert_eq!(run.stderr.matches(told).count(), 1, "{}", run.stderr);
    let offered = sandbox.recoverable_records("a.msg.md");
    assert!(
        offered.iter().any(|record| record["text"] == "slow\nly"),
        "{offered:?}"
    );
}

#[test]
fn watch_reports_once_when_an_older_save_removes_an_answer() {
    let answers = ["one", "two", "three", "too many"].map(|text| answer(&[text]));
    let server = Server::new(answers.to_vec());
    let sandbox = sandbox_with(&server);
    let watching = WatchProcess::start(&sandbox, &[]);
    let early = format!("{AGENT}\n# %% [^q]\n\n[^q]: [markdown]\n\nfirst?\n");
    sandbox.write("a.msg.md", &early);
    sandbox.wait_for("a.msg.md", "\none\n\n# %%\n");
    server.request();
    let told = "the answer to cell q is no longer in the file; if you did not delete it, \
                analects recover a.msg.md q brings it back; analects chat a.msg.md asks again\n";
    for _ in 0..3 {
        // An editor saves the text from before the answer, again and again.
        sandbox.write("a.msg.md", &early);
        watching.wait_for(told);
        assert_nothing_asked(&server);
    }
    assert_eq!(sandbox.message_texts("a.msg.md"), ["first?"]);
    let run = sandbox.run(&["recover", "a.msg.md", "q"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(sandbox.message_texts("a.msg.md"), ["first?", "one"]);
    // The next question is answered with the earlier messages as context.
    save_in_place(&sandbox, "second?");
    sandbox.wait_for("a.msg.md", "\ntwo\n");
    let request = server.request();
    assert!(
        request.contains("one") && request.contains("second?"),
        "{request}"
    );
    let run = watching.stop();
    assert_eq!(run.stderr.matches(told).count(), 1, "{}", run.stderr);
    // A new answer comes only on request.
    sandbox.write("a.msg.md", &early);
    assert_eq!(sandbox.run(&["chat", "a.msg.md"]).stdout, "three\n");
}

#[test]
fn watch_reports_an_unusable_save_once() {
    let server = Server::new(vec![answer(&["fine"])]);
    let sandbox = sandbox_with(&server);
    let watching = WatchProcess::start(&sandbox, &[]);
    let head = format!("{AGENT}\n# %% Is this one?\n").into_bytes();
    let bytes = [AGENT.as_bytes(), b"\n# %%\n\nCaf\xe9?\n"].concat();
    for (file, told) in [
        (head, "the title of a cell is not sent"),
        (bytes, "are not UTF-8"),
    ] {
        for _ in 0..2 {
            sandbox.write("a.msg.md", &file);
            watching.wait_for(told);
            assert_nothing_asked(&server);
        }
        assert_eq!(
            watching.stderr_so_far().matches(told).count(),
            1,
            "{}",
            watching.stderr_so_far()
        );
    }
    sandbox.write("a.msg.md", format!("{AGENT}\n# %%\n\nCafé?\n"));
    sandbox.wait_for("a.msg.md", "\nfine\n");
    assert_eq!(watching.stop().code, Some(0));
}

#[test]
fn ctrl_c_during_a_watched_answer_keeps_the_part_received() {
    let server = Server::new(vec![vec![stream_head(), piece("half an ans"), Step::Hang]]);
    let sandbox = sandbox_with(&server);
    let watching = WatchProcess::start(&sandbox, &[]);
    save_in_place(&sandbox, "question?");
    sandbox.wait_for_journal("half an ans");
    let run = watching.stop();
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["question?", "half an ans"]
    );
}

#[test]
fn watch_waits_for_another_command_that_is_asking() {
    let (sandbox, server) = answer_in_two_parts("", "by the other", "ours");
    let watching = WatchProcess::start(&sandbox, &[]);
    let other = sandbox.spawn(&["chat", "a.msg.md", "question?"]);
    server.request();
    watching.wait_for("the question is being answered already");
    sandbox.write("go", "");
    assert!(other.wait_with_output().unwrap().status.success());
    save_in_place(&sandbox, "next?");
    sandbox.wait_for("a.msg.md", "\nours\n");
    assert!(server.request().contains("next?"));
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["question?", "by the other", "next?", "ours"]
    );
    let run = watching.stop();
    assert_eq!(
        run.stderr.matches("analects: ").count(),
        1,
        "{}",
        run.stderr
    );
    // The watch tries again by itself.
    assert!(!run.stderr.contains("try again"), "{}", run.stderr);
}

#[test]
fn watch_takes_over_from_a_killed_command() {
    for (came, texts) in [("", ["question?", "ours"]), ("half", ["question?", "half"])] {
        let pieces = if came.is_empty() {
            vec![]
        } else {
            vec![piece(came)]
        };
        let hangs = [vec![stream_head()], pieces, vec![Step::Hang]].concat();
        let server = Server::new(vec![hangs, answer(&["ours"]), answer(&["too many"])]);
        let sandbox = sandbox_with(&server);
        let watching = WatchProcess::start(&sandbox, &[]);
        let mut other = sandbox.spawn(&["chat", "a.msg.md", "question?"]);
        watching.wait_for("the question is being answered already");
        sandbox.wait_for_journal(came);
        other.kill().unwrap();
        other.wait().unwrap();
        // Nobody saves the file.
        sandbox.wait_for("a.msg.md", &format!("\n{}\n\n# %%\n", texts[1]));
        assert_eq!(sandbox.message_texts("a.msg.md"), texts);
        assert_eq!(watching.stop().code, Some(0));
    }
}

#[test]
fn watch_says_how_to_repeat_an_interrupted_answer() {
    let broken = vec![stream_head(), piece("half an ans")];
    let server = Server::new(vec![broken, answer(&["at last"])]);
    let sandbox = sandbox_with(&server);
    let watching = WatchProcess::start(&sandbox, &[]);
    save_in_place(&sandbox, "question?");
    server.request();
    watching.wait_for("analects drop a.msg.md ");
    // The partial answer counts as an answer, however often the file is saved.
    sandbox.write("a.msg.md", sandbox.read("a.msg.md"));
    assert_nothing_asked(&server);
    let run = sandbox.run(&["chat", "a.msg.md"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let (_, cell) = run
        .stderr
        .trim_end()
        .split_once("analects drop a.msg.md ")
        .unwrap();
    assert_eq!(sandbox.run(&["drop", "a.msg.md", cell]).code, Some(0));
    sandbox.wait_for("a.msg.md", "\nat last\n");
    let run = watching.stop();
    assert_eq!(
        run.stderr.matches("analects: ").count(),
        1,
        "{}",
        run.stderr
    );
}

#[test]
fn watch_works_without_file_notifications() {
    let test = "watch_works_without_file_notifications";
    let server = Server::new(vec![answer(&["seen"])]);
    let sandbox = sandbox_with(&server);
    let plain = sandbox.command(&["chat", "--watch", "a.msg.md"]);
    let mut strace = sandbox.program_like(&plain, "strace");
    strace.args(["-f", "-qq", "-e", "inject=inotify_init1:error=EMFILE"]);
    strace.args(["-e", "trace=inotify_init1", "-o", "/dev/null"]);
    strace.arg(plain.get_program()).args(plain.get_args());
    let Ok(mut tracer) = strace.stderr(Stdio::piped()).spawn() else {
        return skip(test, "no strace");
    };
    read_until(tracer.stderr.as_mut().unwrap(), LISTENING);
    save_by_rename(&sandbox, "question?");
    sandbox.wait_for("a.msg.md", "\nseen\n");
    // The command would outlive strace, so it is killed first.
    let pid = tracer.id();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    for child in children.unwrap_or_default().split_whitespace() {
        let _ = Command::new("kill").args(["-KILL", child]).status();
    }
    tracer.wait().unwrap();
}

#[test]
fn watch_explains_wrong_options() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", AGENT);
    sandbox.write("plain.md", "# Notes\n");
    for (args, code) in [
        (&["chat", "--watch"][..], 2),
        (&["chat", "--watch", "a.msg.md", "prompt"], 2),
        (&["chat", "--watch", "nowhere.msg.md"], 3),
        (&["chat", "--watch", "-c", "a.msg.md"], 2),
        (&["chat", "--settle", "3", "a.msg.md"], 2),
        (&["chat", "--watch", "--settle", "x", "a.msg.md"], 2),
        (&["chat", "--watch", "plain.md"], 2),
        (&["chat", "--watch", "a.msg.md", "-e", "1"], 2),
    ] {
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(code), "{args:?}: {}", run.stderr);
    }
}
