//! Reads stdin and files, with limits on their size.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use analects_store::StoreError;

use crate::failure::{Failure, io_error_text};

/// The largest prompt or file that is read, in bytes. Providers accept less.
pub const MAX_SIZE: u64 = 30_000_000;

/// Whether stdin is a terminal.
pub fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// The text on stdin, without trailing line ends. Empty if stdin is a terminal.
pub fn read_stdin() -> Result<String, Failure> {
    if stdin_is_terminal() {
        return Ok(String::new());
    }
    let bytes = read_limited(io::stdin().lock())
        .map_err(|error| Failure::input(format!("cannot read stdin: {}", io_error_text(&error))))?
        .ok_or_else(|| Failure::input("stdin: larger than 30 MB"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::input(format!(
            "stdin: not text: the bytes at offset {at} are not UTF-8"
        ))
    })?;
    Ok(text.trim_end_matches(['\r', '\n']).to_string())
}

/// Everything that the source holds, or `None` if that is more than [`MAX_SIZE`].
pub fn read_limited(source: impl Read) -> io::Result<Option<Vec<u8>>> {
    read_at_most(source, MAX_SIZE)
}

/// Everything that the source holds, or `None` if that is more than `limit` bytes. An endless source must not fill
/// the memory.
pub fn read_at_most(source: impl Read, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Opens a regular file. Opening a pipe could block forever, and a device might never end.
pub fn open_regular(path: &Path) -> Result<File, Failure> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if metadata.is_dir() {
        return Err(unreadable(path, &io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        let path = path.to_path_buf();
        return Err(StoreError::NotAFile { path }.into());
    }
    File::open(path).map_err(|error| unreadable(path, &error))
}

/// The failure for a file that cannot be read. A missing file has an exit code of its own.
fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let text = format!(
        "{}: cannot be read: {}",
        path.display(),
        io_error_text(error)
    );
    match error.kind() {
        io::ErrorKind::NotFound => Failure::not_found(text),
        _ => Failure::input(text),
    }
}
