//! A buffer for bytes that are written later: in memory, and in a private file if there are many.
//!
//! The memory that this takes does not depend on the size of the input. The file on disk is readable by its owner only
//! and has no name, so nothing is left behind, however the process ends.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;

use analects_core::Ids;
use analects_store::OsIds;
use jiff::Timestamp;

use super::destination::unwritable;
use crate::failure::Failure;

/// How many bytes are kept in memory.
pub const MEMORY_LIMIT: usize = 16 << 20;

/// The size of one read.
const CHUNK_SIZE: usize = 1 << 16;

/// The buffered bytes.
/// Bytes come out in the order in which they went in.
#[derive(Default)]
pub struct Spool {
    /// The earlier bytes, once there are too many for memory.
    file: Option<TempFile>,
    /// The bytes after those in the file.
    held: Vec<u8>,
}

impl Spool {
    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.held.extend_from_slice(bytes);
        if self.held.len() > MEMORY_LIMIT {
            self.spill()?;
        }
        Ok(())
    }

    /// Moves what is in memory to the file. Fails if the disk of the temporary folder is full.
    fn spill(&mut self) -> Result<(), Failure> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(TempFile::new()?),
        };
        file.write(&self.held)?;
        self.held.clear();
        Ok(())
    }

    /// Passes all bytes to `sink`, in order.
    /// Consumes the buffer. An error of `sink` ends it.
    pub fn for_each(
        mut self,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if let Some(file) = &mut self.file {
            file.rewind()?;
            let mut chunk = vec![0; CHUNK_SIZE];
            loop {
                let count = file.read(&mut chunk).map_err(|error| temporary(&error))?;
                if count == 0 {
                    break;
                }
                sink(&chunk[..count])?;
            }
        }
        sink(&self.held)
    }

    /// The bytes, if all of them are in memory.
    pub fn in_memory(&self) -> Option<&[u8]> {
        self.file.is_none().then_some(self.held.as_slice())
    }

    /// Moves all bytes to a file, positioned at its beginning.
    pub fn into_file(mut self) -> Result<TempFile, Failure> {
        self.spill()?;
        let mut file = self.file.map_or_else(TempFile::new, Ok)?;
        file.rewind()?;
        Ok(file)
    }
}

/// A private file that is deleted when this is dropped.
pub struct TempFile {
    file: File,
    /// Its path, on systems where an open file cannot be unlinked.
    name: Option<PathBuf>,
}

impl TempFile {
    /// The file is unlinked at once where the system allows that.
    fn new() -> Result<TempFile, Failure> {
        let name = format!("analects-{}", OsIds.uuid(Timestamp::now()));
        let path = std::env::temp_dir().join(name);
        let mut options = File::options();
        options.write(true).read(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options
            .open(&path)
            .map_err(|error| unwritable(&path, &error))?;
        // Without a name, the file disappears even after a kill.
        let name = fs::remove_file(&path).is_err().then_some(path);
        Ok(TempFile { file, name })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file
            .write_all(bytes)
            .map_err(|error| temporary(&error))
    }

    /// Goes back to the beginning.
    pub fn rewind(&mut self) -> Result<(), Failure> {
        self.file.rewind().map_err(|error| temporary(&error))
    }
}

impl Read for TempFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Some(path) = &self.name {
            // If this fails, nothing more can be done.
            let _ = fs::remove_file(path);
        }
    }
}

/// The failure names the folder, since the file has no name that means anything to you.
fn temporary(error: &io::Error) -> Failure {
    unwritable(&std::env::temp_dir(), error)
}
