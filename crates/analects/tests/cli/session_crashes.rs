//! Whatever kills a writer of the store, every acknowledged message is there, complete and in order, and the next
//! writer continues: kills at every system call and at random moments, power cuts, full disks, many writers.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use analects_testkit::is_torture;
use serde_json::Value;

use crate::disk_and_permissions::TmpfsMount;
use crate::kills_during_save::{count_calls, run_killed};
use crate::power_cuts::Ext4Disk;
use crate::sandbox::{Sandbox, print_note, skip};

/// Messages as lines, each with a unique text.
fn message_lines(who: &str, count: usize) -> String {
    (0..count)
        .map(|at| {
            let filler = "and so on ".repeat(if at % 10 == 9 { 3000 } else { at % 7 });
            let kind = if at % 2 == 0 { "user" } else { "assistant" };
            format!("{{\"type\":\"{kind}\",\"content\":\"{who} {at} {filler}\"}}\n")
        })
        .collect()
}

/// The acknowledged ids; a last line that is cut off does not count.
fn acknowledged_ids(stdout: &str) -> Vec<String> {
    let lines = stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter_map(|ack| Some(ack["id"].as_str()?.to_string()))
        .collect()
}

/// A session in the store: its records, and the number of unreadable lines.
struct StoredSession {
    records: Vec<Value>,
    torn: usize,
}

/// The last session, or an empty one if there is none.
fn last_session(sandbox: &Sandbox, what: &str) -> StoredSession {
    let run = sandbox.run(&["session", "export", "last"]);
    if run.code == Some(3) {
        return StoredSession {
            records: Vec::new(),
            torn: 0,
        };
    }
    assert_eq!(run.code, Some(0), "{what}: {}", run.stderr);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let records: Vec<Value> = lines
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let torn = lines.len() - records.len();
    assert_eq!(
        torn > 0,
        run.stderr.contains("cannot be read"),
        "{what}: {}",
        run.stderr
    );
    StoredSession { records, torn }
}

fn ids(records: &[Value]) -> Vec<String> {
    records
        .iter()
        .map(|record| record["id"].as_str().unwrap().to_string())
        .collect()
}

/// What was acknowledged is a beginning of what is there, which is a beginning of what was to be written; and
/// the next writer goes on behind it. A kill may cut a write off between two pages of memory (how often
/// depends on the kernel): that one line stays, was never acknowledged, and is told.
fn check_session(sandbox: &Sandbox, acks: &[String], script: &str, what: &str) {
    let StoredSession { records, torn } = last_session(sandbox, what);
    assert!(torn <= 1, "{what}: {torn} lines are torn");
    assert!(
        ids(&records).starts_with(acks),
        "{what}: {} acknowledged",
        acks.len()
    );
    for (record, line) in records.iter().zip(script.lines()) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["content"], line["content"], "{what}");
    }
    if records.is_empty() {
        return;
    }
    let next = sandbox.run_with_stdin(
        &["session", "append", "last"],
        "{\"type\":\"user\",\"content\":\"after\"}\n",
    );
    assert_eq!(next.code, Some(0), "{what}: {}", next.stderr);
    let after = last_session(sandbox, what);
    assert_eq!(
        (after.records.len(), after.torn),
        (records.len() + 1, torn),
        "{what}"
    );
    assert_eq!(
        after.records.last().unwrap()["parent_id"],
        records.last().unwrap()["id"],
        "{what}"
    );
    let checked = sandbox.run(&["check", "home"]);
    assert_eq!(
        checked.code,
        Some(i32::from(torn > 0)),
        "{what}: {}",
        checked.stderr
    );
}

#[test]
fn a_kill_at_any_system_call_of_an_append_loses_nothing_acknowledged() {
    let messages = if is_torture() { 30 } else { 11 };
    let script = message_lines("m", messages);
    let append = ["session", "append"];
    let sandbox = Sandbox::new();
    sandbox.write("stdin", &script);
    let Some(counts) = count_calls(&sandbox, &append) else {
        return skip(
            "a_kill_at_any_system_call_of_an_append_loses_nothing_acknowledged",
            "strace is not there, or may not trace",
        );
    };
    let (mut kills, mut most) = (0, 0);
    for (call, count) in counts {
        for when in 1..=count {
            let _ = std::fs::remove_dir_all(sandbox.path("home"));
            sandbox.write("stdin", &script);
            let output = run_killed(&sandbox, call, when, &append);
            let acks = acknowledged_ids(&String::from_utf8_lossy(&output.stdout));
            kills += usize::from(!output.status.success());
            most = most.max(acks.len());
            std::fs::remove_file(sandbox.path("stdin")).unwrap();
            check_session(&sandbox, &acks, &script, &format!("{call} number {when}"));
        }
    }
    assert!(
        kills > 5 * messages && most + 1 >= messages,
        "{kills} kills, at most {most} acknowledged"
    );
}

#[test]
fn kills_at_random_moments_lose_nothing_acknowledged() {
    let kills = if is_torture() { 1000 } else { 30 };
    let (mut dead, mut in_all) = (0, 0);
    let sandbox = Sandbox::new();
    let script = message_lines("k", 4000);
    for kill in 0..kills {
        let _ = std::fs::remove_dir_all(sandbox.path("home"));
        sandbox.write("script", &script);
        let batch = kill % 2 == 1;
        let args: &[&str] = if batch {
            &["session", "append", "--batch"]
        } else {
            &["session", "append"]
        };
        let stdin = std::fs::File::open(sandbox.path("script")).unwrap();
        let stdout = std::fs::File::create(sandbox.path("acks")).unwrap();
        let mut started = Instant::now();
        let mut child = sandbox
            .command(args)
            .stdin(stdin)
            .stdout(stdout)
            .spawn()
            .unwrap();
        // Every third is killed at its start, the others while they work, on any machine.
        if kill % 3 > 0 {
            sandbox.wait_for("acks", "\n");
            started = Instant::now();
        }
        // Moments spread over the whole run, none of them twice.
        let moment = Duration::from_micros((kill * 7_919) % 60_000);
        std::thread::sleep(moment.saturating_sub(started.elapsed()));
        child.kill().unwrap();
        dead += usize::from(!child.wait().unwrap().success());
        let acks = acknowledged_ids(&sandbox.read("acks"));
        in_all += acks.len();
        check_session(&sandbox, &acks, &script, &format!("kill {kill}"));
    }
    assert!(
        dead > 0 && in_all > 0,
        "{dead} killed, {in_all} acknowledged"
    );
    print_note(&format!("{dead} kills, {in_all} acknowledged messages"));
}

/// Kills cut a write off only now and then, so this does it at every place of the last line.
#[test]
fn a_cut_off_line_is_kept_and_reported() {
    let sandbox = Sandbox::new();
    let script = message_lines("c", 3);
    let run = sandbox.run_with_stdin(&["session", "append"], &script);
    let acks = acknowledged_ids(&run.stdout);
    let listed: Value =
        serde_json::from_str(&sandbox.run(&["session", "show", "last", "--json"]).stdout).unwrap();
    let path = listed["path"].as_str().unwrap().to_string();
    let whole = std::fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap()
        + 1;
    let step = if is_torture() { 1 } else { 16 };
    for cut in (last..whole.len()).step_by(step) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        // A record that lacks only its newline is complete.
        let torn = usize::from(cut > last && cut < whole.len() - 1);
        assert_eq!(last_session(&sandbox, "cut").torn, torn, "cut at {cut}");
        check_session(&sandbox, &acks[..2], &script, &format!("cut at {cut}"));
    }
}

/// Appends until the power fails, and returns what was acknowledged.
fn append_until_cut(sandbox: &Sandbox, disk: &Ext4Disk, moment: Duration) -> Vec<String> {
    let cutting = AtomicBool::new(false);
    let mut command = sandbox.command(&["session", "append"]);
    command.env("ANALECTS_HOME", sandbox.path("disk/home"));
    command.stdin(std::fs::File::open(sandbox.path("script")).unwrap());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // On any machine, one text is safe before the clock starts.
    let first = acknowledged_ids(&lines.next().unwrap().unwrap());
    let acks = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(moment);
            cutting.store(true, Ordering::SeqCst);
            assert!(disk.cut(), "the power cannot be cut");
        });
        // A text that is acknowledged during the cut may be lost.
        let before = lines
            .map_while(Result::ok)
            .take_while(|_| !cutting.load(Ordering::SeqCst));
        first
            .into_iter()
            .chain(before.flat_map(|line| acknowledged_ids(&line)))
            .collect()
    });
    let _ = child.kill();
    let _ = child.wait();
    acks
}

#[test]
fn power_cuts_lose_nothing_acknowledged() {
    let cuts = if is_torture() { 1000 } else { 20 };
    let sandbox = Sandbox::new();
    let Some(disk) = Ext4Disk::new(&sandbox) else {
        return skip(
            "power_cuts_lose_nothing_acknowledged",
            "an ext4 cannot be made and mounted here",
        );
    };
    sandbox.write("script", message_lines("p", 3000));
    let mut in_all = 0;
    for cut in 0..cuts {
        let moment = Duration::from_micros((cut * 7_919) % 60_000);
        let acks = append_until_cut(&sandbox, &disk, moment);
        in_all += acks.len();
        disk.umount();
        assert!(disk.mount(), "cut {cut}: the disk cannot be mounted again");
        let run = |args: &[&str]| {
            let mut command = sandbox.command(args);
            command
                .env("ANALECTS_HOME", sandbox.path("disk/home"))
                .output()
                .unwrap()
        };
        let export = run(&["session", "export", "last"]);
        let export = String::from_utf8_lossy(&export.stdout).into_owned();
        // A torn line at the end was never acknowledged.
        let records: Vec<Value> = export
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        assert!(
            ids(&records).starts_with(&acks),
            "cut {cut}: {} acknowledged",
            acks.len()
        );
        assert!(export.lines().count() <= records.len() + 1, "cut {cut}");
        let pruned = run(&["session", "prune", "last"]);
        assert!(pruned.status.success(), "cut {cut}");
        std::fs::remove_dir_all(sandbox.path("disk/home/data/trash")).unwrap();
    }
    disk.umount();
    print_note(&format!(
        "{cuts} power cuts, {in_all} acknowledged messages"
    ));
}

#[test]
fn many_writers_lose_and_mix_up_nothing() {
    let (writers, each) = if is_torture() { (8, 10_000) } else { (4, 250) };
    let sandbox = Sandbox::new();
    let first = sandbox.run_with_stdin(
        &["session", "append"],
        "{\"type\":\"user\",\"content\":\"first\"}\n",
    );
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let children: Vec<_> = (0..writers)
        .map(|writer| {
            let name = format!("script{writer}");
            sandbox.write(&name, message_lines(&format!("w{writer}"), each));
            let stdin = std::fs::File::open(sandbox.path(&name)).unwrap();
            let args: &[&str] = match writer % 2 {
                0 => &["session", "append", "last"],
                _ => &["session", "append", "--batch", "last"],
            };
            sandbox
                .command(args)
                .stdin(stdin)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let acks: Vec<Vec<String>> = children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success());
            acknowledged_ids(&String::from_utf8_lossy(&output.stdout))
        })
        .collect();
    let StoredSession { records, torn } = last_session(&sandbox, "many writers");
    assert_eq!((records.len(), torn), (writers * each + 1, 0));
    for (writer, acks) in acks.iter().enumerate() {
        let start = format!("w{writer} ");
        let own = records
            .iter()
            .filter(|it| it["content"].as_str().unwrap().starts_with(&start));
        let own: Vec<String> = own
            .map(|it| it["id"].as_str().unwrap().to_string())
            .collect();
        assert_eq!(own, *acks, "writer {writer}");
    }
    assert_eq!(sandbox.run(&["check", "home"]).code, Some(0));
}

#[test]
fn a_full_disk_is_reported_and_leaves_whole_records() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("home")).unwrap();
    let Some(_mounted) = TmpfsMount::tmpfs(&sandbox.path("home"), "256k") else {
        return skip(
            "a_full_disk_is_reported_and_leaves_whole_records",
            "a tmpfs cannot be mounted here",
        );
    };
    let script = message_lines("f", 400);
    let run = sandbox.run_with_stdin(&["session", "append"], &script);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("no space left on device"),
        "{}",
        run.stderr
    );
    let acks = acknowledged_ids(&run.stdout);
    assert!(
        acks.len() > 3 && acks.len() < 400,
        "{} acknowledged",
        acks.len()
    );
    let StoredSession { records, torn } = last_session(&sandbox, "full disk");
    assert_eq!((ids(&records), torn), (acks, 0));
}
