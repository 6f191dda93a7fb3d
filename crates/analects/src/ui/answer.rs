//! Prints an answer while it streams in, and the thinking before it.
//!
//! An answer goes through three sinks: rendered Markdown where there is colour, escaped text on a terminal without, and
//! the bytes themselves elsewhere. Which one applies is decided once, when the printer is made.

use std::io::{self, IsTerminal, Write};

use super::colour::{Colour, Ink};
use super::markdown::Markdown;
use super::text::escape_lines;
use super::{quiet_if_closed, status, try_write, width};
use crate::failure::Failure;

/// Prints an answer piece by piece. Where there is colour, it renders Markdown; on a terminal without, it escapes control
/// characters; elsewhere it prints the answer byte for byte. Thinking goes to stderr if that is a terminal, and nowhere
/// else.
pub struct AnswerPrinter {
    /// Whether stdout is a terminal.
    to_terminal: bool,
    /// `None` where there is no colour.
    markdown: Option<Markdown>,
    shows_thinking: bool,
    /// Whether the last line of the answer is complete.
    ends_line: bool,
    /// Whether the last line of the thinking is complete.
    ends_thinking_line: bool,
    /// Why nothing more can be printed: the first failure. What follows it is dropped.
    error: Option<io::Error>,
}

impl AnswerPrinter {
    /// A printer for stdout and stderr as they are now.
    pub fn new() -> AnswerPrinter {
        let has_colour = Colour::of(&io::stdout()).is_on();
        AnswerPrinter {
            to_terminal: io::stdout().is_terminal(),
            markdown: has_colour.then(|| Markdown::new(width())),
            shows_thinking: io::stderr().is_terminal(),
            ends_line: true,
            ends_thinking_line: true,
            error: None,
        }
    }

    /// Prints a piece of the answer.
    /// The pieces may be cut anywhere, even within a word or a Markdown mark. A complete answer may be given as a
    /// single piece.
    pub fn print(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.end_thinking_line();
        if self.markdown.is_some() {
            return self.print_markdown(|markdown| markdown.push(text));
        }
        if self.to_terminal {
            self.write(&escape_lines(text))
        } else {
            self.write(text)
        }
        self.ends_line = text.ends_with('\n');
    }

    /// Prints the blocks that are complete now. The status line has the last words of the next one.
    /// Asks for the width each time, because the window may have changed while the answer arrives.
    fn print_markdown(&mut self, take: impl FnOnce(&mut Markdown) -> String) {
        let Some(markdown) = &mut self.markdown else {
            return;
        };
        let width = width();
        markdown.set_width(width);
        let out = take(markdown);
        let preview = markdown.preview(width.saturating_sub(1));
        if !out.is_empty() {
            self.write(&out);
        }
        if self.to_terminal {
            status::show(&preview);
        }
    }

    /// Prints a piece of the thinking, dim where there is colour.
    /// The text is dropped if stderr is not a terminal: a log should hold remarks only.
    pub fn think(&mut self, text: &str) {
        if !self.shows_thinking || text.is_empty() {
            return;
        }
        status::clear();
        let thinking = Colour::of(&io::stderr()).paint(Ink::Faint, &escape_lines(text));
        let _ = write!(io::stderr().lock(), "{thinking}");
        self.ends_thinking_line = text.ends_with('\n');
    }

    /// Prints what is left and ends the last line. `result` says whether everything could be printed.
    /// Call it before anything else is printed. It does nothing if the answer ended with a line end and nothing is
    /// pending.
    pub fn end(&mut self) {
        self.end_thinking_line();
        self.print_markdown(Markdown::end);
        status::clear();
        if !self.ends_line {
            self.write("\n");
            self.ends_line = true;
        }
    }

    /// A failure if something could not be printed, unless the reader closed the pipe.
    pub fn result(self) -> Result<(), Failure> {
        self.error.map_or(Ok(()), quiet_if_closed)
    }

    /// Whether nothing has failed to print so far.
    /// A caller may stop a turn early once nobody reads the answer any more.
    pub fn is_heard(&self) -> bool {
        self.error.is_none()
    }

    /// Ends a line of thinking that the answer would otherwise continue.
    fn end_thinking_line(&mut self) {
        if !self.ends_thinking_line {
            status::clear();
            let _ = writeln!(io::stderr().lock());
            self.ends_thinking_line = true;
        }
    }

    /// Writes to stdout, and remembers the first error.
    fn write(&mut self, text: &str) {
        if self.error.is_none() {
            self.error = try_write(text).err();
        }
    }
}
