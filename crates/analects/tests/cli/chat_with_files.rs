//! `chat -f`: files that you attached are read again later, but only those, and only on the machine where you
//! attached them.

use crate::sandbox::Sandbox;
use crate::server::{Server, answer};

/// A server that gives long answers, so that there is something to compact, and a summary when asked for one.
fn server_with_summaries(answers: usize) -> Server {
    let long = "One and two. ".repeat(100);
    let mut all = vec![answer(&[long.as_str()]); answers];
    all.push(answer(&["They counted."]));
    all.push(answer(&["Fine."]));
    Server::new(all)
}

/// All requests after the first `before`.
fn requests_after(server: &Server, before: usize) -> String {
    let within = std::time::Duration::from_millis(200);
    std::iter::from_fn(|| server.request_within(within))
        .skip(before)
        .collect()
}

fn run_successfully(sandbox: &Sandbox, args: &[&str]) -> String {
    let run = sandbox.run(args);
    assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
    run.stderr
}

#[test]
fn chat_does_not_read_files_attached_on_another_machine() {
    for now in ["private now\n", "the tide table\n"] {
        let server = server_with_summaries(3);
        let theirs = Sandbox::new().with_server(&server.base_url);
        theirs.write("outside.txt", "the tide table\n");
        let outside = theirs.path("outside.txt").to_string_lossy().into_owned();
        run_successfully(
            &theirs,
            &[
                "chat",
                "a.msg.md",
                "-m",
                "openai/tiny",
                "-f",
                &outside,
                "one?",
            ],
        );
        run_successfully(&theirs, &["chat", "a.msg.md", "two?"]);
        run_successfully(&theirs, &["chat", "a.msg.md", "three?"]);
        // Another machine: another state folder, and the same file at the same path.
        let mine = Sandbox::new().with_server(&server.base_url);
        mine.write("a.msg.md", theirs.read("a.msg.md"));
        theirs.write("outside.txt", now);
        let told = run_successfully(&mine, &["compact", "a.msg.md"]);
        assert!(!told.contains("read again"), "{told}");
        let told = run_successfully(&mine, &["chat", "a.msg.md", "four?"]);
        assert!(!told.contains("is told"), "{told}");
        let sent = requests_after(&server, 4);
        assert!(
            sent.contains("four?") && !sent.contains(now.trim()),
            "{sent}"
        );
    }
}

#[test]
fn a_moved_conversation_keeps_its_attached_files() {
    let server = server_with_summaries(2);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.txt", "the tide table\n");
    run_successfully(
        &sandbox,
        &[
            "chat",
            "a.msg.md",
            "-m",
            "openai/tiny",
            "-f",
            "notes.txt",
            "one?",
        ],
    );
    std::fs::create_dir(sandbox.path("moved")).unwrap();
    std::fs::rename(sandbox.path("a.msg.md"), sandbox.path("moved/b.msg.md")).unwrap();
    sandbox.write("notes.txt", "another table\n");
    let told = run_successfully(&sandbox, &["chat", "moved/b.msg.md", "two?"]);
    assert!(
        told.contains("the model is told: The file notes.txt was changed"),
        "{told}"
    );
}

#[test]
#[cfg(unix)]
fn a_file_removed_by_rewind_is_not_sent_again() {
    for target in ["a.msg.md", "last"] {
        let server = server_with_summaries(3);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        sandbox.write("notes.txt", "the tide table\n");
        let chat = |args: &[&str]| {
            let place: &[&str] = if target == "last" {
                &["chat", "-c"]
            } else {
                &["chat", target]
            };
            run_successfully(&sandbox, &[place, args].concat())
        };
        let first: &[&str] = if target == "last" {
            &["chat"]
        } else {
            &["chat", target]
        };
        run_successfully(
            &sandbox,
            &[first, &["-m", "openai/tiny", "-f", "notes.txt", "one?"]].concat(),
        );
        let shown = match target {
            "last" => {
                let tail = sandbox.run(&["session", "tail", "last", "--json"]);
                let line = tail
                    .stdout
                    .lines()
                    .find(|line| line.contains("the tide table"))
                    .unwrap();
                let message: serde_json::Value = serde_json::from_str(line).unwrap();
                message["id"].as_str().unwrap().to_string()
            }
            _ => {
                let file = sandbox.read(target);
                let end = file.find("]: [attachment]").unwrap();
                file[..end].rsplit("[^").next().unwrap().to_string()
            }
        };
        run_successfully(&sandbox, &["drop", target, &shown]);
        sandbox.write("notes.txt", "private now\n");
        let told = chat(&["two?"]);
        assert!(!told.contains("is told"), "{target}: {told}");
        chat(&["three?"]);
        let told = run_successfully(&sandbox, &["compact", target]);
        assert!(!told.contains("read again"), "{target}: {told}");
        chat(&["four?"]);
        let sent = requests_after(&server, 1);
        for text in ["private now", "the tide table", "notes.txt"] {
            assert!(!sent.contains(text), "{target}: {text}: {sent}");
        }
    }
}

#[test]
fn a_copied_conversation_keeps_its_attached_files() {
    let server = server_with_summaries(2);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.txt", "the tide table\n");
    run_successfully(
        &sandbox,
        &[
            "chat",
            "a.msg.md",
            "-m",
            "openai/tiny",
            "-f",
            "notes.txt",
            "one?",
        ],
    );
    run_successfully(&sandbox, &["fork", "a.msg.md", "-o", "b.msg.md"]);
    sandbox.write("notes.txt", "another table\n");
    let told = run_successfully(&sandbox, &["chat", "b.msg.md", "two?"]);
    assert!(
        told.contains("the model is told: The file notes.txt was changed"),
        "{told}"
    );
    sandbox.write("notes.md", "x\n");
    let run = sandbox.run(&["fork", "notes.md"]);
    assert!(
        run.code == Some(2) && run.stderr.contains("not a message file"),
        "{}",
        run.stderr
    );
}

#[test]
#[cfg(unix)]
fn an_idle_pipe_does_not_block_chat() {
    let server = server_with_summaries(2);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let make_pipe = |name: &str| {
        let made = std::process::Command::new("mkfifo")
            .arg(sandbox.path(name))
            .status();
        assert!(made.unwrap().success());
    };
    make_pipe("pipe");
    for name in ["pipe", "."] {
        let refused = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", "-f", name, "one?"]);
        let told = format!("{name}: a folder, a pipe or a device, not a file");
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        assert!(refused.stderr.contains(&told), "{}", refused.stderr);
        assert!(refused.stderr.contains("pipe it: "), "{}", refused.stderr);
        assert!(!sandbox.path("a.msg.md").exists());
    }
    // The same if a pipe replaces an attached file.
    sandbox.write("notes.txt", "the tide table\n");
    run_successfully(
        &sandbox,
        &[
            "chat",
            "a.msg.md",
            "-m",
            "openai/tiny",
            "-f",
            "notes.txt",
            "one?",
        ],
    );
    std::fs::remove_file(sandbox.path("notes.txt")).unwrap();
    make_pipe("notes.txt");
    let told = run_successfully(&sandbox, &["chat", "a.msg.md", "two?"]);
    assert!(told.contains("notes.txt"), "{told}");
}
