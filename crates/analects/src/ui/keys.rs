//! The keys of a terminal while nobody is asked: what is typed is not shown, and waits. Whatever ends or
//! stops the process, the terminal is then as it was found.

/// What was typed, as the text that a person meant: keys that erase do, and others that only a line can
/// follow are left out.
fn meant(typed: &str) -> String {
    let mut text = String::new();
    let mut chars = typed.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                // The code of a key: its end is a letter, or a tilde.
                let is_long = chars.next_if(|c| matches!(c, '[' | 'O')).is_some();
                while is_long && chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
                chars.next();
            }
            '\u{7f}' | '\u{8}' => {
                text.pop();
            }
            '\u{15}' => text.truncate(text.rfind('\n').map_or(0, |at| at + 1)),
            '\u{17}' => {
                let kept = text.trim_end_matches([' ', '\t']);
                text.truncate(kept.rfind(char::is_whitespace).map_or(0, |at| at + 1));
            }
            '\r' => text.push('\n'),
            '\n' | '\t' => text.push(c),
            c if c.is_control() => {}
            c => text.push(c),
        }
    }
    text.trim_end_matches('\n').to_string()
}

#[cfg(unix)]
pub use unix::{Hushed, hush, leave, stop, typed, usual};

#[cfg(unix)]
mod unix {
    //! The settings of the terminal.

    use std::io::{self, IsTerminal};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Signal, getpid, kill_process};
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
    use tokio::signal::unix::{SignalKind, signal};

    use crate::ui::colour::is_dumb;

    /// No more than this is kept of what was typed.
    const MOST: usize = 4 << 20;
    /// How long more is waited for, once something came: a terminal sends a paste in pieces.
    const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    const NONE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

    /// The settings as they were found, if they were ever changed.
    static FOUND: Mutex<Option<Termios>> = Mutex::new(None);

    fn found() -> MutexGuard<'static, Option<Termios>> {
        FOUND.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(settings: &Termios) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, settings);
    }

    /// Keys are not shown from now on, and wait to be read. Ctrl-C and Ctrl-Z do what they always do.
    pub fn hush() {
        let mut found = found();
        if found.is_none() {
            *found = tcgetattr(io::stdin()).ok();
        }
        if let Some(mut settings) = found.clone() {
            settings.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
            set(&settings);
        }
    }

    /// The terminal is as it was found.
    pub fn usual() {
        if let Some(settings) = &*found() {
            set(settings);
        }
    }

    /// As long as this lives, keys are not shown.
    pub struct Hushed;

    impl Hushed {
        pub fn new() -> Hushed {
            hush();
            Hushed
        }
    }

    impl Drop for Hushed {
        fn drop(&mut self) {
            usual();
        }
    }

    /// The same for a process that is about to end, wherever it is: what an editor of lines switched on is
    /// off again.
    pub fn leave() {
        usual();
        // Past the lock of others, and only if that does not wait: the end must not.
        let stdout = io::stdout();
        let mut way = [PollFd::new(&stdout, PollFlags::OUT)];
        let is_free = poll(&mut way, Some(&NONE)).is_ok_and(|count| count > 0);
        if is_free && stdout.is_terminal() && !is_dumb() {
            let _ = rustix::io::write(&stdout, b"\x1b[?2004l\x1b[?25h\r\n");
        }
    }

    /// Stops the process, as Ctrl-Z does, with the terminal as it was found; then all is as before.
    pub async fn stop() {
        // A signal to the process may reach another thread first, so this one waits for the end of it.
        let Ok(mut goes_on) = signal(SignalKind::from_raw(Signal::CONT.as_raw())) else { return };
        let before = tcgetattr(io::stdin());
        usual();
        if kill_process(getpid(), Signal::STOP).is_ok() {
            goes_on.recv().await;
        }
        if let Ok(before) = before {
            set(&before);
        }
    }

    /// What was typed while keys were not shown.
    pub fn typed() -> String {
        let (mut bytes, mut patience) = (Vec::new(), NONE);
        while bytes.len() < MOST && is_ready(&patience) {
            let mut buffer = [0; 4096];
            match rustix::io::read(io::stdin(), &mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            }
            patience = PATIENCE;
        }
        super::meant(&String::from_utf8_lossy(&bytes))
    }

    fn is_ready(patience: &Timespec) -> bool {
        let stdin = io::stdin();
        let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
        poll(&mut keys, Some(patience)).is_ok_and(|count| count > 0)
    }
}

#[cfg(not(unix))]
pub use elsewhere::{Hushed, hush, typed, usual};

#[cfg(not(unix))]
mod elsewhere {
    //! Where a terminal has no such settings, keys are shown, and the line gets them.

    pub struct Hushed;

    impl Hushed {
        pub fn new() -> Hushed {
            Hushed
        }
    }

    pub fn hush() {}

    pub fn usual() {}

    pub fn typed() -> String {
        super::meant("")
    }
}

#[cfg(test)]
mod tests {
    //! What keys mean, and the terminal after a panic.

    use super::meant;

    /// Runs a test once more, on a terminal, and says whether that is then as it was before.
    #[cfg(unix)]
    const AGAIN: &str = "
import os, subprocess, sys, termios
_, terminal = os.openpty()
before = termios.tcgetattr(terminal)
ran = subprocess.run(sys.argv[1:], stdin=terminal, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
assert b'on purpose' in ran.stderr, ran.stderr
assert termios.tcgetattr(terminal) == before, termios.tcgetattr(terminal)
";

    #[cfg(unix)]
    #[test]
    fn a_panic_leaves_the_terminal_as_it_was() {
        use std::process::Command;
        let mark = "ANALECTS_TEST_PANIC";
        if std::env::var_os(mark).is_some() {
            let _hushed = super::Hushed::new();
            let settings = rustix::termios::tcgetattr(std::io::stdin()).unwrap();
            assert!(!settings.local_modes.contains(rustix::termios::LocalModes::ECHO));
            panic!("on purpose");
        }
        let name = "ui::keys::tests::a_panic_leaves_the_terminal_as_it_was";
        let mut python = Command::new("python3");
        python.args(["-c", AGAIN]).arg(std::env::current_exe().unwrap());
        python.args(["--exact", name, "--nocapture"]).env(mark, "1");
        // Without Python, there is no terminal.
        if let Ok(output) = python.output() {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    #[test]
    fn keys_are_text_without_what_only_a_line_can_follow() {
        for (typed, expected) in [
            ("", ""),
            ("hello\r", "hello"),
            ("one\rtwo\n\n", "one\ntwo"),
            ("学x\u{7f}而\u{8}习", "学习"),
            ("a\u{1b}[A\u{1b}[1;5Cb\u{1b}OPc\u{1b}[3~d\u{1b}xe", "abcde"),
            ("one\rtwo\u{15}three", "one\nthree"),
            ("one two \u{17}three", "one three"),
            ("a\u{3}\u{4}\u{0}b\u{1b}", "ab"),
            ("\u{7f}\u{15}\u{17}", ""),
        ] {
            assert_eq!(meant(typed), expected, "{typed:?}");
        }
    }
}
