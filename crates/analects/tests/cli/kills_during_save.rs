//! SIGKILL at every system call of a save, and at random moments: the file is the old one or the new one. A large
//! file that grows in place may also end in a part of the new cell, which `check` reports and the next write
//! completes. At every system call of a turn: what was printed is in the file after the next command that writes to
//! it.

use std::collections::BTreeMap;
use std::process::{Command, Output};
use std::time::Duration;

use crate::file_watcher::AGENT;
use crate::sandbox::{Sandbox, print_note, skip};
use crate::server::{Server, answer};

/// The calls that touch files; a kill at any other has the same effect as one at the call before.
const CALLS: [&str; 23] = [
    "openat",
    "read",
    "write",
    "pwrite64",
    "close",
    "fsync",
    "fdatasync",
    "ftruncate",
    "lseek",
    "flock",
    "statx",
    "fstat",
    "readlink",
    "mkdir",
    "getdents64",
    "linkat",
    "renameat2",
    "rename",
    "unlink",
    "fchmod",
    "fchown",
    "listxattr",
    "getrandom",
];

/// The calls that change something. Kills in a large file take long, so only these are tried by default.
const CHANGING: [&str; 8] = [
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "ftruncate",
    "flock",
    "linkat",
    "renameat2",
];

const KILLED: &str = "killed\n# %% not a head\nand more";

/// A file with a few cells, large enough to grow in place if `large` is set.
fn prepare_file(sandbox: &Sandbox, large: bool) -> Vec<String> {
    let filler = if large {
        "All that was said is kept.\n".repeat(42_000)
    } else {
        "x".into()
    };
    sandbox.write("a.msg.md", format!("# %%\n\nfirst\n\n# %%\n\n{filler}\n"));
    // The first write creates the folders, and seals the end of the file.
    sandbox
        .run(&["add", "a.msg.md", "second"])
        .assert_prints("3\n");
    sandbox.message_texts("a.msg.md")
}

/// Checks the file after a kill, runs the next writer, and checks again.
#[track_caller]
fn check_after_kill(sandbox: &Sandbox, before: &[String], large: bool, what: &str) {
    let texts = sandbox.message_texts("a.msg.md");
    let is_old = texts == before;
    let is_new = texts.len() == before.len() + 1 && texts.starts_with(before);
    let is_new = is_new && texts.last().unwrap() == KILLED;
    if !is_old && !is_new {
        assert!(large, "{what}: {texts:?}");
        let check = sandbox.run(&["check", "a.msg.md"]);
        assert_eq!(check.code, Some(1), "{what}: {}", check.stderr);
        assert!(check.stderr.contains("cut-off"), "{what}: {}", check.stderr);
    }
    let run = sandbox.run(&["add", "a.msg.md", "after"]);
    assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
    let texts = sandbox.message_texts("a.msg.md");
    let (last, rest) = texts.split_last().unwrap();
    assert_eq!(last, "after", "{what}");
    assert!(rest.starts_with(before), "{what}");
    assert!(matches!(&rest[before.len()..], [] | [_]), "{what}: doubled");
    assert!(
        rest[before.len()..].iter().all(|text| text == KILLED),
        "{what}"
    );
    assert_eq!(sandbox.run(&["check", "a.msg.md"]).code, Some(0), "{what}");
    let litter = std::fs::read_dir(sandbox.path("")).unwrap();
    let litter: Vec<_> = litter.map(|entry| entry.unwrap().file_name()).collect();
    let known = |name: &std::ffi::OsString| ["a.msg.md", "home", "trace"].iter().any(|k| name == k);
    assert!(litter.iter().all(known), "{what}: {litter:?}");
}

/// The command to kill, unless a test names another.
const ADD: [&str; 3] = ["add", "a.msg.md", KILLED];

/// The command under strace with these options; its stdin is the file `stdin`, if there is one.
fn strace_command(sandbox: &Sandbox, options: &[&str], args: &[&str]) -> Command {
    let add = sandbox.command(args);
    let stdin = std::fs::File::open(sandbox.path("stdin"));
    let mut command = sandbox.program_like(&add, "strace");
    command
        .args(["-f", "-qq", "-o", "trace"])
        .args(options)
        .arg("--")
        .arg(add.get_program());
    command.args(add.get_args());
    command.stdin(stdin.map_or(std::process::Stdio::null(), Into::into));
    command
}

/// How often each call happens in one command.
pub fn count_calls(sandbox: &Sandbox, args: &[&str]) -> Option<BTreeMap<&'static str, usize>> {
    let status = strace_command(sandbox, &[], args).output().ok()?.status;
    let trace = std::fs::read_to_string(sandbox.path("trace")).ok()?;
    let names = trace.lines().filter_map(|line| {
        let call = line.split_whitespace().nth(1)?.split('(').next()?;
        CALLS.iter().find(|known| **known == call).copied()
    });
    let mut counts = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_insert(0) += 1);
    (status.success() && !counts.is_empty()).then_some(counts)
}

/// Kills a command at the n-th call with this name. Returns whether it was still running.
fn kill_at_call(sandbox: &Sandbox, call: &str, when: usize, args: &[&str]) -> bool {
    !run_killed(sandbox, call, when, args).status.success()
}

/// Kills a command at the n-th call with this name, and returns what it printed.
pub fn run_killed(sandbox: &Sandbox, call: &str, when: usize, args: &[&str]) -> Output {
    let inject = format!("inject={call}:signal=KILL:when={when}");
    let trace = format!("trace={call}");
    strace_command(sandbox, &["-e", &trace, "-e", &inject], args)
        .output()
        .unwrap()
}

fn kill_at_every_call(large: bool) {
    let sandbox = Sandbox::new();
    prepare_file(&sandbox, large);
    let Some(counts) = count_calls(&sandbox, &ADD) else {
        return skip("kills_during_save", "strace is not there, or may not trace");
    };
    let saved = prepare_file(&sandbox, large);
    let text = std::fs::read(sandbox.path("a.msg.md")).unwrap();
    let mut kills = 0;
    let all = !large || analects_testkit::is_torture();
    for (call, count) in counts
        .into_iter()
        .filter(|(call, _)| all || CHANGING.contains(call))
    {
        for when in 1..=count {
            sandbox.write("a.msg.md", &text);
            kills += usize::from(kill_at_call(&sandbox, call, when, &ADD));
            check_after_kill(&sandbox, &saved, large, &format!("{call} number {when}"));
        }
    }
    assert!(kills > if large { 8 } else { 50 }, "only {kills} kills");
}

#[test]
fn a_kill_at_any_system_call_of_a_save_loses_nothing() {
    kill_at_every_call(false);
}

#[test]
fn a_kill_at_any_system_call_of_an_in_place_append_loses_nothing() {
    kill_at_every_call(true);
}

#[test]
fn an_editor_save_during_a_killed_write_is_kept_and_reported() {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/hello.sse");
    let chat = [
        "chat",
        "a.msg.md",
        "-m",
        &format!("replay:{recording}"),
        "hi",
    ];
    for next in [
        &["add", "a.msg.md", "next"][..],
        &["fmt", "a.msg.md"],
        &chat,
    ] {
        let sandbox = Sandbox::new();
        prepare_file(&sandbox, false);
        if count_calls(&sandbox, &ADD).is_none() {
            return skip(
                "an_editor_save_during_a_killed_write_is_kept_and_reported",
                "strace is not there, or may not trace",
            );
        }
        assert!(kill_at_call(&sandbox, "renameat2", 1, &ADD));
        let names = std::fs::read_dir(sandbox.path(""))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let aside = names
            .into_iter()
            .find(|path| path.extension().is_some_and(|end| end == "swap"));
        std::fs::write(aside.unwrap(), "saved by an editor").unwrap();
        let run = sandbox.run(next);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let told = run
            .stderr
            .lines()
            .filter(|line| line.ends_with("a.kept-1.msg.md"))
            .count();
        assert_eq!(told, 1, "{}", run.stderr);
        assert_eq!(sandbox.read("a.kept-1.msg.md"), "saved by an editor");
    }
}

#[test]
fn a_new_file_is_complete_or_absent() {
    let sandbox = Sandbox::new();
    let new = ["new", "n.msg.md", "-m", "openai/x"];
    let Some(counts) = count_calls(&sandbox, &new) else {
        return skip(
            "a_new_file_is_complete_or_absent",
            "strace is not there, or may not trace",
        );
    };
    let whole = sandbox.read("n.msg.md");
    let (mut kills, mut made) = (0, 0);
    for (call, count) in counts {
        for when in 1..=count {
            let _ = std::fs::remove_file(sandbox.path("n.msg.md"));
            kills += usize::from(kill_at_call(&sandbox, call, when, &new));
            if sandbox.path("n.msg.md").exists() {
                assert_eq!(sandbox.read("n.msg.md"), whole, "{call} number {when}");
                made += 1;
            }
        }
    }
    assert!(kills > 10 && made > 0, "{kills} kills, {made} files");
}

#[test]
fn kills_at_random_moments_leave_the_old_or_the_new_file() {
    let kills = if analects_testkit::is_torture() {
        1000
    } else {
        50
    };
    let mut dead = 0;
    for kill in 0..kills {
        let sandbox = Sandbox::new();
        let large = kill % 10 == 9;
        let before = prepare_file(&sandbox, large);
        let started = std::time::Instant::now();
        let mut child = sandbox.spawn(&["add", "a.msg.md", KILLED]);
        // Moments spread over the whole run, none of them twice.
        let span = if large { 150_000 } else { 16_000 };
        let moment = Duration::from_micros((kill * 7_919) % span);
        std::thread::sleep(moment.saturating_sub(started.elapsed()));
        child.kill().unwrap();
        dead += usize::from(!child.wait().unwrap().success());
        check_after_kill(&sandbox, &before, large, &format!("kill {kill}"));
    }
    assert!(dead > 0, "every process was faster than its kill");
}

const PROMPT: &str = "Tell me all.";
const TURN: [&str; 3] = ["chat", "a.msg.md", PROMPT];
const PIECES: [&str; 3] = ["The first line,\n", "# %% the second,\n", "and the last."];

/// A file without a question, and a server with one answer.
fn sandbox_for_turn() -> (Sandbox, Server) {
    let server = Server::new(vec![answer(&PIECES)]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("a.msg.md", AGENT);
    (sandbox, server)
}

/// Kills a turn at a system call and runs the next writer. Returns whether it was still running, and the texts of the
/// file.
fn kill_turn_at_call(call: &str, when: usize) -> (bool, Vec<String>) {
    let (sandbox, server) = sandbox_for_turn();
    let output = run_killed(&sandbox, call, when, &TURN);
    let printed = String::from_utf8(output.stdout).unwrap();
    let what = format!("{call} number {when}, after {printed:?}");
    let is_asked = server.request_within(Duration::from_millis(5)).is_some();
    let before = sandbox.message_texts("a.msg.md");
    let whole = PIECES.concat();
    let possible: [&[&str]; 3] = [&[], &[PROMPT], &[PROMPT, &whole]];
    assert!(
        possible[usize::from(is_asked)..]
            .iter()
            .any(|it| *it == before),
        "{what}: {before:?}"
    );
    let run = sandbox.run(&["add", "a.msg.md", "after"]);
    assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
    let mut texts = sandbox.message_texts("a.msg.md");
    assert_eq!(texts.pop().as_deref(), Some("after"), "{what}: {texts:?}");
    assert!(
        texts.starts_with(&before) && texts.len() <= 2,
        "{what}: {texts:?}"
    );
    assert!(
        texts.first().is_none_or(|text| text == PROMPT),
        "{what}: {texts:?}"
    );
    let came = texts.get(1).map(String::as_str).unwrap_or_default();
    assert!(
        came.starts_with(printed.trim_end()) && whole.starts_with(came),
        "{what}: {came:?}"
    );
    let check = sandbox.run(&["check", "a.msg.md"]);
    assert_eq!(
        (check.code, check.stderr.lines().count()),
        (Some(0), 1),
        "{what}: {}",
        check.stderr
    );
    let litter = std::fs::read_dir(sandbox.path("")).unwrap().count();
    assert_eq!(litter, 3, "{what}: something was left behind");
    (!output.status.success(), texts)
}

#[test]
fn a_kill_at_any_system_call_of_a_turn_loses_nothing_printed() {
    let (sandbox, _server) = sandbox_for_turn();
    let Some(counts) = count_calls(&sandbox, &TURN) else {
        return skip(
            "a_kill_at_any_system_call_of_a_turn_loses_nothing_printed",
            "strace is not there, or may not trace",
        );
    };
    // By default, a few of each kind that changes something.
    let is_torture = analects_testkit::is_torture();
    let kinds = [
        "write",
        "fdatasync",
        "fsync",
        "linkat",
        "renameat2",
        "unlink",
    ];
    let mut kills = Vec::new();
    for (call, count) in counts
        .into_iter()
        .filter(|(call, _)| is_torture || kinds.contains(call))
    {
        let step = if is_torture { 1 } else { count.div_ceil(6) };
        kills.extend(
            (1..=count)
                .step_by(step)
                .map(|when| kill_turn_at_call(call, when)),
        );
    }
    let dead = kills.iter().filter(|(is_dead, _)| *is_dead).count();
    let left = |count| {
        kills
            .iter()
            .filter(|(_, texts)| texts.len() == count)
            .count()
    };
    let [nothing, prompts, answers] = [left(0), left(1), left(2)];
    print_note(&format!(
        "{dead} kills: {nothing} left nothing, {prompts} a prompt, {answers} an answer"
    ));
    assert!(dead > 10 && nothing > 0 && answers > 0 && (prompts > 0 || !is_torture));
}
