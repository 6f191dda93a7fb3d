//! When a prompt continues on a new line after Enter: after a backslash at the end, and in an open code block.
//!
//! The backslash is a key, not text: it is removed once the line goes on. But a backslash in a pasted command is text,
//! so only those are removed after which Enter was pressed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reedline::{ValidationResult, Validator};

/// The name of a slash command and its argument. `None` for any other text, such as the path `/usr/bin`.
/// Slash commands have letters only, so a path or a formula is a prompt. The argument is without blanks around it and
/// may be empty.
///
/// ```text
/// "/model gpt-5" → Some(("model", "gpt-5"))
/// "/usr/bin"     → None
/// ```
pub fn split_command(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('/')?;
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    Some((name, rest.trim()))
}

/// Whether a text continues on a new line after Enter.
/// A slash command never does, so `/agent x\` is sent at once.
pub fn continues(text: &str) -> bool {
    split_command(text).is_none() && (text.ends_with('\\') || has_open_fence(text))
}

/// Whether a code block is open at the end of the text.
/// Follows CommonMark: a fence is closed by a line of at least as many of the same mark, and nothing else.
fn has_open_fence(text: &str) -> bool {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines().map(str::trim) {
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| line.chars().take_while(|c| *c == mark).count());
        match (open, mark) {
            (None, Some(mark)) if length >= 3 && !line[length..].contains('`') => {
                open = Some((mark, length));
            }
            (Some((opener, least)), Some(mark))
                if mark == opener && length >= least && line.len() == length =>
            {
                open = None;
            }
            _ => {}
        }
    }
    open.is_some()
}

/// Decides what Enter does, and remembers the backslashes that only continued a line.
#[derive(Debug, Default, Clone)]
pub struct LineEnds {
    /// The texts at each Enter after a backslash.
    continued: Arc<Mutex<Vec<String>>>,
}

impl LineEnds {
    /// Removes the backslashes that only continued a line. Others, such as in a pasted command, stay.
    /// The notes are used up: the next line starts without any.
    pub fn remove_backslashes(&self, text: &str) -> String {
        let continued = std::mem::take(&mut *self.lock());
        let mut ends: Vec<usize> = continued
            .iter()
            .filter(|typed| is_continued_here(text, typed))
            .map(String::len)
            .collect();
        ends.sort_unstable();
        ends.dedup();
        let mut out = text.to_string();
        for end in ends.into_iter().rev() {
            out.remove(end - 1);
        }
        out
    }

    /// Forgets the backslashes: the line was cleared, and the next one may begin the same.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Remembers the backslash at the end of the text, if there is one.
    pub fn note_backslash(&self, text: &str) {
        if text.ends_with('\\') {
            self.lock().push(text.to_string());
        }
    }

    /// Locks the texts, even after a panic.
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.continued
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the text still begins with what was typed, and a line end after it.
fn is_continued_here(text: &str, typed: &str) -> bool {
    text.strip_prefix(typed)
        .is_some_and(|rest| rest.starts_with('\n'))
}

impl Validator for LineEnds {
    fn validate(&self, text: &str) -> ValidationResult {
        if !continues(text) {
            return ValidationResult::Complete;
        }
        self.note_backslash(text);
        ValidationResult::Incomplete
    }
}

#[cfg(test)]
mod tests {
    //! When Enter sends the text.

    use super::*;

    #[test]
    fn a_backslash_and_an_open_code_block_continue() {
        for text in ["a\\", "```", "x\n```rust\nfn", "~~~\n```\n", "````\n```"] {
            assert!(continues(text), "{text}");
        }
        for text in [
            "a",
            "```\nx\n```",
            "`a`",
            "/edit a\\",
            "``` a ```",
            "~~~\n~~~",
            "a \\ b",
        ] {
            assert!(!continues(text), "{text}");
        }
    }

    #[test]
    fn only_backslashes_that_continue_a_line_are_removed() {
        let ends = LineEnds::default();
        ends.validate("one\\");
        ends.validate("one\\\ncurl \\\n -x \\");
        assert_eq!(
            ends.remove_backslashes("one\\\ncurl \\\n -x \\\nend"),
            "one\ncurl \\\n -x \nend"
        );
        ends.validate("one\\");
        assert_eq!(ends.remove_backslashes("other\\\ntext"), "other\\\ntext");
        ends.validate("one\\");
        ends.clear();
        assert_eq!(ends.remove_backslashes("one\\\ntext"), "one\\\ntext");
    }
}
