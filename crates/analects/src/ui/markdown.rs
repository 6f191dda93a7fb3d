//! Markdown made readable on a terminal while it comes.
//!
//! What is shown is only ever added to: no cursor moves and nothing is drawn again, so neither a
//! resized nor a narrow terminal can spoil it. Held back is only what is not decided yet: how a line
//! begins, a mark whose partner may come, and a table, whose columns depend on all of its rows. The
//! output is the same however the text is cut into pieces. Long lines are left to the terminal.

mod code;
mod inline;
mod languages;
mod line;
mod style;
mod table;
#[cfg(test)]
mod tests;

use code::Code;
use inline::Inline;
use line::{Begin, Fence, Inside, begin, inside};
use style::{Ink, Paint, Style};
use table::{Columns, is_delimiter};

/// A row that is longer than this is no row of a table.
const LONGEST_ROW: usize = 4_096;
/// A table that is longer than this is shown by what its first rows need.
const MOST_ROWS: usize = 60;
/// How wide a line across the page is, where there is room.
const RULE: usize = 40;

/// A text that is shown while it comes.
#[derive(Debug)]
pub struct Markdown {
    width: usize,
    paint: Paint,
    line: Line,
    /// The code block that this line may be in, and in how many quotes it is.
    block: Option<Block>,
    /// Rows that wait for the end of their table.
    rows: Vec<String>,
    /// The columns of a table of which a part was shown.
    columns: Option<Columns>,
    in_list: bool,
    after_blank: bool,
    after_return: bool,
}

/// Where in a line we are.
#[derive(Debug)]
enum Line {
    /// At its start, with what came of it; and in how many quotes.
    Start { head: String, quotes: usize, is_nested: bool },
    /// In its text.
    Text(Inline),
    /// In a line of code.
    Code,
    /// In a line that is code because it is indented.
    Indented,
    /// In what may be a row of a table.
    Row(String),
}

#[derive(Debug)]
struct Block {
    fence: Fence,
    quotes: usize,
    code: Code,
}

impl Line {
    fn start() -> Line {
        Line::Start { head: String::new(), quotes: 0, is_nested: false }
    }
}

impl Markdown {
    /// A text on a terminal that is so wide.
    pub fn new(width: usize) -> Markdown {
        Markdown {
            width,
            paint: Paint::new(),
            line: Line::start(),
            block: None,
            rows: Vec::new(),
            columns: None,
            in_list: false,
            after_blank: true,
            after_return: false,
        }
    }

    /// Takes a piece of the text, and gives what can be shown.
    pub fn push(&mut self, text: &str) -> String {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let length = match self.take_words(rest) {
                0 => {
                    self.take(c);
                    c.len_utf8()
                }
                length => length,
            };
            rest = &rest[length..];
        }
        self.paint.take()
    }

    /// Takes what means nothing but itself at once, since most of a text is that; gives its length.
    fn take_words(&mut self, text: &str) -> usize {
        match &mut self.line {
            Line::Text(inline) if !self.after_return => {
                let Some(words) = inline.words(text) else { return 0 };
                self.paint.write(words.style, &words.text);
                words.text.len()
            }
            _ => 0,
        }
    }

    /// Gives what is still held back: the text is over.
    pub fn end(&mut self) -> String {
        if std::mem::take(&mut self.after_return) {
            self.take_char('\r');
        }
        if !matches!(&self.line, Line::Start { head, .. } if head.is_empty()) {
            self.end_line();
        }
        self.end_table();
        self.paint.switch(Style::PLAIN);
        self.paint.take()
    }

    /// Lets tables know how wide the terminal is now.
    pub fn set_width(&mut self, width: usize) {
        self.width = width;
    }

    /// The code of the style that is on, if any: whoever prints something else meanwhile has to switch it
    /// off, and on again.
    pub fn style_code(&self) -> Option<String> {
        Some(self.paint.style()).filter(|style| *style != Style::PLAIN).map(Style::code)
    }

    /// Whether the last line that was shown is complete.
    pub fn ends_line(&self) -> bool {
        self.paint.ends_line()
    }

    /// Takes a character; a return before a line end belongs to it.
    fn take(&mut self, c: char) {
        let after_return = std::mem::take(&mut self.after_return);
        match c {
            '\r' => {
                if after_return {
                    self.take_char('\r');
                }
                self.after_return = true;
            }
            '\n' => self.line_end(),
            c => {
                if after_return {
                    self.take_char('\r');
                }
                self.take_char(c);
            }
        }
    }

    fn take_char(&mut self, c: char) {
        match &mut self.line {
            Line::Start { head, .. } => {
                head.push(c);
                self.decide(false);
            }
            Line::Text(inline) => {
                let spans = inline.push(c);
                self.paint.write_all(&spans);
            }
            Line::Code => self.code(c),
            Line::Indented => self.paint.write(INDENTED, c.encode_utf8(&mut [0; 4])),
            Line::Row(row) => {
                row.push(c);
                if row.len() > LONGEST_ROW {
                    let row = std::mem::take(row);
                    self.end_table();
                    self.text(&row, Style::PLAIN);
                }
            }
        }
    }

    fn line_end(&mut self) {
        let is_row = self.end_line();
        match &mut self.block {
            // Code has states that outlast a line.
            Some(block) => {
                let spans = block.code.push('\n');
                self.paint.write_all(&spans);
            }
            None if is_row => {}
            None => self.paint.write(Style::PLAIN, "\n"),
        }
        self.line = Line::start();
    }

    /// Decides what is open in this line. True if it is kept as a row of a table, with its end.
    fn end_line(&mut self) -> bool {
        if matches!(self.line, Line::Start { .. }) {
            self.decide(true);
        }
        match std::mem::replace(&mut self.line, Line::start()) {
            Line::Text(mut inline) => self.paint.write_all(&inline.end()),
            Line::Code => {
                let spans = self.block.as_mut().map(|block| block.code.end());
                self.paint.write_all(&spans.unwrap_or_default());
            }
            Line::Row(row) => {
                self.row(row);
                return true;
            }
            Line::Start { .. } | Line::Indented => {}
        }
        false
    }
}

const INDENTED: Style = Style { ink: Some(Ink::Cyan), ..Style::PLAIN };

/// How lines begin.
impl Markdown {
    /// Decides how the line begins, as soon as that can be done.
    fn decide(&mut self, ends: bool) {
        while let Line::Start { head, quotes, is_nested } = &self.line {
            if let Some(block) = self.block.as_ref().filter(|_| !is_nested) {
                match inside(head, &block.fence, block.quotes, ends) {
                    None => return,
                    Some(inside) => self.go_on_in_block(inside),
                }
                continue;
            }
            let can_be_code = self.after_blank && !self.in_list && !is_nested;
            if can_be_code && (head.starts_with("    ") || head.starts_with('\t')) {
                let body = head.trim_start_matches([' ', '\t']);
                if body.is_empty() && !ends {
                    return;
                }
                if !body.is_empty() {
                    self.indented();
                    return;
                }
            }
            // Before the text of a list's item or of a quote, no table is looked for: its mark is shown.
            let found = begin(head, ends).map(|found| match found {
                Begin::Row if *is_nested => Begin::Text,
                found => found,
            });
            let quotes = *quotes;
            match found {
                None => return,
                Some(found) => self.begin(found, quotes),
            }
            if ends && matches!(&self.line, Line::Start { head, .. } if head.is_empty()) {
                return;
            }
        }
    }

    /// A line that is code because of its indentation.
    fn indented(&mut self) {
        self.end_table();
        let head = self.take_head();
        self.paint.write(INDENTED, &head);
        self.line = Line::Indented;
    }

    fn take_head(&mut self) -> String {
        match &mut self.line {
            Line::Start { head, .. } => std::mem::take(head),
            _ => String::new(),
        }
    }

    /// The line begins so: shows its mark, and goes on with the rest.
    fn begin(&mut self, found: Begin, quotes: usize) {
        if found != Begin::Row {
            self.end_table();
        }
        let head = self.take_head();
        let is_indented = head.starts_with([' ', '\t']);
        let is_first = !matches!(&self.line, Line::Start { is_nested: true, .. });
        if is_first && !is_indented && !matches!(found, Begin::Item { .. } | Begin::Blank) {
            self.in_list = false;
        }
        self.after_blank = found == Begin::Blank && is_first;
        match found {
            Begin::Blank => {}
            Begin::Heading { level, skip } => {
                let style = Style { bold: true, underlined: level <= 2, ..Style::PLAIN };
                self.text(&head[skip..], style);
            }
            Begin::Fence(fence) => {
                self.paint.write(Style::FAINT, &head);
                let code = Code::new(&fence.language);
                self.block = Some(Block { fence, quotes, code });
                self.line = Line::Text(Inline::new(Style::PLAIN));
            }
            Begin::Rule => self.paint.write(Style::FAINT, &"-".repeat(RULE.min(self.width))),
            Begin::Quote { skip } => {
                self.paint.write(Style::FAINT, "│ ");
                self.nest(&head[skip..], quotes + 1);
            }
            Begin::Item { indent, skip } => {
                self.in_list = true;
                self.item(&head[..skip], indent);
                self.nest(&head[skip..], quotes);
            }
            Begin::Row => self.line = Line::Row(head),
            Begin::Text => self.text(&head, Style::PLAIN),
        }
    }

    fn nest(&mut self, rest: &str, quotes: usize) {
        self.line = Line::Start { head: rest.to_string(), quotes, is_nested: true };
    }

    fn item(&mut self, mark: &str, indent: usize) {
        self.paint.write(Style::PLAIN, &mark[..indent]);
        let mark = mark[indent..].trim_end();
        let mark = if matches!(mark, "-" | "*" | "+") { "•" } else { mark };
        self.paint.write(Style::of_ink(Ink::Yellow), mark);
        self.paint.write(Style::PLAIN, " ");
    }

    fn text(&mut self, text: &str, style: Style) {
        let mut inline = Inline::new(style);
        for c in text.chars() {
            self.paint.write_all(&inline.push(c));
        }
        self.line = Line::Text(inline);
    }
}

/// Code blocks.
impl Markdown {
    /// Goes on with a line that began in a code block.
    fn go_on_in_block(&mut self, found: Inside) {
        let head = self.take_head();
        match found {
            Inside::Code(skip) => {
                let quotes = self.block.as_ref().map_or(0, |block| block.quotes);
                self.paint.write(Style::FAINT, &"│ ".repeat(quotes));
                self.line = Line::Code;
                head[skip..].chars().for_each(|c| self.code(c));
            }
            Inside::Close => {
                self.block = None;
                self.paint.write(Style::FAINT, &head);
                self.line = Line::Text(Inline::new(Style::PLAIN));
                self.after_blank = true;
            }
            Inside::Over => {
                self.block = None;
                self.after_blank = true;
                self.line = Line::Start { head, quotes: 0, is_nested: false };
            }
        }
    }

    fn code(&mut self, c: char) {
        if let Some(block) = &mut self.block {
            let spans = block.code.push(c);
            self.paint.write_all(&spans);
        }
    }
}

/// Tables.
impl Markdown {
    /// Takes a row that is complete.
    fn row(&mut self, row: String) {
        if let Some(mut columns) = self.columns.take() {
            columns.widen(&row, self.width);
            self.show_row(&columns, &row, Style::PLAIN);
            self.columns = Some(columns);
            return;
        }
        // A row without one below that says that this is a table is a line like any other.
        if self.rows.len() == 1 && !is_delimiter(&row) {
            self.show_as_text();
        }
        self.rows.push(row);
        if self.rows.len() >= MOST_ROWS {
            self.columns = Some(self.show_table());
        }
    }

    /// Shows what waits: no row follows.
    fn end_table(&mut self) {
        if self.rows.len() == 1 {
            self.show_as_text();
        } else if !self.rows.is_empty() {
            self.show_table();
        }
        self.columns = None;
    }

    fn show_as_text(&mut self) {
        for row in std::mem::take(&mut self.rows) {
            self.paint.write_all(&inline::spans(&row, Style::PLAIN));
            self.paint.write(Style::PLAIN, "\n");
        }
    }

    fn show_table(&mut self) -> Columns {
        let rows = std::mem::take(&mut self.rows);
        let columns = Columns::of(&rows, self.width);
        let head = Style { bold: true, ..Style::PLAIN };
        for (at, row) in rows.iter().enumerate() {
            match at {
                0 => self.show_row(&columns, row, head),
                1 => {
                    self.paint.write_all(&columns.delimiter());
                    self.paint.write(Style::PLAIN, "\n");
                }
                _ => self.show_row(&columns, row, Style::PLAIN),
            }
        }
        columns
    }

    fn show_row(&mut self, columns: &Columns, row: &str, style: Style) {
        for line in columns.row(row, style) {
            self.paint.write_all(&line);
            self.paint.write(Style::PLAIN, "\n");
        }
    }
}
