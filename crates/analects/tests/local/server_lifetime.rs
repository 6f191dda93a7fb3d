//! The lifetime of a server: shared, kept while it is used, and never left behind, whatever is killed.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::machine::{
    ASK, CommandOutput, LONG, Machine, cpu_seconds, is_alive, llama_server, print_note, signal,
    wait_for,
};

/// Asks a question and waits until its answer begins.
fn start_long_answer(machine: &Machine) -> std::process::Child {
    let mut child = machine.spawn(&LONG);
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    child
}

#[test]
fn many_commands_share_one_server_and_survive_a_kill() {
    let Some(machine) = Machine::with_model("many_commands_share_one_server_and_survive_a_kill")
    else {
        return;
    };
    for count in [2, 4, 8] {
        let start = Instant::now();
        let commands: Vec<_> = (0..count).map(|_| machine.spawn(&ASK)).collect();
        let victim = machine.spawn(&LONG);
        let server = wait_for("a server", || machine.server_pid("smollm2"));
        signal(victim.id(), "KILL");
        assert!(!victim.wait_with_output().unwrap().status.success());
        for command in commands {
            let run = CommandOutput::from(command.wait_with_output().unwrap());
            assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{run:?}");
            assert!(run.stdout.len() > 1, "{run:?}");
        }
        print_note(&format!(
            "{count} commands from a cold start: {:.1} s",
            start.elapsed().as_secs_f64()
        ));
        assert_eq!(
            machine.server_pid("smollm2"),
            Some(server),
            "it is the same server"
        );
        let processes = machine.all_processes();
        assert_eq!(
            processes.len(),
            2,
            "a keeper and a server, and no more: {processes:?}"
        );
        assert_eq!(machine.run(&["model", "stop"]).code, Some(0));
        assert!(!is_alive(server), "the server is ended when stop says so");
        wait_for("the end of the keeper", || {
            machine.all_processes().is_empty().then_some(())
        });
    }
}

#[test]
fn the_server_key_is_private() {
    let Some(machine) = Machine::with_model("the_server_key_is_private") else {
        return;
    };
    assert_eq!(machine.run(&ASK).code, Some(0));
    let room = machine.server_folder("smollm2");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&room), 0o700);
    for entry in std::fs::read_dir(&room).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    let facts = std::fs::read_to_string(room.join("server.json")).unwrap();
    let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    let key = facts["key"].as_str().unwrap();
    assert!(
        key.len() == 64
            && !std::fs::read_to_string(room.join("server.log"))
                .unwrap()
                .contains(key)
    );
    for pid in machine
        .all_processes()
        .into_iter()
        .chain(machine.server_pid("smollm2"))
    {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        assert!(
            !String::from_utf8_lossy(&command).contains(key),
            "process {pid} shows the key"
        );
    }
    // The server listens only on loopback.
    let port = facts["port"].as_u64().unwrap();
    let listening = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let rows: Vec<&str> = listening
        .lines()
        .filter(|row| row.contains(&format!(":{port:04X} 00000000")))
        .collect();
    assert!(
        !rows.is_empty() && rows.iter().all(|row| row.contains("0100007F:")),
        "{rows:?}"
    );
}

#[test]
fn a_server_runs_until_its_lease_expires() {
    let Some(machine) = Machine::with_model("a_server_runs_until_its_lease_expires") else {
        return;
    };
    // Much shorter than the answer, which would be cut off if a running answer did not count as use.
    let mut long = LONG.to_vec();
    long.splice(5..5, ["--max-tokens", "150"]);
    let output = machine
        .command(&long)
        .env("ANALECTS_LOCAL_LEASE", "0.1")
        .output()
        .unwrap();
    let run = CommandOutput::from(output);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{run:?}");
    wait_for("the end of the server", || {
        machine.all_processes().is_empty().then_some(())
    });
    assert!(
        !machine
            .server_folder("smollm2")
            .join("server.json")
            .exists()
    );
    assert_eq!(
        machine.run(&ASK).code,
        Some(0),
        "the next one starts another"
    );
}

#[test]
fn killing_the_command_leaves_no_orphan() {
    let Some(machine) = Machine::with_model("killing_the_command_leaves_no_orphan") else {
        return;
    };
    for wait_for_answer in [false, true] {
        let mut command = machine.command(&LONG);
        command
            .env("ANALECTS_LOCAL_LEASE", "0.1")
            .stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        if wait_for_answer {
            child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        } else {
            // During its start.
            wait_for("a keeper", || machine.keeper_pid("smollm2"));
        }
        signal(child.id(), "KILL");
        child.wait().unwrap();
        wait_for("the end of the server", || {
            machine.all_processes().is_empty().then_some(())
        });
    }
}

#[test]
fn killing_the_keeper_ends_the_server() {
    let Some(machine) = Machine::with_model("killing_the_keeper_ends_the_server") else {
        return;
    };
    assert_eq!(machine.run(&ASK).code, Some(0));
    let server = wait_for("a server", || machine.server_pid("smollm2"));
    signal(machine.keeper_pid("smollm2").unwrap(), "KILL");
    wait_for("the end of the server", || {
        (!is_alive(server)).then_some(())
    });
    // Leftovers, such as an unused key and port, are ignored.
    assert!(
        machine
            .server_folder("smollm2")
            .join("server.json")
            .exists()
    );
    let run = machine.run(&ASK);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{run:?}");
}

#[test]
fn garbage_in_the_state_folder_is_ignored() {
    let Some(machine) = Machine::with_model("garbage_in_the_state_folder_is_ignored") else {
        return;
    };
    let room = machine.server_folder("smollm2");
    std::fs::create_dir_all(&room).unwrap();
    // Files of a dead keeper: very long, not text, or with the port of another program.
    let long = "x".repeat(10_000_000).into_bytes();
    let other = br#"{"port":9,"key":"nobody's"}"#.to_vec();
    for garbage in [long, b"\xff\xfe\0".to_vec(), other] {
        for name in [
            "server.json",
            "server.new",
            "keeper.lock",
            "lease.lock",
            "start.lock",
            "stop",
        ] {
            std::fs::write(room.join(name), &garbage).unwrap();
        }
        let run = machine.run(&ASK);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{run:?}");
        assert_eq!(machine.run(&["model", "stop"]).code, Some(0));
    }
    // The same while the server runs: the command starts another one and ends the first.
    assert_eq!(machine.run(&ASK).code, Some(0));
    let first = machine.server_pid("smollm2").unwrap();
    std::fs::write(room.join("server.json"), "{}").unwrap();
    assert_eq!(machine.run(&ASK).code, Some(0));
    assert!(!is_alive(first), "two servers");
}

#[test]
fn a_server_crash_is_reported_and_the_next_answer_works() {
    let Some(machine) = Machine::with_model("a_server_crash_is_reported_and_the_next_answer_works")
    else {
        return;
    };
    let child = start_long_answer(&machine);
    signal(machine.server_pid("smollm2").unwrap(), "KILL");
    let run = CommandOutput::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(5), "{run:?}");
    assert!(
        run.stderr
            .contains("the server of the local model has ended"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("hint: ask again to restart it"),
        "{}",
        run.stderr
    );
    let run = machine.run(&ASK);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{run:?}");
}

#[test]
fn a_hanging_server_is_restarted() {
    let Some(machine) = Machine::with_model("a_hanging_server_is_restarted") else {
        return;
    };
    assert_eq!(machine.run(&ASK).code, Some(0));
    let server = machine.server_pid("smollm2").unwrap();
    signal(server, "STOP");
    let run = machine.run(&ASK);
    assert_eq!(run.code, Some(0), "{run:?}");
    let said = "the server of local/smollm2 does not answer; restarting it\n";
    assert_eq!(run.stderr, said);
    assert!(!is_alive(server) && machine.server_pid("smollm2").is_some());
    // During an answer, the timeout of the command decides.
    let mut long = LONG.to_vec();
    long.splice(5..5, ["--timeout", "1"]);
    let mut child = machine.spawn(&long);
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    signal(machine.server_pid("smollm2").unwrap(), "STOP");
    let run = CommandOutput::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(5), "{run:?}");
    assert!(
        run.stderr.contains("sent nothing more within 1 s"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_first_token_comes_soon_after_a_cold_start() {
    let Some(machine) = Machine::with_model("the_first_token_comes_soon_after_a_cold_start") else {
        return;
    };
    let (mut waited, mut worked) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let start = Instant::now();
        let mut child = start_long_answer(&machine);
        waited.push(start.elapsed().as_secs_f64());
        let keeper = machine.keeper_pid("smollm2").unwrap();
        let all = [child.id(), keeper, machine.server_pid("smollm2").unwrap()];
        worked.push(all.into_iter().map(cpu_seconds).sum::<f64>());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(machine.run(&["model", "stop"]).code, Some(0));
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    print_note(&format!(
        "cold to first token: {waited:.2?} s, of work {worked:.2?} s; load {load}"
    ));
    // How long it takes depends on what else the machine does; how much work it is does not, and it is
    // done by one thread: on idle cores, it takes as long as this.
    let most = worked.into_iter().fold(0.0, f64::max);
    assert!(most < 3.0, "{most} s of work before the first token");
}

#[test]
fn an_installed_llama_server_is_preferred() {
    let Some(machine) = Machine::with_model("an_installed_llama_server_is_preferred") else {
        return;
    };
    let bin = llama_server(&machine, None);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let secret = "sk-nothing-for-the-server-to-see";
    let mut command = machine.command(&ASK);
    let output = command
        .env("PATH", &path)
        .env("OPENAI_API_KEY", secret)
        .output()
        .unwrap();
    let run = CommandOutput::from(output);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{run:?}");
    let server = machine.server_pid("smollm2").unwrap();
    let read = |what: &str| {
        let bytes = std::fs::read(format!("/proc/{server}/{what}")).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let facts =
        std::fs::read_to_string(machine.server_folder("smollm2").join("server.json")).unwrap();
    let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    let key = facts["key"].as_str().unwrap();
    assert!(read("cmdline").contains("llama-server") && !read("cmdline").contains(key));
    assert!(read("environ").contains(key) && !read("environ").contains(secret));
    signal(machine.keeper_pid("smollm2").unwrap(), "KILL");
    wait_for("the end of the server", || {
        (!is_alive(server)).then_some(())
    });
}

#[test]
fn invalid_weights_fail_at_once() {
    let Some(machine) = Machine::with_model("invalid_weights_fail_at_once") else {
        return;
    };
    // Added to a separate store with the shared engine.
    let own = Machine::bare();
    std::fs::create_dir_all(own.model_folder()).unwrap();
    for entry in std::fs::read_dir(machine.model_folder()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with("engine-") {
            std::os::unix::fs::symlink(entry.path(), own.model_folder().join(entry.file_name()))
                .unwrap();
        }
    }
    std::fs::write(
        own.path("half.gguf"),
        b"GGUF\x03\0\0\0and nothing that makes sense",
    )
    .unwrap();
    assert_eq!(
        own.run(&["model", "add", "half", "half.gguf"]).code,
        Some(0)
    );
    let start = Instant::now();
    let run = own.run(&["ask", "-m", "local/half", "Hi"]);
    assert_eq!(run.code, Some(5), "{run:?}");
    assert!(
        run.stderr
            .starts_with("analects: the server of half did not start"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("server.log"), "{}", run.stderr);
    assert!(start.elapsed() < Duration::from_secs(30));
    wait_for("the end of the keeper", || {
        own.all_processes().is_empty().then_some(())
    });
    // A file may disappear or be replaced.
    std::fs::remove_file(own.path("half.gguf")).unwrap();
    let run = own.run(&["ask", "-m", "local/half", "Hi"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(
        own.run(&["model", "list", "local"])
            .stdout
            .contains("local/half     gone")
    );
    assert_eq!(own.run(&["model", "rm", "half"]).code, Some(0));
    assert!(!own.model_folder().exists());
}
