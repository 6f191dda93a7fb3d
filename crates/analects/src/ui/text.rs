//! Text for a terminal. It is made harmless: control, bidi and invisible characters are shown, not obeyed. And it is
//! cut to columns: rows stand below each other in any script, each on one line.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text for one line of a terminal.
pub fn safe(text: &str) -> String {
    safe_lines(text).replace('\n', "␊")
}

/// Text for a terminal, with its lines.
pub fn safe_lines(text: &str) -> String {
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

/// The same JSON, with everything escaped that a terminal would obey or hide. Such characters stand
/// only in strings, where an escape means the same.
pub fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        let harmful = matches!(c, '\u{7f}'..='\u{9f}' | '\u{200c}' | '\u{200d}') || is_invisible(c);
        match harmful {
            true => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
            false => out.push(c),
        }
    }
    out
}

/// Characters that change how others are shown, or hide: bidi controls, zero width, tags. The
/// joiners that emoji and Indic scripts need are not among them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// As much of the beginning of a text as fits, with an ellipsis if that is not all.
pub fn first_columns(text: String, width: usize) -> String {
    if text.width() <= width {
        return text;
    }
    let end = fitting(text.chars(), width.saturating_sub(1));
    let kept: String = text.chars().take(end).collect();
    if width == 0 { kept } else { kept + "…" }
}

/// How many of these characters fit.
pub fn fitting(chars: impl Iterator<Item = char>, width: usize) -> usize {
    let columns = chars.scan(0, |used, c| {
        *used += c.width().unwrap_or(0);
        Some(*used)
    });
    columns.take_while(|used| *used <= width).count()
}

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
            line.extend(std::iter::repeat_n(
                ' ',
                column.saturating_sub(entry.width) + 2,
            ));
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
            return Entry {
                width: text.len(),
                text,
            };
        }
        // What stands in a row is one line, so a tab is a blank.
        let text = safe(&text).replace('\t', " ");
        Entry {
            width: text.width(),
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    //! What reaches a terminal is harmless, JSON stays what it was, and columns stand whatever is in them.

    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_as_an_escape_code() {
        assert_eq!(
            safe("a\u{1b}[31mb\r\u{9b}c"),
            "a<U+001B>[31mb<U+000D><U+009B>c"
        );
        assert_eq!(safe("x\u{202e}y\u{e0041}"), "x<U+202E>y<U+E0041>");
        assert_eq!(safe("one\ntwo"), "one␊two");
        assert_eq!(
            safe_lines("one\n\ttwo 你好 👩\u{200d}💻"),
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
    fn columns_stand_below_each_other() {
        let rows = rows(&[
            ["1", "user", "hi"],
            ["论语", "reply", "学\tx\u{1b}"],
            ["x", "", ""],
        ]);
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
        assert_eq!(
            lines(rows(&[["a", "", "b"], ["c", "", "d"]]), None),
            ["a  b", "c  d"]
        );
    }

    #[test]
    fn one_long_entry_does_not_push_the_others_away() {
        let long = "x".repeat(50);
        let found = lines(rows(&[[&long, "user", "a"], ["1", "user", "b"]]), None);
        assert_eq!(found[1], format!("1{}user  b", " ".repeat(33)));
        assert_eq!(found[0], format!("{long}  user  a"));
    }
}
