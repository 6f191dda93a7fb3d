//! A table: its columns as wide as their text, and no wider together than the terminal. Where they do not fit, each
//! row becomes a list of fields with the names of their columns.
//!
//! The layout goes from the best to the last resort: every column as wide as its widest cell, then the widest columns
//! narrowed with their text wrapped, then a list of fields.

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr;

use super::style::{Style, StyledLine, StyledText, plain_text};
use super::wrap::{split_lines, wrapped};

/// Stands between columns. It is ASCII, since fonts for Chinese disagree about the width of lines for boxes.
const SEPARATOR: &str = " | ";

/// No column is made narrower than this.
/// Narrower columns would break nearly every word.
const NARROWEST: usize = 6;

/// The further lines of a field are indented by this.
const FIELD_INDENT: usize = 2;

/// The text of a cell.
pub type Cell = Vec<StyledText>;

/// A table, whole.
/// Rows may have fewer cells than there are columns; the rest is empty.
#[derive(Debug, Default)]
pub struct Table {
    /// One for each column.
    pub alignments: Vec<Alignment>,
    /// The head is the first row.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The lines of the table on a terminal with so many columns.
    pub fn lines(&self, width: usize) -> Vec<StyledLine> {
        match self.column_widths(width) {
            Some(widths) => self.grid(&widths),
            None => self.records(width),
        }
    }

    /// The widths of the columns; `None` if they do not fit.
    fn column_widths(&self, width: usize) -> Option<Vec<usize>> {
        let count = self.alignments.len();
        let mut widths = vec![1; count];
        for row in &self.rows {
            for (column, cell) in widths.iter_mut().zip(row) {
                *column = (*column).max(widest_line(cell));
            }
        }
        let room = width.checked_sub(SEPARATOR.len() * count.saturating_sub(1))?;
        shrunk(widths, room)
    }

    /// The head, a line below it, and the other rows.
    fn grid(&self, widths: &[usize]) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            lines.extend(self.grid_row(row, widths));
            if at == 0 {
                let dashes: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                lines.push(vec![StyledText::new(Style::FAINT, dashes.join("-+-"))]);
            }
        }
        lines
    }

    /// A row takes as many lines as its highest cell.
    fn grid_row(&self, row: &[Cell], widths: &[usize]) -> Vec<StyledLine> {
        let mut cells: Vec<Vec<StyledLine>> = Vec::new();
        for (at, width) in widths.iter().enumerate() {
            let cell = row.get(at).map(Vec::as_slice).unwrap_or_default();
            cells.push(wrapped(cell, *width));
        }
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let mut lines = Vec::new();
        for at in 0..height {
            let mut line = Vec::new();
            for (column, cell) in cells.iter().enumerate() {
                if column > 0 {
                    line.push(StyledText::new(Style::FAINT, SEPARATOR));
                }
                let text = cell.get(at).cloned().unwrap_or_default();
                line.extend(aligned(text, widths[column], self.alignments[column]));
            }
            lines.push(line);
        }
        lines
    }

    /// Each row as lines of the form `name: text`. A table of a head alone has just its names.
    fn records(&self, width: usize) -> Vec<StyledLine> {
        let Some((names, rows)) = self.rows.split_first() else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        for row in rows {
            lines.push(vec![StyledText::new(Style::FAINT, "---")]);
            for (at, cell) in row.iter().enumerate() {
                let name = names
                    .get(at)
                    .map(|name| plain_text(name))
                    .unwrap_or_default();
                lines.extend(field(&name.replace('\n', " "), cell, width));
            }
        }
        if rows.is_empty() {
            let head: Vec<StyledLine> =
                names.iter().flat_map(|name| wrapped(name, width)).collect();
            lines.extend(head);
        }
        lines
    }
}

/// One field of a row, with a hanging indent.
fn field(name: &str, cell: &[StyledText], width: usize) -> Vec<StyledLine> {
    let mut text = Vec::new();
    if !name.is_empty() {
        text.push(StyledText::new(Style::BOLD, format!("{name}: ")));
    }
    text.extend_from_slice(cell);
    let mut lines = wrapped(&text, width.saturating_sub(FIELD_INDENT));
    for line in lines.iter_mut().skip(1) {
        line.insert(0, StyledText::new(Style::PLAIN, " ".repeat(FIELD_INDENT)));
    }
    lines
}

/// How many columns the widest line of a cell takes.
fn widest_line(cell: &[StyledText]) -> usize {
    split_lines(cell)
        .iter()
        .map(|line| plain_text(line).width())
        .max()
        .unwrap_or(0)
}

/// Makes the widest columns narrower until all fit; `None` if they cannot.
/// Takes one column away at a time, always from the widest, so that columns come out even.
fn shrunk(mut widths: Vec<usize>, room: usize) -> Option<Vec<usize>> {
    let narrowest: usize = widths.iter().map(|width| (*width).min(NARROWEST)).sum();
    if narrowest > room {
        return None;
    }
    let mut sum: usize = widths.iter().sum();
    while sum > room {
        let widest = widths.iter_mut().max()?;
        *widest -= 1;
        sum -= 1;
    }
    Some(widths)
}

/// A line of a cell with the blanks that its column needs.
/// Also fills up on the right, so that the next separator is in its place.
fn aligned(mut text: StyledLine, width: usize, alignment: Alignment) -> StyledLine {
    let free = width.saturating_sub(plain_text(&text).width());
    let before = match alignment {
        Alignment::None | Alignment::Left => 0,
        Alignment::Center => free / 2,
        Alignment::Right => free,
    };
    text.insert(0, StyledText::new(Style::PLAIN, " ".repeat(before)));
    text.push(StyledText::new(Style::PLAIN, " ".repeat(free - before)));
    text
}
