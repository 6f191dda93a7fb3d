//! Sessions of Claude Code: recognised, converted, checked.

use std::fs;
use std::path::PathBuf;

use analects_formats::transcript;
use analects_testkit::is_torture;

use crate::sandbox::{Sandbox, skip};

/// Two parallel tool calls with a progress record between them, a title, and a snapshot.
const SESSION: &str = concat!(
    r#"{"type":"file-history-snapshot","messageId":"u1","snapshot":{},"isSnapshotUpdate":false}"#,
    "\n",
    r#"{"parentUuid":null,"isSidechain":false,"sessionId":"s1","version":"2.1.29","type":"user","uuid":"u1","timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"Read both."}}"#,
    "\n",
    r#"{"parentUuid":"u1","sessionId":"s1","type":"assistant","uuid":"a1","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"path":"a"}}],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
    "\n",
    r#"{"parentUuid":"a1","sessionId":"s1","type":"assistant","uuid":"a2","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t2","name":"Read","input":{"path":"b"}}],"usage":{"input_tokens":1,"output_tokens":9}}}"#,
    "\n",
    r#"{"parentUuid":"a1","sessionId":"s1","type":"progress","uuid":"p1","data":{"type":"hook_progress"},"parentToolUseID":"t1"}"#,
    "\n",
    r#"{"parentUuid":"a1","sessionId":"s1","type":"user","uuid":"r1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"}]},"toolUseResult":{"new":[1.50]}}"#,
    "\n",
    r#"{"parentUuid":"a2","sessionId":"s1","type":"user","uuid":"r2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"two"}]}}"#,
    "\n",
    r#"{"type":"custom-title","customTitle":"Both","sessionId":"s1"}"#,
    "\n",
    r#"{"parentUuid":"r1","sessionId":"s1","type":"assistant","uuid":"b1","message":{"id":"msg_2","role":"assistant","model":"m","content":[{"type":"text","text":"One and two."}]}}"#,
);

fn lines(text: &str) -> Vec<String> {
    let messages = transcript::decode(text.as_bytes()).messages;
    messages.iter().map(transcript::encode).collect()
}

#[test]
fn a_claude_code_session_survives_a_message_file() {
    let sandbox = Sandbox::new();
    sandbox.write("s.jsonl", SESSION);
    let with = |args: &[&str]| {
        let run = sandbox.run(&[args, &["--full"]].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run
    };
    with(&["convert", "s.jsonl", "-o", "s.msg.md"]);
    let by_file = with(&["convert", "s.msg.md", "--to", "transcript"]);
    let direct = with(&["convert", "s.jsonl", "--to", "transcript"]);
    assert_eq!(lines(&by_file.stdout), lines(&direct.stdout));
    assert_eq!(lines(&direct.stdout).len(), 9);
    assert!(direct.stdout.contains(r#""toolUseResult":{"new":[1.50]}"#));
}

#[test]
fn convert_lists_what_it_leaves_out_of_a_claude_code_session() {
    let sandbox = Sandbox::new();
    sandbox.write("s.jsonl", SESSION);
    let run = sandbox.run(&["convert", "s.jsonl", "-o", "s.msg.md"]);
    let told = "s.jsonl: 16 provider details, 3 other records; --full keeps them\n";
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (Some(0), "", told));
    let text = sandbox.read("s.msg.md");
    assert!(
        text.contains("Read both.") && text.contains("One and two."),
        "{text}"
    );
}

#[test]
fn convert_warns_when_the_session_is_still_being_written() {
    let sandbox = Sandbox::new();
    sandbox.write("s.jsonl", &SESSION[..SESSION.len() - 10]);
    let run = sandbox.run(&["convert", "s.jsonl", "-o", "s.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stderr.contains("s.jsonl:9:1: warning"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("[torn-line]"), "{}", run.stderr);
    assert!(sandbox.read("s.msg.md").contains("Read both."));
    // A torn line in the middle is an error: it will never be completed.
    let lines: Vec<&str> = SESSION.lines().collect();
    let damaged = lines
        .iter()
        .enumerate()
        .map(|(at, line)| if at == 3 { &line[..20] } else { line });
    sandbox.write("t.jsonl", damaged.collect::<Vec<_>>().join("\n"));
    let run = sandbox.run(&["convert", "t.jsonl", "-o", "t.msg.md"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(!sandbox.path("t.msg.md").exists());
}

#[test]
fn check_finds_problems_in_a_claude_code_session() {
    let sandbox = Sandbox::new();
    sandbox.write("good.jsonl", SESSION);
    let run = sandbox.run(&["check", "good.jsonl"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let foreign = r#"{"parentUuid":"lost","sessionId":"s0","type":"user","uuid":"x1","message":{"role":"user","content":"Hi"}}"#;
    let other = r#"{"parentUuid":null,"sessionId":"s0","type":"user","uuid":"u1","message":{"role":"user","content":"Another"}}"#;
    sandbox.write(
        "bad.jsonl",
        format!("{SESSION}\n{foreign}\n{other}\n{{\"torn"),
    );
    let run = sandbox.run(&["check", "--json", "bad.jsonl"]);
    assert_eq!(run.code, Some(1));
    let found: serde_json::Value =
        serde_json::from_str(run.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(found["format"], "claude-code");
    let codes: Vec<(String, u64)> = found["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|odd| {
            (
                odd["code"].as_str().unwrap().to_string(),
                odd["line"].as_u64().unwrap(),
            )
        })
        .collect();
    for expected in [
        ("foreign-session", 10),
        ("unknown-parent", 10),
        ("duplicate-message-id", 11),
        ("torn-line", 12),
    ] {
        // Each of them once, with its line.
        let of_code: Vec<u64> = codes
            .iter()
            .filter(|(code, _)| code == expected.0)
            .map(|(_, line)| *line)
            .collect();
        assert_eq!(of_code, [expected.1], "{}: {codes:?}", expected.0);
    }
}

#[test]
fn full_conversion_keeps_one_session_id() {
    let sandbox = Sandbox::new();
    sandbox.write("s.jsonl", SESSION);
    for to in ["full.jsonl", "full.msg.md"] {
        let run = sandbox.run(&["convert", "s.jsonl", "-o", to, "--full"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let run = sandbox.run(&["check", to]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let all = sandbox.read("full.jsonl");
    assert_eq!(all.matches("\"session_id\":\"s1\"").count(), 9, "{all}");
}

#[test]
fn every_real_claude_code_session_converts() {
    let root =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples/claude-code");
    let Ok(folder) = fs::read_dir(root) else {
        return skip("every_real_claude_code_session_converts", "no samples here");
    };
    let sandbox = Sandbox::new();
    for entry in folder {
        let entry = entry.unwrap();
        if entry.metadata().unwrap().len() > 1_000_000 && !is_torture() {
            continue;
        }
        let path = entry.path().to_string_lossy().into_owned();
        let direct = sandbox.run(&["convert", &path, "--to", "transcript", "--full"]);
        assert_eq!(direct.code, Some(0), "{path}: {}", direct.stderr);
        let run = sandbox.run(&["convert", &path, "-o", "s.msg.md", "--full", "--force"]);
        assert_eq!(run.code, Some(0), "{path}: {}", run.stderr);
        let by_file = sandbox.run(&["convert", "s.msg.md", "--to", "transcript", "--full"]);
        assert!(lines(&by_file.stdout) == lines(&direct.stdout), "{path}");
    }
}
