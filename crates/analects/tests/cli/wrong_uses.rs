//! Wrong uses of the command, and the exact text that each one gets: what is wrong, where, and what to type.

use crate::sandbox::Sandbox;
use crate::snapshots::assert_snapshot;

const TALK: &str = "---\nagents:\n  coder:\n    models: [openai/gpt-5-mini]\ndefault_agent: coder\n---\n\n\
    # %% [^1]\n\nWhat is a monad?\n\n# %%% [^2]\n\n[^2]: [coder] tokens=9/24\n\nA monoid.\n\n# %%\n";

/// A session of Claude Code, as far as it can be recognised.
const FOREIGN: &str = "{\"type\":\"user\",\"uuid\":\"a\",\"parentUuid\":null,\"sessionId\":\"s\",\
    \"version\":\"2.0.1\",\"cwd\":\"/x\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\
    \"message\":{\"role\":\"user\",\"content\":\"Hello\"}}\n";

const WRONG_USES: &[&[&str]] = &[
    &["shwo", "talk.msg.md"],
    &["resume", "last"],
    &["chat", "--modle", "x"],
    &["show"],
    &["show", "missing.msg.md"],
    &["show", "talk.msg.md", "99"],
    &["show", "talk.msg.md", "1", "2"],
    &["list", "talk.msg.md/agnet"],
    &["ask"],
    &["ask", "-m", "gpt5-mini", "hi"],
    &["ask", "-m", "opnai/gpt-5", "hi"],
    &["ask", "-m", "openai/gpt-5-mini", "hi"],
    &["ask", "-m", "replay:missing.sse", "hi"],
    &["ask", "-m", "local/smolm2", "hi"],
    &["ask", "-m", "openai/gpt-5-mini", "-f", "missing.txt", "hi"],
    &["chat", "talk.msg.md"],
    &["chat", "notes.md", "hi"],
    &["chat", "folder", "hi"],
    &["chat", "foreign.jsonl", "hi"],
    &["chat", "broken.msg.md", "hi"],
    &["chat", "talk.msg.md", "-i", "99", "hi"],
    &["chat", "talk.msg.md", "--agent", "nobody", "hi"],
    &["chat", "talk.msg.md", "--max-cost", "much", "hi"],
    &["chat", "--watch"],
    &["edit", "talk.msg.md", "99", "text"],
    &["edit", "talk.msg.md", "coder", "text"],
    &["drop", "talk.msg.md"],
    &["drop", "talk.msg.md", "99"],
    &["rewind", "talk.msg.md", "99"],
    &["fork", "talk.msg.md", "--at", "99"],
    &["new", "talk.msg.md"],
    &["add", "talk.msg.md", "--of", "99", "--output", "text"],
    &["set", "default", "talk.msg.md", "nobody"],
    &["convert", "talk.msg.md", "--to", "word"],
    &["convert", "talk.msg.md", "-o", "talk.msg.md"],
    &["context", "missing"],
    &["compact", "talk.msg.md"],
    &["recover", "talk.msg.md", "99"],
    &["check", "missing.msg.md"],
    &["repair", "missing.jsonl"],
    &["tokens", "-m", "nowhere/x", "hi"],
    &["model", "info", "nowhere/x"],
    &["model", "pull", "nothing"],
    &["session", "show", "missing"],
    &["session", "resume", "missing", "hi"],
    &["session", "export", "missing"],
    &["config", "shwo"],
    &["completions", "tcsh"],
];

#[test]
fn every_wrong_use_says_what_is_wrong_and_what_to_do() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", TALK);
    sandbox.write("notes.md", "# Notes\n\nNothing to do with models.\n");
    sandbox.write(
        "broken.msg.md",
        TALK.replace("models: [openai", "models: [[openai"),
    );
    sandbox.write("foreign.jsonl", FOREIGN);
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    let mut report = String::new();
    for args in WRONG_USES {
        let run = sandbox.run(args);
        let code = run.code.unwrap();
        assert_ne!(code, 0, "{args:?} is no wrong use: {}", run.stdout);
        assert_ne!(
            code, 255,
            "{args:?} is the program's own fault: {}",
            run.stderr
        );
        let quoted: Vec<String> = args
            .iter()
            .map(|arg| format!("{arg:?}").replace("\\\"", "'"))
            .collect();
        report += &format!(
            "$ analects {}\n{}{}[{code}]\n\n",
            quoted.join(" ").replace('"', ""),
            run.stdout,
            run.stderr
        );
        assert_eq!(
            sandbox.read("talk.msg.md"),
            TALK,
            "{args:?} changes nothing"
        );
    }
    assert_snapshot("wrong-uses.txt", &report);
}
