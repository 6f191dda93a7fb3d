//! Writes a prompt in your own editor. A text that cannot be used stays in its file.
//!
//! The text goes through a file in the state folder. The file is removed afterwards, unless it holds something that
//! would otherwise be lost; then the error says where it is.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use super::history::{create_private_folder, make_private};
use crate::environment::Environment;
use crate::failure::{Failure, io_error_text};
use crate::ui;

/// The editor if `VISUAL` and `EDITOR` name none.
const DEFAULT_EDITOR: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// What to do if an editor cannot be started.
const NAME_AN_EDITOR: &str = "set VISUAL or EDITOR to the editor that you use";

/// The exit codes of a shell for a program that does not exist or cannot be run.
const CANNOT_RUN: [i32; 2] = [126, 127];

/// What came out of the editor.
/// The blanks around a text do not count, because many editors add a line end.
#[derive(Debug, PartialEq, Eq)]
pub enum EditedText {
    Changed(String),
    /// The text that was passed in. If you leave without saving, nothing is sent.
    Unchanged,
    Empty,
}

/// Opens your editor on this text, and waits until you leave it.
/// Fails if the editor cannot be started, ends with an error, or leaves something that is not UTF-8.
pub fn edit_in_editor(text: &str, environment: &Environment) -> Result<EditedText, Failure> {
    let editor = environment.editor.as_deref().unwrap_or(DEFAULT_EDITOR);
    let path = create_prompt_file(text, &environment.places.state)?;
    let status = ui::keys::lend_terminal(|| run(editor, &path));
    let bytes = std::fs::read(&path);
    let result = match check_status(editor, status) {
        Ok(()) => compare(text, &bytes, &path),
        Err(failure) => Err(failure),
    };
    if result.is_err() && has_other_text(text, &bytes) {
        let path = path.display();
        return result
            .map_err(|failure| failure.and_hint(format!("what you wrote is kept in {path}")));
    }
    let _ = std::fs::remove_file(&path);
    result
}

/// Creates a new file with this text. Other files of this kind may hold texts that could not be used.
/// The name has the id of this process, and a number if it is taken.
fn create_prompt_file(text: &str, folder: &Path) -> Result<PathBuf, Failure> {
    create_private_folder(folder).map_err(|error| cannot_write(folder, &error))?;
    let name = format!("prompt-{}", std::process::id());
    let numbered = (2..).map(|number| format!("{name}-{number}.md"));
    for name in std::iter::once(format!("{name}.md")).chain(numbered) {
        let path = folder.join(name);
        match write_new(&path, text) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot_write(&path, &error)),
        }
    }
    Err(Failure::internal("there is no name for a prompt's file"))
}

/// Writes a text into a new file that only its owner can read.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = make_private(options.write(true).create_new(true)).open(path)?;
    file.write_all(text.as_bytes())
}

/// The failure for a file or folder that cannot be written.
fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    let reason = io_error_text(error);
    Failure::input(format!("{}: cannot write: {reason}", path.display()))
}

/// Fails if the editor did not run to its end.
/// `:cq` in Vim, for instance, ends with an error on purpose to send nothing.
fn check_status(editor: &str, status: io::Result<ExitStatus>) -> Result<(), Failure> {
    let status = status.map_err(|error| {
        let reason = io_error_text(&error);
        Failure::input(format!("cannot start the editor {editor}: {reason}"))
            .or_hint(NAME_AN_EDITOR)
    })?;
    if status.success() {
        return Ok(());
    }
    let failure = Failure::input(format!(
        "the editor {editor} ended with {status}, so nothing is sent"
    ));
    match status.code() {
        Some(code) if CANNOT_RUN.contains(&code) => Err(failure.or_hint(NAME_AN_EDITOR)),
        _ => Err(failure),
    }
}

/// Compares what is in the file with the text that was passed in.
fn compare(text: &str, bytes: &io::Result<Vec<u8>>, path: &Path) -> Result<EditedText, Failure> {
    let bytes = bytes.as_ref().map_err(|error| {
        let path = path.display();
        let reason = io_error_text(error);
        Failure::input(format!(
            "{path}: cannot read what the editor wrote: {reason}"
        ))
    })?;
    let edited = str::from_utf8(bytes)
        .map_err(|_| Failure::input("what the editor wrote is not UTF-8, so nothing is sent"))?;
    Ok(match edited.trim() {
        "" => EditedText::Empty,
        same if same == text.trim() => EditedText::Unchanged,
        changed => EditedText::Changed(changed.to_string()),
    })
}

/// Whether the file holds a text that is nowhere else.
/// If the file cannot be read, assume that it does.
fn has_other_text(text: &str, bytes: &io::Result<Vec<u8>>) -> bool {
    match bytes {
        Ok(bytes) => {
            let edited = bytes.trim_ascii();
            !edited.is_empty() && edited != text.trim().as_bytes()
        }
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// Runs the editor. Its variable is a line for the shell, as for other programs, so it may have options.
/// The path is passed as an argument of the shell and not within the line, so blanks and quotes in it do no harm.
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
    Command::new(words.next().unwrap_or(DEFAULT_EDITOR))
        .args(words)
        .arg(path)
        .status()
}
