//! What comes on stdin, as a part of a prompt.

use std::io::{self, IsTerminal, Read};

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
        Failure::input(format!("stdin: no text: the bytes at offset {at} are not UTF-8"))
    })?;
    Ok(text.trim_end_matches(['\r', '\n']).to_string())
}

/// All that comes, or `None` if that is too much. A source without an end must not fill the memory.
pub fn read_limited(source: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source.take(MAX_SIZE + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MAX_SIZE).then_some(bytes))
}
