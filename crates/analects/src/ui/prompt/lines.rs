//! When a prompt goes on after Enter: after a backslash at the end, and in a block of code that is
//! still open.

use std::sync::{Arc, Mutex, PoisonError};

use reedline::{ValidationResult, Validator};

/// The name of a command after a slash, and what follows it. A path such as /usr/bin is no command.
pub fn command(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('/')?;
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_name.then(|| (name, rest.trim()))
}

/// Whether what was typed goes on in a new line.
pub fn goes_on(text: &str) -> bool {
    command(text).is_none() && (text.ends_with('\\') || has_open_fence(text))
}

/// Whether a block of code was opened and not closed.
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

/// Decides what Enter does, and remembers where a backslash only meant a new line.
#[derive(Debug, Default, Clone)]
pub struct Ends {
    /// What stood in the line when Enter came after a backslash.
    continued: Arc<Mutex<Vec<String>>>,
}

impl Ends {
    /// Takes the backslashes out that only meant a new line; others, such as in a pasted command, stay.
    pub fn finish(&self, text: &str) -> String {
        let continued = std::mem::take(&mut *self.lock());
        let is_here = |typed: &&String| {
            text.strip_prefix(typed.as_str())
                .is_some_and(|rest| rest.starts_with('\n'))
        };
        let mut ends: Vec<usize> = continued.iter().filter(is_here).map(String::len).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut out = text.to_string();
        for end in ends.into_iter().rev() {
            out.remove(end - 1);
        }
        out
    }

    /// Forgets what was typed: the line was cleared, and the next one may begin the same.
    pub fn forget(&self) {
        self.lock().clear();
    }

    /// Notes that the text goes on after its last backslash.
    pub fn go_on(&self, text: &str) {
        if text.ends_with('\\') {
            self.lock().push(text.to_string());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.continued
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Validator for Ends {
    fn validate(&self, text: &str) -> ValidationResult {
        match goes_on(text) {
            true => {
                self.go_on(text);
                ValidationResult::Incomplete
            }
            false => ValidationResult::Complete,
        }
    }
}

#[cfg(test)]
mod tests {
    //! When Enter sends.

    use super::*;

    #[test]
    fn a_backslash_and_an_open_block_go_on() {
        for text in ["a\\", "```", "x\n```rust\nfn", "~~~\n```\n", "````\n```"] {
            assert!(goes_on(text), "{text}");
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
            assert!(!goes_on(text), "{text}");
        }
    }

    #[test]
    fn only_backslashes_that_meant_a_new_line_go() {
        let ends = Ends::default();
        ends.validate("one\\");
        ends.validate("one\\\ncurl \\\n -x \\");
        assert_eq!(
            ends.finish("one\\\ncurl \\\n -x \\\nend"),
            "one\ncurl \\\n -x \nend"
        );
        ends.validate("one\\");
        assert_eq!(ends.finish("other\\\ntext"), "other\\\ntext");
        ends.validate("one\\");
        ends.forget();
        assert_eq!(ends.finish("one\\\ntext"), "one\\\ntext");
    }
}
