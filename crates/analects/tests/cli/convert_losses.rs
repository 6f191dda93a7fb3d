//! `convert`: a file alone decides what is written, and the report says what is not.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::{CommandOutput, Sandbox, parse_json, skip};

/// A talk that uses most of what a message file has, and nothing that is in the reader's zone.
const TALK: &str = "---\ntitle: Weather\nagents:\n  coder: { models: [openai/tiny], system_prompt: Be brief. }\n---\n\n\
    # %% A question[^1]\n\n[^1]: [markdown] time=\"2026-11-15T20:00:00Z\" timeout=30s\n\nWhat is it like?\n\n\
    # %%% [^2]\n\n[^2]: [coder] time=\"2026-11-15T20:00:01Z\" tokens=12/3 cost=0.01\n\nI look.\n\n\
    # %%% [^2.k3f9qx7a]\n\n[^2.k3f9qx7a]: [tool] name=\"now\"\n\n<invoke name=\"now\"/>\n\n\
    # %%% [^2.k3f9qx7a.1]\n\n[^2.k3f9qx7a.1]: [tool] status=\"success\"\n\nNoon\n";

/// The formats that can be written, other than the message file.
const TARGETS: [&str; 6] = [
    "chatmd",
    "transcript",
    "chat-session",
    "anthropic",
    "openai",
    "markdown",
];

#[test]
fn a_file_alone_decides_what_convert_writes() {
    let here = Sandbox::new();
    let elsewhere = Sandbox::new();
    let folder = elsewhere.path("other/folder");
    fs::create_dir_all(&folder).unwrap();
    elsewhere.write_config("config.toml", "model = \"anthropic/other\"\n");
    here.write("talk.msg.md", TALK);
    elsewhere.write("other/folder/talk.msg.md", TALK);
    for target in TARGETS {
        let args = ["convert", "talk.msg.md", "--to", target, "--lossy"];
        let run = here.run(&args);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let mut command = elsewhere.command(&args);
        command.current_dir(&folder);
        // A page shows times in the reader's zone.
        if target != "markdown" {
            command.env("TZ", "Asia/Shanghai");
        }
        let other: CommandOutput = command.output().unwrap().into();
        assert_eq!(run.stdout, other.stdout, "{target}");
        assert_eq!(run.stderr, other.stderr, "{target}");
    }
}

/// The sample sessions, if there are any on this machine. They are not part of this project.
fn sample_sessions() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let mut found = Vec::new();
    for folder in ["claude-code", "malformed", "chat-markdown", "openai"] {
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten();
        found.extend(entries.map(|entry| entry.unwrap().path()));
    }
    found.sort();
    found
}

#[test]
fn the_report_of_a_real_session_fits_on_a_screen_and_names_what_was_said() {
    let samples = sample_sessions();
    if samples.is_empty() {
        let test = "the_report_of_a_real_session_fits_on_a_screen_and_names_what_was_said";
        return skip(test, "the samples are not here");
    }
    let sandbox = Sandbox::new();
    for path in samples {
        let path = path.to_str().unwrap();
        for target in TARGETS.iter().chain(&["msgfile"]) {
            let args = ["convert", path, "--to", target, "--lossy", "--force"];
            let run = sandbox.run(&[&args[..], &["--losses", "losses", "-o", "out"]].concat());
            if run.stderr.contains("is not clear from its content") {
                continue;
            }
            assert_eq!(run.code, Some(0), "{path} → {target}: {}", run.stderr);
            let lines = run.stderr.lines().count();
            assert!(
                lines <= 20,
                "{path} → {target}: {lines} lines\n{}",
                run.stderr
            );
            for loss in sandbox.read("losses").lines().map(parse_json) {
                let what = loss["what"].as_str().unwrap();
                let name = what.split([' ', '.']).next().unwrap();
                let is_named = loss["kind"] != "said" || run.stderr.contains(name);
                assert!(
                    is_named,
                    "{path} → {target}: {what} is not in\n{}",
                    run.stderr
                );
            }
        }
    }
}
