//! `set default`: one line changes, and no other byte.

use crate::sandbox::Sandbox;

const FILE: &str = "---\n# mine\nagents: # two\n  coder:\n    models: [openai/big]\n  poet: {models: openai/x}\n---\n\n# %%\n\nhi";

#[test]
fn set_default_changes_one_line() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    sandbox
        .run(&["set", "default", "a.msg.md", "poet"])
        .assert_prints("");
    let added = FILE.replace("---\n\n#", "default_agent: poet\n---\n\n#");
    assert_eq!(sandbox.read("a.msg.md"), added);
    sandbox
        .run(&["set", "default", "a.msg.md", "coder"])
        .assert_prints("");
    assert_eq!(
        sandbox.read("a.msg.md"),
        added.replace(": poet\n", ": coder\n")
    );
    assert_eq!(sandbox.show_json("a.msg.md")["default_agent"], "coder");
}

#[cfg(unix)]
#[test]
fn set_default_does_not_rewrite_the_same_value() {
    use std::os::unix::fs::MetadataExt;
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.msg.md",
        format!("---\ndefault_agent: poet\n{}", &FILE[4..]),
    );
    let facts = || {
        let facts = std::fs::metadata(sandbox.path("a.msg.md")).unwrap();
        (facts.ino(), facts.mtime_nsec())
    };
    let before = facts();
    sandbox
        .run(&["set", "default", "a.msg.md", "poet"])
        .assert_prints("");
    assert_eq!(facts(), before);
}

#[test]
fn set_default_adds_missing_frontmatter() {
    let sandbox = Sandbox::new();
    let cell = "# %% x[^1]\r\n\r\n[^1]: [agent] name=\"quick\" models=\"openai/x\"\r\n";
    sandbox.write("a.msg.md", cell);
    sandbox
        .run(&["set", "default", "a.msg.md", "quick"])
        .assert_prints("");
    assert_eq!(
        sandbox.read("a.msg.md"),
        format!("---\r\ndefault_agent: quick\r\n---\r\n\r\n{cell}")
    );
}

#[test]
fn set_default_explains_unknown_agents_and_files() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    sandbox.write("b.msg.md", "# %%\n");
    sandbox.write("notes.md", "mine");
    for (name, agent, code, stderr) in [
        (
            "a.msg.md",
            "codr",
            3,
            "analects: a.msg.md: there is no agent codr\nhint: did you mean coder?\n",
        ),
        (
            "a.msg.md",
            "x",
            3,
            "analects: a.msg.md: there is no agent x\nhint: the file has coder, poet\n",
        ),
        (
            "b.msg.md",
            "x",
            3,
            "analects: b.msg.md: there is no agent x\nhint: the file defines no agent; \
             chat -m MODEL adds one, or type one under agents:\n",
        ),
        (
            "gone.msg.md",
            "x",
            3,
            "analects: gone.msg.md: not found\nhint: check the name; chat creates a new file\n",
        ),
        (
            "notes.md",
            "x",
            2,
            "analects: notes.md: not a message file\n\
             hint: rename it to notes.msg.md, or add message_section: to its frontmatter\n",
        ),
    ] {
        sandbox
            .run(&["set", "default", name, agent])
            .assert_fails(code, stderr);
    }
    assert_eq!(sandbox.read("a.msg.md"), FILE);
    assert!(!sandbox.path("gone.msg.md").exists());
}

#[test]
fn set_default_leaves_unreadable_frontmatter_alone() {
    let sandbox = Sandbox::new();
    let text = "---\ndefault_agent: |\n  coder\nagents:\n  coder: {models: openai/x}\n---\n";
    sandbox.write("a.msg.md", text);
    let run = sandbox.run(&["set", "default", "a.msg.md", "coder"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr
            .ends_with("hint: type it yourself:\ndefault_agent: coder\n"),
        "{}",
        run.stderr
    );
    assert_eq!(sandbox.read("a.msg.md"), text);
}

#[test]
fn set_default_prints_json_for_programs() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", FILE);
    let run = sandbox.run(&["set", "default", "--json", "a.msg.md", "poet"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        json,
        serde_json::json!({ "path": "a.msg.md", "default_agent": "poet" })
    );
    let run = sandbox.run(&["set", "default", "--json", "a.msg.md"]);
    let json: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(
        (run.code, &json["error"]["kind"]),
        (Some(2), &"usage".into())
    );
}
