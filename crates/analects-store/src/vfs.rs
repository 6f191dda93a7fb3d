//! The interface to the disk. Everything that the store reads or writes goes through [`Vfs`], so that tests can make any
//! step fail, and can cut the power after any step.
//!
//! [`Disk`] is the real disk. `analects-testkit` has one that fails at the n-th operation, and one that loses unsynced
//! data at a power cut.

mod disk;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod portable;

use std::any::Any;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use analects_lease::Lease;
pub use disk::Disk;
pub(crate) use disk::{is_virtual, open_plain_file};

/// A file system.
pub trait Vfs: fmt::Debug + Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, how: OpenMode) -> io::Result<Box<dyn VfsFile>>;

    /// Creates a file without a name in a folder. [`VfsFile::link`] gives it a name; a kill before that leaves nothing
    /// behind.
    fn draft(&self, folder: &Path) -> io::Result<Box<dyn VfsFile>>;

    /// Returns the metadata of a file. Follows symbolic links.
    fn metadata(&self, path: &Path) -> io::Result<FileMetadata>;

    /// Returns the absolute path without symbolic links.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;

    /// Returns the target of a symbolic link.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;

    /// Lists the paths in a folder, in no particular order.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;

    /// Creates a folder that only its owner can enter. The parent must exist.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// Swaps two files atomically. The error is [`io::ErrorKind::Unsupported`] if the system cannot.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;

    /// Renames a file, and replaces a file that has the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a folder survive a power cut.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;

    /// Opens a lock file without locking it, and creates it if necessary: for a lock that is taken often.
    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn VfsLock>>;

    /// Locks a lock file, and creates it if necessary; `None` if another process has locked it. Dropping the result
    /// releases the lock.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send + Sync>>>;
}

/// A lock that can be taken and released many times. Dropping it releases it.
pub trait VfsLock: fmt::Debug + Send + Sync {
    /// Takes the lock; `false` if another process has it.
    fn try_lock(&mut self) -> io::Result<bool>;

    /// Releases the lock.
    fn unlock(&mut self) -> io::Result<()>;
}

/// An open file.
pub trait VfsFile: fmt::Debug + Send + Sync {
    /// Returns the metadata of the file.
    fn metadata(&self) -> io::Result<FileMetadata>;

    /// Reads everything from an offset to the end.
    fn read_from(&mut self, offset: u64) -> io::Result<Vec<u8>>;

    /// Reads into a buffer from an offset, and returns the number of bytes, which may be less than fit; 0 is the end.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes at the end, and returns the number of written bytes, which may be less than all.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Writes at an offset into a file that is open for [`OpenMode::Update`], and returns the number of written bytes,
    /// which may be less than all.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the file to a length.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes the written bytes survive a power cut.
    fn sync(&self) -> io::Result<()>;

    /// Copies the owner, the mode and the extended attributes of another file to this draft.
    fn copy_metadata_from(&self, original: &Path) -> io::Result<()>;

    /// Requests a lease: finds out whether another program has the file open for writing, or, if this file is itself
    /// open for writing, whether another program has it open at all. If the lease is granted, any program that opens the
    /// file in that way blocks until [`VfsFile::release`], or until this file is dropped. Be quick.
    fn lease(&mut self) -> io::Result<Lease>;

    /// Ends a lease.
    fn release(&mut self);

    /// Locks the file itself against other processes of ours, until this file is dropped; `false` if one of them has
    /// locked it. Always `true` where files cannot be locked, or where a lock would block readers.
    fn try_lock(&mut self) -> io::Result<bool>;

    /// Describes the other programs that have the file open for writing, as far as the system reveals them.
    fn writers(&self) -> Vec<String>;

    /// Gives a draft its name. The error is [`io::ErrorKind::AlreadyExists`] if another file has it.
    fn link(&mut self, path: &Path) -> io::Result<()>;
}

/// The ways to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// For reading.
    Read,
    /// For writing at the end, and for reading.
    Append,
    /// For writing at any offset, and for reading.
    Update,
    /// As `Append`, but creates a missing file that only its owner can read. For files of the store itself: a symbolic
    /// link is refused where the system supports that.
    Private,
}

/// The metadata of a file. If it is equal at two times, nobody wrote to the file in between, as far as the clock of the
/// file system can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMetadata {
    /// The device, and the number of the file on it.
    pub identity: (u64, u64),
    /// The length in bytes.
    pub length: u64,
    /// The modification time in seconds and nanoseconds.
    pub modified: (i64, i64),
    /// Whether it is a regular file.
    pub is_file: bool,
    /// The number of hard links, as far as the system reveals it.
    pub links: u64,
}

impl dyn VfsFile + '_ {
    /// Writes all bytes at the end, with one call unless the system accepts fewer.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        write_repeatedly(bytes, |_, rest| self.write(rest))
    }

    /// Writes all bytes at an offset, with one call unless the system accepts fewer.
    pub fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_repeatedly(bytes, |done, rest| {
            self.write_at(offset + done as u64, rest)
        })
    }

    /// Reads what follows the bytes `known`; `None` if the file does not begin with them. The comparison works chunk by
    /// chunk, since usually nothing has changed and nothing needs to be kept.
    pub(crate) fn read_after(&mut self, known: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let mut buffer = vec![0; CHUNK.min(known.len())];
        let mut at = 0;
        while at < known.len() {
            let wanted = buffer.len().min(known.len() - at);
            let count = match self.read_at(at as u64, &mut buffer[..wanted]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if count == 0 || buffer[..count] != known[at..at + count] {
                return Ok(None);
            }
            at += count;
        }
        self.read_from(at as u64).map(Some)
    }
}

/// Calls `write` until all bytes are written. It gets the number of bytes that are written so far, and the rest.
fn write_repeatedly(
    bytes: &[u8],
    mut write: impl FnMut(usize, &[u8]) -> io::Result<usize>,
) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match write(done, &bytes[done..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The number of bytes that are compared at once.
const CHUNK: usize = 1 << 16;

/// Returns the folder of a file; `.` for a bare name.
pub fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
