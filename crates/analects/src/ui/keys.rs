//! The keys of a terminal while nobody is asked: what is typed is not shown, and is kept for later. Whatever
//! ends or stops the process, the terminal is then as it was found.

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
mod unix;
#[cfg(unix)]
pub use unix::{Hushed, give_up, hush, leave, lend, listen, stop, typed, usual};

#[cfg(not(unix))]
pub use elsewhere::{Hushed, give_up, hush, lend, listen, typed, usual};

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

    pub fn lend<T>(act: impl FnOnce() -> T) -> T {
        act()
    }

    pub fn give_up() {}

    pub fn listen() {}

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
            assert!(
                !settings
                    .local_modes
                    .contains(rustix::termios::LocalModes::ECHO)
            );
            panic!("on purpose");
        }
        let name = "ui::keys::tests::a_panic_leaves_the_terminal_as_it_was";
        let mut python = Command::new("python3");
        python
            .args(["-c", AGAIN])
            .arg(std::env::current_exe().unwrap());
        python.args(["--exact", name, "--nocapture"]).env(mark, "1");
        // Without Python, there is no terminal.
        if let Ok(output) = python.output() {
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
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
