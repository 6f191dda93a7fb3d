//! A table, its columns as wide as what stands in them shows, and no wider than the terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::inline;
use super::style::{Span, Style};
use crate::ui::safe::safe;

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

/// The columns of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    indent: usize,
    sides: Vec<Side>,
    /// Nothing where the columns do not fit.
    widths: Option<Vec<usize>>,
}

/// Whether a row is the one below the head, which says where the columns' texts go.
pub fn is_delimiter(row: &str) -> bool {
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
    let row = row.trim();
    let (mut cells, mut cell, mut escaped) = (Vec::new(), String::new(), false);
    for c in row.strip_prefix('|').unwrap_or(row).chars() {
        match c {
            '|' if !escaped => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    if !cell.trim().is_empty() {
        cells.push(cell);
    }
    cells.iter().map(|cell| cell.trim().to_string()).collect()
}

/// The fields of a row, as they are shown.
fn cells(row: &str, style: Style) -> Vec<Vec<Span>> {
    let show = |span: Span| Span::new(span.style, safe(&span.text).replace('\t', " "));
    let cell = |cell: &String| inline::spans(cell, style).into_iter().map(show).collect();
    split(row).iter().map(cell).collect()
}

fn text(spans: &[Span]) -> String {
    spans.iter().map(|span| &*span.text).collect()
}

impl Columns {
    /// The columns of a table: its head, the row below, and some of the others.
    pub fn of(rows: &[String], width: usize) -> Columns {
        let first = rows.first().map_or("", |row| row);
        let indent = first.len() - first.trim_start_matches([' ', '\t']).len();
        let said = rows.get(1).map(|row| split(row)).unwrap_or_default();
        let mut sides: Vec<Side> = said.iter().filter_map(|cell| side(cell)).collect();
        let mut widths: Vec<usize> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let cells = if at == 1 { Vec::new() } else { cells(row, Style::PLAIN) };
            widths.resize(widths.len().max(cells.len()), 1);
            for (width, cell) in widths.iter_mut().zip(&cells) {
                *width = (*width).max(text(cell).width());
            }
        }
        sides.resize(widths.len(), Side::Left);
        let room = width.saturating_sub(indent + BETWEEN.len() * widths.len().saturating_sub(1));
        Columns { indent, sides, widths: shrink(widths, room) }
    }

    /// Makes room for one more row, where there is any.
    pub fn widen(&mut self, row: &str, width: usize) {
        let Some(widths) = &mut self.widths else { return };
        let between = BETWEEN.len() * widths.len().saturating_sub(1);
        let mut room = width.saturating_sub(self.indent + between + widths.iter().sum::<usize>());
        for (width, cell) in widths.iter_mut().zip(cells(row, Style::PLAIN)) {
            let more = text(&cell).width().saturating_sub(*width).min(room);
            *width += more;
            room -= more;
        }
    }

    /// The lines of a row.
    pub fn row(&self, row: &str, style: Style) -> Vec<Vec<Span>> {
        let mut cells = cells(row, style);
        let Some(widths) = &self.widths else {
            return vec![self.joined(&cells)];
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
        let wrapped: Vec<Vec<Vec<Span>>> =
            cells.iter().zip(widths).map(|(cell, width)| wrap(cell, *width)).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
        (0..height).map(|at| self.line(&wrapped, widths, at)).collect()
    }

    /// The line below the head.
    pub fn delimiter(&self) -> Vec<Span> {
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
    let mut sum: usize = widths.iter().sum();
    while sum > room {
        let widest = widths.iter_mut().max().filter(|width| **width > NARROWEST)?;
        *widest -= 1;
        sum -= 1;
    }
    Some(widths)
}

/// The lines of a field that is this wide: broken at blanks, or anywhere in a script without them.
fn wrap(cell: &[Span], width: usize) -> Vec<Vec<Span>> {
    // Several characters may be one sign, such as a picture of two people.
    if text(cell).width() <= width {
        return vec![cell.to_vec()];
    }
    let all: Vec<(char, Style)> =
        cell.iter().flat_map(|span| span.text.chars().map(|c| (c, span.style))).collect();
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
