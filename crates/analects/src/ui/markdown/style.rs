//! How a piece of text looks, and the codes that make a terminal show it so. Only this module writes escape codes of
//! styles, and every character of an answer passes through it.

use crate::ui::text::escape_lines;

use super::prepare::without_marks;

/// One of the colours that every terminal has.
/// Their exact shades are up to the theme of the terminal, so they fit a light and a dark background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextColour {
    Red,
    Green,
    Yellow,
    Magenta,
    Cyan,
}

/// How a piece of text looks.
/// Every style stands for itself: the code that switches one on switches all others off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    pub bold: bool,
    pub faint: bool,
    pub italic: bool,
    pub underlined: bool,
    pub struck: bool,
    pub colour: Option<TextColour>,
}

impl Style {
    /// Nothing special. A constant, where `default()` cannot be used.
    pub const PLAIN: Style = Style {
        bold: false,
        faint: false,
        italic: false,
        underlined: false,
        struck: false,
        colour: None,
    };
    /// For what only helps to read: bars, rules, separators and addresses.
    pub const FAINT: Style = Style {
        faint: true,
        ..Style::PLAIN
    };
    /// For headings and the heads of tables.
    pub const BOLD: Style = Style {
        bold: true,
        ..Style::PLAIN
    };

    /// `const`, so that styles can be constants.
    pub const fn of_colour(colour: TextColour) -> Style {
        Style {
            colour: Some(colour),
            ..Style::PLAIN
        }
    }

    /// The code that switches this style on, whatever was on before.
    fn code(self) -> String {
        let mut code = String::from("\u{1b}[0");
        let attributes = [
            (self.bold, ";1"),
            (self.faint, ";2"),
            (self.italic, ";3"),
            (self.underlined, ";4"),
            (self.struck, ";9"),
        ];
        for (is_on, number) in attributes {
            if is_on {
                code.push_str(number);
            }
        }
        code.push_str(match self.colour {
            None => "",
            Some(TextColour::Red) => ";31",
            Some(TextColour::Green) => ";32",
            Some(TextColour::Yellow) => ";33",
            Some(TextColour::Magenta) => ";35",
            Some(TextColour::Cyan) => ";36",
        });
        code.push('m');
        code
    }
}

/// Text that looks the same all over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledText {
    pub style: Style,
    pub text: String,
}

impl StyledText {
    /// For text of this program. Text of an answer goes through [`StyledText::safe`].
    pub fn new(style: Style, text: impl Into<String>) -> StyledText {
        StyledText {
            style,
            text: text.into(),
        }
    }

    /// Text from an answer: without what a terminal would obey or hide.
    /// A tab becomes four blanks, because its width would depend on the column.
    pub fn safe(style: Style, text: &str) -> StyledText {
        let text = escape_lines(&without_marks(text)).replace('\t', "    ");
        StyledText { style, text }
    }
}

/// One line of the screen, without its line end.
pub type StyledLine = Vec<StyledText>;

/// The text of a line, without its styles.
/// Its width is the width of the line on the screen.
pub fn plain_text(line: &[StyledText]) -> String {
    line.iter().map(|part| part.text.as_str()).collect()
}

/// Lines as a terminal takes them, each with its line end. No style outlives its line.
/// Blanks at the end of a line are dropped, and blanks elsewhere get no codes, which keeps copied text clean.
pub fn painted(lines: &[StyledLine]) -> String {
    let mut out = String::new();
    for line in lines {
        let mut current = Style::PLAIN;
        for part in line {
            let is_blank = part.text.bytes().all(|byte| byte == b' ');
            let style = if is_blank && !part.style.underlined && !part.style.struck {
                Style::PLAIN
            } else {
                part.style
            };
            if style != current && !part.text.is_empty() {
                out.push_str(&style.code());
                current = style;
            }
            out.push_str(&part.text);
        }
        let end = out.trim_end_matches(' ').len();
        out.truncate(end);
        if current != Style::PLAIN {
            out.push_str(&Style::PLAIN.code());
        }
        out.push('\n');
    }
    out
}
