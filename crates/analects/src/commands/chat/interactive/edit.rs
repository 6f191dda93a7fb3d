//! A prompt that is written in the person's editor.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitStatus};

use super::history::{private, private_folder};
use crate::failure::{Failure, words};
use crate::surroundings::Surroundings;
use crate::ui;

/// The editor of those who named none.
const USUAL: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Lets the person write a text, from this one on; nothing if it is empty.
pub fn edit(text: &str, surroundings: &Surroundings) -> Result<Option<String>, Failure> {
    let editor = surroundings.editor.as_deref().unwrap_or(USUAL);
    let folder = &surroundings.places.state;
    let path = folder.join(format!("prompt-{}.md", std::process::id()));
    let fail = |error: io::Error| {
        Failure::input(format!("{}: cannot write: {}", path.display(), words(&error)))
    };
    private_folder(folder).map_err(fail)?;
    let mut file = private(OpenOptions::new().write(true).create(true).truncate(true))
        .open(&path)
        .map_err(fail)?;
    file.write_all(text.as_bytes()).map_err(fail)?;
    drop(file);
    ui::keys::usual();
    let ran = run(editor, &path);
    ui::keys::hush();
    let written = std::fs::read(&path);
    let _ = std::fs::remove_file(&path);
    let hint = "set VISUAL or EDITOR to the editor that you use";
    match ran {
        Ok(status) if status.success() => {}
        Ok(status) => {
            let message = format!("the editor {editor} failed: {status}");
            return Err(Failure::input(message).or_hint(hint));
        }
        Err(error) => {
            let message = format!("cannot start the editor {editor}: {}", words(&error));
            return Err(Failure::input(message).or_hint(hint));
        }
    }
    let written = written.map_err(fail)?;
    let written = String::from_utf8(written)
        .map_err(|_| Failure::input("what the editor wrote is not UTF-8"))?;
    Ok(Some(written.trim().to_string()).filter(|text| !text.is_empty()))
}

/// Runs the editor. The variable is a line for the shell, as with other programs: it may have options.
fn run(editor: &str, path: &Path) -> io::Result<ExitStatus> {
    if cfg!(unix) {
        let line = format!("{editor} \"$@\"");
        return Command::new("sh").arg("-c").arg(line).arg(editor).arg(path).status();
    }
    let mut words = editor.split_whitespace();
    Command::new(words.next().unwrap_or(USUAL)).args(words).arg(path).status()
}
