//! `fmt`: heads and attribute lines get one form, and nothing else changes.

use std::fs;

use crate::sandbox::Sandbox;

const UNTIDY: &str =
    "text \n\n#  %%  A title [^1]\n[^1]:[markdown]   note='x'\n\n  as  it is \n\n\n#\t%%  \n\nhi\n";
const TIDY: &str =
    "text \n\n# %% A title[^1]\n\n[^1]: [markdown] note=\"x\"\n\n  as  it is \n\n\n# %%\n\nhi\n";

#[test]
fn fmt_changes_a_file_once() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", UNTIDY);
    sandbox
        .run(&["fmt", "a.msg.md"])
        .assert_fails(0, "a.msg.md: tidied\n");
    assert_eq!(sandbox.read("a.msg.md"), TIDY);
    let facts = fs::metadata(sandbox.path("a.msg.md"))
        .unwrap()
        .modified()
        .unwrap();
    sandbox.run(&["fmt", "a.msg.md"]).assert_prints("");
    assert_eq!(
        fs::metadata(sandbox.path("a.msg.md"))
            .unwrap()
            .modified()
            .unwrap(),
        facts
    );
}

#[test]
fn fmt_check_names_files_and_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", UNTIDY);
    sandbox.write("b.msg.md", TIDY);
    sandbox.write("c.msg.md", UNTIDY);
    let run = sandbox.run(&["fmt", "--check", "a.msg.md", "b.msg.md", "c.msg.md"]);
    assert_eq!((run.code, &*run.stdout), (Some(1), "a.msg.md\nc.msg.md\n"));
    assert_eq!(
        run.stderr,
        "analects: 2 files would change\nhint: tidy with analects fmt FILE\n"
    );
    assert_eq!(
        (sandbox.read("a.msg.md"), sandbox.path("home").exists()),
        (UNTIDY.into(), false)
    );
    sandbox
        .run(&["fmt", "--check", "b.msg.md"])
        .assert_prints("");
}

#[test]
fn fmt_changes_only_the_message_section() {
    let sandbox = Sandbox::new();
    let front = "---\nmessage_section:   Talk\n---\n\n#  %%  mine\n\n## Talk\n\n";
    sandbox.write("notes.md", format!("{front}###   %%  a\n\nhi\n"));
    assert_eq!(sandbox.run(&["fmt", "notes.md"]).code, Some(0));
    assert_eq!(sandbox.read("notes.md"), format!("{front}### %% a\n\nhi\n"));
}

#[test]
fn fmt_refuses_files_it_must_not_change() {
    let sandbox = Sandbox::new();
    sandbox.write("plain.md", "#  %%\n");
    let bad = b"#  %% [^1]\n[^1]:[x]\n\n\xff\n";
    sandbox.write("bad.msg.md", bad);
    for args in [&["fmt"][..], &["fmt", "--check"]] {
        let run = |name: &str| sandbox.run(&[args, &[name]].concat());
        let plain = run("plain.md");
        assert_eq!(
            (plain.code, &*plain.stdout),
            (Some(2), ""),
            "{}",
            plain.stderr
        );
        assert!(
            plain
                .stderr
                .starts_with("analects: plain.md: not a message file\nhint: ")
        );
        let not_text = run("bad.msg.md");
        assert_eq!(
            (not_text.code, &*not_text.stdout),
            (Some(1), ""),
            "{}",
            not_text.stderr
        );
        assert!(
            not_text
                .stderr
                .starts_with("analects: bad.msg.md:4:1: the bytes")
        );
        assert_eq!(run("gone.msg.md").code, Some(3));
    }
    assert_eq!(fs::read(sandbox.path("bad.msg.md")).unwrap(), bad);
    assert_eq!(sandbox.read("plain.md"), "#  %%\n");
    assert!(!sandbox.path("gone.msg.md").exists());
}

/// One that cannot be tidied does not hinder the others.
#[test]
fn fmt_continues_after_a_missing_file() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", UNTIDY);
    let run = sandbox.run(&["fmt", "gone.msg.md", "a.msg.md", "gone2.msg.md"]);
    assert_eq!(run.code, Some(3));
    for text in [
        "gone.msg.md: not found",
        "a.msg.md: tidied",
        "gone2.msg.md: not found",
    ] {
        assert!(run.stderr.contains(text), "{}", run.stderr);
    }
    assert_eq!(sandbox.read("a.msg.md"), TIDY);
}

#[cfg(unix)]
#[test]
fn fmt_keeps_permissions_and_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", UNTIDY);
    fs::set_permissions(sandbox.path("a.msg.md"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("a.msg.md", sandbox.path("link.msg.md")).unwrap();
    assert_eq!(sandbox.run(&["fmt", "link.msg.md"]).code, Some(0));
    assert!(
        fs::symlink_metadata(sandbox.path("link.msg.md"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(sandbox.read("a.msg.md"), TIDY);
    let mode = fs::metadata(sandbox.path("a.msg.md"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);
}
