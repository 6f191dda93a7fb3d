//! Which names of tools an API accepts.

/// A rule for names.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Names {
    /// Letters, digits, `_` and `-`, at most so many.
    Plain(usize),
    /// Gemini's: a letter or `_` first, then `.` and `:`, too; at most 64.
    Gemini,
}

const LONGEST_OF_GEMINI: usize = 64;

impl Names {
    /// Whether the API accepts the name.
    pub fn fit(self, name: &str) -> bool {
        let start = match self {
            Names::Plain(_) => true,
            Names::Gemini => !name.starts_with(|c: char| !is_start(c)),
        };
        !name.is_empty() && start && name.len() <= self.longest() && name.chars().all(self.takes())
    }

    /// The nearest name that it accepts.
    pub fn nearest(self, name: &str) -> String {
        let takes = self.takes();
        let mut near: String = name.chars().map(|c| if takes(c) { c } else { '_' }).collect();
        if near.is_empty() {
            near.push_str("tool");
        }
        if matches!(self, Names::Gemini) && near.starts_with(|c: char| !is_start(c)) {
            near.insert(0, '_');
        }
        near.truncate(self.longest());
        near
    }

    /// What is wrong with a name that it does not accept.
    pub fn why_not(self) -> &'static str {
        match self {
            Names::Plain(_) => {
                "its name has other characters than letters, digits, _ and -, or too many"
            }
            Names::Gemini => {
                "its name does not begin with a letter, has other characters than letters, \
                 digits, _, ., : and -, or too many"
            }
        }
    }

    fn longest(self) -> usize {
        match self {
            Names::Plain(longest) => longest,
            Names::Gemini => LONGEST_OF_GEMINI,
        }
    }

    fn takes(self) -> fn(char) -> bool {
        match self {
            Names::Plain(_) => is_plain_char,
            Names::Gemini => |c| is_plain_char(c) || c == '.' || c == ':',
        }
    }
}

fn is_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Whether this is a letter, a digit, `_` or `-`.
pub(crate) fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
