//! The editor that `/edit` opens: its text is never lost, and it owns the terminal while it runs.
#![cfg(unix)]

use std::path::PathBuf;

use crate::chat_terminal::{CTRL_C, CTRL_D, FILE, PROMPT, sandbox_with_server};
use crate::pseudo_terminal::{Step, press, run_steps};
use crate::sandbox::{Sandbox, skip};
use crate::server::answer;

/// Runs a chat whose editor is a script that gets the file as its first argument.
fn chat_with_editor(sandbox: &Sandbox, script: &str, steps: Vec<Step>) -> Option<(String, i32)> {
    sandbox.write("editor.sh", script);
    let mut command = sandbox.command(&FILE);
    command
        .env("NO_COLOR", "1")
        .env("VISUAL", " ")
        .env("EDITOR", "sh ./editor.sh");
    let ran = run_steps(sandbox, &command, steps);
    if ran.is_none() {
        skip("external_editor", "there is no Python to make a terminal");
    }
    ran
}

/// The files that an editor left behind.
fn leftover_files(sandbox: &Sandbox) -> Vec<PathBuf> {
    let files = std::fs::read_dir(sandbox.path("home/state"))
        .unwrap()
        .flatten();
    let files = files.filter(|file| file.file_name().to_string_lossy().starts_with("prompt-"));
    files.map(|file| file.path()).collect()
}

#[test]
fn unusable_text_from_the_editor_is_kept_and_named() {
    for (script, why, written) in [
        (
            "printf 'caf\\351' > \"$1\"",
            "is not UTF-8",
            &b"caf\xe9"[..],
        ),
        (
            "echo precious > \"$1\"; kill -9 $$",
            "the editor sh ./editor.sh",
            b"precious\n",
        ),
        (
            "echo precious > \"$1\"; exit 1",
            "the editor sh ./editor.sh",
            b"precious\n",
        ),
    ] {
        let (sandbox, _server) = sandbox_with_server(vec![]);
        let mut steps = Vec::new();
        for _ in 0..2 {
            steps.extend([
                press(PROMPT, "/edit first\r"),
                press(why, ""),
                press("what you wrote is kept in ", ""),
                press("> first", CTRL_C),
            ]);
        }
        steps.push(press(PROMPT, CTRL_D));
        let Some((seen, code)) = chat_with_editor(&sandbox, script, steps) else {
            return;
        };
        assert_eq!(code, 0, "{seen}");
        let left = leftover_files(&sandbox);
        assert_eq!(
            left.len(),
            2,
            "the second one does not write over the first: {left:?}"
        );
        for path in left {
            assert_eq!(std::fs::read(&path).unwrap(), written);
            assert!(
                seen.contains(&*path.to_string_lossy()),
                "{path:?} in {seen}"
            );
        }
        assert!(!sandbox.path("a.msg.md").exists(), "nothing is sent");
    }
}

#[test]
fn a_failing_editor_leaves_no_file() {
    let (sandbox, _server) = sandbox_with_server(vec![]);
    let steps = vec![
        press(PROMPT, "/edit first\r"),
        press(
            "the editor sh ./editor.sh ended with exit status: 1, so nothing is sent",
            "",
        ),
        press("> first", CTRL_C),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = chat_with_editor(&sandbox, "exit 1", steps) else {
        return;
    };
    assert_eq!((code, leftover_files(&sandbox).len()), (0, 0), "{seen}");
}

#[test]
fn a_file_deleted_by_the_editor_is_reported() {
    let (sandbox, _server) = sandbox_with_server(vec![]);
    let steps = vec![
        press(PROMPT, "/edit first\r"),
        press("cannot read what the editor wrote: no such file", ""),
        press("> first", CTRL_C),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = chat_with_editor(&sandbox, "rm \"$1\"", steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
}

#[test]
fn unchanged_text_returns_to_the_input_line() {
    let (sandbox, server) = sandbox_with_server(vec![answer(&["Fine."])]);
    let steps = vec![
        press(PROMPT, "/edit\r"),
        press("nothing was written, so nothing is sent", ""),
        press(PROMPT, "/edit /help me\r"),
        press("nothing was changed, so nothing is sent", ""),
        press(">  /help me", "!\r"),
        press("Fine.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = chat_with_editor(&sandbox, "true", steps) else {
        return;
    };
    assert_eq!((code, leftover_files(&sandbox).len()), (0, 0), "{seen}");
    assert_eq!(sandbox.message_texts("a.msg.md"), ["/help me!", "Fine."]);
    assert!(server.request().contains("/help me!"));
}

/// An editor that suspends the chat, as Ctrl-Z in vi does, and resumes first. It then records whether the terminal
/// keeps its settings.
const STOPPING_EDITOR: &str = "
import os, signal, subprocess, sys, termios, time, tty
terminal = os.open('/dev/tty', os.O_RDWR)
signal.signal(signal.SIGTSTP, signal.SIG_IGN)
session, before = os.getsid(0), termios.tcgetattr(terminal)
os.kill(session, signal.SIGTSTP)
def state():
    return subprocess.run(['ps', '-o', 'stat=', '-p', str(session)], capture_output=True).stdout
while not state().startswith(b'T'):
    time.sleep(0.02)
tty.setraw(terminal)
raw = termios.tcgetattr(terminal)
os.kill(session, signal.SIGCONT)
changed = False
for _ in range(100):
    time.sleep(0.01)
    changed = changed or termios.tcgetattr(terminal) != raw
termios.tcsetattr(terminal, termios.TCSANOW, before)
open(sys.argv[1], 'w').write('changed' if changed else 'the same')
";

#[test]
fn the_editor_keeps_the_terminal_after_ctrl_z() {
    let (sandbox, _server) = sandbox_with_server(vec![answer(&["Fine."])]);
    sandbox.write("editor.py", STOPPING_EDITOR);
    let script = "exec python3 editor.py \"$1\"";
    let steps = vec![
        press(PROMPT, "/edit\r"),
        press("Fine.", ""),
        press(PROMPT, CTRL_D),
    ];
    let Some((seen, code)) = chat_with_editor(&sandbox, script, steps) else {
        return;
    };
    assert_eq!(code, 0, "{seen}");
    assert_eq!(sandbox.message_texts("a.msg.md")[0], "the same", "{seen}");
}
