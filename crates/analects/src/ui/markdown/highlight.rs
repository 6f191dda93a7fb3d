//! Code in colours: comments, strings, numbers and the words of the language, line by line.
//!
//! It knows a handful of facts about each language and no grammar, so it is small, and no input makes it slow.
//!
//! A line is read from left to right, one token at a time. The only state between lines is the comment or string that
//! is still open.

use super::languages::{Language, language};
use super::style::{Style, StyledLine, StyledText, TextColour};

/// Comments step back behind the code.
const COMMENT: Style = Style {
    italic: true,
    ..Style::FAINT
};
const STRING: Style = Style::of_colour(TextColour::Green);
const NUMBER: Style = Style::of_colour(TextColour::Yellow);
const KEYWORD: Style = Style::of_colour(TextColour::Magenta);

/// Colours the lines of one code block.
/// It is made anew for each block, so an open string never colours the next block.
#[derive(Debug)]
pub struct Highlighter {
    language: Option<&'static Language>,
    is_diff: bool,
    /// The comment or string that the next line starts in.
    open: Option<OpenToken>,
}

/// A comment or string that may go over several lines.
#[derive(Debug, Clone, Copy)]
struct OpenToken {
    style: Style,
    end: &'static str,
}

impl Highlighter {
    /// A highlighter for the language that the opening fence names.
    /// An unknown language is shown without colours.
    pub fn new(name: &str) -> Highlighter {
        Highlighter {
            language: language(name),
            is_diff: matches!(name, "diff" | "patch" | "udiff"),
            open: None,
        }
    }

    /// The next line, given without its line end.
    /// Neighbours of the same style become one part, which keeps the output short.
    pub fn line(&mut self, line: &str) -> StyledLine {
        if self.is_diff {
            return vec![StyledText::safe(diff_style(line), line)];
        }
        let Some(language) = self.language else {
            return vec![StyledText::safe(Style::PLAIN, line)];
        };
        let mut out = Vec::new();
        let mut at = 0;
        while at < line.len() {
            let (length, style) = self.token(&line[..at], &line[at..], language);
            push(&mut out, style, &line[at..at + length]);
            at += length;
        }
        out.iter()
            .map(|part| StyledText::safe(part.style, &part.text))
            .collect()
    }

    /// The length and the style of the token at the start of `rest`.
    fn token(&mut self, before: &str, rest: &str, language: &Language) -> (usize, Style) {
        if let Some(open) = self.open {
            let length = closing(rest, 0, open.end);
            self.open = if length.is_none() { Some(open) } else { None };
            return (length.unwrap_or(rest.len()), open.style);
        }
        let previous = before.chars().next_back().unwrap_or('\n');
        let first = rest.chars().next().unwrap_or('\n');
        if is_in_word(first) {
            return word(previous, rest, language);
        }
        self.comment_or_string(previous, rest, language)
            .unwrap_or((first.len_utf8(), Style::PLAIN))
    }

    /// `None` if neither begins here. `previous` is the character before, or a line end at the start of the line.
    fn comment_or_string(
        &mut self,
        previous: char,
        rest: &str,
        language: &Language,
    ) -> Option<(usize, Style)> {
        // `$#` and `a#b` are no comments, and `http://` in a configuration is none either.
        let is_line_comment = language
            .line_comments
            .iter()
            .any(|mark| rest.starts_with(mark) && (mark.len() > 1 || previous.is_whitespace()));
        let block = language
            .block_comment
            .filter(|(start, _)| rest.starts_with(start));
        if let Some((start, end)) = block {
            return Some(self.long_token(rest, start, end, COMMENT));
        }
        if is_line_comment {
            return Some((rest.len(), COMMENT));
        }
        let long_quote = language
            .long_quotes
            .iter()
            .find(|quote| rest.starts_with(**quote));
        if let Some(quote) = long_quote {
            return Some(self.long_token(rest, quote, quote, STRING));
        }
        let first = rest.chars().next()?;
        if first == '\'' && language.has_ticks {
            return Some(tick(rest));
        }
        if !language.quotes.contains(first) {
            return None;
        }
        let quote = &rest[..first.len_utf8()];
        Some((
            closing(rest, quote.len(), quote).unwrap_or(rest.len()),
            STRING,
        ))
    }

    /// A comment or string that may end on a later line.
    fn long_token(
        &mut self,
        rest: &str,
        start: &str,
        end: &'static str,
        style: Style,
    ) -> (usize, Style) {
        let length = closing(rest, start.len(), end);
        if length.is_none() {
            self.open = Some(OpenToken { style, end });
        }
        (length.unwrap_or(rest.len()), style)
    }
}

/// A digit counts, so `0x1f` and `1e9` are one token each.
fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The whole word is one token, so that `if` within `iffy` is no keyword.
fn word(previous: char, rest: &str, language: &Language) -> (usize, Style) {
    let length = rest.find(|c| !is_in_word(c)).unwrap_or(rest.len());
    let word = &rest[..length];
    let style = if is_in_word(previous) {
        Style::PLAIN
    } else if language.knows(word) {
        KEYWORD
    } else if word.starts_with(|c: char| c.is_ascii_digit()) {
        NUMBER
    } else {
        Style::PLAIN
    };
    (length, style)
}

/// The length of a text up to and with its end, which may stand anywhere behind its first `start` bytes, but not
/// behind a backslash.
/// `None` if it does not end here, which leaves a long token open.
fn closing(text: &str, start: usize, end: &str) -> Option<usize> {
    let mut at = start;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(end) {
            return Some(at + end.len());
        }
        let mut chars = rest.chars();
        at += chars.next().map_or(1, char::len_utf8);
        if rest.starts_with('\\') {
            at += chars.next().map_or(0, char::len_utf8);
        }
    }
    None
}

/// A tick of Rust: a character if another tick follows, else the start of a lifetime.
fn tick(rest: &str) -> (usize, Style) {
    let mut chars = rest[1..].chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => (closing(rest, 1, "'").unwrap_or(rest.len()), STRING),
        (Some(c), Some('\'')) => (2 + c.len_utf8(), STRING),
        _ => (1, Style::PLAIN),
    }
}

/// The colours of `git diff`.
fn diff_style(line: &str) -> Style {
    match line.chars().next() {
        Some('+') => Style::of_colour(TextColour::Green),
        Some('-') => Style::of_colour(TextColour::Red),
        Some('@') => Style::of_colour(TextColour::Cyan),
        _ => Style::PLAIN,
    }
}

/// Adds text to a line; what looks like the text before goes with it.
fn push(line: &mut StyledLine, style: Style, text: &str) {
    match line.last_mut() {
        Some(last) if last.style == style => last.text.push_str(text),
        _ => line.push(StyledText::new(style, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a code, with the parts that have a colour in brackets.
    fn shown(name: &str, code: &str) -> String {
        let mut highlighter = Highlighter::new(name);
        let mut out = String::new();
        for line in code.lines() {
            for part in highlighter.line(line) {
                match part.style {
                    Style::PLAIN => out.push_str(&part.text),
                    KEYWORD => out += &format!("⟨{}⟩", part.text),
                    STRING => out += &format!("“{}”", part.text),
                    NUMBER => out += &format!("#{}#", part.text),
                    _ => out += &format!("({})", part.text),
                }
            }
            out.push('\n');
        }
        out
    }

    #[test]
    fn words_strings_numbers_and_comments_have_colours() {
        assert_eq!(
            shown(
                "rust",
                "let x = \"a\\\"b\"; // c\nlet y: &'a u8 = 'x'; x1 + 12"
            ),
            "⟨let⟩ x = “\"a\\\"b\"”; (// c)\n⟨let⟩ y: &'a u8 = “'x'”; x1 + #12#\n"
        );
        assert_eq!(
            shown("py", "a#b # c\ndef f(): pass"),
            "a#b (# c)\n⟨def⟩ f(): ⟨pass⟩\n"
        );
    }

    #[test]
    fn comments_and_strings_go_over_lines() {
        assert_eq!(shown("rust", "/* a\nb */ let"), "(/* a)\n(b */) ⟨let⟩\n");
        assert_eq!(
            shown("python", "\"\"\"a\nb\"\"\" if"),
            "“\"\"\"a”\n“b\"\"\"” ⟨if⟩\n"
        );
        assert_eq!(shown("js", "\"open\nlet"), "“\"open”\n⟨let⟩\n");
    }

    #[test]
    fn a_diff_and_an_unknown_language() {
        assert_eq!(shown("diff", "+a\n b"), "“+a”\n b\n");
        assert_eq!(shown("nothing-known", "let x"), "let x\n");
    }
}
