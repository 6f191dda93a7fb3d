//! How often a command reads a whole file: once, and once more if it changes the file.

use crate::sandbox::Sandbox;
use crate::server::{Server, answer};

const TALK: &str = "---\nagents:\n  coder: {models: [openai/tiny]}\n---\n\n\
    # %% [^1]\n\n[^1]: [markdown]\n\nWhat is a monad?\n\n\
    # %%% [^2]\n\n[^2]: [coder] tokens=12/9\n\nA monoid.\n\n\
    # %% [^3]\n\n[^3]: [markdown]\n\nAnd in one word?\n\n\
    # %%% [^4]\n\n[^4]: [coder]\n\nBurrito.\n\n# %%\n";

/// How often a command decodes a fresh file.
fn count_decodes(sandbox: &Sandbox, args: &[&str]) -> usize {
    sandbox.write("talk.msg.md", TALK);
    let note = sandbox.path("decodes");
    let mut command = sandbox.command(args);
    let output = command
        .env("ANALECTS_NOTE_DECODES", &note)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let count = std::fs::read_to_string(&note).unwrap();
    std::fs::remove_file(note).unwrap();
    count.parse().unwrap()
}

#[test]
fn reading_commands_decode_a_file_once() {
    let sandbox = Sandbox::new();
    for args in [
        &["list", "talk.msg.md"][..],
        &["show", "talk.msg.md"],
        &["show", "--json", "talk.msg.md"],
        &["show", "talk.msg.md", "2"],
        &["check", "talk.msg.md"],
        &["recover", "talk.msg.md"],
        &["fork", "talk.msg.md", "--at", "2"],
        &[
            "convert",
            "talk.msg.md",
            "--from",
            "msgfile",
            "--to",
            "transcript",
            "--lossy",
        ],
    ] {
        assert_eq!(count_decodes(&sandbox, args), 1, "{args:?}");
    }
    let server = Server::new(Vec::new());
    let sandbox = sandbox.with_server(&server.base_url);
    assert_eq!(count_decodes(&sandbox, &["context", "talk.msg.md"]), 1);
}

#[test]
fn writing_commands_decode_a_file_twice() {
    let sandbox = Sandbox::new();
    for args in [
        &["edit", "talk.msg.md", "1", "What is a comonad?"][..],
        &["drop", "talk.msg.md", "2"],
        &["rewind", "talk.msg.md", "2"],
        &["add", "talk.msg.md", "More"],
    ] {
        assert!(count_decodes(&sandbox, args) <= 2, "{args:?}");
    }
}

#[test]
fn chat_decodes_a_file_for_the_prompt_and_for_the_answer() {
    let server = Server::new(vec![answer(&["Yes."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let count = count_decodes(&sandbox, &["chat", "talk.msg.md", "Is it?"]);
    assert!(count <= 2, "{count}");
}
