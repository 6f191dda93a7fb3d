//! An open message file: read, locked, and ready for more cells.

use std::fs;
use std::path::{Path, PathBuf};

use analects_formats::msgfile::{self, Document, NewCell, Splice};

use crate::error::to;
use crate::lock::Lock;
use crate::replace::replace;
use crate::{Places, Reply, StoreError};

/// A message file that this process may write to.
#[derive(Debug)]
pub struct MessageFile {
    path: PathBuf,
    document: Document,
    _lock: Lock,
}

impl MessageFile {
    /// Reads a message file without the right to write to it.
    pub fn read(path: &Path) -> Result<Document, StoreError> {
        let bytes = fs::read(path).map_err(to("read", path))?;
        Ok(msgfile::decode(&bytes))
    }

    /// Opens a message file for writing. One that is not there yet is empty, and is made by the
    /// first write.
    pub fn open(path: &Path, places: &Places) -> Result<MessageFile, StoreError> {
        if !path.to_string_lossy().ends_with(".msg.md") {
            return Err(StoreError::NotAMessageFile { path: path.to_path_buf() });
        }
        let path = real_path(path)?;
        let lock = Lock::take(places, &path)?;
        let document = match MessageFile::read(&path) {
            Err(error) if error.is_not_found() => msgfile::decode(b""),
            read => read?,
        };
        if let Some(problem) = document.why_not_writable().cloned().map(Box::new) {
            return Err(StoreError::NotWritable { path, problem });
        }
        Ok(MessageFile { path, document, _lock: lock })
    }

    /// The file's path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file holds.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Adds a cell at the end. When this returns, it survives a power cut.
    pub fn append(&mut self, cell: &NewCell) -> Result<(), StoreError> {
        self.splice(&msgfile::append(&self.document, cell))
    }

    /// Makes a change. When this returns, it survives a power cut.
    pub fn splice(&mut self, splice: &Splice) -> Result<(), StoreError> {
        self.write(splice.apply(self.document.source()))
    }

    /// Starts a reply that grows in the file while it comes.
    pub fn start_reply(self, cell: NewCell) -> Result<Reply, StoreError> {
        Reply::start(self, cell)
    }

    /// Reads the file again: an editor may have saved it meanwhile.
    pub(crate) fn read_again(&mut self) -> Result<(), StoreError> {
        self.document = MessageFile::read(&self.path)?;
        Ok(())
    }

    fn write(&mut self, bytes: Vec<u8>) -> Result<(), StoreError> {
        replace(&self.path, &bytes)?;
        self.document = msgfile::decode(&bytes);
        Ok(())
    }
}

/// The path that a name leads to, for a file that may not be there yet.
fn real_path(path: &Path) -> Result<PathBuf, StoreError> {
    if let Ok(real) = fs::canonicalize(path) {
        return Ok(real);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let real = fs::canonicalize(folder).map_err(to("open this folder", folder))?;
    Ok(real.join(path.file_name().unwrap_or_default()))
}
