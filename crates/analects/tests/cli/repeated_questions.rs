//! A question whose call failed, asked again with the same words: it stays one question.

use crate::sandbox::Sandbox;
use crate::server::{self, Server, answer, error};

fn refused() -> Vec<server::Step> {
    error("401 Unauthorized", r#"{"error":{"message":"no such key"}}"#)
}

#[test]
fn a_failed_call_repeated_with_the_same_words_is_one_question_in_a_file() {
    let server = Server::new(vec![refused(), refused(), answer(&["A set."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.txt", "about groups\n");
    let args = [
        "chat",
        "a.msg.md",
        "-m",
        "openai/tiny",
        "-f",
        "notes.txt",
        "What is a group?",
    ];
    for _ in 0..2 {
        assert_eq!(sandbox.run(&args).code, Some(5));
    }
    sandbox.run(&args).assert_prints("A set.\n");
    let file = sandbox.read("a.msg.md");
    assert_eq!(file.matches("What is a group?").count(), 1, "{file}");
    assert_eq!(file.matches("about groups").count(), 1, "{file}");
    let last = (0..3).map(|_| server.request()).nth(2).unwrap();
    assert_eq!(last.matches("What is a group?").count(), 1, "{last}");
    assert_eq!(last.matches("about groups").count(), 1, "{last}");
}

#[test]
fn a_failed_call_repeated_with_the_same_words_is_one_question_in_a_session() {
    let server = Server::new(vec![refused(), refused(), answer(&["A set."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.txt", "about groups\n");
    let question = ["-f", "notes.txt", "What is a group?"];
    let first = [&["chat", "-m", "openai/tiny"][..], &question].concat();
    assert_eq!(sandbox.run(&first).code, Some(5));
    let again = [&["chat", "-c"][..], &question].concat();
    assert_eq!(sandbox.run(&again).code, Some(5));
    sandbox.run(&again).assert_prints("A set.\n");
    let last = (0..3).map(|_| server.request()).nth(2).unwrap();
    assert_eq!(last.matches("What is a group?").count(), 1, "{last}");
    assert_eq!(last.matches("about groups").count(), 1, "{last}");
}

#[test]
fn a_prompt_kept_without_a_model_is_not_kept_twice() {
    let server = Server::new(vec![answer(&["Now."])]);
    let sandbox = Sandbox::new();
    for _ in 0..2 {
        assert_ne!(sandbox.run(&["chat", "a.msg.md", "Hello?"]).code, Some(0));
    }
    let sandbox = sandbox.with_server(&server.base_url);
    let args = ["chat", "a.msg.md", "-m", "openai/tiny", "Hello?"];
    sandbox.run(&args).assert_prints("Now.\n");
    assert_eq!(sandbox.message_texts("a.msg.md"), ["Hello?", "Now."]);
}

#[test]
fn the_same_words_after_an_answer_are_a_new_question() {
    let server = Server::new(vec![answer(&["One."]), answer(&["Two."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let args = ["chat", "a.msg.md", "-m", "openai/tiny", "More"];
    sandbox.run(&args).assert_prints("One.\n");
    sandbox.run(&args).assert_prints("Two.\n");
    assert_eq!(
        sandbox.message_texts("a.msg.md"),
        ["More", "One.", "More", "Two."]
    );
}

#[test]
fn chat_prints_the_usage_that_ask_prints() {
    let server = Server::new(vec![answer(&["Yes"]), answer(&["Yes"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    for place in [&["chat", "a.msg.md"][..], &["chat"]] {
        let run = sandbox.run(&[place, &["-m", "openai/tiny", "-u", "Really?"]].concat());
        assert_eq!((run.code, &*run.stdout), (Some(0), "Yes\n"));
        let usage = run.stderr.lines().last().unwrap_or_default();
        assert!(
            usage.starts_with("5 tokens in, 7 tokens out, cost unknown, first token "),
            "{}",
            run.stderr
        );
        assert!(usage.ends_with(" s in all"), "{}", run.stderr);
    }
}

#[test]
fn a_failed_call_without_a_file_can_be_repeated_as_it_is() {
    let server = Server::new(vec![
        refused(),
        refused(),
        answer(&["A set."]),
        answer(&["Still a set."]),
    ]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.txt", "about groups\n");
    let plain = ["chat", "-m", "openai/tiny", "What is a group?"];
    let args = [&plain[..], &["-f", "notes.txt"]].concat();
    for _ in 0..2 {
        let run = sandbox.run(&args);
        assert_eq!(run.code, Some(5));
        let hint = "your prompt is kept: repeat the command to ask it again";
        assert!(run.stderr.contains(hint), "{}", run.stderr);
    }
    let count_sessions = || sandbox.run(&["session", "list"]).stdout.lines().count();
    assert_eq!(count_sessions(), 1);
    sandbox.run(&args).assert_prints("A set.\n");
    assert_eq!(count_sessions(), 1);
    let last = (0..3).map(|_| server.request()).nth(2).unwrap();
    assert_eq!(last.matches("What is a group?").count(), 1, "{last}");
    assert_eq!(last.matches("about groups").count(), 1, "{last}");
    // An answered question is asked anew in a session of its own.
    sandbox.run(&args).assert_prints("Still a set.\n");
    assert_eq!(count_sessions(), 2);
}

#[test]
fn a_failed_question_with_other_words_or_files_starts_a_session_of_its_own() {
    let server = Server::new(vec![refused(), refused(), refused()]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.txt", "about groups\n");
    let with_file = ["chat", "-m", "openai/tiny", "-f", "notes.txt", "Why?"];
    let without = ["chat", "-m", "openai/tiny", "Why?"];
    let other = ["chat", "-m", "openai/tiny", "What?"];
    for (args, count) in [(&with_file[..], 1), (&without, 2), (&other, 3)] {
        assert_eq!(sandbox.run(args).code, Some(5));
        let listed = sandbox.run(&["session", "list"]).stdout;
        assert_eq!(listed.lines().count(), count, "{listed}");
    }
}
