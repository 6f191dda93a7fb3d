//! Large pastes: in the line a short mark stands for them, and the text takes its place when the line is sent. A line
//! editor is slow with a megabyte in it, and nobody can read it there.
//!
//! [`Pastes::put`] makes a mark, [`Pastes::expand`] the text again. Both directions work for several pastes in a line
//! and for a line that comes back because it could not be sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reedline::{EditCommand, EditMode, Emacs, PromptEditMode, ReedlineEvent, ReedlineRawEvent};

/// A paste with more lines or bytes than this becomes a mark.
/// Short pastes are often edited before they are sent.
const MAX_LINES: usize = 10;
/// See [`MAX_LINES`].
const MAX_BYTES: usize = 1_000;
/// A text that comes back into the line becomes a mark only if it is larger than this, in bytes.
/// You may want to change a text that was not sent, so it stays readable up to here.
const MAX_RETURNED: usize = 20_000;

/// The large pastes of this session.
/// They are kept until the session ends, since the history of the editor may bring an old mark back.
#[derive(Debug, Default)]
pub struct Pastes {
    pastes: Vec<Paste>,
}

/// A large paste, and the mark that stands for it.
#[derive(Debug)]
struct Paste {
    /// Unique in the session.
    mark: String,
    /// With `\n` for every line end.
    text: String,
}

impl Pastes {
    /// What to put into the line for a pasted text: the text if it is short, else a mark.
    /// Pasting the same text again gives the same mark. Line ends become `\n`.
    pub fn put(&mut self, pasted: &str) -> String {
        let text = pasted.replace("\r\n", "\n").replace('\r', "\n");
        let lines = text.lines().count();
        if lines <= MAX_LINES && text.len() <= MAX_BYTES {
            return harmless(&text);
        }
        if let Some(paste) = self.pastes.iter().find(|paste| paste.text == text) {
            return paste.mark.clone();
        }
        let mark = self.new_mark(lines);
        self.pastes.push(Paste {
            mark: mark.clone(),
            text,
        });
        mark
    }

    /// A mark that no paste has yet.
    /// It says how many lines the paste has, and has a number if that is not unique.
    fn new_mark(&self, lines: usize) -> String {
        let size = match lines {
            1 => "1 line".to_string(),
            _ => format!("{lines} lines"),
        };
        let mut mark = format!("[pasted: {size}]");
        let mut number = 1;
        while self.pastes.iter().any(|paste| paste.mark == mark) {
            number += 1;
            mark = format!("[pasted {number}: {size}]");
        }
        mark
    }

    /// What to put into the line for a text that was in it before: its pastes become marks again, and the rest stays
    /// readable.
    /// A text that would still be too long becomes a mark as a whole.
    pub fn put_back(&mut self, text: &str) -> String {
        let mut line = text.to_string();
        for paste in &self.pastes {
            // The blanks around a prompt were not sent.
            let pasted = paste.text.trim();
            if !pasted.is_empty() && line.contains(pasted) {
                line = line.replacen(pasted, &paste.mark, 1);
            }
        }
        if line.len() > MAX_RETURNED {
            return self.put(text);
        }
        harmless(&line)
    }

    /// The line with the texts in the place of their marks. Anything else that looks like a mark stays.
    /// A mark that you edited is no mark any more, and is sent as it reads.
    pub fn expand(&self, line: &str) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some(at) = rest.find("[pasted") {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let found = self
                .pastes
                .iter()
                .find(|paste| rest.starts_with(&paste.mark));
            match found {
                Some(paste) => {
                    out.push_str(&paste.text);
                    rest = &rest[paste.mark.len()..];
                }
                None => {
                    out.push('[');
                    rest = &rest[1..];
                }
            }
        }
        out + rest
    }
}

/// A text without the characters that must not be in the line.
/// Line ends and tabs stay.
fn harmless(text: &str) -> String {
    text.chars().filter(|c| is_harmless(*c)).collect()
}

/// Whether a character may be in the line. The editor prints others as they are.
pub fn is_harmless(c: char) -> bool {
    !c.is_control() || c == '\n' || c == '\t'
}

/// Pastes that the line editor and the reader of its lines share.
/// The editor owns its keys, so both sides need the same list.
pub type SharedPastes = Arc<Mutex<Pastes>>;

/// Locks the pastes, even if a thread that had them panicked.
/// A panic cannot leave them in a state that is wrong.
pub fn lock(pastes: &SharedPastes) -> MutexGuard<'_, Pastes> {
    pastes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The usual keys of the line editor, with marks for large pastes.
/// The editor asks it for every key and every paste.
pub struct PasteKeys {
    /// The keys that decide everything else.
    pub inner: Emacs,
    pub pastes: SharedPastes,
}

impl PasteKeys {
    /// Replaces a large paste by its mark. No key inserts more than a character, so any string is a paste.
    fn replace_paste(&self, command: EditCommand) -> EditCommand {
        match command {
            EditCommand::InsertString(text) => {
                EditCommand::InsertString(lock(&self.pastes).put(&text))
            }
            other => other,
        }
    }
}

impl EditMode for PasteKeys {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        match self.inner.parse_event(event) {
            ReedlineEvent::Edit(commands) => {
                let commands = commands.into_iter();
                ReedlineEvent::Edit(
                    commands
                        .map(|command| self.replace_paste(command))
                        .collect(),
                )
            }
            other => other,
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.inner.edit_mode()
    }
}

#[cfg(test)]
mod tests {
    //! Marks and what they stand for.

    use super::*;

    #[test]
    fn a_short_paste_goes_in_without_control_characters() {
        let mut pastes = Pastes::default();
        assert_eq!(pastes.put("a\r\nb\rc\u{1b}[2J\t学"), "a\nb\nc[2J\t学");
        assert_eq!(
            pastes.expand("[pasted: 1 line] [pasted"),
            "[pasted: 1 line] [pasted"
        );
    }

    #[test]
    fn a_long_paste_is_a_mark_until_the_line_is_sent() {
        let mut pastes = Pastes::default();
        let [one, two] = ["one\r\n", "two\r"].map(|line| line.repeat(800));
        assert_eq!(pastes.put(&one), "[pasted: 800 lines]");
        assert_eq!(pastes.put(&two), "[pasted 2: 800 lines]");
        assert_eq!(pastes.put(&one), "[pasted: 800 lines]");
        assert_eq!(pastes.put(&"x".repeat(5_000)), "[pasted: 1 line]");
        let line = "a [pasted 2: 800 lines] b [pasted: 800 lines][pasted 9: 800 lines]";
        let expected = format!(
            "a {} b {}[pasted 9: 800 lines]",
            "two\n".repeat(800),
            "one\n".repeat(800)
        );
        assert_eq!(pastes.expand(line), expected);
    }

    #[test]
    fn only_pastes_become_marks_again() {
        let mut pastes = Pastes::default();
        let typed = "word ".repeat(300) + &"line\n".repeat(20);
        assert_eq!(pastes.put_back(&typed), typed);
        let pasted = "a line\n".repeat(20);
        let mark = pastes.put(&pasted);
        let sent = pastes.expand(&format!("{typed} {mark}"));
        assert_eq!(pastes.put_back(sent.trim()), format!("{typed} {mark}"));
        let huge = "x".repeat(30_000);
        let mark = pastes.put_back(&huge);
        assert_eq!(
            (mark.as_str(), pastes.expand(&mark)),
            ("[pasted: 1 line]", huge)
        );
    }

    #[test]
    fn a_paste_that_holds_a_mark_is_not_expanded_again() {
        let mut pastes = Pastes::default();
        let first = pastes.put(&"a\n".repeat(20));
        let tricky = format!("{first}\n").repeat(20);
        let second = pastes.put(&tricky);
        assert_eq!(second, "[pasted 2: 20 lines]");
        assert_eq!(pastes.expand(&second), tricky);
    }
}
