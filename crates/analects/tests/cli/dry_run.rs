//! `--dry-run` prints exactly what would be sent, and a refused command writes nothing.

use crate::sandbox::{Sandbox, parse_json};
use crate::server::{Server, answer};

/// Checks that a dry run prints exactly what the call then sends. Returns stderr.
#[track_caller]
fn assert_dry_run_matches(sandbox: &Sandbox, server: &Server, args: &[&str]) -> String {
    let dry = sandbox.run(&[args, &["--dry-run"]].concat());
    assert_eq!(dry.code, Some(0), "{}", dry.stderr);
    let run = sandbox.run(args);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let (said, sent) = (
        parse_json(&dry.stdout)["body"].clone(),
        parse_json(&server.request()),
    );
    assert_eq!(said["messages"], sent["messages"], "{args:?}");
    dry.stderr
}

/// What is wrong with a file is told before it is sent as well as after.
#[test]
fn dry_run_reports_frontmatter_problems() {
    for (front, told) in [
        (
            "agents: 5",
            "a.msg.md:2:1: error: agents must be a map of names to properties, not 5",
        ),
        (
            "default_agent: nobody",
            "error: the default agent nobody is defined nowhere",
        ),
    ] {
        let server = Server::new(vec![answer(&["Fine."])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        sandbox.write("a.msg.md", format!("---\n{front}\n---\n\n# %%\n\nWell?\n"));
        let args = ["chat", "a.msg.md", "-m", "openai/tiny"];
        let dry = sandbox.run(&[&args[..], &["--dry-run"]].concat());
        assert!(dry.stderr.contains(told), "{}", dry.stderr);
        let run = sandbox.run(&args);
        assert_eq!((dry.code, &dry.stderr), (run.code, &run.stderr));
    }
}

#[test]
fn dry_run_includes_attachments_and_reminders() {
    for first in [
        &["chat", "a.msg.md", "-m", "openai/tiny"][..],
        &["chat", "-m", "openai/tiny"],
    ] {
        let server = Server::new(vec![answer(&["I see."]); 4]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        let next: &[&str] = if first.len() == 4 {
            &["chat", "a.msg.md"]
        } else {
            &["chat", "-c"]
        };
        sandbox.write("notes.txt", "the tide table");
        assert_eq!(
            assert_dry_run_matches(
                &sandbox,
                &server,
                &[first, &["-f", "notes.txt", "Look."]].concat()
            ),
            ""
        );
        assert_eq!(
            assert_dry_run_matches(&sandbox, &server, &[next, &["And?"]].concat()),
            ""
        );
        sandbox.write("notes.txt", "another table");
        let told = assert_dry_run_matches(&sandbox, &server, &[next, &["And now?"]].concat());
        assert!(
            told.contains("would be told: The file notes.txt was changed"),
            "{told}"
        );
        assert_eq!(
            assert_dry_run_matches(&sandbox, &server, &[next, &["Still?"]].concat()),
            ""
        );
    }
}

#[test]
fn dry_run_says_that_chat_would_summarise_first() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    let rounds: String = (0..30)
        .map(|n| {
            format!(
                "# %%\n\nQuestion {n}?\n\n# %%% [^r{n}]\n\n[^r{n}]: [t]\n\n{}\n\n",
                "one two ".repeat(10)
            )
        })
        .collect();
    // Room for everything, and little more.
    for (window, told) in [(100_000, false), (1_080, true)] {
        let head = format!(
            "---\nagents:\n  t: {{models: [openai/tiny], context_window: {window}, max_output_tokens: 10}}\n---\n\n"
        );
        sandbox.write("a.msg.md", format!("{head}{rounds}"));
        let run = sandbox.run(&["chat", "a.msg.md", "Really?", "--dry-run"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let says =
            "warning: the context is nearly full; chat would summarise the conversation first";
        assert_eq!(run.stderr.contains(says), told, "{window}: {}", run.stderr);
    }
    // A cell without a summary is named as a person would name it.
    let cell = "# %% [^9]\n\n[^9]: [markdown] history=summary\n\nlong\n\n# %%% [^10]\n\n[^10]: [t]\n\nok\n";
    sandbox.write(
        "b.msg.md",
        format!("---\nagents:\n  t: {{models: [openai/tiny]}}\n---\n\n{cell}"),
    );
    let run = sandbox.run(&["chat", "b.msg.md", "Really?", "--dry-run"]);
    assert!(
        run.stderr
            .contains("would ask for a summary of cell 9 first"),
        "{}",
        run.stderr
    );
}

#[test]
fn dry_run_with_force_shows_the_request_for_a_plain_file() {
    let server = Server::new(vec![answer(&["Yes."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("plain.md", "# Notes\n\ntext\n");
    let run = sandbox.run(&["chat", "plain.md", "-m", "openai/tiny", "Hi", "--dry-run"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr.contains("not a message file") && run.stderr.contains("--force"),
        "{}",
        run.stderr
    );
    let forced = ["chat", "plain.md", "-m", "openai/tiny", "--force", "Hi"];
    assert_dry_run_matches(&sandbox, &server, &forced);
    assert!(
        sandbox
            .read("plain.md")
            .contains("message_section: Discussion")
    );
}

#[test]
fn a_refused_chat_leaves_a_plain_file_alone() {
    let sandbox = Sandbox::new().with_server("http://127.0.0.1:9/v1");
    let plain = "# Notes\n\ntext\n";
    let refused: [&[&str]; 5] = [
        &["-m", "nope", "hi"],
        &["-m", "openai/tiny", "-e", "7", "hi"],
        &["-m", "openai/tiny", "-f", "nothing.txt", "hi"],
        &["--agent", "nobody", "hi"],
        &[],
    ];
    for args in refused {
        sandbox.write("plain.md", plain);
        let run = sandbox.run(&[&["chat", "plain.md", "--force"], args].concat());
        assert!(matches!(run.code, Some(1..=3)), "{args:?}: {}", run.stderr);
        assert!(
            !run.stderr.contains("--force does that"),
            "{args:?}: {}",
            run.stderr
        );
        assert_eq!(sandbox.read("plain.md"), plain, "{args:?}");
    }
    let run = sandbox.run(&[
        "chat",
        "new.msg.md",
        "-m",
        "openai/tiny",
        "-f",
        "nothing.txt",
        "hi",
    ]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(!sandbox.path("new.msg.md").exists());
}

#[test]
fn a_file_attached_again_gets_no_reminder() {
    let server = Server::new(vec![answer(&["I see."]); 2]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.txt", "the tide table");
    assert_dry_run_matches(
        &sandbox,
        &server,
        &["chat", "-m", "openai/tiny", "-f", "notes.txt", "Look."],
    );
    sandbox.write("notes.txt", "another table");
    let told = assert_dry_run_matches(
        &sandbox,
        &server,
        &["chat", "-c", "-f", "notes.txt", "And now?"],
    );
    assert_eq!(told, "");
}

#[test]
#[cfg(unix)]
fn attachments_resolve_from_the_target_of_a_link() {
    let server = Server::new(vec![answer(&["I see."]); 2]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    std::fs::create_dir(sandbox.path("talks")).unwrap();
    sandbox.write("talks/real.msg.md", "");
    sandbox.write("talks/notes.txt", "the tide table");
    std::os::unix::fs::symlink("talks/real.msg.md", sandbox.path("a.msg.md")).unwrap();
    let first = [
        "chat",
        "a.msg.md",
        "-m",
        "openai/tiny",
        "-f",
        "talks/notes.txt",
        "Look.",
    ];
    assert_dry_run_matches(&sandbox, &server, &first);
    assert_eq!(
        assert_dry_run_matches(&sandbox, &server, &["chat", "a.msg.md", "And?"]),
        ""
    );
}

#[test]
fn dry_run_works_for_a_plain_file_that_does_not_exist() {
    let server = Server::new(vec![answer(&["Yes."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let run = sandbox.run(&["chat", "new.md", "-m", "openai/tiny", "Hi", "--dry-run"]);
    assert!(run.stderr.contains("new.md: not found"), "{}", run.stderr);
    assert_dry_run_matches(
        &sandbox,
        &server,
        &["chat", "new.md", "-m", "openai/tiny", "--force", "Hi"],
    );
}
