//! `list`, for people and for programs.

use crate::sandbox::{CommandOutput, Sandbox};
use crate::snapshots::{TALK, assert_snapshot};

fn sandbox_with_talk() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", TALK);
    sandbox
}

#[test]
fn list_prints_every_part() {
    let sandbox = sandbox_with_talk();
    for part in ["item", "output", "agent", "tool"] {
        let run = sandbox.run(&["list", &format!("talk.msg.md/{part}")]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_snapshot(&format!("list-{part}.txt"), &run.stdout);
        let run = sandbox.run(&["list", &format!("talk.msg.md/{part}"), "--json"]);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""));
        assert_snapshot(&format!("list-{part}.json"), &run.stdout);
    }
}

#[test]
fn list_accepts_plurals_and_no_part() {
    let sandbox = sandbox_with_talk();
    let list = |name: &str| sandbox.run(&["list", name]).stdout;
    assert_eq!(list("talk.msg.md"), list("talk.msg.md/item"));
    for part in ["item", "output", "agent", "tool"] {
        let (one, many) = (
            format!("talk.msg.md/{part}"),
            format!("talk.msg.md/{part}s"),
        );
        assert_eq!(list(&one), list(&many), "{part}");
        assert!(list(&one).lines().count() >= 2, "{part}");
    }
}

#[test]
fn list_prefers_a_file_named_like_a_part() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("x.msg.md")).unwrap();
    sandbox.write("x.msg.md/agent", "mine\n");
    let run = sandbox.run(&["list", "x.msg.md/agent"]);
    let expected = "x.msg.md/agent: no cells, because this is not a message file\n";
    assert_eq!(
        (run.code, &*run.stdout, &*run.stderr),
        (Some(0), "", expected)
    );
    std::fs::create_dir(sandbox.path("tools")).unwrap();
    sandbox.write("tools/a.msg.md", "# %%\n\nhi\n");
    sandbox
        .run(&["list", "tools/a.msg.md"])
        .assert_prints("1  user  line 1  hi\n");
    sandbox.write("agent", "# %%\n\nhi\n");
    assert_eq!(sandbox.run(&["list", "agent"]).code, Some(0));
}

#[test]
fn list_explains_wrong_names() {
    let sandbox = sandbox_with_talk();
    sandbox.run(&["list", "talk.msg.md/agnet"]).assert_fails(
        2,
        "analects: talk.msg.md/agnet: unknown part \"agnet\"\n\
         hint: expected item, output, agent or tool\n",
    );
    for name in ["gone.msg.md", "gone.msg.md/agent"] {
        sandbox.run(&["list", name]).assert_fails(
            3,
            "analects: gone.msg.md: not found\nhint: check the name; chat creates a new file\n",
        );
    }
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    let run = sandbox.run(&["list", "folder"]);
    assert_eq!((run.code, &*run.stdout), (Some(1), ""), "{}", run.stderr);
    let expected = "analects: folder: not a regular file\n\
                    hint: name a file in it; check reads whole folders\n";
    assert_eq!(run.stderr, expected);
    for name in ["folder/agent", "./tools", "folder/gone.msg.md"] {
        let run = sandbox.run(&["list", name]);
        let expected = format!("analects: {name}: not found\n");
        assert!(
            run.code == Some(3) && run.stderr.starts_with(&expected),
            "{}",
            run.stderr
        );
    }
    let run = sandbox.run(&["list", "gone.msg.md/tool", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(
        (run.code, &error["error"]["kind"]),
        (Some(3), &"not_found".into())
    );
}

#[test]
fn list_says_when_a_part_is_empty() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", "# %%\n\nhi\n");
    for part in ["outputs", "agents", "tools"] {
        let run = sandbox.run(&["list", &format!("a.msg.md/{part}")]);
        let expected = format!("a.msg.md: no {part}\n");
        assert_eq!(
            (run.code, &*run.stdout, run.stderr),
            (Some(0), "", expected)
        );
        let run = sandbox.run(&["list", &format!("a.msg.md/{part}"), "--json"]);
        let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(json[part], serde_json::json!([]));
    }
}

#[test]
fn list_prints_whole_lines_without_a_terminal() {
    let sandbox = Sandbox::new();
    let long = "学".repeat(4_000_000);
    sandbox.write("a.msg.md", format!("# %%\n\n{long}\n"));
    sandbox
        .run(&["list", "a.msg.md"])
        .assert_prints(&format!("1  user  line 1  {long}\n"));
}

#[test]
fn list_copes_with_odd_bytes() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.msg.md",
        b"\xef\xbb\xbf# %% a\xff[^1]\r\n\r\n[^1]: [markdown]\r\n\r\nhi \xfe\r\n\r\n# %% [^1]\r\n",
    );
    let run: CommandOutput = sandbox.run(&["list", "a.msg.md"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stdout,
        "1  user  line 1  a\u{fffd}: hi \u{fffd}\n1  user  line 7\n"
    );
    for code in ["not-utf8", "duplicate-id"] {
        assert!(run.stderr.contains(code), "{}", run.stderr);
    }
    assert!(run.stderr.contains("a<0xFF>[^1]"), "{}", run.stderr);
}

/// Agents are known by their replies alone; who is nobody is not listed.
#[test]
fn list_includes_agents_that_only_replied() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.msg.md",
        "# %%% [^1]\n\n[^1]: [coder] model=\"m1\"\n\na\n\n# %%% [^2]\n\n[^2]: [coder] \
         model=\"m2\"\n\nb\n\n# %%% [^3]\n\n[^3]: [coder] model=\"m1\"\n\nc\n\n# %%% [^4]\n\n\
         [^4]: [assistant]\n\nd\n\n# %%%\n\ne\n",
    );
    let run = sandbox.run(&["list", "a.msg.md/agent"]);
    run.assert_prints("coder  m1, m2  defined nowhere  3 replies\n");
}
