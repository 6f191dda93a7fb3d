//! What stops `chat` before it sends anything, and the mistakes in a file that it reports.

use crate::sandbox::Sandbox;
use crate::server::{Server, answer};

/// Notes with a section for messages, whose last cell has this text.
fn notes(question: &str) -> String {
    format!(
        "---\nmessage_section: Discussion\n---\n\n# Notes\n\n## Discussion\n\n### %%\n\n{question}\n"
    )
}

/// Commands that send something, or show what would be sent.
const ASKING: [&[&str]; 5] = [
    &["chat", "FILE", "-m", "openai/tiny"],
    &["chat", "FILE", "-m", "openai/tiny", "Another question"],
    &["chat", "FILE", "-m", "openai/tiny", "--dry-run"],
    &["context", "FILE", "-m", "openai/tiny"],
    &["compact", "FILE", "-m", "openai/tiny"],
];

/// Every command that asks fails with this text, sends nothing and leaves the file as it is.
#[track_caller]
fn assert_stops(name: &str, text: &str, stderr: &str) {
    let server = Server::new(Vec::new());
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write(name, text);
    for args in ASKING {
        let args: Vec<&str> = args
            .iter()
            .map(|arg| if *arg == "FILE" { name } else { arg })
            .collect();
        sandbox.run(&args).assert_fails(1, stderr);
        assert_eq!(sandbox.read(name), text, "{args:?}");
    }
}

#[test]
fn broken_frontmatter_stops_chat_with_its_line() {
    for name in ["talk.msg.md", "notes.md"] {
        assert_stops(
            name,
            "---\nmessage_section: Talk\ntitle: Part 2: monoids\n---\n\n## Talk\n\n# %%\n\nWhy?\n",
            &format!(
                "analects: {name}:3:1: frontmatter cannot be read: mapping values are not allowed in this context\n\
                 hint: put a value with a colon into quotes\n"
            ),
        );
    }
    assert_stops(
        "talk.msg.md",
        "---\nagents:\n\tcoder:\n---\n\n# %%\n\nWhy?\n",
        "analects: talk.msg.md:3:1: frontmatter cannot be read: tabs disallowed within this context (block indentation)\n\
         hint: indent with spaces instead of tabs\n",
    );
}

#[test]
fn check_names_broken_frontmatter_in_any_markdown_file() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "notes.md",
        "---\nmessage_section: Talk\nx: [\n---\n\nMine.\n",
    );
    sandbox.run(&["check", "notes.md"]).assert_fails(
        1,
        "notes.md:3:1: error: frontmatter cannot be read: unclosed bracket '[' [frontmatter-yaml]\n  \
           3 | x: [\n    \
             | ^^^^\n  \
           hint: close it on the same line\n\
         analects: checked 1 file: 1 error\n",
    );
    // Other notes in a folder are nobody's conversation.
    sandbox
        .run(&["check", "."])
        .assert_fails(0, "checked 0 files: no problems\n");
}

#[test]
fn a_heading_that_ends_the_section_stops_chat() {
    for (heading, hint) in [
        ("## References", "### or \\##"),
        ("# References", "### or \\#"),
    ] {
        let text = notes(&format!(
            "Why?\n\n### Not this one\n\n```\n# nor this\n```\n\n{heading}\n\nA private text."
        ));
        assert_stops(
            "notes.md",
            &text,
            &format!(
                "analects: notes.md:19:1: this heading ends the section \"Discussion\", but is inside a cell\n\
                 hint: make it part of the cell with {hint}, or move it above the section\n"
            ),
        );
    }
    let sandbox = Sandbox::new();
    sandbox.write("notes.md", notes("Why?\n\n## References"));
    let run = sandbox.run(&["check", "notes.md"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("notes.md:13:1: error: this heading"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_private_note_that_would_go_out_stops_chat() {
    assert_stops(
        "talk.msg.md",
        "# %% [^n]\n\nA private note.\n\n[^n]: [markdown] history=\"none\"\n\n# %%\n\nWhy?\n",
        "analects: talk.msg.md:5:1: this metadata is below the text, so it has no effect and is part of the text\n\
         hint: move it right below the head; to keep it as text, indent it\n",
    );
    assert_stops(
        "talk.msg.md",
        "<!--\n# %%\n\nA private note.\n-->\n\n# %%\n\nWhy?\n",
        "analects: talk.msg.md:2:1: this cell counts, although a comment opens at line 1\n\
         hint: hide a cell with history=\"none\" in its metadata, or remove the comment\n",
    );
    assert_stops(
        "talk.msg.md",
        "\n---\ndefault_agent: coder\n---\n\n# %%\n\nWhy?\n",
        "analects: talk.msg.md:2:1: this is not read as frontmatter, since an empty line stands before it\n\
         hint: start the file with --- and end both of these lines right after the ---\n",
    );
}

#[test]
fn mistakes_that_send_nothing_else_do_not_stop_chat() {
    for text in [
        "# %% [^n]\n\nWhy?\n\n[^n]: [markdown]\n",
        "# %% [code]\n\nWhy?\n\n＃ ％％\n",
        "# %% [^1]\n\n[^1]: [cdoe]\n\n```\nWhy?\n",
        "\n---\ntitle: Talk\n---\n\n# %%\n\nWhy?\n",
    ] {
        let server = Server::new(vec![answer(&["Because."])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        sandbox.write("talk.msg.md", text);
        let run = sandbox.run(&["chat", "talk.msg.md", "-m", "openai/tiny"]);
        assert_eq!(run.code, Some(0), "{text}\n{}", run.stderr);
    }
}

#[test]
fn a_deeper_or_escaped_heading_is_part_of_the_question() {
    for heading in ["### References", "\\## References"] {
        let server = Server::new(vec![answer(&["Yes."])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        sandbox.write("notes.md", notes(&format!("Why?\n\n{heading}")));
        sandbox
            .run(&["chat", "notes.md", "-m", "openai/tiny"])
            .assert_prints("Yes.\n");
        assert!(server.request().contains("References"));
    }
}

#[test]
fn a_prompt_on_the_command_line_may_hold_any_heading() {
    let server = Server::new(vec![answer(&["One."]), answer(&["Two."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("notes.md", notes("").trim_end().to_string() + "\n");
    let args = ["chat", "notes.md", "-m", "openai/tiny"];
    let run = sandbox.run_with_stdin(&args, "# A title\n\nWhat is missing?\n");
    run.assert_prints("One.\n");
    let run = sandbox.run(&["chat", "notes.md", "And now?"]);
    run.assert_prints("Two.\n");
}

#[test]
fn misplaced_and_unknown_keys_are_reported_with_the_right_one() {
    let front = "---\nmodel: gpt-5\nagent: coder\nmesage_section: Talk\ncontext: documents\ntags: [mine]\nagents:\n  \
        coder:\n    models: [openai/tiny]\n    maxTokens: 5\n    api_key: none\n    colour: red\n---\n\n";
    let cells = "# %% [^1]\n\n[^1]: [agent] name=\"x\" models=\"y\" system_prompt=\"Be brief.\"\n\n\
        # %% [^2]\n\n[^2]: [markdown] model=\"gpt-5\"\n\nWhy?\n";
    let expected = [
        (
            2,
            "model has no effect outside of an agent",
            "agents: { NAME: { models: [MODEL] } }",
        ),
        (3, "agent has no effect", "did you mean default_agent?"),
        (
            4,
            "mesage_section has no effect",
            "did you mean message_section?",
        ),
        (
            5,
            "context: documents has no effect",
            "did you mean document?",
        ),
        (
            10,
            "unknown agent property \"maxTokens\"",
            "did you mean max_output_tokens?",
        ),
        (
            11,
            "unknown agent property \"api_key\"",
            "set them in your environment or configuration",
        ),
        (
            12,
            "unknown agent property \"colour\"",
            "expected one of models,",
        ),
        (
            17,
            "the cell of an agent cannot hold a system prompt",
            "agents: { NAME: { system_prompt: TEXT } }",
        ),
        (
            21,
            "model has no effect on a message",
            "name that with agent=\"NAME\"",
        ),
    ];
    let server = Server::new(vec![answer(&["Yes."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", format!("{front}{cells}"));
    let check = sandbox.run(&["check", "a.msg.md"]);
    assert_eq!(check.code, Some(1));
    let chat = sandbox.run(&["chat", "a.msg.md", "--agent", "coder"]);
    assert_eq!(chat.code, Some(0), "{}", chat.stderr);
    for run in [check, chat] {
        assert_eq!(
            run.stderr.matches(": warning: ").count(),
            expected.len(),
            "{}",
            run.stderr
        );
        for (line, text, hint) in expected {
            let text = format!("a.msg.md:{line}:1: warning: {text}");
            let at = run
                .stderr
                .find(&text)
                .unwrap_or_else(|| panic!("{text}: {}", run.stderr));
            let (_, after) = run.stderr[at..].split_once("hint: ").unwrap();
            assert!(
                after.lines().next().unwrap().contains(hint),
                "{text}: {after}"
            );
        }
    }
}

#[test]
fn a_file_in_another_format_is_named_with_the_commands_that_read_it() {
    let chat = "> ---\n> <USER />\n\nHello\n";
    let claude = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"},\"uuid\":\"a\",\
        \"sessionId\":\"s\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"parentUuid\":null}\n";
    let sandbox = Sandbox::new();
    for (name, text, new) in [
        ("talk.chat.md", chat, "talk.msg.md"),
        ("old.md", chat, "old.msg.md"),
        ("session.jsonl", claude, "session.msg.md"),
    ] {
        sandbox.write(name, text);
        for prompt in [&[][..], &["hi"]] {
            let run = sandbox.run(&[&["chat", name], prompt].concat());
            assert_eq!(run.code, Some(2), "{}", run.stderr);
            assert!(
                run.stderr
                    .starts_with(&format!("analects: {name}: not a message file")),
                "{}",
                run.stderr
            );
            let hint = format!(
                "hint: analects convert {name} -o {new} makes a message file of it; \
                 analects session import {name} makes a session\n"
            );
            assert!(run.stderr.ends_with(&hint), "{}", run.stderr);
        }
        // What the hint names works.
        let convert = sandbox.run(&["convert", name, "-o", new, "--lossy"]);
        assert_eq!(convert.code, Some(0), "{}", convert.stderr);
        assert_eq!(sandbox.run(&["session", "import", name]).code, Some(0));
    }
    assert!(!sandbox.message_texts("session.msg.md").is_empty());
}

#[test]
fn a_folder_is_no_prompt() {
    let sandbox = Sandbox::new();
    for folder in ["notes", "talk.md"] {
        std::fs::create_dir(sandbox.path(folder)).unwrap();
        sandbox.run(&["chat", folder, "hi"]).assert_fails(
            2,
            &format!(
                "analects: {folder}: a folder, not a message file\n\
                 hint: name a file in it, such as {folder}/talk.msg.md; if this is the first word of the prompt, \
                 quote the prompt\n"
            ),
        );
    }
}
