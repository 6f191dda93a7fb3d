//! What `convert` says about what gets lost, and what it must not lose.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::{Sandbox, parse_json, skip};

/// A file as a person writes it.
const PLAIN: &str = "# %%\n\nWhat is a monad?\n\n# %%%\n\nA monoid.\n\n# %%\n\nThanks!\n";

/// A file with a bit of everything that only a message file has.
const RICH: &str = "---\n# Mind the gap.\ntitle: Weather\nproject: demo\nagents:\n  coder:\n    models: [gpt-5]\n    \
    system_prompt: Be brief.\n---\n\nNotes of mine.\n\n\
    # %% A question[^intro]\n\n[^intro]: [markdown] timeout=77s mood=\"fine\"\n\nWhat is it like?\n\n\
    # %%% [^2.think]\n\n[^2.think]: [coder]\n\nLet me see.\n\n\
    # %%% [^2]\n\n[^2]: [coder] cost=0.01\n\nSunny.\n";

#[test]
fn a_plain_file_loses_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", PLAIN);
    for format in [
        "openai",
        "anthropic",
        "markdown",
        "chatmd",
        "chat-session",
        "transcript",
    ] {
        let run = sandbox.run(&["convert", "talk.msg.md", "--to", format]);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{format}");
        assert!(run.stdout.contains("A monoid."), "{format}: {}", run.stdout);
    }
}

#[test]
fn the_system_prompt_of_the_agent_reaches_every_format_that_has_a_place_for_it() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", RICH);
    for format in ["openai", "anthropic", "markdown", "chatmd", "chat-session"] {
        let run = sandbox.run(&["convert", "talk.msg.md", "--to", format, "--lossy"]);
        assert!(run.stdout.contains("Be brief."), "{format}: {}", run.stdout);
        assert!(
            !run.stderr.contains("system_prompt"),
            "{format}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_message_file_comes_back_from_a_transcript() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", RICH);
    sandbox
        .run(&["convert", "talk.msg.md", "-o", "talk.jsonl"])
        .assert_prints("");
    let run = sandbox.run(&["convert", "talk.jsonl", "-o", "again.msg.md"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    assert_eq!(sandbox.read("again.msg.md"), RICH);
}

#[test]
fn the_report_names_what_was_said_first_and_counts_details() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", RICH);
    let run = sandbox.run(&["convert", "talk.msg.md", "--to", "openai"]);
    assert_eq!((run.code, &*run.stdout), (Some(1), ""));
    let at = |words: &str| {
        let found = run.stderr.find(words);
        found.unwrap_or_else(|| panic!("{words}: {}", run.stderr))
    };
    assert!(at("loses thinking") < at("2 × title"), "{}", run.stderr);
    assert!(
        at("2 × title") < at("details for programs"),
        "{}",
        run.stderr
    );
    assert!(at("details for programs") < at("nothing was written"));
    for name in [
        "comment",
        "frontmatter project",
        "mood",
        "cell_id",
        "timeout",
        "cost_usd",
    ] {
        at(name);
    }
}

#[test]
fn all_losses_go_to_a_file_and_to_json() {
    let sandbox = Sandbox::new();
    let line = |number: usize| {
        format!(
            "{{\"v\":1,\"type\":\"user\",\"id\":\"m{number}\",\"duration_ms\":5,\"content\":\"x\"}}\n"
        )
    };
    let lines: String = (0..11_000).map(line).collect();
    sandbox.write("t.jsonl", lines);
    let run = sandbox.run(&[
        "convert",
        "t.jsonl",
        "--to",
        "chatmd",
        "--losses",
        "lost.jsonl",
    ]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.lines().count() <= 20, "{}", run.stderr);
    let lost = sandbox.read("lost.jsonl");
    let count = |name: &str| lost.lines().filter(|line| line.contains(name)).count();
    assert_eq!(count("\"what\":\"duration_ms\""), 11_000);
    let first = parse_json(lost.lines().next().unwrap_or_default());
    assert_eq!(first["path"], "t.jsonl");
    let run = sandbox.run(&["convert", "t.jsonl", "-o", "t.chat.md", "--json"]);
    let losses = &parse_json(&run.stdout)["losses"];
    assert_eq!(losses.as_array().map(Vec::len), Some(lost.lines().count()));
    // The file of losses is never replaced by chance.
    let run = sandbox.run(&[
        "convert",
        "t.jsonl",
        "--to",
        "chatmd",
        "--losses",
        "lost.jsonl",
    ]);
    assert!(run.stderr.contains("already exists"), "{}", run.stderr);
}

/// All files in a folder, up to a size.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            files(&path, found);
        } else if fs::metadata(&path).is_ok_and(|facts| facts.len() < 300 << 10) {
            found.push(path);
        }
    }
}

#[test]
fn the_report_of_a_real_session_fits_on_a_screen() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let mut found = Vec::new();
    files(&samples, &mut found);
    if found.is_empty() {
        return skip(
            "loss_reports::the_report_of_a_real_session",
            "the samples are not here",
        );
    }
    let sandbox = Sandbox::new();
    for path in found {
        let path = path.to_string_lossy();
        for format in ["markdown", "msgfile", "openai", "anthropic", "chatmd"] {
            let run = sandbox.run(&["convert", &path, "--to", format, "--lossy"]);
            let lines = run.stderr.lines().count();
            assert!(
                lines <= 20,
                "{path} to {format}: {lines} lines\n{}",
                run.stderr
            );
        }
    }
}
