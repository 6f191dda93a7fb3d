//! A real pseudo-terminal, made by Python, that runs the command and presses keys. It emulates nothing: tests see
//! the bytes that reach the terminal.
#![cfg(unix)]

use std::process::Command;

use crate::sandbox::Sandbox;

/// Runs a command on a pseudo-terminal, presses each key when the terminal shows the text that it waits
/// for, and prints what the terminal received.
const PTY: &str = "
import fcntl, json, os, pty, select, signal, struct, sys, termios
keys = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(os.environ['PTY_COLUMNS']), 0, 0))
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

/// Columns enough for every message, so that none is broken.
pub const WIDE: usize = 240;

/// What is left on the screen, and the exit code; `None` without Python.
pub fn run_on_terminal(sandbox: &Sandbox, args: &[&str], no_colour: bool) -> Option<(String, i32)> {
    run_with_keys(sandbox, args, no_colour, &[])
}

/// The same on a terminal with so many columns.
pub fn run_on_columns(sandbox: &Sandbox, columns: usize, args: &[&str]) -> Option<(String, i32)> {
    let (seen, code) = receive(sandbox, columns, args, true, &[])?;
    Some((on_screen(&seen), code))
}

/// The same with keys: each pair is a text to wait for, and the keys to press then.
pub fn run_with_keys(
    sandbox: &Sandbox,
    args: &[&str],
    no_colour: bool,
    keys: &[(&str, &str)],
) -> Option<(String, i32)> {
    let (seen, code) = receive(sandbox, WIDE, args, no_colour, keys)?;
    Some((on_screen(&seen), code))
}

/// Every byte that the terminal received, and the exit code.
pub fn receive(
    sandbox: &Sandbox,
    columns: usize,
    args: &[&str],
    no_colour: bool,
    keys: &[(&str, &str)],
) -> Option<(String, i32)> {
    let command = sandbox.command(args);
    let mut python = sandbox.program_like(&command, "python3");
    python
        .arg("-c")
        .arg(PTY)
        .arg(serde_json::to_string(keys).unwrap());
    python.arg(command.get_program()).args(command.get_args());
    python.env("PTY_COLUMNS", columns.to_string());
    if no_colour {
        python.env("NO_COLOR", "1");
    }
    let output = python.output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.is_empty(), "{said}");
    // Bytes that are not UTF-8 cannot come from us.
    let seen = String::from_utf8(output.stdout).unwrap();
    Some((seen, output.status.code().unwrap()))
}

/// Runs a command on a pseudo-terminal and takes one step after another, each when the terminal has shown, since the
/// last step, the text that the step waits for; escape codes do not count. Queries for the cursor position are
/// answered. Nothing is written to the terminal while it still has output, or both sides would wait.
const CONVERSE: &str = r"
import fcntl, json, os, pty, re, select, signal, struct, sys, termios, time
steps = json.loads(open(sys.argv[1]).read())
pid, terminal = pty.fork()
def size(rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
if pid == 0:
    time.sleep(0.05)
    os.execvp(sys.argv[2], sys.argv[2:])
size(24, 240)
seen, out, at, asked = b'', b'', 0, 0
plain = ''
ready = time.monotonic()
while True:
    more = bool(steps) and steps[0]['see'] in plain[at:]
    writable = [terminal] if out else []
    readable, writable, _ = select.select([terminal], writable, [], 0.05 if more else 30)
    if not readable and not writable and not more:
        os.kill(pid, signal.SIGKILL)
        sys.exit('nothing came for 30 s; waiting for %r after %r' % (steps[:1], plain[-2000:]))
    if readable:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
        plain = re.sub(r'\x1b\[[0-9;?]*[a-zA-Z]', '', seen.decode('utf-8', 'replace'))
        while seen.count(b'\x1b[6n') > asked:
            asked += 1
            out += b'\x1b[5;1R'
    elif out and writable:
        out = out[os.write(terminal, out[:1024]):]
    elif more:
        step = steps.pop(0)
        at += plain[at:].index(step['see']) + len(step['see'])
        out += step.get('press', '').encode()
        if 'size' in step:
            size(*step['size'])
        if 'shell' in step and os.system(step['shell']):
            sys.exit('failed: ' + step['shell'])
        if 'stopped' in step:
            _, status = os.waitpid(pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                sys.exit('it did not stop, but ended: %r' % status)
            if not termios.tcgetattr(terminal)[3] & termios.ECHO:
                sys.exit('it stopped with a terminal that shows no keys')
            os.kill(pid, signal.SIGCONT)
        if 'close' in step:
            os.close(terminal)
            signal.alarm(30)
            break
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
if steps and steps[0]['see'] in plain[at:] and not steps[0].get('press'):
    steps.pop(0)
if steps:
    sys.exit('never seen: %r in %r' % (steps[0]['see'], plain[-2000:]))
sys.exit(os.waitstatus_to_exitcode(status))
";

/// Something that a person does once the terminal shows a text.
pub struct Step {
    see: String,
    act: serde_json::Value,
}

/// Presses keys once the terminal shows `see`.
pub fn press(see: &str, keys: impl Into<String>) -> Step {
    Step {
        see: see.into(),
        act: serde_json::json!({ "press": keys.into() }),
    }
}

/// Resizes the terminal.
pub fn resize(see: &str, rows: u16, columns: u16) -> Step {
    Step {
        see: see.into(),
        act: serde_json::json!({ "size": [rows, columns] }),
    }
}

/// Waits until the command has stopped with the terminal restored, and resumes it.
pub fn resume_stopped(see: &str) -> Step {
    Step {
        see: see.into(),
        act: serde_json::json!({ "stopped": true }),
    }
}

/// Closes the terminal, as if its window were closed.
pub fn close_terminal(see: &str) -> Step {
    Step {
        see: see.into(),
        act: serde_json::json!({ "close": true }),
    }
}

/// Runs a shell command in the sandbox.
pub fn shell_line(see: &str, line: &str) -> Step {
    Step {
        see: see.into(),
        act: serde_json::json!({ "shell": line }),
    }
}

/// What the terminal received, and the exit code, after these steps; `None` without Python.
pub fn run_steps(sandbox: &Sandbox, command: &Command, steps: Vec<Step>) -> Option<(String, i32)> {
    let steps = steps.into_iter().map(|mut step| {
        step.act["see"] = step.see.into();
        step.act
    });
    sandbox.write(
        "steps.json",
        serde_json::Value::from_iter(steps).to_string(),
    );
    let mut python = sandbox.program_like(command, "python3");
    python.arg("-c").arg(CONVERSE).arg("steps.json");
    python.arg(command.get_program()).args(command.get_args());
    let output = python.output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.is_empty(), "{said}");
    let seen = String::from_utf8(output.stdout).unwrap();
    Some((on_screen(&seen), output.status.code().unwrap()))
}

/// What is left on the screen: of a status line that was cleared, only the codes that switch modes of the terminal.
fn on_screen(seen: &str) -> String {
    let mut out = String::new();
    for line in seen.replace("\r\n", "\n").split_inclusive('\n') {
        let mut parts = line.split("\r\u{1b}[K").peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                out.push_str(part);
                continue;
            }
            for code in part.split("\u{1b}[?").skip(1) {
                let end = code.find(['h', 'l']).map_or(0, |end| end + 1);
                out.push_str("\u{1b}[?");
                out.push_str(&code[..end]);
            }
        }
    }
    out
}
