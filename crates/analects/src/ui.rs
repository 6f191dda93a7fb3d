//! Everything that the command prints. Data goes to stdout, everything else to stderr, and nothing that a file or a
//! model wrote reaches a terminal as an escape code.
//!
//! Errors in writing to stderr are ignored: there is nowhere left to report them. Errors in writing to stdout are
//! failures, unless the reader closed the pipe and so has seen enough.
//!
//! The modules below are pure where they can be: they turn text into lines, and only the functions here write.
//! Everything that is printed first clears the status line, so that line never mixes with other output.
//!
//! - [`report`] and [`report_problems`] are for failures and for problems of a file, [`remark`] for everything else on
//!   stderr.
//! - [`print_lines`], [`print_rows`], [`print_text`] and [`print_json`] are for data. They escape for a terminal and
//!   keep the bytes for a program.
//! - [`AnswerPrinter`] prints an answer while it arrives, [`progress`] what goes on meanwhile.
//! - [`mod@prompt`] and [`keys`] read what you type.

mod answer;
mod colour;
mod diagnostic;
pub mod keys;
mod markdown;
pub mod prompt;
pub mod status;
mod text;

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use analects_core::Problem;
use serde::Serialize;
use terminal_size::{Height, Width, terminal_size_of};

pub use answer::AnswerPrinter;
use colour::Colour;
pub use diagnostic::count;
use markdown::wrap::hanging_lines;
pub use markdown::wrap::wrap_words;
pub use status::show as progress;
use text::{escape_json, escape_line, escape_lines};

use crate::failure::{Failure, io_error_text};
use crate::hints::Interface;

/// Prints an error for a call of the command: one line and a hint, or JSON.
/// The JSON is a single line with the keys `kind`, `message` and `hint`, and goes to stderr too, so stdout stays empty
/// on failure.
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

/// Prints an error: one line, and a hint for this interface.
/// The message is escaped, since it may quote a file or a provider.
pub fn report_in(interface: Interface, failure: &Failure) {
    say_wrapped(&escape_line(&format!("analects: {}", failure.message)));
    if let Some(hint) = failure.hint(interface) {
        // A hint may have lines to type.
        for line in escape_lines(&format!("hint: {hint}")).lines() {
            say_wrapped(line);
        }
    }
}

/// The width of lines where there is no terminal, in columns.
/// A pipe gets lines of this width as well, so what goes into a file does not depend on the window.
const DEFAULT_WIDTH: usize = 100;

/// Prints the problems of a file, each with its position, its line, and a hint for a call. `source` is the text of the
/// file.
/// An empty `path` leaves the position out.
pub fn report_problems(path: &str, source: &[u8], problems: &[Problem]) {
    report_problems_in(Interface::Call, path, source, problems);
}

/// Prints the problems of a file with hints for this interface.
pub fn report_problems_in(interface: Interface, path: &str, source: &[u8], problems: &[Problem]) {
    let stderr = io::stderr();
    let width = columns(terminal_size_of(&stderr)).unwrap_or(DEFAULT_WIDTH);
    let colour = Colour::of(&stderr);
    let text = diagnostic::Renderer {
        path,
        source,
        width,
        colour,
        interface,
    }
    .render_all(problems);
    status::clear();
    let _ = stderr.lock().write_all(text.as_bytes());
}

/// The width of a terminal. `None` if it does not say.
/// Some terminals report a width of 0, which counts as no answer.
fn columns(size: Option<(Width, Height)>) -> Option<usize> {
    size.map(|(width, _)| usize::from(width.0))
        .filter(|width| *width > 0)
}

/// The columns of the terminal that stderr is.
fn stderr_width() -> usize {
    columns(terminal_size_of(io::stderr())).unwrap_or(DEFAULT_WIDTH)
}

/// Prints something that you should know, although nothing failed.
pub fn remark(text: &str) {
    say_wrapped(&escape_line(text));
}

/// Prints a line of a text exactly: it is broken at the width of the terminal, and further lines have a mark in front, so
/// that a long line cannot pass for several.
pub fn show_text(indent: &str, line: &str) {
    let line = escape_line(line).replace('\t', "    ");
    if !io::stderr().is_terminal() {
        return say(&format!("{indent}{line}"));
    }
    let width = stderr_width().saturating_sub(indent.len() + 2).max(8);
    let mut rest = &*line;
    let mut mark = "";
    loop {
        let count = text::count_fitting(rest.chars(), width);
        let end = rest.char_indices().nth(count).map_or(rest.len(), |it| it.0);
        say(&format!("{indent}{mark}{}", &rest[..end]));
        rest = &rest[end..];
        if rest.is_empty() {
            return;
        }
        mark = "↪ ";
    }
}

/// Prints your own text again, each line with a `>` in front.
/// Used when a prompt could not be sent, so that you can copy it.
pub fn quote(text: &str) {
    for line in text.lines() {
        say(&escape_line(&format!("> {line}")));
    }
}

/// Shows the mark of a line to type, without a line end.
/// Goes to stderr, so the mark is seen even if the answers go to a file.
pub fn prompt(mark: &str) {
    status::clear();
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{}", escape_line(mark)).and_then(|()| stderr.flush());
}

/// Whether the terminal can edit lines: it shows both the keys and the answers, and understands escape codes.
pub fn can_edit_lines() -> bool {
    !colour::is_dumb()
        && io::stdin().is_terminal()
        && io::stdout().is_terminal()
        && io::stderr().is_terminal()
}

/// Whether data goes to stderr, so that you see it although stdout is no terminal.
static DATA_ON_STDERR: AtomicBool = AtomicBool::new(false);

/// Runs something whose data is for you and not for a file behind stdout: if stdout is no terminal, the data goes to
/// stderr.
/// For slash commands within a session, whose answers may go to a file. Not for two threads at once: the setting is
/// global.
pub fn with_data_on_stderr<T>(act: impl FnOnce() -> T) -> T {
    DATA_ON_STDERR.store(!io::stdout().is_terminal(), Ordering::SeqCst);
    let result = act();
    DATA_ON_STDERR.store(false, Ordering::SeqCst);
    result
}

/// Whether [`with_data_on_stderr`] runs and stdout is no terminal.
fn data_is_on_stderr() -> bool {
    DATA_ON_STDERR.load(Ordering::SeqCst)
}

/// The width of the terminal that data goes to. `None` if it goes elsewhere.
fn columns_of_data() -> Option<usize> {
    let size = if data_is_on_stderr() {
        terminal_size_of(io::stderr())
    } else {
        terminal_size_of(io::stdout())
    };
    columns(size)
}

/// The width for lines of text on stdout.
/// Asked anew each time, because the window may have changed.
pub fn width() -> usize {
    columns_of_data().unwrap_or(DEFAULT_WIDTH)
}

/// Whether stderr gets colour.
pub fn has_colour() -> bool {
    Colour::of(&io::stderr()).is_on()
}

/// Prints lines of data.
/// A line end within a line is shown as `␊`, so each item takes exactly one line.
pub fn print_lines(lines: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    let text: String = lines
        .into_iter()
        .map(|line| escape_line(&line) + "\n")
        .collect();
    write_out(&text)
}

/// Prints a line of data, whole.
/// Unlike [`print_rows`], it never cuts the line to the width of the terminal.
pub fn print_line(line: &str) -> Result<(), Failure> {
    write_out(&(escape_line(line) + "\n"))
}

/// Prints a sentence as data. On a terminal, breaks it at words; elsewhere it stays one line.
/// For totals and the like, which nobody copies.
pub fn print_sentence(text: &str) -> Result<(), Failure> {
    match columns_of_data() {
        Some(width) => print_lines(hanging_lines(text, width)),
        None => print_line(text),
    }
}

/// Prints rows of data in columns, whole, however wide the terminal is.
/// For values that you copy, such as ids, paths and names of variables.
pub fn print_whole_rows<const N: usize>(rows: Vec<[String; N]>) -> Result<(), Failure> {
    let lines = text::align_rows(rows, None);
    let text: String = lines.into_iter().map(|line| line + "\n").collect();
    write_out(&text)
}

/// Prints rows of data in columns. On a terminal, cuts them to its width.
/// Elsewhere the rows keep their full length, so that a program gets everything.
pub fn print_rows<const N: usize>(rows: Vec<[String; N]>) -> Result<(), Failure> {
    let lines = text::align_rows(rows, columns_of_data());
    let text: String = lines.into_iter().map(|line| line + "\n").collect();
    write_out(&text)
}

/// Whether stdout is a terminal.
pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints a text. To anything but a terminal, byte for byte; to a terminal, escaped and with a line end.
/// Bytes that are not UTF-8 show up as `�` on a terminal.
pub fn print_text(bytes: &[u8]) -> Result<(), Failure> {
    if !stdout_is_terminal() && !data_is_on_stderr() {
        return write_bytes(bytes).or_else(quiet_if_closed);
    }
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    write_out(&(escape_lines(&text) + line_end))
}

/// Prints bytes that need not be text.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    write_bytes(bytes).or_else(quiet_if_closed)
}

/// Prints a value as one line of JSON.
/// For output with one value per line (JSON Lines), of which a reader may take as many as it wants.
pub fn print_json_line(value: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(value);
    let json = json.map_err(|error| Failure::internal(format!("cannot print as JSON: {error}")))?;
    write_out(&(escape_json(&json) + "\n"))
}

/// Prints a path. To anything but a terminal, byte for byte, so that a program can use it; to a terminal, escaped.
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

/// Prints a value as indented JSON, without holding all of it in memory. Characters that a terminal would obey or hide
/// are escaped, which keeps their meaning.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    status::clear();
    if data_is_on_stderr() {
        let _ = write_json(io::stderr().lock(), value);
        return Ok(());
    }
    write_json(io::stdout().lock(), value).or_else(quiet_if_closed)
}

/// Writes a value as indented JSON with a line end.
/// Fails only if `out` does, or if the value has a map whose keys are not strings.
fn write_json(out: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut out = JsonEscaper(BufWriter::with_capacity(JSON_BUFFER, out));
    serde_json::to_writer_pretty(&mut out, value)?;
    out.0.write_all(b"\n")?;
    out.0.flush()
}

/// How many bytes of JSON are written at once.
const JSON_BUFFER: usize = 64 << 10;

/// Escapes the characters in JSON that a terminal would obey or hide. Each write must end with a whole character.
/// The JSON writer hands over whole strings or single signs, so a character is never split between two writes.
struct JsonEscaper<W: Write>(BufWriter<W>);

impl<W: Write> Write for JsonEscaper<W> {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        if json.iter().all(|byte| (b' '..b'\x7f').contains(byte)) {
            self.0.write_all(json)?;
        } else {
            let text = String::from_utf8_lossy(json);
            self.0.write_all(escape_json(&text).as_bytes())?;
        }
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Prints the help or the version: to stdout if you asked for it, else to stderr.
pub fn print_help(help: &clap::Error) -> Result<(), Failure> {
    match help.print() {
        Err(error) if !help.use_stderr() => quiet_if_closed(error),
        _ => Ok(()),
    }
}

/// Writes a line to stderr, broken at words if that is a terminal.
/// Elsewhere the line stays whole, which makes it easier to search.
fn say_wrapped(line: &str) {
    if !io::stderr().is_terminal() {
        return say(line);
    }
    for part in hanging_lines(line, stderr_width()) {
        say(&part);
    }
}

/// Writes a line to stderr. Ignores errors.
fn say(line: &str) {
    status::clear();
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes data and flushes it.
fn write_out(text: &str) -> Result<(), Failure> {
    if data_is_on_stderr() {
        status::clear();
        let _ = io::stderr().lock().write_all(text.as_bytes());
        return Ok(());
    }
    try_write(text).or_else(quiet_if_closed)
}

/// Writes text to stdout and flushes it.
fn try_write(text: &str) -> io::Result<()> {
    write_bytes(text.as_bytes())
}

/// Writes bytes to stdout and flushes them.
fn write_bytes(bytes: &[u8]) -> io::Result<()> {
    status::clear();
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

/// Turns an error in writing to stdout into a failure, unless the reader closed the pipe.
/// A command such as `… | head` ends early and successfully, as other tools do.
fn quiet_if_closed(error: io::Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Failure::input(format!(
            "cannot write to stdout: {}",
            io_error_text(&error)
        ))),
    }
}
