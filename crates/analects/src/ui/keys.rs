//! The keys of a terminal while an answer comes: typing is hidden and kept for the next prompt. Whatever ends or stops
//! the process, the terminal gets its settings back.
//!
//! [`hide_typing`] switches the echo off, [`collect`] begins to read keys while an answer comes, and [`take_typed`]
//! gives them to the next prompt. [`restore`] undoes the first.

use std::iter::Peekable;
use std::str::Chars;

/// The key that erases the line.
const CTRL_U: char = '\u{15}';
/// The key that erases the last word.
const CTRL_W: char = '\u{17}';

/// The text that typed keys stand for: keys that erase do so, and keys that move the cursor are ignored.
/// Line ends at the end are dropped: an Enter while an answer comes does not send anything.
fn text_of_keys(typed: &str) -> String {
    let mut text = String::new();
    let mut chars = typed.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape_code(&mut chars),
            '\u{7f}' | '\u{8}' => {
                text.pop();
            }
            CTRL_U => text.truncate(text.rfind('\n').map_or(0, |at| at + 1)),
            CTRL_W => remove_last_word(&mut text),
            '\r' => text.push('\n'),
            '\n' | '\t' => text.push(c),
            c if c.is_control() => {}
            c => text.push(c),
        }
    }
    text.trim_end_matches('\n').to_string()
}

/// Skips the code of a key after its escape character: it ends with a letter or a tilde.
/// A bare Escape swallows the next character, as terminals send Alt with a key that way.
fn skip_escape_code(chars: &mut Peekable<Chars<'_>>) {
    let is_long = chars.next_if(|c| matches!(c, '[' | 'O')).is_some();
    while is_long && chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next();
}

/// Removes the last word of a text and the blanks after it.
fn remove_last_word(text: &mut String) {
    let end = text.trim_end_matches([' ', '\t']);
    let start = end.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    text.truncate(start);
}

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::{
    HiddenTyping, collect, hide_typing, lend_terminal, read_answer_to, reset_for_exit, restore,
    restore_for_exit, stop_process, take_typed,
};

#[cfg(not(unix))]
pub use elsewhere::{
    HiddenTyping, collect, hide_typing, lend_terminal, read_answer_to, restore, restore_for_exit,
    take_typed,
};

#[cfg(not(unix))]
mod elsewhere {
    //! Where terminals have no such settings, typing is shown and goes to the next line.

    pub struct HiddenTyping;

    impl HiddenTyping {
        pub fn new() -> HiddenTyping {
            HiddenTyping
        }
    }

    pub fn hide_typing() {}

    pub fn restore() {}

    /// Nothing has to be lent where nothing was changed.
    pub fn lend_terminal<T>(act: impl FnOnce() -> T) -> T {
        act()
    }

    pub fn restore_for_exit() {}

    /// What was typed before cannot be discarded, so nothing counts as an answer.
    pub fn read_answer_to(
        _: impl FnOnce(),
        _: impl Fn() -> bool,
    ) -> std::io::Result<Option<String>> {
        Ok(None)
    }

    pub fn collect() {}

    /// Always empty: keys go to the next line by themselves.
    pub fn take_typed() -> String {
        super::text_of_keys("")
    }
}

#[cfg(test)]
mod tests {
    //! The text of keys, and the terminal after a panic.

    use super::text_of_keys;

    /// Runs a test again on a terminal, and checks that the terminal has its settings back.
    #[cfg(unix)]
    const ON_TERMINAL: &str = "
import os, subprocess, sys, termios
_, terminal = os.openpty()
before = termios.tcgetattr(terminal)
ran = subprocess.run(sys.argv[1:], stdin=terminal, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
assert b'on purpose' in ran.stderr, ran.stderr
assert termios.tcgetattr(terminal) == before, termios.tcgetattr(terminal)
";

    #[cfg(unix)]
    #[test]
    fn a_panic_restores_the_terminal() {
        use std::process::Command;
        let mark = "ANALECTS_TEST_PANIC";
        if std::env::var_os(mark).is_some() {
            let _hidden = super::HiddenTyping::new();
            let settings = rustix::termios::tcgetattr(std::io::stdin()).unwrap();
            assert!(
                !settings
                    .local_modes
                    .contains(rustix::termios::LocalModes::ECHO)
            );
            panic!("on purpose");
        }
        let name = "ui::keys::tests::a_panic_restores_the_terminal";
        let mut python = Command::new("python3");
        python
            .args(["-c", ON_TERMINAL])
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
    fn keys_become_text_without_cursor_movements() {
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
            assert_eq!(text_of_keys(typed), expected, "{typed:?}");
        }
    }
}
