//! How a piece of text looks, and the codes that make a terminal show it so. The only place of the
//! renderer that writes escape codes, and the one through which every character passes that is shown.

use crate::ui::text::safe_lines;

/// The colour of a piece of text, one of those that every terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Red,
    Green,
    Yellow,
    Magenta,
    Cyan,
}

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    pub bold: bool,
    pub faint: bool,
    pub italic: bool,
    pub underlined: bool,
    pub struck: bool,
    pub ink: Option<Ink>,
}

impl Style {
    pub const PLAIN: Style = Style {
        bold: false,
        faint: false,
        italic: false,
        underlined: false,
        struck: false,
        ink: None,
    };
    pub const FAINT: Style = Style {
        faint: true,
        ..Style::PLAIN
    };

    pub fn of_ink(ink: Ink) -> Style {
        Style {
            ink: Some(ink),
            ..Style::PLAIN
        }
    }

    /// The code that switches it on, from whatever was on before.
    pub fn code(self) -> String {
        let on = |is_on: bool, number: u8| is_on.then_some(number);
        let ink = self.ink.map(|ink| match ink {
            Ink::Red => 31,
            Ink::Green => 32,
            Ink::Yellow => 33,
            Ink::Magenta => 35,
            Ink::Cyan => 36,
        });
        let numbers = [
            Some(0),
            on(self.bold, 1),
            on(self.faint, 2),
            on(self.italic, 3),
            on(self.underlined, 4),
            on(self.struck, 9),
            ink,
        ];
        let numbers: Vec<String> = numbers.iter().flatten().map(u8::to_string).collect();
        format!("\u{1b}[{}m", numbers.join(";"))
    }
}

/// A piece of text, and how it looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub style: Style,
    pub text: String,
}

impl Span {
    pub fn new(style: Style, text: impl Into<String>) -> Span {
        Span {
            style,
            text: text.into(),
        }
    }
}

/// What goes to the terminal, with the codes between.
#[derive(Debug)]
pub struct Paint {
    out: String,
    style: Style,
    ends_line: bool,
}

impl Paint {
    pub fn new() -> Paint {
        Paint {
            out: String::new(),
            style: Style::PLAIN,
            ends_line: true,
        }
    }

    /// Adds text, without what a terminal would obey or hide. No style outlives its line.
    pub fn write(&mut self, style: Style, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.switch(Style::PLAIN);
                self.out.push('\n');
                self.ends_line = true;
            }
            if !line.is_empty() {
                self.switch(style);
                self.out.push_str(&safe_lines(line));
                self.ends_line = false;
            }
        }
    }

    pub fn write_all(&mut self, spans: &[Span]) {
        spans
            .iter()
            .for_each(|span| self.write(span.style, &span.text));
    }

    /// Adds the text of a paragraph; in front of each of its further lines comes the margin.
    pub fn write_within(&mut self, spans: &[Span], margin: &str) {
        for span in spans {
            for (at, line) in span.text.split('\n').enumerate() {
                let text = line.trim_start_matches(' ');
                if at > 0 {
                    self.write(Style::PLAIN, "\n");
                    self.write(Style::FAINT, margin);
                    self.write(Style::PLAIN, &line[..line.len() - text.len()]);
                }
                self.write(span.style, if at > 0 { text } else { line });
            }
        }
    }

    /// What was added since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// The style that is switched on.
    pub fn style(&self) -> Style {
        self.style
    }

    /// Whether the last line is complete.
    pub fn ends_line(&self) -> bool {
        self.ends_line
    }

    /// Switches to a style now, instead of with the next text.
    pub fn switch(&mut self, style: Style) {
        if self.style != style {
            self.out.push_str(&style.code());
            self.style = style;
        }
    }
}
