//! What leads a line in: the marks of quotes and of items, one after the other. It waits until it is known
//! what the line is, since a row of a table has to know of it.

use unicode_width::UnicodeWidthStr;

use super::style::{Ink, Span, Style};

/// What stands before a quoted line.
pub const QUOTE: &str = "│ ";
/// Quotes and items are not looked for any deeper than this.
const DEEPEST: usize = 24;

/// What leads a line in.
#[derive(Debug, Default)]
pub struct Lead {
    spans: Vec<Span>,
    margin: String,
    quotes: usize,
    depth: usize,
    has_item: bool,
}

impl Lead {
    /// A quote, after so many blanks.
    pub fn add_quote(&mut self, blanks: &str) {
        self.add_blanks(blanks);
        self.spans.push(Span::new(Style::FAINT, QUOTE));
        self.margin.push_str(QUOTE);
        self.quotes += 1;
    }

    /// An item of a list with this mark, after so many blanks.
    pub fn add_item(&mut self, blanks: &str, mark: &str) {
        self.add_blanks(blanks);
        let mark = if matches!(mark, "-" | "*" | "+") { "•" } else { mark };
        self.spans.push(Span::new(Style::of_ink(Ink::Yellow), mark));
        self.spans.push(Span::new(Style::PLAIN, " "));
        self.margin.extend(std::iter::repeat_n(' ', mark.width() + 1));
        self.has_item = true;
    }

    fn add_blanks(&mut self, blanks: &str) {
        self.depth += 1;
        self.spans.push(Span::new(Style::PLAIN, blanks));
        self.margin.push_str(blanks);
    }

    /// How it is shown.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// What stands in its place before the next lines of the same thing.
    pub fn margin(&self) -> &str {
        &self.margin
    }

    pub fn quotes(&self) -> usize {
        self.quotes
    }

    pub fn has_item(&self) -> bool {
        self.has_item
    }

    /// Whether there is anything.
    pub fn is_nested(&self) -> bool {
        self.depth > 0
    }

    /// Whether nothing more is looked for.
    pub fn is_deep(&self) -> bool {
        self.depth >= DEEPEST
    }
}
