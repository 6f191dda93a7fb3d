//! Everything that reaches the terminal. Data goes to stdout, all else to stderr, and nothing that
//! a file or a model wrote reaches a terminal as an escape code.
//!
//! What cannot be said on stderr is not said: there is nobody left to tell. What cannot be written
//! to stdout is a failure, unless the reader has gone away, who has then seen enough.

mod answer;
mod colour;
mod diagnostic;
pub mod keys;
mod markdown;
pub mod prompt;
mod text;

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use analects_core::Problem;
use serde::Serialize;
use terminal_size::{Height, Width, terminal_size_of};

pub use answer::Answer;
use colour::Colour;
pub use diagnostic::count;
use text::{escape_json, safe, safe_lines};

use crate::failure::{Failure, words};
use crate::hints::Interface;

/// Prints an error: one line, and a hint for a call.
pub fn report(failure: &Failure, as_json: bool) {
    if as_json {
        let hint = failure.hint(Interface::Call);
        let error = serde_json::json!({
            "kind": failure.kind(), "message": failure.message, "hint": hint,
        });
        let json = serde_json::json!({ "error": error }).to_string();
        return say(&escape_json(&json));
    }
    report_in(Interface::Call, failure);
}

/// Prints an error: one line, and a hint for somebody who is there.
pub fn report_in(interface: Interface, failure: &Failure) {
    say(&safe(&format!("analects: {}", failure.message)));
    if let Some(hint) = failure.hint(interface) {
        // Lines to type stay lines.
        say(&safe_lines(&format!("hint: {hint}")));
    }
}

/// How wide lines of a file are shown where there is no terminal to ask.
const WIDTH: usize = 100;

/// Prints problems of a file, each with its place, its line, and a hint for a call. `source` is what they were found
/// in.
pub fn report_problems(path: &str, source: &[u8], problems: &[Problem]) {
    report_problems_in(Interface::Call, path, source, problems);
}

/// The same with hints for somebody who is there.
pub fn report_problems_in(interface: Interface, path: &str, source: &[u8], problems: &[Problem]) {
    let stderr = io::stderr();
    let width = columns(terminal_size_of(&stderr)).unwrap_or(WIDTH);
    let colour = Colour::of(&stderr);
    let text = diagnostic::Renderer {
        path,
        source,
        width,
        colour,
        interface,
    }
    .render_all(problems);
    let _ = stderr.lock().write_all(text.as_bytes());
}

/// The columns of a terminal.
fn columns(size: Option<(Width, Height)>) -> Option<usize> {
    size.map(|(width, _)| usize::from(width.0))
        .filter(|width| *width > 0)
}

/// Shows how far something is, on a line that the next call replaces; without a terminal, nothing.
pub fn progress(text: &str) {
    let mut stderr = io::stderr().lock();
    if stderr.is_terminal() {
        let width = columns(terminal_size_of(&stderr)).unwrap_or(WIDTH);
        let text: String = safe(text).chars().take(width.saturating_sub(1)).collect();
        let _ = write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush());
    }
}

/// Prints something that a person should know, though nothing failed.
pub fn remark(text: &str) {
    say(&safe(text));
}

/// Prints a text of the person again, each line marked.
pub fn quote(text: &str) {
    text.lines()
        .for_each(|line| say(&safe(&format!("> {line}"))));
}

/// Asks for a line.
pub fn prompt(mark: &str) {
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{}", safe(mark)).and_then(|()| stderr.flush());
}

/// Whether lines can be edited on the terminal: it shows the keys and the answers, and can do more than
/// print.
pub fn can_edit_lines() -> bool {
    !colour::is_dumb()
        && io::stdin().is_terminal()
        && io::stdout().is_terminal()
        && io::stderr().is_terminal()
}

/// Whether data is meant for the person at the terminal, and not for whatever stdout is.
static IS_ASIDE: AtomicBool = AtomicBool::new(false);

/// While this runs, data goes to the terminal, which is stderr where stdout is none.
pub fn aside<T>(act: impl FnOnce() -> T) -> T {
    IS_ASIDE.store(!io::stdout().is_terminal(), Ordering::SeqCst);
    let done = act();
    IS_ASIDE.store(false, Ordering::SeqCst);
    done
}

fn is_aside() -> bool {
    IS_ASIDE.load(Ordering::SeqCst)
}

/// The columns that data has, on a terminal.
fn columns_of_data() -> Option<usize> {
    let size = if is_aside() {
        terminal_size_of(io::stderr())
    } else {
        terminal_size_of(io::stdout())
    };
    columns(size)
}

/// How wide lines of text on stdout can be.
pub fn width() -> usize {
    columns_of_data().unwrap_or(WIDTH)
}

/// Whether what is said has colour.
pub fn has_colour() -> bool {
    Colour::of(&io::stderr()).is_on()
}

/// Prints lines of data.
pub fn print_lines(lines: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    let text: String = lines.into_iter().map(|line| safe(&line) + "\n").collect();
    write_out(&text)
}

/// Prints a line of data, however long.
pub fn print_line(line: &str) -> Result<(), Failure> {
    write_out(&(safe(line) + "\n"))
}

/// Prints rows of data, cut to the width of a terminal; without a terminal, whole.
pub fn print_rows<const N: usize>(rows: Vec<[String; N]>) -> Result<(), Failure> {
    let lines = text::lines(rows, columns_of_data());
    write_out(
        &lines
            .into_iter()
            .map(|line| line + "\n")
            .collect::<String>(),
    )
}

/// Whether data goes to a person's eyes.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints a text as it is; to a terminal, without what it would obey or hide, and with a line end.
pub fn print_text(bytes: &[u8]) -> Result<(), Failure> {
    if !is_terminal() && !is_aside() {
        return write_bytes(bytes).or_else(quiet_if_closed);
    }
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    write_out(&(safe_lines(&text) + line_end))
}

/// Prints bytes that are no text.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    write_bytes(bytes).or_else(quiet_if_closed)
}

/// Prints a value as one line of JSON.
pub fn print_json_line(value: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(value);
    let json = json.map_err(|error| Failure::ours(format!("cannot print as JSON: {error}")))?;
    write_out(&(escape_json(&json) + "\n"))
}

/// Prints a path: to a terminal harmless, to anything else as it is, so that a program can use it.
pub fn print_path(path: &std::path::Path) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return print_lines([path.to_string_lossy().into_owned()]);
    }
    let mut out = io::stdout().lock();
    let line = [path.as_os_str().as_encoded_bytes(), b"\n"].concat();
    out.write_all(&line)
        .and_then(|()| out.flush())
        .or_else(quiet_if_closed)
}

/// Prints a value as JSON, piece by piece. What a terminal would obey or hide is escaped, so that it is seen and
/// still means the same.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    if is_aside() {
        let _ = write_json(io::stderr().lock(), value);
        return Ok(());
    }
    write_json(io::stdout().lock(), value).or_else(quiet_if_closed)
}

fn write_json(out: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut out = Escaping(BufWriter::with_capacity(JSON_PIECE, out));
    serde_json::to_writer_pretty(&mut out, value)?;
    out.0.write_all(b"\n")?;
    out.0.flush()
}

/// How much JSON is written at once.
const JSON_PIECE: usize = 64 << 10;

/// Escapes in JSON what a terminal would obey or hide. Whoever writes JSON writes whole characters.
struct Escaping<W: Write>(BufWriter<W>);

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        if json.iter().all(|byte| (b' '..b'\x7f').contains(byte)) {
            self.0.write_all(json)?;
        } else {
            self.0
                .write_all(escape_json(&String::from_utf8_lossy(json)).as_bytes())?;
        }
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Prints what clap has to say: help and version to stdout, help that nobody asked for to stderr.
pub fn print_help(help: &clap::Error) -> Result<(), Failure> {
    match help.print() {
        Err(error) if !help.use_stderr() => quiet_if_closed(error),
        _ => Ok(()),
    }
}

/// Writes a line to stderr.
fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes data at once.
fn write_out(text: &str) -> Result<(), Failure> {
    if is_aside() {
        let _ = io::stderr().lock().write_all(text.as_bytes());
        return Ok(());
    }
    try_write(text).or_else(quiet_if_closed)
}

fn try_write(text: &str) -> io::Result<()> {
    write_bytes(text.as_bytes())
}

fn write_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

fn quiet_if_closed(error: io::Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Failure::input(format!(
            "cannot write to stdout: {}",
            words(&error)
        ))),
    }
}
