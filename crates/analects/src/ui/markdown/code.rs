//! Code in colours, while it comes: comments, strings, numbers and the words of the language. It
//! reads one character after the other and holds back no more than a word, which a highlighter with
//! a grammar of whole lines could not do.

use super::languages::{Language, language};
use super::style::{Ink, Span, Style};

/// No word is held back for longer than this.
const LONGEST_WORD: usize = 64;

/// A block of code while it comes.
#[derive(Debug)]
pub struct Code {
    language: Option<&'static Language>,
    is_diff: bool,
    state: State,
    /// What is not decided yet.
    held: String,
    /// The character before that.
    before: char,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Code,
    LineComment,
    /// A comment up to this.
    Comment(&'static str),
    /// A string on this line, up to this quote.
    String(char),
    /// A string up to this.
    LongString(&'static str),
    /// A changed line of a diff, or one that says where it is.
    Line(Style),
}

/// A decision: so many bytes in this style, and what comes then.
type Token = (usize, Style, State);

impl Code {
    pub fn new(name: &str) -> Code {
        Code {
            language: language(name),
            is_diff: matches!(name, "diff" | "patch" | "udiff"),
            state: State::Code,
            held: String::new(),
            before: '\n',
        }
    }

    /// Takes a character, and gives what can be shown.
    pub fn push(&mut self, c: char) -> Vec<Span> {
        self.held.push(c);
        self.work(false)
    }

    /// Gives what is still held back.
    pub fn end(&mut self) -> Vec<Span> {
        self.work(true)
    }

    fn work(&mut self, ends: bool) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut rest = &self.held[..];
        while let Some(first) = rest.chars().next() {
            let Some((length, style, state)) = self.token(rest, first, ends) else {
                break;
            };
            spans.push(Span::new(style, &rest[..length]));
            self.before = rest[..length].chars().next_back().unwrap_or(self.before);
            self.state = state;
            rest = &rest[length..];
        }
        self.held = rest.to_string();
        spans
    }

    fn token(&self, text: &str, first: char, ends: bool) -> Option<Token> {
        let one = first.len_utf8();
        match self.state {
            State::Code if self.is_diff => Some(self.line_of_diff(first)),
            State::Code => match self.language {
                Some(language) => self.code(text, first, language, ends),
                None => Some((one, CODE, State::Code)),
            },
            State::LineComment if first == '\n' => Some((one, COMMENT, State::Code)),
            State::LineComment => Some((one, COMMENT, State::LineComment)),
            State::Line(_) if first == '\n' => Some((one, CODE, State::Code)),
            State::Line(style) => Some((one, style, State::Line(style))),
            State::Comment(end) => closing(text, one, end, COMMENT, self.state, ends),
            State::String(_) if first == '\n' => Some((one, STRING, State::Code)),
            State::String(_) | State::LongString(_) if first == '\\' => {
                let next = text[1..].chars().next();
                match next {
                    None if !ends => None,
                    Some(next) if next != '\n' => Some((1 + next.len_utf8(), STRING, self.state)),
                    _ => Some((1, STRING, self.state)),
                }
            }
            State::String(quote) if first == quote => Some((one, STRING, State::Code)),
            State::String(_) => Some((one, STRING, self.state)),
            State::LongString(end) => closing(text, one, end, STRING, self.state, ends),
        }
    }

    fn line_of_diff(&self, first: char) -> Token {
        let style = match first {
            '+' => Style::of_ink(Ink::Green),
            '-' => Style::of_ink(Ink::Red),
            '@' => Style::of_ink(Ink::Cyan),
            _ => CODE,
        };
        match first {
            '\n' => (1, CODE, State::Code),
            _ => (first.len_utf8(), style, State::Line(style)),
        }
    }

    fn code(&self, text: &str, first: char, language: &Language, ends: bool) -> Option<Token> {
        let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
        let begins_word = !is_in_word(self.before);
        if first.is_alphanumeric() || first == '_' {
            let end = text.find(|c| !is_in_word(c));
            let length = match end {
                None if !ends && text.len() < LONGEST_WORD => return None,
                end => end.unwrap_or(text.len()),
            };
            let style = match &text[..length] {
                word if begins_word && language.knows(word) => KEYWORD,
                word if begins_word && word.starts_with(|c: char| c.is_ascii_digit()) => NUMBER,
                _ => CODE,
            };
            return Some((length, style, State::Code));
        }
        self.opening(text, language, ends)
            .unwrap_or(Some((first.len_utf8(), CODE, State::Code)))
    }

    /// What opens a comment or a string, if anything here does; inside, nothing while that is open.
    fn opening(&self, text: &str, language: &Language, ends: bool) -> Option<Option<Token>> {
        let may_come = |mark: &str| !ends && mark.len() > text.len() && mark.starts_with(text);
        // `$#` and `a#b` are no comments, and `http://` in a configuration is none either.
        let stands_alone = |mark: &str| mark.len() > 1 || self.before.is_whitespace();
        let block = language.block_comment;
        let block = block.map(|(open, close)| (open, COMMENT, State::Comment(close)));
        let line = language
            .line_comments
            .iter()
            .filter(|mark| stands_alone(mark));
        let line = line.map(|mark| (*mark, COMMENT, State::LineComment));
        let long = language
            .long_quotes
            .iter()
            .map(|mark| (*mark, STRING, State::LongString(mark)));
        for (mark, style, state) in block.into_iter().chain(line).chain(long) {
            if text.starts_with(mark) {
                return Some(Some((mark.len(), style, state)));
            }
            if may_come(mark) {
                return Some(None);
            }
        }
        let first = text.chars().next()?;
        match first {
            '\'' if language.has_ticks => Some(tick(text, ends)),
            quote if language.quotes.contains(quote) => {
                Some(Some((quote.len_utf8(), STRING, State::String(quote))))
            }
            _ => None,
        }
    }
}

const CODE: Style = Style::PLAIN;
const COMMENT: Style = Style {
    italic: true,
    ..Style::FAINT
};
const STRING: Style = Style {
    ink: Some(Ink::Green),
    ..Style::PLAIN
};
const NUMBER: Style = Style {
    ink: Some(Ink::Yellow),
    ..Style::PLAIN
};
const KEYWORD: Style = Style {
    ink: Some(Ink::Magenta),
    ..Style::PLAIN
};

/// Text up to what closes it.
fn closing(
    text: &str,
    one: usize,
    end: &str,
    style: Style,
    state: State,
    ends: bool,
) -> Option<Token> {
    match text.starts_with(end) {
        true => Some((end.len(), style, State::Code)),
        false if !ends && end.len() > text.len() && end.starts_with(text) => None,
        false => Some((one, style, state)),
    }
}

/// A tick of Rust: a character if another one follows it, else a lifetime.
fn tick(text: &str, ends: bool) -> Option<Token> {
    let mut chars = text[1..].chars();
    match (chars.next(), chars.next()) {
        (None, _) if !ends => None,
        (Some('\\'), _) => Some((1, STRING, State::String('\''))),
        (Some(c), None) if !ends && c != '\n' => None,
        (Some(c), Some('\'')) => Some((2 + c.len_utf8(), STRING, State::Code)),
        _ => Some((1, CODE, State::Code)),
    }
}
