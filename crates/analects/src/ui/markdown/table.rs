//! A table, its columns as wide as what stands in them shows, and no wider than the terminal. Where they do
//! not fit, each row is shown as lines with the names of its columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::inline;
use super::line::Lead;
use super::style::{Span, Style};
use crate::ui::text::safe;

/// A table that is longer than this is shown by what its first rows need.
const MOST_ROWS: usize = 60;
/// A row with more fields than this gets no line for each of them.
const MOST_FIELDS: usize = 40;
/// A name of a column that is wider than this, or than half of the terminal, stands above its field, not before it.
const WIDEST_NAME: usize = 20;
/// What stands before a field below its name.
const BELOW_NAME: &str = "  ";

/// What stands between columns: signs of ASCII, since the width of lines for boxes differs between
/// terminals for Chinese and others.
const BETWEEN: &str = " | ";
/// A column is made no narrower than this.
const NARROWEST: usize = 6;

/// Where a column's text goes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
    Middle,
}

/// A table while it comes.
#[derive(Debug)]
pub struct Table {
    /// Rows that wait for the others.
    rows: Vec<String>,
    /// Where a part was shown.
    columns: Option<Columns>,
    quotes: usize,
    /// What stands before every line but the first, which has its lead.
    margin: String,
    has_first: bool,
}

/// A line as it is shown, with its end.
type Shown = Vec<Span>;

impl Table {
    /// A table whose first row is led in so.
    pub fn new(lead: &Lead) -> Table {
        let (quotes, margin) = (lead.quotes(), lead.margin().to_string());
        Table {
            rows: Vec::new(),
            columns: None,
            quotes,
            margin,
            has_first: false,
        }
    }

    /// Whether a row that is led in so is part of it. A row without one below that says that this is a
    /// table is a line like any other.
    pub fn takes(&self, row: &str, lead: &Lead) -> bool {
        let is_here = lead.quotes() == self.quotes && !lead.has_item();
        is_here && (self.columns.is_some() || self.rows.len() > 1 || is_delimiter(row))
    }

    /// Takes a row, and gives what can be shown.
    pub fn push(&mut self, row: String, width: usize) -> Vec<Shown> {
        if let Some(mut columns) = self.columns.take() {
            columns.widen(&row, self.room(width));
            let lines = columns.row(&row, Style::PLAIN);
            self.columns = Some(columns);
            return self.with_margin(lines);
        }
        self.rows.push(row);
        if self.rows.len() < MOST_ROWS {
            Vec::new()
        } else {
            self.show(width)
        }
    }

    /// Gives what is left: no row follows.
    pub fn end(&mut self, width: usize) -> Vec<Shown> {
        match &self.rows[..] {
            [] => Vec::new(),
            [row] => {
                let line = inline::spans(row, Style::PLAIN);
                self.with_margin(vec![line])
            }
            _ => self.show(width),
        }
    }

    fn show(&mut self, width: usize) -> Vec<Shown> {
        let rows = std::mem::take(&mut self.rows);
        let columns = Columns::of(&rows, self.room(width));
        let mut lines = columns.head(&rows);
        rows.iter()
            .skip(2)
            .for_each(|row| lines.extend(columns.row(row, Style::PLAIN)));
        self.columns = Some(columns);
        self.with_margin(lines)
    }

    fn room(&self, width: usize) -> usize {
        width.saturating_sub(self.margin.width())
    }

    fn with_margin(&mut self, lines: Vec<Vec<Span>>) -> Vec<Shown> {
        let mut shown = Vec::new();
        for mut line in lines {
            if std::mem::replace(&mut self.has_first, true) {
                line.insert(0, Span::new(Style::FAINT, &*self.margin));
            }
            line.push(Span::new(Style::PLAIN, "\n"));
            shown.push(line);
        }
        shown
    }
}

/// The columns of a table.
#[derive(Debug, Clone, PartialEq)]
struct Columns {
    indent: usize,
    sides: Vec<Side>,
    /// How many there are by the line below the head.
    count: usize,
    /// Nothing where the columns do not fit.
    widths: Option<Vec<usize>>,
    /// What stands in the head, for columns that do not fit.
    names: Vec<String>,
    /// How wide a line may be.
    width: usize,
}

/// Whether a row is the one below the head, which says where the columns' texts go.
fn is_delimiter(row: &str) -> bool {
    let cells = split(row);
    !cells.is_empty() && cells.iter().all(|cell| side(cell).is_some())
}

fn side(cell: &str) -> Option<Side> {
    let (left, right) = (cell.starts_with(':'), cell.ends_with(':'));
    let dashes = cell.strip_prefix(':').unwrap_or(cell);
    let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
    let is_delimiter = !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-');
    is_delimiter.then_some(match (left, right) {
        (true, true) => Side::Middle,
        (false, true) => Side::Right,
        _ => Side::Left,
    })
}

/// The fields of a row, without the blanks around them.
fn split(row: &str) -> Vec<String> {
    split_at(row, |_| 0)
}

/// The fields of a row of a table with so many columns. By the rules a bar in code parts fields, too; but if
/// there are too many, that is not what was meant.
fn split_into(row: &str, count: usize) -> Vec<String> {
    let cells = split(row);
    if cells.len() <= count {
        return cells;
    }
    let meant = split_at(row, inline::code_length);
    if meant.len() == count { meant } else { cells }
}

/// The fields of a row, with what must not be taken apart at the start of a text.
fn split_at(row: &str, whole: impl Fn(&str) -> usize) -> Vec<String> {
    let row = row.trim();
    let mut rest = row.strip_prefix('|').unwrap_or(row);
    let (mut cells, mut cell) = (Vec::new(), String::new());
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '`' => whole(rest).max(1),
            c => c.len_utf8(),
        };
        match c {
            '|' => cells.push(std::mem::take(&mut cell)),
            _ => cell.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    if !cell.trim().is_empty() {
        cells.push(cell);
    }
    cells.iter().map(|cell| cell.trim().to_string()).collect()
}

/// The fields of a row, as they are shown. What has breaks in it has several lines.
fn cells(row: &str, count: usize, style: Style) -> Vec<Vec<Span>> {
    let show = |span: Span| {
        let lines: Vec<String> = span.text.split('\n').map(safe).collect();
        Span::new(span.style, lines.join("\n").replace('\t', " "))
    };
    let cell = |cell: &String| inline::spans(cell, style).into_iter().map(show).collect();
    split_into(row, count).iter().map(cell).collect()
}

fn text(spans: &[Span]) -> String {
    spans.iter().map(|span| &*span.text).collect()
}

/// How many columns the widest line of a field takes.
fn widest(spans: &[Span]) -> usize {
    text(spans)
        .split('\n')
        .map(UnicodeWidthStr::width)
        .max()
        .unwrap_or(0)
}

impl Columns {
    /// The columns of a table: its head, the row below, and some of the others.
    fn of(rows: &[String], width: usize) -> Columns {
        let first = rows.first().map_or("", |row| row);
        let indent = first.len() - first.trim_start_matches([' ', '\t']).len();
        let said = rows.get(1).map(|row| split(row)).unwrap_or_default();
        let mut sides: Vec<Side> = said.iter().filter_map(|cell| side(cell)).collect();
        let count = sides.len();
        let mut widths: Vec<usize> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let cells = if at == 1 {
                Vec::new()
            } else {
                cells(row, count, Style::PLAIN)
            };
            widths.resize(widths.len().max(cells.len()), 1);
            for (width, cell) in widths.iter_mut().zip(&cells) {
                *width = (*width).max(widest(cell));
            }
        }
        sides.resize(widths.len(), Side::Left);
        let room = width.saturating_sub(indent + BETWEEN.len() * widths.len().saturating_sub(1));
        let names = cells(first, count, Style::PLAIN);
        let names = names
            .iter()
            .map(|name| text(name).replace('\n', " "))
            .collect();
        let (widths, width) = (shrink(widths, room), width.saturating_sub(indent));
        Columns {
            indent,
            sides,
            count,
            widths,
            names,
            width,
        }
    }

    /// The head, and the line below it. Where the columns do not fit, their names stand with the fields, and
    /// the head is shown only if there are none.
    fn head(&self, rows: &[String]) -> Vec<Vec<Span>> {
        let head = Style {
            bold: true,
            ..Style::PLAIN
        };
        let first = rows.first().map_or("", |row| row);
        if self.widths.is_some() {
            return [self.row(first, head), vec![self.delimiter()]].concat();
        }
        let cells = cells(first, self.count, head);
        let has_fields = rows.len() > 2 && cells.len() <= MOST_FIELDS;
        if has_fields {
            Vec::new()
        } else {
            vec![self.joined(&cells)]
        }
    }

    /// Makes room for one more row, where there is any.
    fn widen(&mut self, row: &str, width: usize) {
        let Some(widths) = &mut self.widths else {
            return;
        };
        let between = BETWEEN.len() * widths.len().saturating_sub(1);
        let mut room = width.saturating_sub(self.indent + between + widths.iter().sum::<usize>());
        for (width, cell) in widths.iter_mut().zip(cells(row, self.count, Style::PLAIN)) {
            let more = widest(&cell).saturating_sub(*width).min(room);
            *width += more;
            room -= more;
        }
    }

    /// The lines of a row.
    fn row(&self, row: &str, style: Style) -> Vec<Vec<Span>> {
        let mut cells = cells(row, self.count, style);
        let Some(widths) = &self.widths else {
            let is_readable = cells.len() <= MOST_FIELDS;
            return if is_readable {
                self.record(&cells)
            } else {
                vec![self.joined(&cells)]
            };
        };
        let between = Span::new(style, BETWEEN);
        // What has no column of its own stands in the last one.
        while cells.len() > widths.len() && cells.len() > 1 {
            let more = cells.pop().unwrap_or_default();
            if let Some(last) = cells.last_mut() {
                last.extend([between.clone()].into_iter().chain(more));
            }
        }
        cells.resize(widths.len(), Vec::new());
        let wrapped: Vec<Vec<Vec<Span>>> = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| wrap_lines(cell, *width))
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
        (0..height)
            .map(|at| self.line(&wrapped, widths, at))
            .collect()
    }

    /// A row as lines of fields, each with the name of its column.
    fn record(&self, cells: &[Vec<Span>]) -> Vec<Vec<Span>> {
        let mut lines = vec![self.delimiter()];
        for (at, cell) in cells.iter().enumerate() {
            let name = self.names.get(at).map_or("", |name| name);
            let is_above = name.width() > WIDEST_NAME.min(self.width / 2);
            let before = if is_above || name.is_empty() {
                ""
            } else {
                &format!("{name}: ")
            };
            if is_above {
                let name = [Span::new(BOLD, format!("{name}:"))];
                lines.extend(
                    wrap(&name, self.width)
                        .into_iter()
                        .map(|line| self.led(line)),
                );
            }
            for (at, mut part) in broken(cell).into_iter().enumerate() {
                match is_above {
                    true => part.insert(0, Span::new(Style::PLAIN, BELOW_NAME)),
                    false if at == 0 => part.insert(0, Span::new(BOLD, before)),
                    false => {}
                }
                lines.push(self.led(part));
            }
        }
        lines
    }

    fn led(&self, mut line: Vec<Span>) -> Vec<Span> {
        line.insert(0, self.margin());
        line
    }

    /// The line below the head, or above a row that is shown field by field.
    fn delimiter(&self) -> Vec<Span> {
        let widths = self.widths.as_deref().unwrap_or(&[3]);
        let dashes: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        vec![self.margin(), Span::new(Style::FAINT, dashes.join("-+-"))]
    }

    fn margin(&self) -> Span {
        Span::new(Style::PLAIN, " ".repeat(self.indent))
    }

    fn joined(&self, cells: &[Vec<Span>]) -> Vec<Span> {
        let between = Span::new(Style::FAINT, BETWEEN);
        let mut line = vec![self.margin()];
        line.extend(cells.join(&between));
        line
    }

    fn line(&self, wrapped: &[Vec<Vec<Span>>], widths: &[usize], at: usize) -> Vec<Span> {
        let last = wrapped.len().saturating_sub(1);
        let field = |(column, lines): (usize, &Vec<Vec<Span>>)| {
            let cell = lines.get(at).cloned().unwrap_or_default();
            let free = widths[column].saturating_sub(text(&cell).width());
            let before = match self.sides[column] {
                Side::Left => 0,
                Side::Right => free,
                Side::Middle => free / 2,
            };
            let after = if column == last { 0 } else { free - before };
            let blank = |count: usize| Span::new(Style::PLAIN, " ".repeat(count));
            [vec![blank(before)], cell, vec![blank(after)]].concat()
        };
        let fields: Vec<Vec<Span>> = wrapped.iter().enumerate().map(field).collect();
        self.joined(&fields)
    }
}

/// Makes the widest columns narrower until all fit; nothing if they cannot.
fn shrink(mut widths: Vec<usize>, room: usize) -> Option<Vec<usize>> {
    let narrow: usize = widths.iter().map(|width| (*width).min(NARROWEST)).sum();
    if narrow > room {
        return None;
    }
    let mut sum: usize = widths.iter().sum();
    while sum > room {
        let widest = widths
            .iter_mut()
            .max()
            .filter(|width| **width > NARROWEST)?;
        *widest -= 1;
        sum -= 1;
    }
    Some(widths)
}

const BOLD: Style = Style {
    bold: true,
    ..Style::PLAIN
};

/// A field, cut where it has breaks.
fn broken(cell: &[Span]) -> Vec<Vec<Span>> {
    let mut lines = vec![Vec::new()];
    for span in cell {
        for (at, part) in span.text.split('\n').enumerate() {
            if at > 0 {
                lines.push(Vec::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push(Span::new(span.style, part));
            }
        }
    }
    lines
}

/// The lines of a field that is this wide.
fn wrap_lines(cell: &[Span], width: usize) -> Vec<Vec<Span>> {
    broken(cell)
        .iter()
        .flat_map(|line| wrap(line, width))
        .collect()
}

/// The lines of a text that is this wide: broken at blanks, or anywhere in a script without them.
fn wrap(cell: &[Span], width: usize) -> Vec<Vec<Span>> {
    // Several characters may be one sign, such as a picture of two people.
    if text(cell).width() <= width {
        return vec![cell.to_vec()];
    }
    let all: Vec<(char, Style)> = cell
        .iter()
        .flat_map(|span| span.text.chars().map(|c| (c, span.style)))
        .collect();
    let (mut lines, mut start, mut at, mut taken, mut blank) = (Vec::new(), 0, 0, 0, None);
    while at < all.len() {
        let columns = all[at].0.width().unwrap_or(0);
        if taken + columns > width && at > start {
            let (end, next) = match blank.filter(|_| all[at].0 != ' ') {
                Some(blank) => (blank, blank + 1),
                None if all[at].0 == ' ' => (at, at + 1),
                None => (at, at),
            };
            lines.push(merge(&all[start..end]));
            (start, at, taken, blank) = (next, next, 0, None);
            continue;
        }
        if all[at].0 == ' ' && at > start {
            blank = Some(at);
        }
        taken += columns;
        at += 1;
    }
    lines.push(merge(&all[start..]));
    lines
}

/// Characters as pieces of text that look alike.
fn merge(chars: &[(char, Style)]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (c, style) in chars {
        match spans.last_mut().filter(|span| span.style == *style) {
            Some(span) => span.text.push(*c),
            None => spans.push(Span::new(*style, *c)),
        }
    }
    spans
}
