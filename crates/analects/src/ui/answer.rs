//! An answer that is printed while it comes, and the thoughts before it.

use std::io::{self, IsTerminal, Write};

use super::colour::{Colour, Ink};
use super::markdown::Markdown;
use super::text::safe_lines;
use super::{quiet_if_closed, try_write, width};
use crate::failure::Failure;

/// Goes back to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\u{1b}[K";

/// An answer that is printed while it comes. Where there is colour, its Markdown is made readable; to a
/// terminal without, it goes without control characters, to anything else as it is. Thoughts go to
/// stderr if that is a terminal, and nowhere else.
pub struct Answer {
    to_terminal: bool,
    markdown: Option<Markdown>,
    /// Whether the line of the cursor shows the end of a block that is not complete.
    has_preview: bool,
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
            has_preview: false,
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

    /// Prints the blocks that are complete now. On a terminal, a faint line below them shows that more arrives.
    fn print_markdown(&mut self, take: impl FnOnce(&mut Markdown) -> String) {
        let Some(markdown) = &mut self.markdown else {
            return;
        };
        let width = width();
        markdown.set_width(width);
        let mut out = String::new();
        if self.has_preview {
            out.push_str(CLEAR_LINE);
            self.has_preview = false;
        }
        out.push_str(&take(markdown));
        if self.to_terminal {
            let preview = markdown.preview(width.saturating_sub(1));
            if !preview.is_empty() {
                out.push_str(&Colour::of(&io::stdout()).paint(Ink::Faint, &preview));
                self.has_preview = true;
            }
        }
        self.ends_line = !self.has_preview;
        if !out.is_empty() {
            self.write(&out);
        }
    }

    /// Prints a piece of a thought, dim where there is colour.
    pub fn think(&mut self, text: &str) {
        if !self.shows_thoughts || text.is_empty() {
            return;
        }
        if self.has_preview {
            self.write(CLEAR_LINE);
            self.has_preview = false;
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
