//! Help: short and long, in groups, for the command and for each verb.

use crate::sandbox::Sandbox;

fn commands(sandbox: &Sandbox) -> Vec<String> {
    let run = sandbox.run(&["-h"]);
    let (_, groups) = run.stdout.split_once("\nAsk:\n").unwrap();
    let (groups, _) = groups.split_once("\n\nOptions:\n").unwrap();
    let lines = groups.lines().filter(|line| line.starts_with("  "));
    lines
        .map(|line| line.split_whitespace().next().unwrap().to_string())
        .collect()
}

#[test]
fn short_help_fits_on_a_screen() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["-h"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    assert!(run.stdout.lines().count() <= 40, "{}", run.stdout);
    assert!(
        run.stdout.lines().all(|line| line.chars().count() <= 100),
        "{}",
        run.stdout
    );
    for group in [
        "Ask:",
        "Write and edit:",
        "Inspect:",
        "Convert and repair:",
        "Sessions:",
        "Setup:",
        "Options:",
    ] {
        assert!(
            run.stdout.contains(&format!("\n{group}\n")),
            "{}",
            run.stdout
        );
    }
    assert!(!run.stdout.contains("Examples:") && !run.stdout.contains('\u{1b}'));
    // The same without arguments, but nobody asked for help.
    let silent = sandbox.run(&[]);
    assert_eq!(
        (silent.code, &*silent.stdout, silent.stderr),
        (Some(2), "", run.stdout)
    );
}

#[test]
fn long_help_has_examples() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["--help"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    assert!(
        run.stdout.contains("\nExamples:\n  analects new "),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("\nAsk:\n"), "{}", run.stdout);
}

#[test]
fn every_command_has_short_and_long_help() {
    let sandbox = Sandbox::new();
    let verbs = commands(&sandbox);
    assert!(verbs.len() >= 8, "{verbs:?}");
    for verb in verbs {
        // Commands with subcommands list them.
        let words = match verb.as_str() {
            "set" => vec!["set", "default"],
            "config" => vec!["config", "show"],
            "model" => vec!["model", "list"],
            "session" => vec!["session", "list"],
            verb => vec![verb],
        };
        let short = sandbox.run(&[&words[..], &["-h"]].concat());
        let long = sandbox.run(&[&words[..], &["--help"]].concat());
        assert_eq!((short.code, long.code), (Some(0), Some(0)), "{verb}");
        assert!(
            !short.stdout.contains("Example"),
            "{verb}: {}",
            short.stdout
        );
        assert!(long.stdout.contains("\nExample"), "{verb}: {}", long.stdout);
        assert!(short.stdout.len() < long.stdout.len(), "{verb}");
    }
}

#[test]
fn the_session_help_names_the_verbs_that_take_a_session_and_hides_their_old_names() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["session", "--help"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let last = run.stdout.lines().last().unwrap();
    assert!(last.contains("also take a session"), "{last}");
    for verb in ["fork", "rewind", "drop", "restore"] {
        assert!(last.contains(verb), "{last}");
        assert!(!run.stdout.contains(&format!("\n  {verb}")), "{verb}");
        let run = sandbox.run(&["session", verb, "--help"]);
        assert_eq!(run.code, Some(0), "{verb}: {}", run.stderr);
    }
}

#[test]
fn wrong_subcommands_are_explained() {
    let sandbox = Sandbox::new();
    sandbox.run(&["set", "default", "a.msg.md"]).assert_fails(
        2,
        "analects: the following required arguments were not provided: <AGENT>\n\
         hint: usage: analects set default [OPTIONS] <FILE> <AGENT>; see analects set default --help\n",
    );
    let run = sandbox.run(&["set", "defualt"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("'default'"), "{}", run.stderr);
    for args in [&["set"][..], &["config"]] {
        let run = sandbox.run(args);
        assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{args:?}");
        assert!(run.stderr.contains("\nUsage: analects "), "{}", run.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn unprintable_output_fails_every_writing_command() {
    let sandbox = Sandbox::new();
    let all: [&[&str]; 6] = [
        &["new", "a.msg.md"],
        &["add", "a.msg.md", "x"],
        &["config", "show"],
        &["config", "show", "--json"],
        &["completions", "bash"],
        &["man"],
    ];
    for args in all {
        let status = sandbox
            .command(args)
            .stdout(Sandbox::full_device())
            .stderr(std::process::Stdio::null())
            .status();
        assert_eq!(status.unwrap().code(), Some(1), "{args:?}");
    }
    // The file is changed all the same.
    assert_eq!(sandbox.message_texts("a.msg.md"), ["x"]);
}
