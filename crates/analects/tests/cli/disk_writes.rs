//! How many bytes are written to disk while an answer arrives.

use std::process::Stdio;

use crate::sandbox::{Sandbox, print_note, skip};
use crate::server::{Server, Step, answer, done, piece, stream_head};

/// The bytes that the command writes to regular files of the sandbox, as strace counts them.
fn bytes_written(sandbox: &Sandbox, args: &[&str]) -> Option<u64> {
    let plain = sandbox.command(args);
    let mut strace = sandbox.program_like(&plain, "strace");
    strace.args([
        "-f",
        "-qq",
        "-yy",
        "-s",
        "0",
        "-e",
        "trace=write,writev,pwrite64,pwritev",
        "-o",
    ]);
    strace
        .arg(sandbox.path("trace"))
        .arg(plain.get_program())
        .args(plain.get_args());
    strace.stdout(Stdio::null());
    let output = strace.output().ok()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let folder = sandbox.path("").canonicalize().unwrap();
    let place = format!("<{}", folder.display());
    let trace = sandbox.read("trace");
    let ours = trace.lines().filter(|line| line.contains(&place));
    let count = |line: &str| {
        line.rsplit_once("= ")
            .and_then(|(_, n)| n.trim().parse::<u64>().ok())
    };
    Some(ours.filter_map(count).sum())
}

#[test]
fn a_100_kb_answer_is_written_four_times_and_the_file_once() {
    let test = "a_100_kb_answer_is_written_four_times_and_the_file_once";
    let line = "All that was said is kept, word for word.\n";
    let text = line.repeat(100_000 / line.len());
    for file_lines in [0, 10_000] {
        let mut script = vec![stream_head()];
        for part in text.as_bytes().chunks(2_000) {
            script.extend([piece(std::str::from_utf8(part).unwrap()), Step::Pause(20)]);
        }
        script.push(done());
        let server = Server::new(vec![script]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        let front = "---\nagents:\n  tiny:\n    models: [openai/tiny]\n---\n";
        let notes = format!(
            "# %% [^1]\n\n[^1]: [markdown] history=\"none\"\n\nx\n{}\n",
            line.repeat(file_lines)
        );
        sandbox.write(
            "a.msg.md",
            format!("{front}\n{notes}# %% [^2]\n\n[^2]: [markdown]\n\nwell?\n"),
        );
        let before = sandbox.read("a.msg.md").len() as u64;
        let Some(bytes) = bytes_written(&sandbox, &["chat", "a.msg.md"]) else {
            return skip(test, "no strace");
        };
        assert!(sandbox.message_texts("a.msg.md").last() == Some(&text));
        let answer = text.len() as u64;
        print_note(&format!(
            "{bytes} bytes for an answer of {answer} in a file of {before}"
        ));
        // Once as it arrives, once as a whole, once by the hash of its cells, and once in the file.
        assert!(
            bytes * 10 <= answer * 42 + before * 10,
            "{bytes} bytes written"
        );
        assert!(bytes >= 2 * answer, "the trace saw only {bytes} bytes");
    }
}

/// The processor time of all finished child processes, in ticks.
fn child_cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name can contain anything; the fields after it are numbers.
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    fields[13].parse::<u64>().unwrap() + fields[14].parse::<u64>().unwrap()
}

#[test]
fn the_cost_of_waiting_cells_grows_linearly() {
    let ask = |count: usize| {
        let server = Server::new(vec![answer(&["to all of them"])]);
        let sandbox = Sandbox::new().with_server(&server.base_url);
        let cells: String = (0..count)
            .map(|at| format!("# %%\n\nquestion {at}\n\n"))
            .collect();
        sandbox.write("a.msg.md", cells);
        let before = child_cpu_ticks();
        sandbox
            .run(&["chat", "a.msg.md", "-m", "openai/tiny"])
            .assert_prints("to all of them\n");
        child_cpu_ticks() - before
    };
    let (few, many) = (ask(2_500), ask(10_000));
    // Quadratic growth would take sixteen times as long.
    assert!(many <= 8 * few.max(10), "{few} and {many} ticks");
}
