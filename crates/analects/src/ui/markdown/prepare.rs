//! What is changed in an answer before it is parsed: a mark that takes no room goes where CommonMark would read
//! something that the person would not see, or would see as stars. [`without_marks`] takes it out again.

use unicode_width::UnicodeWidthChar;

/// A code point that no text has, and that is neither blank nor punctuation.
const MARK: char = '\u{fdd0}';

/// A line of Markdown with its marks.
///
/// - `**重点：**内容` is no emphasis in CommonMark, since a closing mark behind punctuation needs a blank behind itself.
///   Chinese and Japanese have no blanks, so a mark stands between the punctuation and the stars.
/// - `[1]: https://…` defines a link and shows nothing. A mark behind the bracket keeps the line in sight.
pub fn prepared(line: &str) -> String {
    if !line.contains(['*', ']']) {
        return line.to_string();
    }
    let mut out = String::with_capacity(line.len());
    let mut before = ' ';
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        let stars = rest.len() - rest.trim_start_matches('*').len();
        if stars == 0 {
            out.push(next);
            rest = &rest[next.len_utf8()..];
            if next == ']' && rest.starts_with(':') {
                out.push(MARK);
            }
            before = next;
            continue;
        }
        let after = rest[stars..].chars().next().unwrap_or(' ');
        if is_punctuation(before) && is_wide(after) {
            out.push(MARK);
        }
        out.push_str(&rest[..stars]);
        if is_punctuation(after) && is_wide(before) {
            out.push(MARK);
        }
        rest = &rest[stars..];
        before = '*';
    }
    out
}

/// A text without the marks.
/// Everything that is shown passes through this, since a mark would take a column in some terminals.
pub fn without_marks(text: &str) -> String {
    text.replace(MARK, "")
}

/// The punctuation of ASCII and of Chinese and Japanese, and the general kinds, such as dashes and quotation marks.
fn is_punctuation(c: char) -> bool {
    let is_of_cjk = matches!(c, '\u{3001}'..='\u{3020}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}');
    let is_general = matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '«' | '»' | '·' | '¿' | '¡');
    c.is_ascii_punctuation() || is_of_cjk || is_general
}

/// Whether a character belongs to a script that is written without blanks and takes two columns.
fn is_wide(c: char) -> bool {
    c.width() == Some(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stands_between_punctuation_and_stars_beside_chinese() {
        assert_eq!(prepared("这是**重点：**内容"), "这是**重点：\u{fdd0}**内容");
        assert_eq!(
            prepared("内容**“引用”**。"),
            "内容**\u{fdd0}“引用”\u{fdd0}**。"
        );
        assert_eq!(prepared("**a.** b"), "**a.** b");
    }

    #[test]
    fn a_definition_of_a_link_stays_in_sight() {
        assert_eq!(prepared("[1]: https://x.y"), "[1]\u{fdd0}: https://x.y");
        assert_eq!(
            without_marks(&prepared("[1]: x **是：**的")),
            "[1]: x **是：**的"
        );
    }
}
