//! Rows for people: columns that stand below each other, in any script, each row on one line.

use unicode_width::UnicodeWidthStr;

use super::diagnostic::first_columns;
use super::safe::safe;

/// A longer entry does not widen its column.
const WIDEST: usize = 32;

/// Lines of rows whose last entry is text of any length; cut to a terminal's width if there is one.
pub fn lines<const N: usize>(rows: Vec<[String; N]>, width: Option<usize>) -> Vec<String> {
    let rows: Vec<[Entry; N]> = rows.into_iter().map(|row| row.map(Entry::new)).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (column, entry) in row.iter().enumerate().take(N.saturating_sub(1)) {
            widths[column] = entry.width.min(WIDEST).max(widths[column]);
        }
    }
    let line = |row: [Entry; N]| {
        let mut line = String::new();
        for (entry, column) in row.iter().zip(widths).filter(|(_, column)| *column > 0) {
            line.push_str(&entry.text);
            line.extend(std::iter::repeat_n(' ', column.saturating_sub(entry.width) + 2));
        }
        line.push_str(row.last().map_or("", |entry| &entry.text));
        let end = line.trim_end_matches(' ').len();
        line.truncate(end);
        match width {
            Some(width) => first_columns(line, width),
            None => line,
        }
    };
    rows.into_iter().map(line).collect()
}

/// A harmless text, and the columns that it takes.
struct Entry {
    text: String,
    width: usize,
}

impl Entry {
    fn new(text: String) -> Entry {
        // Nearly every entry is such a text.
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Entry { width: text.len(), text };
        }
        // What stands in a row is one line, so a tab is a blank.
        let text = safe(&text).replace('\t', " ");
        Entry { width: text.width(), text }
    }
}

#[cfg(test)]
mod tests {
    //! Columns, whatever stands in them.

    use super::*;

    fn rows(texts: &[[&str; 3]]) -> Vec<[String; 3]> {
        texts.iter().map(|row| row.map(str::to_string)).collect()
    }

    #[test]
    fn columns_stand_below_each_other() {
        let rows = rows(&[["1", "user", "hi"], ["论语", "reply", "学\tx\u{1b}"], ["x", "", ""]]);
        let expected = ["1     user   hi", "论语  reply  学 x<U+001B>", "x"];
        assert_eq!(lines(rows, None), expected);
    }

    #[test]
    fn rows_are_cut_to_the_terminal() {
        let rows = rows(&[["1", "user", "one two three"], ["22", "user", "学而时习之"]]);
        assert_eq!(lines(rows, Some(14)), ["1   user  one…", "22  user  学…"]);
    }

    #[test]
    fn a_column_without_entries_takes_no_room() {
        assert_eq!(lines(rows(&[["a", "", "b"], ["c", "", "d"]]), None), ["a  b", "c  d"]);
    }

    #[test]
    fn one_long_entry_does_not_push_the_others_away() {
        let long = "x".repeat(50);
        let found = lines(rows(&[[&long, "user", "a"], ["1", "user", "b"]]), None);
        assert_eq!(found[1], format!("1{}user  b", " ".repeat(33)));
        assert_eq!(found[0], format!("{long}  user  a"));
    }
}
