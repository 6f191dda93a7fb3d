//! Commands that are printed for people to paste into a shell.

use std::borrow::Cow;
use std::path::Path;

/// A word as it has to be typed: in quotes where the shell would read it as something else.
pub fn word(text: &str) -> Cow<'_, str> {
    let is_plain =
        |c: char| c.is_alphanumeric() || "_-./:,@%+=".contains(c) || (cfg!(windows) && c == '\\');
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    if cfg!(windows) {
        // No file has such quotes in its name there.
        format!("\"{text}\"").into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''")).into()
    }
}

/// A path as it has to be typed: also one that would be taken for an option.
pub fn path(path: &Path) -> String {
    let text = path.to_string_lossy();
    let here = if text.starts_with('-') { "./" } else { "" };
    word(&format!("{here}{text}")).into_owned()
}

/// A file as it was named, or a session by its id.
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
