//! An answer that is printed while it comes, and the thoughts before it.

use std::io::{self, IsTerminal, Write};

use super::colour::{Colour, Ink};
use super::markdown::Markdown;
use super::text::safe_lines;
use super::{quiet_if_closed, try_write, width};
use crate::failure::Failure;

/// Switches every style off.
const PLAIN: &str = "\u{1b}[0m";

/// An answer that is printed while it comes. Where there is colour, its Markdown is made readable; to a
/// terminal without, it goes without control characters, to anything else as it is. Thoughts go to
/// stderr if that is a terminal, and nowhere else.
pub struct Answer {
    to_terminal: bool,
    markdown: Option<Markdown>,
    shows_thoughts: bool,
    /// Whether the last line of what was printed is complete, there and there.
    ends_line: bool,
    ends_thought: bool,
    /// Why nothing more can be printed.
    broken: Option<io::Error>,
}

impl Answer {
    pub fn new() -> Answer {
        Answer {
            to_terminal: io::stdout().is_terminal(),
            markdown: Colour::of(&io::stdout())
                .is_on()
                .then(|| Markdown::new(width())),
            shows_thoughts: io::stderr().is_terminal(),
            ends_line: true,
            ends_thought: true,
            broken: None,
        }
    }

    /// Prints a piece of the answer.
    pub fn print(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.end_thought();
        if self.markdown.is_some() {
            return self.print_markdown(|markdown| markdown.push(text));
        }
        if self.to_terminal {
            self.write(&safe_lines(text))
        } else {
            self.write(text)
        }
        self.ends_line = text.ends_with('\n');
    }

    /// Prints what can be shown now. No style stays on while we wait, since others may write meanwhile
    /// and the program may be ended.
    fn print_markdown(&mut self, take: impl FnOnce(&mut Markdown) -> String) {
        let Some(markdown) = &mut self.markdown else {
            return;
        };
        markdown.set_width(width());
        let before = markdown.style_code().unwrap_or_default();
        let shown = take(markdown);
        let after = markdown.style_code().map_or("", |_| PLAIN);
        self.ends_line = markdown.ends_line();
        if !shown.is_empty() {
            self.write(&format!("{before}{shown}{after}"));
        }
    }

    /// Prints a piece of a thought, dim where there is colour.
    pub fn think(&mut self, text: &str) {
        if !self.shows_thoughts || text.is_empty() {
            return;
        }
        let thought = Colour::of(&io::stderr()).paint(Ink::Faint, &safe_lines(text));
        let _ = write!(io::stderr().lock(), "{thought}");
        self.ends_thought = text.ends_with('\n');
    }

    /// Ends the last line, so that what follows starts a new one. Whether all of it could be
    /// printed, `result` says.
    pub fn end(&mut self) {
        self.end_thought();
        self.print_markdown(Markdown::end);
        self.markdown = self.markdown.as_ref().map(|_| Markdown::new(width()));
        if !self.ends_line {
            self.write("\n");
            self.ends_line = true;
        }
    }

    /// A failure if something could not be printed, for another reason than a reader who left.
    pub fn result(self) -> Result<(), Failure> {
        self.broken.map_or(Ok(()), quiet_if_closed)
    }

    /// Whether what is printed still reaches somebody.
    pub fn is_heard(&self) -> bool {
        self.broken.is_none()
    }

    fn end_thought(&mut self) {
        if !self.ends_thought {
            let _ = writeln!(io::stderr().lock());
            self.ends_thought = true;
        }
    }

    fn write(&mut self, text: &str) {
        if self.broken.is_none() {
            self.broken = try_write(text).err();
        }
    }
}
