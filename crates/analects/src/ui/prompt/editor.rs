//! A prompt that is written in the person's editor. What was written there and cannot be used is kept.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use super::history::{private, private_folder};
use crate::failure::{Failure, words};
use crate::surroundings::Surroundings;
use crate::ui;

/// The editor of those who named none.
const USUAL: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// What to do where an editor cannot be started.
const NAME_ONE: &str = "set VISUAL or EDITOR to the editor that you use";

/// What came out of the editor.
#[derive(Debug, PartialEq, Eq)]
pub enum Edited {
    Written(String),
    /// The text that was given, as it was: who leaves without saving wants nothing to be sent.
    Unchanged,
    Nothing,
}

/// Lets the person write a text, from this one on.
pub fn edit(text: &str, surroundings: &Surroundings) -> Result<Edited, Failure> {
    let editor = surroundings.editor.as_deref().unwrap_or(USUAL);
    let path = give(text, &surroundings.places.state)?;
    let ran = ui::keys::lend(|| run(editor, &path));
    let written = std::fs::read(&path);
    let used = check(editor, ran).and_then(|()| read(text, &written, &path));
    let Err(failure) = used else {
        let _ = std::fs::remove_file(&path);
        return used;
    };
    if is_lost(text, &written) {
        return Err(failure.and_hint(format!("what you wrote is kept in {}", path.display())));
    }
    let _ = std::fs::remove_file(&path);
    Err(failure)
}

/// Makes a file of its own with this text: another one may hold what could not be used.
fn give(text: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let name = format!("prompt-{}", std::process::id());
    let numbered = (2..).map(|number| format!("{name}-{number}.md"));
    let fail = |path: &Path, error: &io::Error| {
        Failure::input(format!(
            "{}: cannot write: {}",
            path.display(),
            words(error)
        ))
    };
    private_folder(folder).map_err(|error| fail(folder, &error))?;
    for name in std::iter::once(format!("{name}.md")).chain(numbered) {
        let path = folder.join(name);
        let made = private(OpenOptions::new().write(true).create_new(true)).open(&path);
        let written = match made {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            made => made.and_then(|mut file: File| file.write_all(text.as_bytes())),
        };
        return written.map_err(|error| fail(&path, &error)).map(|()| path);
    }
    Err(Failure::ours("there is no name for a prompt's file"))
}

/// Whether the editor came to its end.
fn check(editor: &str, ran: io::Result<ExitStatus>) -> Result<(), Failure> {
    // What a shell says of a program that is not there, or is none.
    const NO_PROGRAM: [i32; 2] = [126, 127];
    let status = ran.map_err(|error| {
        let message = format!("cannot start the editor {editor}: {}", words(&error));
        Failure::input(message).or_hint(NAME_ONE)
    })?;
    if status.success() {
        return Ok(());
    }
    let failure = Failure::input(format!(
        "the editor {editor} ended with {status}, so nothing is sent"
    ));
    match status.code() {
        Some(code) if NO_PROGRAM.contains(&code) => Err(failure.or_hint(NAME_ONE)),
        _ => Err(failure),
    }
}

/// What was written, from this text on.
fn read(text: &str, written: &io::Result<Vec<u8>>, path: &Path) -> Result<Edited, Failure> {
    let bytes = written.as_ref().map_err(|error| {
        let (path, words) = (path.display(), words(error));
        Failure::input(format!(
            "{path}: cannot read what the editor wrote: {words}"
        ))
    })?;
    let written = str::from_utf8(bytes)
        .map_err(|_| Failure::input("what the editor wrote is not UTF-8, so nothing is sent"))?;
    Ok(match written.trim() {
        "" => Edited::Nothing,
        same if same == text.trim() => Edited::Unchanged,
        written => Edited::Written(written.to_string()),
    })
}

/// Whether something is in the file that is nowhere else.
fn is_lost(text: &str, written: &io::Result<Vec<u8>>) -> bool {
    match written {
        Ok(bytes) => {
            let written = bytes.trim_ascii();
            !written.is_empty() && written != text.trim().as_bytes()
        }
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// Runs the editor. The variable is a line for the shell, as with other programs: it may have options.
fn run(editor: &str, path: &Path) -> io::Result<ExitStatus> {
    if cfg!(unix) {
        let line = format!("{editor} \"$@\"");
        return Command::new("sh")
            .arg("-c")
            .arg(line)
            .arg(editor)
            .arg(path)
            .status();
    }
    let mut words = editor.split_whitespace();
    Command::new(words.next().unwrap_or(USUAL))
        .args(words)
        .arg(path)
        .status()
}
