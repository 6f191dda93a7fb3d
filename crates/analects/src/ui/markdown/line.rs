//! How a line of Markdown begins, decided from as few characters as it takes; and what leads it in: the marks of
//! quotes and of items, one after the other. These wait until it is known what the line is, since a row of a table
//! has to know of them.

use unicode_width::UnicodeWidthStr;

use super::style::{Ink, Span, Style};

/// What a line begins with. Numbers count bytes of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begin {
    Blank,
    /// A heading; its text starts after `skip`.
    Heading {
        level: usize,
        skip: usize,
    },
    /// The opening line of a code block, all of it.
    Fence(Fence),
    /// The opening line of a formula, all of it, and what closes it.
    Formula(&'static str),
    /// A line across the page.
    Rule,
    /// A quoted line; what is quoted starts after `skip`, its mark at `indent`.
    Quote {
        indent: usize,
        skip: usize,
    },
    /// An item of a list; its text starts after `skip`, its mark at `indent`.
    Item {
        indent: usize,
        skip: usize,
    },
    /// What may be a row of a table.
    Row,
    Text,
}

/// The opening line of a code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    pub mark: char,
    pub length: usize,
    pub language: String,
}

/// No line is undecided for longer than this.
pub const LONGEST: usize = 300;

/// What the line begins with; nothing while that is open. `ends` says that the line is complete.
pub fn begin(line: &str, ends: bool) -> Option<Begin> {
    if line.len() > LONGEST {
        return Some(Begin::Text);
    }
    let body = line.trim_start_matches([' ', '\t']);
    let indent = line.len() - body.len();
    match body.chars().next() {
        None => ends.then_some(Begin::Blank),
        Some('#') => heading(body, indent, ends),
        Some(mark @ ('`' | '~')) => fence(body, mark, ends),
        Some('>') => quote(body, indent, ends),
        Some('|') => Some(Begin::Row),
        Some(mark @ ('-' | '*' | '_' | '+')) => rule_or_item(body, mark, indent, ends),
        Some('0'..='9') => numbered_item(body, indent, ends),
        Some('$') => formula(body, "$$", "$$", ends),
        Some('\\') => formula(body, "\\[", "\\]", ends),
        Some(_) => Some(Begin::Text),
    }
}

fn heading(body: &str, indent: usize, ends: bool) -> Option<Begin> {
    let level = body.bytes().take_while(|byte| *byte == b'#').count();
    match body[level..].chars().next() {
        _ if level > 6 => Some(Begin::Text),
        None if !ends => None,
        None => Some(Begin::Heading {
            level,
            skip: indent + level,
        }),
        Some(' ' | '\t') => Some(Begin::Heading {
            level,
            skip: indent + level + 1,
        }),
        Some(_) => Some(Begin::Text),
    }
}

fn fence(body: &str, mark: char, ends: bool) -> Option<Begin> {
    let length = body.chars().take_while(|c| *c == mark).count();
    let info = &body[length..];
    if length < 3 {
        return (ends || !info.is_empty()).then_some(Begin::Text);
    }
    if mark == '`' && info.contains('`') {
        return Some(Begin::Text);
    }
    let language = info
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_string();
    ends.then_some(Begin::Fence(Fence {
        mark,
        length,
        language,
    }))
}

/// A formula that goes over several lines.
fn formula(body: &str, open: &str, close: &'static str, ends: bool) -> Option<Begin> {
    match body.strip_prefix(open) {
        Some(rest) if rest.contains(close) => Some(Begin::Text),
        Some(_) => ends.then_some(Begin::Formula(close)),
        None if open.starts_with(body) && !ends => None,
        None => Some(Begin::Text),
    }
}

fn quote(body: &str, indent: usize, ends: bool) -> Option<Begin> {
    match body[1..].chars().next() {
        None if !ends => None,
        Some(' ') => Some(Begin::Quote {
            indent,
            skip: indent + 2,
        }),
        _ => Some(Begin::Quote {
            indent,
            skip: indent + 1,
        }),
    }
}

fn rule_or_item(body: &str, mark: char, indent: usize, ends: bool) -> Option<Begin> {
    let is_rule_so_far = body.chars().all(|c| c == mark || c == ' ' || c == '\t');
    let marks = body.chars().filter(|c| *c == mark).count();
    let can_be_item = mark != '_';
    match body[1..].chars().next() {
        _ if is_rule_so_far && !ends => None,
        _ if is_rule_so_far && marks >= 3 && mark != '+' => Some(Begin::Rule),
        Some(' ' | '\t') if can_be_item => Some(Begin::Item {
            indent,
            skip: indent + 2,
        }),
        None if can_be_item => Some(Begin::Item {
            indent,
            skip: indent + 1,
        }),
        _ => Some(Begin::Text),
    }
}

fn numbered_item(body: &str, indent: usize, ends: bool) -> Option<Begin> {
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = body[digits..].chars();
    match (rest.next(), rest.next()) {
        _ if digits > 9 => Some(Begin::Text),
        (None, _) | (Some('.' | ')'), None) => ends.then_some(Begin::Text),
        (Some('.' | ')'), Some(' ' | '\t')) => Some(Begin::Item {
            indent,
            skip: indent + digits + 2,
        }),
        _ => Some(Begin::Text),
    }
}

/// What a line inside a block of code, or of a formula, is. Numbers count its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// Part of it, after so many bytes of quote marks.
    Code(usize),
    /// The end of the block, after as many.
    Close(usize),
    /// What the block stands in is over, and the block with it.
    Over,
}

/// What ends a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Until {
    Fence(Fence),
    /// A line with this mark, or one with nothing.
    Mark(&'static str),
}

/// What a line is that stands in a block, which stands in so many quotes.
pub fn inside(line: &str, until: &Until, quotes: usize, ends: bool) -> Option<Inside> {
    let Some(skip) = quoted(line, quotes, ends)? else {
        return Some(Inside::Over);
    };
    let body = line[skip..].trim_start_matches([' ', '\t']);
    let is_decided = line.len() > LONGEST;
    match until {
        Until::Mark(_) if body.is_empty() && !is_decided => ends.then_some(Inside::Over),
        Until::Mark(_) => Some(Inside::Code(skip)),
        Until::Fence(fence) => {
            let marks = body.chars().take_while(|c| *c == fence.mark).count();
            let is_mark_so_far = body[marks..].trim_start_matches([' ', '\t']).is_empty();
            match ends {
                _ if !is_mark_so_far || is_decided => Some(Inside::Code(skip)),
                true if marks >= fence.length => Some(Inside::Close(skip)),
                true => Some(Inside::Code(skip)),
                false => None,
            }
        }
    }
}

/// How many bytes the marks of so many quotes take; inside, nothing if there are fewer. Nothing while that
/// is open.
fn quoted(line: &str, quotes: usize, ends: bool) -> Option<Option<usize>> {
    let mut rest = line;
    for _ in 0..quotes {
        let body = rest.trim_start_matches(' ');
        match body.strip_prefix('>') {
            Some(quoted) => rest = quoted,
            None if body.is_empty() && !ends && line.len() <= LONGEST => return None,
            None => return Some(None),
        }
    }
    if quotes > 0 {
        if rest.is_empty() && !ends {
            return None;
        }
        rest = rest.strip_prefix(' ').unwrap_or(rest);
    }
    Some(Some(line.len() - rest.len()))
}

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
        let mark = if matches!(mark, "-" | "*" | "+") {
            "•"
        } else {
            mark
        };
        self.spans.push(Span::new(Style::of_ink(Ink::Yellow), mark));
        self.spans.push(Span::new(Style::PLAIN, " "));
        self.margin
            .extend(std::iter::repeat_n(' ', mark.width() + 1));
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
