//! A message file under its lock: read, and ready for more cells.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use analects_formats::msgfile::{self, Document, Kind, NewCell};

use crate::error::to;
use crate::lock::Lock;
use crate::replace::replace;
use crate::seen::Seen;
use crate::{Places, Reply, StoreError};

/// How many symbolic links are followed; more are a circle.
const MAX_LINKS: usize = 40;

/// How often a change is made anew because somebody else wrote meanwhile.
const MAX_TRIES: usize = 50;

/// How often, and how long, we wait for an editor that is in the middle of writing.
const MAX_WAITS: usize = 100;
const WAIT: Duration = Duration::from_millis(5);

/// Reads a message file without the right to write to it.
pub fn read_message_file(path: &Path) -> Result<Document, StoreError> {
    let facts = fs::metadata(path).map_err(to("read", path))?;
    if !facts.is_file() {
        return Err(StoreError::NotAFile { path: path.to_path_buf() });
    }
    let bytes = fs::read(path).map_err(to("read", path))?;
    Ok(msgfile::decode_named(bytes, &path.to_string_lossy()))
}

/// A message file that only this process writes to, until it is dropped.
#[derive(Debug)]
pub struct LockedFile {
    /// The name by which the person knows the file.
    name: PathBuf,
    path: PathBuf,
    document: Document,
    _lock: Lock,
}

impl LockedFile {
    /// Opens a message file for writing. One that is not there yet is empty, and is made by the
    /// first write.
    pub fn open(name: &Path, places: &Places) -> Result<LockedFile, StoreError> {
        let name = name.to_path_buf();
        let path = real_path(&name)?;
        let lock = Lock::take(places, &path)?.ok_or(StoreError::Locked { path: name.clone() })?;
        let document = read_or_new(&path)?;
        if document.kind() == Kind::Plain {
            return Err(StoreError::NotAMessageFile { path: name });
        }
        if path.exists() {
            // A rename would get around a write protection that somebody meant.
            OpenOptions::new().append(true).open(&path).map_err(to("write to", &name))?;
        }
        let file = LockedFile { name, path, document, _lock: lock };
        file.check_writable()?;
        Ok(file)
    }

    /// The file's path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file holds.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Adds the cell that `make` makes for the file as it is now. When this returns, it survives a
    /// power cut.
    pub fn append(&mut self, make: impl Fn(&Document) -> NewCell) -> Result<(), StoreError> {
        self.edit(|document| msgfile::append(document, &make(document)).apply(document.source()))
    }

    /// Makes a change to the file as it is now: an editor may have saved it since it was read, and
    /// if one saves while the change is being written, the change is made anew. When this returns,
    /// it survives a power cut.
    pub fn edit(&mut self, mut change: impl FnMut(&Document) -> Vec<u8>) -> Result<(), StoreError> {
        for _ in 0..MAX_TRIES {
            let seen = self.read_settled()?;
            let bytes = change(&self.document);
            if replace(&self.path, &bytes, &seen, self.document.source())? {
                self.document = msgfile::decode_named(bytes, &self.path.to_string_lossy());
                return Ok(());
            }
        }
        Err(StoreError::Changing { path: self.name.clone() })
    }

    /// Starts a reply that grows in the file while it comes.
    pub fn start_reply(self, make: impl Fn(&Document) -> NewCell) -> Result<Reply, StoreError> {
        Reply::start(self, make)
    }

    /// Reads the file again, and says what it looked like. One that was removed comes back as it was.
    ///
    /// A file of which only the beginning is there is probably being written by an editor that
    /// first emptied it: then we wait a moment, since what we put in its place would cut the
    /// editor's text off.
    fn read_settled(&mut self) -> Result<Seen, StoreError> {
        for wait in (0..MAX_WAITS).rev() {
            let seen = Seen::of(&self.path);
            match read_message_file(&self.path) {
                Err(error) if error.is_not_found() => return Ok(seen),
                Ok(document) if wait > 0 && is_beginning(&document, &self.document) => {
                    std::thread::sleep(WAIT);
                }
                read => {
                    self.document = read?;
                    self.check_writable()?;
                    return Ok(seen);
                }
            }
        }
        Err(StoreError::Changing { path: self.name.clone() })
    }

    fn check_writable(&self) -> Result<(), StoreError> {
        match self.document.why_not_writable().map(Box::new) {
            Some(problem) => Err(StoreError::NotWritable { path: self.name.clone(), problem }),
            None => Ok(()),
        }
    }
}

/// Whether a file holds the beginning of what it held before, and no more.
fn is_beginning(now: &Document, before: &Document) -> bool {
    let (now, before) = (now.source(), before.source());
    now.len() < before.len() && before.starts_with(now)
}

fn read_or_new(path: &Path) -> Result<Document, StoreError> {
    match read_message_file(path) {
        Err(error) if error.is_not_found() => {
            Ok(msgfile::decode_named(*b"", &path.to_string_lossy()))
        }
        read => read,
    }
}

/// The path that a name leads to, for a file that may not be there yet.
fn real_path(path: &Path) -> Result<PathBuf, StoreError> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_path_buf();
        match fs::read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => {
                let real = fs::canonicalize(&folder).map_err(to("open this folder", &folder))?;
                let name = path.file_name().ok_or(StoreError::NotAFile { path: path.clone() })?;
                return Ok(real.join(name));
            }
        }
    }
    Err(StoreError::NotAFile { path })
}
