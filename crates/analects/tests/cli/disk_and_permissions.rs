//! Full disks, read-only folders, and everything about a file that is not its text: mode, owner, links, attributes.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::sandbox::{CommandOutput, Sandbox, skip};
use crate::server::{Server, answer};

fn is_root() -> bool {
    Path::new("/proc/self")
        .metadata()
        .is_ok_and(|facts| facts.uid() == 0)
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

/// Runs a system program; false if it is missing or fails.
fn succeeds(program: &str, args: &[&str]) -> bool {
    Command::new(program)
        .args(args)
        .output()
        .is_ok_and(|output| output.status.success())
}

/// A mounted file system, unmounted when dropped.
pub struct TmpfsMount(String);

impl TmpfsMount {
    pub fn tmpfs(folder: &Path, size: &str) -> Option<TmpfsMount> {
        let folder = folder.to_str()?.to_string();
        let options = format!("size={size}");
        let mounted = succeeds("mount", &["-t", "tmpfs", "-o", &options, "tmpfs", &folder]);
        mounted.then_some(TmpfsMount(folder))
    }
}

impl Drop for TmpfsMount {
    fn drop(&mut self) {
        succeeds("umount", &["-l", &self.0]);
    }
}

#[test]
fn a_full_disk_loses_no_existing_content() {
    let sandbox = Sandbox::new();
    let disk = sandbox.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mounted) = TmpfsMount::tmpfs(&disk, "256k") else {
        return skip(
            "a_full_disk_loses_no_existing_content",
            "a tmpfs cannot be mounted here",
        );
    };
    let fills = 100;
    let mut refused = 0;
    for fill in 0..fills {
        sandbox.write("disk/a.msg.md", "# %%\n\nthe question\n");
        sandbox.write("disk/ballast", vec![0; 1024 * (100 + fill)]);
        let text = "a long thought\n".repeat(400 + 97 * fill);
        let run = sandbox.run_with_stdin(&["add", "disk/a.msg.md"], &text);
        let texts = sandbox.message_texts("disk/a.msg.md");
        if run.code == Some(0) {
            assert_eq!(texts, ["the question", &*text], "fill {fill}");
        } else {
            refused += 1;
            assert_eq!(run.code, Some(1), "{}", run.stderr);
            assert!(
                run.stderr.contains("no space left on device"),
                "{}",
                run.stderr
            );
            assert!(
                run.stderr.contains("hint: free some space"),
                "{}",
                run.stderr
            );
            assert_eq!(texts, ["the question"], "fill {fill}");
        }
        std::fs::remove_file(sandbox.path("disk/ballast")).unwrap();
        let next = sandbox.run(&["add", "disk/a.msg.md", "next"]);
        assert_eq!(next.code, Some(0), "fill {fill}: {}", next.stderr);
        assert_eq!(
            sandbox.message_texts("disk/a.msg.md").last().unwrap(),
            "next"
        );
        let names = std::fs::read_dir(&disk).unwrap().count();
        assert_eq!(names, 1, "fill {fill}: something was left behind");
        std::fs::remove_file(sandbox.path("disk/a.msg.md")).unwrap();
    }
    assert!(
        (10..fills).contains(&refused),
        "{refused} of {fills} did not fit"
    );
}

#[test]
fn a_large_file_stays_unchanged_on_a_full_disk() {
    let sandbox = Sandbox::new();
    let disk = sandbox.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mounted) = TmpfsMount::tmpfs(&disk, "9m") else {
        return skip(
            "a_large_file_stays_unchanged_on_a_full_disk",
            "a tmpfs cannot be mounted here",
        );
    };
    let before = format!(
        "# %%\n\n{}\n",
        "All that was said is kept.\n".repeat(310_000)
    );
    sandbox.write("disk/a.msg.md", &before);
    let text = "more and more\n".repeat(100_000);
    let run = sandbox.run_with_stdin(&["add", "disk/a.msg.md"], &text);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("no space left on device"),
        "{}",
        run.stderr
    );
    assert!(
        sandbox.read("disk/a.msg.md") == before,
        "the file has changed"
    );
    sandbox
        .run(&["add", "disk/a.msg.md", "little"])
        .assert_prints("2\n");
    assert!(
        sandbox.read("disk/a.msg.md").starts_with(&before),
        "the file has changed"
    );
}

#[test]
fn an_answer_without_disk_space_is_shown_and_saved_later() {
    let text = "漢字と仮名の長い答え".repeat(5_000);
    for stream in [&[][..], &["--no-stream"]] {
        let server = Server::new(vec![answer(&[&text])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        let disk = sandbox.path("disk");
        std::fs::create_dir(&disk).unwrap();
        let Some(_mounted) = TmpfsMount::tmpfs(&disk, "128k") else {
            return skip(
                "an_answer_without_disk_space_is_shown_and_saved_later",
                "a tmpfs cannot be mounted here",
            );
        };
        let args = ["chat", "disk/a.msg.md", "-m", "openai/tiny", "Tell me all"];
        let run = sandbox.run(&[&args, stream].concat());
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert!(
            run.stderr.contains("no space left on device"),
            "{}",
            run.stderr
        );
        let kept = "the answer is kept, and the next change to the file adds it";
        assert!(run.stderr.contains(kept), "{}", run.stderr);
        assert!(
            !run.stderr.contains("asks it"),
            "it would be asked for nothing: {}",
            run.stderr
        );
        assert!(run.stdout.trim_end() == text, "{stream:?}: {}", run.stderr);
        assert_eq!(sandbox.message_texts("disk/a.msg.md"), ["Tell me all"]);
        let run = sandbox.run(&["check", "disk/a.msg.md"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(
            run.stderr
                .contains("is kept, and the next change to the file adds it"),
            "{}",
            run.stderr
        );
        // A command that has no room for it either writes nothing.
        assert_eq!(sandbox.run(&["add", "disk/a.msg.md", "next"]).code, Some(1));
        assert_eq!(sandbox.message_texts("disk/a.msg.md"), ["Tell me all"]);
        assert!(succeeds(
            "mount",
            &["-o", "remount,size=1m", disk.to_str().unwrap()]
        ));
        let run = sandbox.run(&["add", "disk/a.msg.md", "next"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(
            run.stderr.contains("added a missing answer as cell"),
            "{}",
            run.stderr
        );
        assert!(sandbox.message_texts("disk/a.msg.md") == ["Tell me all", &text, "next"]);
    }
}

/// Runs the command with failing system calls, each given as `CALL:error=ERROR` with an optional count.
fn run_with_failing_calls(
    sandbox: &Sandbox,
    failing: &[&str],
    args: &[&str],
) -> Option<CommandOutput> {
    let command = sandbox.command(args);
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "-o"])
        .arg(sandbox.path("home/trace"));
    strace.args(failing.iter().map(|call| format!("-einject={call}")));
    strace.arg("--").arg(command.get_program()).args(args);
    strace
        .current_dir(sandbox.path(""))
        .stdin(std::process::Stdio::null());
    strace.env("ANALECTS_HOME", sandbox.path("home"));
    Some(strace.output().ok()?.into())
}

/// Adds to a file, and returns the call that opens the unnamed file, as one to fail.
fn unnamed_open_call(sandbox: &Sandbox, file: &str) -> Option<String> {
    let run = run_with_failing_calls(sandbox, &[], &["add", file, "two"])?;
    if run.code != Some(0) {
        return None;
    }
    let trace = sandbox.read("home/trace");
    let call = |line: &str| {
        let mut words = line.split([' ', '(']).map(str::to_string);
        words.find(|word| word.starts_with("open"))
    };
    let opened = trace.lines().position(|line| line.contains("O_TMPFILE"))?;
    let name = call(trace.lines().nth(opened)?)?;
    let earlier = trace
        .lines()
        .take(opened)
        .filter(|line| call(line).as_ref() == Some(&name));
    Some(format!(
        "{name}:error=EOPNOTSUPP:when={}",
        earlier.count() + 1
    ))
}

#[test]
fn saves_work_without_hard_links_and_unnamed_files() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["add", "a.msg.md", "one"])
        .assert_prints("1\n");
    let Some(old) = unnamed_open_call(&sandbox, "a.msg.md") else {
        return skip(
            "saves_work_without_hard_links_and_unnamed_files",
            "strace is not there, or may not trace",
        );
    };
    let new = unnamed_open_call(&sandbox, "new.msg.md").unwrap();
    let (links, swaps) = ("linkat:error=EPERM", "renameat2:error=EINVAL");
    for (at, failing) in [&[][..], &[links], &[links, swaps], &[swaps]]
        .into_iter()
        .enumerate()
    {
        for (file, nameless) in [("a.msg.md", &old), (&*format!("new-{at}.msg.md"), &new)] {
            let failing: Vec<&str> = [&[nameless.as_str()], failing].concat();
            let run = run_with_failing_calls(&sandbox, &failing, &["add", file, "more"]).unwrap();
            assert_eq!(run.code, Some(0), "{failing:?}: {}", run.stderr);
            assert_eq!(
                sandbox.message_texts(file).last().unwrap(),
                "more",
                "{failing:?}"
            );
        }
    }
    assert_eq!(sandbox.message_texts("a.msg.md").len(), 6);
    let names = std::fs::read_dir(sandbox.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let hidden: Vec<_> = names
        .filter(|name| name.to_string_lossy().starts_with('.'))
        .collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

/// Runs the command as a user without permissions.
fn run_as_nobody(sandbox: &Sandbox, args: &[&str]) -> Option<CommandOutput> {
    if !is_root() {
        return Some(sandbox.run(args));
    }
    let command = sandbox.command(args);
    // The binary is in a folder that only its owner can read.
    let program = sandbox.path("bin");
    std::fs::copy(command.get_program(), &program).ok()?;
    let mut nobody = Command::new("setpriv");
    nobody
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program);
    nobody
        .args(args)
        .current_dir(sandbox.path(""))
        .stdin(std::process::Stdio::null());
    nobody
        .env("ANALECTS_HOME", sandbox.path("home"))
        .env("HOME", sandbox.path(""));
    Some(nobody.output().ok()?.into())
}

#[test]
fn read_only_files_and_folders_are_reported_and_left_alone() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(sandbox.path("home")).unwrap();
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let text = "# %%\n\nthe question\n";
    sandbox.write("folder/a.msg.md", text);
    if is_root() {
        for name in ["", "folder", "folder/a.msg.md", "home"] {
            chown(sandbox.path(name), Some(65534), Some(65534)).unwrap();
        }
    }
    set(&folder, 0o555);
    let Some(run) = run_as_nobody(&sandbox, &["add", "folder/a.msg.md", "more"]) else {
        return skip(
            "read_only_files_and_folders_are_reported_and_left_alone",
            "setpriv is not there",
        );
    };
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let expected = "folder/a.msg.md: cannot create a file in this folder: permission denied";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    set(&folder, 0o755);
    set(&sandbox.path("folder/a.msg.md"), 0o444);
    let run = run_as_nobody(&sandbox, &["add", "folder/a.msg.md", "more"]).unwrap();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("cannot write to: permission denied"),
        "{}",
        run.stderr
    );
    assert_eq!(sandbox.read("folder/a.msg.md"), text);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn mode_owner_links_and_attributes_survive_every_write() {
    let sandbox = Sandbox::new();
    let (real, link) = (sandbox.path("real.msg.md"), sandbox.path("link.msg.md"));
    let mut text = "---\nagents:\n  one:\n    models: [openai/a]\n  two:\n    models: [openai/b]\n---\n\n# %%   [^1]\n\n[^1]: [markdown]   history=none\n\nx\n".to_string();
    std::fs::write(&real, &text).unwrap();
    symlink("real.msg.md", &link).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    let has_attributes = succeeds(
        "setfattr",
        &["-n", "user.note", "-v", "kept", real.to_str().unwrap()],
    ) || succeeds(
        "python3",
        &[
            "-c",
            "import os,sys; os.setxattr(sys.argv[1], 'user.note', b'kept')",
            real.to_str().unwrap(),
        ],
    );
    if is_root() {
        chown(&real, Some(1234), Some(4321)).unwrap();
    }
    let before = real.metadata().unwrap();
    for args in [
        &["add", "link.msg.md", "more"][..],
        &["set", "default", "link.msg.md", "two"],
        &["fmt", "link.msg.md"],
    ] {
        let run = sandbox.run(args);
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
        let after = real.metadata().unwrap();
        let now = std::fs::read_to_string(&real).unwrap();
        assert_ne!(now, text, "{args:?} did not write");
        text = now;
        assert!(link.is_symlink(), "{args:?}");
        assert_eq!(mode(&real), 0o640, "{args:?}");
        assert_eq!(
            (after.uid(), after.gid()),
            (before.uid(), before.gid()),
            "{args:?}"
        );
        if has_attributes {
            let script = "import os,sys; assert os.getxattr(sys.argv[1], 'user.note') == b'kept'";
            assert!(
                succeeds("python3", &["-c", script, real.to_str().unwrap()]),
                "{args:?}"
            );
        }
    }
    if !has_attributes {
        skip(
            "mode_owner_links_and_attributes_survive_every_write",
            "no extended attribute could be set",
        );
    }
}

#[test]
fn a_file_whose_owner_would_change_is_not_written() {
    if !is_root() {
        return skip(
            "a_file_whose_owner_would_change_is_not_written",
            "only root can make a file of somebody else",
        );
    }
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("home")).unwrap();
    sandbox.write("a.msg.md", "# %%\n\nx\n");
    for name in ["", "home"] {
        chown(sandbox.path(name), Some(65534), Some(65534)).unwrap();
    }
    std::fs::set_permissions(
        sandbox.path("a.msg.md"),
        std::fs::Permissions::from_mode(0o666),
    )
    .unwrap();
    let Some(run) = run_as_nobody(&sandbox, &["add", "a.msg.md", "more"]) else {
        return skip(
            "a_file_whose_owner_would_change_is_not_written",
            "setpriv is not there",
        );
    };
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("cannot keep everything about: owner: "),
        "{}",
        run.stderr
    );
    assert_eq!(sandbox.read("a.msg.md"), "# %%\n\nx\n");
}

#[test]
fn new_files_follow_the_umask_and_state_files_are_private() {
    let sandbox = Sandbox::new();
    for (umask, expected) in [("022", 0o644), ("077", 0o600), ("000", 0o666)] {
        let name = format!("m{umask}.msg.md");
        let add = sandbox.command(&["add", &name, "x"]);
        let script = format!("umask {umask}; exec \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script])
            .arg(add.get_program())
            .args(add.get_args());
        shell.env("ANALECTS_HOME", sandbox.path(&format!("home{umask}")));
        let status = shell.current_dir(sandbox.path("")).output().unwrap().status;
        assert!(status.success());
        assert_eq!(mode(&sandbox.path(&name)), expected);
        let locks = sandbox.path(&format!("home{umask}/state/locks"));
        assert_eq!(mode(&locks), 0o700);
        for lock in std::fs::read_dir(locks).unwrap() {
            assert_eq!(mode(&lock.unwrap().path()), 0o600);
        }
    }
}
