//! Text for a terminal: escapes control, bidi and invisible characters, and aligns rows in columns in any script.
//!
//! Every text from a file, a model or a provider passes through here before it reaches a terminal. Otherwise it could
//! move the cursor, hide itself or reorder what stands around it.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Escapes text for one line of a terminal.
/// Tabs stay. A line end becomes `␊`, so the result is always one line.
pub fn escape_line(text: &str) -> String {
    escape_lines(text).replace('\n', "␊")
}

/// Escapes text for a terminal, and keeps its lines.
/// A harmful character appears as its code point, such as `<U+001B>`.
pub fn escape_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_invisible(c) => {
                out.push_str(&format!("<U+{:04X}>", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// The same JSON, with everything escaped that a terminal would obey or hide. Such characters occur only in strings,
/// where an escape means the same.
/// Escapes more than [`escape_lines`], for example joiners, since a reader of JSON gets the same text back anyway.
pub fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        let is_harmful =
            matches!(c, '\u{7f}'..='\u{9f}' | '\u{200c}' | '\u{200d}') || is_invisible(c);
        if is_harmful {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a character is invisible or changes how others are shown: bidi controls, zero width, tags. The joiners that
/// emoji and Indic scripts need do not count.
/// This list decides what can be hidden in an answer, so add to it rather than take away.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The beginning of a text that fits into this width, with an ellipsis if it is cut.
/// Widths are in columns: a Chinese character takes two. With a width of 0 nothing is left.
pub fn fit_start(text: String, width: usize) -> String {
    if text.width() <= width {
        return text;
    }
    let end = count_fitting(text.chars(), width.saturating_sub(1));
    let kept: String = text.chars().take(end).collect();
    if width == 0 { kept } else { kept + "…" }
}

/// How many of these characters fit into this width.
/// A character of no width, such as an accent, always fits.
pub fn count_fitting(chars: impl Iterator<Item = char>, width: usize) -> usize {
    let columns = chars.scan(0, |used, c| {
        *used += c.width().unwrap_or(0);
        Some(*used)
    });
    columns.take_while(|used| *used <= width).count()
}

/// The largest width of a column. A longer cell sticks out and does not widen its column.
/// So one long name does not push the other columns out of sight.
const MAX_COLUMN_WIDTH: usize = 32;

/// Aligns rows in columns and escapes them. The last cell of a row may have any length; with a width, rows are cut to
/// it. A column whose cells are all empty takes no room.
/// Columns are two blanks apart. Trailing blanks are not printed.
pub fn align_rows<const N: usize>(rows: Vec<[String; N]>, width: Option<usize>) -> Vec<String> {
    let rows: Vec<[RowCell; N]> = rows.into_iter().map(|row| row.map(RowCell::new)).collect();
    let widths = column_widths(&rows);
    rows.into_iter()
        .map(|row| {
            let line = align_row(&row, widths);
            match width {
                Some(width) => fit_start(line, width),
                None => line,
            }
        })
        .collect()
}

/// The widths of all columns but the last, which stays 0.
fn column_widths<const N: usize>(rows: &[[RowCell; N]]) -> [usize; N] {
    let mut widths = [0; N];
    for row in rows {
        for (column, cell) in row.iter().enumerate().take(N.saturating_sub(1)) {
            widths[column] = cell.width.min(MAX_COLUMN_WIDTH).max(widths[column]);
        }
    }
    widths
}

/// One row, with two blanks after each cell but the last.
fn align_row<const N: usize>(row: &[RowCell; N], widths: [usize; N]) -> String {
    let mut line = String::new();
    for (cell, column) in row.iter().zip(widths) {
        if column > 0 {
            line.push_str(&cell.text);
            let padding = column.saturating_sub(cell.width) + 2;
            line.extend(std::iter::repeat_n(' ', padding));
        }
    }
    if let Some(last) = row.last() {
        line.push_str(&last.text);
    }
    let end = line.trim_end_matches(' ').len();
    line.truncate(end);
    line
}

/// The escaped text of a cell, and the columns that it takes.
/// Computed once, because measuring text is slow.
struct RowCell {
    text: String,
    width: usize,
}

impl RowCell {
    /// Text in plain ASCII needs neither escaping nor measuring.
    fn new(text: String) -> RowCell {
        // Nearly every cell is such a text.
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return RowCell {
                width: text.len(),
                text,
            };
        }
        // A row is one line, and a tab in it takes one column.
        let text = escape_line(&text).replace('\t', " ");
        RowCell {
            width: text.width(),
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    //! Escapes, and columns that stay aligned whatever is in them.

    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_as_an_escape_code() {
        assert_eq!(
            escape_line("a\u{1b}[31mb\r\u{9b}c"),
            "a<U+001B>[31mb<U+000D><U+009B>c"
        );
        assert_eq!(escape_line("x\u{202e}y\u{e0041}"), "x<U+202E>y<U+E0041>");
        assert_eq!(escape_line("one\ntwo"), "one␊two");
        assert_eq!(
            escape_lines("one\n\ttwo 你好 👩\u{200d}💻"),
            "one\n\ttwo 你好 👩\u{200d}💻"
        );
    }

    #[test]
    fn escaped_json_means_the_same() {
        let every = (0..=u32::from(char::MAX))
            .filter_map(char::from_u32)
            .collect::<String>();
        let json = serde_json::to_string(&every).unwrap();
        let escaped = escape_json(&json);
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), every);
        assert!(!escaped.chars().any(|c| c.is_control() || is_invisible(c)));
        assert_eq!(
            escape_json("\"\u{9b}\u{e0041}你\""),
            "\"\\u009b\\udb40\\udc41你\""
        );
    }

    fn rows(texts: &[[&str; 3]]) -> Vec<[String; 3]> {
        texts.iter().map(|row| row.map(str::to_string)).collect()
    }

    #[test]
    fn columns_are_aligned_in_any_script() {
        let rows = rows(&[
            ["1", "user", "hi"],
            ["论语", "reply", "学\tx\u{1b}"],
            ["x", "", ""],
        ]);
        let expected = ["1     user   hi", "论语  reply  学 x<U+001B>", "x"];
        assert_eq!(align_rows(rows, None), expected);
    }

    #[test]
    fn rows_are_cut_to_the_terminal() {
        let rows = rows(&[["1", "user", "one two three"], ["22", "user", "学而时习之"]]);
        assert_eq!(
            align_rows(rows, Some(14)),
            ["1   user  one…", "22  user  学…"]
        );
    }

    #[test]
    fn an_empty_column_takes_no_room() {
        assert_eq!(
            align_rows(rows(&[["a", "", "b"], ["c", "", "d"]]), None),
            ["a  b", "c  d"]
        );
    }

    #[test]
    fn one_long_cell_does_not_widen_its_column() {
        let long = "x".repeat(50);
        let found = align_rows(rows(&[[&long, "user", "a"], ["1", "user", "b"]]), None);
        assert_eq!(found[1], format!("1{}user  b", " ".repeat(33)));
        assert_eq!(found[0], format!("{long}  user  a"));
    }
}
