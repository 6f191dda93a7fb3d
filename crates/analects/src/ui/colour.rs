//! The colours, and the decision whether to use them.
//!
//! The decision follows the conventions of <https://no-color.org> and <https://bixense.com/clicolors>, for each stream
//! separately.

use std::env;
use std::ffi::OsString;
use std::io::IsTerminal;

/// Paints text, or leaves it as it is, depending on where it goes.
#[derive(Debug, Clone, Copy)]
pub struct Colour {
    on: bool,
}

/// What a colour is for.
/// Code names what a text is, and only [`Colour::paint`] knows which colour that has.
#[derive(Debug, Clone, Copy)]
pub enum Ink {
    Error,
    Warning,
    Hint,
    /// The position of a problem.
    Position,
    /// What matters less.
    Faint,
}

impl Colour {
    /// The colour of what goes to `stream`.
    /// Reads the environment each time; the result is cheap to copy.
    pub fn of(stream: &impl IsTerminal) -> Colour {
        let forced = variable("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let is_plain =
            env::var_os("TERM").is_some_and(|term| has_no_colour(&term.to_string_lossy()));
        let is_never = variable("NO_COLOR").is_some();
        Colour {
            on: is_wanted(is_never, forced, is_plain, stream.is_terminal()),
        }
    }

    /// Whether there is colour.
    pub fn is_on(self) -> bool {
        self.on
    }

    /// The text in this colour, or as it is.
    /// An empty text stays empty, so no stray escape codes are left on a line.
    pub fn paint(self, ink: Ink, text: &str) -> String {
        if !self.on || text.is_empty() {
            return text.to_string();
        }
        let code = match ink {
            Ink::Error => "1;31",
            Ink::Warning => "1;33",
            Ink::Hint => "1;36",
            Ink::Position => "1",
            Ink::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// A variable that is set to something.
/// An empty variable counts as unset, as the conventions ask for.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether the terminal understands no escape codes.
/// Such a terminal gets no status line and no line editor.
pub fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|value| value == "dumb")
}

/// Whether the name of a terminal says that it has no colours.
/// True for `dumb` and for names such as `xterm-mono`.
fn has_no_colour(term: &str) -> bool {
    term == "dumb" || term.ends_with("-mono") || term.ends_with("-m")
}

/// `NO_COLOR` wins, then `CLICOLOR_FORCE`; otherwise a terminal with colours gets them.
fn is_wanted(is_never: bool, is_forced: bool, is_plain: bool, is_terminal: bool) -> bool {
    !is_never && (is_forced || (is_terminal && !is_plain))
}

#[cfg(test)]
impl Colour {
    pub const OFF: Colour = Colour { on: false };
    pub const ON: Colour = Colour { on: true };
}

#[cfg(test)]
mod tests {
    //! When there is colour.

    use super::*;

    #[test]
    fn colour_is_for_terminals_unless_a_variable_says_otherwise() {
        for (never, always, dumb, terminal, on) in [
            (false, false, false, true, true),
            (false, false, false, false, false),
            (false, false, true, true, false),
            (false, true, true, false, true),
            (true, false, false, true, false),
            (true, true, false, true, false),
        ] {
            assert_eq!(is_wanted(never, always, dumb, terminal), on);
        }
    }

    #[test]
    fn a_terminal_can_be_without_colours_by_its_name() {
        assert!(
            ["dumb", "xterm-mono", "linux-m"]
                .into_iter()
                .all(has_no_colour)
        );
        assert!(
            !["xterm", "xterm-256color", "vt220", "", "tmux"]
                .into_iter()
                .any(has_no_colour)
        );
    }

    #[test]
    fn paint_ends_where_the_text_does() {
        assert_eq!(Colour::ON.paint(Ink::Error, "x"), "\u{1b}[1;31mx\u{1b}[0m");
        assert_eq!(Colour::ON.paint(Ink::Error, ""), "");
        assert_eq!(Colour::OFF.paint(Ink::Error, "x"), "x");
    }
}
