//! What to do with a path that `chat` was given and that is no message file: a file in another format, or a folder.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use analects_formats::{chatmd, convert};
use analects_store::read_message_file;

use crate::failure::Failure;
use crate::shell;

/// The error for a file whose name is not that of a message file.
pub fn explain_other_file(path: &Path) -> Failure {
    let name = path.display();
    if is_known_format(path) {
        let message = format!("{name}: not a message file, but a conversation in another format");
        return Failure::usage(message, how_to_convert(path));
    }
    let message = format!("{name}: not a message file; its name must end in .msg.md");
    Failure::usage(message, "quote the prompt if this is its first word")
}

/// The error for a folder.
pub fn explain_folder(path: &Path) -> Failure {
    let message = format!("{}: a folder, not a message file", path.display());
    let file = shell::path(&path.join("talk.msg.md"));
    let hint = format!(
        "name a file in it, such as {file}; if this is the first word of the prompt, quote the prompt"
    );
    Failure::usage(message, hint)
}

/// How to continue a chat Markdown file; `None` for other Markdown.
pub fn convert_hint(path: &Path) -> Option<String> {
    let document = read_message_file(path).ok()?;
    chatmd::is_chat_markdown(document.source()).then(|| how_to_convert(path))
}

/// Whether a file holds a conversation that `convert` and `session import` can read.
fn is_known_format(path: &Path) -> bool {
    let mut head = Vec::new();
    let Ok(file) = File::open(path) else {
        return false;
    };
    let read = file.take(convert::HEAD_SIZE as u64).read_to_end(&mut head);
    let format = convert::detect(&head, &path.to_string_lossy());
    read.is_ok() && format.is_some_and(|format| format.id() != "msgfile")
}

/// The commands that make a message file or a session of a file.
fn how_to_convert(path: &Path) -> String {
    let file = shell::path(path);
    let new = shell::path(&message_file_name(path));
    format!(
        "analects convert {file} -o {new} makes a message file of it; analects session import {file} makes a session"
    )
}

/// The name of the message file that a file becomes: `talk.chat.md` and `talk.jsonl` become `talk.msg.md`.
fn message_file_name(path: &Path) -> PathBuf {
    let stem = path.with_extension("");
    if stem
        .extension()
        .is_some_and(|extension| extension == "chat")
    {
        stem.with_extension("msg.md")
    } else {
        path.with_extension("msg.md")
    }
}
