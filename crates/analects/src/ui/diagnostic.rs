//! Renders problems: the position, the line with the spot marked, and a hint.
//!
//! Only a few hundred bytes around the spot are looked at, so a line may have any length. Everything shown is escaped,
//! and the marks stand below what they mark.
//!
//! A problem looks like this:
//!
//! ```text
//! talk.msg.md:2:5: error: something is wrong [some-code]
//!   2 | two three
//!     |     ^^^^^
//!   hint: write four
//! ```

use std::path::Path;

use analects_core::{Problem, Severity};
use unicode_width::UnicodeWidthStr;

use super::colour::{Colour, Ink};
use super::text::{count_fitting, escape_line, escape_lines, fit_start};
use crate::hints::{self, Interface};

/// How many problems of a file are shown.
const MAX_PROBLEMS: usize = 50;

/// How many bytes before and after the start of a span are looked at.
const WINDOW: usize = 600;

/// The most columns of a line that are shown, however wide the terminal.
const MAX_LINE_WIDTH: usize = 200;

/// The fewest columns of a line that are shown.
const MIN_LINE_WIDTH: usize = 20;

/// How many characters of a message are shown. A message may quote the file.
const MAX_MESSAGE_LENGTH: usize = 400;

/// What a tab looks like.
const TAB: &str = "    ";

/// How to show the problems of a file.
/// The result has escape codes only if `colour` is on, so tests compare plain text.
pub struct Renderer<'a> {
    /// The name to show; empty for text that has no file.
    pub path: &'a str,
    /// The text that the problems were found in.
    pub source: &'a [u8],
    /// The most columns that lines of the source may take.
    pub width: usize,
    pub colour: Colour,
    /// Where the hints are read.
    pub interface: Interface,
}

impl Renderer<'_> {
    /// The problems, and how many more there are.
    /// At most [`MAX_PROBLEMS`] are rendered, in the order given; the rest is only counted.
    pub fn render_all(&self, problems: &[Problem]) -> String {
        let shown = &problems[..problems.len().min(MAX_PROBLEMS)];
        let rest = &problems[shown.len()..];
        let mut out: String = shown.iter().map(|problem| self.render(problem)).collect();
        if !rest.is_empty() {
            let rest = format!("{}: and {} more", escape_line(self.path), count(rest));
            out.push_str(&self.colour.paint(Ink::Faint, &rest));
            out.push('\n');
        }
        out
    }

    /// One problem: the heading, its line with marks, and a hint.
    fn render(&self, problem: &Problem) -> String {
        let mut out = self.heading(problem);
        out.push_str(&self.marked_line(problem).unwrap_or_default());
        let path = Path::new(self.path);
        if let Some(hint) = hints::problem_hint(problem, path, self.interface) {
            let label = self.colour.paint(Ink::Hint, "hint");
            out.push_str(&format!("  {label}: {}\n", escape_line(&hint)));
        }
        out
    }

    /// The line with the position, the severity, the message and the code.
    /// A problem of the whole file has line 0, which is left out.
    fn heading(&self, problem: &Problem) -> String {
        let position = match (self.path, problem.line) {
            ("", _) => String::new(),
            (path, 0) => format!("{path}: "),
            (path, line) => format!("{path}:{line}:{}: ", problem.column),
        };
        let position = self.colour.paint(Ink::Position, &escape_line(&position));
        let severity = self
            .colour
            .paint(ink_of(problem.severity), word_for(problem.severity));
        let message = escape_line(&shorten(&problem.message));
        let code = format!("[{}]", escape_line(&problem.code));
        let code = self.colour.paint(Ink::Faint, &code);
        format!("{position}{severity}: {message} {code}\n")
    }

    /// The line that the problem is on, and marks below it. `None` if the problem has no position in the source.
    /// Marks what the problem is about with `^`, at least one even for an empty span.
    fn marked_line(&self, problem: &Problem) -> Option<String> {
        let line = SourceLine::around(self.source, problem)?;
        let number = problem.line.to_string();
        let gutter = number.len() + 5;
        let room = self.width.saturating_sub(gutter);
        let line = line.cut(room.clamp(MIN_LINE_WIDTH, MAX_LINE_WIDTH));
        let left = self.colour.paint(Ink::Faint, &format!("  {number} |"));
        let text = [&*line.before, &*line.marked, &*line.after].concat();
        let upper = format!("{left} {text}");
        let upper = upper.trim_end_matches(' ');
        let blank = format!("{}|", " ".repeat(gutter - 2));
        let left = self.colour.paint(Ink::Faint, &blank);
        let indent = " ".repeat(line.before.width());
        let marks = "^".repeat(line.marked.width().max(1));
        let marks = self.colour.paint(ink_of(problem.severity), &marks);
        Some(format!("{upper}\n{left} {indent}{marks}\n"))
    }
}

/// How many problems there are of each severity, such as `2 errors, 1 hint`.
/// Severities without problems are left out. Without any problem it says `no problems`.
pub fn count(problems: &[Problem]) -> String {
    let mut counts = Vec::new();
    for severity in [Severity::Error, Severity::Warning, Severity::Hint] {
        let number = problems
            .iter()
            .filter(|problem| problem.severity == severity)
            .count();
        let word = word_for(severity);
        match number {
            0 => {}
            1 => counts.push(format!("1 {word}")),
            _ => counts.push(format!("{number} {word}s")),
        }
    }
    if counts.is_empty() {
        return "no problems".to_string();
    }
    counts.join(", ")
}

/// The name of a severity.
fn word_for(severity: Severity) -> &'static str {
    match severity {
        Severity::Hint => "hint",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// The colour of a severity.
fn ink_of(severity: Severity) -> Ink {
    match severity {
        Severity::Hint => Ink::Hint,
        Severity::Warning => Ink::Warning,
        Severity::Error => Ink::Error,
    }
}

/// The beginning of a long message.
/// Counts characters, not columns: the limit only guards against a message that quotes half a file.
fn shorten(message: &str) -> String {
    match message.char_indices().nth(MAX_MESSAGE_LENGTH) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_string(),
    }
}

/// A line of the source, escaped, in three parts: before the spot, the spot, and after it.
/// Its parts are safe to print. Together they may be only a window of a very long line.
struct SourceLine {
    before: String,
    marked: String,
    after: String,
    /// Whether the line has more at its beginning.
    is_cut: bool,
}

impl SourceLine {
    /// The line on which a problem starts. `None` if the problem has no position in this source.
    /// A span that does not start where line and column say belongs to another version of the text, so nothing is shown
    /// for it.
    fn around(source: &[u8], problem: &Problem) -> Option<SourceLine> {
        let span = problem.span?;
        let line_start = span.start.checked_sub(problem.column.checked_sub(1)?)?;
        let starts_line = line_start == 0 || source.get(line_start - 1) == Some(&b'\n');
        if span.start > source.len() || !starts_line {
            return None;
        }
        let from = line_start.max(span.start.saturating_sub(WINDOW));
        let from = next_boundary(source, from, span.start);
        let to = source.len().min(span.start + WINDOW);
        let to = previous_boundary(source, to, span.start);
        let rest = source.get(span.start..to)?;
        let end = end_of_line(rest);
        let marked = span.len().min(end);
        Some(SourceLine {
            before: displayed(source.get(from..span.start)?),
            marked: displayed(&rest[..marked]),
            after: displayed(&rest[marked..end]),
            is_cut: from > line_start,
        })
    }

    /// The same line in at most this many columns, with the spot in it.
    /// The spot has priority, then what is before it, and then what follows.
    fn cut(self, width: usize) -> SourceLine {
        let room = width.saturating_sub(self.marked.width());
        let before = if self.is_cut || self.before.width() > room.max(width / 3) {
            // Some of the room is for what follows.
            let columns = (room * 2 / 3).max(width / 3) - 1;
            format!("…{}", fit_end(&self.before, columns))
        } else {
            self.before
        };
        let marked = fit_start(self.marked, width.saturating_sub(before.width()));
        let used = before.width() + marked.width();
        let after = fit_start(self.after, width.saturating_sub(used));
        SourceLine {
            before,
            marked,
            after,
            is_cut: self.is_cut,
        }
    }
}

/// Whether a character continues at this byte.
fn is_inside_char(source: &[u8], at: usize) -> bool {
    source.get(at).is_some_and(|byte| byte & 0xc0 == 0x80)
}

/// The first position from `from` on where a character starts, before `limit`. Where the bytes are no text, `from`.
/// It looks at four bytes at most, the longest a character can be.
fn next_boundary(source: &[u8], from: usize, limit: usize) -> usize {
    (from..limit)
        .take(4)
        .find(|at| !is_inside_char(source, *at))
        .unwrap_or(from)
}

/// The last position up to `to` where a character starts, from `limit` on. Where the bytes are no text, `to`.
fn previous_boundary(source: &[u8], to: usize, limit: usize) -> usize {
    (limit..=to)
        .rev()
        .take(4)
        .find(|at| !is_inside_char(source, *at))
        .unwrap_or(to)
}

/// Where the first line of these bytes ends, without its line end.
fn end_of_line(bytes: &[u8]) -> usize {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) if at > 0 && bytes[at - 1] == b'\r' => at - 1,
        Some(at) => at,
        None => bytes.len(),
    }
}

/// Bytes of a line, escaped. Bytes that are no text are shown in hexadecimal.
/// A tab becomes spaces, so that the marks below line up.
fn displayed(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&escape_lines(chunk.valid()).replace('\t', TAB));
        for byte in chunk.invalid() {
            out.push_str(&format!("<0x{byte:02X}>"));
        }
    }
    out
}

/// The end of a text that fits into this width.
/// The counterpart of [`fit_start`]: it drops characters from the beginning, and adds no ellipsis.
fn fit_end(text: &str, width: usize) -> String {
    let skipped = text.chars().count() - count_fitting(text.chars().rev(), width);
    text.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests;
