//! What comes on stdin or from a file, and how much of it is taken.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use analects_store::StoreError;

use crate::failure::{Failure, words};

/// The most that is taken of a file or of stdin, in bytes; providers take less.
pub const MAX_SIZE: u64 = 30_000_000;

/// Whether somebody sits at the keys.
pub fn is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// The text on stdin, without the line ends at its end; none where stdin is the terminal.
pub fn piped() -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        return Ok(String::new());
    }
    let bytes = read_limited(io::stdin().lock());
    let bytes =
        bytes.map_err(|error| Failure::input(format!("cannot read stdin: {}", words(&error))))?;
    let bytes = bytes.ok_or_else(|| Failure::input("stdin: larger than 30 MB"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::input(format!(
            "stdin: no text: the bytes at offset {at} are not UTF-8"
        ))
    })?;
    Ok(text.trim_end_matches(['\r', '\n']).to_string())
}

/// All that comes, or `None` if that is too much for a prompt.
pub fn read_limited(source: impl Read) -> io::Result<Option<Vec<u8>>> {
    read_at_most(source, MAX_SIZE)
}

/// All that comes, or `None` if that is more. A source without an end must not fill the memory.
pub fn read_at_most(source: impl Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// Opens a regular file. A pipe might keep us waiting for ever, and a device never end.
pub fn open_regular(path: &Path) -> Result<File, Failure> {
    let unreadable = |error: io::Error| {
        let text = format!("{}: cannot be read: {}", path.display(), words(&error));
        match error.kind() {
            io::ErrorKind::NotFound => Failure::not_found(text),
            _ => Failure::input(text),
        }
    };
    let facts = std::fs::metadata(path).map_err(unreadable)?;
    if facts.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    if !facts.is_file() {
        return Err(StoreError::NotAFile {
            path: path.to_path_buf(),
        }
        .into());
    }
    File::open(path).map_err(unreadable)
}
