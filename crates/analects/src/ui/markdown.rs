//! Markdown made readable on a terminal while it comes.
//!
//! What is shown is only ever added to: no cursor moves and nothing is drawn again, so neither a
//! resized nor a narrow terminal can spoil it. Held back is only what is not decided yet: how a line
//! begins, a mark whose partner may come in the same paragraph, and a table, whose columns depend on all
//! of its rows. The output is the same however the text is cut into pieces. Long lines are left to the
//! terminal.

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
use line::{Begin, Inside, LONGEST, Lead, QUOTE, Until, begin, inside};
use style::{Ink, Paint, Style};
use table::Table;

/// A row that is longer than this is no row of a table.
const LONGEST_ROW: usize = 4_096;
/// How wide a line across the page is, where there is room.
const RULE: usize = 40;

/// A text that is shown while it comes.
#[derive(Debug)]
pub struct Markdown {
    width: usize,
    paint: Paint,
    line: Line,
    /// The block that this line may be in.
    block: Option<Block>,
    /// A paragraph of which a part waits for its next line.
    waiting: Option<Text>,
    /// A table whose rows wait for its end.
    table: Option<Table>,
    in_list: bool,
    after_blank: bool,
    after_return: bool,
}

/// Where in a line we are.
#[derive(Debug)]
enum Line {
    /// At its start, with what came of it after what leads it in.
    Start { head: String, lead: Lead },
    /// In its text.
    Text(Text),
    /// In a line of code.
    Code,
    /// In a line that is code because it is indented.
    Indented,
    /// In what may be a row of a table.
    Row { row: String, lead: Lead },
    /// After all that is shown of it.
    Over,
}

/// A text with marks in it.
#[derive(Debug)]
struct Text {
    inline: Inline,
    /// What leads in the lines after the first.
    margin: String,
    quotes: usize,
    /// Whether the next line can be part of it.
    is_paragraph: bool,
}

/// A block of code, or a formula, that goes over several lines.
#[derive(Debug)]
struct Block {
    until: Until,
    quotes: usize,
    code: Code,
    /// The line so far, of a formula.
    tail: String,
}

impl Line {
    fn start() -> Line {
        Line::Start {
            head: String::new(),
            lead: Lead::default(),
        }
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
            waiting: None,
            table: None,
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
            Line::Text(line) if !self.after_return => {
                let Some(words) = line.inline.words(text) else {
                    return 0;
                };
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
        let is_new = |head: &str, lead: &Lead| head.is_empty() && !lead.is_nested();
        if !matches!(&self.line, Line::Start { head, lead } if is_new(head, lead)) {
            self.end_line(true);
        }
        self.end_text();
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
        Some(self.paint.style())
            .filter(|style| *style != Style::PLAIN)
            .map(Style::code)
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
            Line::Text(text) => {
                let spans = text.inline.push(c);
                self.paint.write_within(&spans, &text.margin);
            }
            Line::Code => self.code(c),
            Line::Indented => self.paint.write(INDENTED, c.encode_utf8(&mut [0; 4])),
            Line::Row { row, lead } => {
                row.push(c);
                if row.len() > LONGEST_ROW {
                    let (row, lead) = (std::mem::take(row), std::mem::take(lead));
                    self.end_table();
                    self.paint.write_all(lead.spans());
                    self.text(&row, Style::PLAIN, &lead, false);
                }
            }
            Line::Over => {}
        }
    }

    fn line_end(&mut self) {
        let shows_end = self.end_line(false);
        match &mut self.block {
            // Code has states that outlast a line.
            Some(block) => {
                let spans = block.code.push('\n');
                self.paint.write_all(&spans);
                self.end_formula();
            }
            None if !shows_end => {}
            None => self.paint.write(Style::PLAIN, "\n"),
        }
        self.line = Line::start();
    }

    /// Decides what is open in this line. False if something of it waits, and its end with it.
    fn end_line(&mut self, is_last: bool) -> bool {
        if matches!(self.line, Line::Start { .. }) {
            self.decide(true);
        }
        match std::mem::replace(&mut self.line, Line::start()) {
            Line::Text(mut text) => {
                let (spans, waits) = if text.is_paragraph && !is_last {
                    text.inline.end_line()
                } else {
                    (text.inline.end(), false)
                };
                self.paint.write_within(&spans, &text.margin);
                self.waiting = waits.then_some(text);
                !waits
            }
            Line::Code => {
                let spans = self.block.as_mut().map(|block| block.code.end());
                self.paint.write_all(&spans.unwrap_or_default());
                true
            }
            Line::Row { row, lead } => {
                self.row(row, &lead);
                false
            }
            Line::Start { .. } | Line::Indented | Line::Over => true,
        }
    }
}

const INDENTED: Style = Style {
    ink: Some(Ink::Cyan),
    ..Style::PLAIN
};

/// How lines begin.
impl Markdown {
    /// Decides how the line begins, as soon as that can be done.
    fn decide(&mut self, ends: bool) {
        while let Line::Start { head, lead } = &self.line {
            if let Some(block) = self.block.as_ref().filter(|_| !lead.is_nested()) {
                match inside(head, &block.until, block.quotes, ends) {
                    None => return,
                    Some(inside) => self.go_on_in_block(inside),
                }
                continue;
            }
            let can_be_code = self.after_blank && !self.in_list && !lead.is_nested();
            if can_be_code && (head.starts_with("    ") || head.starts_with('\t')) {
                let is_blank = head.trim_start_matches([' ', '\t']).is_empty();
                if is_blank && !ends && head.len() <= LONGEST {
                    return;
                }
                if !is_blank || !ends {
                    self.indented();
                    return;
                }
            }
            let found = if lead.is_deep() {
                Some(Begin::Text)
            } else {
                begin(head, ends)
            };
            match found {
                None => return,
                Some(found) => self.begin(found),
            }
        }
    }

    /// A line that is code because of its indentation.
    fn indented(&mut self) {
        self.end_text();
        self.end_table();
        let (head, _) = self.take_start();
        self.paint.write(INDENTED, &head);
        self.line = Line::Indented;
    }

    fn take_start(&mut self) -> (String, Lead) {
        match std::mem::replace(&mut self.line, Line::Over) {
            Line::Start { head, lead } => (head, lead),
            _ => (String::new(), Lead::default()),
        }
    }

    /// The line begins so: goes on with the rest of it.
    fn begin(&mut self, found: Begin) {
        let (head, mut lead) = self.take_start();
        if !lead.is_nested() {
            let is_indented = head.starts_with([' ', '\t']);
            if !is_indented && !matches!(found, Begin::Item { .. } | Begin::Blank) {
                self.in_list = false;
            }
        }
        self.after_blank = found == Begin::Blank && !lead.is_nested();
        match found {
            Begin::Quote { indent, skip } => {
                lead.add_quote(&head[..indent]);
                self.line = Line::Start {
                    head: head[skip..].to_string(),
                    lead,
                };
            }
            Begin::Item { indent, skip } => {
                self.in_list = true;
                lead.add_item(&head[..indent], head[indent..skip].trim_end());
                self.line = Line::Start {
                    head: head[skip..].to_string(),
                    lead,
                };
            }
            Begin::Text if self.goes_on(&lead) => self.go_on(&head, &lead),
            Begin::Row => {
                self.end_text();
                self.line = Line::Row { row: head, lead };
            }
            found => {
                self.end_text();
                self.end_table();
                self.paint.write_all(lead.spans());
                self.show(found, &head, &lead);
            }
        }
    }

    /// Shows a line that begins so.
    fn show(&mut self, found: Begin, head: &str, lead: &Lead) {
        match found {
            Begin::Heading { level, skip } => {
                let style = Style {
                    bold: true,
                    underlined: level <= 2,
                    ..Style::PLAIN
                };
                self.text(&head[skip..], style, lead, false);
            }
            Begin::Fence(fence) => {
                self.paint.write(Style::FAINT, head);
                let code = Code::new(&fence.language);
                self.open(Until::Fence(fence), lead, code);
            }
            Begin::Formula(mark) => {
                self.paint.write(Style::PLAIN, head);
                self.open(Until::Mark(mark), lead, Code::new(""));
            }
            Begin::Rule => self
                .paint
                .write(Style::FAINT, &"-".repeat(RULE.min(self.width))),
            Begin::Text => self.text(head, Style::PLAIN, lead, true),
            // Of these, nothing but what leads them in is shown, or they are no end of it.
            Begin::Blank | Begin::Quote { .. } | Begin::Item { .. } | Begin::Row => {}
        }
    }

    fn text(&mut self, text: &str, style: Style, lead: &Lead, is_paragraph: bool) {
        let (margin, quotes) = (lead.margin().to_string(), lead.quotes());
        let mut line = Text {
            inline: Inline::new(style),
            margin,
            quotes,
            is_paragraph,
        };
        self.push_text(&mut line, text);
        self.line = Line::Text(line);
    }

    fn push_text(&mut self, line: &mut Text, text: &str) {
        for c in text.chars() {
            let spans = line.inline.push(c);
            self.paint.write_within(&spans, &line.margin);
        }
    }

    /// Whether a text that is led in so is part of the paragraph that waits for it.
    fn goes_on(&self, lead: &Lead) -> bool {
        self.waiting
            .as_ref()
            .is_some_and(|it| it.quotes == lead.quotes() && !lead.has_item())
    }

    fn go_on(&mut self, head: &str, lead: &Lead) {
        let Some(mut line) = self.waiting.take() else {
            return;
        };
        line.margin = lead.margin().to_string();
        self.push_text(&mut line, head);
        self.line = Line::Text(line);
    }

    /// Shows what waits of a paragraph: it is over.
    fn end_text(&mut self) {
        if let Some(mut text) = self.waiting.take() {
            let spans = text.inline.end();
            self.paint.write_within(&spans, &text.margin);
            self.paint.write(Style::PLAIN, "\n");
        }
    }
}

/// Blocks of code, and formulas.
impl Markdown {
    fn open(&mut self, until: Until, lead: &Lead, code: Code) {
        self.block = Some(Block {
            until,
            quotes: lead.quotes(),
            code,
            tail: String::new(),
        });
    }

    /// Goes on with a line that began in a block.
    fn go_on_in_block(&mut self, found: Inside) {
        let (head, lead) = self.take_start();
        let quotes = self.block.as_ref().map_or(0, |block| block.quotes);
        match found {
            Inside::Code(skip) => {
                self.paint.write(Style::FAINT, &QUOTE.repeat(quotes));
                self.line = Line::Code;
                head[skip..].chars().for_each(|c| self.code(c));
            }
            Inside::Close(skip) => {
                self.block = None;
                self.paint.write(Style::FAINT, &QUOTE.repeat(quotes));
                self.paint.write(Style::FAINT, &head[skip..]);
                self.after_blank = true;
            }
            Inside::Over => {
                self.block = None;
                self.after_blank = true;
                self.line = Line::Start { head, lead };
            }
        }
    }

    fn code(&mut self, c: char) {
        let Some(block) = &mut self.block else { return };
        if let Until::Mark(_) = block.until {
            // Of the line, only its end is of interest.
            if block.tail.len() > LONGEST {
                block.tail.clear();
            }
            block.tail.push(c);
        }
        let spans = block.code.push(c);
        self.paint.write_all(&spans);
    }

    /// The line of a formula in which its mark stands is its last.
    fn end_formula(&mut self) {
        let Some(block) = &mut self.block else { return };
        let tail = std::mem::take(&mut block.tail);
        if let Until::Mark(mark) = block.until
            && tail.trim_end().ends_with(mark)
        {
            self.block = None;
            self.after_blank = true;
        }
    }
}

/// Tables.
impl Markdown {
    /// Takes a row that is complete.
    fn row(&mut self, row: String, lead: &Lead) {
        let goes_on = self
            .table
            .as_ref()
            .is_some_and(|table| table.takes(&row, lead));
        if !goes_on {
            self.end_table();
            self.paint.write_all(lead.spans());
        }
        let table = self.table.get_or_insert_with(|| Table::new(lead));
        for line in table.push(row, self.width) {
            self.paint.write_all(&line);
        }
    }

    /// Shows what waits: no row follows.
    fn end_table(&mut self) {
        let Some(mut table) = self.table.take() else {
            return;
        };
        for line in table.end(self.width) {
            self.paint.write_all(&line);
        }
    }
}
