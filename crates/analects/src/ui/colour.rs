//! Whether there is colour, decided in this one place, and the colours.

use std::env;
use std::io::IsTerminal;

/// Paints text, or leaves it as it is.
#[derive(Debug, Clone, Copy)]
pub struct Colour {
    on: bool,
}

/// What a colour is used for.
#[derive(Debug, Clone, Copy)]
pub enum Ink {
    Error,
    Warning,
    Hint,
    Place,
    Faint,
}

impl Colour {
    /// The colour of what goes to `stream`.
    pub fn of(stream: &impl IsTerminal) -> Colour {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let on = is_wanted(
            set("NO_COLOR").is_some(),
            set("CLICOLOR_FORCE").is_some_and(|value| value != "0"),
            env::var_os("TERM").is_some_and(|term| has_no_colour(&term.to_string_lossy())),
            stream.is_terminal(),
        );
        Colour { on }
    }

    /// Whether there is colour.
    pub fn is_on(self) -> bool {
        self.on
    }

    pub fn paint(self, ink: Ink, text: &str) -> String {
        if !self.on || text.is_empty() {
            return text.to_string();
        }
        let code = match ink {
            Ink::Error => "1;31",
            Ink::Warning => "1;33",
            Ink::Hint => "1;36",
            Ink::Place => "1",
            Ink::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Whether the terminal can only print.
pub fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|value| value == "dumb")
}

/// Whether a terminal's name says that it has no colours.
fn has_no_colour(term: &str) -> bool {
    term == "dumb" || term.ends_with("-mono") || term.ends_with("-m")
}

/// Who asks for no colour gets none; who insists gets it everywhere; else a terminal gets it.
fn is_wanted(never: bool, always: bool, has_none: bool, is_terminal: bool) -> bool {
    !never && (always || (is_terminal && !has_none))
}

#[cfg(test)]
impl Colour {
    pub const OFF: Colour = Colour { on: false };
    pub const ON: Colour = Colour { on: true };
}

#[cfg(test)]
mod tests {
    //! Who gets colour.

    use super::*;

    #[test]
    fn colour_is_for_terminals_and_for_those_who_insist() {
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
