//! Large pastes: in the line a short mark stands for them, and when the line is sent, the text itself
//! does. An editor of lines is slow with a megabyte in it, and nobody can read it there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reedline::{EditCommand, EditMode, Emacs, PromptEditMode, ReedlineEvent, ReedlineRawEvent};

/// A paste with more lines or bytes than this is a mark.
const LINES: usize = 10;
const BYTES: usize = 1_000;
/// What comes back into the line is no paste, so it is shown, unless it is larger than this.
const LARGEST: usize = 20_000;

/// The large pastes of this session, with the marks that stand for them.
#[derive(Debug, Default)]
pub struct Pastes {
    kept: Vec<(String, String)>,
}

impl Pastes {
    /// What is put into the line for a pasted text: itself if it is short, else a mark.
    pub fn put(&mut self, pasted: &str) -> String {
        let text = pasted.replace("\r\n", "\n").replace('\r', "\n");
        let lines = text.lines().count();
        if lines <= LINES && text.len() <= BYTES {
            return text.chars().filter(|c| is_harmless(*c)).collect();
        }
        if let Some((mark, _)) = self.kept.iter().find(|(_, kept)| *kept == text) {
            return mark.clone();
        }
        let is_free = |mark: &String| self.kept.iter().all(|(known, _)| known != mark);
        let what = if lines == 1 {
            "1 line".to_string()
        } else {
            format!("{lines} lines")
        };
        let numbered = (2..).map(|number| format!("[pasted {number}: {what}]"));
        let mut marks = std::iter::once(format!("[pasted: {what}]")).chain(numbered);
        let mark = marks.find(is_free).unwrap_or_default();
        self.kept.push((mark.clone(), text));
        mark
    }

    /// What is put into the line for a text that was there before: what was pasted is a mark again, and the rest
    /// can be read.
    pub fn put_back(&mut self, text: &str) -> String {
        let mut line = text.to_string();
        for (mark, pasted) in &self.kept {
            // The blanks around a prompt are not sent.
            let pasted = pasted.trim();
            if !pasted.is_empty() && line.contains(pasted) {
                line = line.replacen(pasted, mark, 1);
            }
        }
        if line.len() > LARGEST {
            self.put(text)
        } else {
            line.chars().filter(|c| is_harmless(*c)).collect()
        }
    }

    /// The line with the texts in the place of their marks. A text that looks like a mark stays as it is.
    pub fn expand(&self, line: &str) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some(at) = rest.find("[pasted") {
            let found = self
                .kept
                .iter()
                .find(|(mark, _)| rest[at..].starts_with(mark.as_str()));
            let (length, text) = match found {
                Some((mark, text)) => (mark.len(), text.as_str()),
                None => (1, "["),
            };
            out.push_str(&rest[..at]);
            out.push_str(text);
            rest = &rest[at + length..];
        }
        out + rest
    }
}

/// Whether a character may stand in the line: the editor would show others as they are.
pub fn is_harmless(c: char) -> bool {
    !c.is_control() || c == '\n' || c == '\t'
}

/// Pastes that the editor of lines and its reader share.
pub type Shared = Arc<Mutex<Pastes>>;

/// The pastes, whoever had them last.
pub fn lock(pastes: &Shared) -> MutexGuard<'_, Pastes> {
    pastes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The usual keys, with large pastes as marks.
pub struct Keys {
    pub usual: Emacs,
    pub pastes: Shared,
}

impl EditMode for Keys {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        match self.usual.parse_event(event) {
            // No key puts in more than a character, so this is a paste.
            ReedlineEvent::Edit(commands) => ReedlineEvent::Edit(
                commands
                    .into_iter()
                    .map(|command| match command {
                        EditCommand::InsertString(text) => {
                            EditCommand::InsertString(lock(&self.pastes).put(&text))
                        }
                        other => other,
                    })
                    .collect(),
            ),
            other => other,
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.usual.edit_mode()
    }
}

#[cfg(test)]
mod tests {
    //! Marks and what they stand for.

    use super::*;

    #[test]
    fn a_short_paste_is_itself_without_what_a_terminal_obeys() {
        let mut pastes = Pastes::default();
        assert_eq!(pastes.put("a\r\nb\rc\u{1b}[2J\t学"), "a\nb\nc[2J\t学");
        assert_eq!(
            pastes.expand("[pasted: 1 line] [pasted"),
            "[pasted: 1 line] [pasted"
        );
    }

    #[test]
    fn a_long_paste_comes_back_whole() {
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
    fn only_what_was_pasted_comes_back_as_a_mark() {
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
