//! Markdown made readable on a terminal while it arrives.
//!
//! A block is shown once it is complete, an item of a list and a line of code likewise, so nothing is ever drawn
//! again and the output is the same however the text is cut into pieces. Until then, [`Markdown::preview`] has the
//! last words for a line that the next output replaces.
//!
//! The modules work in this order: [`prepare`] puts marks into each line, [`blocks`] finds what is complete, [`render`]
//! turns that into styled lines with the help of [`table`], [`highlight`] and [`wrap`], and [`style`] writes the escape
//! codes.

mod blocks;
mod highlight;
mod languages;
mod prepare;
mod render;
mod style;
mod table;
#[cfg(test)]
mod tests;
pub mod wrap;

use unicode_width::UnicodeWidthChar;

use blocks::{OpenBlock, ends_with_blank_line, last_cut};
use highlight::Highlighter;
use prepare::{prepared, without_marks};
use render::{Context, rendered};
use style::{Style, StyledText, painted};

use crate::ui::text::escape_line;

/// A block that is longer than this is shown in parts.
/// Without a limit, a paragraph without end would never show up, and each further line would take longer.
const LONGEST_BLOCK: usize = 16 << 10;

/// A line of code that is longer than this is shown without colours.
/// Such a line is minified code or data, where colours help nobody.
const LONGEST_CODE_LINE: usize = 4 << 10;

/// A text that is shown while it arrives.
#[derive(Debug)]
pub struct Markdown {
    width: usize,
    /// The last line, until it is complete.
    line: String,
    /// The lines that are not shown yet.
    pending: String,
    /// `pending` is parsed again when it is at least this long, so that a long block is not parsed for each of its
    /// lines.
    parse_at: usize,
    /// Whether nothing was shown so far.
    is_start: bool,
    /// Whether the text that was shown ends with a blank line.
    after_blank: bool,
    /// The number of the item that `pending` starts with.
    item_number: Option<u64>,
    code: Option<OpenCode>,
}

/// A block of code that is shown line by line.
/// It is set from the opening fence to the closing one; `None` outside of code.
#[derive(Debug)]
struct OpenCode {
    fence: Fence,
    highlighter: Highlighter,
}

/// The line that opens a block of code.
/// Decides which line closes the block.
#[derive(Debug, Clone, Copy)]
struct Fence {
    /// A backtick or a tilde.
    sign: char,
    /// The closing fence has at least as many signs.
    length: usize,
    /// So many blanks, at most, are taken from the start of each line of the code.
    indent: usize,
}

impl Markdown {
    /// A text on a terminal with so many columns.
    pub fn new(width: usize) -> Markdown {
        Markdown {
            width,
            line: String::new(),
            pending: String::new(),
            parse_at: 0,
            is_start: true,
            after_blank: false,
            item_number: None,
            code: None,
        }
    }

    /// The terminal may change while the text arrives.
    /// Lines that are shown already stay as they are.
    pub fn set_width(&mut self, width: usize) {
        self.width = width;
    }

    /// Takes a piece of the text and returns the lines that are complete with it.
    /// The result ends with a line end or is empty.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                out.push_str(&self.take_line(&line));
            }
        }
        out
    }

    /// Returns what is left: the text is over.
    /// Afterwards the value is as new and takes the next text.
    pub fn end(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        let mut out = String::new();
        if !line.is_empty() {
            out = self.take_line(&line);
        }
        let rest = self.pending.len();
        out.push_str(&self.show(rest));
        *self = Markdown::new(self.width);
        out
    }

    /// The last words of what is not shown yet, in at most `width` columns.
    /// Marks of Markdown stay in it: what they mean is not known yet.
    pub fn preview(&self, width: usize) -> String {
        let pending = self.pending.lines().next_back().unwrap_or_default();
        let last = if self.line.trim().is_empty() {
            pending
        } else {
            &self.line
        };
        let text = escape_line(&without_marks(last.trim()));
        let mut columns = 0;
        let mut start = text.len();
        for (at, c) in text.char_indices().rev() {
            columns += c.width().unwrap_or(0);
            if columns > width {
                break;
            }
            start = at;
        }
        text[start..].to_string()
    }

    /// Returns what becomes visible through it, which is nothing for most lines of a paragraph.
    fn take_line(&mut self, line: &str) -> String {
        let line = line.trim_end_matches(['\r', '\n']);
        if let Some(code) = &mut self.code {
            if code.fence.is_closed_by(line) {
                self.code = None;
                self.after_blank = false;
                return String::new();
            }
            return code.line(line);
        }
        self.pending.push_str(&prepared(line));
        self.pending.push('\n');
        if self.pending.len() < self.parse_at {
            return String::new();
        }
        self.show_complete()
    }

    /// Shows the complete blocks.
    /// Leaves the rest pending, and does not look at it again before it has grown noticeably.
    fn show_complete(&mut self) -> String {
        let cut = last_cut(&self.pending, self.item_number);
        let mut out = self.show(cut.end);
        match cut.open {
            OpenBlock::Code => out.push_str(&self.open_code()),
            OpenBlock::Item(number) => self.item_number = number,
            OpenBlock::Other => {}
        }
        if self.pending.len() > LONGEST_BLOCK {
            out.push_str(&self.show(self.pending.len()));
        }
        self.parse_at = self.pending.len() + self.pending.len() / 64;
        out
    }

    /// Shows so much of the pending text.
    /// `end` is a byte offset into the pending text, at the start of a line.
    fn show(&mut self, end: usize) -> String {
        if end == 0 {
            return String::new();
        }
        let context = Context {
            width: self.width,
            is_start: self.is_start,
            after_blank: self.after_blank,
            item_number: self.item_number.take(),
        };
        let lines = rendered(&self.pending[..end], context);
        self.is_start &= lines.is_empty();
        self.after_blank = ends_with_blank_line(&self.pending[..end]);
        self.pending.drain(..end);
        painted(&lines)
    }

    /// Shows the code that the pending text starts with.
    /// The fence itself is not shown.
    fn open_code(&mut self) -> String {
        let pending = without_marks(&std::mem::take(&mut self.pending));
        let mut lines = pending.lines();
        let opening = lines.next().unwrap_or_default();
        let mut out = String::new();
        if self.after_blank && !self.is_start {
            out.push('\n');
        }
        self.is_start = false;
        self.code = Some(OpenCode::of(opening));
        for line in lines {
            out.push_str(&self.take_line(line));
        }
        out
    }
}

impl OpenCode {
    /// The code below an opening fence.
    fn of(opening: &str) -> OpenCode {
        let text = opening.trim_start();
        let sign = text.chars().next().unwrap_or('`');
        let info = text.trim_start_matches(sign);
        let language = info.trim().split([' ', ',']).next().unwrap_or_default();
        OpenCode {
            fence: Fence {
                sign,
                length: text.len() - info.len(),
                indent: opening.len() - text.len(),
            },
            highlighter: Highlighter::new(language),
        }
    }

    /// A line of the code, as it is shown.
    fn line(&mut self, line: &str) -> String {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let code = &line[indent.min(self.fence.indent)..];
        let styled = if code.len() > LONGEST_CODE_LINE {
            vec![StyledText::safe(Style::PLAIN, code)]
        } else {
            self.highlighter.line(code)
        };
        painted(&[styled])
    }
}

impl Fence {
    /// Whether a line is the closing fence.
    fn is_closed_by(self, line: &str) -> bool {
        let text = line.trim_start_matches(' ');
        let rest = text.trim_start_matches(self.sign);
        let is_indented_code = line.len() - text.len() > 3;
        !is_indented_code && text.len() - rest.len() >= self.length && rest.trim().is_empty()
    }
}
