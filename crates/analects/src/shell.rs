//! Quotes words and paths in the commands that hints print, so that you can paste them into a shell.
//!
//! The quotes are those of POSIX shells, and on Windows those of `cmd`.
//!
//! ```text
//! talk.msg.md   → talk.msg.md
//! my talk.md    → 'my talk.md'
//! it's          → 'it'\''s'
//! ```

use std::borrow::Cow;
use std::path::Path;

/// A word as you have to type it: in quotes if the shell would read it as something else.
/// An empty text becomes a pair of quotes.
pub fn word(text: &str) -> Cow<'_, str> {
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    if cfg!(windows) {
        // File names cannot contain this quote there.
        format!("\"{text}\"").into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''")).into()
    }
}

/// Whether a shell reads this character as itself.
/// Letters of every script are, since shells do not treat them specially.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_-./:,@%+=".contains(c) || (cfg!(windows) && c == '\\')
}

/// A path as you have to type it. One that looks like an option gets a `./` in front.
/// One that is not UTF-8 cannot be printed, so the result may not lead to the file then.
pub fn path(path: &Path) -> String {
    let text = path.to_string_lossy();
    let here = if text.starts_with('-') { "./" } else { "" };
    word(&format!("{here}{text}")).into_owned()
}

/// The name of a file, or the id of a session, as you have to type it.
pub fn target(name: &str) -> String {
    path(Path::new(name))
}

#[cfg(test)]
mod tests {
    //! What a shell reads is what was meant.

    use super::*;

    #[test]
    #[cfg(not(windows))]
    fn words_are_quoted_where_a_shell_would_read_something_else() {
        for plain in [
            "talk.msg.md",
            "../a_b/talk-2.md",
            "2.k3f9qx7a",
            "谈话.msg.md",
            "a=1,b:c@d%e+f",
        ] {
            assert_eq!(word(plain), plain);
        }
        assert_eq!(word("my talk.msg.md"), "'my talk.msg.md'");
        assert_eq!(word("#7"), "'#7'");
        assert_eq!(word("~"), "'~'");
        assert_eq!(word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(word(""), "''");
        assert_eq!(path(Path::new("-x.msg.md")), "./-x.msg.md");
        assert_eq!(path(Path::new("-x y.md")), "'./-x y.md'");
    }

    #[test]
    #[cfg(unix)]
    fn a_shell_reads_the_words_that_were_meant() {
        for text in [
            "my talk.msg.md",
            "it's",
            "a\"b`c`$(d)\\",
            "#7",
            "*?[x]",
            "a\nb",
            "!x",
            "&|;<>(){}",
        ] {
            let line = format!("printf %s {}", word(text));
            let ran = std::process::Command::new("sh")
                .args(["-c", &line])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(ran.stdout).unwrap(), text);
        }
    }
}
