//! Problems as people see them: every command shows them alike.

use std::process::Command;

use crate::sandbox::{CommandOutput, Sandbox};
use crate::server::{Server, answer};

/// The warning about line 8.
const WARNING: &str = "a.msg.md:8:1: warning: unknown history value \"sumary\"; expected include, \
                       none or summary [unknown-history]\n  \
                       8 | [^1]: [markdown] history=sumary\n    \
                       | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n  hint: it is read as include\n";

const FILE: &str = "---\nagents:\n  tiny:\n    models: [openai/tiny]\n---\n# %% [^1]\n\n\
                    [^1]: [markdown] history=sumary\n\nhi\n";

#[test]
fn every_command_shows_a_problem_alike() {
    let server = Server::new(vec![answer(&["ok"])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", FILE);
    for args in [
        &["show", "a.msg.md"][..],
        &["list", "a.msg.md"],
        &["list", "a.msg.md/agents"],
        &["show", "a.msg.md", "1"],
        &["check", "a.msg.md"],
        &["chat", "a.msg.md", "-m", "openai/tiny"],
    ] {
        let run = sandbox.run(args);
        assert!(run.stderr.contains(WARNING), "{args:?}: {}", run.stderr);
        assert!(!run.stdout.contains("sumary"), "{args:?}: {}", run.stdout);
    }
}

fn prints_colour(command: &mut Command) -> bool {
    let run: CommandOutput = command.output().unwrap().into();
    assert!(run.stderr.contains("unknown-history"), "{}", run.stderr);
    run.stderr.contains("\u{1b}[1;33mwarning\u{1b}[0m")
}

#[test]
fn colour_appears_only_on_terminals_or_on_request() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    let command = || sandbox.command(&["show", "a.msg.md"]);
    assert!(!prints_colour(&mut command()));
    assert!(prints_colour(command().env("CLICOLOR_FORCE", "1")));
    assert!(!prints_colour(command().env("CLICOLOR_FORCE", "0")));
    assert!(!prints_colour(
        command().env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1")
    ));
    assert!(prints_colour(
        command().env("CLICOLOR_FORCE", "1").env("NO_COLOR", "")
    ));
}

#[test]
fn a_thousand_problems_are_abridged() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE.repeat(1000));
    let run = sandbox.run(&["check", "a.msg.md"]);
    assert_eq!(
        (run.code, run.stderr.matches("  hint: ").count()),
        (Some(1), 50)
    );
    assert!(
        run.stderr.ends_with(
            "\na.msg.md: and 974 errors, 975 warnings more\n\
             analects: checked 1 file: 999 errors, 1000 warnings\n"
        ),
        "{}",
        run.stderr
    );
    let run = sandbox.run(&["check", "a.msg.md", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["problems"].as_array().unwrap().len(), 1999);
}

#[test]
fn a_ten_megabyte_line_is_cut_around_the_problem() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(5_000_000);
    let bytes = [
        b"# %%\n\n",
        long.as_bytes(),
        b"\xff",
        long.as_bytes(),
        b"\n",
    ]
    .concat();
    sandbox.write("a.msg.md", bytes);
    let run = sandbox.run(&["check", "a.msg.md"]);
    assert!(
        run.stderr
            .starts_with("a.msg.md:3:5000001: error: the bytes"),
        "{}",
        run.stderr
    );
    let (line, marks) = (
        run.stderr.lines().nth(1).unwrap(),
        run.stderr.lines().nth(2).unwrap(),
    );
    assert!(
        line.starts_with("  3 | …xxx") && line.ends_with('…'),
        "{line}"
    );
    assert!(line.chars().count() <= 100, "{line}");
    let columns = |line: &str, c: char| line.chars().position(|found| found == c);
    assert_eq!(columns(line, '<'), columns(marks, '^'), "{line}\n{marks}");
    assert!(marks.ends_with(" ^^^^^^"), "{marks}");
}

#[test]
fn carets_line_up_with_crlf_tabs_and_wide_characters() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", b"# %%\r\n\r\n\t\xe5\xad\xa6\xff x\r\n");
    let run = sandbox.run(&["check", "a.msg.md"]);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines[1..3], ["  3 |     学<0xFF> x", "    |       ^^^^^^"]);
}
