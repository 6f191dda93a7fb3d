//! Reads stdin and files, with limits on their size.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use analects_store::StoreError;

use crate::failure::{Failure, io_error_text};

/// The largest prompt or file that is read, in bytes. Providers accept less.
/// It also guards against `analects ask < /dev/zero`.
pub const MAX_SIZE: u64 = 30_000_000;

/// Whether stdin is a terminal.
pub fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// What a verb gets as text: the arguments, followed by stdin. All verbs that take text read it here.
///
/// A single argument `-` stands for stdin. A terminal counts as empty, so that no verb waits for you to type, and
/// so does a closed stdin, which the standard library replaces by an empty one.
pub struct GivenText {
    /// The arguments, joined by blanks.
    pub words: String,
    /// The bytes on stdin.
    pub piped: Vec<u8>,
}

impl GivenText {
    /// Reads at most `limit` bytes from stdin.
    pub fn read(arguments: &[String], limit: u64) -> Result<GivenText, Failure> {
        let is_dash = matches!(arguments, [word] if word == "-");
        Ok(GivenText {
            words: if is_dash {
                String::new()
            } else {
                arguments.join(" ")
            },
            piped: read_stdin(limit)?,
        })
    }

    /// The text on stdin, without trailing line ends.
    pub fn piped_text(&self) -> Result<&str, Failure> {
        let text = std::str::from_utf8(&self.piped).map_err(|error| {
            let at = error.valid_up_to();
            Failure::input(format!(
                "stdin: not text: the bytes at offset {at} are not UTF-8"
            ))
        })?;
        Ok(text.trim_end_matches(['\r', '\n']))
    }

    /// The arguments and the text on stdin, with an empty line between them.
    pub fn into_text(self) -> Result<String, Failure> {
        let piped = self.piped_text()?;
        if self.words.is_empty() || piped.is_empty() {
            return Ok(format!("{}{piped}", self.words));
        }
        Ok(format!("{}\n\n{piped}", self.words))
    }
}

/// The bytes on stdin. Empty if stdin is a terminal.
pub fn read_stdin(limit: u64) -> Result<Vec<u8>, Failure> {
    if stdin_is_terminal() {
        return Ok(Vec::new());
    }
    read_at_most(io::stdin().lock(), limit)
        .map_err(|error| Failure::input(format!("cannot read stdin: {}", io_error_text(&error))))?
        .ok_or_else(|| Failure::input(format!("stdin: larger than {} MB", limit / 1_000_000)))
}

/// Everything that the source holds, or `None` if that is more than [`MAX_SIZE`].
pub fn read_limited(source: impl Read) -> io::Result<Option<Vec<u8>>> {
    read_at_most(source, MAX_SIZE)
}

/// Everything that the source holds, or `None` if that is more than `limit` bytes. An endless source must not fill
/// the memory.
/// Reads one byte more than the limit, to tell a source of that size from a larger one.
pub fn read_at_most(source: impl Read, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Opens a regular file. Opening a pipe could block forever, and a device might never end.
/// Links are followed.
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
