//! The one door to the disk. Everything that the store reads or writes goes through [`Vfs`], so that
//! tests can make any step fail, and can cut the power after any step.
//!
//! [`Disk`] is the real one. `analects-testkit` has one that fails at the n-th operation, and one that forgets
//! at a power cut what was not synced.

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
pub(crate) use disk::{is_made_up, open_plain_file};

/// A file system, as far as the store needs one.
pub trait Vfs: fmt::Debug + Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn VfsFile>>;

    /// Begins a new file in a folder. It has no name before [`VfsFile::link`] gives it one, so that
    /// nothing is left of it if we are killed before.
    fn draft(&self, folder: &Path) -> io::Result<Box<dyn VfsFile>>;

    /// What is known about the file that a path leads to.
    fn facts(&self, path: &Path) -> io::Result<Facts>;

    /// The path without symbolic links.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;

    /// Where a symbolic link leads.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;

    /// The paths in a folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;

    /// Makes a folder that only its owner can enter; the one above must be there.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// Swaps two files in one step. [`io::ErrorKind::Unsupported`] where the system cannot.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;

    /// Gives a file another name, in the place of what has that name already.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a folder survive a power cut.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Removes a folder that holds nothing.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;

    /// Opens the lock that a file of ours stands for, without taking it, and makes that file if need be:
    /// for whoever takes it often.
    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn VfsLock>>;

    /// Takes the lock that a file of ours stands for, and makes that file if need be; `None` if
    /// somebody else has it. It is given up when what comes back is dropped.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send + Sync>>>;
}

/// A lock that is taken and given up again and again; it is given up when dropped.
pub trait VfsLock: fmt::Debug + Send + Sync {
    /// Takes it; `false` if somebody else has it.
    fn try_lock(&mut self) -> io::Result<bool>;

    /// Gives it up.
    fn unlock(&mut self) -> io::Result<()>;
}

/// An open file.
pub trait VfsFile: fmt::Debug + Send + Sync {
    /// What is known about it.
    fn facts(&self) -> io::Result<Facts>;

    /// Everything from an offset to the end.
    fn read_from(&mut self, offset: u64) -> io::Result<Vec<u8>>;

    /// Reads into a buffer from an offset on, perhaps less than fits; says how much. Nothing is the end.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes at the end, perhaps only a part; says how much.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Writes at an offset, perhaps only a part, into a file that is open for [`Open::Update`]; says how much.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the file to a length.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes what was written survive a power cut.
    fn sync(&self) -> io::Result<()>;

    /// Gives a draft the owner, the mode and the extended attributes of another file.
    fn adopt(&self, original: &Path) -> io::Result<()>;

    /// Finds out whether another program has the file open for writing, or, if this file is open for
    /// writing itself, whether anybody else has it open at all. If not, whoever opens it so from now on
    /// waits until [`VfsFile::release`], or until this file is dropped. Be quick.
    fn lease(&mut self) -> io::Result<Lease>;

    /// Ends a lease.
    fn release(&mut self);

    /// Locks the file itself against others of us, until this file is dropped; `false` if somebody has
    /// locked it. Where files cannot be locked, or a lock would keep readers away, everybody gets it.
    fn try_lock(&mut self) -> io::Result<bool>;

    /// The other programs that have the file open for writing, in words, as far as the system tells.
    fn writers(&self) -> Vec<String>;

    /// Gives a draft its name, unless another file has it: [`io::ErrorKind::AlreadyExists`].
    fn link(&mut self, path: &Path) -> io::Result<()>;
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// For reading.
    Read,
    /// For writing at its end, and reading.
    Append,
    /// For writing at any place, and reading.
    Update,
    /// As `Append`; if it is not there, it is made, for its owner's eyes only. For files of ours, so
    /// that a symbolic link is refused where the system can.
    Private,
}

/// What is known about a file without reading it. Equal facts mean that nobody wrote to it, as far
/// as the clock of the file system can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The device and the number by which it knows the file.
    pub identity: (u64, u64),
    /// The length in bytes.
    pub length: u64,
    /// When it was written to, in seconds and nanoseconds.
    pub modified: (i64, i64),
    /// Whether it is a regular file.
    pub is_file: bool,
    /// How many names it has, as far as the system tells: more than one if there are hard links.
    pub links: u64,
}

impl dyn VfsFile + '_ {
    /// Writes all of it at the end, in one step unless the system says otherwise.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        write_pieces(bytes, |_, rest| self.write(rest))
    }

    /// Writes all of it at an offset, in one step unless the system says otherwise.
    pub fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_pieces(bytes, |done, rest| {
            self.write_at(offset + done as u64, rest)
        })
    }

    /// What the file holds beyond what is known of it; `None` if it does not begin with that. It is compared
    /// piece by piece: mostly nothing has changed, and nothing has to be kept.
    pub(crate) fn beyond(&mut self, known: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let mut buffer = vec![0; PIECE.min(known.len())];
        let mut at = 0;
        while at < known.len() {
            let most = buffer.len().min(known.len() - at);
            let count = match self.read_at(at as u64, &mut buffer[..most]) {
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

/// Writes bytes, as many at a time as are taken; `write` is told how many were.
fn write_pieces(
    bytes: &[u8],
    mut write: impl FnMut(usize, &[u8]) -> io::Result<usize>,
) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match write(done, &bytes[done..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => done += written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// How much of a file is compared at once.
const PIECE: usize = 1 << 16;

/// The folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
