//! What is printed, where, and what happens if it cannot be printed.

use std::process::Stdio;

use crate::sandbox::{CommandOutput, Sandbox, skip};
use crate::server::{Server, Step, answer, done, done_because, piece, stream_head, thought};

const DUPLICATE: &str =
    "# %% [^1]\n\n[^1]: [markdown]\n\none\n\n# %% [^1]\n\n[^1]: [markdown]\n\ntwo\n";

#[cfg(target_os = "linux")]
#[test]
fn a_closed_stderr_changes_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", DUPLICATE);
    let run: CommandOutput = sandbox
        .command(&["show", "a.msg.md"])
        .stderr(Sandbox::full_device())
        .output()
        .unwrap()
        .into();
    assert_eq!((run.code, run.stdout.lines().count()), (Some(0), 2));
    for (args, code) in [(&["show", "gone.msg.md"][..], 3), (&["shwo"], 2), (&[], 2)] {
        let status = sandbox
            .command(args)
            .stderr(Sandbox::full_device())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", DUPLICATE.repeat(10_000));
    for args in [&["show", "a.msg.md"][..], &["show", "a.msg.md", "--json"]] {
        let mut child = sandbox.spawn(args);
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", "# %%\n\nhello\n");
    let message = "cannot write to stdout: no space left on device";
    let full = |args: &[&str]| -> CommandOutput {
        let mut command = sandbox.command(args);
        command
            .stdout(Sandbox::full_device())
            .stderr(Stdio::piped());
        command.spawn().unwrap().wait_with_output().unwrap().into()
    };
    full(&["show", "a.msg.md"]).assert_fails(1, &format!("analects: {message}\n"));
    full(&["--help"]).assert_fails(1, &format!("analects: {message}\n"));
    let run = full(&["show", "a.msg.md", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(
        (run.code, error["error"]["message"].as_str()),
        (Some(1), Some(message))
    );
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_printed_is_still_stored() {
    let server = Server::new(vec![answer(&["one ", "two ", "three"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    let mut command = sandbox.command(&["chat", "a.msg.md", "-m", "openai/tiny", "hi"]);
    let child = command
        .stdout(Sandbox::full_device())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let run: CommandOutput = child.wait_with_output().unwrap().into();
    run.assert_fails(
        1,
        "analects: cannot write to stdout: no space left on device\n",
    );
    assert_eq!(sandbox.message_texts("a.msg.md"), ["hi", "one two three"]);
}

#[test]
fn an_unusual_stop_reason_is_a_warning() {
    let cut = |text: &str, reason: &str| vec![stream_head(), piece(text), done_because(reason)];
    let cases: [(Vec<Step>, &str, &str); 6] = [
        (
            cut("half", "length"),
            "half\n",
            "the answer was cut at the token limit",
        ),
        (
            vec![stream_head(), thought("hm"), done_because("length")],
            "",
            "the answer was cut at the token limit before any text came",
        ),
        (
            cut("no", "content_filter"),
            "no\n",
            "the model or its provider refused to answer",
        ),
        (
            cut("so", "weather"),
            "so\n",
            "the answer ended for an unusual reason: weather",
        ),
        (vec![stream_head(), done()], "", "the answer holds no text"),
        (
            vec![stream_head(), thought("hm"), done()],
            "",
            "the answer holds no text",
        ),
    ];
    for (script, stdout, warning) in cases {
        let server = Server::new(vec![script]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        let run = sandbox.run(&["chat", "a.msg.md", "-m", "openai/tiny", "hi"]);
        let expected = format!("warning: {warning}\n");
        assert_eq!(
            (run.code, &*run.stdout, run.stderr),
            (Some(0), stdout, expected)
        );
    }
}

#[test]
fn file_problems_are_printed_with_their_position() {
    let server = Server::new(vec![answer(&["ok"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    // A warning, and a line that is only a hint.
    sandbox
        .write("talk.msg.md", "---\nagents: {tiny: {models: openai/tiny}}\n---\n# %% [^1]\n\n[^1]: [markdown] history=sumary\n\nhi\n\n#%% there\n");
    let run = sandbox.run(&["chat", "talk.msg.md", "-m", "openai/tiny"]);
    assert_eq!((run.code, &*run.stdout), (Some(0), "ok\n"));
    let (first, rest) = run.stderr.split_once('\n').unwrap();
    assert!(
        first.starts_with("talk.msg.md:6:1: warning: unknown history value"),
        "{first}"
    );
    assert_eq!(
        rest,
        "  6 | [^1]: [markdown] history=sumary\n    | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n  \
         hint: it is read as include\n"
    );
    assert!(
        sandbox
            .run(&["show", "talk.msg.md"])
            .stderr
            .contains("near-head")
    );
}

#[test]
fn a_partial_answer_ends_its_line_before_an_error() {
    let sandbox = Sandbox::new();
    let gate = Step::Until(sandbox.path("go"));
    let server = Server::new(vec![vec![stream_head(), piece("half"), gate, done()]]);
    let sandbox = sandbox.with_server(&server.base_url);
    let child = sandbox.spawn(&["chat", "a.msg.md", "-m", "openai/tiny", "hi"]);
    sandbox.wait_for_journal("half");
    // Now the answer cannot be written to its file.
    std::fs::remove_file(sandbox.path("a.msg.md")).unwrap();
    std::fs::create_dir(sandbox.path("a.msg.md")).unwrap();
    sandbox.write("go", "");
    let run: CommandOutput = child.wait_with_output().unwrap().into();
    assert_eq!(
        (run.code, &*run.stdout),
        (Some(1), "half\n"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.starts_with("analects: "), "{}", run.stderr);
}

/// A terminal of its own, if this machine can give one.
#[cfg(target_os = "linux")]
#[test]
fn thinking_is_shown_only_on_a_terminal() {
    let script = vec![
        stream_head(),
        thought("let me \u{1b}[31msee"),
        piece("Yes."),
        done(),
    ];
    let server = Server::new(vec![script.clone(), script]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox
        .run(&["chat", "a.msg.md", "-m", "openai/tiny", "really?"])
        .assert_prints("Yes.\n");
    let command = sandbox.command(&["chat", "a.msg.md", "again"]);
    let call = format!(
        "'{}' chat a.msg.md again > out",
        command.get_program().display()
    );
    let mut terminal = sandbox.program_like(&command, "script");
    terminal
        .args(["-q", "-e", "-c", &call, "seen"])
        .stdout(Stdio::null());
    terminal.env("SHELL", "/bin/sh");
    let Ok(status) = terminal.status() else {
        return skip(
            "thinking_is_shown_only_on_a_terminal",
            "there is no script command",
        );
    };
    assert!(status.success(), "{}", sandbox.read("seen"));
    assert_eq!(sandbox.read("out"), "Yes.\n");
    let seen = sandbox.read("seen");
    assert!(
        seen.contains("\u{1b}[2mlet me <U+001B>[31msee\u{1b}[0m\r\n"),
        "{seen:?}"
    );
}
