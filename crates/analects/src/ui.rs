//! Everything that reaches the terminal. Data goes to stdout, all else to stderr, and nothing that
//! a file or a model wrote reaches a terminal as an escape code.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{IsTerminal, Write};

use analects_core::{Problem, Severity};
use serde::Serialize;

use crate::failure::Failure;

/// Prints an error: one line, and a hint.
pub fn report(failure: &Failure, as_json: bool) {
    if as_json {
        let error = serde_json::json!({
            "kind": failure.kind(), "message": failure.message, "hint": failure.hint,
        });
        eprintln!("{}", serde_json::json!({ "error": error }));
        return;
    }
    eprintln!("analects: {}", safe(&failure.message));
    if let Some(hint) = &failure.hint {
        eprintln!("hint: {}", safe(hint));
    }
}

/// Prints problems, each with its place.
pub fn report_problems(path: &str, problems: &[Problem]) {
    for problem in problems {
        let severity = match problem.severity {
            Severity::Hint => "hint",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let place = match (path, problem.line) {
            ("", _) | (_, 0) => String::new(),
            (path, line) => format!("{path}:{line}:{}: ", problem.column),
        };
        let text = format!("{place}{severity}: {} [{}]", problem.message, problem.code);
        eprintln!("{}", safe(&text));
        if let Some(hint) = &problem.hint {
            eprintln!("  hint: {}", safe(hint));
        }
    }
}

/// Prints a line of data.
pub fn print_line(text: &str) {
    write_out(&format!("{}\n", safe(text)));
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(value);
    let json = json.map_err(|error| Failure::ours(format!("cannot print as JSON: {error}")))?;
    write_out(&format!("{json}\n"));
    Ok(())
}

/// An answer that is printed while it comes. To a terminal it goes without control characters, to
/// anything else as it is.
pub struct Answer {
    to_terminal: bool,
    ends_line: bool,
}

impl Answer {
    pub fn new() -> Answer {
        Answer { to_terminal: std::io::stdout().is_terminal(), ends_line: true }
    }

    pub fn print(&mut self, text: &str) {
        match self.to_terminal {
            true => write_out(&safe_lines(text)),
            false => write_out(text),
        }
        self.ends_line = text.ends_with('\n') || (text.is_empty() && self.ends_line);
    }

    /// Ends the last line, so that what follows starts a new one.
    pub fn end(&mut self) {
        if !self.ends_line {
            write_out("\n");
        }
    }
}

/// Writes to stdout. A closed pipe is no error: the reader has seen enough, and what is to be kept
/// is kept elsewhere.
fn write_out(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Text for one line of a terminal: control, bidi and invisible characters are shown, not obeyed.
fn safe(text: &str) -> String {
    safe_lines(text).replace('\n', "␊")
}

fn safe_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_invisible(c) => {
                out.push_str(&format!("<U+{:04X}>", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// Characters that change how others are shown, or hide: bidi controls, zero width, tags. The
/// joiners that emoji and Indic scripts need are not among them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    //! What reaches a terminal is harmless.

    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_as_an_escape_code() {
        assert_eq!(safe("a\u{1b}[31mb\r\u{9b}c"), "a<U+001B>[31mb<U+000D><U+009B>c");
        assert_eq!(safe("x\u{202e}y\u{e0041}"), "x<U+202E>y<U+E0041>");
        assert_eq!(safe("one\ntwo"), "one␊two");
        assert_eq!(safe_lines("one\n\ttwo 你好 👩\u{200d}💻"), "one\n\ttwo 你好 👩\u{200d}💻");
    }
}
