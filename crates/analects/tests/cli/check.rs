//! `check`: files, folders, exit codes.

use std::fs;

use crate::sandbox::Sandbox;
use crate::snapshots::{TALK, assert_snapshot};

const CLEAN: &str = "# %% [^1]\n\n[^1]: [markdown]\n\nhi\n";
const WARNING: &str = "# %% [^1]\n\n[^1]: [markdown] history=sumary\n\nhi\n";
const HINT: &str = "# %%\n\nhi\n\n#%% there\n";

#[test]
fn check_exits_by_severity() {
    let sandbox = Sandbox::new();
    for (text, code, said) in [
        (CLEAN, 0, "checked 1 file: no problems\n"),
        (HINT, 0, "checked 1 file: 1 hint\n"),
        (WARNING, 1, "analects: checked 1 file: 1 warning\n"),
        (
            &format!("{WARNING}\n{WARNING}"),
            1,
            "analects: checked 1 file: 1 error, 2 warnings\n",
        ),
    ] {
        sandbox.write("a.msg.md", text);
        let run = sandbox.run(&["check", "a.msg.md"]);
        assert_eq!((run.code, &*run.stdout), (Some(code), ""), "{}", run.stderr);
        assert!(run.stderr.ends_with(said), "{}", run.stderr);
        assert_eq!(sandbox.read("a.msg.md"), text);
    }
}

#[test]
fn check_json_prints_one_line_per_file() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", TALK);
    sandbox.write("clean.msg.md", CLEAN);
    sandbox.write("torn.jsonl", "{\"v\":1,\"type\":\"us");
    sandbox.write("notes.txt", "x");
    let run = sandbox.run(&[
        "check",
        "--json",
        "talk.msg.md",
        "clean.msg.md",
        "torn.jsonl",
        "notes.txt",
    ]);
    assert_eq!((run.code, run.stdout.lines().count()), (Some(1), 4));
    assert_snapshot("check.jsonl", &run.stdout);
    let error: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(
        error["error"]["message"],
        "checked 4 files: 2 errors, 1 warning, 2 hints"
    );
}

#[test]
fn check_finds_problems_at_every_level() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.msg.md",
        "---\ndefault_agent: nobody\nagents:\n  coder: { models: [gpt-5] }\n---\n\n\
         # %%% [^2.x.1]\n\n[^2.x.1]: [tool] status=\"success\"\n\nRain\n\n\
         # %% [^3]\n\n[^3]: [code]\n\nno code\n",
    );
    let run = sandbox.run(&["check", "a.msg.md", "--json"]);
    for code in ["unknown-agent", "orphan-result", "no-code"] {
        assert!(
            run.stdout.contains(&format!("\"code\":\"{code}\"")),
            "{code}: {}",
            run.stdout
        );
    }
    let message = |id: &str, parent: &str| {
        format!(
            "{{\"v\":1,\"type\":\"user\",\"id\":\"{id}\",\"parent_id\":{parent},\"content\":\"x\"}}\n"
        )
    };
    sandbox.write("s.jsonl", message("a", "null"));
    assert_eq!(sandbox.run(&["check", "s.jsonl"]).code, Some(0));
    sandbox.write("s.jsonl", message("a", "null") + &message("b", "\"gone\""));
    let run = sandbox.run(&["check", "s.jsonl"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("[unknown-parent]"), "{}", run.stderr);
}

#[test]
fn check_searches_folders() {
    let sandbox = Sandbox::new();
    for folder in ["n/deep", "n/.hidden", "n/target", "n/node_modules"] {
        fs::create_dir_all(sandbox.path(folder)).unwrap();
        sandbox.write(&format!("{folder}/x.msg.md"), WARNING);
    }
    sandbox.write("n/a.msg.md", CLEAN);
    sandbox.write(
        "n/section.md",
        "---\nmessage_section: Talk\n---\n\n## Talk\n\n### %%\n\nhi\n",
    );
    sandbox.write("n/plain.md", "# %%\n\nnot a message file\n");
    sandbox.write("n/b.jsonl", "");
    sandbox.write("n/notes.txt", "x");
    fs::create_dir(sandbox.path("n/odd.msg.md")).unwrap();
    let run = sandbox.run(&["check", "n", "--json"]);
    let path = |line: &str| -> String {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["path"].as_str().unwrap().to_string()
    };
    let paths: Vec<String> = run.stdout.lines().map(path).collect();
    assert_eq!(
        paths,
        ["n/a.msg.md", "n/b.jsonl", "n/deep/x.msg.md", "n/section.md"]
    );
    assert_eq!(run.code, Some(1));
    // A path on the command line is checked wherever it leads.
    let run = sandbox.run(&["check", "n/.hidden", "n/target/x.msg.md"]);
    assert!(
        run.stderr
            .ends_with("analects: checked 2 files: 2 warnings\n"),
        "{}",
        run.stderr
    );
    fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox
        .run(&["check", "empty"])
        .assert_fails(0, "checked 0 files: no problems\n");
}

#[cfg(unix)]
#[test]
fn check_does_not_follow_circular_links() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("n")).unwrap();
    sandbox.write("n/a.msg.md", CLEAN);
    std::os::unix::fs::symlink("..", sandbox.path("n/back")).unwrap();
    std::os::unix::fs::symlink("gone", sandbox.path("n/gone.msg.md")).unwrap();
    std::os::unix::fs::symlink("a.msg.md", sandbox.path("n/same.msg.md")).unwrap();
    sandbox
        .run(&["check", "n"])
        .assert_fails(0, "checked 2 files: no problems\n");
}

#[test]
fn check_names_files_of_another_kind() {
    let sandbox = Sandbox::new();
    sandbox.write("notes.md", "mine\n");
    sandbox.run(&["check", "notes.md"]).assert_fails(
        1,
        "notes.md: error: this is not a conversation in a known format [unknown-format]\n  \
         hint: expected *.msg.md, *.md with message_section in its frontmatter, *.jsonl, or what convert reads\n\
         analects: checked 1 file: 1 error\n",
    );
}

#[test]
fn check_continues_after_a_missing_file() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", WARNING);
    sandbox
        .run(&["check", "gone.md"])
        .assert_fails(3, "analects: gone.md: not found\n");
    let run = sandbox.run(&["check", "gone.msg.md", "a.msg.md", "gone.jsonl"]);
    assert_eq!(run.code, Some(3));
    for text in [
        "gone.msg.md: not found",
        "gone.jsonl: not found",
        "sumary",
        "checked 1 file: 1 warning",
    ] {
        assert!(run.stderr.contains(text), "{}", run.stderr);
    }
    assert_eq!(sandbox.run(&["check"]).code, Some(2));
}

#[test]
fn check_finds_pictures_that_are_not_there() {
    let sandbox = Sandbox::new();
    let file = "# %%\n\nLook:\n\n![a cat](cat.png)\n\n```\n![code](none.png)\n```\n\n\
                ![far](https://example.com/a.png)\n\n# %%% [^2]\n\n[^2]: [coder]\n\n![mine](none.png)\n";
    sandbox.write("a.msg.md", file);
    let run = sandbox.run(&["check", "a.msg.md"]);
    assert_eq!(run.code, Some(1));
    let place = "a.msg.md:5:1";
    let said = "the picture cat.png cannot be sent: it is not there";
    assert!(
        run.stderr.contains(place) && run.stderr.contains(said),
        "{}",
        run.stderr
    );
    assert!(run.stderr.ends_with("1 error\n"), "{}", run.stderr);
    fs::write(sandbox.path("cat.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    let run = sandbox.run(&["check", "a.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}
