//! A session that is imported, forked or created is either complete or absent: kills at every system call and at
//! random moments, power cuts, refused records.

use std::process::Output;
use std::time::{Duration, Instant};

use analects_testkit::is_torture;
use serde_json::Value;

use crate::disk_and_permissions::TmpfsMount;
use crate::kills_during_save::{count_calls, run_killed};
use crate::power_cuts::Ext4Disk;
use crate::sandbox::{Sandbox, print_note, skip};

const IMPORT: [&str; 3] = ["session", "import", "talk.jsonl"];

/// The calls that change the disk; a kill at any other has the same effect as one of these.
const CHANGING: [&str; 8] = [
    "write",
    "fsync",
    "fdatasync",
    "ftruncate",
    "mkdir",
    "rename",
    "unlink",
    "flock",
];

/// How often each call worth a kill happens in one command; `None` without strace.
fn changing_calls(sandbox: &Sandbox, args: &[&str]) -> Option<Vec<(&'static str, usize)>> {
    let counts = count_calls(sandbox, args)?.into_iter();
    Some(
        counts
            .filter(|(call, _)| is_torture() || CHANGING.contains(call))
            .collect(),
    )
}

/// A transcript with two side chains; each message has this many bytes of text.
fn transcript(messages: usize, bytes: usize) -> String {
    let filler = "x".repeat(bytes);
    let mut lines = String::new();
    for at in 0..messages {
        let kind = if at % 2 == 0 { "user" } else { "assistant" };
        let parent = at
            .checked_sub(1)
            .map(|before| format!(",\"parent_id\":\"m{before}\""));
        let parent = parent.unwrap_or_default();
        lines += &format!(
            "{{\"v\":1,\"type\":\"{kind}\",\"id\":\"m{at}\"{parent},\"content\":\"{filler}\"}}\n"
        );
    }
    for agent in ["one", "two"] {
        lines += &format!(
            "{{\"v\":1,\"type\":\"user\",\"id\":\"{agent}\",\"agent_id\":\"{agent}\",\"content\":\"{filler}\"}}\n"
        );
    }
    lines
}

/// The sessions that `session list` shows.
#[track_caller]
fn listed_sessions(sandbox: &Sandbox, what: &str) -> Vec<Value> {
    let run = sandbox.run(&["session", "list", "--json"]);
    assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
    let list: Value = serde_json::from_str(&run.stdout).unwrap();
    list["sessions"].as_array().unwrap().clone()
}

/// Checks that every listed session has all of its messages and both side chains. Returns their number.
#[track_caller]
fn assert_sessions_whole(sandbox: &Sandbox, messages: usize, what: &str) -> usize {
    let listed = listed_sessions(sandbox, what);
    for session in &listed {
        let id = session["id"].as_str().unwrap();
        let run = sandbox.run(&["session", "show", id, "--json"]);
        assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
        let shown: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(shown["messages"], messages, "{what}: {shown}");
        assert_eq!(shown["damaged"], 0, "{what}: {shown}");
        assert_eq!(
            shown["side_chains"],
            serde_json::json!(["one", "two"]),
            "{what}: {shown}"
        );
    }
    listed.len()
}

/// The names of the files and folders in the folder of the project.
fn project_files(sandbox: &Sandbox) -> Vec<String> {
    let projects = std::fs::read_dir(sandbox.path("home/data/sessions"))
        .into_iter()
        .flatten();
    let mut names = Vec::new();
    for project in projects {
        let entries = std::fs::read_dir(project.unwrap().path()).unwrap();
        names.extend(entries.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()));
    }
    names
}

/// Checks that the next import works and removes leftovers: one file and one folder remain for each session.
#[track_caller]
fn assert_next_import_works(sandbox: &Sandbox, before: usize, what: &str) {
    let run = sandbox.run(&IMPORT);
    assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
    let names = project_files(sandbox);
    let indexes = names.iter().filter(|name| name.ends_with(".idx")).count();
    assert_eq!(names.len() - indexes, 2 * (before + 1), "{what}: {names:?}");
}

#[test]
fn a_kill_at_any_system_call_of_an_import_leaves_all_or_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.jsonl", transcript(4, 100));
    let Some(calls) = changing_calls(&sandbox, &IMPORT) else {
        return skip(
            "a_kill_at_any_system_call_of_an_import_leaves_all_or_nothing",
            "strace is not there, or may not trace",
        );
    };
    let mut kills = 0;
    let mut made = 0;
    for (call, count) in calls {
        for when in 1..=count {
            let _ = std::fs::remove_dir_all(sandbox.path("home"));
            let output = run_killed(&sandbox, call, when, &IMPORT);
            kills += usize::from(!output.status.success());
            let what = format!("{call} number {when}");
            let sessions = assert_sessions_whole(&sandbox, 4, &what);
            assert!(
                sessions == 1 || !output.status.success(),
                "{what}: {sessions} sessions"
            );
            made += sessions;
            assert_next_import_works(&sandbox, sessions, &what);
        }
    }
    assert!(kills > 15 && made > 0, "{kills} kills, {made} sessions");
    print_note(&format!(
        "{kills} kills at system calls, {made} sessions were complete"
    ));
}

#[test]
fn a_kill_at_any_moment_of_an_import_leaves_all_or_nothing() {
    let kills = if is_torture() { 300 } else { 6 };
    let sandbox = Sandbox::new();
    // Long enough that most kills hit the write.
    sandbox.write("talk.jsonl", transcript(60, 100_000));
    let started = Instant::now();
    assert_eq!(sandbox.run(&IMPORT).code, Some(0));
    let usual = started.elapsed().as_micros() as u64;
    let mut dead = 0;
    let mut left = 0;
    for kill in 0..kills {
        let _ = std::fs::remove_dir_all(sandbox.path("home"));
        let mut child = sandbox.spawn(&IMPORT);
        std::thread::sleep(Duration::from_micros(
            (kill * 7_919) % (usual + usual / 4).max(1),
        ));
        child.kill().unwrap();
        dead += usize::from(!child.wait().unwrap().success());
        let what = format!("kill {kill}");
        left += usize::from(
            project_files(&sandbox)
                .iter()
                .any(|name| name.starts_with('.')),
        );
        let sessions = assert_sessions_whole(&sandbox, 60, &what);
        if kill % 5 == 0 {
            assert_next_import_works(&sandbox, sessions, &what);
        }
    }
    print_note(&format!(
        "{dead} of {kills} imports killed, {left} of them while they wrote"
    ));
}

#[test]
fn a_kill_at_any_system_call_of_a_fork_leaves_all_or_nothing() {
    let sandbox = Sandbox::new();
    // More than is copied at once.
    sandbox.write("talk.jsonl", transcript(6, 300_000));
    assert_eq!(sandbox.run(&IMPORT).code, Some(0));
    let original = listed_sessions(&sandbox, "original")[0]["id"]
        .as_str()
        .unwrap()
        .to_string();
    let fork = ["fork", &original];
    let Some(calls) = changing_calls(&sandbox, &fork) else {
        return skip(
            "a_kill_at_any_system_call_of_a_fork_leaves_all_or_nothing",
            "strace is not there, or may not trace",
        );
    };
    let mut kills = 0;
    for (call, count) in calls {
        for when in 1..=count {
            let output = run_killed(&sandbox, call, when, &fork);
            kills += usize::from(!output.status.success());
            for session in listed_sessions(&sandbox, call) {
                assert_eq!(session["messages"], 6, "{call} number {when}: {session}");
            }
        }
    }
    assert!(kills > 10, "{kills} kills");
    assert_eq!(sandbox.run(&fork).code, Some(0));
    let hidden: Vec<String> = project_files(&sandbox)
        .into_iter()
        .filter(|it| it.starts_with('.'))
        .collect();
    assert_eq!(hidden, [] as [&str; 0], "the next fork clears up");
}

/// Runs a command whose home is on a separate disk.
fn run_on_disk(sandbox: &Sandbox, args: &[&str]) -> Output {
    let mut command = sandbox.command(args);
    command
        .env("ANALECTS_HOME", sandbox.path("disk/home"))
        .output()
        .unwrap()
}

/// Checks that every session on that disk is complete, and returns the ids.
#[track_caller]
fn whole_sessions_on_disk(sandbox: &Sandbox, messages: usize, what: &str) -> Vec<String> {
    let list = run_on_disk(sandbox, &["session", "list", "--json"]).stdout;
    let list: Value = serde_json::from_slice(&list).unwrap();
    let mut ids = Vec::new();
    for session in list["sessions"].as_array().unwrap() {
        let id = session["id"].as_str().unwrap().to_string();
        let shown = run_on_disk(sandbox, &["session", "show", &id, "--json"]).stdout;
        let shown: Value = serde_json::from_slice(&shown).unwrap();
        assert_eq!(shown["messages"], messages, "{what}: {shown}");
        assert_eq!(shown["damaged"], 0, "{what}: {shown}");
        assert_eq!(
            shown["side_chains"],
            serde_json::json!(["one", "two"]),
            "{what}: {shown}"
        );
        ids.push(id);
    }
    ids
}

#[test]
fn a_power_cut_leaves_all_or_nothing_of_an_import() {
    let cuts = if is_torture() { 200 } else { 3 };
    let sandbox = Sandbox::new();
    let Some(disk) = Ext4Disk::new(&sandbox) else {
        return skip(
            "a_power_cut_leaves_all_or_nothing_of_an_import",
            "an ext4 cannot be made and mounted here",
        );
    };
    sandbox.write("talk.jsonl", transcript(40, 100_000));
    let mut complete = 0;
    for cut in 0..cuts {
        let what = format!("cut {cut}");
        let started = Instant::now();
        let first = run_on_disk(&sandbox, &IMPORT);
        let usual = started.elapsed().as_micros() as u64;
        assert!(first.status.success(), "{what}");
        let moment = Duration::from_micros((cut * 7_919) % usual.max(1));
        std::thread::scope(|scope| {
            scope.spawn(|| run_on_disk(&sandbox, &IMPORT));
            std::thread::sleep(moment);
            assert!(disk.cut(), "the power cannot be cut");
        });
        disk.umount();
        assert!(disk.mount(), "{what}: the disk cannot be mounted again");
        let ids = whole_sessions_on_disk(&sandbox, 40, &what);
        let first = String::from_utf8_lossy(&first.stdout).trim().to_string();
        assert!(
            ids.contains(&first),
            "{what}: what was acknowledged is lost"
        );
        complete += ids.len() - 1;
        std::fs::remove_dir_all(sandbox.path("disk/home")).unwrap();
    }
    disk.umount();
    print_note(&format!(
        "{cuts} power cuts, {complete} imports were complete all the same"
    ));
}

#[test]
fn a_failed_append_leaves_no_empty_session() {
    let sandbox = Sandbox::new();
    let bad_agent = "{\"type\":\"user\",\"agent_id\":\"a/b\",\"content\":\"x\"}\n";
    let no_parent = "{\"type\":\"user\",\"parent_id\":\"nobody\",\"content\":\"x\"}\n";
    let no_parent_beside =
        "{\"type\":\"user\",\"agent_id\":\"a\",\"parent_id\":\"nobody\",\"content\":\"x\"}\n";
    for line in [bad_agent, no_parent, no_parent_beside, "not json\n"] {
        for args in [
            &["session", "append"][..],
            &["session", "append", "--batch"],
        ] {
            let run = sandbox.run_with_stdin(args, line);
            assert_ne!(run.code, Some(0), "{line}");
            assert_eq!(listed_sessions(&sandbox, line), [] as [Value; 0], "{line}");
        }
    }
}

#[test]
fn a_full_disk_leaves_no_empty_session() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("home")).unwrap();
    let Some(_mounted) = TmpfsMount::tmpfs(&sandbox.path("home"), "64k") else {
        return skip(
            "a_full_disk_leaves_no_empty_session",
            "a tmpfs cannot be mounted here",
        );
    };
    sandbox.write("talk.jsonl", transcript(4, 100_000));
    let run = sandbox.run(&IMPORT);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("no space left on device"),
        "{}",
        run.stderr
    );
    let line = format!(
        "{{\"type\":\"user\",\"content\":\"{}\"}}\n",
        "x".repeat(200_000)
    );
    assert_eq!(
        sandbox.run_with_stdin(&["session", "append"], line).code,
        Some(1)
    );
    assert_eq!(listed_sessions(&sandbox, "full"), [] as [Value; 0]);
    assert!(
        project_files(&sandbox).is_empty(),
        "{:?}",
        project_files(&sandbox)
    );
}

#[test]
fn a_kill_at_any_system_call_of_the_first_append_leaves_no_empty_session() {
    let sandbox = Sandbox::new();
    let append = ["session", "append"];
    let beside = "{\"type\":\"user\",\"agent_id\":\"a\",\"content\":\"x\"}\n";
    for line in ["{\"type\":\"user\",\"content\":\"x\"}\n", beside] {
        sandbox.write("stdin", line);
        let Some(calls) = changing_calls(&sandbox, &append) else {
            return skip(
                "a_kill_at_any_system_call_of_the_first_append_leaves_no_empty_session",
                "strace is not there, or may not trace",
            );
        };
        let mut kills = 0;
        for (call, count) in calls {
            for when in 1..=count {
                let _ = std::fs::remove_dir_all(sandbox.path("home"));
                kills += usize::from(!run_killed(&sandbox, call, when, &append).status.success());
                for session in listed_sessions(&sandbox, call) {
                    assert_eq!(session["records"], 1, "{call} number {when}: {session}");
                    assert_eq!(session["damaged"], 0, "{call} number {when}: {session}");
                }
            }
        }
        assert!(kills > 6, "{kills} kills");
    }
}
