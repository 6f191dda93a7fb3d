//! Bytes that wait for what comes after them: in memory, and in a private file once they are many.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;

use analects_core::Ids;
use analects_store::OsIds;
use jiff::Timestamp;

use super::output::unwritable;
use crate::failure::Failure;

/// How much is held in memory.
pub const HELD: usize = 16 << 20;

/// How much is read of a file at once.
const PIECE: usize = 1 << 16;

/// Bytes that wait.
#[derive(Default)]
pub struct Spool {
    /// The first of them, once they are many.
    file: Option<Spilled>,
    /// Those behind.
    held: Vec<u8>,
}

impl Spool {
    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.held.extend_from_slice(bytes);
        if self.held.len() > HELD {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), Failure> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(Spilled::new()?),
        };
        file.write(&self.held)?;
        self.held.clear();
        Ok(())
    }

    /// Gives all bytes in their order.
    pub fn each(
        mut self,
        give: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if let Some(file) = &mut self.file {
            file.rewind()?;
            let mut piece = vec![0; PIECE];
            loop {
                let count = file.read(&mut piece).map_err(|error| temporary(&error))?;
                if count == 0 {
                    break;
                }
                give(&piece[..count])?;
            }
        }
        give(&self.held)
    }

    /// The bytes, if they are few.
    pub fn held(&self) -> Option<&[u8]> {
        self.file.is_none().then_some(self.held.as_slice())
    }

    /// All bytes as a file to read from its beginning.
    pub fn into_file(mut self) -> Result<Spilled, Failure> {
        self.spill()?;
        let mut file = self.file.map_or_else(Spilled::new, Ok)?;
        file.rewind()?;
        Ok(file)
    }
}

/// A file for nobody else's eyes, which goes away.
pub struct Spilled {
    file: File,
    /// Its name, where an open file cannot lose it.
    name: Option<PathBuf>,
}

impl Spilled {
    fn new() -> Result<Spilled, Failure> {
        let name = format!("analects-{}", OsIds.uuid(Timestamp::now()));
        let path = std::env::temp_dir().join(name);
        let mut options = File::options();
        options.write(true).read(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options
            .open(&path)
            .map_err(|error| unwritable(&path, &error))?;
        // Without a name, nothing of it is left if we are killed.
        let name = fs::remove_file(&path).is_err().then_some(path);
        Ok(Spilled { file, name })
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

impl Read for Spilled {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Drop for Spilled {
    fn drop(&mut self) {
        if let Some(path) = &self.name {
            // Nothing can be done about a file that stays.
            let _ = fs::remove_file(path);
        }
    }
}

fn temporary(error: &io::Error) -> Failure {
    unwritable(&std::env::temp_dir(), error)
}
