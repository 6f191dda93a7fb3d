//! A real pseudo terminal, made by Python, with the command on it and somebody at its keys.
#![cfg(unix)]

use std::process::{Command, Stdio};

use crate::sandbox::Sandbox;

/// Runs a command on a pseudo terminal of 60 columns, presses keys when the terminal shows what they
/// wait for, and prints what the terminal got.
const PTY: &str = "
import fcntl, json, os, pty, select, signal, struct, sys, termios
keys = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 60, 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
seen = b''
while True:
    if not select.select([terminal], [], [], 30)[0]:
        os.kill(pid, signal.SIGKILL)
        sys.exit('nothing came for 30 s after ' + repr(seen))
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    while keys and keys[0][0].encode() in seen:
        os.write(terminal, keys.pop(0)[1].encode())
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
if keys:
    sys.exit('never seen: ' + repr(keys[0][0]))
sys.exit(os.waitstatus_to_exitcode(status))
";

/// What the terminal got, and the exit code; `None` where there is no Python to make a terminal.
pub fn on_terminal(sandbox: &Sandbox, args: &[&str], no_colour: bool) -> Option<(String, i32)> {
    with_keys(sandbox, args, no_colour, &[])
}

/// The same with somebody at the keys: each pair is what they wait to see, and what they press then.
pub fn with_keys(
    sandbox: &Sandbox,
    args: &[&str],
    no_colour: bool,
    keys: &[(&str, &str)],
) -> Option<(String, i32)> {
    let command = sandbox.command(args);
    let mut python = Command::new("python3");
    python.arg("-c").arg(PTY).arg(serde_json::to_string(keys).unwrap());
    python.arg(command.get_program()).args(command.get_args());
    python.current_dir(sandbox.path("")).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => python.env(name, value),
            None => python.env_remove(name),
        };
    }
    if no_colour {
        python.env("NO_COLOR", "1");
    }
    let output = python.output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.is_empty(), "{said}");
    // What is not UTF-8 did not come from us either.
    let seen = String::from_utf8(output.stdout).unwrap();
    Some((seen.replace("\r\n", "\n"), output.status.code().unwrap()))
}
