//! A problem as a person meets it: its place, the line with the spot marked, and what to do.
//!
//! Only a few hundred bytes around the spot are looked at, so a line may have any length. Whatever
//! they are, what is shown is harmless, and the marks stand below what they mark.

use std::path::Path;

use analects_core::{Problem, Severity};
use unicode_width::UnicodeWidthStr;

use super::colour::{Colour, Ink};
use super::text::{first_columns, fitting, safe, safe_lines};
use crate::hints::{self, Interface};

/// How many problems are shown of a file.
const MOST: usize = 50;

/// How many bytes before and after the start of a span are looked at.
const WINDOW: usize = 600;

/// How many columns of a line are shown, however wide the terminal.
const WIDEST: usize = 200;

/// How many characters of a message are shown: it may quote the file.
const LONGEST: usize = 400;

/// A tab takes this many columns.
const TAB: &str = "    ";

/// How problems of a file are shown.
pub struct Renderer<'a> {
    pub path: &'a str,
    /// What the problems were found in.
    pub source: &'a [u8],
    /// In how many columns its lines are shown, at most.
    pub width: usize,
    pub colour: Colour,
    /// Where the hints are read.
    pub interface: Interface,
}

impl Renderer<'_> {
    /// Problems of the file, each with its place.
    pub fn render_all(&self, problems: &[Problem]) -> String {
        let shown = problems.iter().take(MOST);
        let mut out: String = shown.map(|problem| self.render(problem)).collect();
        if let Some(rest) = problems.get(MOST..).filter(|rest| !rest.is_empty()) {
            let rest = format!("{}: and {} more", safe(self.path), count(rest));
            out.push_str(&self.colour.paint(Ink::Faint, &rest));
            out.push('\n');
        }
        out
    }

    fn render(&self, problem: &Problem) -> String {
        let colour = self.colour;
        let ink = match problem.severity {
            Severity::Hint => Ink::Hint,
            Severity::Warning => Ink::Warning,
            Severity::Error => Ink::Error,
        };
        let place = match (self.path, problem.line) {
            ("", _) => String::new(),
            (path, 0) => format!("{path}: "),
            (path, line) => format!("{path}:{line}:{}: ", problem.column),
        };
        let message = safe(&shortened(&problem.message));
        let mut out = format!(
            "{}{}: {message} {}\n",
            colour.paint(Ink::Place, &safe(&place)),
            colour.paint(ink, word(problem.severity)),
            colour.paint(Ink::Faint, &format!("[{}]", safe(&problem.code))),
        );
        let number = problem.line.to_string();
        let gutter = number.len() + 5;
        if let Some(line) = Line::around(self.source, problem) {
            let line = line.cut(self.width.saturating_sub(gutter).clamp(20, WIDEST));
            let number = colour.paint(Ink::Faint, &format!("  {number} |"));
            let below = colour.paint(Ink::Faint, &format!("{}|", " ".repeat(gutter - 2)));
            let marks = colour.paint(ink, &"^".repeat(line.marked.width().max(1)));
            let text = [&*line.before, &*line.marked, &*line.after].concat();
            out.push_str(format!("{number} {text}").trim_end_matches(' '));
            out.push_str(&format!(
                "\n{below} {}{marks}\n",
                " ".repeat(line.before.width())
            ));
        }
        if let Some(hint) = hints::of_problem(problem, Path::new(self.path), self.interface) {
            out.push_str(&format!(
                "  {}: {}\n",
                colour.paint(Ink::Hint, "hint"),
                safe(&hint)
            ));
        }
        out
    }
}

/// How many problems of each severity, such as `2 errors, 1 hint`.
pub fn count(problems: &[Problem]) -> String {
    let words = [Severity::Error, Severity::Warning, Severity::Hint].map(|severity| {
        let number = problems
            .iter()
            .filter(|problem| problem.severity == severity)
            .count();
        let plural = if number == 1 { "" } else { "s" };
        (number > 0).then(|| format!("{number} {}{plural}", word(severity)))
    });
    let words: Vec<String> = words.into_iter().flatten().collect();
    if words.is_empty() {
        "no problems".to_string()
    } else {
        words.join(", ")
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Hint => "hint",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

fn shortened(message: &str) -> String {
    match message.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_string(),
    }
}

/// A line in three parts, as it is shown: before the spot, the spot, and after it.
struct Line {
    before: String,
    marked: String,
    after: String,
    /// Whether the line has more at its beginning.
    is_cut: bool,
}

impl Line {
    /// The line on which a problem starts; `None` where it has no place in this source.
    fn around(source: &[u8], problem: &Problem) -> Option<Line> {
        let span = problem.span?;
        let line_start = span.start.checked_sub(problem.column.checked_sub(1)?)?;
        let starts_line = line_start == 0 || source.get(line_start - 1) == Some(&b'\n');
        if span.start > source.len() || !starts_line {
            return None;
        }
        let is_inside = |at: usize| source.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
        let from = line_start.max(span.start.saturating_sub(WINDOW));
        let from = (from..span.start)
            .take(4)
            .find(|at| !is_inside(*at))
            .unwrap_or(from);
        let to = source.len().min(span.start + WINDOW);
        let to = (span.start..=to)
            .rev()
            .take(4)
            .find(|at| !is_inside(*at))
            .unwrap_or(to);
        let rest = source.get(span.start..to)?;
        let end = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(rest.len(), |at| {
                at - usize::from(at > 0 && rest[at - 1] == b'\r')
            });
        let marked = span.len().min(end);
        Some(Line {
            before: displayed(source.get(from..span.start)?),
            marked: displayed(&rest[..marked]),
            after: displayed(&rest[marked..end]),
            is_cut: from > line_start,
        })
    }

    /// The same line in at most that many columns, with the spot in it.
    fn cut(self, width: usize) -> Line {
        let room = width.saturating_sub(self.marked.width());
        let before = if self.is_cut || self.before.width() > room.max(width / 3) {
            // Some of the room is for what follows.
            format!(
                "…{}",
                last_columns(&self.before, (room * 2 / 3).max(width / 3) - 1)
            )
        } else {
            self.before
        };
        let marked = first_columns(self.marked, width.saturating_sub(before.width()));
        let used = before.width() + marked.width();
        let after = first_columns(self.after, width.saturating_sub(used));
        Line {
            before,
            marked,
            after,
            is_cut: self.is_cut,
        }
    }
}

/// Bytes of a line as they can be shown anywhere.
fn displayed(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&safe_lines(chunk.valid()).replace('\t', TAB));
        out.extend(chunk.invalid().iter().map(|byte| format!("<0x{byte:02X}>")));
    }
    out
}

fn last_columns(text: &str, width: usize) -> String {
    let all = text.chars().count();
    text.chars()
        .skip(all - fitting(text.chars().rev(), width))
        .collect()
}

#[cfg(test)]
mod tests;
