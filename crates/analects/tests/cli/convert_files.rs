//! The files that `convert` writes: folders, links, permissions, names.

use std::fs;
#[cfg(target_os = "linux")]
use std::io::Write;
#[cfg(target_os = "linux")]
use std::process::Stdio;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use crate::convert::in_shell;
use crate::convert::{CHAT, LINE, REQUEST, names};
#[cfg(target_os = "linux")]
use crate::sandbox::CommandOutput;
use crate::sandbox::Sandbox;

#[test]
fn convert_refuses_to_write_into_its_own_source() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("in/sub/in")).unwrap();
    sandbox.write("in/t.jsonl", LINE);
    sandbox.write("in/t.msg.md", "# %%\n\nmine\n");
    sandbox.write("in/sub/t.jsonl", LINE);
    for (from, to) in [("in", "in"), ("in", "in/."), ("in/sub/..", "./in")] {
        let run = sandbox.run(&["convert", from, "-o", to, "--to", "msgfile", "--force"]);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert!(
            run.stderr.contains("this is one of the files to convert"),
            "{}",
            run.stderr
        );
        assert_eq!(sandbox.read("in/t.msg.md"), "# %%\n\nmine\n");
        assert_eq!(
            sandbox.message_texts("in/sub/t.msg.md"),
            ["Hello"],
            "the others are"
        );
        fs::remove_file(sandbox.path("in/sub/t.msg.md")).unwrap();
        fs::remove_file(sandbox.path("in/t.msg.md.msg.md")).unwrap();
    }
}

#[test]
fn convert_turns_a_folder_into_a_folder() {
    let sandbox = Sandbox::new();
    for folder in ["in/deep", "in/.hidden", "in/node_modules"] {
        fs::create_dir_all(sandbox.path(folder)).unwrap();
        sandbox.write(&format!("{folder}/x.md"), CHAT);
    }
    sandbox.write("in/a.md", CHAT);
    sandbox.write("in/a.json", REQUEST);
    sandbox.write("in/notes.txt", "nothing");
    let run = sandbox.run(&["convert", "in", "-o", "out", "--to", "transcript"]);
    assert_eq!((run.code, &*run.stdout), (Some(0), ""), "{}", run.stderr);
    assert_eq!(
        run.stderr,
        "in: 3 files written, 1 file of unknown format skipped\n"
    );
    assert_eq!(names(&sandbox, "out"), ["a.jsonl", "a.md.jsonl", "deep"]);
    assert_eq!(names(&sandbox, "out/deep"), ["x.jsonl"]);
    assert_eq!(
        sandbox.message_texts("out/deep/x.jsonl"),
        ["Hello", "Hi there"]
    );
    // Once more: nothing is replaced.
    let run = sandbox.run(&["convert", "in", "-o", "out", "--to", "transcript"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.ends_with("skipped, 3 files not converted\n"),
        "{}",
        run.stderr
    );
    let run = sandbox.run(&[
        "convert",
        "in",
        "-o",
        "out",
        "--to",
        "transcript",
        "--force",
    ]);
    assert_eq!(run.code, Some(0));
    // Files in the target are not read, even if it is inside the source.
    let run = sandbox.run(&["convert", "in", "-o", "in/new", "--to", "transcript"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let run = sandbox.run(&[
        "convert",
        "in",
        "-o",
        "in/new",
        "--to",
        "transcript",
        "--force",
    ]);
    assert!(
        run.stderr.starts_with("in: 3 files written"),
        "{}",
        run.stderr
    );
    assert_eq!(
        sandbox.run(&["convert", "in", "--to", "transcript"]).code,
        Some(2)
    );
    assert_eq!(sandbox.run(&["convert", "in", "-o", "y"]).code, Some(2));
}

#[cfg(unix)]
#[test]
fn convert_does_not_follow_links() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    for folder in ["in/sub", "out", "elsewhere"] {
        fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    sandbox.write("in/sub/a.md", CHAT);
    sandbox.write("elsewhere/b.md", CHAT);
    symlink(sandbox.path("elsewhere"), sandbox.path("in/link")).unwrap();
    symlink(sandbox.path("elsewhere/b.md"), sandbox.path("in/b.md")).unwrap();
    symlink(sandbox.path("elsewhere"), sandbox.path("out/sub")).unwrap();
    let run = sandbox.run(&["convert", "in", "-o", "out", "--to", "transcript"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("links are not followed"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("2 links not followed"),
        "{}",
        run.stderr
    );
    assert_eq!(names(&sandbox, "elsewhere"), ["b.md"]);
    // A link in place of a new file is replaced, not followed, because nobody named it.
    fs::remove_file(sandbox.path("out/sub")).unwrap();
    fs::create_dir(sandbox.path("out/sub")).unwrap();
    sandbox.write("victim", "mine");
    symlink(sandbox.path("victim"), sandbox.path("out/sub/a.jsonl")).unwrap();
    let run = sandbox.run(&["convert", "in", "-o", "out", "--to", "transcript"]);
    assert_eq!(run.code, Some(1));
    let run = sandbox.run(&[
        "convert",
        "in",
        "-o",
        "out",
        "--to",
        "transcript",
        "--force",
    ]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(sandbox.read("victim"), "mine");
    assert_eq!(
        sandbox.message_texts("out/sub/a.jsonl"),
        ["Hello", "Hi there"]
    );
    assert_eq!(names(&sandbox, "out/sub"), ["a.jsonl"]);
}

/// The mode of a file.
#[cfg(unix)]
fn mode(sandbox: &Sandbox, name: &str) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(sandbox.path(name))
        .unwrap()
        .permissions()
        .mode()
        & 0o777
}

#[cfg(target_os = "linux")]
#[test]
fn converted_files_follow_the_umask() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.md", CHAT);
    for (umask, expected) in [("022", 0o644), ("027", 0o640), ("077", 0o600)] {
        let name = format!("{umask}.jsonl");
        let before = format!("umask {umask}");
        let mut command = in_shell(&sandbox, &before, &["convert", "talk.md", "-o", &name]);
        CommandOutput::from(command.output().unwrap()).assert_prints("");
        assert_eq!(mode(&sandbox, &name), expected, "{umask}");
    }
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_mode_and_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let sandbox = Sandbox::new();
    sandbox.write("talk.md", CHAT);
    fs::create_dir(sandbox.path("far")).unwrap();
    sandbox.write("far/target", "old");
    fs::set_permissions(
        sandbox.path("far/target"),
        fs::Permissions::from_mode(0o664),
    )
    .unwrap();
    symlink("far/target", sandbox.path("link.jsonl")).unwrap();
    symlink("far/new", sandbox.path("nowhere.jsonl")).unwrap();
    for (link, target) in [("link.jsonl", "far/target"), ("nowhere.jsonl", "far/new")] {
        assert_eq!(
            sandbox.run(&["convert", "talk.md", "-o", link]).code,
            Some(1)
        );
        sandbox
            .run(&["convert", "talk.md", "-o", link, "--force"])
            .assert_prints("");
        assert!(sandbox.path(link).is_symlink(), "{link}");
        assert_eq!(sandbox.message_texts(link), ["Hello", "Hi there"]);
        assert_eq!(sandbox.read(link), sandbox.read(target));
    }
    assert_eq!(mode(&sandbox, "far/target"), 0o664);
    assert_eq!(names(&sandbox, "far"), ["new", "target"]);
}

#[cfg(unix)]
#[test]
fn convert_replaces_only_files() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    sandbox.write("talk.md", CHAT);
    fs::create_dir(sandbox.path("folder.jsonl")).unwrap();
    symlink("folder.jsonl", sandbox.path("to-folder.jsonl")).unwrap();
    symlink("/dev/null", sandbox.path("to-device.jsonl")).unwrap();
    symlink("circle.jsonl", sandbox.path("circle.jsonl")).unwrap();
    let said = [
        ("folder.jsonl", "this is a folder"),
        ("to-folder.jsonl", "this is a folder"),
        ("to-device.jsonl", "this is a device or a pipe"),
        ("circle.jsonl", "circle.jsonl"),
    ];
    for (name, said) in said {
        let run = sandbox.run(&["convert", "talk.md", "-o", name, "--force"]);
        assert_eq!(run.code, Some(1), "{name}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{name}: {}", run.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_convert_leaves_nothing_behind() {
    for args in [&[][..], &["--force"]] {
        let sandbox = Sandbox::new();
        sandbox.write("out.msg.md", "mine");
        let name = if args.is_empty() {
            "new.msg.md"
        } else {
            "out.msg.md"
        };
        let args = [&["convert", "-", "-o", name], args].concat();
        let mut child = sandbox
            .command(&args)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // More than is read to recognise the format, so that writing has begun.
        stdin.write_all(LINE.repeat(2000).as_bytes()).unwrap();
        let root = fs::canonicalize(sandbox.path(".")).unwrap();
        let opened = format!("/proc/{}/fd", child.id());
        let is_begun = || {
            let mut files = fs::read_dir(&opened).unwrap().flatten();
            files.any(|file| fs::read_link(file.path()).is_ok_and(|path| path.starts_with(&root)))
        };
        let start = Instant::now();
        while !is_begun() {
            assert!(start.elapsed() < Duration::from_secs(30), "it never began");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(names(&sandbox, "."), ["out.msg.md"]);
        assert_eq!(sandbox.read("out.msg.md"), "mine");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn files_with_clashing_names_get_distinct_ones() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("in")).unwrap();
    for byte in 0xfa..=0xff_u8 {
        let name = [&[byte], &b".md"[..]].concat();
        fs::write(sandbox.path("in").join(OsStr::from_bytes(&name)), CHAT).unwrap();
    }
    // A name that another file would otherwise get.
    sandbox.write("in/\u{fffd}.md-2.md", CHAT);
    for _ in 0..2 {
        let run = sandbox.run(&[
            "convert",
            "in",
            "-o",
            "out",
            "--to",
            "transcript",
            "--force",
        ]);
        assert_eq!((run.code, &*run.stderr), (Some(0), "in: 7 files written\n"));
        assert_eq!(names(&sandbox, "out").len(), 7);
    }
}

#[test]
fn names_inside_files_never_become_paths() {
    let sandbox = Sandbox::new();
    let hostile = "../../x\\u001b]0;owned\\u0007\\n";
    sandbox.write(
        "h.json",
        format!(
            "{{\"id\":\"{hostile}\",\"title\":\"{hostile}\",\"items\":[{{\"type\":\"message\",\
             \"id\":\"{hostile}\",\"author\":\"{hostile}\",\"message\":{{\"role\":\"user\",\
             \"content\":\"{hostile}\"}}}}]}}"
        ),
    );
    fs::create_dir(sandbox.path("in")).unwrap();
    fs::copy(sandbox.path("h.json"), sandbox.path("in/h.json")).unwrap();
    for to in [
        "msgfile",
        "chatmd",
        "transcript",
        "openai",
        "anthropic",
        "markdown",
    ] {
        let run = sandbox.run(&["convert", "in", "-o", "out", "--to", to, "--lossy"]);
        assert_eq!(run.code, Some(0), "{to}: {}", run.stderr);
        assert!(
            !run.stderr.contains(['\u{1b}', '\u{7}']),
            "{to}: {:?}",
            run.stderr
        );
        let run = sandbox.run(&["convert", "h.json", "-o", "x.txt", "--force", "--to", to]);
        assert!(
            !run.stderr.contains(['\u{1b}', '\u{7}']),
            "{to}: {:?}",
            run.stderr
        );
        let args = [
            "convert", "h.json", "-o", "x.txt", "--force", "--lossy", "--json", "--to", to,
        ];
        let run = sandbox.run(&args);
        assert!(
            !run.stdout.contains(['\u{1b}', '\u{7}']),
            "{to}: {:?}",
            run.stdout
        );
    }
    assert_eq!(names(&sandbox, "."), ["h.json", "in", "out", "x.txt"]);
    assert_eq!(names(&sandbox, "out").len(), 6);
}
